"""Runbooks by id from the shipped library, or from a file of one's own."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from common import words, yamlfile
from common.errors import UsageError
from runbooks.model import Runbook

LIBRARY = Path(__file__).parent / "library"

ORDER = (
    "triage",
    "training-slow",
    "job-hang",
    "straggler",
    "crash-xid",
    "nodes-lost",
    "checkpoint-stall",
    "dataloader-starved",
    "jobs-pending",
    "fragmented",
    "storage-slow-full",
    "link-flaps",
    "inference-latency",
    "gpu-missing",
    "bring-up",
    "mfu-low",
    "thermal-power",
    "cost-utilisation",
    "loss-spike",
)
"""Every runbook id of the contract, the root first."""


@cache
def names() -> tuple[str, ...]:
    """Ids of the shipped runbooks, in the contract's order; no file is read."""
    there = {p.stem for p in LIBRARY.glob("*.yaml")}
    return (*(n for n in ORDER if n in there), *sorted(there - set(ORDER)))


def shipped() -> list[Runbook]:
    """All shipped runbooks."""
    return [_shipped(name, words.language()) for name in names()]


@cache
def _shipped(name: str, language: str) -> Runbook:
    return read(LIBRARY / f"{name}.yaml")


def read(path: Path) -> Runbook:
    """A runbook from a file.

    Raises:
        InputError: with file, line and fix.
    """
    return yamlfile.load(path, Runbook)


def get(name: str) -> Runbook:
    """A shipped runbook by id, or the one in the YAML file named.

    Raises:
        UsageError: neither.
        InputError: the file is not a runbook.
    """
    if name in names():
        return _shipped(name, words.language())
    path = Path(name).expanduser()
    if path.suffix in (".yaml", ".yml") and path.is_file():
        return read(path)
    raise UsageError(f"no runbook `{name}`; {yamlfile.nearest(name, names())}")


def books(name: str) -> dict[str, Runbook]:
    """The runbook named first, and every runbook it runs, by id."""
    first = get(name)
    found = {first.id: first}
    waiting = [first]
    while waiting:
        for step in waiting.pop().steps:
            if step.run is not None and step.run not in found:
                found[step.run] = get(step.run)
                waiting.append(found[step.run])
    return found
