"""The host checks on a healthy sample cluster, with each fault they know, with red herrings, with gaps."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from checks import judge, rules
from checks.clusters import open_cluster
from checks.findings import Status
from checks.outputs import NotAvailable
from checks.rules import Rule
from checks.view import View
from tests.checks.rules.planted import HEALTHY, Change, found, odd_one

GONE = NotAvailable("not-recorded", "not recorded")
HOST = [r for r in rules.every() if r.layer == "host"]
IO = "/proc/pressure/io:some avg10=0.44 avg60=0.42"
CPU = "/proc/pressure/cpu:some avg10=1.93 avg60=1.86"
AT = "2026-03-04T02:20:11+0000 gpu002 kernel: "


def swap(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new, 1)


def sub(pattern: str, new: str) -> Callable[[str], str]:
    return lambda text: re.sub(pattern, new, text, flags=re.M)


@pytest.mark.parametrize("rule", HOST, ids=lambda r: r.id)
def test_a_healthy_cluster_is_ok_with_a_quote(rule: Rule) -> None:
    opened = open_cluster(HEALTHY)
    assert opened.replay is not None
    findings = judge.judge(rule, View(opened.cluster, opened.replay))
    assert {f.status for f in findings} == {Status.OK}
    assert all(f.evidence for f in findings)


# a node without swap space cannot swap, whatever vmstat would say
DECIDED_WITHOUT = {("host.swap", "vmstat")}
REQUIRED = sorted({(r.id, x.command) for r in HOST for x in r.reads if not x.optional} - DECIDED_WITHOUT)
DRIVES = tuple((f"/dev/nvme{n}n1",) for n in range(4))


@pytest.mark.parametrize(("check", "command"), REQUIRED, ids=str)
def test_a_node_without_a_reading_is_unknown_and_says_what_is_missing(check: str, command: str, tmp_path: Path) -> None:
    params = DRIVES if command == "nvme-smart" else [()]
    findings = found(check, tmp_path, {("gpu002", command, *p): GONE for p in params})
    bad = odd_one(findings, "gpu002")
    assert bad.status == Status.UNKNOWN
    assert command in bad.missing


@pytest.mark.parametrize(("check", "command"), REQUIRED, ids=str)
def test_garbage_is_unknown_and_never_ok(check: str, command: str, tmp_path: Path) -> None:
    params = [("/dev/nvme0n1",)] if command == "nvme-smart" else [()]
    garbage = "<html>503 Service Unavailable</html>\n"
    findings = found(check, tmp_path, {("gpu002", command, *p): garbage for p in params})
    assert odd_one(findings, "gpu002").status == Status.UNKNOWN


FAULTS: dict[str, tuple[str, dict[tuple[object, ...], Change], Status, str, str]] = {
    # name: check, changes, status, fault, a part of the quoted lines
    "io pressure": (
        "host.io_pressure",
        {("gpu002", "psi"): swap(IO, IO.replace("0.42", "38.20"))},
        Status.WARN,
        "",
        "avg60=38.20",
    ),
    "swapping": (
        "host.swap",
        {("gpu002", "vmstat"): sub(r"^( +\d+ +\d+ +)0( +\d+ +\d+ +\d+ +)0( +)0 ", r"\g<1>8388608\g<2>412\g<3>911 ")},
        Status.WARN,
        "host-swap",
        "412",
    ),
    "stuck": (
        "host.dstate",
        {
            ("gpu002", "ps-dstate"): lambda text: (
                text + "D   90210       1   93500 rwsem_down_read_slowpath         python\n"
            )
        },
        Status.WARN,
        "host-dstate",
        "90210",
    ),
    "memory short": (
        "host.memory_size",
        {("gpu002", "mem-info"): sub(r"MemTotal: +\d+", "MemTotal:        725648160")},
        Status.WARN,
        "host-dimm-missing",
        "725648160",
    ),
    "governor": (
        "host.governor",
        {("gpu002", "cpu-governor"): lambda text: text.replace("performance", "powersave")},
        Status.WARN,
        "host-governor",
        "powersave",
    ),
    "oom": (
        "host.kernel_log",
        {("gpu002", "mce-log"): f"{AT}Out of memory: Killed process 81234 (python) total-vm:9012kB, anon-rss:88kB\n"},
        Status.WARN,
        "host-oom",
        "Killed process 81234",
    ),
    "lockup": (
        "host.kernel_log",
        {("gpu002", "mce-log"): f"{AT}watchdog: BUG: soft lockup - CPU#17 stuck for 26s! [python:81234]\n"},
        Status.CRITICAL,
        "host-lockup",
        "soft lockup",
    ),
    "uncorrected memory": (
        "host.kernel_log",
        {("gpu002", "mce-edac"): swap("mc0/ue_count:0", "mc0/ue_count:1")},
        Status.CRITICAL,
        "host-ecc-mce",
        "ue_count:1",
    ),
    "corrected memory rising": (
        "host.kernel_log",
        {
            (1, "gpu002", "mce-edac"): swap("mc0/ce_count:0", "mc0/ce_count:100"),
            (2, "gpu002", "mce-edac"): swap("mc0/ce_count:0", "mc0/ce_count:400"),
        },
        Status.WARN,
        "host-ecc-mce",
        "ce_count:400",
    ),
    "clock off": (
        "host.clock",
        {("gpu002", "time-chrony"): sub(r",-?0\.0000\d+,-?0\.0000\d+,", ",4.200000000,4.100000000,")},
        Status.CRITICAL,
        "host-clock-skew",
        "4.2",
    ),
    "disk full": (
        "host.disk_space",
        {
            ("gpu002", "df-local"): sub(
                r"^(/dev/nvme0n1p2 +)(\d+) +\d+ +\d+ +\d+% /$", r"\g<1>\g<2> 928000000 9284556 99% /"
            )
        },
        Status.CRITICAL,
        "host-disk-full",
        "99%",
    ),
    "inodes gone": (
        "host.disk_space",
        {("gpu002", "df-inodes"): sub(r"^(/dev/nvme0n1p2 +\d+) +\d+ +\d+ +\d+% /$", r"\g<1> 59531000 264 100% /")},
        Status.CRITICAL,
        "host-disk-full",
        "100%",
    ),
    "drive says so": (
        "host.nvme",
        {("gpu002", "nvme-smart", "/dev/nvme1n1"): swap('"critical_warning": 0', '"critical_warning": 4')},
        Status.CRITICAL,
        "host-nvme",
        '"critical_warning": 4',
    ),
    "drive worn": (
        "host.nvme",
        {("gpu002", "nvme-smart", "/dev/nvme1n1"): sub(r'"percent_used": \d+', '"percent_used": 93')},
        Status.WARN,
        "host-nvme",
        '"percent_used": 93',
    ),
    "restarted": (
        "host.restarted",
        {(2, "gpu002", "boot"): "11111111-2222-4333-8444-555555555555\n42.10 40.00\n"},
        Status.CRITICAL,
        "sc-node-rebooted",
        "11111111",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_on_its_node_with_the_line(name: str, tmp_path: Path) -> None:
    check, changes, status, fault, quoted = FAULTS[name]
    bad = odd_one(found(check, tmp_path, changes), "gpu002")
    assert bad.status == status
    assert bad.faults == ((fault,) if fault else ())
    assert any(quoted in e.text for e in bad.evidence), bad.evidence


HERRINGS: dict[str, tuple[str, dict[tuple[object, ...], Change]]] = {
    "free memory is small because the page cache is large": (
        "host.memory_size",
        {("gpu002", "mem-info"): sub(r"MemFree: +\d+", "MemFree:          1046984")},
    ),
    "one program waits for a disk a moment": (
        "host.dstate",
        {(1, "gpu002", "ps-dstate"): lambda t: t + "D   90210       1   93500 io_schedule      python\n"},
    ),
    "the clock is off by less than a thousandth": (
        "host.clock",
        {("gpu002", "time-chrony"): sub(r",-?0\.0000\d+,-?0\.0000\d+,", ",0.000900000,0.000800000,")},
    ),
    "corrected errors of long ago that stay flat": (
        "host.kernel_log",
        {("gpu002", "mce-edac"): swap("mc0/ce_count:0", "mc0/ce_count:9120")},
    ),
    "a kill for memory of last week": (
        "host.kernel_log",
        {("gpu002", "mce-log"): AT.replace("03-04", "02-25") + "Out of memory: Killed process 7 (x) total-vm:9kB\n"},
    ),
    "an image mounted read-only is full by nature": (
        "host.disk_space",
        {("gpu002", "df-local"): lambda t: t + "/dev/loop3 65024 65024 0 100% /snap/core20/1974\n"},
    ),
    "the processors are busy and nothing waits": (
        "host.cpu_pressure",
        {("gpu002", "loadavg"): "95.12 94.80 95.00 96/2204 220145\n"},
    ),
}


@pytest.mark.parametrize("name", HERRINGS)
def test_a_red_herring_stays_ok(name: str, tmp_path: Path) -> None:
    check, changes = HERRINGS[name]
    findings = found(check, tmp_path, changes)
    assert {f.status for f in findings} == {Status.OK}, findings


def test_pressure_on_the_processors_counts_where_the_gpus_starve(tmp_path: Path) -> None:
    (starved,) = found("host.cpu_pressure", tmp_path / "a", {}, "h100-cpu-starved")
    assert starved.status == Status.WARN
    assert "avg60" in starved.evidence[0].text
    (tmp_path / "b").mkdir()
    waits = {("gpu002", "psi"): swap(CPU, CPU.replace("1.86", "44.10"))}
    assert odd_one(found("host.cpu_pressure", tmp_path / "b", waits), "gpu002").evidence


def test_too_few_cores_with_starved_gpus_are_established_and_without_a_hint(tmp_path: Path) -> None:
    starved = found("host.sizing", tmp_path, {}, "h100-cpu-starved")
    assert (starved[0].status, starved[0].faults, starved[0].certainty) == (
        Status.WARN,
        ("host-undersized",),
        "established",
    )
    assert found("host.sizing", tmp_path, {})[0].status == Status.OK
