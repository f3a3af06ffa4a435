"""The checks of GPU memory where counters are partly told, small, or long past."""

from __future__ import annotations

from typing import Any

import pytest

from checks.findings import Finding, Status
from tests.builders import findings
from tests.checks.rules import gpu_files as files

ALL = files.NODES


def check(name: str, *planted: tuple[Any, Any]) -> list[Finding]:
    """The findings with the planted outputs over the healthy ones, worst first."""
    return findings(name, {**dict(files.HEALTHY[name]), **dict(planted)}, files.SPEC)


def recovery(action: str) -> str:
    return f"0, None\n1, {action}\n2, None\n3, None\n"


@pytest.mark.parametrize(
    ("name", "command", "text"),
    [
        ("gpu.ecc", "smi-ecc", files.smi_ecc({1: "[N/A], [N/A], [N/A], [N/A], [N/A], [N/A]"})),
        ("gpu.ecc", "smi-ecc", files.smi_ecc({1: "0, 0, 0, [Unknown Error], 0, 0"})),
        ("gpu.ecc", "smi-ecc", files.smi_ecc({1: "0, 0, ERR!, 0, 0, 0"})),
        ("gpu.ecc", "smi-ecc", files.smi_ecc({3: "0, 0, 0"})),
        ("gpu.row_remap", "smi-remap", files.smi_remap({1: "[N/A], [N/A], [N/A], [N/A]"})),
        ("gpu.row_remap", "smi-remap", files.smi_remap({1: "0, 0, [Unknown Error], 0"})),
        ("gpu.row_remap", "smi-remap", files.smi_remap({1: "0, 0, 0, [Unknown Error]"})),
        ("gpu.row_remap", "smi-remap", files.smi_remap({3: "0, 0, 0"})),
        ("gpu.recovery", "smi-recovery", recovery("[N/A]")),
        ("gpu.recovery", "smi-recovery", recovery("[Unknown Error]")),
    ],
)
def test_one_gpu_that_does_not_tell_leaves_its_node_unknown(name: str, command: str, text: str) -> None:
    worst, *rest = check(name, (("gpu2", command), text))
    assert (worst.status, worst.nodes, worst.missing) == (Status.UNKNOWN, "gpu2", (command,))
    assert worst.reason
    assert [(f.status, f.nodes) for f in rest] == [(Status.OK, "gpu[1,3-4]")]


def test_a_gpu_that_does_not_tell_hides_no_fault_of_another() -> None:
    text = files.smi_ecc({1: "0, 0, 1, 0, 1, 0", 2: "[N/A], [N/A], [N/A], [N/A], [N/A], [N/A]"})
    found = [f for f in check("gpu.ecc", (("gpu2", "smi-ecc"), text)) if f.nodes == "gpu2"]
    assert [(f.status, f.faults) for f in found] == [(Status.CRITICAL, ("gpu-dbe",)), (Status.UNKNOWN, ())]


@pytest.mark.parametrize("action", ["Reset", "Reboot", "Drain P2P", "Drain and Reset", "[GPU requires reset]"])
def test_any_recovery_asked_for_is_critical_in_the_drivers_words(action: str) -> None:
    bad = check("gpu.recovery", (("gpu2", "smi-recovery"), recovery(action)))[0]
    assert (bad.status, bad.entities, bad.faults) == (Status.CRITICAL, ("gpu2:GPU1",), ("gpu-xid-154",))
    assert [o.value for o in bad.observed] == [action]
    assert bad.evidence[0].text == f"1, {action}"


def test_uncorrected_dram_errors_of_the_past_are_history() -> None:
    found = check("gpu.ecc", ((ALL, "smi-ecc"), files.smi_ecc({1: "0, 0, 0, 0, 7, 0"})))
    assert [(f.status, f.nodes) for f in found] == [(Status.OK, ALL)]


@pytest.mark.parametrize(
    ("sram", "status", "replace"),
    [("0, 0, 0, 0, 0, 1", Status.WARN, False), ("0, 0, 0, 0, 0, 5", Status.CRITICAL, True)],
)
def test_sram_errors_of_the_boards_life_count_and_many_mean_a_new_board(
    sram: str, status: Status, replace: bool
) -> None:
    bad = check("gpu.ecc", (("gpu2", "smi-ecc"), files.smi_ecc({1: sram})))[0]
    assert (bad.status, bad.entities, bad.faults) == (status, ("gpu2:GPU1",), ("gpu-sram-errors",))
    assert bad.threshold is not None
    assert bad.threshold.id == "sram-unc"
    assert ("replace" in bad.summary) is replace


@pytest.mark.parametrize(
    ("counts", "limit"), [("20000001, 0, 0, 0, 0, 0", "dram-corr"), ("0, 10001, 0, 0, 0, 0", "sram-corr")]
)
def test_corrected_errors_are_told_only_in_millions_or_in_sram(counts: str, limit: str) -> None:
    bad = check("gpu.ecc", (("gpu2", "smi-ecc"), files.smi_ecc({1: counts})))[0]
    assert (bad.status, bad.entities, bad.faults) == (Status.WARN, ("gpu2:GPU1",), ())
    assert bad.threshold is not None
    assert bad.threshold.id == limit


@pytest.mark.parametrize("counts", ["54000, 0, 0, 0, 0, 0", "0, 12, 0, 0, 0, 0"])
def test_a_few_corrected_errors_are_normal(counts: str) -> None:
    assert [f.status for f in check("gpu.ecc", ((ALL, "smi-ecc"), files.smi_ecc({1: counts})))] == [Status.OK]


def test_a_failed_remap_outranks_a_pending_one() -> None:
    text = files.smi_remap({1: "0, 9, Yes, Yes", 2: "0, 1, Yes, No"})
    found = [f for f in check("gpu.row_remap", (("gpu2", "smi-remap"), text)) if f.nodes == "gpu2"]
    assert [(f.status, f.faults, f.entities) for f in found] == [
        (Status.CRITICAL, ("gpu-remap-failure",), ("gpu2:GPU1",)),
        (Status.WARN, ("gpu-remap-pending",), ("gpu2:GPU2",)),
    ]
    assert [f.evidence[0].lines for f in found] == [(2, 2), (3, 3)]


def test_rows_used_up_need_a_new_board_even_without_the_flag() -> None:
    bad = check("gpu.row_remap", (("gpu2", "smi-remap"), files.smi_remap({1: "0, 512, 0, 0"})))[0]
    assert (bad.status, bad.faults) == (Status.CRITICAL, ("gpu-remap-failure",))
    assert bad.threshold is not None
    assert bad.threshold.id == "row-remap-limit"
    fine = check("gpu.row_remap", (("gpu2", "smi-remap"), files.smi_remap({1: "0, 7, 0, 0"})))
    assert [f.status for f in fine] == [Status.OK]
