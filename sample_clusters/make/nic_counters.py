"""Counters of the NICs under a training job: they grow by what `WINDOW_S` seconds of it move."""

from __future__ import annotations

from sample_clusters.make.spec import WINDOW_S, Spec

BEFORE_S = 14_400
"""The job ran for four hours when the first round was taken."""

PAYLOAD, FRAME = 4096, 4178
CHANGES = ("rx", "tx")


def _seconds(round: int) -> int:
    return BEFORE_S + (round - 1) * WINDOW_S


def _packets(spec: Spec, k: int, round: int) -> tuple[int, int]:
    """RDMA packets received and sent so far; the storage port (the last) carries a tenth of a rail."""
    share = 0.1 if k == spec.rails else 1.0
    per_s = int(spec.nic_gbps * 1e9 / 8 * 0.34 / FRAME * share)
    seconds = _seconds(round)
    return (per_s + 37 * k) * seconds, (per_s - 29 * k) * seconds


def nic_stats(spec: Spec, k: int, round: int) -> str:
    """`ethtool -S` of RDMA device k, shortened to the counters that people read."""
    rx, tx = _packets(spec, k, round)
    seconds = _seconds(round)
    lossless = {"rx": rx, "tx": tx}
    other = {"rx": 21 * seconds, "tx": 19 * seconds}
    signals = {"rx": seconds // 2, "tx": seconds // 2 + 11}
    rows: dict[str, int] = {
        "rx_packets": other["rx"],
        "rx_bytes": other["rx"] * 412,
        "tx_packets": other["tx"],
        "tx_bytes": other["tx"] * 388,
        "tx_queue_stopped": 0,
        "tx_queue_dropped": 0,
        "rx_csum_complete": other["rx"],
        "rx_wqe_err": 0,
        "rx_buff_alloc_err": 0,
        "ch_poll": 48_211 + 3 * seconds,
        "rx_out_of_buffer": 0,
        "rx_if_down_packets": 0,
        "rx_steer_missed_packets": 0,
        "rx_vport_unicast_packets": other["rx"],
        "rx_vport_unicast_bytes": other["rx"] * 412,
        "tx_vport_unicast_packets": other["tx"],
        "tx_vport_unicast_bytes": other["tx"] * 388,
        "rx_vport_rdma_unicast_packets": rx,
        "rx_vport_rdma_unicast_bytes": rx * FRAME,
        "tx_vport_rdma_unicast_packets": tx,
        "tx_vport_rdma_unicast_bytes": tx * FRAME,
        "tx_packets_phy": tx + other["tx"] + signals["tx"],
        "rx_packets_phy": rx + other["rx"] + signals["rx"],
        "rx_crc_errors_phy": 0,
        "tx_bytes_phy": tx * (FRAME + 4) + other["tx"] * 392 + signals["tx"] * 74,
        "rx_bytes_phy": rx * (FRAME + 4) + other["rx"] * 416 + signals["rx"] * 74,
        "tx_multicast_phy": seconds // 30,
        "rx_multicast_phy": seconds // 30,
        "rx_in_range_len_errors_phy": 0,
        "rx_out_of_range_len_phy": 0,
        "rx_oversize_pkts_phy": 0,
        "rx_symbol_err_phy": 0,
        "tx_mac_control_phy": 3 + (round - 1),
        "rx_mac_control_phy": 211 + 2 * (round - 1),
        "rx_unsupported_op_phy": 0,
        "rx_pause_ctrl_phy": 211 + 2 * (round - 1),
        "tx_pause_ctrl_phy": 3 + (round - 1),
        "rx_discards_phy": 0,
        "tx_discards_phy": 0,
        "tx_errors_phy": 0,
        "rx_undersize_pkts_phy": 0,
        "rx_fragments_phy": 0,
        "rx_jabbers_phy": 0,
        "link_down_events_phy": 1,
        "rx_pcs_symbol_err_phy": 0,
        "rx_corrected_bits_phy": 1_204 * seconds + 311 * k,
        "rx_err_lane_0_phy": 0,
        "rx_err_lane_1_phy": 0,
        "rx_err_lane_2_phy": 0,
        "rx_err_lane_3_phy": 0,
        "rx_buffer_passed_thres_phy": 0,
        "rx_pci_signal_integrity": 0,
        "tx_pci_signal_integrity": 0,
        "outbound_pci_stalled_rd": 0,
        "outbound_pci_stalled_wr": 0,
        "outbound_pci_stalled_rd_events": 0,
        "outbound_pci_stalled_wr_events": 0,
        "outbound_pci_buffer_overflow": 0,
    }
    for priority in range(8):
        carried = {3: lossless, 6: signals, 0: other}.get(priority, {"rx": 0, "tx": 0})
        size = {3: FRAME + 4, 6: 74}.get(priority, 400)
        for side in CHANGES:
            rows[f"{side}_prio{priority}_bytes"] = carried[side] * size
            rows[f"{side}_prio{priority}_packets"] = carried[side]
            if side == "rx":
                rows[f"rx_prio{priority}_discards"] = 0
    rows |= {
        "rx_prio3_pause": 211 + 2 * (round - 1),
        "rx_prio3_pause_duration": 8_140 + 96 * (round - 1),
        "tx_prio3_pause": 3 + (round - 1),
        "tx_prio3_pause_duration": 41 + 12 * (round - 1),
        "rx_prio3_pause_transition": 105 + (round - 1),
        "tx_pause_storm_warning_events": 0,
        "tx_pause_storm_error_events": 0,
        "module_unplug": 0,
        "module_bus_stuck": 0,
        "module_high_temp": 0,
        "module_bad_shorted": 0,
    }
    return "NIC statistics:\n" + "".join(f"     {name}: {value}\n" for name, value in rows.items())


def management_stats(round: int) -> str:
    """`ethtool -S` of the management port (tg3)."""
    seconds = _seconds(round)
    rows = {
        "rx_octets": 9_412 * seconds,
        "rx_fragments": 0,
        "rx_ucast_packets": 31 * seconds,
        "rx_mcast_packets": 2 * seconds,
        "rx_bcast_packets": 4 * seconds,
        "rx_fcs_errors": 0,
        "rx_align_errors": 0,
        "rx_xon_pause_rcvd": 0,
        "rx_xoff_pause_rcvd": 0,
        "rx_jabbers": 0,
        "tx_octets": 7_120 * seconds,
        "tx_xon_sent": 0,
        "tx_xoff_sent": 0,
        "tx_mac_errors": 0,
        "tx_ucast_packets": 27 * seconds,
        "rx_discards": 0,
        "rx_errors": 0,
        "tx_discards": 0,
        "tx_errors": 0,
    }
    return "NIC statistics:\n" + "".join(f"     {name}: {value}\n" for name, value in rows.items())


def port_counters(spec: Spec, k: int, round: int) -> dict[str, int]:
    """`counters/*` of RDMA device k; data in units of 4 bytes."""
    rx, tx = _packets(spec, k, round)
    quiet = (
        "VL15_dropped",
        "excessive_buffer_overrun_errors",
        "link_downed",
        "link_error_recovery",
        "local_link_integrity_errors",
        "multicast_rcv_packets",
        "multicast_xmit_packets",
        "port_rcv_constraint_errors",
        "port_rcv_errors",
        "port_rcv_remote_physical_errors",
        "port_rcv_switch_relay_errors",
        "port_xmit_constraint_errors",
        "port_xmit_discards",
        "symbol_error",
    )
    return dict.fromkeys(quiet, 0) | {
        "port_rcv_data": rx * FRAME // 4,
        "port_rcv_packets": rx,
        "port_xmit_data": tx * FRAME // 4,
        "port_xmit_packets": tx,
        "port_xmit_wait": 18_211 * _seconds(round) // 60,
        "unicast_rcv_packets": rx,
        "unicast_xmit_packets": tx,
    }


def hw_counters(spec: Spec, k: int, round: int) -> dict[str, int]:
    """`hw_counters/*` of RDMA device k; one packet in 2500 arrives marked."""
    rx, _ = _packets(spec, k, round)
    marked = rx // 2500
    quiet = (
        "duplicate_request",
        "implied_nak_seq_err",
        "local_ack_timeout_err",
        "out_of_buffer",
        "out_of_sequence",
        "packet_seq_err",
        "req_cqe_error",
        "req_cqe_flush_error",
        "req_remote_access_errors",
        "req_remote_invalid_request",
        "resp_cqe_error",
        "resp_cqe_flush_error",
        "resp_local_length_error",
        "resp_remote_access_errors",
        "rnr_nak_retry_err",
        "roce_adp_retrans",
        "roce_adp_retrans_to",
        "roce_slow_restart",
        "roce_slow_restart_cnps",
        "roce_slow_restart_trans",
        "rp_cnp_ignored",
        "rx_atomic_requests",
        "rx_dct_connect",
        "rx_icrc_encapsulated",
    )
    return dict.fromkeys(quiet, 0) | {
        "lifespan": 12,
        "np_cnp_sent": marked // 8,
        "np_ecn_marked_roce_packets": marked,
        "rp_cnp_handled": marked // 9,
        "rx_read_requests": rx // 90_000,
        "rx_write_requests": rx // 60,
    }
