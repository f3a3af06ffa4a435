"""Clocks, waiting, sizing, memory and the kernel's complaints: how sure a fault is, and what only looks like one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from checks.findings import Status
from checks.outputs import NotAvailable
from tests import builders
from tests.checks.rules.planted import Change, found, odd_one

GONE = NotAvailable("not-recorded", "not recorded")
NODE = "gpu002"
NODES = [f"gpu00{n}" for n in range(1, 5)]
AT = "2026-03-04T02:20:11+0000 gpu002 kernel: "
OLD_AT = AT.replace("03-04", "02-25")
LUSTRE = "D   90210       1   93500 cl_sync_io_wait                         python\n"
NODES_OF_EIGHT = {"roles": {"gpu-node": {"nodes": "gpu[1-4]", "expect": {"gpus": 8}}}}
Changes = dict[tuple[object, ...], Change]


def add(line: str) -> Change:
    return lambda text: text + line


def sub(pattern: str, new: str) -> Change:
    return lambda text: re.sub(pattern, new, text, flags=re.M)


def offset(to_add: str) -> Change:
    return sub(r",-?0\.0000\d+,-?0\.0000\d+,", f",{to_add},{to_add},")


def pressure(resource: str, avg60: str) -> Change:
    return sub(rf"({resource}:some avg10=[\d.]+ avg60=)[\d.]+", rf"\g<1>{avg60}")


def swapping(samples: int, used_kib: int = 8388608) -> Change:
    """The newest `samples` rows of vmstat show traffic of swap."""

    def change(text: str) -> str:
        head, rows = text.splitlines()[:2], [x.split() for x in text.splitlines()[2:]]
        for row in rows:
            row[2] = str(used_kib)
        for row in rows[len(rows) - samples :]:
            row[6:8] = ["412", "911"]
        return "\n".join([*head, *("  ".join(r) for r in rows)]) + "\n"

    return change


UNSYNCED = sub(r",Normal$", ",Not synchronised")
FAULTS: dict[str, tuple[str, Changes, Status, tuple[str, ...], str, str]] = {
    # name: check, changes, status, faults, certainty, a part of the quotes
    "a clock half a second behind": (
        "host.clock",
        {(NODE, "time-chrony"): offset("0.700000000")},
        Status.WARN,
        ("host-clock-skew",),
        "established",
        "0.700000000",
    ),
    "a clock that follows nothing": (
        "host.clock",
        {(NODE, "time-chrony"): UNSYNCED},
        Status.WARN,
        ("host-clock-skew",),
        "supported",
        "Not synchronised",
    ),
    "a clock that follows nothing and stands in 1970": (
        "host.clock",
        {(NODE, "time-chrony"): UNSYNCED, (2, NODE, "epoch"): "86412.000345001\n"},
        Status.CRITICAL,
        ("host-clock-skew",),
        "established",
        "86412.000345001",
    ),
    "no chrony, and a clock a minute ahead of all others": (
        "host.clock",
        {(NODE, "time-chrony"): ("", 127), (2, NODE, "epoch"): "1772591520.132237147\n"},
        Status.CRITICAL,
        ("host-clock-skew",),
        "supported",
        "1772591520",
    ),
    "no chrony, and systemd knows no synchronisation": (
        "host.clock",
        {(NODE, "time-chrony"): ("", 127), (NODE, "time-ctl"): sub("NTPSynchronized=yes", "NTPSynchronized=no")},
        Status.WARN,
        ("host-clock-skew",),
        "supported",
        "NTPSynchronized=no",
    ),
    "stuck in the file system in both rounds": (
        "host.dstate",
        {(NODE, "ps-dstate"): add(LUSTRE)},
        Status.WARN,
        ("host-dstate",),
        "established",
        "cl_sync_io_wait",
    ),
    "waiting for the file system for long, seen once": (
        "host.dstate",
        {(1, NODE, "ps-dstate"): GONE, (2, NODE, "ps-dstate"): add(LUSTRE)},
        Status.WARN,
        ("host-dstate",),
        "hypothesis",
        "cl_sync_io_wait",
    ),
    "waiting for I/O": (
        "host.io_pressure",
        {(NODE, "psi"): pressure("io", "20.01")},
        Status.WARN,
        (),
        "established",
        "avg60=20.01",
    ),
    "swapping all the time": (
        "host.swap",
        {(NODE, "vmstat"): swapping(4)},
        Status.WARN,
        ("host-swap",),
        "established",
        "412",
    ),
    "swapping in one sample of four": (
        "host.swap",
        {(NODE, "vmstat"): swapping(1)},
        Status.WARN,
        ("host-swap",),
        "hypothesis",
        "412",
    ),
    "one core that saves power": (
        "host.governor",
        {
            (NODE, "cpu-governor"): lambda t: t.replace(
                "policy7/scaling_governor:performance", "policy7/scaling_governor:powersave"
            )
        },
        Status.WARN,
        ("host-governor",),
        "established",
        "policy7/scaling_governor:powersave",
    ),
    "one module of memory less than the peers": (
        "host.memory_size",
        {(NODE, "mem-info"): sub(r"MemTotal: +\d+", "MemTotal:        742140672")},
        Status.WARN,
        ("host-dimm-missing",),
        "established",
        "742140672",
    ),
    "up for minutes while the peers are up for days": (
        "host.restarted",
        {(NODE, "boot"): "11111111-2222-4333-8444-555555555555\n900.10 40.00\n"},
        Status.WARN,
        ("sc-node-rebooted",),
        "supported",
        "900.10",
    ),
    "tasks blocked for minutes": (
        "host.kernel_log",
        {(NODE, "mce-log"): f"{AT}INFO: task python:812 blocked for more than 120 seconds.\n"},
        Status.WARN,
        ("host-dstate",),
        "established",
        "blocked for more than 120 seconds",
    ),
    "a panic": (
        "host.kernel_log",
        {(NODE, "mce-log"): f"{AT}Kernel panic - not syncing: Fatal exception\n"},
        Status.CRITICAL,
        ("host-lockup",),
        "established",
        "Fatal exception",
    ),
    "an uncorrected machine check of last week": (
        "host.kernel_log",
        {(NODE, "mce-log"): f"{OLD_AT}mce: [Hardware Error]: CPU 4: Machine Check: 0 Bank 7: fe00000000800092\n"},
        Status.CRITICAL,
        ("host-ecc-mce",),
        "established",
        "Bank 7",
    ),
    "a page of memory lost with its process": (
        "host.kernel_log",
        {(NODE, "mce-log"): f"{AT}Memory failure: 0x3f: Killing python:812 due to hardware memory corruption\n"},
        Status.CRITICAL,
        ("host-ecc-mce",),
        "established",
        "memory corruption",
    ),
    "a corrected machine check is told and accuses nothing": (
        "host.kernel_log",
        {(NODE, "mce-log"): f"{AT}mce: [Hardware Error]: CPU 4: Machine Check: 0 Bank 7: 9c00000000800092\n"},
        Status.WARN,
        (),
        "established",
        "Bank 7",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_told_with_how_sure_it_is_and_its_lines(name: str, tmp_path: Path) -> None:
    check, changes, status, faults, certainty, quoted = FAULTS[name]
    bad = odd_one(found(check, tmp_path, changes), NODE)
    assert (bad.status, bad.faults, bad.certainty) == (status, faults, certainty)
    assert quoted in " ".join(e.text for e in bad.evidence)
    assert {e.node for e in bad.evidence} == {NODE}


HERRINGS: dict[str, tuple[str, Changes]] = {
    "an offset below the limit": ("host.clock", {(NODE, "time-chrony"): offset("0.400000000")}),
    "a leap second to come": ("host.clock", {(NODE, "time-chrony"): sub(r",Normal$", ",Insert second")}),
    "nodes asked one after the other": (
        "host.clock",
        {(2, n, "epoch"): f"{1772591460 + 7 * i}.132237147\n" for i, n in enumerate(NODES)},
    ),
    "a load in the hundreds of processes that wait, not compute": (
        "host.sizing",
        {(NODE, "loadavg"): "412.34 398.20 310.05 3/4321 98765\n", (NODE, "ps-dstate"): add(LUSTRE * 3)},
    ),
    "the same load and the pressure on processors": (
        "host.cpu_pressure",
        {(NODE, "loadavg"): "412.34 398.20 310.05 3/4321 98765\n"},
    ),
    "time in iowait while nothing is kept from running": (
        "host.io_pressure",
        {(NODE, "vmstat"): sub(r" 61   0   0$", "  1  60   0"), (NODE, "psi"): pressure("io", "19.90")},
    ),
    "a page cache that fills the memory": (
        "host.sizing",
        {(NODE, "mem-info"): sub(r"MemFree: +\d+", "MemFree:          1046984")},
    ),
    "busy GPUs beside busy processors": ("host.cpu_pressure", {(NODE, "psi"): pressure("cpu", "44.10")}),
    "threads of the kernel that sleep uninterruptibly": (
        "host.dstate",
        {(NODE, "ps-dstate"): add("D   90211       2   93500 rescuer_thread      kworker/u:1\n")},
    ),
    "a process that waits for one thing after the other": (
        "host.dstate",
        {
            (1, NODE, "ps-dstate"): add("D   90210       1   93500 io_schedule       python\n"),
            (2, NODE, "ps-dstate"): add("D   90210       1   93560 wait_on_page_bit  python\n"),
        },
    ),
    "one process after the other that waits": (
        "host.dstate",
        {
            (1, NODE, "ps-dstate"): add("D   90210       1   93500 io_schedule       python\n"),
            (2, NODE, "ps-dstate"): add("D   90999       1   93560 io_schedule       python\n"),
        },
    ),
    "pages that lie in swap and do not move": ("host.swap", {(NODE, "vmstat"): swapping(0)}),
    "swap traffic since boot that is over": (
        "host.swap",
        {
            (NODE, "vmstat"): lambda t: (
                "\n".join([*t.splitlines()[:2], sub_si(t.splitlines()[2]), *t.splitlines()[3:]]) + "\n"
            )
        },
    ),
    "no vmstat on a node without swap": ("host.swap", {(NODE, "vmstat"): ("", 127)}),
    "a firmware that controls the frequency": (
        "host.governor",
        {(NODE, "cpu-governor"): ("grep: /sys/devices/system/cpu/cpufreq/policy*/scaling_governor: No such file\n", 2)},
    ),
    "the governor of the whole site": (
        "host.governor",
        {(n, "cpu-governor"): lambda t: t.replace("performance", "powersave") for n in NODES},
    ),
    "a kill that a person asked for": (
        "host.kernel_log",
        {
            (NODE, "mce-log"): f"{AT}bash invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=-1, oom_score_adj=0\n"
            f"{AT}Out of memory: Killed process 7 (python) total-vm:1kB\n"
        },
    ),
    "a lockup of last week": (
        "host.kernel_log",
        {(NODE, "mce-log"): f"{OLD_AT}watchdog: BUG: soft lockup - CPU#17 stuck for 26s! [python:81234]\n"},
    ),
    "the driver of the memory controllers is not loaded": (
        "host.kernel_log",
        {(NODE, "mce-edac"): ("grep: /sys/devices/system/edac/mc/mc*/ce_count: No such file or directory\n", 2)},
    ),
    "a few corrected errors, one round only": (
        "host.kernel_log",
        {(1, NODE, "mce-edac"): GONE, (2, NODE, "mce-edac"): lambda t: t.replace("mc0/ce_count:0", "mc0/ce_count:12")},
    ),
    "one corrected error more in a minute": (
        "host.kernel_log",
        {(2, NODE, "mce-edac"): lambda t: t.replace("mc0/ce_count:0", "mc0/ce_count:1")},
    ),
    "all nodes restarted in the same hour": (
        "host.restarted",
        {(n, "boot"): sub(r"^\d+\.\d\d ", "900.10 ") for n in [*NODES, "head01"]},
    ),
}


def sub_si(row: str) -> str:
    cells = row.split()
    cells[6:8] = ["412", "911"]
    return "  ".join(cells)


@pytest.mark.parametrize("name", HERRINGS)
def test_what_only_looks_bad_stays_ok(name: str, tmp_path: Path) -> None:
    check, changes = HERRINGS[name]
    findings = found(check, tmp_path, changes)
    assert {f.status for f in findings} == {Status.OK}, findings


def test_less_memory_than_promised_on_all_nodes_doubts_the_cluster_file(tmp_path: Path) -> None:
    changes: Changes = {(n, "mem-info"): sub(r"MemTotal: +\d+", "MemTotal:        725648160") for n in NODES}
    (bad,) = found("host.memory_size", tmp_path, changes)
    assert (bad.status, bad.nodes, bad.certainty) == (Status.WARN, "gpu[001-004]", "hypothesis")
    assert bad.faults == ("host-dimm-missing",)


def test_two_restarts_are_told_with_both_boot_ids(tmp_path: Path) -> None:
    changes: Changes = {(2, NODE, "boot"): "11111111-2222-4333-8444-555555555555\n42.10 40.00\n"}
    bad = odd_one(found("host.restarted", tmp_path, changes), NODE)
    assert [e.round for e in bad.evidence] == [1, 2]
    assert "11111111" in bad.evidence[1].text


def test_an_event_carries_the_time_of_the_first_line(tmp_path: Path) -> None:
    lines = "".join(f"2026-03-04T02:{m}:11+0000 gpu002 kernel: {OOM}\n" for m in ("11", "20"))
    bad = odd_one(found("host.kernel_log", tmp_path, {(NODE, "mce-log"): lines}), NODE)
    assert bad.at.startswith("2026-03-04T02:11:11")
    assert bad.entities == ("gpu002:python",)


OOM = "Out of memory: Killed process 81234 (python) total-vm:9012kB"


def test_pressure_and_starved_gpus_with_too_few_cores_quote_cores_and_pressure(tmp_path: Path) -> None:
    (bad,) = found("host.sizing", tmp_path, {}, "h100-cpu-starved")
    quotes = " ".join(e.text for e in bad.evidence)
    assert "avg60" in quotes
    assert "CPU(s)" in quotes
    assert {o.name for o in bad.observed} >= {"cores", "memory", "load per core", "cpu pressure (some avg60)"}


PSI = (
    "/proc/pressure/cpu:some avg10=1.93 avg60=44.10 avg300=1.80 total=1608156000\n"
    "/proc/pressure/io:some avg10=0.44 avg60=0.42 avg300=0.41 total=363132000\n"
)


def test_pressure_on_processors_while_nobody_knows_the_gpus_is_a_hypothesis() -> None:
    (bad,) = builders.findings("host.cpu_pressure", {("gpu[1-4]", "psi"): PSI}, NODES_OF_EIGHT)
    assert (bad.status, bad.faults, bad.certainty) == (Status.WARN, (), "hypothesis")
    assert "avg60=44.10" in bad.evidence[0].text


def test_few_cores_under_pressure_that_nothing_confirms_are_unknown() -> None:
    files = {
        ("gpu[1-4]", "psi"): PSI,
        ("gpu[1-4]", "cpu-info"): "CPU(s): 64\nThread(s) per core: 1\nCore(s) per socket: 32\nSocket(s): 2\n"
        "NUMA node(s): 2\n",
        ("gpu[1-4]", "mem-info"): "MemTotal: 536870912 kB\nMemAvailable: 1 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n",
    }
    assert {f.status for f in builders.findings("host.sizing", files, NODES_OF_EIGHT)} == {Status.UNKNOWN}
    loaded = builders.findings(
        "host.sizing", files | {("gpu[1-4]", "loadavg"): "99.00 98.00 97.00 9/99 99\n"}, NODES_OF_EIGHT
    )
    assert {(f.status, f.faults, f.certainty) for f in loaded} == {(Status.WARN, ("host-undersized",), "established")}
    assert "too few cores and too little memory" in loaded[0].summary


def test_a_node_with_another_number_of_gpus_is_skipped_with_the_reason() -> None:
    four = {"roles": {"gpu-node": {"nodes": "gpu[1-4]", "expect": {"gpus": 4}}}}
    (skipped,) = builders.findings("host.sizing", {("gpu[1-4]", "psi"): PSI}, four)
    assert skipped.status == Status.SKIPPED
    assert "8 GPUs" in skipped.reason
