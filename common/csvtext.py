"""Rows as comma-separated values."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from csv import writer

from common.safetext import safe_line


def csv_text(rows: Iterable[Sequence[str | float]], head: Sequence[str]) -> str:
    """Rows as CSV; numbers stay numbers, and no text becomes a formula in a spreadsheet."""
    stream = io.StringIO()
    write = writer(stream, lineterminator="\n")
    write.writerow(head)
    for row in rows:
        write.writerow([_inert(safe_line(c, limit=2000)) if isinstance(c, str) else c for c in row])
    return stream.getvalue()


def _inert(text: str) -> str:
    return f"'{text}" if text.lstrip()[:1] in ("=", "+", "-", "@") else text
