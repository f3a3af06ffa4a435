"""What the nodes say about the network: healthy, one thing wrong, something missing."""

from __future__ import annotations

import pytest

from checks import rules
from checks.findings import Status
from checks.tools.lldp import Neighbours
from tests import builders
from tests.checks.rules.nic_files import CLUSTER, INFINIBAND, SPEC, count, edit, found, healthy, without, worst

ROCE = [
    "network.rails_present",
    "network.link_rate",
    "network.nic_pcie",
    "network.link_flaps",
    "network.link_errors",
    "network.mtu",
    "network.fec_equal",
    "network.nic_firmware",
    "network.lossless_class",
    "network.pfc_priority",
    "network.cnp_enabled",
    "network.rail_balance",
    "network.host_ecn_share",
    "network.pause_share",
    "network.pause_sender",
]
INFINIBAND_ONLY = ["network.ib_port_state", "network.ib_errors", "network.ib_congestion"]
ALL = "gpu[001-008]"


@pytest.mark.parametrize("check", ROCE)
def test_a_healthy_fabric_is_ok_on_every_node_with_evidence(check: str) -> None:
    findings = found(check, healthy())
    assert [(f.status, f.nodes) for f in findings if f.status > Status.OK] == []
    assert {n for f in findings for n in f.node_list} >= {f"gpu{i:03d}" for i in range(1, 9)}
    assert all(f.evidence for f in findings)


@pytest.mark.parametrize("check", ROCE)
def test_without_its_own_command_a_check_is_unknown_and_never_ok(check: str) -> None:
    rule = rules.get(check)
    assert rule is not None
    for read in rule.reads:
        if not read.optional:
            findings = found(check, without(healthy(), read.command))
            assert findings[0].status == Status.UNKNOWN, (read.command, findings)
            assert not [f for f in findings if f.status == Status.OK]


def test_where_a_tool_is_not_installed_another_one_may_answer() -> None:
    files = healthy()
    for key in list(files):
        if key[2] == "qos-dcb" or key[2] == "roce-ecn":
            files[key] = ("", 127)
    assert worst("network.pfc_priority", files).status == Status.OK
    assert worst("network.cnp_enabled", files).status == Status.OK


@pytest.mark.parametrize("check", ROCE)
def test_no_command_taken_away_makes_a_healthy_fabric_worse_than_unknown(check: str) -> None:
    rule = rules.get(check)
    assert rule is not None
    for read in rule.reads:
        assert worst(check, without(healthy(), read.command)).status <= Status.UNKNOWN


@pytest.mark.parametrize("check", INFINIBAND_ONLY)
def test_an_infiniband_check_is_skipped_on_roce_and_runs_on_infiniband(check: str) -> None:
    assert worst(check, healthy()).status == Status.SKIPPED
    findings = found(check, healthy(), INFINIBAND)
    assert [(f.status, f.nodes) for f in findings] == [(Status.OK, ALL)]


def test_a_nic_on_gen3_among_gen4_peers_is_exactly_that_card_of_that_node() -> None:
    files = edit(
        healthy(),
        "gpu003",
        "nic-pcie",
        "mlx5_2/device/current_link_speed:16.0 GT/s PCIe",
        "mlx5_2/device/current_link_speed:8.0 GT/s PCIe",
    )
    bad = worst("network.nic_pcie", files)
    assert (bad.status, bad.nodes, bad.entities) == (Status.CRITICAL, "gpu003", ("gpu003:mlx5_2",))
    assert (bad.faults, bad.certainty) == (("net-nic-pcie-downgrade",), "established")
    assert "8.0 GT/s" in bad.evidence[0].text
    assert found("network.nic_pcie", files)[1].nodes == "gpu[001-002,004-008]"


def test_a_card_that_every_node_slows_down_alike_is_the_slots_design() -> None:
    files = healthy()
    for i in range(1, 9):
        edit(files, f"gpu{i:03d}", "nic-pcie", "current_link_speed:16.0", "current_link_speed:8.0")
    assert worst("network.nic_pcie", files).status == Status.OK


def test_half_the_lanes_on_the_only_node_known_are_a_supported_downgrade() -> None:
    files = {k: v for k, v in healthy().items() if k[1] == "gpu003"}
    edit(files, "gpu003", "nic-pcie", "mlx5_1/device/current_link_width:16", "mlx5_1/device/current_link_width:8")
    bad = worst("network.nic_pcie", files)
    assert (bad.entities, bad.certainty) == (("gpu003:mlx5_1",), "supported")


def test_a_missing_rail_is_named() -> None:
    files = edit(healthy(), "gpu005", "rdma-link", '"ifname":"mlx5_1"', '"ifname":"mlx5_9"')
    edit(files, "gpu005", "rdma-link", '"netdev":"eth3"', '"netdev":"eth9"')
    bad = worst("network.rails_present", files)
    assert (bad.status, bad.nodes, bad.entities) == (Status.CRITICAL, "gpu005", ("gpu005:eth3",))
    assert (bad.faults, bad.certainty) == (("net-nic-missing",), "established")


def test_a_rail_that_is_down_is_critical_and_its_rate_is_unknown() -> None:
    old = '"ifname":"mlx5_0","port":1,"state":"ACTIVE","physical_state":"LINK_UP"'
    files = edit(healthy(), "gpu002", "rdma-link", old, old.replace("ACTIVE", "DOWN").replace("LINK_UP", "POLLING"))
    edit(files, "gpu002", "ib-port", "mlx5_0/ports/1/state:4: ACTIVE", "mlx5_0/ports/1/state:1: DOWN")
    assert worst("network.rails_present", files).entities == ("gpu002:eth2",)
    rate = worst("network.link_rate", files)
    assert (rate.status, rate.nodes) == (Status.UNKNOWN, "gpu002")


@pytest.mark.parametrize(
    ("command", "old", "new", "params"),
    [
        ("ib-port", "mlx5_3/ports/1/rate:200 Gb/sec (4X HDR)", "mlx5_3/ports/1/rate:100 Gb/sec (2X HDR)", ()),
        ("eth-link", "Speed: 200000Mb/s", "Speed: 100000Mb/s", ("eth5",)),
    ],
)
def test_a_rail_at_half_rate_is_found_by_either_source(
    command: str, old: str, new: str, params: tuple[str, ...]
) -> None:
    bad = worst("network.link_rate", edit(healthy(), "gpu007", command, old, new, *params))
    assert (bad.nodes, bad.entities, bad.faults) == ("gpu007", ("gpu007:eth5",), ("net-link-degraded",))
    assert bad.certainty == "established"


def test_a_growing_carrier_count_is_a_flap_and_a_large_flat_one_is_history() -> None:
    name = "/net/eth4/carrier_changes:"
    grown = worst("network.link_flaps", count(healthy(), "gpu006", "carrier", name, 2, 4))
    assert (grown.status, grown.entities, grown.faults) == (Status.CRITICAL, ("gpu006:eth4",), ("net-link-flap",))
    flat = worst("network.link_flaps", count(healthy(), "gpu006", "carrier", name, 40, 40))
    assert (flat.status, flat.entities, flat.certainty) == (Status.WARN, ("gpu006:eth4",), "supported")


def down(port: str, minute: int, node: str) -> str:
    return f"2026-03-04T01:{minute:02d}:10+0000 {node} kernel: mlx5_core 0000:5e:00.0 {port}: Link down\n"


def test_five_downs_of_one_port_in_a_day_are_established() -> None:
    files = healthy()
    files[(1, "gpu004", "link-log")] = "".join(down("eth3", m, "gpu004") for m in (1, 9, 20, 31, 44))
    bad = worst("network.link_flaps", files)
    assert (bad.status, bad.entities, bad.certainty) == (Status.CRITICAL, ("gpu004:eth3",), "established")
    assert bad.at.startswith("2026-03-04T01:01:10")


def test_links_of_one_leaf_that_drop_together_do_not_accuse_the_cables() -> None:
    files = healthy()
    for node in ("gpu001", "gpu002", "gpu003", "gpu004"):
        files[(1, node, "link-log")] = down("eth2", 12, node)
    bad = worst("network.link_flaps", files)
    assert (bad.status, bad.faults, bad.nodes) == (Status.WARN, (), "gpu[001-004]")
    assert "leaf01" in bad.entities


def test_uncorrected_symbols_on_one_link_are_bit_errors() -> None:
    bad = worst(
        "network.link_errors", count(healthy(), "gpu001", "eth-stats", "rx_pcs_symbol_err_phy: ", 5, 400, "eth3")
    )
    assert (bad.entities, bad.faults, bad.certainty) == (("gpu001:eth3",), ("net-high-ber",), "established")
    flat = worst(
        "network.link_errors", count(healthy(), "gpu001", "eth-stats", "rx_pcs_symbol_err_phy: ", 5, 5, "eth3")
    )
    assert flat.status == Status.OK


def test_bad_checksums_on_many_nodes_of_a_leaf_come_from_upstream() -> None:
    files = healthy()
    for node in ("gpu005", "gpu006", "gpu008"):
        count(files, node, "eth-stats", "rx_crc_errors_phy: ", 0, 30, "eth2")
    bad = worst("network.link_errors", files)
    assert (bad.nodes, bad.faults) == ("gpu[005-006,008]", ("net-crc-stomped",))


def test_one_small_mtu_is_found() -> None:
    old = '"ifname":"eth3","flags":["BROADCAST","MULTICAST","UP","LOWER_UP"],"mtu":'
    bad = worst("network.mtu", edit(healthy(), "gpu002", "ip-link", f"{old}9000", f"{old}1500"))
    assert (bad.entities, bad.faults, bad.certainty) == (("gpu002:eth3",), ("net-mtu-mismatch",), "established")


def test_a_rail_without_fec_is_found() -> None:
    bad = worst("network.fec_equal", edit(healthy(), "gpu002", "eth-fec", "encoding: RS", "encoding: Off", "eth4"))
    assert (bad.entities, bad.faults) == (("gpu002:eth4",), ("net-fec-mismatch",))


def test_one_old_firmware_is_drift_within_its_board() -> None:
    bad = worst(
        "network.nic_firmware", edit(healthy(), "gpu002", "nic-fw", "mlx5_1/fw_ver:20.39", "mlx5_1/fw_ver:20.31")
    )
    assert (bad.status, bad.entities, bad.faults) == (Status.WARN, ("gpu002:mlx5_1",), ("net-firmware-drift",))


def test_rdma_on_priority_0_is_mismarked() -> None:
    files = healthy()
    for number in (1, 2):
        key = (number, "gpu006", "eth-stats", "eth2")
        text = files[key][0].replace("_prio3_bytes", "_prioX_bytes").replace("_prio0_bytes", "_prio3_bytes")
        files[key] = (text.replace("_prioX_bytes", "_prio0_bytes"), 0)
    bad = worst("network.lossless_class", files)
    assert (bad.entities, bad.faults, bad.certainty) == (("gpu006:eth2",), ("net-dscp-mismarked",), "established")


def test_an_idle_rail_says_nothing_about_its_class_or_balance() -> None:
    files = healthy()
    for port in CLUSTER["interfaces"]["rdma"]:
        files[(2, "gpu001", "eth-stats", port)] = files[(1, "gpu001", "eth-stats", port)]
    for check in ("network.lossless_class", "network.rail_balance"):
        assert (worst(check, files).status, worst(check, files).nodes) == (Status.UNKNOWN, "gpu001")


def test_pfc_on_another_priority_is_found_by_each_tool() -> None:
    dcb = edit(healthy(), "gpu003", "qos-dcb", '"3":true,"4":false', '"3":false,"4":true', "eth2")
    mlnx = edit(
        healthy(),
        "gpu003",
        "qos-mlnx",
        "0   0   0   1   0   0   0   0   \n\tb",
        "0   0   0   0   1   0   0   0   \n\tb",
        "eth2",
    )
    for files in (dcb, mlnx):
        bad = worst("network.pfc_priority", files)
        assert (bad.entities, bad.faults) == (("gpu003:eth2",), ("net-pfc-priority-mismatch",))
        assert bad.certainty == "established"


def test_congestion_control_switched_off_on_one_rail_is_found() -> None:
    old = "/eth4/ecn/roce_np/enable/3:"
    bad = worst("network.cnp_enabled", edit(healthy(), "gpu003", "roce-ecn", f"{old}1", f"{old}0"))
    assert (bad.entities, bad.faults, bad.certainty) == (("gpu003:eth4",), ("net-cnp-broken",), "established")


def test_marks_without_cnps_are_found_whatever_the_settings_say() -> None:
    name = "mlx5_1/ports/1/hw_counters/np_cnp_sent:"
    bad = worst("network.cnp_enabled", count(healthy(), "gpu003", "ib-hwcounters", name, 7, 7))
    assert (bad.entities, bad.faults) == (("gpu003:mlx5_1",), ("net-cnp-broken",))


def test_one_rail_with_the_bytes_of_two_is_arp_flux_where_the_settings_allow_it() -> None:
    files = healthy()
    for side in ("rx", "tx"):
        name = f"{side}_vport_rdma_unicast_bytes: "
        count(files, "gpu003", "eth-stats", name, 0, 1_000_000_000_000, "eth2")
        count(files, "gpu003", "eth-stats", name, 0, 1000, "eth3")
    guess = worst("network.rail_balance", files)
    assert (guess.entities, guess.certainty) == (("gpu003:eth2", "gpu003:eth3"), "hypothesis")
    proven = worst("network.rail_balance", edit(files, "gpu003", "arp-sysctl", "arp_ignore = 1", "arp_ignore = 0"))
    assert (proven.faults, proven.certainty) == (("net-arp-flux",), "established")


def test_the_sample_neighbours_are_the_ports_of_the_wiring_plan() -> None:
    made = builders.view(healthy(), CLUSTER)
    for node in SPEC.gpu_nodes:
        facts = made.newest("lldp", node, Neighbours).known
        for rail, name in enumerate(SPEC.rdma_interfaces):
            found_at = facts.of(name)
            assert found_at is not None
            assert (found_at.switch, found_at.port) == SPEC.port_of(node, rail)


def test_marks_are_summed_by_leaf() -> None:
    files = healthy()
    for i in range(1, 5):
        for device in range(4):
            name = f"mlx5_{device}/ports/1/hw_counters/np_ecn_marked_roce_packets:"
            count(files, f"gpu{i:03d}", "ib-hwcounters", name, 0, 9_000_000)
    bad = worst("network.host_ecn_share", files)
    assert (bad.status, bad.nodes, bad.entities) == (Status.CRITICAL, "gpu[001-004]", ("leaf01",))
    assert bad.faults == ("net-ecn-mark-rate-high",)
    assert bad.threshold is not None
    assert bad.threshold.id == "ecn-mark-ratio-fault"


def test_time_paused_is_a_share_of_the_window_and_only_a_hint() -> None:
    name = "rx_prio3_pause_duration: "
    bad = worst("network.pause_share", count(healthy(), "gpu002", "eth-stats", name, 0, 3_000_000, "eth2"))
    assert (bad.status, bad.certainty, bad.observed[0].value) == (Status.WARN, "hypothesis", 5.0)
    worse = worst("network.pause_share", count(healthy(), "gpu002", "eth-stats", name, 0, 12_000_000, "eth2"))
    assert worse.status == Status.CRITICAL


def test_a_node_that_sends_pauses_is_the_slow_receiver() -> None:
    files = count(healthy(), "gpu002", "eth-stats", "tx_prio3_pause: ", 0, 60_000, "eth2")
    count(files, "gpu002", "eth-stats", "outbound_pci_stalled_wr_events: ", 0, 40, "eth2")
    bad = worst("network.pause_sender", files)
    assert (bad.entities, bad.faults, bad.certainty) == (("gpu002:eth2",), ("net-slow-receiver",), "established")
    assert {o.name for o in bad.observed} >= {"pauses sent", "outbound_pci_stalled_wr_events"}


def test_a_storm_event_in_the_window_is_a_storm_and_an_old_one_is_not() -> None:
    name = "tx_pause_storm_error_events: "
    bad = worst("network.pause_sender", count(healthy(), "gpu002", "eth-stats", name, 1, 2, "eth2"))
    assert (bad.status, bad.faults) == (Status.CRITICAL, ("net-pfc-storm",))
    assert (
        worst("network.pause_sender", count(healthy(), "gpu002", "eth-stats", name, 9, 9, "eth2")).status == Status.OK
    )


def test_a_restart_between_the_rounds_makes_rates_unknown() -> None:
    files = healthy()
    for i in range(1, 9):
        files[(1, f"gpu{i:03d}", "boot")] = "5f1b4a3e-0c9a-4a57-8d5e-0d6f0b0e2a11\n864000.10 1000.00\n"
        other = "5f1b4a3e-0c9a-4a57-8d5e-0d6f0b0e2a11" if i != 4 else "00000000-0c9a-4a57-8d5e-0d6f0b0e2a11"
        files[(2, f"gpu{i:03d}", "boot")] = f"{other}\n864060.10 1000.00\n"
    bad = worst("network.pause_share", files)
    assert (bad.status, bad.nodes) == (Status.UNKNOWN, "gpu004")
    assert "restarted" in bad.reason


def test_a_cut_off_output_does_not_clear_a_node() -> None:
    files = healthy()
    key = (1, "gpu002", "nic-pcie")
    files[key] = (files[key][0][:-4], 0)
    bad = worst("network.nic_pcie", files)
    assert (bad.status, bad.nodes) == (Status.UNKNOWN, "gpu002")


def test_rails_are_inferred_from_rdma_link_when_the_cluster_file_names_none() -> None:
    spec = {**CLUSTER, "interfaces": {"storage": ["eth1"], "management": ["eth0"]}}
    files = count(healthy(), "gpu002", "eth-stats", "tx_prio3_pause: ", 0, 60_000, "eth5")
    assert worst("network.pause_sender", files, spec).entities == ("gpu002:eth5",)


def test_a_port_in_init_waits_for_the_subnet_manager() -> None:
    files = edit(healthy(), "gpu002", "ib-port", "mlx5_1/ports/1/state:4: ACTIVE", "mlx5_1/ports/1/state:2: INIT")
    bad = worst("network.ib_port_state", files, INFINIBAND)
    assert (bad.entities, bad.faults, bad.certainty) == (("gpu002:mlx5_1",), ("ib-port-init",), "established")


def test_symbol_errors_count_as_a_rate_and_a_ceiling_is_unknown() -> None:
    name = "mlx5_1/ports/1/counters/symbol_error:"
    fast = worst("network.ib_errors", count(healthy(), "gpu002", "ib-counters", name, 100, 1900), INFINIBAND)
    assert (fast.entities, fast.faults) == (("gpu002:mlx5_1",), ("ib-symbol-errors",))
    stuck = worst("network.ib_errors", count(healthy(), "gpu002", "ib-counters", name, 65535, 65535), INFINIBAND)
    assert (stuck.status, stuck.nodes) == (Status.UNKNOWN, "gpu002")


def test_a_link_that_retrains_and_a_port_that_discards_are_found() -> None:
    name = "mlx5_0/ports/1/counters/link_error_recovery:"
    bad = worst("network.ib_errors", count(healthy(), "gpu002", "ib-counters", name, 1, 11), INFINIBAND)
    assert (bad.status, bad.faults) == (Status.CRITICAL, ("ib-link-recovery",))
    name = "mlx5_0/ports/1/counters/port_xmit_discards:"
    full = worst("network.ib_congestion", count(healthy(), "gpu002", "ib-counters", name, 0, 9000), INFINIBAND)
    assert (full.entities, full.faults) == (("gpu002:mlx5_0",), ("ib-congestion",))
