"""The GPU checks where the answer is partial, split or misleading: what looks ill and is not, and the reverse."""

from __future__ import annotations

from typing import Any

import pytest

from checks.findings import Finding, Status
from tests.builders import findings
from tests.checks.rules import gpu_files as files

ALL = files.NODES
FOUR = range(4)


def check(name: str, *planted: tuple[Any, Any]) -> list[Finding]:
    """The findings with the planted outputs over the healthy ones, worst first."""
    return findings(name, {**dict(files.HEALTHY[name]), **dict(planted)}, files.SPEC)


def samples(node: str, count: int = 5, **changes: dict[int, str]) -> list[tuple[Any, Any]]:
    return [((node, f"smi-perf~{n}"), files.smi_perf(**changes)) for n in range(1, count + 1)]


def of(found: list[Finding], node: str) -> Finding:
    (one,) = [f for f in found if node in f.node_list]
    return one


# ---- partial answers are unknown


PARTIAL: list[tuple[str, tuple[Any, ...], Any]] = [
    ("gpu.settings", ("smi-core",), files.smi_core(ecc={2: "[Unknown Error]"})),
    ("gpu.settings", ("smi-core",), files.smi_core(persistence={2: "[N/A]"})),
    ("gpu.drift", ("smi-core",), files.smi_core(vbios={2: "[Unknown Error]"})),
    ("gpu.drift", ("smi-core",), files.smi_core(driver={2: "ERR!"})),
    ("gpu.pcie", ("smi-pcie",), files.smi_pcie(width={2: "[N/A]"})),
    ("gpu.power_limit", ("smi-perf",), files.smi_perf(limit={2: "[Unknown Error]"})),
    ("gpu.fabric_manager", ("smi-fabric",), "0, Completed, Success\n1, [Unknown Error], [Unknown Error]\n"),
    ("gpu.nvlinks_up", ("smi-nvlink",), files.nvlink().replace("\t Link 7: 25 GB/s\n", "", 1)),
    ("gpu.nvlinks_up", ("smi-nvlink",), files.nvlink()[:-6]),
    ("gpu.nvlink_errors", ("smi-nvlink-err",), files.nvlink_errors().replace("CRC Errors: 0", "CRC Errors: N/A", 1)),
    ("gpu.count", ("smi-list",), files.smi_list()[:-20]),
    ("gpu.xid", ("xid-log",), files.xid("NVRM: Xid (PCI:0000:07:00): 79")[:-2]),
]


@pytest.mark.parametrize(("name", "command", "text"), PARTIAL, ids=[f"{n} {i}" for i, (n, _, _) in enumerate(PARTIAL)])
def test_one_gpu_that_does_not_tell_leaves_its_node_unknown(name: str, command: tuple[Any, ...], text: str) -> None:
    found = check(name, (("gpu2", *command), text))
    two = of(found, "gpu2")
    assert two.status == Status.UNKNOWN, found
    assert two.reason
    assert two.missing == command
    assert {f.status for f in found if f is not two} == {Status.OK}


def test_a_reset_link_counter_is_not_growth() -> None:
    found = check(
        "gpu.nvlink_errors",
        ((1, "gpu2", "smi-nvlink-err"), files.nvlink_errors(crc=900)),
        ((2, "gpu2", "smi-nvlink-err"), files.nvlink_errors(crc=3)),
    )
    assert [(f.status, f.nodes) for f in found] == [(Status.OK, ALL)]


def test_links_that_are_gone_from_the_second_reading_are_unknown() -> None:
    short = files.nvlink_errors()
    short = short[: short.index("GPU 3")]
    found = check("gpu.nvlink_errors", ((2, "gpu2", "smi-nvlink-err"), short))
    assert of(found, "gpu2").status == Status.UNKNOWN


# ---- evidence is the line that says it


def test_a_growing_counter_is_quoted_by_its_own_line() -> None:
    bad = check("gpu.nvlink_errors", ((2, "gpu2", "smi-nvlink-err"), files.nvlink_errors(crc=60_000)))[0]
    assert [e.text.strip() for e in bad.evidence] == ["Link 3: CRC Errors: 0", "Link 3: CRC Errors: 60000"]


def test_one_recovery_in_the_window_is_critical() -> None:
    before = files.nvlink_errors()
    old = "Link 3: Recovery Errors: 0"
    at = before.index(old, before.index("GPU 1"))
    after = before[:at] + "Link 3: Recovery Errors: 1" + before[at + len(old) :]
    bad = check("gpu.nvlink_errors", ((2, "gpu2", "smi-nvlink-err"), after))[0]
    assert (bad.status, bad.entities, bad.faults) == (Status.CRITICAL, ("gpu2:GPU1 link 3",), ("gpu-nvlink-error",))


def test_more_gpus_than_expected_are_shown() -> None:
    five = files.smi_list() + f"GPU 4: NVIDIA A800-SXM4-80GB (UUID: {files.UUIDS[0][:-1]}9)\n"
    bad = check("gpu.count", (("gpu2", "smi-list"), five))[0]
    assert (bad.status, bad.nodes, bad.faults) == (Status.WARN, "gpu2", ())
    assert "GPU 4" in bad.evidence[0].text


def test_a_gpu_the_driver_cannot_open_is_missing_and_quoted() -> None:
    text = files.smi_list(3) + "Unable to determine the device handle for GPU 0000:4E:00.0: Unknown Error\n"
    bad = check("gpu.count", (("gpu2", "smi-list"), text))[0]
    assert (bad.status, bad.entities) == (Status.CRITICAL, ("gpu2: 1 of 4 GPUs",))
    assert "4E:00.0" in bad.evidence[0].text


def test_a_gpu_that_only_the_bus_shows_as_dead_has_fallen_off() -> None:
    cards = "".join(
        f"0000:{bus[9:].lower()} 3D controller [0302]: NVIDIA Corporation GA100 [A800 SXM4] [10de:20bd] (rev {rev})\n"
        for bus, rev in zip(files.BUSES, ("a1", "a1", "a1", "ff"), strict=True)
    )
    bad = check("gpu.count", (("gpu2", "smi-list"), files.smi_list(3)), (("gpu2", "lspci-gpu"), cards))[0]
    assert (bad.status, bad.faults, bad.certainty) == (Status.CRITICAL, ("gpu-fallen-off-bus",), "established")
    assert "rev ff" in bad.evidence[-1].text
    alive = check(
        "gpu.count", (("gpu2", "smi-list"), files.smi_list(3)), (("gpu2", "lspci-gpu"), cards.replace("ff", "a1"))
    )
    assert alive[0].faults == ("gpu-missing-after-boot",)


def test_a_node_whose_driver_finds_no_device_misses_all() -> None:
    none = ("No devices were found\n", 6)
    bad = check("gpu.count", (("gpu2", "smi-list"), none))[0]
    assert (bad.status, bad.entities, bad.certainty) == (Status.CRITICAL, ("gpu2: 4 of 4 GPUs",), "supported")
    assert of(check("gpu.answers", (("gpu2", "smi-list"), none)), "gpu2").status == Status.UNKNOWN


# ---- NVLink: the model and its peers


def test_an_nvlink_board_with_all_links_down_is_not_one_without_nvlink() -> None:
    lost = "NVML: Unable to retrieve NVLink information as all links are inActive"
    none = "".join(f"GPU {i}: NVIDIA A800-SXM4-80GB (UUID: {files.UUIDS[i]})\n{lost}\n" for i in FOUR)
    (bad,) = check("gpu.nvlinks_up", ((ALL, "smi-nvlink"), none))
    assert (bad.status, bad.faults, bad.nodes) == (Status.CRITICAL, ("gpu-nvlink-down",), ALL)
    assert "gpu3:GPU2" in bad.entities


def test_another_model_without_nvlink_beside_is_left_out() -> None:
    none = "".join(
        f"GPU {i}: NVIDIA L40S (UUID: {files.UUIDS[i]})\nDevice does not have or support Nvlink\n" for i in FOUR
    )
    found = check("gpu.nvlinks_up", (("gpu2", "smi-nvlink"), none))
    assert (of(found, "gpu2").status, of(found, "gpu1").status) == (Status.SKIPPED, Status.OK)


@pytest.mark.parametrize("name", ["NVIDIA H100 NVL", "NVIDIA A100 80GB PCIe", "NVIDIA GH200 480GB", "NVIDIA H20"])
def test_boards_with_bridges_are_held_against_their_peers(name: str) -> None:
    text = files.nvlink().replace("NVIDIA A800-SXM4-80GB", name)
    (fine,) = check("gpu.nvlinks_up", ((ALL, "smi-nvlink"), text))
    assert fine.status == Status.OK
    down = files.nvlink(down=(1, 5)).replace("NVIDIA A800-SXM4-80GB", name)
    bad = check("gpu.nvlinks_up", ((ALL, "smi-nvlink"), text), (("gpu2", "smi-nvlink"), down))[0]
    assert (bad.status, bad.entities) == (Status.CRITICAL, ("gpu2:GPU1 link 5",))


def test_a_board_with_fewer_links_than_its_model_is_held_against_the_model() -> None:
    text = files.nvlink().replace("A800-SXM4-80GB", "H100 80GB HBM3").replace("Link 7: 25 GB/s", "Link 7: <inactive>")
    (bad,) = check("gpu.nvlinks_up", ((ALL, "smi-nvlink"), text))
    assert (bad.status, bad.nodes) == (Status.CRITICAL, ALL)
    assert bad.threshold is not None
    assert bad.threshold.id == "nvlink-count"


# ---- the fabric manager: cause before effect


def test_a_dead_fabric_manager_of_another_version_is_a_mismatch() -> None:
    bad = check(
        "gpu.fabric_manager",
        (("gpu2", "fm-status"), files.unit("failed")),
        (("gpu2", "fm-version"), "Fabric Manager version is : 550.54.15\n"),
        (("gpu2", "drv-version"), "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31\n"),
    )[0]
    assert (bad.status, bad.faults, bad.nodes) == (Status.CRITICAL, ("gpu-fm-mismatch",), "gpu2")
    assert [e.command for e in bad.evidence] == ["fm-version", "drv-version", "fm-status"]


def test_a_board_that_knows_no_fabric_state_goes_by_the_service() -> None:
    none = "0, [N/A], [N/A]\n1, [N/A], [N/A]\n"
    assert [f.status for f in check("gpu.fabric_manager", ((ALL, "smi-fabric"), none))] == [Status.OK]


def test_a_gpu_that_waits_and_failed_is_named_once() -> None:
    bad = check("gpu.fabric_manager", (("gpu2", "smi-fabric"), "0, In Progress, Failed\n1, Completed, Success\n"))[0]
    assert bad.entities == ("gpu2:GPU0",)


# ---- PCIe


def test_a_slow_generation_counts_only_while_the_gpu_works() -> None:
    slow = (("gpu2", "smi-pcie"), files.smi_pcie(gen={1: "1"}))
    idle = ((ALL, "smi-perf"), files.smi_perf(util=dict.fromkeys(FOUR, "0")))
    assert [f.status for f in check("gpu.pcie", slow, idle)] == [Status.OK]
    bad = check("gpu.pcie", slow, ((ALL, "smi-perf"), files.smi_perf()))[0]
    assert (bad.status, bad.entities, bad.faults) == (Status.WARN, ("gpu2:GPU1",), ("gpu-pcie-degraded",))
    assert (bad.certainty, [e.command for e in bad.evidence]) == ("supported", ["smi-pcie", "smi-perf"])


# ---- clocks, heat and power


@pytest.mark.parametrize(
    "bits", ["0x0000000000000000", "0x0000000000000001", "0x0000000000000004", "0x0000000000000010"]
)
def test_idle_power_cap_and_sync_boost_hold_no_clock_back(bits: str) -> None:
    found = check("gpu.throttle", *samples(ALL, reasons=dict.fromkeys(FOUR, bits)))
    assert [(f.status, f.nodes) for f in found] == [(Status.OK, ALL)]


def test_a_slowdown_without_a_reason_is_critical_and_only_a_hypothesis() -> None:
    bad = check("gpu.throttle", *samples("gpu2", reasons={1: "0x0000000000000008"}))[0]
    assert (bad.status, bad.entities, bad.certainty) == (Status.CRITICAL, ("gpu2:GPU1",), "hypothesis")
    assert bad.faults == ("gpu-thermal-hw", "gpu-power-brake")
    assert "0x0000000000000008" in bad.evidence[0].text


def test_a_slowdown_with_its_reason_is_told_once() -> None:
    found = check("gpu.throttle", *samples("gpu2", reasons={1: "0x0000000000000088"}))
    assert [f.faults for f in found if f.status > Status.OK] == [("gpu-power-brake",)]


def test_one_gpu_whose_reasons_are_never_told_leaves_its_node_unknown() -> None:
    found = check("gpu.throttle", *samples("gpu2", reasons={1: "[N/A]"}))
    assert (found[0].status, found[0].nodes, found[0].missing) == (Status.UNKNOWN, "gpu2", ("smi-perf",))
    assert [(f.status, f.nodes) for f in found[1:]] == [(Status.OK, "gpu[1,3-4]")]


def test_samples_that_did_not_answer_are_left_out_of_the_count() -> None:
    held = samples("gpu2", count=3, reasons={1: "0x0000000000000040"})
    torn = [(("gpu2", f"smi-perf~{n}"), "garbage\n") for n in (4, 5)]
    bad = check("gpu.throttle", *held, *torn)[0]
    assert (bad.status, bad.nodes, bad.faults) == (Status.CRITICAL, "gpu2", ("gpu-thermal-hw",))


def test_one_gpu_whose_utilisation_is_never_told_leaves_its_node_unknown() -> None:
    found = check("gpu.utilisation", *samples("gpu2", util={1: "[N/A]"}))
    assert (found[0].status, found[0].nodes, found[0].missing) == (Status.UNKNOWN, "gpu2", ("smi-perf",))


def test_a_slower_model_is_not_a_slow_gpu() -> None:
    slower = samples("gpu2", sm=dict.fromkeys(FOUR, "1005"), smmax=dict.fromkeys(FOUR, "1050"))
    found = check("gpu.throttle", *slower)
    assert [(f.status, f.nodes) for f in found] == [(Status.OK, ALL)]


def test_a_hot_gpu_that_draws_more_than_its_siblings_is_not_a_cooling_fault() -> None:
    found = check("gpu.throttle", *samples("gpu2", temp={3: "81"}, power={0: "200.00", 1: "200.00", 2: "200.00"}))
    assert [(f.status, f.nodes) for f in found] == [(Status.OK, ALL)]


def test_a_smaller_board_with_a_lower_limit_is_no_capped_one() -> None:
    small = files.smi_perf(limit=dict.fromkeys(FOUR, "300.00"), max=dict.fromkeys(FOUR, "300.00"))
    found = check("gpu.power_limit", (("gpu2", "smi-perf"), small))
    assert {f.status for f in found} == {Status.OK}


def test_a_limit_that_all_gpus_have_is_the_sites_choice() -> None:
    (found,) = check("gpu.power_limit", ((ALL, "smi-perf"), files.smi_perf(limit=dict.fromkeys(FOUR, "350.00"))))
    assert found.status == Status.OK
    assert [(o.name, o.value) for o in found.observed] == [("power limit", 350.0)]


def test_limits_split_in_halves_are_held_against_the_higher() -> None:
    low = files.smi_perf(limit=dict.fromkeys(FOUR, "300.00"))
    bad, good = check("gpu.power_limit", (("gpu[1-2]", "smi-perf"), low))
    assert (bad.status, bad.nodes, bad.faults, bad.certainty) == (
        Status.WARN,
        "gpu[1-2]",
        ("gpu-power-cap",),
        "supported",
    )
    assert (good.status, good.nodes) == (Status.OK, "gpu[3-4]")


# ---- settings and versions


def test_a_board_that_cannot_do_mig_has_it_off() -> None:
    (found,) = check("gpu.settings", ((ALL, "smi-core"), files.smi_core(mig=dict.fromkeys(FOUR, "[N/A]"))))
    assert found.status == Status.OK


def test_a_node_that_missed_a_driver_roll_out_is_warned_of() -> None:
    bad = check("gpu.drift", (("gpu2", "smi-core"), files.smi_core(driver=dict.fromkeys(FOUR, "535.183.01"))))[0]
    assert (bad.status, bad.nodes) == (Status.WARN, "gpu2")
    assert "535.183.01" in bad.evidence[0].text


def test_versions_split_in_halves_are_not_alike() -> None:
    other = files.smi_core(driver=dict.fromkeys(FOUR, "535.183.01"))
    found = check("gpu.drift", (("gpu[1-2]", "smi-core"), other))
    assert {f.status for f in found} == {Status.WARN}
    assert {n for f in found for n in f.node_list} == {"gpu1", "gpu2", "gpu3", "gpu4"}


def test_each_model_has_its_own_vbios() -> None:
    other = files.smi_core(
        name=dict.fromkeys(FOUR, "NVIDIA H100 80GB HBM3"), vbios=dict.fromkeys(FOUR, "96.00.74.00.01")
    )
    found = check("gpu.drift", (("gpu2", "smi-core"), other))
    assert {f.status for f in found} == {Status.OK}


# ---- Xid


P = "NVRM: Xid (PCI:0000:07:00): "
ECHOES = (f"{P}43, pid=9, name=python, Ch 00000008", f"{P}45, pid=9, name=python, Ch 00000008")


def test_echoes_after_a_cause_stay_beside_it_and_below_it() -> None:
    cause = files.xid(f"{P}79, pid=9, GPU has fallen off the bus.", at="2026-03-04T02:09:58+0000")
    found = [f for f in check("gpu.xid", (("gpu1", "xid-log"), cause + files.xid(*ECHOES))) if f.nodes == "gpu1"]
    assert [(f.status, f.faults) for f in found] == [
        (Status.CRITICAL, ("gpu-fallen-off-bus",)),
        (Status.WARN, ("gpu-xid-43",)),
        (Status.WARN, ("gpu-xid-45",)),
    ]
    assert found[0].at == "2026-03-04T02:09:58Z"
    assert all(found[0].at < f.at for f in found[1:])


@pytest.mark.parametrize("number", [13, 31, 43, 45])
def test_what_a_program_did_is_never_critical(number: int) -> None:
    found = check("gpu.xid", (("gpu1", "xid-log"), files.xid(f"{P}{number}, pid=9, name=python, more")))
    assert (found[0].status, found[0].faults) == (Status.WARN, (f"gpu-xid-{number}",))


def test_many_echoes_are_counted_and_quoted_twice() -> None:
    bad = check("gpu.xid", (("gpu1", "xid-log"), files.xid(*ECHOES[:1] * 40)))[0]
    assert [(o.name, o.value) for o in bad.observed] == [("events", 40)]
    assert len(bad.evidence) == 2


def test_lines_of_detail_after_a_fatal_sxid_are_not_called_harmless() -> None:
    s = "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, "
    text = files.xid(f"{s}Fatal, Link 63 LTSSM Fault Up", f"{s}Severity 1 Engine instance 63", f"{s}Data {{0x1, 0x0}}")
    bad, good = check("gpu.xid", (("gpu1", "xid-log"), text))
    assert (bad.status, bad.faults, bad.nodes) == (Status.CRITICAL, ("gpu-sxid-fatal",), "gpu1")
    assert good.status == Status.OK


@pytest.mark.parametrize(
    ("words", "faults"), [("Non-fatal, Link 61 egress", ("gpu-sxid-nonfatal",)), ("Link 61 up", ())]
)
def test_a_switch_error_that_is_not_fatal_or_does_not_say_is_a_warning(words: str, faults: tuple[str, ...]) -> None:
    text = files.xid(f"nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 12028, {words}")
    bad = check("gpu.xid", (("gpu1", "xid-log"), text))[0]
    assert (bad.status, bad.faults) == (Status.WARN, faults)


def test_a_recovery_asked_for_counts_until_the_driver_takes_it_back() -> None:
    asks = f"{P}154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
    over = f"{P}154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"
    bad = check("gpu.xid", (("gpu1", "xid-log"), files.xid(asks)))[0]
    assert (bad.status, bad.faults) == (Status.CRITICAL, ("gpu-xid-154",))
    found = check("gpu.xid", (("gpu1", "xid-log"), files.xid(asks, over)))
    assert {f.status for f in found} == {Status.OK}
    assert check("gpu.xid", (("gpu1", "xid-log"), files.xid(asks, over, asks)))[0].status == Status.CRITICAL
