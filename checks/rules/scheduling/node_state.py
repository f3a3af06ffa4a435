"""Why nodes are out of service, and which node is out again and again."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta

from checks.findings import Certainty, Status
from checks.judgement import Judgement, ok
from checks.rules import Read, rule
from checks.rules.scheduling import common
from checks.tools.slurm_job_tables import SlurmJobs
from checks.tools.slurm_nodes import SlurmNode, SlurmNodes
from checks.view import Reading, View, Window, observed

COMPLETING_S = 600
"""A job that still completes after ten minutes hangs."""
SHARED = 3
"""So many nodes with one reason in a short time have a common cause."""
SHARED_WINDOW = timedelta(minutes=30)
LEMON = 3
"""Out of service so often in the time asked: far above a fleet that sees none or one."""

_KINDS: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (re.compile(r"kill task failed|unkillable|step .* not killed", re.I), "processes of a job could not be killed",
     "sc-kill-task-failed"),
    (re.compile(r"low (?:realmemory|socket|cpus|tmpdisk|core|mem)|gres/\S+ count|reported lower than configured|"
                r"invalid (?:cpu|gres|config)", re.I),
     "the node registered with less than it is configured for", "sc-node-config-mismatch"),
    (re.compile(r"(?:prolog|epilog) (?:error|failed|timeout)", re.I), "the prolog or epilog failed", "sc-prolog"),
    (re.compile(r"unexpectedly rebooted", re.I), "the node restarted without being asked to", "sc-node-rebooted"),
    (re.compile(r"NHC.*(?:watchdog|timer|timed? ?out|unable to terminate)", re.I), "the health check itself timed out",
     "sc-healthcheck-weak"),
    (re.compile(r"\bNHC\b|health ?check", re.I), "the health check took the node out", ""),
    (re.compile(r"not responding", re.I), "the node does not answer the scheduler", ""),
    (re.compile(r"reboot", re.I), "a reboot was asked for", ""),
)  # fmt: skip
_SHARED_FAULTS = ("sc-kill-task-failed", "sc-prolog")


@rule(
    "scheduling.node_reasons",
    title="Why are nodes out of service?",
    why="The reason the scheduler keeps with a node says what took it out; one reason on many nodes at once is a "
    "consequence of something they share.",
    scope="node",
    reads=("sinfo-N", Read("sinfo-R", optional=True), Read("squeue-run", rounds=2, optional=True)),
    faults=(
        "sc-kill-task-failed",
        "sc-node-config-mismatch",
        "sc-prolog",
        "sc-node-rebooted",
        "sc-completing",
        "sc-healthcheck-weak",
        "sc-wrong-drain",
    ),
    applies=common.no_slurm,
)
def node_reasons(view: View) -> Iterator[Judgement]:
    """Every node that is down or drained, by its reason; then jobs that do not end."""
    head = common.heads(view)[0]
    listed = view.newest("sinfo-N", head, SlurmNodes)
    reasons = view.newest("sinfo-R", head, SlurmNodes)
    usable = listed if listed.facts is not None else reasons
    if listed.facts is None:
        yield listed.unknown()
    rows = _out(usable) if usable.facts is not None else {}
    shared = _shared(rows)
    for node, row in rows.items():
        yield _reason(view, usable, node, row, shared)
    yield from _completing(view, head)
    if listed.facts is None:
        return
    named = {name for row in listed.facts.rows for name in row.names}
    expected = [n for n in view.nodes("gpu-node") if n not in named]
    if named and expected and len(expected) < len(view.nodes("gpu-node")):
        yield Judgement(
            Status.UNKNOWN,
            "the scheduler does not list these nodes, or the list is cut off",
            nodes=tuple(expected),
            reason="not in the list of nodes",
            missing=("sinfo-N",),
        )
    if not any(row.states for row in listed.facts.rows) or not named:
        yield listed.unknown("the list says of no node in which state it is")
    elif not rows:
        yield ok(
            "all nodes are in service",
            head,
            observed=(observed("nodes in service", len(named), "", head),),
            evidence=(listed.quote(listed.facts.rows[0].line),),
        )


def _out(reading: Reading[SlurmNodes]) -> dict[str, SlurmNode]:
    """Nodes that are down or drained, each once; of `sinfo -R` every row is one."""
    stateless = all(not row.states for row in reading.known.rows)
    out: dict[str, SlurmNode] = {}
    for row in reading.known.rows:
        for name in row.names:
            if row.down or row.drained or (stateless and row.reason):
                out.setdefault(name, row)
    return out


def _kind(reason: str | None) -> tuple[str, str]:
    for pattern, words, fault in _KINDS:
        if reason and pattern.search(reason):
            return words, fault
    return ("taken out by hand or for a reason of this site" if reason else "out of service without a reason"), ""


def _shared(rows: dict[str, SlurmNode]) -> set[str]:
    """Nodes that were taken out for one of the telling reasons together with others."""
    groups: dict[str, list[tuple[str, SlurmNode]]] = defaultdict(list)
    for node, row in rows.items():
        if (fault := _kind(row.reason)[1]) in _SHARED_FAULTS and row.since is not None:
            groups[fault].append((node, row))
    found: set[str] = set()
    for members in groups.values():
        lost = [common.Loss(node, row.since, False, row.line) for node, row in members if row.since is not None]
        found |= {x.node for group in common.together(lost, SHARED_WINDOW, SHARED) for x in group}
    return found


def _reason(view: View, reading: Reading[SlurmNodes], node: str, row: SlurmNode, shared: set[str]) -> Judgement:
    words, fault = _kind(row.reason)
    faults = (fault,) if fault else ()
    certainty: Certainty = "established"
    if node in shared:
        words = f"{words}, on many nodes within half an hour: look for what they share before judging the nodes"
        faults, certainty = ("sc-wrong-drain",), "supported"
    values = [observed("state", "+".join(row.states) or "out of service", "", node)]
    values.append(observed("reason", row.reason or "none", "", node))
    if row.user:
        values.append(observed("set by", row.user, "", node))
    if row.since is not None:
        values.append(observed("since", f"{row.since:%Y-%m-%d %H:%M:%S}", "", node))
    return Judgement(
        Status.WARN,
        words,
        nodes=(node,),
        observed=tuple(values),
        evidence=(reading.quote(row.reason_line or row.line),),
        faults=faults,
        certainty=certainty,
        at=row.since.isoformat() if row.since is not None and row.since.tzinfo else "",
    )


def _completing(view: View, head: str) -> Iterator[Judgement]:
    """Jobs that were completing in two readings ten minutes apart."""
    window = view.window("squeue-run", head, SlurmJobs)
    if not isinstance(window, Window) or window.seconds is None or window.seconds < COMPLETING_S:
        return
    before = {j.id for j in window.before.jobs if j.state == "COMPLETING"}
    for job in window.after.jobs:
        if job.state == "COMPLETING" and job.id in before:
            yield Judgement(
                Status.WARN,
                "a job does not finish completing",
                nodes=job.node_list,
                entities=(f"job {job.id}",),
                observed=(observed("completing for at least", round(window.seconds), "s", *job.node_list),),
                evidence=(window.last.quote(job.line),),
                faults=("sc-completing",),
                certainty="supported",
            )


@rule(
    "scheduling.lemon",
    title="Is it the same node again and again?",
    why="A lemon passes every check between its failures; only the history of a month gives it away.",
    scope="node",
    reads=("node-events",),
    thresholds=("mass-event", "mttf-scale"),
    faults=("sc-lemon-node",),
    applies=common.no_slurm,
)
def lemon(view: View) -> Iterator[Judgement]:
    """Losses and failures per node over the history; what took many nodes at once counts for none of them."""
    head = common.heads(view)[0]
    events = common.history(view)
    if events.facts is None:
        yield ok("no node was out of service in the time asked", head) if events.empty else events.unknown()
        return
    lost = common.losses(events.facts.events)
    window = timedelta(minutes=view.limit("mass-event", "window"))
    mass = {x.line for group in common.together(lost, window) for x in group}
    per_node: dict[str, list[common.Loss]] = defaultdict(list)
    for x in lost:
        if x.line not in mass:
            per_node[x.node].append(x)
    drained = [e for e in events.facts.events if not e.lost and _kind(e.reason)[1]]
    for e in drained:
        if e.start is not None:
            per_node[e.node].append(common.Loss(e.node, e.start, e.end is not None, e.line))
    worst = {n: found for n, found in per_node.items() if len(found) >= LEMON}
    # where many nodes fail as often it is no matter of one node
    for node, found in worst.items() if len(worst) <= max(1, len(view.cluster.nodes("gpu-node")) // 10) else ():
        yield Judgement(
            Status.WARN,
            "out of service again and again, far more often than the other nodes",
            nodes=(node,),
            observed=(observed("times out of service", len(found), "", node),),
            threshold=view.against("mttf-scale"),
            evidence=common.quotes(events, found),
            faults=("sc-lemon-node",),
            certainty="supported",
        )
    if not worst:
        most = max((len(f) for f in per_node.values()), default=0)
        yield ok(
            "no node is out of service more often than others",
            head,
            observed=(observed("most times one node was out of service", most, "", head),),
            evidence=(events.quote(events.facts.events[0].line),) if events.facts.events else (),
        )
    elif len(worst) > max(1, len(view.cluster.nodes("gpu-node")) // 10):
        yield Judgement(
            Status.WARN,
            "many nodes are out of service again and again: not a matter of single nodes",
            nodes=tuple(sorted(worst)),
            observed=(observed("nodes out of service three times or more", len(worst), "", head),),
            evidence=common.quotes(events, [x for found in worst.values() for x in found]),
        )
