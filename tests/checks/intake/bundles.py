"""Support bundles composed for tests."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

TAKEN = 1_772_590_200
"""2026-03-04T02:10:00Z."""


def tar(files: Mapping[str, str | bytes], *, mode: Any = "w:xz", mtime: int = TAKEN) -> bytes:
    """An archive with these files."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, text in files.items():
            data = text.encode() if isinstance(text, str) else text
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(data), mtime
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def written(path: Path, data: bytes) -> Path:
    """The file with these bytes."""
    path.write_bytes(data)
    return path
