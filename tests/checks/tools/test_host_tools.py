"""What hosts print: usual and odd values of processors, memory, load, clocks, disks and logs."""

from __future__ import annotations

from typing import Any

import pytest

from checks.interpret import interpret
from checks.outputs import Empty, Facts, NotAvailable, Outcome, Output, Unparsable
from tests.checks.rules.planted import HEALTHY


def read(command: str, text: str, status: int = 0) -> Outcome:
    return interpret(Output("gpu1", command, (), 1, text.encode(), b"", status))


def facts(command: str, text: str) -> Any:
    found = read(command, text)
    assert isinstance(found, Facts), found
    return found


def recorded(command: str) -> str:
    from checks.clusters import open_cluster

    replay = open_cluster(HEALTHY).replay
    assert replay is not None
    params = ("/dev/nvme0n1",) if command == "nvme-smart" else ()
    output = replay.get("gpu001", command, params, 1, 1)
    assert isinstance(output, Output)
    return output.stdout.decode()


COMMANDS = [
    "cpu-info", "cpu-governor", "mem-info", "psi", "loadavg", "vmstat", "ps-dstate", "boot", "epoch", "time-chrony",
    "time-ctl", "df-local", "df-inodes", "findmnt", "iostat", "mce-edac", "nvme-smart", "nvme-list",
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "dress",
    [lambda t: t.replace("\n", "\r\n"), lambda t: f"\x1b[1m{t}\x1b[0m"],
    ids=["crlf", "colours"],
)
def test_dress_does_not_change_the_facts(command: str, dress: Any) -> None:
    assert facts(command, dress(recorded(command))) == facts(command, recorded(command))


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "text", ["GPU 0: NVIDIA H100 (UUID: GPU-1)\n", "<html><body>502</body></html>\n", "\x00\xfe\n"]
)
def test_a_foreign_text_is_no_answer(command: str, text: str) -> None:
    assert isinstance(read(command, text), Unparsable | NotAvailable), read(command, text)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_refusal_is_not_available(command: str) -> None:
    found = read(command, "", 126)
    assert isinstance(found, NotAvailable)
    assert found.kind == "denied"


def test_processors_as_json_and_as_text_are_the_same() -> None:
    text = (
        "Architecture:        x86_64\nCPU(s):              96\nOn-line CPU(s) list: 0-95\nThread(s) per core:  1\n"
        "Core(s) per socket:  48\nSocket(s):           2\nNUMA node(s):        2\nModel name:          Some CPU\n"
        "NUMA node0 CPU(s):   0-47\nNUMA node1 CPU(s):   48-95\n"
    )
    plain, json = facts("cpu-info", text), facts("cpu-info", recorded("cpu-info"))
    assert (plain.cpus, plain.sockets, plain.cores_per_socket) == (json.cpus, json.sockets, json.cores_per_socket)


def test_memory_is_told_in_kib() -> None:
    found = facts("mem-info", "MemTotal:       1056341280 kB\nMemFree:  10 kB\nMemAvailable: 900000000 kB\n")
    assert found.total_kib == 1056341280
    assert found.available_kib == 900000000


def test_memory_without_a_total_is_no_answer() -> None:
    assert isinstance(read("mem-info", "MemFree:  10 kB\n"), Unparsable)


def test_pressure_of_an_old_kernel_without_it_is_not_available() -> None:
    found = read("psi", "grep: /proc/pressure/cpu: No such file or directory\n", 2)
    assert not isinstance(found, Facts)


def test_pressure_gives_windows_in_per_cent() -> None:
    row = next(r for r in facts("psi", recorded("psi")).rows if (r.resource, r.kind) == ("cpu", "some"))
    assert (row.avg10, row.avg60, row.avg300) == (1.93, 1.86, 1.80)


def test_a_process_in_uninterruptible_sleep_is_told_with_its_wait() -> None:
    text = recorded("ps-dstate") + "D   90210       1   93500 rwsem_down_read_slowpath         python3 -u\n"
    (row,) = [p for p in facts("ps-dstate", text).waiting if p.state == "D"]
    assert (row.pid, row.age_s) == (90210, 93500)


def test_usage_with_a_name_that_wraps_is_joined() -> None:
    text = (
        "Filesystem                                 1024-blocks      Used Available Capacity Mounted on\n"
        "/dev/mapper/vg_system-lv_root_with_long_name\n"
        "                                              51475068  20000000  28853500      41% /\n"
    )
    rows = facts("df-local", text).rows
    assert [(r.mount, r.used_pct) for r in rows] == [("/", 41.0)]


def test_a_mount_with_a_dash_for_its_use_is_not_zero() -> None:
    rows = facts("df-inodes", recorded("df-inodes")).rows
    assert next(r.used_pct for r in rows if r.mount == "/boot/efi") is None


def test_no_lines_in_a_log_are_empty() -> None:
    for command in ("mce-log", "disk-log"):
        assert isinstance(read(command, "-- No entries --\n", 1), Empty)


def test_a_clock_that_follows_nothing_says_so() -> None:
    text = (
        "00000000,,0,0.000000000,0.000000000,0.000000000,0.000000000,"
        "0.000,0.000,0.000,1.000,1.000,0.0,Not synchronised\n"
    )
    assert facts("time-chrony", text).leap == "Not synchronised"


def test_a_boot_id_and_the_time_since() -> None:
    found = facts("boot", "5f1b4a3e-0c9a-4a57-8d5e-0d6f0b0e2a11\n864000.10 1000.00\n")
    assert (found.boot_id, found.uptime_s) == ("5f1b4a3e-0c9a-4a57-8d5e-0d6f0b0e2a11", 864000.10)
