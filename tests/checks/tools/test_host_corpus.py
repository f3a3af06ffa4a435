"""Parsers of the host layer against recorded outputs: the facts that are true in each."""

from __future__ import annotations

import pytest

from checks.interpret import interpret
from checks.outputs import Facts, NotAvailable, Output, Unparsable
from tests import corpus

CORPUS = {
    "host-cpu/lscpu-epyc-7h12-nps4-smt-off": (
        "cpu-info",
        lambda f: (f.cpus, f.sockets, f.cores_per_socket, f.threads_per_core, f.numa_nodes, f.numa_cpus[7]),
        (128, 2, 64, 1, 8, "112-127"),
    ),
    "host-cpu/lscpu-nested-new-layout": (
        "cpu-info",
        lambda f: (f.cpus, f.sockets, f.numa_nodes, f.model),
        (2, 2, 1, "Intel Core Processor (Haswell, no TSX, IBRS)"),
    ),
    "host-cpu/lscpu-openstack-guest": (
        "cpu-info",
        lambda f: (f.cpus, f.sockets, f.threads_per_core, f.numa_nodes),
        (2, 2, 1, 1),
    ),
    "host-cpu/lscpu-power8-1024-cpus": (
        "cpu-info",
        lambda f: (f.cpus, f.sockets, f.cores_per_socket, f.threads_per_core, f.cores, f.numa_nodes, f.numa_cpus[15]),
        (1024, 16, 8, 8, 128, 16, "960-1023"),
    ),
    "host-misc/proc-mounts-3-readonly": (
        "findmnt",
        lambda f: (
            [m.target for m in f.mounts if m.read_only],
            [m.options for m in f.mounts if m.target == "/"],
        ),
        (["/mnt/iso", "/mnt/iso", "/mnt/external-disk"], [("rw", "seclabel", "relatime")]),
    ),
    "mounts/mount-centos7": (
        "findmnt",
        lambda f: (
            [(m.source, m.fstype, m.options[:2]) for m in f.mounts if m.target == "/"],
            [m.target for m in f.mounts if m.read_only],
        ),
        ([("/dev/mapper/centos-root", "xfs", ("rw", "relatime"))], ["/sys/fs/cgroup"]),
    ),
    "mounts/mount-spaces-in-mountpoint": (
        "findmnt",
        lambda f: [(m.target, m.fstype) for m in f.mounts],
        [("/media/user/Ubuntu 22.04.3 LTS amd64", "iso9660")],
    ),
    "mounts/mount-parens-in-source": (
        "findmnt",
        lambda f: (len(f.mounts), [(m.source, m.target) for m in f.mounts if m.source.startswith("MN - ")]),
        (
            14,
            [
                (
                    "MN - mydomain.com (ftp.mydomain.com):/",
                    "/Users/user/Library/Application Support/Mountain Duck/Volumes.noindex/MN - mydomain.com.localized",
                )
            ],
        ),
    ),
    "host-time/chronyc-stratum3": (
        "time-chrony",
        lambda f: (f.stratum, f.leap, f.offset_s),
        (3, "Normal", -0.002129977),
    ),
    "host-time/timedatectl-el7": ("time-ctl", lambda f: (f.ntp_active, f.synchronised), (True, True)),
    "io-tools/iostat-mx-centos7": (
        "iostat",
        lambda f: ([r.device for r in f.rows], f.rows[0].read_kib_s),
        (["sda", "dm-0", "dm-1"], 10.24),
    ),
    "io-tools/iostat-x-centos7": (
        "iostat",
        lambda f: ([(r.await_ms, r.util_pct) for r in f.rows if r.device == "sda"], len(f.rows), f.iowait_pct),
        ([(0.88, 0.01)], 3, 0.0),
    ),
    "io-tools/iostat-x-ubuntu": (
        "iostat",
        lambda f: ([r.read_await_ms for r in f.rows if r.device == "sda"], len(f.rows), f.iowait_pct),
        ([0.36], 14, 0.04),
    ),
    "kernel-host/aer-corrected-then-nvme-raid1-degraded": (
        "disk-log",
        lambda f: ([e.subject for e in f.of("disk-lost")], [e.subject for e in f.of("raid-failure")]),
        (["nvme0"], ["md1"]),
    ),
    "kernel-host/blk-critical-target-error-discard": (
        "disk-log",
        lambda f: [e.subject for e in f.of("disk-error")],
        ["sda", "sda"],
    ),
    "kernel-host/nvme-controller-down-removed": (
        "disk-log",
        lambda f: [(e.kind, e.subject) for e in f.events],
        [("disk-timeout", "nvme0"), ("disk-lost", "nvme0")],
    ),
    "kernel-host/hung-task-df-fuse": (
        "mce-log",
        lambda f: [(e.subject, e.pid, e.seconds) for e in f.of("hung-task")],
        [("df", 1177107, 120)],
    ),
    "kernel-host/hung-task-docker-unregister-netdevice": (
        "mce-log",
        lambda f: [(e.subject, e.pid, e.seconds) for e in f.of("hung-task")],
        [("docker", 20744, 120)],
    ),
    "kernel-host/hung-task-panic-containerd-shim": (
        "mce-log",
        lambda f: ([(e.subject, e.pid, e.seconds) for e in f.of("hung-task")], len(f.of("panic"))),
        ([("containerd-shim", 931150, 122)], 1),
    ),
    "kernel-host/hung-task-umount-aufs": (
        "mce-log",
        lambda f: [(e.subject, e.pid, e.seconds) for e in f.of("hung-task")],
        [("umount.aufs", 21568, 120)],
    ),
    "kernel-host/oom-lines-and-xid": (
        "mce-log",
        lambda f: (
            {(e.subject, e.pid) for e in f.of("oom-kill")} >= {("vector", 345646), ("httpd", 123), ("python", 456)}
        ),
        True,
    ),
    "kernel-host/oom-sysrq-full-report": (
        "mce-log",
        lambda f: (f.events[0].subject, {e.by_hand for e in f.events}, f.of("oom", "oom-kill")),
        ("kworker/0:0", {True}, ()),
    ),
    "kernel-host/pstore-sysrq-panic": (
        "mce-log",
        lambda f: ({(e.kind, e.by_hand) for e in f.events}, f.of("kernel-bug", "panic", "lockup")),
        ({("kernel-bug", True)}, ()),
    ),
    "kernel-host/mce-corrected-with-amdgpu-line-between": (
        "mce-log",
        lambda f: ({e.kind for e in f.events}, [e.subject for e in f.of("mce-corrected") if e.subject]),
        ({"mce", "mce-corrected"}, ["CPU:12"]),
    ),
    "kernel-host/panic-hung-task-nvidia-kernel": (
        "mce-log",
        lambda f: [e.subject for e in f.of("panic")],
        ["hung_task: blocked tasks"],
    ),
    "kernel-host/nfs-not-responding-then-ok": (
        "nfs-log",
        lambda f: [(e.kind, e.server) for e in f.events],
        [("not-responding", "192.168.1.112"), ("ok", "192.168.1.112")],
    ),
    "kernel-host/nfs-server-not-responding-soft-timeouts": (
        "nfs-log",
        lambda f: [e.kind for e in f.events].count("timed-out"),
        4,
    ),
    "nvme/smart-log-degree-sign": (
        "nvme-smart",
        lambda f: (
            (f.critical_warning, f.temperature_c, f.spare_pct, f.spare_threshold_pct),
            (f.used_pct, f.media_errors, f.unsafe_shutdowns),
        ),
        ((0, 43, 100, 50), (1, 0, 60)),
    ),
    "nvme/smartctl-spare-0": (
        "nvme-smart",
        lambda f: (f.critical_warning, f.spare_pct, f.spare_threshold_pct, f.error_log_entries),
        (0, 0, 11, 156609),
    ),
    "host-misc/uptime-load-3.6": ("loadavg", lambda f: f.load1, 3.58),
    "host-pci/lspci-nn-a100-azure": (
        "lspci-gpu",
        lambda f: len([d for d in f.devices if d.gpu]),
        8,
    ),
    "host-pci/lspci-nn-a10": ("lspci-gpu", lambda f: len([d for d in f.devices if d.gpu]), 1),
    "host-pci/lspci-vvv-one-h100": ("lspci-gpu", lambda f: [d.address for d in f.devices], ["19:00.0"]),
    "host-pci/lspci-k-drivers": ("lspci-gpu", lambda f: len(f.devices), 44),
    "host-pci/lspci-nn-pensando-7-of-8": (
        "lspci-gpu",
        lambda f: (len(f.devices), "0000:0c:00.0" in {d.address for d in f.devices}),
        (7, False),
    ),
    "host-misc/lsmod-rdma-mlnx-ofed": (
        "modules",
        lambda f: (f.loaded("nvidia_peermem"), f.loaded("mlx5_ib"), f.loaded("mlx_compat"), f.loaded("lustre")),
        (True, True, True, False),
    ),
}


@pytest.mark.parametrize("entry", CORPUS)
def test_a_recorded_output_gives_its_facts(entry: str) -> None:
    command, look, expected = CORPUS[entry]
    facts = interpret(Output("n", command, (), 1, corpus.data(entry)))
    assert isinstance(facts, Facts), facts
    assert look(facts) == expected  # type: ignore[no-untyped-call]


def test_a_drive_without_a_health_log_is_no_answer() -> None:
    found = interpret(Output("n", "nvme-smart", (), 1, corpus.data("nvme/smartctl-no-health-log")))
    assert isinstance(found, NotAvailable)
    assert "health log" in found.reason


FOREIGN = {
    "host-misc/proc-mounts-malformed": "findmnt",
    "host-misc/lsblk-P-pairs": "findmnt",
    "mounts/mountstats": "findmnt",
    "nvme/intel-smart-log-add": "nvme-smart",
    "host-memory/free-kib": "mem-info",
    "host-memory/free-m-busy": "mem-info",
    "host-cpu/numactl-2-nodes-gcp": "numastat",
    "host-cpu/numactl-memoryless-nodes": "cpu-info",
    "host-memory/dmidecode-system-xe9680": "cpu-info",
    "host-time/ntpq-p-all-unselected": "time-chrony",
    "host-cpu/turbostat-2-socket-blanks": "mpstat",
    "host-misc/proc-interrupts-8-cpus": "vmstat",
    "mounts/nfsiostat-two-mounts": "iostat",
    "host-ipmi/sel-chassis-psu-unknown": "mce-log",
    "kernel-host/hung-task-df-fuse": "boot",
}


@pytest.mark.parametrize(("entry", "command"), FOREIGN.items())
def test_a_recorded_output_of_another_tool_is_refused_with_its_first_line(entry: str, command: str) -> None:
    found = interpret(Output("n", command, (), 1, corpus.data(entry)))
    assert isinstance(found, Unparsable)
    assert found.line == next(n for n, x in enumerate(corpus.data(entry).splitlines(), 1) if x.strip())
    assert found.text


def test_a_recorded_refusal_is_told_as_one() -> None:
    found = interpret(Output("n", "mem-info", (), 1, corpus.data("host-memory/dmidecode-permission-denied")))
    assert isinstance(found, NotAvailable)
    assert found.kind == "denied"
