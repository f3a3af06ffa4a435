"""What GPU rules share: names of GPUs, readings per node, peers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from checks.outputs import Facts
from checks.view import Reading, View

F = TypeVar("F", bound=Facts)

BUSY_PCT = 50.0
"""Utilisation from which a GPU counts as at work."""


def gpu(node: str, index: int) -> str:
    """Name of a GPU as an entity: `gpu017:GPU3`."""
    return f"{node}:GPU{index}"


def readings(view: View, command: str, kind: type[F]) -> Iterator[Reading[F]]:
    """The newest reading of a command on every GPU node."""
    return (view.newest(command, node, kind) for node in view.nodes("gpu-node"))


def majority(values: Iterable[object]) -> object | None:
    """The value more than half of all have; None without one."""
    counted: dict[object, int] = {}
    for value in values:
        counted[value] = counted.get(value, 0) + 1
    best = max(counted, key=lambda v: counted[v], default=None)
    return best if best is not None and counted[best] * 2 > sum(counted.values()) else None


def median(values: Iterable[float]) -> float | None:
    """The middle value; None for none."""
    ordered = sorted(values)
    if not ordered:
        return None
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def fewer(node: str, count: int, expected: int) -> tuple[str, ...]:
    """Entity of a node with missing GPUs."""
    return (f"{node}: {expected - count} of {expected} GPUs",)
