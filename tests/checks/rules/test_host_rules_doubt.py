"""The host checks where outputs are cut, silent, of old kernels or of one round: unknown with a reason, never ok."""

from __future__ import annotations

from pathlib import Path

import pytest

from checks import rules
from checks.findings import Status
from checks.outputs import NotAvailable
from tests.checks.rules.planted import Change, found, odd_one

GONE = NotAvailable("not-recorded", "not recorded")
HOST = [r for r in rules.every() if r.layer == "host"]
# a node without swap space cannot swap, whatever vmstat would say
DECIDED_WITHOUT = {("host.swap", "vmstat")}
REQUIRED = sorted({(r.id, x.command) for r in HOST for x in r.reads if not x.optional} - DECIDED_WITHOUT)
OPTIONAL = sorted({(r.id, x.command) for r in HOST for x in r.reads if x.optional})
NODE = "gpu002"


def half(text: str) -> str:
    """The text up to the middle of a line about two thirds through."""
    end = len(text) * 2 // 3
    while text[end - 1] in "\n ":
        end -= 1
    return text[:end]


def place(command: str) -> tuple[str, ...]:
    return (NODE, command, "/dev/nvme0n1") if command == "nvme-smart" else (NODE, command)


@pytest.mark.parametrize(("check", "command"), REQUIRED, ids=str)
def test_half_an_output_is_unknown_and_quotes_where_it_ends(check: str, command: str, tmp_path: Path) -> None:
    bad = odd_one(found(check, tmp_path, {place(command): half}), NODE)
    assert bad.status == Status.UNKNOWN
    assert command in bad.missing
    assert bad.reason


@pytest.mark.parametrize(("check", "command"), REQUIRED, ids=str)
@pytest.mark.parametrize(("status", "why"), [(124, "timed out"), (126, "not allowed"), (127, "no such tool")])
def test_a_command_without_an_answer_is_unknown_with_its_reason(
    check: str, command: str, status: int, why: str, tmp_path: Path
) -> None:
    findings = found(check, tmp_path, {place(command): ("", status)})
    if (check, command, status) == ("host.clock", "time-chrony", 127):
        # no chrony on the node; systemd says that the clock is synchronised
        assert {f.status for f in findings} == {Status.OK}
        assert "NTPSynchronized=yes" in [e.text for f in findings for e in f.evidence]
        return
    bad = odd_one(findings, NODE)
    assert bad.status == Status.UNKNOWN
    assert why in bad.reason


@pytest.mark.parametrize(("check", "command"), OPTIONAL, ids=str)
def test_a_healthy_node_without_an_optional_reading_is_never_accused(check: str, command: str, tmp_path: Path) -> None:
    findings = found(check, tmp_path, {(NODE, command): GONE})
    assert {f.status for f in findings} <= {Status.OK, Status.UNKNOWN}


UNKNOWN: dict[str, tuple[str, dict[tuple[object, ...], Change], str]] = {
    # name: check, changes, a part of the reason
    "a kernel that keeps no pressure": (
        "host.io_pressure",
        {(NODE, "psi"): ("grep: /proc/pressure/io: Operation not supported\n", 2)},
        "pressure",
    ),
    "pressure without the line of the processors": (
        "host.cpu_pressure",
        {(NODE, "psi"): "/proc/pressure/io:some avg10=0.44 avg60=0.42 avg300=0.41 total=363132000\n"},
        "processors",
    ),
    "memory without a unit": (
        "host.memory_size",
        {(NODE, "mem-info"): "MemTotal:       791616159\nMemFree: 1 kB\n"},
        "MemTotal",
    ),
    "no leap status": (
        "host.clock",
        {(NODE, "time-chrony"): lambda t: t[: t.rindex(",")] + "\n"},
        "leap status",
    ),
    "a drive that tells no warning": (
        "host.nvme",
        {
            (NODE, "nvme-smart", "/dev/nvme2n1"): lambda t: t.replace(
                '"critical_warning": 0', '"critical_warning": null'
            )
        },
        "not understood",
    ),
    "a list of mounts without the root": (
        "host.disk_space",
        {(NODE, "df-local"): lambda t: "".join(x + "\n" for x in t.splitlines() if not x.endswith(" /"))},
        "root file system",
    ),
    "inodes in place of blocks": (
        "host.disk_space",
        {(NODE, "df-local"): "Filesystem Inodes IUsed IFree IUse% Mounted on\n/dev/sda1 100 99 1 99% /\n"},
        "inodes",
    ),
    "a boot id without the time since": (
        "host.restarted",
        {(NODE, "boot"): lambda t: t.split("\n")[0] + "\n"},
        "no uptime",
    ),
    "an account that may not read the journal": (
        "host.kernel_log",
        {(NODE, "mce-log"): ("Hint: You are currently not seeing messages from other users and the system.\n", 1)},
        "journal",
    ),
    "a silent journal": ("host.kernel_log", {(NODE, "mce-log"): ("\n", 0)}, "nothing was printed"),
    "half a governor": (
        "host.governor",
        {(NODE, "cpu-governor"): "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor:perf"},
        "governor",
    ),
    "one look at a waiting process": (
        "host.dstate",
        {
            (1, NODE, "ps-dstate"): GONE,
            (2, NODE, "ps-dstate"): lambda t: t + "D   90210       1   93500 io_schedule       python\n",
        },
        "one look",
    ),
    "a restart that only one round could have seen": (
        "host.restarted",
        {(1, NODE, "boot"): GONE, (2, NODE, "boot"): "11111111-2222-4333-8444-555555555555\n900.10 40.00\n"},
        "",
    ),
    "many corrected errors and one round only": (
        "host.kernel_log",
        {
            (1, NODE, "mce-edac"): GONE,
            (2, NODE, "mce-edac"): lambda t: t.replace("mc1/ce_count:0", "mc1/ce_count:912345"),
        },
        "one round",
    ),
    "no arrays told": ("host.nvme", {(NODE, "mdstat"): "Personalities : [raid1]\n"}, "cut off"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_cannot_be_known_is_unknown_with_the_reason(name: str, tmp_path: Path) -> None:
    check, changes, reason = UNKNOWN[name]
    bad = odd_one(found(check, tmp_path, changes), NODE)
    if name == "a restart that only one round could have seen":
        # its peers are up for days: that alone tells
        assert (bad.status, bad.faults, bad.certainty) == (Status.WARN, ("sc-node-rebooted",), "supported")
        return
    assert bad.status == Status.UNKNOWN
    assert reason in bad.reason
    assert bad.faults == ()


def test_too_little_without_pressure_known_is_unknown(tmp_path: Path) -> None:
    changes: dict[tuple[object, ...], Change] = {
        (NODE, "cpu-info"): lambda t: t.replace('"data": "96"', '"data": "48"').replace('"data": "48"', '"data": "24"'),
        (NODE, "psi"): GONE,
    }
    bad = odd_one(found("host.sizing", tmp_path, changes), NODE)
    assert bad.status == Status.UNKNOWN
    assert "psi" in bad.missing


def test_processors_that_are_not_told_are_unknown(tmp_path: Path) -> None:
    bad = odd_one(
        found("host.sizing", tmp_path, {(NODE, "cpu-info"): "CPU(s): -\nSocket(s): -\nNUMA node(s): 2\n"}), NODE
    )
    assert bad.status == Status.UNKNOWN
    assert "cores" in bad.reason or "cpu-info" in bad.missing
