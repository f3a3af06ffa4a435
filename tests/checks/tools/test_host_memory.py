"""Memory, pressure, load, `vmstat` and waiting processes: exact values, older kernels, what is missing."""

from __future__ import annotations

import pytest

from checks.outputs import Empty, NotAvailable, Unparsable
from tests.checks.tools.host_texts import facts, odd_lines, read, recorded

MEMINFO = (
    "MemTotal:       1056341280 kB\nMemFree:         1046984 kB\nMemAvailable:   900000000 kB\nCached: 800000000 kB\n"
    "SwapTotal:       8388608 kB\nSwapFree:        8000000 kB\nShmem:           9812344 kB\nHugePages_Total:     512\n"
    "Hugepagesize:       2048 kB\nDirectMap1G:    1000 kB\n"
)


def test_memory_is_told_in_kib_by_name() -> None:
    found = facts("mem-info", MEMINFO)
    assert (found.total_kib, found.free_kib, found.available_kib) == (1056341280, 1046984, 900000000)
    assert (found.cached_kib, found.shmem_kib, found.hugepages_total, found.hugepage_kib) == (
        800000000,
        9812344,
        512,
        2048,
    )
    assert (found.swap_total_kib, found.swap_free_kib, found.swap_used_kib) == (8388608, 8000000, 388608)
    assert found.total_gib == pytest.approx(1007.4, abs=0.1)
    assert found.available_pct == pytest.approx(85.2, abs=0.1)
    assert (found.line, found.line_of["SwapTotal"]) == (1, 5)


@pytest.mark.parametrize("value", ["N/A", "1,056,341,280 kB", "-", "1056341280", "1056341280 MB"])
def test_memory_whose_total_is_no_size_in_kib_is_no_answer(value: str) -> None:
    assert isinstance(read("mem-info", MEMINFO.replace("1056341280 kB", value)), Unparsable)


def test_kernels_without_an_estimate_of_what_is_available_give_none_and_are_doubted() -> None:
    found = facts("mem-info", "".join(x + "\n" for x in MEMINFO.splitlines() if "Available" not in x))
    assert (found.available_kib, found.available_pct) == (None, None)
    assert [o.text for o in found.odd] == ["no line MemAvailable"]


def test_swap_that_is_half_told_is_not_used_swap() -> None:
    found = facts("mem-info", MEMINFO.replace("SwapFree:        8000000 kB", "SwapFree:        n/a"))
    assert (found.swap_free_kib, found.swap_used_kib) == (None, None)
    assert found.odd


def test_numastat_joins_the_blocks_of_many_nodes() -> None:
    text = (
        "Per-node system memory usage (in MBs):\n"
        "                          Node 0          Node 1\n                 --------------- ---------------\n"
        "MemTotal               386531.33       386000.10\nMemFree                  1000.50         2000.25\n"
        "                          Node 2           Total\n                 --------------- ---------------\n"
        "MemTotal               386531.33      1159062.76\nMemFree                  3000.00         6000.75\n"
    )
    found = facts("numastat", text)
    assert found.nodes == (0, 1, 2)
    assert [(r.name, r.nodes_mib, r.total_mib) for r in found.rows] == [
        ("MemTotal", (386531.33, 386000.1, 386531.33), 1159062.76),
        ("MemFree", (1000.5, 2000.25, 3000.0), 6000.75),
    ]


def test_numastat_with_decimal_commas_is_no_answer() -> None:
    assert isinstance(read("numastat", recorded("numastat").replace(".", ",")), Unparsable)


def test_edac_counts_by_controller_and_leaves_missing_files_unknown() -> None:
    text = (
        "/sys/devices/system/edac/mc/mc0/ce_count:412\n/sys/devices/system/edac/mc/mc0/ue_count:1\n"
        "/sys/devices/system/edac/mc/mc1/ce_count:0\n"
    )
    found = facts("mce-edac", text)
    assert [(c.name, c.corrected, c.uncorrected) for c in found.controllers] == [("mc0", 412, 1), ("mc1", 0, None)]
    assert [o.line for o in found.odd] == [3]
    assert found.controllers[0].uncorrected_line == 2


def test_a_count_that_is_no_number_is_odd_and_no_zero() -> None:
    found = facts("mce-edac", recorded("mce-edac").replace("mc1/ue_count:0", "mc1/ue_count:N/A"))
    assert found.controllers[1].uncorrected is None
    assert found.odd


def test_a_node_without_edac_driver_has_nothing_to_report() -> None:
    none = "grep: /sys/devices/system/edac/mc/mc*/ce_count: No such file or directory\n"
    assert isinstance(read("mce-edac", none), Empty)


def test_shared_memory_is_told_in_kib() -> None:
    found = facts("shm", recorded("shm"))
    assert (found.size_kib, found.used_kib, found.available_kib, found.mount) == (
        395808079,
        9812344,
        385995735,
        "/dev/shm",
    )
    assert isinstance(read("shm", recorded("df-local")), Unparsable)


def test_pressure_gives_windows_in_per_cent_and_its_total() -> None:
    found = facts("psi", recorded("psi"))
    row = found.row("cpu")
    assert (row.avg10, row.avg60, row.avg300, row.total_us, row.line) == (1.93, 1.86, 1.8, 1608156000, 1)
    assert found.row("memory", "full").avg60 == 0.0
    assert found.row("irq") is None


def test_older_kernels_without_a_full_line_for_processors_are_whole() -> None:
    text = "".join(x + "\n" for x in recorded("psi").splitlines() if "cpu:full" not in x)
    found = facts("psi", text)
    assert (found.row("cpu", "full"), found.odd) == (None, ())


@pytest.mark.parametrize("value", ["avg60=1,86", "avg60=N/A", "avg60=", "avg60=1.8"])
def test_pressure_that_is_no_number_is_odd_and_no_calm(value: str) -> None:
    found = facts("psi", recorded("psi").replace("avg60=1.86", value))
    assert found.row("cpu") is None
    assert [o.line for o in found.odd] == [1]


@pytest.mark.parametrize("why", ["No such file or directory", "Operation not supported"])
def test_a_kernel_that_keeps_no_pressure_says_so(why: str) -> None:
    found = read("psi", f"grep: /proc/pressure/cpu: {why}\ngrep: /proc/pressure/io: {why}\n", 2)
    assert isinstance(found, NotAvailable)


@pytest.mark.parametrize(
    ("text", "load", "tasks"),
    [
        ("512.34 498.20 310.05 13/4321 98765\n", (512.34, 498.2, 310.05), (13, 4321)),
        (" 02:30:00 up 12 days,  2:04,  3 users,  load average: 0.52, 0.58, 0.59\n", (0.52, 0.58, 0.59), (None, None)),
        (" 02:30:00 up 2 min,  1 user,  load average: 3,58, 1,02, 0,40\n", (3.58, 1.02, 0.4), (None, None)),
    ],
)
def test_the_load_is_read_from_the_kernel_and_from_uptime(
    text: str, load: tuple[float, ...], tasks: tuple[int | None, ...]
) -> None:
    found = facts("loadavg", text)
    assert (found.load1, found.load5, found.load15) == load
    assert (found.running, found.tasks) == tasks


@pytest.mark.parametrize("text", ["12.34 11.20\n", "1.234,50 2,00 3,00 1/2 3\n", "-1.00 0.10 0.20 1/2 3\n", "N/A\n"])
def test_a_load_that_is_none_is_no_answer(text: str) -> None:
    assert isinstance(read("loadavg", text), Unparsable)


def test_vmstat_leaves_the_average_since_boot_out_of_the_present() -> None:
    found = facts("vmstat", recorded("vmstat"))
    assert (len(found.rows), len(found.now)) == (5, 4)
    first = found.rows[0]
    assert (first.running, first.blocked, first.swap_in_kib_s, first.swap_out_kib_s, first.iowait_pct) == (
        36,
        0,
        0,
        0,
        0,
    )
    one = facts("vmstat", "".join(x + "\n" for x in recorded("vmstat").splitlines()[:3]))
    assert one.now == one.rows


def test_vmstat_of_older_versions_lacks_columns_that_stay_none() -> None:
    text = (
        "procs -----------memory---------- ---swap-- -----io---- --system-- ----cpu----\n"
        " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa\n"
        " 2  9   4096  18204      0  99999    7   11     5     6    7    8  1  2 57 40\n"
    )
    (row,) = facts("vmstat", text).rows
    assert (row.swapped_kib, row.free_kib, row.swap_in_kib_s, row.swap_out_kib_s) == (4096, 18204, 7, 11)
    assert (row.iowait_pct, row.steal_pct) == (40, None)


def test_a_short_sample_is_odd() -> None:
    assert odd_lines("vmstat", recorded("vmstat") + "  36    0            0    24698\n") == [8]


def test_waiting_and_dead_processes_are_told_with_age_and_channel() -> None:
    text = (
        "S       1       0 1104540 ep_poll                                  systemd\n"
        "D   90210       1   93500 rwsem_down_read_slowpath                 python3 -u\n"
        "D   90211       2       - 0                                        kworker/u:1\n"
        "Z   90212       1      12 -                                        python <defunct>\n"
    )
    found = facts("ps-dstate", text)
    assert (found.count, found.line) == (4, 1)
    assert [(p.pid, p.ppid, p.age_s, p.wchan, p.name) for p in found.waiting] == [
        (90210, 1, 93500, "rwsem_down_read_slowpath", "python3 -u"),
        (90211, 2, None, None, "kworker/u:1"),
    ]
    assert [(p.pid, p.name) for p in found.zombies] == [(90212, "python <defunct>")]


def test_processes_with_a_heading_are_counted_without_it_and_strange_lines_are_odd() -> None:
    head = "S     PID    PPID ELAPSED WCHAN                                    COMMAND\n"
    assert facts("ps-dstate", head + "R 7 1 12 - python\n").count == 1
    assert odd_lines("ps-dstate", "R 7 1 12 - python\nD 8 1 a lot - python\n") == [2]
    assert isinstance(read("ps-dstate", head), Unparsable)
