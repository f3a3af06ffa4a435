"""What the kernel log, the fabric manager and the driver's version files say of the GPUs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from checks.interpret import interpret
from checks.outputs import Empty, Facts, NotAvailable, Outcome, Output, Unparsable

AT = "2026-03-04T02:10:00+0000 gpu1 kernel: "
XID = "NVRM: Xid (PCI:0000:4e:00): "


def read(command: str, text: str, status: int = 0, stderr: str = "") -> Outcome:
    return interpret(Output("gpu1", command, (), 1, text.encode(), stderr.encode(), status))


def facts(command: str, text: str, status: int = 0) -> Any:
    found = read(command, text, status)
    assert isinstance(found, Facts), found
    return found


def test_an_xid_gives_number_device_process_and_time() -> None:
    (event,) = facts("xid-log", f"{AT}{XID}31, pid=4711, name=python3, Ch 00000010, intr 00000000. MMU Fault\n").events
    assert (event.kind, event.number, event.device) == ("xid", 31, "0000:4e:00")
    assert (event.pid, event.process, event.line) == (4711, "python3", 1)
    assert event.at == datetime(2026, 3, 4, 2, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "kernel: ",
        "[ 8123.112233] ",
        "[Wed Mar  4 02:10:00 2026] ",
        "Mar  4 02:10:00 gpu1 kernel: [ 8123.112233] ",
        "2026-03-04T02:10:00,123456+00:00 ",
        "kern  :err   : [Wed Mar  4 02:10:00 2026] ",
    ],
    ids=["bare", "source", "dmesg", "dmesg -T", "syslog", "dmesg iso", "decoded"],
)
def test_an_xid_is_read_behind_any_prefix(prefix: str) -> None:
    (event,) = facts("xid-log", f"{prefix}{XID}79, GPU has fallen off the bus.\n").events
    assert (event.number, event.device, event.pid) == (79, "0000:4e:00", None)


@pytest.mark.parametrize(
    ("pid", "expected"),
    [("pid=81, name=python3", (81, "python3")), ("pid='<unknown>', name=<unknown>", (None, None))],
)
def test_an_unknown_process_is_none(pid: str, expected: tuple[int | None, str | None]) -> None:
    (event,) = facts("xid-log", f"{AT}{XID}48, {pid}, An uncorrectable double bit error\n").events
    assert (event.pid, event.process) == expected


def test_other_events_of_the_driver_are_told_apart() -> None:
    text = (
        f"{AT}NVRM: GPU 0000:4e:00.0: GPU has fallen off the bus.\n"
        f"{AT}NVRM: GPU 0000:07:00.0: RmInitAdapter failed! (0x22:0x56:751)\n"
        f"{AT}NVRM: nvAssertOkFailedNoLog: NV_ERR_RESET_REQUIRED (0x00000079) returned\n"
        f"{AT}nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 61 egress non-posted PRIV error\n"
        f"{AT}nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 63 LTSSM Fault Up\n"
        f"{AT}nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Data {{0x1, 0x0}}\n"
        f"{AT}NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.90.07\n"
        f"{AT}usb 1-1: new high-speed USB device\n"
    )
    found = facts("xid-log", text)
    assert [(e.kind, e.number, e.device, e.fatal) for e in found.events] == [
        ("fallen-off-bus", None, "0000:4e:00.0", None),
        ("init-failed", None, "0000:07:00.0", None),
        ("reset-required", None, None, None),
        ("sxid", 12028, "0000:05:00.0", False),
        ("sxid", 20034, "0000:05:00.0", True),
        ("sxid", 20034, "0000:05:00.0", None),
    ]
    assert (found.others, found.odd) == (1, ())


@pytest.mark.parametrize(
    "torn",
    ["NVRM: Xid (PCI:0000:4e:0", f"{XID}7", f"{XID}", "NVRM: Xi", "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 200"],
)
def test_a_torn_xid_is_no_quiet_log_and_no_other_number(torn: str) -> None:
    found = facts("xid-log", f"{AT}{torn}")
    assert found.events == ()
    assert found.odd[0].line == 1


def test_a_whole_xid_without_words_counts() -> None:
    (event,) = facts("xid-log", f"{AT}{XID}79\n").events
    assert event.number == 79


def test_no_entry_is_empty_and_a_hidden_journal_is_not() -> None:
    assert isinstance(read("xid-log", "-- No entries --\n", 1), Empty)
    assert isinstance(read("xid-log", f"{AT}NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.90.07\n"), Empty)
    hidden = "Hint: You are currently not seeing messages from other users and the system.\n-- No entries --\n"
    found = read("xid-log", hidden, 1)
    assert isinstance(found, NotAvailable)
    assert found.kind == "denied"


@pytest.mark.parametrize(
    "dress", [lambda t: t.replace("\n", "\r\n"), lambda t: f"\x1b[1;31m{t}"], ids=["crlf", "colours"]
)
def test_dress_around_an_xid_does_not_matter(dress: Any) -> None:
    (event,) = facts("xid-log", dress(f"{AT}{XID}79, pid=1, GPU has fallen off the bus.\n")).events
    assert (event.number, event.pid) == (79, 1)


def test_boots_are_listed_with_the_running_one_last() -> None:
    text = (
        "IDX BOOT ID                          FIRST ENTRY                 LAST ENTRY\n"
        " -1 5f1b4a3e0c9a4a578d5e0d6f0b0e2a11 Tue 2026-03-03 08:00:00 UTC Tue 2026-03-03 20:00:00 UTC\n"
        "  0 5f1b4a3e0c9a4a578d5e0d6f0b0e2a12 Tue 2026-03-03 20:05:00 UTC Wed 2026-03-04 02:30:00 UTC\n"
    )
    found = facts("xid-boot", text)
    assert [(b.offset, b.boot_id[-2:]) for b in found.boots] == [(-1, "11"), (0, "12")]
    assert found.odd == ()
    assert facts("xid-boot", text[: text.index("0 5f1b") + 20]).odd
    assert isinstance(read("xid-boot", "Filesystem 1K-blocks\n"), Unparsable)


def test_a_running_fabric_manager_gives_state_and_restarts() -> None:
    text = (
        "LoadState=loaded\nActiveState=active\nSubState=running\nNRestarts=3\n"
        "ExecMainStartTimestamp=Tue 2026-03-03 20:05:41 UTC\n"
    )
    found = facts("fm-status", text)
    assert (found.loaded, found.active, found.sub, found.restarts) == (True, "active", "running", 3)
    assert (found.started, found.lines["ActiveState"]) == ("Tue 2026-03-03 20:05:41 UTC", 2)


def test_a_service_that_is_not_installed_is_told_from_one_that_is_down() -> None:
    absent = facts("fm-status", "LoadState=not-found\nActiveState=inactive\nSubState=dead\n")
    assert (absent.loaded, absent.active, absent.restarts) == (False, "inactive", None)
    down = facts("fm-status", "ActiveState=failed\r\nLoadState=loaded\r\nSubState=\r\n")
    assert (down.loaded, down.active, down.sub, down.started) == (True, "failed", None, None)


def test_a_cut_off_service_state_is_unparsable() -> None:
    assert isinstance(read("fm-status", "LoadState=loaded\n"), Unparsable)
    found = read("fm-status", "System has not been booted with systemd as init system (PID 1). Can't operate.\n", 1)
    assert isinstance(found, NotAvailable)


@pytest.mark.parametrize("text", ["Fabric Manager version is : 550.90.07\n", "Fabric Manager Version: 550.90.07\r\n"])
def test_the_fabric_managers_version_is_read(text: str) -> None:
    assert facts("fm-version", text).version == "550.90.07"


def test_a_tool_that_is_not_installed_is_absent() -> None:
    found = read("fm-version", "", 127, "bash: nv-fabricmanager: command not found\n")
    assert isinstance(found, NotAvailable)
    assert found.kind == "absent"


def test_errors_of_the_fabric_manager_carry_the_sxid_and_not_the_thread() -> None:
    text = (
        "[Mar 04 2026 02:00:00] [INFO] [tid 11800] multicast group 0 is freed.\n"
        "[Mar 04 2026 02:00:01] [ERROR] [tid 12727] detected NVSwitch non-fatal error 12028 on NVSwitch pci bus id 0\n"
        "[Mar 04 2026 02:00:02] [ERROR] [tid 12727] detected NVSwitch fatal error 20034 on NVSwitch pci bus id 0\n"
        "[Mar 04 2026 02:00:03] [ERROR] [tid 12727] failed to find the GPU handle 11081654703155798918\n"
    )
    found = facts("fm-log", text)
    assert [(e.line, e.sxid, e.fatal) for e in found.errors] == [(2, 12028, False), (3, 20034, True), (4, None, False)]
    assert isinstance(read("fm-log", text.split("\n", maxsplit=1)[0] + "\n"), Empty)
    assert isinstance(read("fm-log", "kernel: usb 1-1: new device\n"), Unparsable)


@pytest.mark.parametrize(
    ("line", "is_open"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024", False),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.90.07  Release Build  (builder)", True),
    ],
)
def test_the_loaded_module_gives_its_version(line: str, is_open: bool) -> None:
    found = facts("drv-version", f"{line}\nGCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)\n")
    assert (found.version, found.open, found.line) == ("550.90.07", is_open, 1)


def test_a_module_that_is_not_loaded_has_no_version() -> None:
    found = read("drv-version", "", 1, "cat: /proc/driver/nvidia/version: No such file or directory\n")
    assert isinstance(found, NotAvailable)
    assert "No such file" in found.reason
    assert isinstance(read("drv-version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  5"), Unparsable)


def test_several_library_versions_are_all_seen() -> None:
    text = (
        "3 libs found in cache `/etc/ld.so.cache'\n"
        "\tlibnvidia-ml.so.550.90.07 (libc6,x86-64) => /lib/x86_64-linux-gnu/libnvidia-ml.so.550.90.07\n"
        "\tlibcuda.so.535.183.01 (libc6,x86-64) => /usr/local/lib/libcuda.so.535.183.01\n"
        "\tlibcuda.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libcuda.so.1\n"
    )
    assert facts("lib-version", text).versions == {"550.90.07": 2, "535.183.01": 3}
    assert facts("lib-version", "\tlibz.so.1 (libc6) => /lib/libz.so.1\n").versions == {}
    assert isinstance(read("lib-version", "Filesystem 1K-blocks\n"), Unparsable)
