"""The short queries of nvidia-smi read off its full report, which is all that most bundles hold.

Values are copied as the report prints them, without their unit; what it does not tell becomes `[N/A]`. The report
itself stays in the recording as `smi-xml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks import catalogue
from checks.intake.pieces import Piece
from checks.outputs import Raw
from checks.tools.nvidia_smi_detail import GpuDetail, GpuDetails, parse_smi_xml

ABSENT = "[N/A]"
_QUERY = re.compile(r"--query-(?:gpu|remapped-rows)=(\S+) --format=(\S+)")
_UNIT = re.compile(r"^(-?\d+(?:\.\d+)?) ?(?:MiB|MHz|%|W|C|x)$")

# field of a query: where the text report has it, where the XML report has it
_FIELDS: dict[str, tuple[str, ...]] = {
    "uuid": ("gpu uuid", "uuid"),
    "serial": ("serial number", "serial"),
    "name": ("product name", "product_name"),
    "vbios_version": ("vbios version", "vbios_version"),
    "inforom.img": ("inforom version/image version", "inforom_version/img_version"),
    "persistence_mode": ("persistence mode", "persistence_mode"),
    "mig.mode.current": ("mig mode/current", "mig_mode/current_mig"),
    "ecc.mode.current": ("ecc mode/current", "ecc_mode/current_ecc"),
    "compute_mode": ("compute mode", "compute_mode"),
    "pstate": ("performance state", "performance_state"),
    "utilization.gpu": ("utilization/gpu", "utilization/gpu_util"),
    "memory.used": ("fb memory usage/used", "fb_memory_usage/used"),
    "memory.total": ("fb memory usage/total", "fb_memory_usage/total"),
    "temperature.gpu": ("temperature/gpu current temp", "temperature/gpu_temp"),
    "temperature.memory": ("temperature/memory current temp", "temperature/memory_temp"),
    "power.draw": (
        "gpu power readings/instantaneous power draw",
        "gpu power readings/power draw",
        "power readings/power draw",
        "gpu_power_readings/instant_power_draw",
        "gpu_power_readings/power_draw",
        "power_readings/power_draw",
    ),
    "enforced.power.limit": (
        "gpu power readings/current power limit",
        "power readings/enforced power limit",
        "gpu_power_readings/current_power_limit",
        "power_readings/enforced_power_limit",
    ),
    "power.max_limit": (
        "gpu power readings/max power limit",
        "power readings/max power limit",
        "gpu_power_readings/max_power_limit",
        "power_readings/max_power_limit",
    ),
    "clocks.sm": ("clocks/sm", "clocks/sm_clock"),
    "clocks.max.sm": ("max clocks/sm", "max_clocks/sm_clock"),
    "clocks.mem": ("clocks/memory", "clocks/mem_clock"),
    "pcie.link.gen.current": (
        "pci/gpu link info/pcie generation/current",
        "pci/pci_gpu_link_info/pcie_gen/current_link_gen",
    ),
    "pcie.link.gen.max": ("pci/gpu link info/pcie generation/max", "pci/pci_gpu_link_info/pcie_gen/max_link_gen"),
    "pcie.link.width.current": (
        "pci/gpu link info/link width/current",
        "pci/pci_gpu_link_info/link_widths/current_link_width",
    ),
    "pcie.link.width.max": ("pci/gpu link info/link width/max", "pci/pci_gpu_link_info/link_widths/max_link_width"),
    "gpu_recovery_action": ("gpu recovery action", "gpu_recovery_action"),
    "fabric.state": ("fabric/state", "fabric/state"),
    "fabric.status": ("fabric/status", "fabric/status"),
    "ecc.errors.corrected.volatile.dram": (
        "ecc errors/volatile/dram correctable",
        "ecc_errors/volatile/dram_correctable",
    ),
    "ecc.errors.corrected.volatile.sram": (
        "ecc errors/volatile/sram correctable",
        "ecc_errors/volatile/sram_correctable",
    ),
    "ecc.errors.uncorrected.volatile.dram": (
        "ecc errors/volatile/dram uncorrectable",
        "ecc_errors/volatile/dram_uncorrectable",
    ),
    "ecc.errors.uncorrected.volatile.sram": (
        "ecc errors/volatile/sram uncorrectable",
        "ecc_errors/volatile/sram_uncorrectable",
    ),
    "ecc.errors.uncorrected.aggregate.dram": (
        "ecc errors/aggregate/dram uncorrectable",
        "ecc_errors/aggregate/dram_uncorrectable",
    ),
    "ecc.errors.uncorrected.aggregate.sram": (
        "ecc errors/aggregate/sram uncorrectable",
        "ecc_errors/aggregate/sram_uncorrectable",
    ),
    "remapped_rows.correctable": ("remapped rows/correctable error", "remapped_rows/remapped_row_corr"),
    "remapped_rows.uncorrectable": ("remapped rows/uncorrectable error", "remapped_rows/remapped_row_unc"),
    "remapped_rows.pending": ("remapped rows/pending", "remapped_rows/remapped_row_pending"),
    "remapped_rows.failure": ("remapped rows/remapping failure occurred", "remapped_rows/remapped_row_failure"),
}
_SPLIT_ERRORS = (
    ("uncorrectable parity", "uncorrectable sec-ded"),
    ("uncorrectable_parity", "uncorrectable_secded"),
)
"""Newer drivers print uncorrectable SRAM errors in two parts."""
_DERIVED = ("smi-core", "smi-perf", "smi-pcie", "smi-ecc", "smi-remap", "smi-recovery", "smi-fabric")


def derive(report: Piece) -> Iterator[Piece]:
    """Outputs of the short queries, for those of which the report tells at least one value of its own."""
    found = parse_smi_xml(Raw.of(report.data))
    if not isinstance(found, GpuDetails) or found.odd or not found.gpus:
        return
    for command in _DERIVED:
        query = _QUERY.search(catalogue.get(command).command)
        if not query:
            continue
        fields = query[1].split(",")
        plain = "nounits" in query[2]
        rows = [[_value(found, gpu, n, field, plain) for field in fields] for n, gpu in enumerate(found.gpus)]
        if any(v != ABSENT for row in rows for v, field in zip(row, fields, strict=True) if field in _FIELDS):
            text = "".join(", ".join(row) + "\n" for row in rows)
            yield Piece(command, (), text.encode(), report.origin, derived=report.command)


def _value(report: GpuDetails, gpu: GpuDetail, place: int, field: str, plain: bool) -> str:
    if field == "index":
        # the order of the report is that of the indices
        return str(place)
    if field in ("pci.bus_id", "gpu_bus_id"):
        return gpu.bus_id or ABSENT
    if field == "gpu_uuid":
        field = "uuid"
    if field == "driver_version":
        return report.driver_version or ABSENT
    value = next((gpu.values[path] for path in _FIELDS.get(field, ()) if path in gpu.values), None)
    if value is None and field.startswith("ecc.errors.uncorrected") and field.endswith("sram"):
        value = _sum(gpu, field)
    if value is None or value in ("N/A", ""):
        return ABSENT
    number = _UNIT.match(value)
    text = number[1] if number and plain else value
    return text.replace(",", " ")


def _sum(gpu: GpuDetail, field: str) -> str | None:
    for names, split in zip(_FIELDS[field], _SPLIT_ERRORS, strict=True):
        base = names.rpartition("/")[0]
        sep = "_" if "_" in split[0] else " "
        parts = [gpu.values.get(f"{base}/sram{sep}{part}") for part in split]
        if all(part is not None and part.isdigit() for part in parts):
            return str(sum(int(part or 0) for part in parts))
    return None
