"""What hosts print, one healthy text a command, and how to read it."""

from __future__ import annotations

from typing import Any

from checks.clusters import open_cluster
from checks.interpret import interpret
from checks.outputs import Facts, Outcome, Output
from tests.checks.rules.planted import HEALTHY

DRIVE = ("/dev/nvme0n1",)
COMMANDS = [
    "cpu-info", "cpu-governor", "cpu-idle", "cmdline", "modules", "iommu-groups", "mem-info", "numastat", "shm",
    "mce-edac", "psi", "loadavg", "vmstat", "ps-dstate", "boot", "epoch", "time-chrony", "time-ctl", "df-local",
    "df-inodes", "findmnt", "iostat", "nvme-smart", "nvme-list",
]  # fmt: skip
"""Commands whose healthy text the sample cluster holds."""

WRITTEN = {
    "mpstat": "Linux 5.15.0-113-generic (gpu001) \t03/04/26 \t_x86_64_\t(2 CPU)\n\n"
    "02:30:01     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle\n"
    "02:30:02     all   36.10    0.00    3.20   12.34    0.00    0.15    0.00    0.00    0.00   48.21\n"
    "02:30:02       0   30.00    0.00    2.10    0.00    0.50    0.25    1.15    0.00    0.00   66.00\n"
    "Average:     all   36.10    0.00    3.20   12.34    0.00    0.15    0.00    0.00    0.00   48.21\n",
    "mdstat": "Personalities : [raid1] \nmd0 : active raid1 nvme1n1p1[1] nvme0n1p1[0]\n"
    "      488254464 blocks super 1.2 [2/2] [UU]\n      bitmap: 1/4 pages [4KB], 65536KB chunk\n\n"
    "unused devices: <none>\n",
    "mnt-probe": '  File: "/scratch"\n    ID: 2c54f96600000000 Namelen: 255     Type: lustre\n'
    "Block size: 4096       Fundamental block size: 4096\n"
    "Blocks: Total: 268435456  Free: 134217728   Available: 120795955\n"
    "Inodes: Total: 1000000    Free: 912345\n",
    "proc-status": "Name:\tpython\nUmask:\t0022\nState:\tS (sleeping)\nPid:\t812\nThreads:\t96\n"
    "VmRSS:\t  81234567 kB\nCpus_allowed_list:\t0-47,96-143\nvoluntary_ctxt_switches:\t1234\n"
    "nonvoluntary_ctxt_switches:\t567\n",
    "proc-limits": "Limit                     Soft Limit           Hard Limit           Units     \n"
    "Max open files            1024                 1048576              files     \n"
    "Max locked memory         65536                unlimited            bytes     \n"
    "Max nice priority         0                    0                    \n",
    "job-psi": "/sys/fs/cgroup/slurm/job_77/cpu.pressure:some avg10=1.23 avg60=0.98 avg300=0.87 total=123456789\n"
    "/sys/fs/cgroup/slurm/job_77/io.pressure:full avg10=0.11 avg60=0.22 avg300=0.33 total=4567\n",
    "py-spy": "Process 812: python train.py\nPython v3.11.4 (/usr/bin/python3.11)\n\n"
    'Thread 812 (active): "MainThread"\n    wait (threading.py:331)\n    train (train.py:120)\n'
    'Thread 900 (idle): "pin"\n    get (queue.py:171)\n',
    "mce-log": "2026-03-04T02:10:00+0000 gpu017 kernel: INFO: task python:812 blocked for more than 120 seconds.\n"
    "2026-03-04T02:20:11+0000 gpu017 kernel: Out of memory: Killed process 81234 (python) total-vm:9012kB\n",
    "disk-log": "2026-03-04T02:10:00+0000 gpu017 kernel: nvme nvme1: I/O 812 QID 4 timeout, aborting\n"
    "2026-03-04T02:10:09+0000 gpu017 kernel: blk_update_request: I/O error, dev nvme1n1, sector 812341\n",
}
"""Healthy and telling texts of the commands that the sample cluster does not hold in full."""


def read(command: str, text: str, status: int = 0, stderr: str = "") -> Outcome:
    return interpret(Output("gpu1", command, (), 1, text.encode(), stderr.encode(), status))


def facts(command: str, text: str, status: int = 0) -> Any:
    found = read(command, text, status)
    assert isinstance(found, Facts), found
    return found


def odd_lines(command: str, text: str) -> list[int]:
    return [o.line for o in facts(command, text).odd]


def recorded(command: str) -> str:
    """The text of a healthy node."""
    if command in WRITTEN:
        return WRITTEN[command]
    replay = open_cluster(HEALTHY).replay
    assert replay is not None
    output = replay.get("gpu001", command, DRIVE if command == "nvme-smart" else (), 1, 1)
    assert isinstance(output, Output), output
    return output.stdout.decode()
