"""Parsers of the host layer against recorded outputs: the facts that are true in each."""

from __future__ import annotations

import pytest

from checks.interpret import interpret
from checks.outputs import Facts, NotAvailable, Output
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
    "host-cpu/lscpu-openstack-guest": ("cpu-info", lambda f: (f.cpus, f.threads_per_core), (2, 1)),
    "host-cpu/lscpu-power8-1024-cpus": ("cpu-info", lambda f: (f.cpus, f.sockets, f.numa_nodes), (1024, 16, 16)),
    "host-misc/proc-mounts-3-readonly": (
        "findmnt",
        lambda f: [m.target for m in f.mounts if "ro" in m.options and m.target.startswith("/mnt")],
        ["/mnt/iso", "/mnt/iso", "/mnt/external-disk"],
    ),
    "mounts/mount-centos7": (
        "findmnt",
        lambda f: [(m.source, m.fstype) for m in f.mounts if m.target == "/"],
        [("/dev/mapper/centos-root", "xfs")],
    ),
    "mounts/mount-spaces-in-mountpoint": (
        "findmnt",
        lambda f: [(m.target, m.fstype) for m in f.mounts],
        [("/media/user/Ubuntu 22.04.3 LTS amd64", "iso9660")],
    ),
    "mounts/mount-parens-in-source": ("findmnt", lambda f: len(f.mounts), 14),
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
        lambda f: [(r.await_ms, r.util_pct) for r in f.rows if r.device == "sda"],
        [(0.88, 0.01)],
    ),
    "io-tools/iostat-x-ubuntu": (
        "iostat",
        lambda f: [r.read_await_ms for r in f.rows if r.device == "sda"],
        [0.36],
    ),
    "kernel-host/aer-corrected-then-nvme-raid1-degraded": (
        "disk-log",
        lambda f: [e.subject for e in f.of("disk-lost")],
        ["nvme0"],
    ),
    "kernel-host/blk-critical-target-error-discard": (
        "disk-log",
        lambda f: [e.subject for e in f.of("disk-error")],
        ["sda", "sda"],
    ),
    "kernel-host/nvme-controller-down-removed": (
        "disk-log",
        lambda f: {e.subject for e in f.of("disk-lost", "disk-timeout")},
        {"nvme0"},
    ),
    "kernel-host/hung-task-df-fuse": (
        "mce-log",
        lambda f: [(e.subject, e.pid, e.seconds) for e in f.of("hung-task")],
        [("df", 1177107, 120)],
    ),
    "kernel-host/hung-task-docker-unregister-netdevice": (
        "mce-log",
        lambda f: [(e.subject, e.pid) for e in f.of("hung-task")],
        [("docker", 20744)],
    ),
    "kernel-host/hung-task-panic-containerd-shim": (
        "mce-log",
        lambda f: ([(e.subject, e.seconds) for e in f.of("hung-task")], len(f.of("panic"))),
        ([("containerd-shim", 122)], 1),
    ),
    "kernel-host/hung-task-umount-aufs": (
        "mce-log",
        lambda f: [(e.subject, e.pid) for e in f.of("hung-task")],
        [("umount.aufs", 21568)],
    ),
    "kernel-host/oom-lines-and-xid": (
        "mce-log",
        lambda f: {e.subject for e in f.of("oom-kill")} >= {"vector", "httpd", "python"},
        True,
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
        lambda f: (f.critical_warning, f.temperature_c, f.spare_pct, f.used_pct, f.unsafe_shutdowns),
        (0, 43, 100, 1, 60),
    ),
    "nvme/smartctl-spare-0": (
        "nvme-smart",
        lambda f: (f.spare_pct, f.spare_threshold_pct, f.error_log_entries),
        (0, 11, 156609),
    ),
    "host-misc/uptime-load-3.6": ("loadavg", lambda f: f.load1, 3.58),
    "host-pci/lspci-nn-a100-azure": (
        "lspci-gpu",
        lambda f: len([d for d in f.devices if d.gpu]),
        8,
    ),
    "host-misc/lsmod-rdma-mlnx-ofed": (
        "modules",
        lambda f: "mlx5_ib" in next(m.used_by for m in f.modules if m.name == "ib_uverbs"),
        True,
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
