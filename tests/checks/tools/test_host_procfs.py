"""Files of one process: status, limits, environment, stacks and a job's pressure, whole and half."""

from __future__ import annotations

import pytest

from checks.outputs import Empty, NotAvailable, Unparsable
from tests.checks.tools.host_texts import facts, odd_lines, read, recorded


def test_the_status_of_a_process_gives_state_memory_and_processors() -> None:
    found = facts("proc-status", recorded("proc-status"))
    assert (found.name, found.state, found.pid, found.threads, found.rss_kib) == ("python", "S", 812, 96, 81234567)
    assert (found.cpus_allowed, found.cpu_count, found.cpus_line) == ("0-47,96-143", 96, 7)
    assert (found.voluntary_switches, found.involuntary_switches) == (1234, 567)


@pytest.mark.parametrize(
    ("listed", "count"),
    [("0", 1), ("0-1", 2), ("3,5,8-9", 4), ("0-47,96-143", 96), ("0-", None), ("N/A", None), ("all", None)],
)
def test_processors_allowed_are_counted_or_unknown(listed: str, count: int | None) -> None:
    assert facts("proc-status", recorded("proc-status").replace("0-47,96-143", listed)).cpu_count == count


def test_half_a_list_of_processors_is_no_short_list() -> None:
    text = recorded("proc-status")
    found = facts("proc-status", text[: text.index(",96-143")])
    assert (found.cpus_allowed, found.cpu_count) == (None, None)
    assert [o.line for o in found.odd] == [7, 7]


def test_a_kernel_thread_has_no_memory_of_its_own() -> None:
    text = "".join(x + "\n" for x in recorded("proc-status").splitlines() if "VmRSS" not in x)
    assert facts("proc-status", text).rss_kib is None


def test_a_process_that_ended_gives_no_answer() -> None:
    for command, file in (("proc-status", "status"), ("proc-limits", "limits"), ("proc-env", "environ")):
        gone = read(command, "", 1, f"cat: /proc/812/{file}: No such file or directory\n")
        assert isinstance(gone, NotAvailable)
        denied = read(command, "", 1, f"cat: /proc/812/{file}: Permission denied\n")
        assert isinstance(denied, NotAvailable)
        assert denied.kind == "denied"


def test_limits_are_numbers_and_unlimited_is_none() -> None:
    found = facts("proc-limits", recorded("proc-limits"))
    locked = found.get("Max locked memory")
    assert (locked.soft, locked.hard, locked.unit, locked.line) == (65536, None, "bytes", 3)
    assert found.get("Max nice priority").unit == ""
    assert found.get("Max stack size") is None


def test_limits_that_end_before_locked_memory_are_doubted_and_do_not_tell_it() -> None:
    text = recorded("proc-limits")
    for end in (text.index("Max locked"), text.index("Max locked") + 40, text.index("36  ")):
        found = facts("proc-limits", text[:end])
        assert found.get("Max locked memory") is None
        assert found.odd


def test_of_an_environment_only_the_settings_of_the_training_stack_are_kept() -> None:
    text = "HOME=/home/u\0AWS_SECRET_ACCESS_KEY=hidden\0SLURM_JWT=hidden\0NCCL_DEBUG=INFO\0NCCL_IB_HCA=mlx5_0,mlx5_1\0"
    found = facts("proc-env", text)
    assert found.values == {"NCCL_DEBUG": "INFO", "NCCL_IB_HCA": "mlx5_0,mlx5_1"}
    assert "hidden" not in found.model_dump_json()
    lines = facts("proc-env", text.replace("\0", "\n"))
    assert (lines.values, lines.line_of["NCCL_IB_HCA"]) == (found.values, 5)


def test_an_environment_without_its_last_nul_is_doubted_and_one_without_settings_is_empty() -> None:
    assert facts("proc-env", "PATH=/bin\0NCCL_DEBUG=INF").odd
    assert isinstance(read("proc-env", "PATH=/bin\0HOME=/root\0"), Empty)
    for other in ("proc-status", "mem-info", "psi"):
        assert isinstance(read("proc-env", recorded(other)), Unparsable)


def test_stacks_give_threads_and_frames_innermost_first() -> None:
    first, second = facts("py-spy", recorded("py-spy")).threads
    assert (first.name, first.state, first.line) == ("MainThread", "active", 4)
    assert [(f.function, f.file) for f in first.frames] == [("wait", "threading.py:331"), ("train", "train.py:120")]
    assert (second.name, second.state, len(second.frames)) == ("pin", "idle", 1)


def test_a_thread_without_a_name_or_with_gil_is_read_and_a_strange_line_is_odd() -> None:
    text = "Thread 0x7F12AB00 (active+gil)\n    f (a b.py:1)\n        Arguments:\n            x: 1\n"
    (thread,) = facts("py-spy", text).threads
    assert (thread.name, thread.state, thread.frames[0].file) == ("", "active+gil", "a b.py:1")
    assert odd_lines("py-spy", text + "Error: process exited\n") == [5]


def test_pressure_of_a_job_is_read_from_its_files() -> None:
    found = facts("job-psi", recorded("job-psi"))
    assert (found.row("cpu").avg60, found.row("io", "full").avg300) == (0.98, 0.33)
    assert (found.row("io"), found.row("memory")) == (None, None)
