"""File systems other than Lustre: NFS and GPFS."""

from __future__ import annotations

from collections.abc import Iterator

from checks.findings import Status
from checks.judgement import Judgement, ok
from checks.rules import Read, rule
from checks.rules.storage.common import only
from checks.tools.gpfs import Waiters
from checks.tools.nfs import MountStats, NfsLog, NfsMount
from checks.view import View, Window, observed


@rule(
    "storage.nfs",
    title="Does NFS answer, and without repeats?",
    why="Retransmissions mean that the network or the server loses requests; a server that does not respond freezes "
    "every process that touches it.",
    scope="node",
    reads=(Read("nfs-mountstats", rounds=2), "nfs-log"),
    thresholds=("nfs-retrans",),
    faults=("st-nfs-slow", "st-nfs-down"),
    applies=only("nfs"),
)
def nfs(view: View) -> Iterator[Judgement]:
    """The log first, then retransmissions between two readings."""
    for node in view.nodes("storage-client"):
        log = view.newest("nfs-log", node, NfsLog)
        if log.facts is None and not log.empty:
            yield log.unknown()
        waiting = {}
        for e in log.facts.events if log.facts else ():
            if e.kind in ("not-responding", "timed-out"):
                waiting[e.server] = e
            elif e.kind == "ok":
                waiting.pop(e.server, None)
        if waiting:
            yield Judgement(
                Status.CRITICAL,
                "an NFS server does not respond",
                nodes=(node,),
                entities=tuple(s for s in waiting if s),
                evidence=tuple(log.quote(e.line) for e in waiting.values()),
                faults=("st-nfs-down",),
            )
            continue
        found = view.window("nfs-mountstats", node, MountStats)
        if not isinstance(found, Window):
            yield found.unknown()
            continue
        yield from _repeats(view, found)


def _repeats(view: View, w: Window[MountStats]) -> Iterator[Judgement]:
    before = {m.target: m for m in w.before.mounts}
    if not w.after.mounts:
        yield w.last.unknown("no NFS mount on this node")
    for m in w.after.mounts:
        old: NfsMount | None = before.get(m.target)
        if old is None:
            yield w.last.unknown("a mount was not there in the first round")
            continue
        ops, repeats = m.operations - old.operations, m.retransmissions - old.retransmissions
        if ops < 0:
            yield w.last.unknown("counters ran backwards: mounted anew")
            continue
        share = repeats / ops * 100 if ops else 0.0
        values = (observed("repeated requests", round(share, 2), "% of operations", w.node),)
        if share > view.limit("nfs-retrans"):
            yield Judgement(
                Status.WARN,
                "NFS requests are sent again",
                nodes=(w.node,),
                entities=(m.target,),
                observed=values,
                threshold=view.against("nfs-retrans"),
                evidence=(w.first.quote(old.line), w.last.quote(m.line)),
                faults=("st-nfs-slow",),
            )
        else:
            yield ok("NFS answers without repeats", w.node, observed=values, evidence=(w.last.quote(m.line),))


@rule(
    "storage.gpfs",
    title="Does nobody wait long in GPFS?",
    why="A thread that waits for minutes names what the file system waits for: a disk, a network, a lock.",
    scope="node",
    reads=("gpfs-waiters",),
    thresholds=("gpfs-waiter",),
    faults=("st-gpfs-waiters",),
    applies=only("gpfs"),
)
def gpfs(view: View) -> Iterator[Judgement]:
    """The longest waiter of each node."""
    for r in view.read("gpfs-waiters", Waiters, roles=("storage-client",)):
        if r.facts is None:
            yield ok("nobody waits", r.node) if r.empty else r.unknown()
            continue
        worst = max(r.facts.waiters, key=lambda x: x.seconds, default=None)
        if worst is None:
            yield r.unknown("no waiter tells its time")
            continue
        value = (observed("longest wait", round(worst.seconds, 1), "s", r.node),)
        if worst.seconds > view.limit("gpfs-waiter", "look"):
            bad = worst.seconds > view.limit("gpfs-waiter", "fault")
            yield Judgement(
                Status.CRITICAL if bad else Status.WARN,
                "threads wait long in GPFS",
                nodes=(r.node,),
                observed=value,
                threshold=view.against("gpfs-waiter", "fault" if bad else "look"),
                evidence=(r.quote(worst.line),),
                faults=("st-gpfs-waiters",),
                certainty="established" if bad else "hypothesis",
            )
        else:
            yield ok("waits are short", r.node, observed=value, evidence=(r.quote(worst.line),))
