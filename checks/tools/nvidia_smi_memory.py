"""nvidia-smi's queries about memory health: ECC counters, remapped rows, retired pages.

    0, 12, 0, 0, 0, 0, 0
    00000000:07:00.0, GPU-0d1f2a3b-…, 0, 1, 0, 0

An unknown value is None, never 0.
"""

from __future__ import annotations

from checks.findings import Model
from checks.outputs import Empty, Facts, Outcome, Raw
from checks.tools import nvidia_csv
from checks.tools.nvidia_csv import Table


class GpuEcc(Model):
    """ECC error counts of one GPU; volatile since driver load, aggregate over the board's life."""

    line: int
    index: int
    corrected_volatile_dram: int | None = None
    corrected_volatile_sram: int | None = None
    uncorrected_volatile_dram: int | None = None
    uncorrected_volatile_sram: int | None = None
    uncorrected_aggregate_dram: int | None = None
    uncorrected_aggregate_sram: int | None = None


class GpuEccs(Facts):
    """`smi-ecc`."""

    gpus: tuple[GpuEcc, ...]


def parse_smi_ecc(raw: Raw) -> Outcome:
    """ECC counts."""
    found = nvidia_csv.table(raw, "smi-ecc")
    if not isinstance(found, Table):
        return found
    return GpuEccs(
        gpus=tuple(
            GpuEcc(
                line=r.line,
                index=i,
                corrected_volatile_dram=r.integer("ecc.errors.corrected.volatile.dram"),
                corrected_volatile_sram=r.integer("ecc.errors.corrected.volatile.sram"),
                uncorrected_volatile_dram=r.integer("ecc.errors.uncorrected.volatile.dram"),
                uncorrected_volatile_sram=r.integer("ecc.errors.uncorrected.volatile.sram"),
                uncorrected_aggregate_dram=r.integer("ecc.errors.uncorrected.aggregate.dram"),
                uncorrected_aggregate_sram=r.integer("ecc.errors.uncorrected.aggregate.sram"),
            )
            for i, r in nvidia_csv.cells(found.rows)
        ),
        odd=found.odd,
    )


class GpuRemap(Model):
    """Row remapping of one GPU, known by its bus id (the query has no index)."""

    line: int
    bus_id: str
    correctable: int | None = None
    uncorrectable: int | None = None
    pending: bool | None = None
    failure: bool | None = None


class GpuRemaps(Facts):
    """`smi-remap`; rows in the driver's order of GPUs."""

    gpus: tuple[GpuRemap, ...]


def parse_smi_remap(raw: Raw) -> Outcome:
    """Remapped rows; `pending` and `failure` are 0/1 or No/Yes by driver."""
    found = nvidia_csv.table(raw, "smi-remap", key="pci.bus_id")
    if not isinstance(found, Table):
        return found
    return GpuRemaps(
        gpus=tuple(
            GpuRemap(
                line=r.line,
                bus_id=r.cells["pci.bus_id"],
                correctable=r.integer("remapped_rows.correctable"),
                uncorrectable=r.integer("remapped_rows.uncorrectable"),
                pending=r.flag("remapped_rows.pending"),
                failure=r.flag("remapped_rows.failure"),
            )
            for r in found.rows
        ),
        odd=found.odd,
    )


class RetiredPage(Model):
    """One retired page; `address` is None where a row only names the cause."""

    line: int
    uuid: str
    address: str | None = None
    cause: str | None = None


class RetiredPages(Facts):
    """`smi-retired`."""

    pages: tuple[RetiredPage, ...]


def parse_smi_retired(raw: Raw) -> Outcome:
    """Retired pages of Volta and older."""
    if raw.blank:
        return Empty("no retired pages")
    found = nvidia_csv.table(raw, "smi-retired", key="uuid")
    if not isinstance(found, Table):
        return found
    return RetiredPages(
        pages=tuple(
            RetiredPage(
                line=r.line,
                uuid=r.cells["uuid"],
                address=r.text("retired_pages.address"),
                cause=r.text("retired_pages.cause"),
            )
            for r in found.rows
        ),
        odd=found.odd,
    )
