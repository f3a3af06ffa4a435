"""What the job's log and settings say: leftovers of debugging, communication, slow steps, saves, cores to load data."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import sqrt
from statistics import median

from checks.findings import Certainty, Status
from checks.judgement import Judgement, ok, skipped
from checks.rules import Read, attached, rule
from checks.rules.attached import Log
from checks.rules.host.common import gpu_count, gpu_utilisation_pct
from checks.tools.cpu import CpuInfo
from checks.tools.job_log import JobLog, Save, Step
from checks.tools.procfs import Environment, ProcStatus
from checks.view import Reading, View, known, observed

LEFTOVERS: dict[str, frozenset[str] | None] = {
    "NCCL_P2P_DISABLE": frozenset({"1"}),
    "NCCL_SHM_DISABLE": frozenset({"1"}),
    "NCCL_IB_DISABLE": frozenset({"1"}),
    "NCCL_NET_GDR_LEVEL": frozenset({"LOC", "0"}),
    "NCCL_P2P_LEVEL": frozenset({"LOC", "0"}),
    "NCCL_DEBUG": frozenset({"TRACE"}),
    "NCCL_ALGO": None,
    "NCCL_PROTO": None,
    "NCCL_BUFFSIZE": None,
    "NCCL_MAX_NCHANNELS": frozenset({"1", "2"}),
    "NCCL_MAX_CTAS": frozenset({"1", "2"}),
    "CUDA_LAUNCH_BLOCKING": frozenset({"1"}),
}
"""Settings of a debugging session or another cluster that slow a job; None: any value does."""
WARM_UP = 5
"""First steps compile, allocate and connect: they are always slow."""
FEWEST_STEPS = 30
SLOW = 1.5
"""A step is slow that takes this many times the median."""
SLOW_SHARE_PCT = 2.0
"""Jitter below this share of the time is noise (MegaScale counts 2 %)."""
GPUS_PER_NODE_OF_THRESHOLD = 8


@rule(
    "training-run.nccl_env",
    title="Are NCCL variables left over from debugging?",
    why="A variable copied from another cluster or an old debugging session slows every collective, for one user only.",
    scope="node",
    reads=(Read("proc-env", optional=True),),
    faults=("tr-nccl-env",),
)
def nccl_env(view: View) -> Iterator[Judgement]:
    """Environments of the processes, and variables NCCL itself logged."""
    found = attached.logs(view)
    nodes = [n for n in view.nodes("gpu-node") if view.store.params(n, "proc-env")]
    if not found and not nodes:
        yield skipped("no environment of a process was read, and " + attached.NONE)
        return
    yield from (log.unknown() for log in found if log.facts is None)
    readings = view.read_each("proc-env", Environment, nodes=nodes) if nodes else []
    yield from (r.unknown() for r in readings if r.facts is None and not r.empty)
    clean = [r.node for r in readings if r.empty]
    for r in known(readings):
        left = {k: v for k, v in r.known.values.items() if _leftover(k, v)}
        if not left:
            clean.append(r.node)
        else:
            yield _left(left, r.node)
    if clean:
        yield ok("no NCCL variable is left over", *dict.fromkeys(clean))
    for log, facts in attached.readable(found):
        left = {v.name: v.value for v in facts.variables if _leftover(v.name, v.value)}
        if left:
            line = next(v.line for v in facts.variables if v.name in left)
            yield _left(left, "", log, line)
        elif facts.variables:
            yield ok("the job log names no leftover NCCL variable", evidence=log.quote(facts.variables[0].line))
        elif not readings:
            yield skipped("the job log names no NCCL variable")


def _leftover(name: str, value: str) -> bool:
    if name not in LEFTOVERS:
        return False
    bad = LEFTOVERS[name]
    return bool(value) if bad is None else value.upper() in bad


def _left(left: dict[str, str], node: str, log: Log | None = None, line: int = 1) -> Judgement:
    # environments hold secrets and are never quoted: the variables are named instead
    names = sorted(left)
    return Judgement(
        Status.WARN,
        f"variables that slow NCCL are set: {', '.join(names)}",
        nodes=(node,) if node else (),
        observed=tuple(observed(name, left[name], "", *((node,) if node else ())) for name in names),
        evidence=log.quote(line) if log else (),
        faults=("tr-nccl-env",),
        certainty="supported",
    )


@rule(
    "training-run.communication_share",
    title="Does communication take most of a step?",
    why="On a clean fabric a step that mostly waits for collectives is a matter of the parallel strategy.",
    scope="cluster",
    thresholds=("comm-share",),
    faults=("tr-comm-bound",),
)
def communication_share(view: View) -> Iterator[Judgement]:
    """The breakdown lines of the job's log."""
    for log, facts in (found := _readable(view)):
        if not facts.shares:
            yield skipped("the job log shows no breakdown of the step")
            continue
        share = median(s.communication_pct for s in facts.shares)
        value = (observed("communication", round(share, 1), "% of step"),)
        lines = [s.line for s in facts.shares[:3]]
        if share > view.limit("comm-share"):
            yield Judgement(
                Status.WARN,
                "communication takes most of the step",
                observed=value,
                threshold=view.against("comm-share"),
                evidence=log.quote(*lines),
                faults=("tr-comm-bound",),
                certainty="supported",
            )
        else:
            yield ok("communication takes a usual share of the step", observed=value, evidence=log.quote(*lines[:1]))
    yield from _without(view, bool(found))


def _readable(view: View) -> list[tuple[Log, JobLog]]:
    return attached.readable(attached.logs(view))


def _without(view: View, some: bool) -> Iterator[Judgement]:
    """Unknown for logs that cannot be read; skipped when a person supplied none."""
    every = attached.logs(view)
    yield from (log.unknown() for log in every if log.facts is None)
    if not every and not some:
        yield skipped(attached.NONE)


@rule(
    "training-run.step_jitter",
    title="Do some steps take longer than others, in a rhythm?",
    why="Every so many steps points to garbage collection, logging or prefetching; saves are no jitter.",
    scope="cluster",
    faults=("tr-gc-jitter",),
)
def step_jitter(view: View) -> Iterator[Judgement]:
    """Step times without warm-up and without the steps that saved a checkpoint."""
    for log, facts in (found := _readable(view)):
        steps = _steps(facts)
        if len(steps) < FEWEST_STEPS:
            yield skipped("the job log shows too few step times")
            continue
        usual = median(s.seconds for s in steps)
        slow = [s for s in steps if s.seconds > SLOW * usual]
        lost = 100 * sum(s.seconds - usual for s in slow) / sum(s.seconds for s in steps)
        values = [observed("median step", round(usual, 3), "s"), observed("slow steps", len(slow), "")]
        values.append(observed("time lost in them", round(lost, 1), "%"))
        if lost < SLOW_SHARE_PCT or len(slow) < 3:
            yield ok("steps take equally long", observed=tuple(values), evidence=log.quote(steps[0].line))
            continue
        rhythm = _rhythm(slow)
        if rhythm is not None:
            values.append(observed("slow every", rhythm, "steps"))
        certainty: Certainty = "supported"
        yield Judgement(
            Status.WARN,
            "steps are slow in a rhythm" if rhythm is not None else "some steps are slow, without a rhythm",
            observed=tuple(values),
            evidence=log.quote(*(s.line for s in slow[:4])),
            faults=("tr-gc-jitter",) if rhythm is not None else (),
            certainty=certainty,
        )
    yield from _without(view, bool(found))


def _steps(facts: JobLog) -> list[Step]:
    """Steps of the rank that logs most, without those a checkpoint was written in."""
    ranks: dict[int | None, list[Step]] = {}
    for step in facts.steps:
        ranks.setdefault(step.rank, []).append(step)
    steps = max(ranks.values(), key=len, default=[])[WARM_UP:]
    lines = [s.line for s in steps]
    saving = {s.index for s in facts.saves if s.index is not None}
    spoiled: set[int] = set()
    for save in facts.saves:
        after = [n for n in lines if n > save.line][:1]
        before = [n for n in lines if n < save.line][-1:]
        spoiled.update((*after, *before))
    return [s for s in steps if s.line not in spoiled and (s.index is None or s.index not in saving)]


def _rhythm(slow: list[Step]) -> float | None:
    """The usual distance of slow steps, when nearly all have it."""
    marks = [s.index if s.index is not None else s.line for s in slow]
    gaps = [b - a for a, b in pairwise(marks) if b > a]
    if len(gaps) < 2:
        return None
    usual = median(gaps)
    even = [g for g in gaps if abs(g - usual) <= max(1.0, 0.1 * usual)]
    return usual if usual > 1 and len(even) >= 0.8 * len(gaps) else None


@rule(
    "training-run.checkpoint_interval",
    title="Is the checkpoint interval right?",
    why="Saved too often the job stalls, saved too rarely a failure costs hours; the optimum follows from the time a "
    "save takes and the time between failures.",
    scope="cluster",
    thresholds=("ckpt-interval", "mttf-model", "ckpt-stall"),
    faults=("tr-ckpt-interval",),
)
def checkpoint_interval(view: View) -> Iterator[Judgement]:
    """Saves of the job's log against Young's formula for the GPUs there are."""
    for log, facts in (found := _readable(view)):
        seconds = [s.seconds for s in facts.saves if s.seconds is not None]
        interval = _interval_s(facts)
        if not seconds or interval is None:
            yield skipped("the job log does not show how long saves take and how far apart they are")
            continue
        yield _judged(view, log, facts.saves, median(seconds), interval)
    yield from _without(view, bool(found))


def _interval_s(facts: JobLog) -> float | None:
    """Seconds between saves, by their times, else by the steps between them."""
    times = [s.at for s in facts.saves if s.at is not None]
    if len({t.tzinfo is None for t in times}) == 1:
        gaps = [(b - a).total_seconds() for a, b in pairwise(times)]
        if gaps := [g for g in gaps if g > 0]:
            return median(gaps)
    indices = sorted({s.index for s in facts.saves if s.index is not None})
    jumps = [b - a for a, b in pairwise(indices)]
    steps = [s.seconds for s in facts.steps]
    return median(jumps) * median(steps) if jumps and steps else None


def _judged(view: View, log: Log, saves: tuple[Save, ...], save_s: float, interval_s: float) -> Judgement:
    gpus = sum(gpu_count(view, n) or 0 for n in view.cluster.nodes("gpu-node")) or 1024
    mttf_s = 3600 * view.limit("mttf-model", "gpus-1024") * 1024 / gpus
    best_s = sqrt(2 * save_s * mttf_s)
    share = 100 * save_s / interval_s
    values = (
        observed("save takes", round(save_s, 1), "s"),
        observed("saved every", round(interval_s), "s"),
        observed("time spent saving", round(share, 1), "%"),
        observed("best interval (Young)", round(best_s), "s"),
    )
    lines = log.quote(*(s.line for s in saves[:3]))
    often = share > view.limit("ckpt-stall", "budget")
    if interval_s > 4 * best_s or (often and interval_s < best_s / 2):
        return Judgement(
            Status.WARN,
            "checkpoints are far too rare" if interval_s > best_s else "checkpoints are far too frequent",
            observed=values,
            threshold=view.against("ckpt-interval"),
            evidence=lines,
            faults=("tr-ckpt-interval",),
            certainty="supported",
        )
    if often:
        return Judgement(
            Status.WARN,
            "saving takes too large a share of the time, and the interval is not the reason: look at the storage",
            observed=values,
            threshold=view.against("ckpt-stall", "budget"),
            evidence=lines,
        )
    return ok("the checkpoint interval fits", observed=values, evidence=lines[:1])


@rule(
    "training-run.dataloader",
    title="May the job use the cores there are?",
    why="A rank bound to a handful of cores starves its GPU on a node that has dozens to spare.",
    scope="node",
    reads=(Read("proc-status", optional=True), Read("cpu-info", optional=True), Read("smi-perf", optional=True)),
    thresholds=("cpu-cores-need", "gpu-util-starved"),
    faults=("tr-dataloader",),
)
def dataloader(view: View) -> Iterator[Judgement]:
    """CPUs a rank may run on, against what a GPU needs and what the node has for each."""
    nodes = [n for n in view.nodes("gpu-node") if view.store.params(n, "proc-status")]
    if not nodes:
        yield skipped("no process of the job was named (proc-status)")
        return
    need = view.limit("cpu-cores-need", "starved") / GPUS_PER_NODE_OF_THRESHOLD
    for r in view.read_each("proc-status", ProcStatus, nodes=nodes):
        allowed = r.facts.cpu_count if r.facts else None
        if allowed is None:
            yield r.unknown() if r.facts is None else r.unknown("no list of CPUs")
            continue
        yield _bound(view, r, allowed, need)


def _bound(view: View, r: Reading[ProcStatus], allowed: int, need: float) -> Judgement:
    node = r.node
    cores = view.newest("cpu-info", node, CpuInfo).facts
    gpus = gpu_count(view, node)
    each = cores.cores / gpus if cores and cores.cores and gpus else None
    used = gpu_utilisation_pct(view, node)
    starved = used is not None and used < view.limit("gpu-util-starved")
    values = [observed("CPUs the rank may use", allowed, "", node)]
    if each is not None:
        values.append(observed("cores for each GPU", round(each, 1), "", node))
    if used is not None:
        values.append(observed("GPU utilisation", round(used, 1), "%", node))
    quote = (r.quote(r.known.cpus_line or r.known.line),)
    if allowed >= need or (each is not None and allowed >= each):
        return ok("the job may use its share of the cores", node, observed=tuple(values), evidence=quote)
    return Judgement(
        Status.WARN,
        "the job may use fewer cores than the node has for it" + (", and its GPUs wait" if starved else ""),
        nodes=(node,),
        observed=tuple(values),
        threshold=view.against("cpu-cores-need", "starved"),
        evidence=quote,
        faults=("tr-dataloader",),
        certainty="supported" if starved else "hypothesis",
    )
