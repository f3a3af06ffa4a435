"""What the switches say about the network: healthy, one thing wrong, something missing."""

from __future__ import annotations

from typing import Any

import pytest

from checks import rules
from checks.findings import Status
from sample_clusters.make.switch import DSCP_TO_TC, OLD_IMAGE, STORMS, table
from sample_clusters.make.switch_config import dscp, dump
from tests.checks.rules.switch_files import ALL, CLUSTER, edit, fabric, found, without, worst

LEAVES_ONLY = ["network.uplinks_up", "network.oversubscription", "network.uplink_balance"]
EVERY = [
    "network.ecn_thresholds",
    "network.ecn_bound",
    "network.ecn_mark_ratio",
    "network.switch_firmware",
    "network.pfc_isolation",
    "network.switch_pfc",
    "network.pfc_storm",
    "network.headroom",
    "network.pfc_deadlock",
    "network.switch_fec",
    "network.switch_restart",
]
HIGH = (10485760, 20971520)


def cluster(**fabric_changes: Any) -> dict[str, Any]:
    return {**CLUSTER, "fabric": {**CLUSTER["fabric"], **fabric_changes}}


@pytest.mark.parametrize("check", EVERY + LEAVES_ONLY)
def test_healthy_switches_are_ok_with_evidence(check: str) -> None:
    findings = found(check, fabric())
    assert [(f.status, f.summary, f.nodes) for f in findings if f.status != Status.OK] == []
    assert findings[0].nodes == ("leaf[01-04]" if check in LEAVES_ONLY else ALL)
    assert all(f.evidence and f.evidence[0].text.strip() for f in findings)


@pytest.mark.parametrize("check", EVERY + LEAVES_ONLY)
def test_without_a_command_it_needs_a_check_says_so_and_is_never_ok(check: str) -> None:
    rule = rules.get(check)
    assert rule is not None
    for read in rule.reads:
        if read.optional or (check, read.command) in ANOTHER_WAY:
            continue
        findings = found(check, without(fabric(), read.command))
        assert {f.status for f in findings} == {Status.UNKNOWN}, read.command
        assert read.command in {m for f in findings for m in f.missing}


ANOTHER_WAY = {
    ("network.ecn_thresholds", "sw-ecn"),  # the configuration holds the same profiles
    ("network.uplinks_up", "sw-lldp"),  # as many ports are up as the cluster file counts
    ("network.oversubscription", "sw-lldp"),
}


@pytest.mark.parametrize("check", EVERY + LEAVES_ONLY)
def test_a_fabric_without_named_switches_is_unknown_not_skipped(check: str) -> None:
    findings = found(check, {}, {"roles": {"gpu-node": "gpu[001-004]"}, "fabric": {"kind": "roce"}})
    assert [f.status for f in findings] == [Status.UNKNOWN]
    assert "no switches" in findings[0].reason


@pytest.mark.parametrize("check", EVERY + LEAVES_ONLY)
def test_switches_of_another_maker_are_named_as_not_read(check: str) -> None:
    roles = {"switch-leaf": {"nodes": "leaf[01-02]", "os": "eos"}}
    findings = found(check, {}, {"roles": roles, "fabric": {"kind": "roce"}})
    assert [(f.status, f.nodes) for f in findings] == [(Status.UNKNOWN, "leaf[01-02]")]
    assert "eos" in findings[0].reason


@pytest.mark.parametrize("check", EVERY + LEAVES_ONLY)
def test_infiniband_skips_the_checks_of_ethernet_switches(check: str) -> None:
    assert [f.status for f in found(check, fabric(), cluster(kind="infiniband"))] == [Status.SKIPPED]


def test_exactly_the_leaf_with_other_thresholds_is_named_with_its_software() -> None:
    files = fabric(thresholds={"leaf03": HIGH}, images={"leaf03": OLD_IMAGE})
    bad, *rest = found("network.ecn_thresholds", files)
    assert (bad.status, bad.nodes, bad.faults) == (Status.CRITICAL, "leaf03", ("net-ecn-threshold-mismatch",))
    assert bad.certainty == "established"
    values = {o.name: o.value for o in bad.observed}
    assert values["ECN min threshold"] == HIGH[0]
    assert values["software version"] == f"SONiC.{OLD_IMAGE}"
    assert [(f.status, f.nodes) for f in rest] == [(Status.OK, "leaf[01-02,04],spine[01-02]")]
    assert {o.nodes for o in rest[0].observed if o.name == "software version"} == {"leaf[01-02,04]"}


def test_two_against_two_accuses_both_groups_with_less_certainty() -> None:
    bad = worst("network.ecn_thresholds", fabric(thresholds={"leaf01": HIGH, "leaf02": HIGH}))
    assert (bad.nodes, bad.certainty) == ("leaf[01-04]", "supported")
    assert {(o.value, o.nodes) for o in bad.observed if o.name == "ECN min threshold"} == {
        (HIGH[0], "leaf[01-02]"),
        (1048576, "leaf[03-04]"),
    }


def test_thresholds_are_read_from_the_configuration_where_show_ecn_is_missing() -> None:
    files = without(fabric(thresholds={"leaf03": HIGH}), "sw-ecn")
    assert worst("network.ecn_thresholds", files).nodes == "leaf03"


def test_an_older_image_with_equal_thresholds_is_no_drift() -> None:
    findings = found("network.switch_firmware", fabric(images={"leaf03": OLD_IMAGE}))
    assert {f.status for f in findings} == {Status.OK}
    assert "equal ECN thresholds" in " ".join(f.summary for f in findings if f.nodes == "leaf03")


def test_an_older_image_with_other_thresholds_is_drift_and_only_a_guess_without_them() -> None:
    files = fabric(images={"leaf03": OLD_IMAGE}, thresholds={"leaf03": HIGH})
    bad = worst("network.switch_firmware", files)
    assert (bad.nodes, bad.faults, bad.certainty) == ("leaf03", ("net-firmware-drift",), "established")
    guess = worst("network.switch_firmware", without(without(files, "sw-ecn"), "sw-qos-json"))
    assert (guess.nodes, guess.certainty) == ("leaf03", "hypothesis")


def test_a_queue_without_an_ecn_profile_is_named_by_port() -> None:
    files = edit(
        fabric(),
        "leaf02",
        "sw-qos-json",
        '"QUEUE|Ethernet8|3"',
        '"QUEUE|Ethernet8|5"',
        "QUEUE*",
    )
    bad = worst("network.ecn_bound", files)
    assert (bad.status, bad.entities, bad.certainty) == (Status.CRITICAL, ("leaf02:Ethernet8",), "established")


def test_folded_queue_keys_and_bracketed_profiles_of_older_releases_bind_too() -> None:
    files = fabric()
    ports = ",".join(f"Ethernet{4 * k}" for k in range(16))
    text = dump({f"QUEUE|{ports}|3-4": {"wred_profile": "[WRED_PROFILE|AZURE_LOSSLESS]"}})
    for leaf in ("leaf01", "leaf02", "leaf03", "leaf04"):
        files[(1, leaf, "sw-qos-json", "QUEUE*")] = text
    assert {f.status for f in found("network.ecn_bound", files)} == {Status.OK}
    assert {f.status for f in found("network.ecn_thresholds", files)} == {Status.OK}


def test_a_queue_table_that_is_empty_binds_nothing() -> None:
    files = fabric()
    files[(1, "leaf04", "sw-qos-json", "QUEUE*")] = "{}\n"
    assert worst("network.ecn_bound", files).nodes == "leaf04"


def test_a_leaf_that_never_marks_beside_marking_peers_hints_at_its_thresholds() -> None:
    shares = {"leaf01": 2.2, "leaf02": 2.8, "leaf03": 0.0, "leaf04": 2.5}
    findings = found("network.ecn_mark_ratio", fabric(marked_pct=shares))
    silent = next(f for f in findings if f.nodes == "leaf03")
    assert "net-ecn-threshold-mismatch" in silent.faults
    assert silent.certainty == "hypothesis"
    marking = next(f for f in findings if f.nodes == "leaf[01-02,04]")
    assert (marking.status, marking.faults) == (Status.WARN, ("net-ecn-mark-rate-high",))
    assert marking.threshold is not None
    assert marking.threshold.id == "ecn-mark-ratio-warn"


def test_a_large_share_of_marks_is_critical_and_the_absolute_counter_means_nothing() -> None:
    bad = worst("network.ecn_mark_ratio", fabric(marked_pct={"leaf01": 8.0}))
    assert (bad.status, bad.nodes) == (Status.CRITICAL, "leaf01")
    still = fabric(marked_pct={"leaf01": 8.0})
    still[(2, "leaf01", "sw-wred")] = still[(1, "leaf01", "sw-wred")]
    assert worst("network.ecn_mark_ratio", still).status == Status.OK


def test_wred_counters_that_print_no_value_are_unknown() -> None:
    files = fabric()
    text = table(("Port", "TxQ", "WredDrp/pkts", "EcnMarked/pkts"), [("Ethernet0", "UC3", "N/A", "N/A")])
    files[(1, "leaf01", "sw-wred")] = files[(2, "leaf01", "sw-wred")] = text
    assert worst("network.ecn_mark_ratio", files).nodes == "leaf01"
    assert worst("network.ecn_mark_ratio", files).status == Status.UNKNOWN


def test_backup_mapped_into_the_lossless_class_is_named_with_its_dscps() -> None:
    files = fabric(dscp_to_tc={**DSCP_TO_TC, "0": "3", "8": "3"})
    bad = worst("network.pfc_isolation", files)
    assert (bad.status, bad.faults, bad.certainty) == (Status.CRITICAL, ("net-pfc-not-isolated",), "established")
    assert {o.value for o in bad.observed} == {"0, 8, 26", "0, 8"}
    assert {e.text.strip() for e in bad.evidence} == {'"0": "3",', '"8": "3",'}
    assert worst("network.pfc_isolation", files, cluster(dscp=None)).certainty == "supported"


def test_cnp_in_the_lossless_class_accuses_nobody() -> None:
    assert worst("network.pfc_isolation", fabric(dscp_to_tc={**DSCP_TO_TC, "48": "3"})).status == Status.OK


def test_rdma_that_is_not_mapped_into_the_lossless_class_is_mismarked() -> None:
    bad = worst("network.pfc_isolation", fabric(dscp_to_tc={**DSCP_TO_TC, "26": "0"}))
    assert (bad.status, bad.faults) == (Status.WARN, ("net-dscp-mismarked",))


def test_only_the_map_the_ports_use_counts() -> None:
    files = fabric()
    unused = dump({"DSCP_TO_TC_MAP|AZURE": DSCP_TO_TC, "DSCP_TO_TC_MAP|OLD": {"0": "3", "26": "3"}})
    files[(1, "leaf01", "sw-qos-json", "DSCP_TO_TC_MAP*")] = unused
    assert worst("network.pfc_isolation", files).status == Status.OK
    files[(1, "leaf01", "sw-qos-json", "DSCP_TO_TC_MAP*")] = dscp({"0": "3"}).replace("AZURE", "OTHER")
    assert worst("network.pfc_isolation", files).status == Status.UNKNOWN


def test_a_port_that_pauses_on_another_priority_is_named() -> None:
    files = edit(fabric(), "leaf02", "sw-pfc-prio", "Ethernet12  3", "Ethernet12  4")
    bad = worst("network.switch_pfc", files)
    assert (bad.entities, bad.faults) == (("leaf02:Ethernet12",), ("net-pfc-priority-mismatch",))


def test_priorities_that_are_equal_everywhere_but_not_the_lossless_one_are_supported_only() -> None:
    bad = worst("network.switch_pfc", fabric(), cluster(lossless_priority=4))
    assert (bad.nodes, bad.certainty) == (ALL, "supported")


def stormed(count: int, port: str = "Ethernet4", status: str = "operational") -> str:
    return table(STORMS, [(f"{port}:3", status, f"{count}/{count}", "100/3", "90/0", "0/0", "0/0")])


def test_a_storm_in_the_window_names_the_port_and_the_host() -> None:
    files = fabric()
    files[(2, "leaf01", "sw-pfcwd")] = stormed(1)
    bad = worst("network.pfc_storm", files)
    assert (bad.nodes, bad.entities, bad.faults) == ("leaf01", ("leaf01:Ethernet4",), ("net-pfc-storm",))
    assert "gpu001" in {o.value for o in bad.observed}


def test_storms_counted_long_ago_that_stand_still_are_history() -> None:
    files = fabric()
    files[(1, "leaf01", "sw-pfcwd")] = files[(2, "leaf01", "sw-pfcwd")] = stormed(7)
    assert worst("network.pfc_storm", files).status == Status.OK
    files[(2, "leaf01", "sw-pfcwd")] = stormed(7, status="stormed")
    assert worst("network.pfc_storm", files).status == Status.CRITICAL


def test_a_watchdog_that_watches_nothing_cannot_clear_a_switch() -> None:
    files = fabric()
    head = ("PORT", "ACTION", "DETECTION TIME", "RESTORATION TIME")
    files[(1, "leaf01", "sw-pfcwd-conf")] = table(head, [])
    bad = worst("network.pfc_storm", files)
    assert (bad.status, bad.nodes) == (Status.UNKNOWN, "leaf01")


def test_storms_between_switches_are_a_deadlock_when_several_see_them() -> None:
    files = fabric()
    files[(2, "leaf01", "sw-pfcwd")] = stormed(1, "Ethernet32")
    assert worst("network.pfc_deadlock", files).certainty == "hypothesis"
    files[(2, "leaf02", "sw-pfcwd")] = stormed(1, "Ethernet36")
    bad = worst("network.pfc_deadlock", files)
    assert (bad.status, bad.nodes, bad.certainty) == (Status.CRITICAL, "leaf[01-02]", "supported")
    assert worst("network.pfc_storm", files).certainty == "hypothesis"


def test_drops_on_the_lossless_group_between_the_rounds_are_named_by_port() -> None:
    files = fabric()
    old = files[(2, "leaf02", "sw-pg-drop")].split("\n")
    row = next(x for x in old if x.strip().startswith("Ethernet4 "))
    lossy = row[: -len("0      0      0      0      0")] + "9      0      0      0      0"
    files[(2, "leaf02", "sw-pg-drop")] = "\n".join(lossy if x == row else x for x in old)
    bad = worst("network.headroom", files)
    assert (bad.entities, bad.faults) == (("leaf02:Ethernet4",), ("net-headroom-too-small",))
    files[(1, "leaf02", "sw-pg-drop")] = files[(2, "leaf02", "sw-pg-drop")]
    assert worst("network.headroom", files).status == Status.OK


DOWN = frozenset(("leaf02", f"Ethernet{4 * k}") for k in range(12, 16))


def test_uplinks_that_are_down_are_named_and_the_live_ratio_counts() -> None:
    files = fabric(down=DOWN)
    bad, *rest = found("network.uplinks_up", files)
    assert (bad.status, bad.nodes, bad.certainty) == (Status.CRITICAL, "leaf02", "established")
    assert bad.entities == tuple(f"leaf02:Ethernet{4 * k}" for k in range(12, 16))
    assert [f.status for f in rest] == [Status.OK]
    ratio = worst("network.oversubscription", files)
    assert (ratio.nodes, ratio.faults) == ("leaf02", ("net-oversubscription",))
    assert next(o.value for o in ratio.observed if o.name == "live ratio") == 2.0


def test_one_uplink_of_eight_down_is_a_fault_but_no_oversubscription() -> None:
    files = fabric(down=frozenset([("leaf02", "Ethernet60")]))
    assert worst("network.uplinks_up", files).entities == ("leaf02:Ethernet60",)
    assert worst("network.oversubscription", files).status == Status.OK


def test_ports_down_without_known_neighbours_are_unknown_not_guessed() -> None:
    files = without(fabric(down=DOWN), "sw-lldp")
    findings = found("network.uplinks_up", files)
    assert [(f.status, f.nodes) for f in findings] == [(Status.UNKNOWN, "leaf02"), (Status.OK, "leaf[01,03-04]")]
    assert findings[0].missing == ("sw-lldp",)


def test_an_inference_pool_may_be_oversubscribed_further() -> None:
    spec = {**CLUSTER, "workload": {"kind": "inference"}}
    assert worst("network.oversubscription", fabric(down=DOWN), spec).status == Status.OK


def test_a_host_port_that_is_down_is_no_uplink() -> None:
    files = fabric(down=frozenset([("leaf01", "Ethernet0")]))
    assert worst("network.uplinks_up", files).status == Status.OK
    assert worst("network.oversubscription", files).status == Status.OK


def busiest(files: dict[Any, Any], node: str, port: str, rounds: tuple[int, ...]) -> None:
    for number in rounds:
        lines = files[(number, node, "sw-counters")].split("\n")
        n = next(i for i, x in enumerate(lines) if x.split()[:1] == [port])
        before = [w for w in lines[n].split() if w.endswith("%")][1]
        head, _, tail = lines[n].rpartition(before)
        lines[n] = head + "91.40%" + tail
        files[(number, node, "sw-counters")] = "\n".join(lines)


def test_one_uplink_that_carries_most_in_every_round_is_polarisation() -> None:
    files = fabric()
    busiest(files, "leaf01", "Ethernet40", (1, 2))
    bad = worst("network.uplink_balance", files)
    assert (bad.nodes, bad.entities, bad.certainty) == ("leaf01", ("leaf01:Ethernet40",), "supported")
    once = fabric()
    busiest(once, "leaf01", "Ethernet40", (2,))
    assert worst("network.uplink_balance", once).status == Status.OK


def test_codewords_lost_in_the_window_name_the_port_and_old_ones_do_not() -> None:
    files = fabric()
    for number, lost in ((1, 40), (2, 43)):
        lines = files[(number, "leaf03", "sw-fec")].split("\n")
        n = next(i for i, x in enumerate(lines) if x.split()[:1] == ["Ethernet8"])
        corrected = lines[n].split()[2]
        head, _, tail = lines[n].partition(corrected)
        lines[n] = f"{head}{corrected}{lost:>14}{tail[14:]}"
        files[(number, "leaf03", "sw-fec")] = "\n".join(lines)
    bad = worst("network.switch_fec", files)
    assert (bad.status, bad.entities, bad.faults) == (Status.WARN, ("leaf03:Ethernet8",), ("net-high-ber",))
    files[(1, "leaf03", "sw-fec")] = files[(2, "leaf03", "sw-fec")]
    assert worst("network.switch_fec", files).status == Status.OK


def test_a_switch_up_for_minutes_beside_peers_up_for_weeks_restarted() -> None:
    files = fabric(restarted_s={"leaf02": 1200})
    bad, *rest = found("network.switch_restart", files)
    assert (bad.nodes, bad.faults, bad.certainty) == ("leaf02", ("net-switch-maintenance",), "established")
    assert bad.at == "2026-03-04T02:10:00Z"
    assert "upgrade" in bad.summary
    assert [f.status for f in rest] == [Status.OK]
    assert worst("network.switch_restart", without(files, "sw-log")).certainty == "established"
    assert worst("network.switch_restart", without(files, "sw-version")).certainty == "supported"


def test_a_cut_off_table_makes_an_ok_unknown() -> None:
    files = fabric()
    files[(1, "leaf01", "sw-if-status")] = files[(1, "leaf01", "sw-if-status")][:-40]
    assert worst("network.uplinks_up", files).status != Status.OK
