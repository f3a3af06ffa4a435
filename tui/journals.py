"""Where a new session keeps its journal."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path


def new_journal(folder: Path, runbook: str, cluster: str) -> Path:
    """A file that is not there yet, named by time, complaint and cluster."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    name = re.sub(r"[^A-Za-z0-9.-]+", "-", f"{stamp}-{Path(runbook).stem}-{cluster}")[:120]
    path = folder / f"{name}.jsonl"
    number = 2
    while path.exists():
        path = folder / f"{name}-{number}.jsonl"
        number += 1
    return path
