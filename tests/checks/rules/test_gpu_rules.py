"""The GPU checks: healthy, each fault they know, the red herrings, and what is missing or odd."""

from __future__ import annotations

from typing import Any

import pytest

from checks.findings import Finding, Status
from checks.outputs import NotAvailable
from tests.builders import findings
from tests.checks.rules import gpu_files as files

ALL = files.NODES
SPEC = files.SPEC
HEALTHY = files.HEALTHY


def check(name: str, *planted: tuple[Any, Any]) -> list[Finding]:
    return findings(name, dict(planted), SPEC)


def worst(found: list[Finding]) -> Finding:
    return max(found, key=lambda f: f.status)


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_gpus_are_ok_with_a_quote(name: str) -> None:
    (found,) = check(name, *HEALTHY[name])
    assert found.status == Status.OK, found
    assert found.nodes == ALL
    assert found.evidence


@pytest.mark.parametrize("name", HEALTHY)
def test_a_node_that_answers_nothing_is_unknown_with_the_reason(name: str) -> None:
    silent = NotAvailable("timed-out", "timed out after 20 s")
    refused = NotAvailable("denied", "Permission denied")
    for why in (refused, *(() if name == "gpu.answers" else (silent,))):
        planted = dict(HEALTHY[name])
        for key in list(planted):
            *lead, _nodes, command = key
            planted[(*lead, "gpu2", command)] = why
        found = findings(name, planted, SPEC)
        odd = [f for f in found if f.nodes == "gpu2"]
        assert [f.status for f in odd] == [Status.UNKNOWN], found
        assert why.reason in odd[0].reason
        assert [f.status for f in found if f.nodes != "gpu2"] == [Status.OK]


@pytest.mark.parametrize("name", HEALTHY)
@pytest.mark.parametrize("text", ["Filesystem 1K-blocks Used\n/dev/sda1 100 50\n", "\x1b[31m\x00\xff garbage\n"])
def test_another_tools_text_is_unknown(name: str, text: str) -> None:
    planted = {(*key[:-1], key[-1]): text for key, _ in HEALTHY[name]}
    assert {f.status for f in findings(name, planted, SPEC)} == {Status.UNKNOWN}


FAULTS: list[tuple[str, list[tuple[Any, Any]], Status, str, str]] = [
    # check, planted, status, fault, an entity or the node
    (
        "gpu.answers",
        [(("gpu2", "smi-list"), NotAvailable("timed-out", "timed out after 20 s"))],
        Status.CRITICAL,
        "gpu-nvidia-smi-hang",
        "gpu2",
    ),
    (
        "gpu.answers",
        [
            (
                ("gpu2", "smi-list"),
                ("Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.90\n", 18),
            )
        ],
        Status.CRITICAL,
        "gpu-driver-mismatch",
        "gpu2",
    ),
    (
        "gpu.count",
        [(("gpu2", "smi-list"), files.smi_list(3))],
        Status.CRITICAL,
        "gpu-missing-after-boot",
        "gpu2: 1 of 4 GPUs",
    ),
    (
        "gpu.count",
        [
            (("gpu2", "smi-list"), files.smi_list(3)),
            (("gpu2", "xid-log"), files.xid("NVRM: Xid (PCI:0000:47:00): 79, pid=1, GPU has fallen off the bus.")),
        ],
        Status.CRITICAL,
        "gpu-fallen-off-bus",
        "gpu2: 1 of 4 GPUs",
    ),
    (
        "gpu.settings",
        [(("gpu2", "smi-core"), files.smi_core(ecc={1: "Disabled"}))],
        Status.WARN,
        "gpu-ecc-off",
        "gpu2:GPU1",
    ),
    (
        "gpu.settings",
        [(("gpu2", "smi-core"), files.smi_core(mig={3: "Enabled"}))],
        Status.WARN,
        "gpu-mig-left",
        "gpu2:GPU3",
    ),
    (
        "gpu.settings",
        [(("gpu2", "smi-core"), files.smi_core(persistence={0: "Disabled"}))],
        Status.WARN,
        "gpu-persistence-off",
        "gpu2:GPU0",
    ),
    (
        "gpu.drift",
        [(("gpu2", "smi-core"), files.smi_core(vbios={2: "92.00.45.00.05"}))],
        Status.WARN,
        "gpu-vbios-drift",
        "gpu2:GPU2",
    ),
    (
        "gpu.ecc",
        [(("gpu2", "smi-ecc"), files.smi_ecc({1: "0, 0, 1, 0, 1, 0"}))],
        Status.CRITICAL,
        "gpu-dbe",
        "gpu2:GPU1",
    ),
    (
        "gpu.ecc",
        [(("gpu2", "smi-ecc"), files.smi_ecc({1: "0, 0, 0, 2, 0, 2"}))],
        Status.CRITICAL,
        "gpu-sram-errors",
        "gpu2:GPU1",
    ),
    (
        "gpu.row_remap",
        [(("gpu2", "smi-remap"), files.smi_remap({2: "0, 1, 1, 0"}))],
        Status.WARN,
        "gpu-remap-pending",
        "gpu2:GPU2",
    ),
    (
        "gpu.row_remap",
        [(("gpu2", "smi-remap"), files.smi_remap({2: "0, 4, 1, 1"}))],
        Status.CRITICAL,
        "gpu-remap-failure",
        "gpu2:GPU2",
    ),
    (
        "gpu.recovery",
        [(("gpu2", "smi-recovery"), "0, None\n1, Reset\n2, None\n3, None\n")],
        Status.CRITICAL,
        "gpu-xid-154",
        "gpu2:GPU1",
    ),
    (
        "gpu.pcie",
        [(("gpu2", "smi-pcie"), files.smi_pcie(width={3: "8"}))],
        Status.CRITICAL,
        "gpu-pcie-degraded",
        "gpu2:GPU3",
    ),
    (
        "gpu.nvlinks_up",
        [(("gpu2", "smi-nvlink"), files.nvlink(down=(1, 5)))],
        Status.CRITICAL,
        "gpu-nvlink-down",
        "gpu2:GPU1 link 5",
    ),
    (
        "gpu.nvlink_errors",
        [((2, "gpu2", "smi-nvlink-err"), files.nvlink_errors(replay=7))],
        Status.WARN,
        "gpu-nvlink-error",
        "gpu2:GPU1 link 3",
    ),
    (
        "gpu.nvlink_errors",
        [((2, "gpu2", "smi-nvlink-err"), files.nvlink_errors(crc=60_000))],
        Status.CRITICAL,
        "gpu-nvlink-error",
        "gpu2:GPU1 link 3",
    ),
    ("gpu.fabric_manager", [(("gpu2", "fm-status"), files.unit("failed"))], Status.CRITICAL, "gpu-fm-down", "gpu2"),
    (
        "gpu.fabric_manager",
        [(("gpu2", "smi-fabric"), "0, In Progress, N/A\n1, Completed, Success\n")],
        Status.CRITICAL,
        "gpu-fm-down",
        "gpu2:GPU0",
    ),
    (
        "gpu.fabric_manager",
        [
            (("gpu2", "fm-version"), "Fabric Manager version is : 550.54.15\n"),
            (
                ("gpu2", "drv-version"),
                "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024\n",
            ),
        ],
        Status.CRITICAL,
        "gpu-fm-mismatch",
        "gpu2",
    ),
    (
        "gpu.power_limit",
        [(("gpu2", "smi-perf"), files.smi_perf(limit={1: "250.00"}))],
        Status.WARN,
        "gpu-power-cap",
        "gpu2:GPU1",
    ),
]


@pytest.mark.parametrize(
    ("name", "planted", "status", "fault", "where"), FAULTS, ids=lambda v: v if isinstance(v, str) else ""
)
def test_a_planted_fault_is_found_where_it_is(
    name: str, planted: list[tuple[Any, Any]], status: Status, fault: str, where: str
) -> None:
    found = findings(name, {**dict(HEALTHY[name]), **dict(planted)}, SPEC)
    bad = worst(found)
    assert (bad.status, bad.faults, bad.nodes) == (status, (fault,), "gpu2")
    assert where in (*bad.entities, bad.nodes)
    assert bad.evidence, "no line quoted"
    assert [f.status for f in found if f is not bad] == [Status.OK]


@pytest.mark.parametrize(
    ("bits", "fault", "status"),
    [
        ("0x0000000000000084", "gpu-power-brake", Status.CRITICAL),
        ("0x0000000000000040", "gpu-thermal-hw", Status.CRITICAL),
        ("0x0000000000000020", "gpu-thermal-sw", Status.WARN),
        ("0x0000000000000002", "gpu-clock-locked", Status.WARN),
    ],
)
def test_a_clock_held_back_is_found_by_its_bit(bits: str, fault: str, status: Status) -> None:
    samples = {("gpu2", f"smi-perf~{n}"): files.smi_perf(reasons={1: bits}) for n in range(1, 6)}
    bad = worst(findings("gpu.throttle", {**dict(HEALTHY["gpu.throttle"]), **samples}, SPEC))
    assert (bad.status, bad.faults, bad.entities) == (status, (fault,), ("gpu2:GPU1",))
    assert bad.threshold is not None


def test_a_bit_in_one_sample_of_five_is_no_fault() -> None:
    once = {("gpu2", "smi-perf~2"): files.smi_perf(reasons={1: "0x0000000000000040"})}
    found = findings("gpu.throttle", {**dict(HEALTHY["gpu.throttle"]), **once}, SPEC)
    assert {f.status for f in found} == {Status.OK}


def test_a_busy_gpu_at_a_lower_clock_than_its_peers_is_warned_of() -> None:
    slow = {("gpu2", f"smi-perf~{n}"): files.smi_perf(sm={1: "1200"}) for n in range(1, 6)}
    bad = worst(findings("gpu.throttle", {**dict(HEALTHY["gpu.throttle"]), **slow}, SPEC))
    assert (bad.status, bad.entities) == (Status.WARN, ("gpu2:GPU1",))
    assert bad.threshold is not None
    assert bad.threshold.id == "clock-peer"


def test_an_idle_gpu_at_a_low_clock_is_fine() -> None:
    idle = {
        ("gpu2", f"smi-perf~{n}"): files.smi_perf(sm={1: "210"}, util={1: "0"}, reasons={1: "0x0000000000000001"})
        for n in range(1, 6)
    }
    found = findings("gpu.throttle", {**dict(HEALTHY["gpu.throttle"]), **idle}, SPEC)
    assert {f.status for f in found} == {Status.OK}


def test_a_gpu_hotter_than_its_siblings_at_equal_power_is_warned_of() -> None:
    hot = {("gpu2", f"smi-perf~{n}"): files.smi_perf(temp={3: "81"}) for n in range(1, 6)}
    bad = worst(findings("gpu.throttle", {**dict(HEALTHY["gpu.throttle"]), **hot}, SPEC))
    assert (bad.status, bad.entities) == (Status.WARN, ("gpu2:GPU3",))
    assert bad.threshold is not None
    assert bad.threshold.id == "temp-peer"


def test_clock_reasons_that_are_not_told_are_unknown() -> None:
    untold = {(ALL, f"smi-perf~{n}"): files.smi_perf(reasons=dict.fromkeys(range(4), "[N/A]")) for n in range(1, 6)}
    assert {f.status for f in findings("gpu.throttle", untold, SPEC)} == {Status.UNKNOWN}


@pytest.mark.parametrize(
    ("line", "fault", "status"),
    [
        ("NVRM: Xid (PCI:0000:07:00): 48, pid='<unknown>', name=<unknown>, DBE", "gpu-dbe", Status.CRITICAL),
        ("NVRM: Xid (PCI:0000:07:00): 63, Row Remapper: New row marked", "gpu-remap-pending", Status.WARN),
        ("NVRM: Xid (PCI:0000:07:00): 64, Row Remapper: failed", "gpu-remap-failure", Status.CRITICAL),
        ("NVRM: Xid (PCI:0000:07:00): 74, NVLink: fatal error", "gpu-nvlink-error", Status.CRITICAL),
        ("NVRM: Xid (PCI:0000:07:00): 79, pid=1, GPU has fallen off the bus.", "gpu-fallen-off-bus", Status.CRITICAL),
        ("NVRM: Xid (PCI:0000:07:00): 95, pid=1, Uncontained ECC error", "gpu-uncontained-ecc", Status.CRITICAL),
        ("NVRM: Xid (PCI:0000:07:00): 119, pid=1, Timeout waiting for RPC", "gpu-gsp-timeout", Status.CRITICAL),
        ("NVRM: Xid (PCI:0000:07:00): 62, pid=1, 2027 00000000", "gpu-hang-xids", Status.CRITICAL),
        ("NVRM: Xid (PCI:0000:07:00): 149, NETIR_LINK_EVT Fatal", "gpu-nvlink5", Status.CRITICAL),
        ("NVRM: Xid (PCI:0000:07:00): 31, pid=9, name=python, MMU Fault", "gpu-xid-31", Status.WARN),
        ("NVRM: Xid (PCI:0000:07:00): 43, pid=9, name=python, Ch 00000008", "gpu-xid-43", Status.WARN),
        ("NVRM: Xid (PCI:0000:07:00): 45, pid=9, name=python, Ch 00000008", "gpu-xid-45", Status.WARN),
    ],
)
def test_an_xid_is_sorted_by_its_number(line: str, fault: str, status: Status) -> None:
    planted = {**dict(HEALTHY["gpu.xid"]), ("gpu1", "xid-log"): files.xid(line)}
    bad = worst(findings("gpu.xid", planted, SPEC))
    assert (bad.status, bad.nodes) == (status, "gpu1")
    assert fault in bad.faults
    assert "0000:07:00" in bad.entities[0]
    assert line in bad.evidence[0].text


def test_an_xid_nobody_knows_is_shown_without_a_fault() -> None:
    planted = {("gpu1", "xid-log"): files.xid("NVRM: Xid (PCI:0000:07:00): 999, pid=1, something new")}
    (bad,) = [f for f in findings("gpu.xid", planted, SPEC) if f.nodes == "gpu1"]
    assert (bad.status, bad.faults) == (Status.WARN, ())
    assert "999" in bad.summary


def test_what_a_program_did_long_ago_is_history_and_a_sick_board_is_not() -> None:
    long_ago = "2026-03-03T08:00:00+0000"
    program = "NVRM: Xid (PCI:0000:07:00): 43, pid=9, name=python, Ch 00000008"
    board = "NVRM: Xid (PCI:0000:07:00): 64, Row Remapper: failed"
    (old,) = [f for f in check("gpu.xid", (("gpu1", "xid-log"), files.xid(program, at=long_ago))) if f.nodes == "gpu1"]
    assert old.status == Status.OK
    (sick,) = [f for f in check("gpu.xid", (("gpu1", "xid-log"), files.xid(board, at=long_ago))) if f.nodes == "gpu1"]
    assert (sick.status, sick.certainty) == (Status.CRITICAL, "hypothesis")


def test_corrected_errors_and_a_remapped_row_are_normal() -> None:
    (found,) = check("gpu.ecc", ((ALL, "smi-ecc"), files.smi_ecc({1: "41, 0, 0, 0, 0, 0"})))
    assert found.status == Status.OK
    (found,) = check("gpu.row_remap", ((ALL, "smi-remap"), files.smi_remap({1: "0, 2, 0, 0"})))
    assert found.status == Status.OK


def test_a_slow_generation_of_an_idle_gpu_is_not_judged() -> None:
    (found,) = check("gpu.pcie", ((ALL, "smi-pcie"), files.smi_pcie(gen=dict.fromkeys(range(4), "1"))))
    assert found.status == Status.OK


def test_link_errors_that_do_not_grow_are_history() -> None:
    flat = files.nvlink_errors(crc=900, replay=12)
    found = check("gpu.nvlink_errors", ((1, ALL, "smi-nvlink-err"), flat), ((2, ALL, "smi-nvlink-err"), flat))
    assert {f.status for f in found} == {Status.OK}


def test_link_errors_of_one_reading_are_unknown() -> None:
    found = check("gpu.nvlink_errors", ((1, ALL, "smi-nvlink-err"), files.nvlink_errors()))
    assert {f.status for f in found} == {Status.UNKNOWN}


def test_machines_without_nvlink_or_fabric_manager_are_left_out() -> None:
    lost = "NVML: Unable to retrieve NVLink information as all links are inActive"
    none = "".join(f"GPU {i}: NVIDIA L40S (UUID: {files.UUIDS[i]})\n{lost}\n" for i in range(4))
    (found,) = check("gpu.nvlinks_up", ((ALL, "smi-nvlink"), none))
    assert found.status == Status.SKIPPED
    (found,) = check("gpu.fabric_manager", ((ALL, "fm-status"), files.unit("inactive", "not-found")))
    assert found.status == Status.SKIPPED


def test_gpus_that_wait_are_told_from_gpus_that_idle_and_gpus_that_spin() -> None:
    saw = [files.smi_perf(util=dict.fromkeys(range(4), u)) for u in ("92", "8", "71", "3", "40")]
    (found,) = check("gpu.utilisation", *(((ALL, f"smi-perf~{n}"), t) for n, t in enumerate(saw, 1)))
    assert (found.status, found.faults) == (Status.WARN, ())
    four = range(4)
    idle = files.smi_perf(util=dict.fromkeys(four, "0"), reasons=dict.fromkeys(four, "0x0000000000000001"))
    (found,) = check("gpu.utilisation", *(((ALL, f"smi-perf~{n}"), idle) for n in range(1, 6)))
    assert found.status == Status.OK
    spin = files.smi_perf(util=dict.fromkeys(four, "100"), power=dict.fromkeys(four, "120.00"))
    (found,) = check("gpu.utilisation", *(((ALL, f"smi-perf~{n}"), spin) for n in range(1, 6)))
    assert (found.status, found.faults, found.certainty) == (Status.WARN, ("tr-gpu-util-misleading",), "hypothesis")


def test_one_sample_says_nothing_about_utilisation() -> None:
    (found,) = check("gpu.utilisation", ((ALL, "smi-perf"), files.smi_perf()))
    assert found.status == Status.UNKNOWN


def test_an_old_driver_that_tells_no_recovery_is_left_out() -> None:
    old = ('Field "gpu_recovery_action" is not a valid field to query.\n', 2)
    (found,) = check("gpu.recovery", ((ALL, "smi-recovery"), old))
    assert found.status == Status.SKIPPED


def test_ecc_that_is_not_counted_is_unknown() -> None:
    none = ", ".join(["[N/A]"] * 6)
    (found,) = check("gpu.ecc", ((ALL, "smi-ecc"), files.smi_ecc(dict.fromkeys(range(4), none))))
    assert found.status == Status.UNKNOWN
