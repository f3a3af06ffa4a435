"""GPU memory: ECC errors, remapped rows, what the driver recommends."""

from __future__ import annotations

from collections.abc import Iterator

from checks.findings import Status
from checks.judgement import Judgement, ok
from checks.outputs import NotAvailable
from checks.rules import Read, rule
from checks.rules.gpu.common import gpu, readings
from checks.tools.formats import absent
from checks.tools.nvidia_smi import GpuRecoveries
from checks.tools.nvidia_smi_memory import GpuEccs, GpuRemaps
from checks.view import Reading, View, observed


@rule(
    "gpu.ecc",
    title="Is GPU memory free of uncorrected errors?",
    why="One uncorrected error ends the job that used the memory; errors in SRAM come back after every reset.",
    scope="entity",
    reads=("smi-ecc",),
    thresholds=("sram-unc", "dram-corr", "sram-corr"),
    faults=("gpu-dbe", "gpu-sram-errors"),
)
def ecc(view: View) -> Iterator[Judgement]:
    """Volatile uncorrected errors first, then what the board has gathered over its life."""
    for r in readings(view, "smi-ecc", GpuEccs):
        if r.facts is None:
            yield r.unknown()
            continue
        bad = False
        untold = [g for g in r.facts.gpus if None in (g.uncorrected_volatile_dram, g.uncorrected_volatile_sram)]
        for g in r.facts.gpus:
            sram = max(g.uncorrected_volatile_sram or 0, g.uncorrected_aggregate_sram or 0)
            where = {"nodes": (r.node,), "entities": (gpu(r.node, g.index),), "evidence": (r.quote(g.line),)}
            if sram > view.limit("sram-unc", "investigate"):
                bad = True
                replace = sram > view.limit("sram-unc", "replace")
                yield Judgement(
                    Status.CRITICAL if replace or g.uncorrected_volatile_sram else Status.WARN,
                    "uncorrected SRAM errors" + (": replace the board" if replace else ""),
                    observed=(observed("SRAM uncorrected", sram, "errors", r.node),),
                    threshold=view.against("sram-unc", "replace" if replace else "investigate"),
                    faults=("gpu-sram-errors",),
                    **where,  # type: ignore[arg-type]
                )
            if g.uncorrected_volatile_dram:
                bad = True
                yield Judgement(
                    Status.CRITICAL,
                    "uncorrected memory errors since the driver was loaded",
                    observed=(observed("DRAM uncorrected", g.uncorrected_volatile_dram, "errors", r.node),),
                    faults=("gpu-dbe",),
                    **where,  # type: ignore[arg-type]
                )
            for count, limit, level, memory in (
                (g.corrected_volatile_dram, "dram-corr", "azure", "DRAM"),
                (g.corrected_volatile_sram, "sram-corr", None, "SRAM"),
            ):
                if (count or 0) > view.limit(limit, level):
                    bad = True
                    yield Judgement(
                        Status.WARN,
                        f"very many corrected {memory} errors",
                        observed=(observed(f"{memory} corrected", count, "errors", r.node),),
                        threshold=view.against(limit, level),
                        **where,  # type: ignore[arg-type]
                    )
        if len(untold) == len(r.facts.gpus):
            yield r.unknown("the GPUs count no ECC errors (ECC off or not supported)")
        elif untold:
            yield r.unknown("the ECC errors of a GPU are not told")
        elif not bad:
            yield ok("no uncorrected errors", r.node, evidence=(r.quote(r.facts.gpus[0].line),))


@rule(
    "gpu.row_remap",
    title="Are memory rows remapped without trouble?",
    why="A pending remap needs a reset at the job's end; a failed one needs a new board.",
    scope="entity",
    reads=("smi-remap",),
    thresholds=("row-remap-fail", "row-remap-limit"),
    faults=("gpu-remap-pending", "gpu-remap-failure"),
)
def row_remap(view: View) -> Iterator[Judgement]:
    """Failure outranks pending; a count far from the limit is normal."""
    for r in readings(view, "smi-remap", GpuRemaps):
        if r.facts is None:
            yield r.unknown()
            continue
        bad = False
        for place, g in enumerate(r.facts.gpus):
            where = {"nodes": (r.node,), "entities": (gpu(r.node, place),), "evidence": (r.quote(g.line),)}
            value = (observed("rows remapped", g.uncorrectable, "rows", r.node),)
            if g.failure or (g.uncorrectable or 0) >= view.limit("row-remap-limit"):
                bad = True
                limit = view.against("row-remap-fail") if g.failure else view.against("row-remap-limit")
                yield Judgement(
                    Status.CRITICAL,
                    "row remapping failed or is used up: replace the board",
                    observed=value,
                    threshold=limit,
                    faults=("gpu-remap-failure",),
                    **where,  # type: ignore[arg-type]
                )
            elif g.pending:
                bad = True
                yield Judgement(
                    Status.WARN,
                    "a row remap waits for a reset: drain at the job's end",
                    observed=value,
                    faults=("gpu-remap-pending",),
                    **where,  # type: ignore[arg-type]
                )
            elif g.failure is None or g.pending is None:
                bad = True
                yield r.unknown("row remapping is not told for a GPU")
        if not bad:
            yield ok("no remap pending or failed", r.node, evidence=(r.quote(r.facts.gpus[0].line),))


@rule(
    "gpu.recovery",
    title="Does the driver recommend a recovery?",
    why="Newer drivers say themselves whether a GPU needs a reset or the node a reboot; believe them before the count "
    "of any error.",
    scope="entity",
    reads=(Read("smi-recovery", optional=True),),
    faults=("gpu-xid-154",),
)
def recovery(view: View) -> Iterator[Judgement]:
    """`None` is healthy; a driver too old to tell is skipped, not unknown."""
    for r in readings(view, "smi-recovery", GpuRecoveries):
        if r.facts is None:
            if _too_old(r):
                words = "this driver does not tell a recovery action"
                yield Judgement(Status.SKIPPED, words, nodes=(r.node,), reason=words)
            else:
                yield r.unknown()
            continue
        # a GPU that only says it needs a reset has told enough; `none` is an answer, not the lack of one
        wanted = [g for g in r.facts.gpus if not absent(g.action) or "reset" in g.action.lower()]
        untold = [g for g in r.facts.gpus if g not in wanted and g.action.lower() != "none"]
        if untold:
            yield r.unknown("the recovery action of a GPU is not told")
        elif not wanted:
            yield ok("the driver recommends nothing", r.node, evidence=(r.quote(r.facts.gpus[0].line),))
        for g in wanted:
            yield Judgement(
                Status.CRITICAL,
                "the driver recommends a recovery",
                nodes=(r.node,),
                entities=(gpu(r.node, g.index),),
                observed=(observed("recovery action", g.action, "", r.node),),
                evidence=(r.quote(g.line),),
                faults=("gpu-xid-154",),
            )


def _too_old(r: Reading[GpuRecoveries]) -> bool:
    return isinstance(r.outcome, NotAvailable) and r.outcome.kind == "unsupported"
