"""History of Slurm nodes: `sacctmgr -n -P show event`.

gpu017|2026-03-04T02:10:05|Unknown|00:19:55|DOWN*|Not responding|slurm(64030)
"""

from __future__ import annotations

import re
from datetime import datetime

from checks.findings import Model
from checks.outputs import Empty, Facts, OddLine, Outcome, Raw
from checks.tools import slurm_text as slurm


class NodeEvent(Model):
    """One time a node was out of service. Times None: not known, or not ended."""

    line: int
    node: str
    start: datetime | None
    end: datetime | None
    duration_s: float | None = None
    states: tuple[str, ...] = ()
    reason: str | None = None
    user: str | None = None

    @property
    def lost(self) -> bool:
        """True when the scheduler lost contact (a person drains, the scheduler sets down)."""
        return "down" in self.states or "not_responding" in self.states


class NodeEvents(Facts):
    """History of nodes going down or being drained, in the order printed."""

    events: tuple[NodeEvent, ...]


_EVENT_FORM = ("NODENAME", "TIMESTART", "TIMEEND", "DURATION", "STATE", "REASON", "USER")
_EVENT_NAMES = {"START": "TIMESTART", "END": "TIMEEND", "CLUSTER": "CLUSTER", "NODE": "NODENAME"}


def parse_node_events(raw: Raw) -> Outcome:
    """`sacctmgr -n -P show event`: seven cells, a reason that may hold the separator; a heading is understood too."""
    if raw.blank:
        return Empty("no event since then")
    names: tuple[str, ...] = _EVENT_FORM
    events: list[NodeEvent] = []
    odd: list[OddLine] = []
    headed = False
    for n, line in raw.numbered():
        cells = [c.strip() for c in line.split("|")]
        heads = tuple(_EVENT_NAMES.get(h, h) for h in map(slurm.name_of, cells))
        if {"TIMESTART", "REASON"} <= set(heads):
            names, headed = heads, True
            continue
        if len(cells) > len(names) and "REASON" in names:
            at = names.index("REASON")
            behind = len(names) - at - 1
            cells = [*cells[:at], "|".join(cells[at : len(cells) - behind]), *cells[len(cells) - behind :]]
        cell = dict(zip(names, cells, strict=False))
        if len(cells) != len(names) or not slurm.is_time(cell.get("TIMESTART", "")):
            if events or headed:
                odd.append(raw.odd(n))
            continue
        node = slurm.value(cell.get("NODENAME"))
        if node is None:
            # an event of the cluster as a whole (its TRES changed) names no node
            continue
        events.append(
            NodeEvent(
                line=n,
                node=node,
                start=slurm.moment(cell["TIMESTART"]),
                end=slurm.moment(cell.get("TIMEEND")),
                duration_s=slurm.duration_s(cell.get("DURATION")),
                states=slurm.node_states(cell.get("STATE", "")),
                reason=slurm.value(cell.get("REASON")),
                user=slurm.value(re.sub(r"\(\d+\)$", "", cell.get("USER", ""))),
            )
        )
    if not raw.complete:
        odd.append(raw.odd(len(raw.lines)))
    if not events and not odd:
        return Empty("no node event since then") if headed or _cluster_only(raw) else raw.unparsable("no node events")
    if not events and not headed:
        return raw.unparsable("no node events")
    return NodeEvents(events=tuple(events), odd=tuple(odd))


def _cluster_only(raw: Raw) -> bool:
    return all(line.startswith("|") and slurm.is_time(line.split("|")[1]) for _, line in raw.numbered())
