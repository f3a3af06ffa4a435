"""The controller itself: does it answer, keep up, and do credentials hold."""

from __future__ import annotations

from collections.abc import Iterator

from checks.findings import Certainty, Status
from checks.judgement import Judgement, ok
from checks.rules import Read, rule
from checks.rules.scheduling import common
from checks.tools.formats import number
from checks.tools.slurm_config import Config
from checks.tools.slurm_ctld import Diag, Ping
from checks.tools.slurm_log import CtldLog
from checks.view import Reading, View, observed

MAX_THREADS = 256
"""Threads slurmctld serves requests with; beyond it turns them away."""
BUSY_THREADS = 200
MAX_DBD_MESSAGES = 10_000
"""MaxDBDMsgs where it is not configured; more where there are many nodes."""
SLOW_LINES = 5


@rule(
    "scheduling.controller",
    title="Does the controller keep up?",
    why="A controller that cannot keep up misses heartbeats that were sent, and looks like a cluster of sick nodes.",
    scope="cluster",
    reads=(
        "slurm-ping",
        "sdiag",
        Read("sconfig", optional=True),
        Read("slurmctld-log", optional=True),
    ),
    thresholds=("sched-cycle", "dbd-queue"),
    faults=("sc-ctld-overload",),
    applies=common.no_slurm,
)
def controller(view: View) -> Iterator[Judgement]:
    """Ping, queues and cycles; the log adds to it."""
    head = common.heads(view)[0]
    ping = view.newest("slurm-ping", head, Ping)
    diag = view.newest("sdiag", head, Diag)
    bad = [*_down(ping), *(_overloaded(view, diag) if diag.facts is not None else ())]
    bad += _in_log(view, head, sure=any(j.status >= Status.WARN for j in bad))
    yield from bad
    if ping.facts is None or all(c.up is None for c in ping.facts.controllers):
        yield ping.unknown()
    if diag.facts is None:
        yield diag.unknown()
    if bad or diag.facts is None or ping.facts is None or any(c.up is None for c in ping.facts.controllers):
        return
    d = diag.facts
    if d.cycle_mean_us is None and d.server_threads is None:
        yield diag.unknown("neither cycles nor threads")
        return
    values = [observed("controller threads", d.server_threads, "", head)]
    if d.cycle_mean_us is not None:
        values.append(observed("mean scheduling cycle", round(d.cycle_mean_us / 1e6, 3), "s", head))
    if d.dbd_queue is not None:
        values.append(observed("messages waiting for the database", d.dbd_queue, "", head))
    yield ok(
        "the controller answers and keeps up",
        head,
        observed=tuple(values),
        evidence=(ping.quote(ping.facts.controllers[0].line), diag.quote(d.line)),
    )


def _down(ping: Reading[Ping]) -> Iterator[Judgement]:
    for c in ping.facts.controllers if ping.facts else ():
        if c.up is False:
            primary = c.role.startswith("primary")
            others = any(o.up for o in ping.facts.controllers) if ping.facts else False
            yield Judgement(
                Status.WARN if others else Status.CRITICAL,
                "the controller does not answer" if primary else "the backup controller does not answer",
                nodes=(ping.node,),
                entities=(c.host,) if c.host else (),
                evidence=(ping.quote(c.line),),
                faults=("sc-ctld-overload",) if primary else (),
                certainty="supported",
            )


def _overloaded(view: View, diag: Reading[Diag]) -> Iterator[Judgement]:
    d, head = diag.known, diag.node

    def made(summary: str, name: str, value: float, unit: str, field: str, limit: tuple[str, str | None]) -> Judgement:
        top = max(d.by_user, key=lambda u: u.count, default=None)
        values = (observed(name, value, unit, head),)
        return Judgement(
            Status.WARN,
            summary,
            nodes=(head,),
            observed=values + ((observed("most requests from", top.name, "", head),) if top else ()),
            threshold=view.against(*limit) if limit[0] else None,
            evidence=(diag.quote(d.line_of.get(field, d.line)),),
            faults=("sc-ctld-overload",),
            certainty="supported",
        )

    if d.cycle_mean_us is not None and d.cycle_mean_us / 1e6 > view.limit("sched-cycle", "mean"):
        mean_s = round(d.cycle_mean_us / 1e6, 3)
        limit = ("sched-cycle", "mean")
        yield made("a scheduling cycle takes too long", "mean scheduling cycle", mean_s, "s", "cycle_mean_us", limit)
    last = d.cycle_last_us or 0.0
    if last / 1e6 > view.limit("sched-cycle", "max"):
        limit = ("sched-cycle", "max")
        yield made(
            "the last scheduling cycle was far too long", "cycle", round(last / 1e6, 3), "s", "cycle_last_us", limit
        )
    allowed = _dbd_limit(view, head)
    if d.dbd_queue is not None and d.dbd_queue > allowed / 2:
        name = "messages waiting for the database"
        yield made(
            "the queue to the accounting database is long", name, d.dbd_queue, "", "dbd_queue", ("dbd-queue", None)
        )
    if d.server_threads is not None and d.server_threads >= BUSY_THREADS:
        name = f"controller threads of {MAX_THREADS}"
        yield made("the controller is out of threads", name, d.server_threads, "", "server_threads", ("", None))


def _dbd_limit(view: View, head: str) -> float:
    config = view.newest("sconfig", head, Config)
    said = number(config.facts.values.get("MaxDBDMsgs", "")) if config.facts else None
    return said or MAX_DBD_MESSAGES


def _in_log(view: View, head: str, *, sure: bool) -> Iterator[Judgement]:
    log = view.newest("slurmctld-log", head, CtldLog)
    for kind, least, words in (
        ("overload", 1, "the controller logs that its queues overflow"),
        ("slow", SLOW_LINES, "the controller logs requests that took far too long"),
    ):
        found = [e for e in log.facts.events if e.kind == kind] if log.facts else []
        if len(found) >= least:
            certainty: Certainty = "supported" if kind == "overload" or sure else "hypothesis"
            yield Judgement(
                Status.WARN,
                words,
                nodes=(head,),
                observed=(observed("such lines", len(found), "", head),),
                evidence=tuple(log.quote(e.line) for e in found[:3]),
                faults=("sc-ctld-overload",),
                certainty=certainty,
                at=min((e.at.isoformat() for e in found if e.at and e.at.tzinfo), default=""),
            )


@rule(
    "scheduling.clock",
    title="Do credentials fail because clocks disagree?",
    why="A node whose clock is ahead by a second or behind by minutes cannot authenticate, and looks lost.",
    scope="cluster",
    reads=("slurmctld-log",),
    thresholds=("clock-skew-munge", "slurm-cred"),
    faults=("sc-clock",),
    applies=common.no_slurm,
)
def clock(view: View) -> Iterator[Judgement]:
    """Rewound and expired credentials in the controller's log; broken connections alone have other causes too."""
    head = common.heads(view)[0]
    log = view.newest("slurmctld-log", head, CtldLog)
    if log.facts is None:
        yield log.unknown()
        return
    found = [e for e in log.facts.events if e.kind == "credential"]
    telling = [e for e in found if "redential" in e.text or "clock" in e.text.lower()]
    if telling or len(found) >= SLOW_LINES:
        named = tuple(dict.fromkeys(n for e in found for n in _named(view, e.text)))
        yield Judgement(
            Status.CRITICAL if telling else Status.WARN,
            "the controller refuses credentials: clocks disagree" if telling else "the controller refuses messages",
            nodes=named or (head,),
            observed=(observed("refused", len(found), "", head),),
            threshold=view.against("clock-skew-munge"),
            evidence=tuple(log.quote(e.line) for e in (telling or found)[:3]),
            faults=("sc-clock",),
            certainty="supported" if telling else "hypothesis",
            at=min((e.at.isoformat() for e in found if e.at and e.at.tzinfo), default=""),
        )
        return
    yield ok(
        "no credential was refused",
        head,
        observed=(observed("lines of the controller read", log.facts.lines_read, "", head),),
    )


def _named(view: View, text: str) -> Iterator[str]:
    every = set(view.cluster.nodes())
    yield from (w for w in (word.strip("[](),:;'\"") for word in text.split()) if w in every)
