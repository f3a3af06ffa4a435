"""Files written all or nothing."""

from __future__ import annotations

import os
from pathlib import Path

from common.errors import WriteError


def write_atomically(path: Path, data: bytes) -> None:
    """Writes a file all or nothing, readable by its owner only.

    Raises:
        WriteError: with the file and the reason.
    """
    import tempfile

    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise WriteError(f"{path}: {error.strerror}") from None
