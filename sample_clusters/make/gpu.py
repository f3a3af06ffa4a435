"""What nvidia-smi, the kernel log and the fabric manager print on the GPU nodes."""

from __future__ import annotations

import hashlib

from sample_clusters.make.host_disks import GPU_BUSES
from sample_clusters.make.spec import RANK_PIDS, Spec, Writer

DRIVER = "550.90.07"
NAMES = {"A800": "NVIDIA A800-SXM4-80GB", "H100": "NVIDIA H100 80GB HBM3"}
LIMIT_W = {"A800": 400, "H100": 700}
CLOCKS = {"A800": (1380, 1410, 1593), "H100": (1830, 1980, 2619)}
LINKS = {"A800": (8, "25 GB/s"), "H100": (18, "26.562 GB/s")}
VBIOS = {"A800": "92.00.81.00.0A", "H100": "96.00.74.00.01"}
PCIE = {"A800": 4, "H100": 5}
DEVICE = {"A800": ("GA100 [A800 SXM4 80GB]", "20bd", "a1"), "H100": ("GH100 [H100 SXM5 80GB]", "2330", "a1")}
SWITCHES = {"A800": ("GA100 [A100 NVSwitch]", "1af1", 6), "H100": ("GH100 [H100 NVSwitch]", "22a3", 4)}
SAMPLES = 5
STARVED = (92, 8, 3, 71, 26)
"""Utilisation of the samples of a starved job, per cent: a saw-tooth with a mean of 40."""


def write(spec: Spec, out: Writer, round: int) -> None:
    """All GPU commands of a round; what differs by node (serials, UUIDs) is in no check and shared."""
    nodes = spec.gpu_set
    for sample in range(1, SAMPLES + 1):
        out.put(round, nodes, "smi-perf", perf(spec, round, sample), sample=sample)
    out.put(round, nodes, "smi-nvlink-err", nvlink_errors(spec))
    if round > 1:
        return
    out.put(round, nodes, "smi-list", gpu_list(spec))
    out.put(round, nodes, "smi-core", core(spec))
    out.put(round, nodes, "smi-pcie", pcie(spec))
    out.put(round, nodes, "smi-ecc", "".join(f"{i}, 0, 0, 0, 0, 0, 0\n" for i in range(8)))
    out.put(round, nodes, "smi-remap", "".join(f"{bus(spec, i)}, {uuid(spec, i)}, 0, 0, 0, 0\n" for i in range(8)))
    out.put(round, nodes, "smi-recovery", "".join(f"{i}, None\n" for i in range(8)), status=0)
    fabric = "Completed, Success" if spec.gpu == "H100" else "[N/A], [N/A]"
    out.put(round, nodes, "smi-fabric", "".join(f"{i}, {fabric}\n" for i in range(8)))
    out.put(round, nodes, "smi-nvlink", nvlink(spec))
    out.put(round, nodes, "smi-topo", topology(spec))
    out.put(
        round, nodes, "smi-apps", "".join(f"{uuid(spec, i)}, {pid}, python, 71200\n" for i, pid in enumerate(RANK_PIDS))
    )
    out.put(round, nodes, "xid-log", "-- No entries --\n", status=1)
    out.put(round, nodes, "fm-status", fabric_manager())
    out.put(round, nodes, "fm-version", f"Fabric Manager version is : {DRIVER}\n")
    out.put(round, nodes, "drv-version", module())
    out.put(round, nodes, "lspci-gpu", lspci(spec))


def bus(spec: Spec, index: int) -> str:
    """PCI address as nvidia-smi writes it."""
    return f"00000000:{GPU_BUSES[spec.gpu][index].upper()}:00.0"


def uuid(spec: Spec, index: int) -> str:
    """A stable made-up UUID."""
    d = hashlib.sha256(f"{spec.name} {index}".encode()).hexdigest()
    return f"GPU-{d[:8]}-{d[8:12]}-{d[12:16]}-{d[16:20]}-{d[20:32]}"


def gpu_list(spec: Spec) -> str:
    """`nvidia-smi -L`."""
    return "".join(f"GPU {i}: {NAMES[spec.gpu]} (UUID: {uuid(spec, i)})\n" for i in range(8))


def core(spec: Spec) -> str:
    """Identity and modes."""
    image = "1001.0200.00.03" if spec.gpu == "A800" else "G520.0200.00.05"
    return "".join(
        f"{i}, {uuid(spec, i)}, {bus(spec, i)}, 165302201{i:04d}, {NAMES[spec.gpu]}, {DRIVER}, "
        f"{VBIOS[spec.gpu]}, {image}, Enabled, Disabled, Enabled, Default\n"
        for i in range(8)
    )


def perf(spec: Spec, round: int, sample: int) -> str:
    """One sample under load; starved jobs draw a saw-tooth."""
    limit = LIMIT_W[spec.gpu]
    sm, sm_max, memory = CLOCKS[spec.gpu]
    lines = []
    for i in range(8):
        wobble = (i * 7 + sample * 3 + round * 5) % 6
        used = 71204 + 2 * i
        if spec.story == "cpu-starved":
            use = STARVED[(sample + round + i // 4) % len(STARVED)]
            power = 120 + (limit - 120) * use / 100 * 0.9
            temperature, reasons, clock = 45 + use // 6, "0x0000000000000000", sm_max
        else:
            use, power, temperature = 94 + wobble, limit * (0.94 + wobble / 100), 61 + wobble
            reasons, clock = "0x0000000000000004", sm - 5 * wobble
        lines.append(
            f"{i}, P0, {use}, {used}, 81559, {temperature}, {temperature + 4}, {power:.2f}, {limit:.2f}, {limit:.2f}, "
            f"{clock}, {sm_max}, {memory}, {reasons}\n"
        )
    return "".join(lines)


def pcie(spec: Spec) -> str:
    """Links at full generation and width."""
    gen = PCIE[spec.gpu]
    return "".join(f"{i}, {bus(spec, i)}, {gen}, {gen}, 16, 16\n" for i in range(8))


def nvlink(spec: Spec) -> str:
    """All links up."""
    count, speed = LINKS[spec.gpu]
    return "".join(
        f"GPU {i}: {NAMES[spec.gpu]} (UUID: {uuid(spec, i)})\n"
        + "".join(f"\t Link {k}: {speed}\n" for k in range(count))
        for i in range(8)
    )


def nvlink_errors(spec: Spec) -> str:
    """Totals that stay flat."""
    count, _ = LINKS[spec.gpu]
    return "".join(
        f"GPU {i}: {NAMES[spec.gpu]} (UUID: {uuid(spec, i)})\n"
        + "\n".join(
            f"\t Link {k}: Replay Errors: 0\n\t Link {k}: Recovery Errors: 0\n\t Link {k}: CRC Errors: 0\n"
            for k in range(count)
        )
        + "\n"
        for i in range(8)
    )


def topology(spec: Spec) -> str:
    """GPUs over NVLink, NICs beside the GPUs of their PCIe switch."""
    nics = spec.rails + 1
    half = spec.cores // 4
    cpus = (f"0-{half - 1},{2 * half}-{3 * half - 1}", f"{half}-{2 * half - 1},{3 * half}-{4 * half - 1}")
    names = [f"GPU{i}" for i in range(8)] + [f"NIC{k}" for k in range(nics)]
    near = 8 // spec.rails

    def cell(a: str, b: str) -> str:
        if a == b:
            return " X "
        if a.startswith("GPU") and b.startswith("GPU"):
            return f"NV{LINKS[spec.gpu][0]}"
        sides = [int(n[3:]) // 4 if n.startswith("GPU") else int(int(n[3:]) >= spec.rails / 2) for n in (a, b)]
        gpu, nic = (a, b) if a.startswith("GPU") else (b, a)
        if gpu.startswith("GPU") and int(nic[3:]) < spec.rails and int(gpu[3:]) // near == int(nic[3:]):
            return "PXB"
        return "NODE" if sides[0] == sides[1] else "SYS"

    lines = ["\t".join(["", *names, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"])]
    for name in names:
        row = [name, *(cell(name, other) for other in names)]
        if name.startswith("GPU"):
            side = int(name[3:]) // 4
            row += [cpus[side], str(side), "\tN/A"]
        lines.append("\t".join(row))
    legend = [
        "",
        "Legend:",
        "",
        "  X    = Self",
        "  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)",
        "  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node",
        "  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)",
        "  NV#  = Connection traversing a bonded set of # NVLinks",
        "",
        "NIC Legend:",
        "",
        *(f"  NIC{k}: mlx5_{k}" for k in range(nics)),
    ]
    return "\n".join([*lines, *legend]) + "\n"


def fabric_manager() -> str:
    """`systemctl show` of a running service."""
    return (
        "NRestarts=0\nExecMainStartTimestamp=Mon 2026-02-02 07:14:21 UTC\nLoadState=loaded\nActiveState=active\n"
        "SubState=running\n"
    )


def module() -> str:
    """`/proc/driver/nvidia/version`."""
    return (
        f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {DRIVER}  Fri May 31 09:35:42 UTC 2024\n"
        "GCC version:  gcc version 11.4.0 (Ubuntu 11.4.0-1ubuntu1~22.04)\n"
    )


def lspci(spec: Spec) -> str:
    """GPUs and NVSwitches on the bus."""
    name, device, revision = DEVICE[spec.gpu]
    gpus = [
        f"0000:{b}:00.0 3D controller [0302]: NVIDIA Corporation {name} [10de:{device}] (rev {revision})"
        for b in GPU_BUSES[spec.gpu]
    ]
    switch, identity, count = SWITCHES[spec.gpu]
    bridges = [
        f"0000:d{4 + k}:00.0 Bridge [0680]: NVIDIA Corporation {switch} [10de:{identity}] (rev a1)"
        for k in range(count)
    ]
    return "\n".join([*gpus, *bridges]) + "\n"
