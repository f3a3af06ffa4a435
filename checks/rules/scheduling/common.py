"""What the scheduling checks share: the head to ask, leaves of nodes, losses that belong together, times."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from checks.findings import Evidence
from checks.inventory import Cluster
from checks.plan import HISTORY
from checks.tools.lldp import Neighbours
from checks.tools.slurm_config import Topology
from checks.tools.slurm_events import NodeEvent, NodeEvents
from checks.view import Reading, View

FARTHEST_ZONE = timedelta(hours=14)
"""A time without a zone lies at most this far from the same figures in UTC."""


def no_slurm(cluster: Cluster) -> str | None:
    """Why a check of Slurm makes no sense on a cluster."""
    if cluster.spec.scheduler.kind == "kubernetes":
        return "the scheduler is Kubernetes, not Slurm"
    return None if cluster.nodes("scheduler") else "the cluster file names no scheduler host"


def heads(view: View) -> tuple[str, ...]:
    """The scheduler hosts; what is asked once is asked on the first."""
    return view.nodes("scheduler")


def history(view: View) -> Reading[NodeEvents]:
    """The history of node events, over whatever time it was asked."""
    head = heads(view)[0]
    asked = view.store.params(head, "node-events")
    return view.newest("node-events", head, NodeEvents, asked[-1] if asked else (HISTORY,))


@dataclass(frozen=True, slots=True)
class Loss:
    """A node that the scheduler lost at a time; `ended` says that it came back, `line` where it is written.

    `age_s` is how long ago it was, where the scheduler itself counted the seconds (whatever its time zone).
    """

    node: str
    at: datetime
    ended: bool
    line: int
    age_s: float | None = None

    @property
    def utc(self) -> datetime:
        """The time on one scale for all; without a zone its figures count as UTC."""
        return self.at if self.at.tzinfo else self.at.replace(tzinfo=UTC)


def losses(events: Iterable[NodeEvent]) -> list[Loss]:
    """Events in which contact was lost; planned reboots and what a person did are none."""
    return [
        Loss(e.node, e.start, e.end is not None, e.line, e.duration_s if e.end is None else None)
        for e in events
        if e.start is not None and e.lost and "reboot" not in (e.reason or "").lower()
    ]


def together(found: Iterable[Loss], window: timedelta, least: int = 3) -> list[list[Loss]]:
    """Losses of at least so many nodes that all lie within the window; the largest groups first."""
    rest = sorted(found, key=lambda x: x.utc)
    groups: list[list[Loss]] = []
    while len(rest) >= least:
        times = [x.utc for x in rest]
        spans = [(k, bisect_right(times, at + window)) for k, at in enumerate(times)]
        first, last = max(spans, key=lambda s: s[1] - s[0])
        group = rest[first:last]
        if len({x.node for x in group}) < least:
            break
        groups.append(group)
        rest = rest[:first] + rest[last:]
    return groups


def leaves(view: View, nodes: Iterable[str]) -> dict[str, str]:
    """Leaf of each node: as Slurm's topology has it, else the cluster file, else what LLDP heard; racks at last."""
    wanted = list(nodes)
    topology = view.newest("stopo", heads(view)[0], Topology).facts
    if topology and (known := topology.leaf_of()) and any(n in known for n in wanted):
        return known
    for kind in ("leaf", "rack"):
        if named := {n: label for label, members in view.cluster.groups(kind) for n in members}:
            return named
    found: dict[str, str] = {}
    rails = set(view.cluster.spec.interfaces.rdma)
    for node in wanted:
        facts = view.newest("lldp", node, Neighbours).facts
        heard = facts.neighbours if facts else ()
        counts = Counter(x.switch for x in heard if x.switch and (not rails or x.interface in rails))
        if counts:
            found[node] = counts.most_common(1)[0][0]
    return found


def quotes(reading: Reading[NodeEvents], found: Iterable[Loss]) -> tuple[Evidence, ...]:
    """The lines of losses, neighbouring ones as one piece."""
    lines = sorted({x.line for x in found})
    pieces: list[tuple[int, int]] = []
    for line in lines:
        if pieces and line == pieces[-1][1] + 1:
            pieces[-1] = (pieces[-1][0], line)
        else:
            pieces.append((line, line))
    return tuple(reading.quote(first, min(last, first + 3)) for first, last in pieces[:4])


def age_s(loss: Loss, now: datetime | None) -> tuple[float, float] | None:
    """(least, most) seconds since a loss, apart where its time carries no zone; None without a time to compare."""
    if loss.age_s is not None:
        return loss.age_s, loss.age_s
    if now is None:
        return None
    seconds = (now - loss.utc).total_seconds()
    slack = 0.0 if loss.at.tzinfo else FARTHEST_ZONE.total_seconds()
    return max(0.0, seconds - slack), seconds + slack
