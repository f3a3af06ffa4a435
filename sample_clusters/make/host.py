"""Writes what the hosts print: processors, memory, load, disks, clocks, kernel log; the head node's share too."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass

from sample_clusters.make import host_disks as disks
from sample_clusters.make.spec import RANK_PIDS, Spec, Writer, taken_at

HEAD = "head01"
JOB = "88123"


@dataclass(frozen=True)
class _Load:
    """How busy the GPU nodes are: pressures in percent over a minute, load per core, available memory in percent."""

    cpu: float
    io: float
    memory: float
    load: float
    available: float
    runnable: float


_CALM = _Load(cpu=1.86, io=0.42, memory=0.0, load=0.41, available=78.0, runnable=0.38)
_STARVED = _Load(cpu=45.31, io=1.12, memory=0.63, load=1.62, available=7.4, runnable=1.55)


def write(spec: Spec, out: Writer, round: int) -> None:
    """All host outputs of a round; what never changes only in the first."""
    load = _STARVED if spec.story == "cpu-starved" else _CALM
    nodes = spec.gpu_set
    for number, node in enumerate([*spec.gpu_nodes, HEAD]):
        out.put(round, node, "boot", _boot(spec, node, number, round))
    for where, text in ((nodes, _chrony("10.0.0.10", 3, 0.000018431)), (HEAD, _chrony("10.0.0.1", 2, -0.000007120))):
        out.put(round, where, "time-chrony", text)
        out.put(round, where, "epoch", f"{taken_at(round).timestamp():.0f}.{118_234_561 + 7_001_293 * round}\n")
    out.put(round, HEAD, "loadavg", "1.08 0.97 0.91 2/1204 220145\n")
    out.put(
        round, HEAD, "df-local", disks.df(("/dev/sda2", 459_850_824, 31, "/"), ("/dev/sda1", 1_098_632, 1, "/boot/efi"))
    )
    out.put(round, nodes, "psi", _psi(load, round))
    out.put(round, nodes, "loadavg", _loadavg(spec, load))
    out.put(round, nodes, "mem-info", _meminfo(spec, load))
    out.put(round, nodes, "vmstat", _vmstat(spec, load))
    out.put(round, nodes, "ps-dstate", _ps(round))
    out.put(round, nodes, "iostat", disks.iostat())
    out.put(round, nodes, "mce-edac", _edac())
    for pid in RANK_PIDS:
        out.put(round, nodes, "proc-status", _status(spec, round, pid), pid)
    out.put(round, nodes, "job-psi", _job_psi(load, round), JOB)
    for drive in range(disks.DRIVES):
        out.put(round, nodes, "nvme-smart", disks.smart(drive), f"/dev/nvme{drive}n1")
    for command in ("mce-log", "disk-log"):
        out.put(round, nodes, command, "-- No entries --\n", status=1)
    out.put(
        round,
        nodes,
        "df-local",
        disks.df(
            ("/dev/nvme0n1p2", 937_284_556, 27, "/"),
            ("/dev/nvme0n1p1", 1_098_632, 1, "/boot/efi"),
            ("/dev/nvme1n1", 3_749_633_648, 41, "/local"),
        ),
    )
    if round == 1:
        _static(spec, out, nodes)


def _static(spec: Spec, out: Writer, nodes: str) -> None:
    out.put(1, nodes, "cpu-info", _lscpu(spec))
    out.put(1, nodes, "cpu-governor", _each_cpu(spec, "cpufreq/policy{}/scaling_governor:performance"))
    out.put(1, nodes, "cpu-idle", _cpu_idle())
    out.put(1, nodes, "cmdline", f"BOOT_IMAGE=/vmlinuz-5.15.0-113-generic root=UUID={_uuid('root')} ro iommu=pt\n")
    out.put(1, nodes, "iommu-groups", "".join(f"/sys/kernel/iommu_groups/{g}/type:identity\n" for g in range(24)))
    out.put(1, nodes, "modules", _modules())
    out.put(1, nodes, "findmnt", disks.findmnt())
    out.put(1, nodes, "mnt-probe", disks.stat_f(spec), "/lustre")
    out.put(1, nodes, "df-inodes", disks.df_inodes())
    out.put(1, nodes, "shm", disks.shm(spec))
    out.put(1, nodes, "nvme-list", disks.nvme_list())
    out.put(1, nodes, "mdstat", "Personalities : [raid0] [raid1]\nunused devices: <none>\n")
    out.put(1, nodes, "numastat", _numastat(spec))
    out.put(1, nodes, "time-ctl", _TIME_CTL)
    out.put(1, nodes, "proc-limits", _LIMITS, RANK_PIDS[0])
    for pid in RANK_PIDS:
        out.put(1, nodes, "proc-env", _environ(spec), pid)
    out.put(1, nodes, "pcie-gpu-sys", disks.links(spec))
    out.put(1, nodes, "pcie-aer", disks.aer(spec))


def _uuid(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{name}.rackside"))


# ---- clocks


def _boot(spec: Spec, node: str, number: int, round: int) -> str:
    up_s = 1_104_540.44 + 13.37 * number + 60 * (round - 1)
    return f"{_uuid(f'{spec.name}.{node}')}\n{up_s:.2f} {up_s * spec.cores * 0.6:.2f}\n"


def _chrony(server: str, stratum: int, correction_s: float) -> str:
    reference = "".join(f"{int(part):02X}" for part in server.split("."))
    return (
        f"{reference},{server},{stratum},1772591367.204518232,{correction_s:.9f},{correction_s * 0.7:.9f},"
        f"0.000024517,-11.482,0.001,0.018,0.000214531,0.000389120,64.4,Normal\n"
    )


_TIME_CTL = (
    "Timezone=Etc/UTC\nLocalRTC=no\nCanNTP=yes\nNTP=yes\nNTPSynchronized=yes\n"
    "TimeUSec=Wed 2026-03-04 02:30:00 UTC\nRTCTimeUSec=Wed 2026-03-04 02:30:00 UTC\n"
)

# ---- processors and load


def _lscpu(spec: Spec) -> str:
    per_socket = spec.cores // 2
    amd = spec.gpu == "A800"
    model = "AMD EPYC 7763 64-Core Processor" if amd else "Intel(R) Xeon(R) Platinum 8468"
    if per_socket == 32:
        model = "Intel(R) Xeon(R) Platinum 8462Y+"
    rows = [
        ("Architecture:", "x86_64"),
        ("CPU op-mode(s):", "32-bit, 64-bit"),
        ("Byte Order:", "Little Endian"),
        ("CPU(s):", str(spec.cores)),
        ("On-line CPU(s) list:", f"0-{spec.cores - 1}"),
        ("Vendor ID:", "AuthenticAMD" if amd else "GenuineIntel"),
        ("Model name:", model),
        ("Thread(s) per core:", "1"),
        ("Core(s) per socket:", str(per_socket)),
        ("Socket(s):", "2"),
        ("CPU max MHz:", "3529.0520" if amd else "3800.0000"),
        ("NUMA node(s):", "2"),
        ("NUMA node0 CPU(s):", f"0-{per_socket - 1}"),
        ("NUMA node1 CPU(s):", f"{per_socket}-{spec.cores - 1}"),
    ]
    return json.dumps({"lscpu": [{"field": f, "data": d} for f, d in rows]}, indent=3) + "\n"


def _each_cpu(spec: Spec, form: str) -> str:
    names = sorted(range(spec.cores), key=str)
    return "".join(f"/sys/devices/system/cpu/{form.format(n)}\n" for n in names)


def _cpu_idle() -> str:
    states = ("POLL", "C1", "C2")
    folder = "/sys/devices/system/cpu/cpu0/cpuidle"
    names = "".join(f"{folder}/state{i}/name:{name}\n" for i, name in enumerate(states))
    return names + "".join(f"{folder}/state{i}/disable:{int(i == 2)}\n" for i in range(len(states)))


def _modules() -> str:
    rows = [
        ("nvidia_uvm", 1531904, 24, "-"),
        ("nvidia_peermem", 16384, 0, "-"),
        ("nvidia_modeset", 1265664, 1, "-"),
        ("nvidia", 56823808, 1188, "nvidia_uvm,nvidia_peermem,nvidia_modeset,"),
        ("lustre", 1044480, 2, "-"),
        ("lnet", 716800, 9, "lustre,ko2iblnd,"),
        ("ko2iblnd", 237568, 1, "-"),
        ("mlx5_ib", 438272, 16, "-"),
        ("ib_uverbs", 163840, 41, "mlx5_ib,"),
        ("ib_core", 438272, 9, "nvidia_peermem,ko2iblnd,mlx5_ib,ib_uverbs,"),
        ("mlx5_core", 2199552, 1, "mlx5_ib,"),
    ]
    return "".join(f"{n} {size} {used} {by} Live 0x0000000000000000 (OE)\n" for n, size, used, by in rows)


def _psi(load: _Load, round: int) -> str:
    text = ""
    for name, some, full in (("cpu", load.cpu, 0.0), ("io", load.io, 0.31 * load.io), ("memory", load.memory, 0.0)):
        for kind, value in (("some", some), ("full", full)):
            total = int(value / 100 * (86_400_000_000 + 60_000_000 * round))
            averages = f"avg10={value * 1.04:.2f} avg60={value:.2f} avg300={value * 0.97:.2f}"
            text += f"/proc/pressure/{name}:{kind} {averages} total={total}\n"
    return text


def _job_psi(load: _Load, round: int) -> str:
    folder = f"/sys/fs/cgroup/system.slice/slurmstepd.scope/job_{JOB}"
    lines = (x for x in _psi(load, round).splitlines() if "memory" not in x)
    return "".join(x.replace("/proc/pressure/", f"{folder}/").replace(":", ".pressure:", 1) + "\n" for x in lines)


def _loadavg(spec: Spec, load: _Load) -> str:
    one = load.load * spec.cores
    return f"{one:.2f} {one * 0.98:.2f} {one * 0.96:.2f} {int(load.runnable * spec.cores)}/3187 412907\n"


def _vmstat(spec: Spec, load: _Load) -> str:
    free = int(disks.kib(spec) * load.available / 100 * 0.4)
    busy = min(97, int(100 * load.load * 0.9))
    rows = "".join(
        f"{int(load.runnable * spec.cores) + k:4d} {0:4d} {0:12d} {free - 811 * k:12d} {2_104_556:12d} {free:12d} "
        f"{0:4d} {0:4d} {14:5d} {212 + k:5d} {98_112 + 37 * k:6d} {171_204 + 53 * k:6d} "
        f"{busy:4d} {3:3d} {97 - busy:3d} {0:3d} {0:3d}\n"
        for k in range(5)
    )
    groups = (("procs", 9), ("memory", 53), ("swap", 10), ("io", 12), ("system", 12), ("cpu", 20))
    names = "   r    b         swpd         free         buff        cache   si   so    bi    bo     in     cs"
    head = " ".join(f"{title:-^{width}}" for title, width in groups)
    return f"{head}\n{names}   us  sy  id   wa  st\n{rows}"


def _ps(round: int) -> str:
    rows = [
        ("S", 1, 0, 1_104_540, "ep_poll", "systemd"),
        ("S", 2, 0, 1_104_540, "kthreadd", "kthreadd"),
        ("I", 14, 2, 1_104_540, "rcu_gp_kthread", "rcu_sched"),
        ("S", 1288, 1, 1_104_500, "do_select", "chronyd"),
        ("S", 2077, 1, 1_104_484, "ep_poll", "slurmd"),
        ("S", 81190, 1, 93_600, "ep_poll", "slurmstepd"),
        *(("R", int(pid), 81190, 93_580, "-", "python") for pid in RANK_PIDS),
        *(("S", 81300 + k, int(RANK_PIDS[k // 2]), 93_510, "futex_wait_queue_me", "pt_data_worker") for k in range(16)),
    ]
    return "".join(
        f"{state} {pid:7d} {ppid:7d} {age + 60 * (round - 1):7d} {wchan:<40} {name}\n"
        for state, pid, ppid, age, wchan, name in rows
    )


def _status(spec: Spec, round: int, pid: str) -> str:
    pairs = [
        ("Name", "python"),
        ("Umask", "0022"),
        ("State", "R (running)"),
        ("Tgid", pid),
        ("Pid", pid),
        ("PPid", "81190"),
        ("VmRSS", "18734112 kB"),
        ("Threads", "214"),
        ("Cpus_allowed_list", f"0-{spec.cores - 1}"),
        ("Mems_allowed_list", "0-1"),
        ("voluntary_ctxt_switches", str(91_244_102 + 58_211 * round)),
        ("nonvoluntary_ctxt_switches", str(1_204_551 + 731 * round)),
    ]
    return "".join(f"{k}:\t{v}\n" for k, v in pairs)


_LIMITS = "Limit                     Soft Limit           Hard Limit           Units     \n" + "".join(
    f"{name:<25} {soft:<20} {hard:<20} {unit:<10}\n"
    for name, soft, hard, unit in (
        ("Max cpu time", "unlimited", "unlimited", "seconds"),
        ("Max stack size", "unlimited", "unlimited", "bytes"),
        ("Max processes", "4127398", "4127398", "processes"),
        ("Max open files", "131072", "131072", "files"),
        ("Max locked memory", "unlimited", "unlimited", "bytes"),
        ("Max realtime timeout", "unlimited", "unlimited", "us"),
    )
)


def _environ(spec: Spec) -> str:
    """Only what may be kept of an environment; the traffic class carries DSCP 26 with ECN allowed."""
    values = {
        "NCCL_SOCKET_IFNAME": "eth0",
        "NCCL_IB_HCA": ",".join(f"mlx5_{k}" for k in range(spec.rails)),
        "NCCL_IB_GID_INDEX": "3",
        "NCCL_IB_TC": "106",
        "NCCL_IB_TIMEOUT": "22",
        "NCCL_DEBUG": "INFO",
        "TORCH_NCCL_ASYNC_ERROR_HANDLING": "1",
        "CUDA_DEVICE_MAX_CONNECTIONS": "1",
        "OMP_NUM_THREADS": str(spec.cores // 8),
        "SLURM_JOB_ID": JOB,
        "SLURM_JOB_NUM_NODES": str(spec.nodes),
        "SLURM_NTASKS_PER_NODE": "8",
    }
    return "".join(f"{k}={v}\0" for k, v in values.items())


# ---- memory


def _meminfo(spec: Spec, load: _Load) -> str:
    total = disks.kib(spec)
    available = int(total * load.available / 100)
    rows = [
        ("MemTotal", total),
        ("MemFree", int(available * 0.4)),
        ("MemAvailable", available),
        ("Buffers", 2_104_556),
        ("Cached", int(available * 0.55)),
        ("SwapCached", 0),
        ("SwapTotal", 0),
        ("SwapFree", 0),
        ("Dirty", 18_204),
        ("Shmem", 9_812_344),
    ]
    text = "".join(f"{name + ':':<16}{kib:>10} kB\n" for name, kib in rows)
    return text + "HugePages_Total:       0\nHugePages_Free:        0\nHugepagesize:       2048 kB\n"


def _numastat(spec: Spec) -> str:
    half = disks.kib(spec) / 2048
    heads = f"\nPer-node system memory usage (in MBs):\n{'':<20}{'Node 0':>16}{'Node 1':>16}{'Total':>16}\n"
    rule = f"{'':<20}{'-' * 15:>16}{'-' * 15:>16}{'-' * 15:>16}\n"
    rows = (("MemTotal", 1.0), ("MemFree", 0.33), ("MemUsed", 0.67), ("FilePages", 0.44))
    return (
        heads
        + rule
        + "".join(
            f"{name:<20}{half * share:16.2f}{half * share:16.2f}{2 * half * share:16.2f}\n" for name, share in rows
        )
    )


def _edac() -> str:
    folder = "/sys/devices/system/edac/mc"
    return "".join(f"{folder}/mc{k}/{kind}_count:0\n" for kind in ("ce", "ue") for k in range(2))
