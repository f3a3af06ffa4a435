"""What the kernel complains about: memory killer, lockups, hung tasks, machine checks, memory errors."""

from __future__ import annotations

from collections.abc import Iterator

from checks.findings import Status
from checks.judgement import Judgement, ok
from checks.rules import Read, rule
from checks.rules.host.common import is_old, stamp
from checks.tools.host_log import KernelEvent, KernelLog, Kind
from checks.tools.memory import Edac
from checks.view import Reading, View, Window, observed

DAY_S = 86400

# (kinds, status, summary, faults, whether an old line still counts)
_GROUPS: tuple[tuple[tuple[Kind, ...], Status, str, tuple[str, ...], bool], ...] = (
    (("oom-kill", "oom"), Status.WARN, "the kernel killed processes for lack of memory", ("host-oom",), False),
    (
        ("lockup", "kernel-bug", "panic"),
        Status.CRITICAL,
        "processors locked up or the kernel hit a bug",
        ("host-lockup",),
        False,
    ),
    (("hung-task",), Status.WARN, "tasks were blocked for minutes", ("host-dstate",), False),
    (
        ("mce-uncorrected",),
        Status.CRITICAL,
        "the hardware reported errors it could not correct",
        ("host-ecc-mce",),
        True,
    ),
    (("mce-corrected", "mce"), Status.WARN, "the hardware reported errors it corrected", (), False),
)


@rule(
    "host.kernel_log",
    title="Is the kernel log free of memory kills, lockups and machine checks?",
    why="One rank killed or one locked-up node ends the job on all others; this log has the first cause with its time.",
    scope="node",
    reads=("mce-log", Read("mce-edac", rounds=2)),
    thresholds=("ecc-ue", "ecc-ce"),
    faults=("host-oom", "host-lockup", "host-ecc-mce", "host-dstate"),
)
def kernel_log(view: View) -> Iterator[Judgement]:
    """Log lines of this boot, and the memory controllers' counters."""
    for node in view.nodes("gpu-node"):
        log = view.newest("mce-log", node, KernelLog)
        found = [*_logged(log), *_counted(view, node)]
        bad = [j for j in found if j.status > Status.OK]
        yield from bad
        if not bad:
            quotes = tuple(e for j in found for e in j.evidence)
            quotes = quotes or ((log.quote(log.facts.line),) if log.facts else (log.quote(1),))
            values = tuple(o for j in found for o in j.observed)
            yield ok("the kernel reports nothing bad", node, observed=values, evidence=quotes)


def _logged(log: Reading[KernelLog]) -> Iterator[Judgement]:
    if log.facts is None:
        if not log.empty:
            yield log.unknown()
        return
    for kinds, status, summary, faults, lasting in _GROUPS:
        events = [e for e in log.facts.of(*kinds) if lasting or not is_old(e.at, log.read_at)]
        if events:
            yield Judgement(
                status,
                summary,
                nodes=(log.node,),
                entities=_subjects(log.node, events),
                observed=(observed("log lines", len(events), "", log.node),),
                evidence=tuple(log.quote(e.line) for e in events[:3]),
                faults=faults,
                certainty="established",
                at=stamp(e.at for e in events),
            )


def _subjects(node: str, events: list[KernelEvent]) -> tuple[str, ...]:
    names = dict.fromkeys(f"{node}:{e.subject}" for e in events if e.subject)
    return tuple(names)[:8]


def _counted(view: View, node: str) -> Iterator[Judgement]:
    newest = view.newest("mce-edac", node, Edac)
    if newest.facts is None:
        if not newest.empty:  # no EDAC driver: the log alone must do
            yield newest.unknown()
        return
    for c in newest.facts.controllers:
        if c.uncorrected and c.uncorrected > view.limit("ecc-ue"):
            yield Judgement(
                Status.CRITICAL,
                "host memory has errors that could not be corrected",
                nodes=(node,),
                entities=(f"{node}:{c.name}",),
                observed=(observed("uncorrected errors", c.uncorrected, "errors", node),),
                threshold=view.against("ecc-ue"),
                evidence=(newest.quote(c.uncorrected_line or c.line),),
                faults=("host-ecc-mce",),
            )
    total = sum(c.corrected or 0 for c in newest.facts.controllers)
    value = (observed("corrected memory errors since boot", total, "errors", node),)
    window = view.window("mce-edac", node, Edac) if total else newest
    if isinstance(window, Window) and window.seconds:
        yield from _rising(view, window)
    elif total > view.limit("ecc-ce"):
        # fewer than a day's limit since boot cannot be too many a day
        why = f": {window.why}" if isinstance(window, Reading) and window.why else ""
        yield newest.unknown(f"{total} corrected memory errors since boot, and one round cannot tell a rise{why}")
        return
    most = max(newest.facts.controllers, key=lambda c: c.corrected or 0)
    yield ok("memory errors counted", node, observed=value, evidence=(newest.quote(most.line),))


def _rising(view: View, window: Window[Edac]) -> Iterator[Judgement]:
    before = {c.name: c.corrected for c in window.before.controllers}
    for c in window.after.controllers:
        first = before.get(c.name)
        if first is None or c.corrected is None or not window.seconds:
            continue
        per_day = (c.corrected - first) * DAY_S / window.seconds
        # a single error in a short window is no rate
        if c.corrected - first > 1 and per_day > view.limit("ecc-ce"):
            yield Judgement(
                Status.WARN,
                "corrected memory errors rise fast on one controller",
                nodes=(window.node,),
                entities=(f"{window.node}:{c.name}",),
                observed=(observed("corrected errors", round(per_day), "errors/day", window.node),),
                threshold=view.against("ecc-ce"),
                evidence=(window.first.quote(c.line), window.last.quote(c.line)),
                faults=("host-ecc-mce",),
                certainty="supported",
            )
