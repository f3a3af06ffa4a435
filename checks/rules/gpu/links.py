"""PCIe and NVLink of the GPUs, and the fabric manager of NVSwitch machines."""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.findings import Status
from checks.judgement import Judgement, ok
from checks.outputs import NotAvailable
from checks.rules import Read, rule
from checks.rules.gpu.common import BUSY_PCT, gpu, majority, readings
from checks.tools.fabric_manager import FabricManager, FabricManagerVersion
from checks.tools.nvidia_driver import DriverVersion
from checks.tools.nvidia_smi import GpuFabrics, GpuPcies, GpuPerfs
from checks.tools.nvidia_smi_links import LinkErrors, NvLinkErrors, NvLinks
from checks.view import Reading, View, Window, observed


@rule(
    "gpu.pcie",
    title="Do the GPUs have their full PCIe width?",
    why="A GPU at half its lanes feeds data and RDMA at half the rate. Width counts at any time; generation may drop "
    "on an idle GPU and is not judged there.",
    scope="entity",
    reads=("smi-pcie", Read("smi-perf", optional=True)),
    faults=("gpu-pcie-degraded",),
)
def pcie(view: View) -> Iterator[Judgement]:
    """Width now against the width the link can have; generation only while the GPU works."""
    for r in readings(view, "smi-pcie", GpuPcies):
        if r.facts is None:
            yield r.unknown()
            continue
        narrow = [g for g in r.facts.gpus if g.width and g.width_max and g.width < g.width_max]
        untold = [g for g in r.facts.gpus if g.width is None or g.width_max is None]
        for g in narrow:
            yield Judgement(
                Status.CRITICAL,
                "PCIe link narrower than it can be",
                nodes=(r.node,),
                entities=(gpu(r.node, g.index),),
                observed=(observed("lanes", g.width, "", r.node), observed("lanes possible", g.width_max, "", r.node)),
                evidence=(r.quote(g.line),),
                faults=("gpu-pcie-degraded",),
            )
        busy = view.newest("smi-perf", r.node, GpuPerfs)
        works = {g.index: g for g in busy.facts.gpus if (g.utilization_pct or 0) >= BUSY_PCT} if busy.facts else {}
        slow = [g for g in r.facts.gpus if g.index in works and g.gen and g.gen_max and g.gen < g.gen_max]
        for g in slow:
            yield Judgement(
                Status.WARN,
                "PCIe link of a busy GPU slower than it can be",
                nodes=(r.node,),
                entities=(gpu(r.node, g.index),),
                observed=(
                    observed("PCIe generation", g.gen, "", r.node),
                    observed("generation possible", g.gen_max, "", r.node),
                    observed("utilisation", works[g.index].utilization_pct, "%", r.node),
                ),
                evidence=(r.quote(g.line), busy.quote(works[g.index].line)),
                faults=("gpu-pcie-degraded",),
                certainty="supported",
            )
        if untold:
            yield r.unknown("the PCIe width of a GPU is not told")
        elif not narrow and not slow:
            yield ok("all lanes in use", r.node, evidence=(r.quote(r.facts.gpus[0].line),))


@rule(
    "gpu.nvlinks_up",
    title="Are all NVLinks up?",
    why="One link down slows every collective inside the node; on an NVSwitch machine it keeps jobs from starting.",
    scope="entity",
    reads=("smi-nvlink",),
    thresholds=("nvlink-count",),
    faults=("gpu-nvlink-down",),
)
def nvlinks_up(view: View) -> Iterator[Judgement]:
    """Active links against the model's number, else against most GPUs of the model."""
    found = list(readings(view, "smi-nvlink", NvLinks))
    every = [g for r in found if r.facts is not None for g in r.facts.gpus]
    usual = {name: majority(g.active for g in every if g.name == name) for name in {g.name for g in every}}
    for r in found:
        if r.facts is None:
            yield r.unknown()
            continue
        wanted = {g.index: _expected(view, g.name) or usual[g.name] for g in r.facts.gpus}
        if None in wanted.values():
            yield r.unknown("how many NVLinks there should be is not known")
            continue
        if not any(g.links for g in r.facts.gpus) and not any(wanted.values()):
            words = "these GPUs have no NVLink"
            yield Judgement(Status.SKIPPED, words, nodes=(r.node,), reason=words)
            continue
        bad = False
        for g in r.facts.gpus:
            want = wanted[g.index]
            if isinstance(want, int | float) and g.active < want:
                bad = True
                down = [link for link in g.links if link.gb_per_s is None]
                if g.supported and not down:
                    yield r.unknown("fewer NVLinks are listed than the GPU has")
                    continue
                yield Judgement(
                    Status.CRITICAL,
                    "NVLinks are down",
                    nodes=(r.node,),
                    entities=tuple(f"{gpu(r.node, g.index)} link {x.link}" for x in down) or (gpu(r.node, g.index),),
                    observed=(observed("links up", g.active, "", r.node), observed("links", int(want), "", r.node)),
                    threshold=view.against("nvlink-count", level) if (level := _model(g.name)) else None,
                    evidence=tuple(r.quote(x.line) for x in down[:3]) or (r.quote(g.line),),
                    faults=("gpu-nvlink-down",),
                )
        if not bad:
            yield ok("all NVLinks up", r.node, evidence=(r.quote(1, 3),))


_BOARD = re.compile(r"(?<![a-z0-9])g?(h100|h200|b200|h800|a800|a100)(?![a-z0-9])")


def _model(name: str) -> str | None:
    """The model whose number of links is known; boards with bridges (PCIe, NVL) and GH200 have what the site gave."""
    lower = name.lower()
    found = _BOARD.search(lower)
    if found is None or "pcie" in lower or re.search(r"\bnvl\b|gh200", lower):
        return None
    return found[1]


def _expected(view: View, name: str) -> int | None:
    model = _model(name)
    return int(view.limit("nvlink-count", model)) if model else None


@rule(
    "gpu.nvlink_errors",
    title="Do NVLinks run without errors?",
    why="Replays and CRC errors that grow slow one GPU's collectives and end in Xid 74.",
    scope="entity",
    reads=(Read("smi-nvlink-err", rounds=2),),
    thresholds=("nvlink-crc", "nvlink-err"),
    faults=("gpu-nvlink-error",),
)
def nvlink_errors(view: View) -> Iterator[Judgement]:
    """Growth between two readings; totals that stay flat are history."""
    windows, without = view.windows("smi-nvlink-err", NvLinkErrors, roles=("gpu-node",))
    yield from (r.unknown() for r in without)
    for w in windows:
        if not w.before.links and not w.after.links:
            words = "these GPUs have no NVLink"
            yield Judgement(Status.SKIPPED, words, nodes=(w.node,), reason=words)
            continue
        grown = list(_grown(w))
        for old, link, counter, more in grown:
            rate = more / w.seconds if w.seconds else None
            many = rate is not None and counter == "crc" and rate > view.limit("nvlink-crc")
            yield Judgement(
                Status.CRITICAL if many or counter == "recovery" else Status.WARN,
                "NVLink errors are growing",
                nodes=(w.node,),
                entities=(f"{gpu(w.node, link.gpu)} link {link.link}",),
                observed=(observed(f"{counter} errors in the window", more, "errors", w.node),),
                threshold=view.against("nvlink-crc") if counter == "crc" else view.against("nvlink-err"),
                evidence=(w.first.quote(old.lines[counter]), w.last.quote(link.lines[counter])),
                faults=("gpu-nvlink-error",),
            )
        every = (*w.before.links, *w.after.links)
        if any(getattr(x, c) is None for x in every for c in _COUNTERS) or len(every) != 2 * len(w.after.links):
            yield w.last.unknown("the error counters of an NVLink are not told")
        elif not grown:
            yield ok("no NVLink error between the readings", w.node, evidence=(w.last.quote(1, 4),))


_COUNTERS = ("replay", "recovery", "crc")


def _grown(w: Window[NvLinkErrors]) -> Iterator[tuple[LinkErrors, LinkErrors, str, int]]:
    before = {(x.gpu, x.link): x for x in w.before.links}
    for link in w.after.links:
        old = before.get((link.gpu, link.link))
        for counter in _COUNTERS:
            new, was = getattr(link, counter), getattr(old, counter, None)
            if old is not None and new is not None and was is not None and new > was:
                yield old, link, counter, new - was


@rule(
    "gpu.fabric_manager",
    title="Is the NVSwitch fabric ready?",
    why="On NVSwitch machines no CUDA program starts without the fabric manager (error 802); its version must equal "
    "the driver's. On other machines it is rightly absent.",
    scope="node",
    reads=(
        "fm-status",
        Read("smi-fabric", optional=True),
        Read("fm-version", optional=True),
        Read("drv-version", optional=True),
    ),
    faults=("gpu-fm-down", "gpu-fm-mismatch"),
)
def fabric_manager(view: View) -> Iterator[Judgement]:
    """The service, the GPUs' registration, and the versions."""
    for r in readings(view, "fm-status", FabricManager):
        if r.facts is None:
            yield r.unknown()
            continue
        if not r.facts.loaded:
            words = "no fabric manager installed: no NVSwitch here"
            yield Judgement(Status.SKIPPED, words, nodes=(r.node,), reason=words)
            continue
        line = r.facts.lines.get("ActiveState", 1)
        # a manager of another version does not start: the versions are the cause, the service the effect
        mixed = _mixed(view, r, line)
        if mixed is not None:
            yield mixed
        elif r.facts.active != "active":
            yield Judgement(
                Status.CRITICAL,
                "the fabric manager is not running",
                nodes=(r.node,),
                observed=(observed("service", r.facts.active, "", r.node),),
                evidence=(r.quote(line),),
                faults=("gpu-fm-down",),
            )
        else:
            yield _fabric(view, r, line)


def _mixed(view: View, r: Reading[FabricManager], line: int) -> Judgement | None:
    version = view.newest("fm-version", r.node, FabricManagerVersion)
    driver = view.newest("drv-version", r.node, DriverVersion)
    if version.facts and driver.facts and version.facts.version != driver.facts.version:
        return Judgement(
            Status.CRITICAL,
            "fabric manager and driver have different versions",
            nodes=(r.node,),
            observed=(
                observed("service", r.known.active, "", r.node),
                observed("fabric manager", version.facts.version, "", r.node),
                observed("driver", driver.facts.version, "", r.node),
            ),
            evidence=(version.quote(version.facts.line), driver.quote(driver.facts.line), r.quote(line)),
            faults=("gpu-fm-mismatch",),
        )
    return None


def _fabric(view: View, r: Reading[FabricManager], line: int) -> Judgement:
    fabric = view.newest("smi-fabric", r.node, GpuFabrics)
    if fabric.facts is None:
        if isinstance(fabric.outcome, NotAvailable) and fabric.outcome.kind == "unsupported":
            return ok("the fabric manager runs", r.node, evidence=(r.quote(line),))
        return fabric.unknown()
    waiting = [g for g in fabric.facts.gpus if g.state and g.state.lower() != "completed"]
    failed = [g for g in fabric.facts.gpus if g.status and g.status.lower() not in ("success", "completed")]
    bad = tuple(dict.fromkeys((*waiting, *failed)))
    if bad:
        return Judgement(
            Status.CRITICAL,
            "GPUs are not registered with the fabric",
            nodes=(r.node,),
            entities=tuple(gpu(r.node, g.index) for g in bad),
            evidence=tuple(fabric.quote(g.line) for g in bad[:3]),
            faults=("gpu-fm-down",),
        )
    # older models tell no state at all; one that tells none among others that do is not known to be registered
    if any(g.state for g in fabric.facts.gpus) and not all(g.state for g in fabric.facts.gpus):
        return fabric.unknown("the fabric state of a GPU is not told")
    return ok("the fabric manager runs", r.node, evidence=(r.quote(line),))
