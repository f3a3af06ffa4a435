"""Enough processors and memory for the GPUs, and pressure on the processors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.findings import Certainty, Evidence, Observed, Status
from checks.judgement import Judgement, ok
from checks.rules import Read, rule
from checks.rules.host.common import gpu_count, gpu_utilisation_pct
from checks.tools.cpu import CpuInfo
from checks.tools.load import LoadAvg, Pressure, Psi
from checks.tools.memory import MemInfo
from checks.view import Reading, View, observed

LOAD_PER_CORE = 1.2
"""Runnable tasks per core above which a core always has a queue."""
NOMINAL = 0.95
"""Memory the kernel reports is a few per cent below what is plugged in."""
SIZED_FOR_GPUS = 8


@dataclass(frozen=True)
class _Host:
    node: str
    cpu: Reading[CpuInfo]
    memory: Reading[MemInfo]
    psi: Reading[Psi]
    load: Reading[LoadAvg]
    utilisation_pct: float | None

    @property
    def pressure(self) -> Pressure | None:
        return self.psi.facts.row("cpu") if self.psi.facts else None

    @property
    def load_per_core(self) -> float | None:
        cores = self.cpu.facts.cores if self.cpu.facts else None
        return self.load.facts.load1 / cores if self.load.facts and cores else None

    def observed(self) -> tuple[Observed, ...]:
        """What was measured, as far as it is known."""
        values: list[tuple[str, float | int | None, str]] = []
        if self.cpu.facts:
            values.append(("cores", self.cpu.facts.cores, ""))
        if self.memory.facts and self.memory.facts.total_gib is not None:
            values.append(("memory", round(self.memory.facts.total_gib), "GiB"))
            values.append(("memory available", _rounded(self.memory.facts.available_pct), "%"))
        values.append(("load per core", _rounded(self.load_per_core, 2), ""))
        values.append(("cpu pressure (some avg60)", self.pressure.avg60 if self.pressure else None, "%"))
        values.append(("GPU utilisation", _rounded(self.utilisation_pct), "%"))
        return tuple(observed(name, value, unit, self.node) for name, value, unit in values if value is not None)


def _cores_quote(reading: Reading[CpuInfo]) -> Evidence:
    """The line with the number of CPUs, and in JSON the line before it that names it."""
    line = reading.known.cpus_line or reading.known.line
    text = reading.output.stdout.split(b"\n")[line - 1] if reading.output else b""
    return reading.quote(line if b"CPU(s)" in text else max(1, line - 1), line)


def _rounded(value: float | None, digits: int = 0) -> float | None:
    return None if value is None else round(value, digits)


def _host(view: View, node: str) -> _Host:
    return _Host(
        node,
        view.newest("cpu-info", node, CpuInfo),
        view.newest("mem-info", node, MemInfo),
        view.newest("psi", node, Psi),
        view.newest("loadavg", node, LoadAvg),
        gpu_utilisation_pct(view, node),
    )


@rule(
    "host.sizing",
    title="Does the node have enough cores and memory for its GPUs?",
    why="Data loading, augmentation and tokenising run on the processors; with too few of them eight GPUs wait for "
    "input and sit at about 40 % utilisation however fast they are.",
    scope="node",
    reads=(
        "cpu-info",
        "mem-info",
        Read("psi", optional=True),
        Read("loadavg", optional=True),
        Read("smi-perf", samples=5, optional=True),
    ),
    thresholds=("cpu-cores-need", "ram-need", "psi-cpu", "util-target"),
    faults=("host-undersized",),
)
def sizing(view: View) -> Iterator[Judgement]:
    """Small is a fault only where it starves: pressure must agree with the count of cores."""
    for node in view.nodes("gpu-node"):
        gpus = gpu_count(view, node)
        if gpus is not None and gpus != SIZED_FOR_GPUS:
            reason = f"the limits are for nodes with {SIZED_FOR_GPUS} GPUs"
            yield Judgement(Status.SKIPPED, reason, nodes=(node,), reason=reason)
            continue
        host = _host(view, node)
        if gpus is None:
            yield view.newest("cpu-info", node, CpuInfo).unknown("the number of GPUs is not known")
        elif missing := [r for r in (host.cpu, host.memory) if r.facts is None]:
            yield missing[0].unknown()
        elif host.cpu.known.cores is None or host.memory.known.total_gib is None:
            yield host.cpu.unknown("the output does not say how many cores there are")
        else:
            yield _sized(view, host)


def _sized(view: View, host: _Host) -> Judgement:
    cores, memory_gib = host.cpu.known.cores or 0, host.memory.known.total_gib or 0.0
    few_cores = cores < view.limit("cpu-cores-need", "enough")
    little_memory = memory_gib < NOMINAL * view.limit("ram-need", "enough")
    quotes: tuple[Evidence, ...] = (
        _cores_quote(host.cpu),
        host.memory.quote(host.memory.known.line),
    )
    if not few_cores and not little_memory:
        return ok("enough cores and memory for 8 GPUs", host.node, observed=host.observed(), evidence=quotes)
    small = "too few cores" if few_cores else "too little memory"
    if few_cores and little_memory:
        small = "too few cores and too little memory"
    if host.pressure is None:
        return host.psi.unknown(
            "" if host.psi.facts is None else "no line for the processors: whether the small node starves is not known"
        )
    waiting = host.pressure.avg60 > view.limit("psi-cpu")
    queue = None if host.load_per_core is None else host.load_per_core > LOAD_PER_CORE
    starved = None if host.utilisation_pct is None else host.utilisation_pct < view.limit("util-target")
    quotes = (*quotes, host.psi.quote(host.pressure.line))
    if queue and host.load.facts:
        quotes = (*quotes, host.load.quote(host.load.facts.line))
    if not waiting:
        return ok(
            "sizing is tight, but nothing waits for the processors",
            host.node,
            observed=host.observed(),
            evidence=quotes,
        )
    if queue or starved:
        certainty: Certainty = "established" if few_cores else "supported"
        return Judgement(
            Status.WARN,
            f"{small} for 8 GPUs, and the work waits for the processors",
            nodes=(host.node,),
            observed=host.observed(),
            threshold=view.against("cpu-cores-need", "enough") if few_cores else view.against("ram-need", "enough"),
            evidence=quotes,
            faults=("host-undersized",),
            certainty=certainty,
        )
    if queue is None or starved is None:
        reading = host.load if queue is None else host.psi
        return reading.unknown(f"{small} and CPU pressure, but neither load nor GPU utilisation can confirm it")
    return ok(
        "sizing is tight: some CPU pressure, yet the GPUs are fed", host.node, observed=host.observed(), evidence=quotes
    )


@rule(
    "host.cpu_pressure",
    title="Do tasks wait for a processor?",
    why="Pressure above the limit while GPUs are below target means that loaders or daemons do not get enough cores.",
    scope="node",
    reads=(
        "psi",
        Read("loadavg", optional=True),
        Read("cpu-info", optional=True),
        Read("mem-info", optional=True),
        Read("smi-perf", samples=5, optional=True),
    ),
    thresholds=("psi-cpu", "util-target"),
)
def cpu_pressure(view: View) -> Iterator[Judgement]:
    """Pressure is what the processors owe; busy GPUs show that they cope."""
    for node in view.nodes("gpu-node"):
        host = _host(view, node)
        if host.pressure is None:
            yield host.psi.unknown("" if host.psi.facts is None else "no line for the processors")
            continue
        values, quote = host.observed(), (host.psi.quote(host.pressure.line),)
        if host.pressure.avg60 <= view.limit("psi-cpu"):
            yield ok("tasks get a processor when they want one", node, observed=values, evidence=quote)
        elif host.utilisation_pct is not None and host.utilisation_pct >= view.limit("util-target"):
            yield ok(
                "tasks wait for processors now and then, yet the GPUs are busy", node, observed=values, evidence=quote
            )
        else:
            yield Judgement(
                Status.WARN,
                "tasks wait for a processor"
                + ("" if host.utilisation_pct is None else " while the GPUs are below their target"),
                nodes=(node,),
                observed=values,
                threshold=view.against("psi-cpu"),
                evidence=quote,
                certainty="hypothesis" if host.utilisation_pct is None else "established",
            )
