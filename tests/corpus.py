"""Access to the corpus of real recorded outputs, where it is present beside the checkout."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml


def folder() -> Path:
    """The corpus folder; skips the test with a clear reason when it is not there.

    `RACKSIDE_CORPUS` names it, else it is looked for in `shared/corpus` beside and above the checkout.
    """
    here = Path(__file__).resolve().parent.parent
    candidates = [Path(os.environ.get("RACKSIDE_CORPUS", "")), here.parent / "shared/corpus", here / "shared/corpus"]
    for path in candidates:
        if (path / "index.yaml").is_file():
            return path
    pytest.skip("the corpus of recorded outputs is not here (set RACKSIDE_CORPUS)")


@cache
def _index(path: Path) -> dict[str, dict[str, Any]]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    entries = yaml.load((path / "index.yaml").read_text(encoding="utf-8"), Loader=loader)["entries"]
    return {entry["id"]: entry for entry in entries}


def entry(entry_id: str) -> dict[str, Any]:
    """The index entry: command, truth, verdict, note."""
    return _index(folder())[entry_id]


def entries(family: str) -> list[dict[str, Any]]:
    """All entries of a family."""
    return [e for key, e in _index(folder()).items() if key.startswith(f"{family}/")]


def data(entry_id: str) -> bytes:
    """The recorded bytes."""
    return (folder() / f"{entry_id}.txt").read_bytes()
