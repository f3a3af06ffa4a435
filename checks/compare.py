"""Differences between the facts of two recordings, or of two rounds of one; texts are never compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from checks import catalogue, interpret, nodesets
from checks.findings import Model
from checks.inventory import Cluster
from checks.outputs import Empty, Facts, NotAvailable, Outcome, Unparsable
from checks.view import Store

# Where a value stands, and what changes by itself with every reading.
_PLACES = frozenset({"line", "lines", "line_of", "odd"})


class Change(Model):
    """One fact that differs on some nodes. `before` and `after` are the values in words; empty means absent."""

    command: str
    field: str
    nodes: str
    before: str
    after: str


class Side:
    """One side of a comparison: a store, and the round to read (None: the newest that has the file)."""

    def __init__(self, label: str, cluster: Cluster, store: Store, round: int | None = None) -> None:
        self.label, self.cluster, self.store, self.round = label, cluster, store, round
        self._parsed: dict[tuple[str, bytes], Mapping[str, str]] = {}

    def facts(self, node: str, command: str, params: tuple[str, ...]) -> Mapping[str, str]:
        """Flat facts of one command on one node, or one entry that says why there are none."""
        rounds = [self.round] if self.round is not None else list(reversed(self.store.rounds))
        for number in rounds:
            got = self.store.get(node, command, params, number, 1)
            if isinstance(got, NotAvailable):
                if got.kind == "not-recorded":
                    continue
                return {"": got.reason}
            key = (got.key, got.stdout)
            if key not in self._parsed:
                self._parsed[key] = dict(flat(interpret.interpret(got)))
            return self._parsed[key]
        return {}

    def asked(self, node: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """(command, parameters) recorded for a node."""
        for command, entry in catalogue.table().items():
            values = self.store.params(node, command) if entry.params else [()]
            for value in values:
                yield command, value


def flat(outcome: Outcome) -> Iterator[tuple[str, str]]:
    """(path, value) of every fact; rows of a list are named by what identifies them where they say so."""
    match outcome:
        case Facts():
            yield from _walk("", outcome.model_dump(mode="json"))
        case Empty():
            yield "", "nothing to report"
        case Unparsable():
            yield "", f"cannot be read: {outcome.reason}"
        case NotAvailable():
            yield "", outcome.reason


_NAMES = ("index", "name", "interface", "port", "device", "node", "nodes", "ost", "path", "id", "queue", "uuid")


def _walk(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in _PLACES and not key.endswith("_line"):
                yield from _walk(f"{path}.{key}" if path else str(key), item)
    elif isinstance(value, list):
        for position, item in enumerate(value):
            names = [str(item[k]) for k in _NAMES if isinstance(item, dict) and item.get(k) is not None]
            yield from _walk(f"{path}[{' '.join(names[:2]) or position}]", item)
    elif value is not None:
        yield path, str(value)


def differences(a: Side, b: Side) -> list[Change]:
    """Facts that differ, folded over the nodes that differ alike; ordered by command and field."""
    groups: dict[tuple[str, str, str, str], list[str]] = {}
    nodes = dict.fromkeys((*a.cluster.nodes(), *b.cluster.nodes()))
    for node in nodes:
        asked = dict.fromkeys((*a.asked(node), *b.asked(node)))
        for command, params in asked:
            before, after = a.facts(node, command, params), b.facts(node, command, params)
            if before is after or before == after:
                continue
            name = "@".join((command, *params))
            if not before or not after:
                if a.round is not None or b.round is not None:
                    # what does not change is recorded in one round only
                    continue
                words = ("not recorded", "recorded") if not before else ("recorded", "not recorded")
                groups.setdefault((name, "", *words), []).append(node)
                continue
            for field in dict.fromkeys((*before, *after)):
                old, new = before.get(field, ""), after.get(field, "")
                if old != new:
                    groups.setdefault((name, field, old, new), []).append(node)
    return [
        Change(command=command, field=field, nodes=nodesets.fold(members), before=old, after=new)
        for (command, field, old, new), members in sorted(groups.items())
    ]
