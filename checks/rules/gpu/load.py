"""How hard the GPUs work, and what holds them back."""

from __future__ import annotations

from collections.abc import Iterator

from checks.findings import Observed, Status
from checks.judgement import Judgement, ok
from checks.rules import Read, rule
from checks.rules.gpu.common import BUSY_PCT, gpu, majority, median, readings
from checks.tools.nvidia_smi import GpuPerf, GpuPerfs
from checks.view import Reading, View, observed

PEERS = 4
SLOW_SAMPLES = 3
LOW_POWER = 0.5
"""A GPU at 100 % utilisation that draws less than half its limit spins or waits inside a kernel."""
_BITS = (
    ("hw-power-brake", "gpu-power-brake", Status.CRITICAL, "power brake slows the GPU down"),
    ("hw-thermal", "gpu-thermal-hw", Status.CRITICAL, "heat slows the GPU down (hardware)"),
    ("sw-thermal", "gpu-thermal-sw", Status.WARN, "heat slows the GPU down (software)"),
    ("app-clocks", "gpu-clock-locked", Status.WARN, "clocks are held by a setting"),
)


@rule(
    "gpu.throttle",
    title="Do the GPUs run at their clocks?",
    why="One hot or braked GPU sets the pace of the whole job. The software power cap alone is normal at full load.",
    scope="entity",
    reads=(Read("smi-perf", samples=5),),
    thresholds=("clk-bits", "clock-peer", "temp-peer"),
    faults=("gpu-power-brake", "gpu-thermal-hw", "gpu-thermal-sw", "gpu-clock-locked"),
)
def throttle(view: View) -> Iterator[Judgement]:
    """Reasons seen in at least half of the samples, then clocks and temperatures against those of the peers."""
    usual = _usual_clocks(view)
    for node in view.nodes("gpu-node"):
        samples = view.samples("smi-perf", node, GpuPerfs)
        if samples[0].facts is None:
            yield samples[0].unknown()
            continue
        found = False
        for index, rows in _by_gpu(samples).items():
            told = [(r, g) for r, g in rows if g.event_reasons is not None]
            if not told:
                yield samples[-1].unknown("clock event reasons of a GPU are not told")
                found = True
                continue
            for bit, fault, status, words in _BITS:
                mask = int(view.limit("clk-bits", bit))
                seen = [(r, g) for r, g in told if (g.event_reasons or 0) & mask]
                if seen and len(seen) * 2 >= len(told):
                    found = True
                    reading, row = seen[0]
                    yield Judgement(
                        status,
                        words,
                        nodes=(node,),
                        entities=(gpu(node, index),),
                        observed=_values(node, row),
                        threshold=view.against("clk-bits", bit),
                        evidence=(reading.quote(row.line),),
                        faults=(fault,),
                    )
            for untold in _slowdown(view, node, index, told):
                found = True
                yield untold
        for odd in (*_slow_clock(view, node, samples, usual), *_hot(view, node, samples)):
            found = True
            yield odd
        if not found:
            yield ok("no clock is held back", node, evidence=(samples[-1].quote(1),))


def _slowdown(view: View, node: str, index: int, told: list[tuple[Reading[GpuPerfs], GpuPerf]]) -> Iterator[Judgement]:
    """The slowdown bit without heat or brake beside it: older boards and drivers do not tell which."""
    slow, why = (
        int(view.limit("clk-bits", "hw-slowdown")),
        int(view.limit("clk-bits", "hw-thermal")) | int(view.limit("clk-bits", "hw-power-brake")),
    )
    seen = [(r, g) for r, g in told if (g.event_reasons or 0) & slow and not (g.event_reasons or 0) & why]
    if seen and len(seen) * 2 >= len(told):
        reading, row = seen[0]
        yield Judgement(
            Status.CRITICAL,
            "the hardware slows the GPU down and does not tell why: heat or power",
            nodes=(node,),
            entities=(gpu(node, index),),
            observed=_values(node, row),
            threshold=view.against("clk-bits", "hw-slowdown"),
            evidence=(reading.quote(row.line),),
            faults=("gpu-thermal-hw", "gpu-power-brake"),
            certainty="hypothesis",
        )


def _by_gpu(samples: list[Reading[GpuPerfs]]) -> dict[int, list[tuple[Reading[GpuPerfs], GpuPerf]]]:
    found: dict[int, list[tuple[Reading[GpuPerfs], GpuPerf]]] = {}
    for reading in samples:
        for g in reading.known.gpus:
            found.setdefault(g.index, []).append((reading, g))
    return found


Clocks = dict[float | None, float | None]


def _usual_clocks(view: View) -> Clocks:
    """Median SM clock of the busy GPUs of each maximum clock (of each model), MHz; None where too few say."""
    clocks: dict[float | None, list[float]] = {}
    for r in readings(view, "smi-perf", GpuPerfs):
        for g in r.known.gpus if r.facts is not None else ():
            if g.sm_clock_mhz and (g.utilization_pct or 0) >= BUSY_PCT:
                clocks.setdefault(g.sm_clock_max_mhz, []).append(g.sm_clock_mhz)
    return {top: median(values) if len(values) >= PEERS else None for top, values in clocks.items()}


def _slow_clock(view: View, node: str, samples: list[Reading[GpuPerfs]], clocks: Clocks) -> Iterator[Judgement]:
    """GPUs that are busy in every sample at a clock below that of the others."""
    for index, rows in _by_gpu(samples).items():
        usual = clocks.get(rows[-1][1].sm_clock_max_mhz)
        if usual is None:
            continue
        least = usual * (1 - view.limit("clock-peer") / 100)
        busy = [(r, g) for r, g in rows if (g.utilization_pct or 0) >= BUSY_PCT and g.sm_clock_mhz]
        if len(busy) < SLOW_SAMPLES or any((g.sm_clock_mhz or 0) >= least for _, g in busy):
            continue
        reading, row = busy[-1]
        yield Judgement(
            Status.WARN,
            "SM clock below that of the other busy GPUs",
            nodes=(node,),
            entities=(gpu(node, index),),
            observed=(*_values(node, row), observed("usual SM clock", usual, "MHz", node)),
            threshold=view.against("clock-peer"),
            evidence=(reading.quote(row.line),),
        )


def _hot(view: View, node: str, samples: list[Reading[GpuPerfs]]) -> Iterator[Judgement]:
    """GPUs hotter than their siblings that draw as much power: cooling, not load."""
    last = samples[-1]
    told = [g for g in last.known.gpus if g.temperature_c is not None and g.power_w]
    middle, power = median(g.temperature_c or 0 for g in told), median(g.power_w or 0 for g in told)
    if middle is None or not power or len(told) < PEERS:
        return
    for g in told:
        if (g.temperature_c or 0) - middle > view.limit("temp-peer") and (g.power_w or 0) <= power * 1.1:
            yield Judgement(
                Status.WARN,
                "hotter than its siblings at equal power: look at cooling",
                nodes=(node,),
                entities=(gpu(node, g.index),),
                observed=(*_values(node, g), observed("median of the node", middle, "C", node)),
                threshold=view.against("temp-peer"),
                evidence=(last.quote(g.line),),
            )


def _values(node: str, row: GpuPerf) -> tuple[Observed, ...]:
    return (
        observed("SM clock", row.sm_clock_mhz, "MHz", node),
        observed("power", row.power_w, "W", node),
        observed("temperature", row.temperature_c, "C", node),
    )


@rule(
    "gpu.power_limit",
    title="Have all GPUs the same power limit?",
    why="A limit left low after a test slows one node, and with it every rank that waits for it.",
    scope="group",
    reads=("smi-perf",),
    faults=("gpu-power-cap",),
)
def power_limit(view: View) -> Iterator[Judgement]:
    """Against most GPUs of the same maximum; a limit below it on all of them is the site's choice, told as such."""
    found = list(readings(view, "smi-perf", GpuPerfs))
    limits: dict[float | None, list[float]] = {}
    for r in found:
        for g in r.known.gpus if r.facts is not None else ():
            if g.power_limit_w:
                limits.setdefault(g.power_max_w, []).append(g.power_limit_w)
    usual = {top: majority(values) for top, values in limits.items()}
    for r in found:
        if r.facts is None:
            yield r.unknown()
            continue
        low = False
        for g in r.facts.gpus:
            most = usual.get(g.power_max_w)
            # without a majority the highest is the measure: somebody lowered the others
            want = most if isinstance(most, float) else max(limits.get(g.power_max_w, ()), default=None)
            if not g.power_limit_w or want is None or g.power_limit_w >= want:
                continue
            low = True
            words = "most" if want == most else "other"
            yield Judgement(
                Status.WARN,
                f"power limit lower than on {words} GPUs",
                nodes=(r.node,),
                entities=(gpu(r.node, g.index),),
                observed=(
                    observed("power limit", g.power_limit_w, "W", r.node),
                    observed(f"{words} GPUs", want, "W", r.node),
                ),
                evidence=(r.quote(g.line),),
                faults=("gpu-power-cap",),
                certainty="established" if want == most else "supported",
            )
        if any(not g.power_limit_w for g in r.facts.gpus):
            yield r.unknown("the power limit of a GPU is not told")
        elif not low:
            first = r.facts.gpus[0]
            value = (observed("power limit", first.power_limit_w, "W", r.node),)
            yield ok("power limit as on the other GPUs", r.node, observed=value, evidence=(r.quote(first.line),))


@rule(
    "gpu.utilisation",
    title="Are the GPUs kept busy?",
    why="Utilisation that drops to nothing and comes back means the GPUs wait: for data, for a save, for a peer. 100 % "
    "at low power is a kernel that spins.",
    scope="node",
    reads=(Read("smi-perf", samples=5),),
    thresholds=("util-target", "clk-bits"),
    faults=("tr-gpu-util-misleading",),
)
def utilisation(view: View) -> Iterator[Judgement]:
    """The mean over all samples and GPUs of a node; one sample proves nothing."""
    for node in view.nodes("gpu-node"):
        samples = view.samples("smi-perf", node, GpuPerfs)
        rows = [(r, g) for r in samples if r.facts is not None for g in r.known.gpus]
        values = [g.utilization_pct for _, g in rows if g.utilization_pct is not None]
        if samples[0].facts is None:
            yield samples[0].unknown()
        elif not values:
            yield samples[-1].unknown("utilisation is not told")
        else:
            yield _busy(view, node, rows, values, len(samples))


def _busy(
    view: View, node: str, rows: list[tuple[Reading[GpuPerfs], GpuPerf]], values: list[float], count: int
) -> Judgement:
    mean = sum(values) / len(values)
    quotes = tuple(dict.fromkeys(r.quote(g.line) for r, g in rows if g.index == rows[0][1].index))[:5]
    seen = (
        observed("mean utilisation", round(mean, 1), "%", node),
        observed("lowest", min(values), "%", node),
        observed("highest", max(values), "%", node),
        observed("samples", count, "", node),
    )
    share = median(g.power_w / g.power_limit_w for _, g in rows if g.power_w and g.power_limit_w)
    if mean > view.limit("util-target") and share is not None and share < LOW_POWER:
        return Judgement(
            Status.WARN,
            "utilisation is high at low power: kernels spin or wait",
            nodes=(node,),
            observed=(*seen, observed("power of limit", round(share * 100), "%", node)),
            evidence=quotes,
            faults=("tr-gpu-util-misleading",),
            certainty="hypothesis",
        )
    idle = int(view.limit("clk-bits", "idle"))
    if max(values) < 1 and all((g.event_reasons or 0) & idle for _, g in rows):
        return ok("the GPUs are idle: no program at work", node, observed=seen, evidence=quotes)
    if count < 2:
        return Judgement(
            Status.UNKNOWN,
            "smi-perf: one sample says nothing about utilisation",
            nodes=(node,),
            observed=seen,
            reason="one sample says nothing about utilisation",
            missing=("smi-perf",),
        )
    if mean < view.limit("util-target"):
        return Judgement(
            Status.WARN,
            "the GPUs wait: utilisation is low or a saw-tooth",
            nodes=(node,),
            observed=seen,
            threshold=view.against("util-target"),
            evidence=quotes,
        )
    if silent := {g.index for _, g in rows} - {g.index for _, g in rows if g.utilization_pct is not None}:
        return rows[-1][0].unknown(f"the utilisation of {len(silent)} GPUs is not told")
    return ok("the GPUs are busy", node, observed=seen, evidence=quotes)
