"""Node sets in the operators' notation (`gpu[001-064,070]`), through ClusterShell."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from ClusterShell.NodeSet import NodeSet, NodeSetException, set_std_group_resolver

# Group files of the machine Rackside runs on have no say in what a recorded name means.
set_std_group_resolver(None)


class NodeSetError(ValueError):
    """A text is not a node set."""


@lru_cache(maxsize=4096)
def expand(text: str) -> tuple[str, ...]:
    """The nodes of a set, in ClusterShell's order.

    Raises:
        NodeSetError: the text is not a node set.
    """
    try:
        return tuple(NodeSet(text, resolver=None))
    except (NodeSetException, ValueError, TypeError) as error:
        raise NodeSetError(f"not a node set: {text!r} ({error})") from None


def fold(nodes: Iterable[str]) -> str:
    """Nodes folded and sorted: `gpu[001-003]`; an empty text for no nodes."""
    return _fold(tuple(sorted(set(nodes))))


@lru_cache(maxsize=4096)
def _fold(nodes: tuple[str, ...]) -> str:
    if len(nodes) < 2:
        return "".join(nodes)
    try:
        return str(NodeSet.fromlist(list(nodes), resolver=None))
    except NodeSetException:
        return ",".join(nodes)
