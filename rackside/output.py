"""Where results go: data to standard output or atomically into a file, narration to standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from common.errors import WriteError
from common.files import write_atomically


def emit(text: str, file: str | None = None) -> None:
    """Writes a result, with a newline at its end.

    Raises:
        WriteError: the file or standard output cannot be written.
    """
    text = text if text.endswith("\n") else f"{text}\n"
    if file:
        write_atomically(Path(file), text.encode())
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # the reader has seen enough (`| head`); keep the interpreter from complaining at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        raise WriteError(f"standard output: {error.strerror}") from None


def narrate(text: str) -> None:
    """A line for the person watching, never part of the data."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def colour_wanted(choice: str) -> bool:
    """Whether to colour standard output: `--color`, then NO_COLOR, then whether it is a terminal."""
    if choice != "auto":
        return choice == "always"
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and sys.stdout.isatty()


def terminal_width() -> int | None:
    """Columns of the terminal that standard output is; None when it is none, and nothing needs cutting."""
    if not sys.stdout.isatty():
        return None
    import shutil

    return shutil.get_terminal_size().columns


def table(rows: Iterable[Sequence[str]], head: Sequence[str] = (), *, width: int | None = None) -> str:
    """Rows as aligned columns by terminal cells; the last column is cut to `width` when one is given."""
    body = [[*row] for row in ([head] if head else [])] + [[*row] for row in rows]
    if not body:
        return ""
    sizes = [max(_cells(row[i]) for row in body) for i in range(len(body[0]))]
    lines = []
    for row in body:
        cells = [_sized(cell, size) for cell, size in zip(row[:-1], sizes[:-1], strict=True)]
        line = "  ".join([*cells, row[-1]]).rstrip()
        lines.append(_sized(line, width).rstrip() if width and _cells(line) > width else line)
    if head:
        lines.insert(1, "  ".join("-" * min(size, 60) for size in sizes)[: width or None])
    return "\n".join(lines)


def _cells(text: str) -> int:
    # most tables are ASCII, and rich takes a tenth of a short command to load
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _sized(text: str, size: int) -> str:
    if text.isascii():
        return text[:size].ljust(size)
    from rich.cells import set_cell_size

    return set_cell_size(text, size)
