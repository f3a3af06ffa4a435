"""Kernel lines about the host in the spellings of kernels and loggers, and what is no trouble."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from checks.outputs import Empty, NotAvailable, Unparsable
from tests.checks.tools.host_texts import facts, odd_lines, read, recorded

AT = "2026-03-04T02:10:00+0000 gpu017 kernel: "
FORMS = {
    "journal": "2026-03-04T02:10:00+0000 gpu017 kernel: ",
    "syslog": "Mar  4 02:10:00 gpu017 kernel: [812345.123456] ",
    "dmesg": "[812345.123456] ",
    "dmesg -T": "[Wed Mar  4 02:10:00 2026] ",
    "dmesg -x": "kern  :err   : [812345.123456] ",
    "iso": "2026-03-04T02:10:00,123456+00:00 ",
    "pstore": "<3>[812345.123456] ",
}

EVENTS = [
    ("oom-kill", "Out of memory: Killed process 81234 (python) total-vm:9012kB, anon-rss:88kB", "python", 81234, None),
    (
        "oom-kill",
        "Memory cgroup out of memory: Killed process 7 (pt_main_thread) total-vm:1kB",
        "pt_main_thread",
        7,
        None,
    ),
    ("oom-kill", "Out of memory: Kill process 7 (python) score 912 or sacrifice child", "python", 7, None),
    (
        "oom-kill",
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=job_7,mems_allowed=0,"
        "oom_memcg=/slurm/job_7,task_memcg=/slurm/job_7/step_0,task=python,pid=81234,uid=1001",
        "python",
        81234,
        None,
    ),
    ("oom-kill", "oom_reaper: reaped process 81234 (python), now anon-rss:0kB", "python", 81234, None),
    ("oom", "python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0", "python", None, None),
    ("hung-task", "INFO: task kworker/u256:3:90211 blocked for more than 120 seconds.", "kworker/u256:3", 90211, 120),
    ("lockup", "watchdog: BUG: soft lockup - CPU#17 stuck for 26s! [python:81234]", "CPU#17", None, 26),
    ("lockup", "NMI watchdog: Watchdog detected hard LOCKUP on cpu 12", "cpu 12", None, None),
    ("lockup", "rcu: INFO: rcu_sched self-detected stall on CPU", "", None, None),
    ("kernel-bug", "BUG: unable to handle page fault for address: ffffb0c2", "", None, None),
    ("panic", "Kernel panic - not syncing: Fatal exception", "Fatal exception", None, None),
    ("mce-uncorrected", "EDAC MC3: 1 UE memory read error on CPU_SrcID#1", "MC3", None, None),
    ("mce-corrected", "EDAC MC0: 12 CE memory scrubbing error on CPU_SrcID#0", "MC0", None, None),
    ("mce-uncorrected", "mce: [Hardware Error]: CPU 4: Machine Check: 0 Bank 7: fe00000000800092", "CPU 4", None, None),
    ("mce-corrected", "mce: [Hardware Error]: CPU 4: Machine Check: 0 Bank 7: 9c00000000800092", "CPU 4", None, None),
    (
        "mce-corrected",
        "[Hardware Error]: CPU:12 (19:1:1) MC17_STATUS[Over|CE|MiscV|AddrV|-|-|SyndV|CECC|-|-|-]: 0xdc2040000000011b",
        "CPU:12",
        None,
        None,
    ),
    ("mce-uncorrected", "{1}[Hardware Error]: event severity: fatal", "", None, None),
    ("mce-uncorrected", "{1}[Hardware Error]: event severity: recoverable", "", None, None),
    ("mce-corrected", "{1}[Hardware Error]: event severity: corrected", "", None, None),
    ("mce-uncorrected", "mce: Uncorrected hardware memory error in user-access at 3f4b5a4440", "", None, None),
    ("mce-uncorrected", "Memory failure: 0x3f: Killing python:812 due to hardware memory corruption", "", None, None),
    ("mce", "mce: [Hardware Error]: Machine check events logged", "", None, None),
]

DISKS = [
    ("disk-timeout", "nvme nvme3: I/O 812 QID 4 timeout, aborting", "nvme3"),
    ("disk-timeout", "nvme nvme3: I/O tag 812 (332c) opcode 0x1 (I/O Cmd) QID 4 timeout, reset controller", "nvme3"),
    ("disk-timeout", "nvme nvme3: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10", "nvme3"),
    ("disk-lost", "nvme nvme3: Device not ready; aborting reset, CSTS=0x1", "nvme3"),
    ("disk-lost", "nvme nvme3: Removing after probe failure status: -19", "nvme3"),
    ("disk-error", "blk_update_request: I/O error, dev nvme1n1, sector 812341 op 0x0:(READ)", "nvme1n1"),
    ("disk-error", "critical medium error, dev sdb, sector 812341 op 0x0:(READ)", "sdb"),
    ("disk-error", "Buffer I/O error on dev dm-0, logical block 0, lost sync page write", "dm-0"),
    ("read-only", "EXT4-fs (nvme0n1p2): Remounting filesystem read-only", "nvme0n1p2"),
    ("raid-failure", "md/raid1:md0: Disk failure on nvme1n1p1, disabling device.", "md0"),
]


@pytest.mark.parametrize(("kind", "line", "subject", "pid", "seconds"), EVENTS)
def test_each_spelling_is_known_with_its_subject(
    kind: str, line: str, subject: str, pid: int | None, seconds: int | None
) -> None:
    (event,) = facts("mce-log", f"{AT}{line}\n").events
    assert (event.kind, event.subject, event.pid, event.seconds) == (kind, subject, pid, seconds)
    assert event.at == datetime(2026, 3, 4, 2, 10, tzinfo=UTC)


@pytest.mark.parametrize(("kind", "line", "subject"), DISKS)
def test_each_trouble_of_a_disk_is_known_with_its_device(kind: str, line: str, subject: str) -> None:
    (event,) = facts("disk-log", f"{AT}{line}\n").events
    assert (event.kind, event.subject, event.line) == (kind, subject, 1)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_the_log_gives_the_event(form: str) -> None:
    text = f"{FORMS[form]}{EVENTS[0][1]}\n"
    (event,) = facts("mce-log", text).events
    assert (event.kind, event.subject, event.pid) == ("oom-kill", "python", 81234)
    if form in ("journal", "dmesg -T", "iso"):
        assert event.at is not None
        assert (event.at.hour, event.at.minute) == (2, 10)
    else:
        assert event.at is None  # no year, or seconds since boot


@pytest.mark.parametrize(
    "line",
    [
        "EDAC MC: Ver: 3.0.0",
        "EDAC MC0: Giving out device to module skx_edac controller Skylake Socket#0 IMC#0: DEV 0000:36:0a.0",
        "mce: CPU0: Thermal monitoring enabled (TM1)",
        '"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.',
    ],
)
def test_lines_that_only_sound_like_trouble_are_none(line: str) -> None:
    assert facts("mce-log", f"{AT}{line}\n").events == ()


@pytest.mark.parametrize(
    "line", ["I/O error, dev sr0, sector 0", "I/O error, dev loop3, sector 8", "I/O error, dev fd0, sector 0"]
)
def test_drives_without_a_medium_only_complain(line: str) -> None:
    assert facts("disk-log", f"{AT}blk_update_request: {line} op 0x0:(READ)\n").events == ()


def test_a_kill_by_hand_is_marked_and_left_out() -> None:
    text = (
        f"{AT}kworker/0:0 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=-1, oom_score_adj=0\n"
        f"{AT}Out of memory: Killed process 7 (python) total-vm:1kB\n"
    )
    found = facts("mce-log", text)
    assert [e.by_hand for e in found.events] == [True, True]
    assert found.of("oom", "oom-kill") == ()


def test_events_keep_the_order_of_the_log_and_their_lines() -> None:
    found = facts("mce-log", recorded("mce-log"))
    assert [(e.kind, e.line) for e in found.events] == [("hung-task", 1), ("oom-kill", 2)]
    assert found.of("oom-kill")[0].pid == 81234
    assert found.lines == 2


@pytest.mark.parametrize("command", ["mce-log", "disk-log"])
def test_nothing_found_is_empty_and_nothing_printed_is_no_answer(command: str) -> None:
    assert isinstance(read(command, "-- No entries --\n", 1), Empty)
    assert not isinstance(read(command, ""), Empty)
    assert isinstance(read(command, "Thu Mar  5 is a nice day\nnothing here\n"), Unparsable)


@pytest.mark.parametrize("command", ["mce-log", "disk-log"])
def test_an_account_that_may_not_see_the_journal_proves_nothing(command: str) -> None:
    hint = "Hint: You are currently not seeing messages from other users and the system.\n"
    assert isinstance(read(command, "-- No entries --\n", 1, hint), NotAvailable)
    assert isinstance(
        read(command, "", 1, "No journal files were opened due to insufficient permissions.\n"), NotAvailable
    )


@pytest.mark.parametrize("stamp", ["2026-03-04T02:1", AT + "EDAC MC", "[812345.1234"])
def test_a_log_that_ends_in_the_middle_of_a_line_is_doubted(stamp: str) -> None:
    text = recorded("mce-log") + stamp
    assert odd_lines("mce-log", text) == [3]


def test_a_hostile_line_is_made_safe_and_short() -> None:
    found = facts("mce-log", f"{AT}Out of memory: Killed process 7 (\x1b]0;x\x07{'y' * 500}) total-vm:1kB\n")
    assert "\x1b" not in found.events[0].subject
    assert len(found.events[0].subject) <= 80
    assert len(found.events[0].text) <= 200
