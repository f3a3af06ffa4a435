"""Waiting for something else than a processor: I/O pressure, swapping, processes that cannot be interrupted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from checks.findings import Status
from checks.judgement import Judgement, ok
from checks.rules import Read, rule
from checks.tools.load import Process, Processes, Psi, VmStat
from checks.tools.memory import MemInfo
from checks.view import Reading, View, Window, observed

KERNEL_PARENT = 2
"""Kernel threads are children of process 2; they sleep uninterruptibly without harm."""
_KNOWN_WAITS = re.compile(
    r"lustre|ptlrpc|ldlm|cl_sync|osc_|ll_|lov_|nfs|rpc_wait|fuse|gpfs|mmfs|ceph|nvidia|^nv|os_acquire|rm_", re.I
)


@rule(
    "host.io_pressure",
    title="Do tasks wait for disks or file systems?",
    why="I/O pressure on GPU nodes points at checkpoints, data loading or a slow file system, not at the GPUs.",
    scope="node",
    reads=("psi",),
    thresholds=("psi-io",),
)
def io_pressure(view: View) -> Iterator[Judgement]:
    """The share of time in which some task waits for I/O, over one minute."""
    for reading in view.read("psi", Psi, roles=("gpu-node",)):
        row = reading.facts.row("io") if reading.facts else None
        if row is None:
            yield reading.unknown("" if reading.facts is None else "no line for I/O")
            continue
        value = (observed("io pressure (some avg60)", row.avg60, "%", reading.node),)
        if row.avg60 <= view.limit("psi-io"):
            yield ok("little waiting for I/O", reading.node, observed=value, evidence=(reading.quote(row.line),))
        else:
            yield Judgement(
                Status.WARN,
                "tasks wait for I/O",
                nodes=(reading.node,),
                observed=value,
                threshold=view.against("psi-io"),
                evidence=(reading.quote(row.line),),
            )


@rule(
    "host.swap",
    title="Does the node swap?",
    why="A node that moves memory to disk is slow at everything, and every other rank waits for it.",
    scope="node",
    reads=("vmstat", Read("mem-info", optional=True)),
    faults=("host-swap",),
)
def swap(view: View) -> Iterator[Judgement]:
    """Traffic counts, not what lies in swap: idle pages that were moved out long ago hurt nobody."""
    for reading in view.read("vmstat", VmStat):
        memory = view.newest("mem-info", reading.node, MemInfo)
        facts = reading.facts
        known = [r for r in facts.now if r.swap_in_kib_s is not None and r.swap_out_kib_s is not None] if facts else []
        if facts is None or not known:
            if memory.facts and memory.facts.swap_total_kib == 0:
                line = memory.facts.line_of.get("SwapTotal", memory.facts.line)
                yield ok("the node has no swap", reading.node, evidence=(memory.quote(line),))
            else:
                yield reading.unknown("" if facts is None else "no columns for swap traffic")
            continue
        moving = [r for r in known if (r.swap_in_kib_s or 0) + (r.swap_out_kib_s or 0) > 0]
        top = max((r.swap_in_kib_s or 0) + (r.swap_out_kib_s or 0) for r in known)
        values = [observed("swap traffic, peak", top, "KiB/s", reading.node)]
        if memory.facts and memory.facts.swap_used_kib is not None:
            values.append(observed("swap used", round(memory.facts.swap_used_kib / 1024), "MiB", reading.node))
        if not moving:
            quote = reading.quote(known[0].line, known[-1].line)
            yield ok("no swapping", reading.node, observed=tuple(values), evidence=(quote,))
            continue
        sustained = len(moving) * 2 > len(known)
        yield Judgement(
            Status.WARN,
            "the node swaps" if sustained else "the node swapped for a moment",
            nodes=(reading.node,),
            observed=tuple(values),
            evidence=(reading.quote(moving[0].line, moving[-1].line),),
            faults=("host-swap",),
            certainty="established" if sustained and len(known) > 1 else "hypothesis",
        )


@rule(
    "host.dstate",
    title="Are processes stuck in uninterruptible sleep?",
    why="They cannot be killed: jobs stay completing, load climbs with idle processors, and the wait channel names the "
    "culprit, mostly a file system or the GPU driver.",
    scope="node",
    reads=(Read("ps-dstate", rounds=2),),
    thresholds=("dstate",),
    faults=("host-dstate",),
)
def dstate(view: View) -> Iterator[Judgement]:
    """Stuck is who waits in both rounds; a process that is seen waiting once may just be reading."""
    for node in view.nodes("gpu-node"):
        newest = view.newest("ps-dstate", node, Processes)
        if newest.facts is None:
            yield newest.unknown()
            continue
        window = view.window("ps-dstate", node, Processes)
        if isinstance(window, Window):
            yield _over_window(view, window)
        else:
            yield _once(view, newest, window)


def _suspects(facts: Processes) -> list[Process]:
    return [p for p in facts.waiting if KERNEL_PARENT not in (p.pid, p.ppid)]


def _over_window(view: View, window: Window[Processes]) -> Judgement:
    before = {p.pid: p for p in _suspects(window.before)}
    stuck = [p for p in _suspects(window.after) if p.pid in before and before[p.pid].wchan == p.wchan]
    if not stuck:
        return ok(
            "nothing stays in uninterruptible sleep",
            window.node,
            observed=(observed("waiting now", len(window.after.waiting), "", window.node),),
            evidence=(window.last.quote(window.after.line),),
        )
    return _stuck(view, window.last, stuck, sure=True)


def _once(view: View, reading: Reading[Processes], why: Reading[Processes]) -> Judgement:
    suspects = _suspects(reading.known)
    limit = view.limit("dstate")
    telling = [p for p in suspects if p.wchan and _KNOWN_WAITS.search(p.wchan) and (p.age_s or 0) > limit]
    if telling:
        return _stuck(view, reading, telling, sure=False)
    if suspects:
        return reading.unknown(f"processes wait, and one look cannot tell for how long: {why.why or 'one round only'}")
    return ok("nothing is in uninterruptible sleep", reading.node, evidence=(reading.quote(reading.known.line),))


def _stuck(view: View, reading: Reading[Processes], stuck: list[Process], *, sure: bool) -> Judgement:
    waits = Counter(p.wchan or "unknown" for p in stuck)
    return Judgement(
        Status.WARN,
        "processes are stuck in uninterruptible sleep" if sure else "processes wait in a file system or driver",
        nodes=(reading.node,),
        observed=(
            observed("stuck processes", len(stuck), "", reading.node),
            observed("wait channel", waits.most_common(1)[0][0], "", reading.node),
            observed("oldest", max((p.age_s for p in stuck if p.age_s is not None), default=None), "s", reading.node),
        ),
        threshold=view.against("dstate"),
        evidence=tuple(reading.quote(p.line) for p in stuck[:3]),
        faults=("host-dstate",),
        certainty="established" if sure else "hypothesis",
    )
