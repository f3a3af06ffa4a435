"""Did the scheduler lose many nodes at once, and did those nodes really die."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta

from checks.findings import Certainty, Evidence, Observed, Status
from checks.judgement import Judgement, ok
from checks.outputs import NotAvailable
from checks.rules import Read, rule
from checks.rules.scheduling import common
from checks.rules.scheduling.common import Loss
from checks.tools.clock import Boot
from checks.tools.slurm_config import Config
from checks.tools.slurm_log import CtldLog
from checks.tools.slurm_nodes import SlurmNodes
from checks.view import Reading, View, observed

RECENT = timedelta(days=1)
"""A loss of many nodes that is over and older than this explains nothing that happens now."""
SAME_SWEEP_S = 120.0
UNKNOWN_SWEEP_S = 3600.0
"""How far apart the scheduler and a node were read: of one round, or when nobody says."""


@rule(
    "scheduling.mass_event",
    title="Did the scheduler lose many nodes at once?",
    why="A switch that restarts takes the heartbeats of its whole leaf with it: the scheduler then kills jobs on nodes "
    "that never stopped computing. Draining or rebooting them makes it worse.",
    scope="cluster",
    reads=(
        "node-events",
        Read("sinfo-N", optional=True),
        Read("slurmctld-log", optional=True),
        Read("sconfig", optional=True),
        Read("stopo", optional=True),
        Read("lldp", optional=True),
        Read("boot", rounds=2, optional=True, roles=("gpu-node",)),
    ),
    thresholds=("mass-event", "slurmd-timeout"),
    faults=("sc-heartbeat-kill", "sc-node-rebooted"),
    applies=common.no_slurm,
)
def mass_event(view: View) -> Iterator[Judgement]:
    """Losses within the window, by leaf; then the boot id and uptime of every lost node."""
    head = common.heads(view)[0]
    events = common.history(view)
    log = view.newest("slurmctld-log", head, CtldLog)
    nodes = view.newest("sinfo-N", head, SlurmNodes)
    window = timedelta(minutes=view.limit("mass-event", "window"))
    listed = common.losses(events.facts.events) if events.facts else []
    logged = _logged(log)
    shown = _shown(nodes)
    sources: tuple[tuple[list[Loss], Callable[[Sequence[Loss]], tuple[Evidence, ...]]], ...] = (
        (listed, lambda group: common.quotes(events, group)),
        (logged, lambda group: tuple(log.quote(n) for n in sorted({x.line for x in group})[:3])),
        (shown, lambda group: tuple(nodes.quote(x.line) for x in group[:3])),
    )
    for found, quotes in sources:
        for group in common.together(found, window):
            if _many(view, group) and _matters(group, nodes, _now(view)):
                lines = _log_lines(log, {x.node for x in group}) if found is not logged else []
                yield from _judged(view, group, (*quotes(group), *(log.quote(n) for n in lines)))
                return
    quote = (events.quote(events.known.events[-1].line),) if events.facts and events.known.events else ()
    count = observed("times a node was lost", len(listed), "", head)
    if events.facts is not None or events.empty:
        yield ok("nodes were not lost in numbers at once", head, observed=(count,), evidence=quote)
    else:
        yield events.unknown()


def _logged(log: Reading[CtldLog]) -> list[Loss]:
    if log.facts is None:
        return []
    kinds = ("set-down", "not-responding")
    found: dict[str, Loss] = {}
    for kind in kinds:
        for e in log.facts.events:
            if e.kind == kind and e.at is not None:
                for name in e.names:
                    found.setdefault(name, Loss(name, e.at, False, e.line))
    return list(found.values())


def _shown(nodes: Reading[SlurmNodes]) -> list[Loss]:
    if nodes.facts is None:
        return []
    lost = {
        name: Loss(name, row.since, False, row.line)
        for row in nodes.facts.rows
        if row.down and row.since is not None and "not responding" in (row.reason or "").lower()
        for name in row.names
    }
    return list(lost.values())


def _log_lines(log: Reading[CtldLog], lost: set[str]) -> list[int]:
    """The first line that tells of these nodes being lost, and the first that tells of a job killed for it."""
    if log.facts is None:
        return []
    first = [e.line for e in log.facts.events if e.kind in ("not-responding", "set-down") and lost & set(e.names)]
    killed = [e.line for e in log.facts.events if e.kind in ("killed", "requeued") and lost & set(e.names)]
    return [*first[:1], *killed[:1]]


def _many(view: View, group: Sequence[Loss]) -> bool:
    """True for three of one leaf, or more than a share of all nodes (and never for one or two)."""
    lost = {x.node for x in group}
    least = view.limit("mass-event", "leaf-nodes")
    if len(lost) < least:
        return False
    every = view.cluster.nodes("gpu-node")
    per_leaf = Counter(leaf for n, leaf in common.leaves(view, lost).items() if n in lost)
    share = 100 * len(lost) / max(len(every), len(lost))
    return share > view.limit("mass-event", "share") or max(per_leaf.values(), default=0) >= least


def _matters(group: Sequence[Loss], nodes: Reading[SlurmNodes], now: datetime | None) -> bool:
    """True for nodes still lost, or lost within the last day."""
    down = {name for row in (nodes.facts.rows if nodes.facts else ()) if row.down for name in row.names}
    if any(x.node in down for x in group) or (nodes.facts is None and not all(x.ended for x in group)):
        return True
    old = common.age_s(group[0], now)
    return old is None or old[0] < RECENT.total_seconds()


def _now(view: View) -> datetime | None:
    times = (view.store.taken_at(n) for n in reversed(view.rounds))
    return next((t for t in times if t is not None), None)


def _judged(view: View, group: Sequence[Loss], evidence: tuple[Evidence, ...]) -> Iterator[Judgement]:
    lost = sorted({x.node for x in group})
    alive: list[str] = []
    restarted: list[str] = []
    silent: dict[str, str] = {}
    gone: list[str] = []
    quotes: dict[str, Evidence] = {}
    for node in lost:
        died, why, reading = _died(view, node, group)
        if reading.facts is not None:
            quotes[node] = reading.quote(reading.known.line, reading.known.uptime_line)
        if died is None:
            silent[node] = why
            if isinstance(reading.outcome, NotAvailable) and reading.outcome.kind == "unreachable":
                gone.append(node)
        else:
            (restarted if died else alive).append(node)
    facts = _observed(view, lost, group)
    at = min((x.at for x in group if x.at.tzinfo), default=None)
    stamp = at.isoformat() if at else ""
    leaf = tuple(sorted({f for n, f in common.leaves(view, lost).items() if n in lost}))

    def made(summary: str, of: Sequence[str], certainty: Certainty, fault: str, reason: str = "") -> Judgement:
        return Judgement(
            Status.CRITICAL,
            summary,
            nodes=tuple(of),
            entities=leaf,
            observed=facts,
            threshold=view.against("mass-event", "leaf-nodes"),
            evidence=(*evidence, *(quotes[n] for n in list(of)[:2] if n in quotes)),
            faults=(fault,),
            certainty=certainty,
            reason=reason,
            missing=("boot",) if reason else (),
            at=stamp,
        )

    if alive:
        yield made(
            "many nodes lost contact with the scheduler at once and did not restart: their heartbeats were lost, the "
            "nodes were not; do not drain or reboot them",
            alive,
            "established",
            "sc-heartbeat-kill",
        )
    if restarted:
        yield made(
            "many nodes were lost at once, and these did restart since",
            restarted,
            "supported" if alive else "established",
            "sc-node-rebooted",
        )
    if not silent:
        return
    reason = next(iter(silent.values()))
    if restarted and not alive:
        yield Judgement(
            Status.UNKNOWN,
            "lost with others that restarted; not known whether these did",
            nodes=tuple(silent),
            reason=reason,
            missing=("boot",),
        )
        return
    certainty: Certainty = "hypothesis" if gone and not alive else "supported"
    yield made(
        "many nodes lost contact with the scheduler at once; whether these restarted is not known: look before you "
        "drain or reboot them",
        tuple(silent),
        certainty,
        "sc-heartbeat-kill",
        reason,
    )


def _died(view: View, node: str, group: Sequence[Loss]) -> tuple[bool | None, str, Reading[Boot]]:
    """(did the node restart since it was lost, why that is not known, its newest boot reading)."""
    last = view.newest("boot", node, Boot)
    if last.facts is None:
        return None, f"boot: {last.why}", last
    each = (view.at("boot", node, round=k).facts for k in view.rounds)
    if len({b.boot_id for b in each if isinstance(b, Boot)}) > 1:
        return True, "", last
    loss = min((x for x in group if x.node == node), key=lambda x: x.utc)
    since = common.age_s(loss, last.read_at or _now(view))
    up_s = last.facts.uptime_s
    if up_s is None or since is None:
        return None, "no uptime, or no time to hold it against", last
    # a node is held for lost only when it was silent for SlurmdTimeout: it may have died that much earlier
    silent_s = _timeout_s(view) or view.limit("slurmd-timeout")
    if up_s > since[1] + silent_s + (SAME_SWEEP_S if last.read_at else UNKNOWN_SWEEP_S):
        return False, "", last
    if up_s <= since[0] + silent_s:
        return True, "", last
    return None, "the node started at about the time it was lost, as far as the times can be compared", last


def _observed(view: View, lost: Sequence[str], group: Sequence[Loss]) -> tuple[Observed, ...]:
    head = common.heads(view)[0]
    values = [observed("nodes lost together", len(lost), "", head)]
    first, last = min(x.utc for x in group), max(x.utc for x in group)
    values.append(observed("first lost at", f"{first:%Y-%m-%d %H:%M:%S}", "", head))
    values.append(observed("within", round((last - first).total_seconds()), "s", head))
    timeout = _timeout_s(view)
    limit = view.against("slurmd-timeout")
    values.append(
        observed("SlurmdTimeout", timeout, "s", head)
        if timeout is not None
        else observed("SlurmdTimeout (not read; Slurm's default)", limit.value, "s", head)
    )
    return tuple(values)


def _timeout_s(view: View) -> float | None:
    config = view.newest("sconfig", common.heads(view)[0], Config)
    return config.facts.seconds("SlurmdTimeout") if config.facts else None
