"""Parsers of the host side of the network against recorded outputs: the facts that are true in each."""

from __future__ import annotations

import pytest

from checks.interpret import interpret
from checks.outputs import Facts, NotAvailable, Output
from tests import corpus

CORPUS = {
    "rdma/link-one-link-init": ("rdma-link", lambda f: [x.device for x in f.links if x.state == "INIT"], ["rocep7s0"]),
    "rdma/link-colon-old-format": ("rdma-link", lambda f: [x.netdev for x in f.links], ["ens21f0", "ens21f1"]),
    "rdma/link-text-polling": ("rdma-link", lambda f: {x.physical_state for x in f.links}, {"POLLING"}),
    "rdma/statistic-show-4-links": (
        "rdma-stat",
        lambda f: [p.counters["out_of_buffer"] for p in f.ports],
        [135, 0, 0, 0],
    ),
    "rdma/sysfs-h100-mlx5-1-link-downed-255": ("ib-counters", lambda f: f.of("mlx5_1").counters["link_downed"], 255),
    "rdma/sysfs-bf3-bond-counters": ("ib-port", lambda f: f.ports[0].rate_gbps, 200.0),
    "nic-settings/ethtool-bond1-200g-blank-in-ports": ("eth-link", lambda f: (f.speed_gbps, f.link), (200.0, True)),
    "nic-settings/ethtool-eth1-no-permission": ("eth-link", lambda f: (f.speed_gbps, f.link), (1.0, None)),
    "nic-settings/ethtool-a-enp0s25-off": ("eth-pause", lambda f: (f.autoneg, f.rx, f.tx), (True, False, False)),
    "nic-settings/ethtool-g-rx-453-of-4078": ("eth-ring", lambda f: (f.rx_max, f.rx, f.tx), (4078, 453, 4078)),
    "nic-settings/ethtool-i-mlx5-cx7-ofed-23.10": (
        "eth-driver",
        lambda f: (f.firmware, f.psid),
        ("28.39.3560", "MT_0000000838"),
    ),
    "nic-settings/ethtool-i-virtio": ("eth-driver", lambda f: (f.driver, f.firmware), ("virtio_net", None)),
    "nic-settings/ethtool-m-sfp28-lr-no-light": (
        "eth-module",
        lambda f: (f.rx_power_dbm, f.alarms),
        ((-40.0,), ("Laser rx power low alarm", "Laser rx power low warning")),
    ),
    "nic-settings/ethtool-m-sfp-dac-passive": ("eth-module", lambda f: (f.copper_length_m, f.rx_power_dbm), (2.0, ())),
    "nic-settings/ip-brief-one-down": (
        "ip-link",
        lambda f: [x.name for x in f.links if x.state == "DOWN"],
        ["enP7p1s0f0"],
    ),
    "nic-settings/ip-s-s-link-crc-length-54": ("ip-link", lambda f: (f.links[0].mtu, f.links[0].rx_errors), (1500, 54)),
    "nic-settings/ip-br-addr-8-rails-bond": ("ip-addr", lambda f: len(f.interfaces), 17),
    "ethtool-stats/mlx5-cx4-tx-pause": ("eth-stats", lambda f: f.counters["tx_global_pause_duration"], 555665182),
    "ethtool-stats/mlx5-overload-discards": ("eth-stats", lambda f: f.counters["rx_discards_phy"], 441063206498),
    "ethtool-stats/bnx2x-err-lines-all-zero": ("eth-stats", lambda f: set(f.counters.values()), {0}),
    "roce-qos/mlnx-qos-dscp30-on-prio6": (
        "qos-mlnx",
        lambda f: (f.pfc, f.dscp_to_priority[26], f.dscp_to_priority[30]),
        ({3}, 3, 6),
    ),
    "roce-qos/mlnx-qos-pcp-no-pfc": ("qos-mlnx", lambda f: (f.trust, f.pfc), ("pcp", frozenset())),
    "roce-qos/mlnx-qos-os-controlled-excerpt": ("qos-mlnx", lambda f: (f.trust, f.pfc), ("dscp", None)),
    "roce-qos/show-gids-bond": (
        "gids",
        lambda f: [g.index for g in f.gids if g.ipv4 and g.version == 2],
        [3],
    ),
    "lldp/json-dual-mgmt-ip": ("lldp", lambda f: f.of("eth1").port, "ethernet12a"),
    "kernel-net-pcie/ib6-six-flaps": ("link-log", lambda f: len(f.of("down")), 6),
    "kernel-net-pcie/mlx5-firmware-internal-error": (
        "fw-nic-health-log",
        lambda f: f.of("fatal")[0].pci,
        "0000:0d:00.0",
    ),
    "kernel-net-pcie/mlx5-limited-to-x8": (
        "pcie-limited-log",
        lambda f: [(x.pci, x.width, x.capable_width) for x in f.limits],
        [("0001:43:00.0", 8, 16)],
    ),
}


@pytest.mark.parametrize("entry", CORPUS)
def test_a_recorded_output_gives_its_facts(entry: str) -> None:
    command, look, expected = CORPUS[entry]
    facts = interpret(Output("n", command, (), 1, corpus.data(entry)))
    assert isinstance(facts, Facts), facts
    assert look(facts) == expected  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    ("entry", "command"),
    [
        ("ethtool-stats/lo-no-stats", "eth-stats"),
        ("nic-settings/ethtool-a-wlp3s0-not-supported", "eth-pause"),
        ("nic-settings/ethtool-g-bond-no-such-device", "eth-ring"),
    ],
)
def test_a_recorded_complaint_is_no_answer(entry: str, command: str) -> None:
    assert isinstance(interpret(Output("n", command, (), 1, corpus.data(entry))), NotAvailable)
