"""nvidia-smi's lists and queries: `-L` and `--query-…` as CSV.

    GPU 0: NVIDIA A800-SXM4-80GB (UUID: GPU-0d1f2a3b-…)
    0, P0, 97, 71234, 81920, 63, 61, 391.22, 400.00, 400.00, 1380, 1410, 1593, 0x0000000000000004

An unknown value is None, never 0: `N/A`, `[Not Supported]`, `[Unknown Error]`, `ERR!`, `[GPU requires reset]`.
"""

from __future__ import annotations

import re

from checks.findings import Model
from checks.outputs import Empty, Facts, NotAvailable, OddLine, Outcome, Raw
from checks.tools import nvidia_csv
from checks.tools.nvidia_csv import Table


class ListedGpu(Model):
    """One line of `nvidia-smi -L`."""

    line: int
    index: int
    name: str
    uuid: str
    mig_devices: int = 0


class GpuList(Facts):
    """GPUs the driver lists. `unreachable` holds what it says of those it cannot open."""

    gpus: tuple[ListedGpu, ...]
    unreachable: tuple[OddLine, ...] = ()


_GPU = re.compile(r"^GPU (\d+): (.+?) \(UUID: ((?:GPU|MIG)-[\w-]+)\)$")
_MIG = re.compile(r"^\s*MIG\b.*\(UUID: MIG-")
_LOST = re.compile(r"^Unable to determine the device handle|^GPU \d+: .*(?:Unknown Error|lost|ERR)", re.I)


def parse_smi_list(raw: Raw) -> Outcome:
    """`nvidia-smi -L`, with MIG devices below their GPU."""
    gpus: list[ListedGpu] = []
    lost: list[OddLine] = []
    odd: list[OddLine] = []
    for n, line in raw.numbered():
        text = line.strip()
        if found := _GPU.match(text):
            gpus.append(ListedGpu(line=n, index=int(found[1]), name=found[2].strip(), uuid=found[3]))
        elif _MIG.match(line) and gpus:
            gpus[-1] = gpus[-1].model_copy(update={"mig_devices": gpus[-1].mig_devices + 1})
        elif _LOST.match(text):
            lost.append(raw.odd(n))
        elif text.lower().startswith("no devices were found"):
            return GpuList(gpus=())
        elif gpus:
            odd.append(raw.odd(n))
    if not gpus and not lost:
        return raw.unparsable("no line of the form `GPU 0: NAME (UUID: …)`")
    return GpuList(gpus=tuple(gpus), unreachable=tuple(lost), odd=tuple(odd))


class GpuIdentity(Model):
    """Inventory of one GPU."""

    line: int
    index: int
    uuid: str | None = None
    bus_id: str | None = None
    serial: str | None = None
    name: str | None = None
    driver_version: str | None = None
    vbios_version: str | None = None
    inforom_image: str | None = None
    persistence_mode: bool | None = None
    mig_mode: bool | None = None
    ecc_mode: bool | None = None
    compute_mode: str | None = None


class Gpus(Facts):
    """`smi-core`."""

    gpus: tuple[GpuIdentity, ...]


def parse_smi_core(raw: Raw) -> Outcome:
    """Identity and modes per GPU."""
    found = nvidia_csv.table(raw, "smi-core")
    if not isinstance(found, Table):
        return found
    return Gpus(
        gpus=tuple(
            GpuIdentity(
                line=r.line,
                index=i,
                uuid=r.text("uuid"),
                bus_id=r.text("pci.bus_id"),
                serial=r.text("serial"),
                name=r.text("name"),
                driver_version=r.text("driver_version"),
                vbios_version=r.text("vbios_version"),
                inforom_image=r.text("inforom.img"),
                persistence_mode=r.flag("persistence_mode"),
                mig_mode=r.flag("mig.mode.current"),
                ecc_mode=r.flag("ecc.mode.current"),
                compute_mode=r.text("compute_mode"),
            )
            for i, r in nvidia_csv.cells(found.rows)
        ),
        odd=found.odd,
    )


class GpuPerf(Model):
    """Load, power and clocks of one GPU at one instant. Memory in MiB, power in W, clocks in MHz."""

    line: int
    index: int
    pstate: str | None = None
    utilization_pct: float | None = None
    memory_used_mib: float | None = None
    memory_total_mib: float | None = None
    temperature_c: float | None = None
    memory_temperature_c: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    power_max_w: float | None = None
    sm_clock_mhz: float | None = None
    sm_clock_max_mhz: float | None = None
    memory_clock_mhz: float | None = None
    event_reasons: int | None = None


class GpuPerfs(Facts):
    """`smi-perf`. `event_reasons` is the bit mask of threshold `clk-bits`."""

    gpus: tuple[GpuPerf, ...]


def parse_smi_perf(raw: Raw) -> Outcome:
    """One sample of every GPU."""
    found = nvidia_csv.table(raw, "smi-perf")
    if not isinstance(found, Table):
        return found
    return GpuPerfs(
        gpus=tuple(
            GpuPerf(
                line=r.line,
                index=i,
                pstate=r.text("pstate"),
                utilization_pct=r.number("utilization.gpu"),
                memory_used_mib=r.number("memory.used"),
                memory_total_mib=r.number("memory.total"),
                temperature_c=r.number("temperature.gpu"),
                memory_temperature_c=r.number("temperature.memory"),
                power_w=r.number("power.draw"),
                power_limit_w=r.number("enforced.power.limit"),
                power_max_w=r.number("power.max_limit"),
                sm_clock_mhz=r.number("clocks.sm"),
                sm_clock_max_mhz=r.number("clocks.max.sm"),
                memory_clock_mhz=r.number("clocks.mem"),
                event_reasons=r.integer("clocks_event_reasons.active"),
            )
            for i, r in nvidia_csv.cells(found.rows)
        ),
        odd=found.odd,
    )


class GpuPcie(Model):
    """PCIe link of one GPU: generation and width, now and at most."""

    line: int
    index: int
    bus_id: str | None = None
    gen: int | None = None
    gen_max: int | None = None
    width: int | None = None
    width_max: int | None = None


class GpuPcies(Facts):
    """`smi-pcie`."""

    gpus: tuple[GpuPcie, ...]


def parse_smi_pcie(raw: Raw) -> Outcome:
    """PCIe links; the generation may be low on an idle GPU."""
    found = nvidia_csv.table(raw, "smi-pcie")
    if not isinstance(found, Table):
        return found
    return GpuPcies(
        gpus=tuple(
            GpuPcie(
                line=r.line,
                index=i,
                bus_id=r.text("pci.bus_id"),
                gen=r.integer("pcie.link.gen.current"),
                gen_max=r.integer("pcie.link.gen.max"),
                width=r.integer("pcie.link.width.current"),
                width_max=r.integer("pcie.link.width.max"),
            )
            for i, r in nvidia_csv.cells(found.rows)
        ),
        odd=found.odd,
    )


class GpuRecovery(Model):
    """What the driver itself recommends: `None`, `Reset`, `Reboot`, `Drain P2P`, `Drain and Reset` …"""

    line: int
    index: int
    action: str


class GpuRecoveries(Facts):
    """`smi-recovery`."""

    gpus: tuple[GpuRecovery, ...]


def parse_smi_recovery(raw: Raw) -> Outcome:
    """The recommended action; the word `None` is an answer here and means nothing to do."""
    found = nvidia_csv.table(raw, "smi-recovery")
    if not isinstance(found, Table):
        return found
    known = [(i, r, r.cells.get("gpu_recovery_action", "")) for i, r in nvidia_csv.cells(found.rows)]
    unsupported = [a for _, _, a in known if a.strip("[]").lower() in ("n/a", "not supported", "")]
    if len(unsupported) == len(known):
        return NotAvailable("unsupported", "this driver does not tell a recovery action")
    return GpuRecoveries(gpus=tuple(GpuRecovery(line=r.line, index=i, action=a) for i, r, a in known), odd=found.odd)


class GpuFabric(Model):
    """NVLink fabric registration of one GPU; healthy is `Completed` and `Success`."""

    line: int
    index: int
    state: str | None = None
    status: str | None = None


class GpuFabrics(Facts):
    """`smi-fabric`; both None on GPUs without a fabric."""

    gpus: tuple[GpuFabric, ...]


def parse_smi_fabric(raw: Raw) -> Outcome:
    """Fabric state."""
    found = nvidia_csv.table(raw, "smi-fabric")
    if not isinstance(found, Table):
        return found
    return GpuFabrics(
        gpus=tuple(
            GpuFabric(line=r.line, index=i, state=r.text("fabric.state"), status=r.text("fabric.status"))
            for i, r in nvidia_csv.cells(found.rows)
        ),
        odd=found.odd,
    )


class GpuProcess(Model):
    """One compute process. Memory in MiB."""

    line: int
    uuid: str
    pid: int | None = None
    name: str | None = None
    memory_mib: float | None = None


class GpuProcesses(Facts):
    """`smi-apps`; inside a container the list may be empty although the GPU is busy."""

    processes: tuple[GpuProcess, ...]


def parse_smi_apps(raw: Raw) -> Outcome:
    """Compute processes."""
    if raw.blank or "no running processes" in raw.text.lower():
        return Empty("no compute processes")
    found = nvidia_csv.table(raw, "smi-apps", key="uuid")
    if not isinstance(found, Table):
        return found
    return GpuProcesses(
        processes=tuple(
            GpuProcess(
                line=r.line,
                uuid=r.cells["uuid"],
                pid=r.integer("pid"),
                name=r.text("process_name"),
                memory_mib=r.number("used_memory"),
            )
            for r in found.rows
        ),
        odd=found.odd,
    )
