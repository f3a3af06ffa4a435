"""Parsers of the host side of the network: every form of each tool, what is missing stays unknown."""

from __future__ import annotations

import random
import time

import pytest

from checks import catalogue
from checks.interpret import interpret
from checks.outputs import Empty, Facts, NotAvailable, Outcome, Output, Raw, Unparsable
from checks.tools.ethtool import EthDriver, EthFec, EthLink, EthPause, EthRing, EthStats
from checks.tools.ethtool_module import EthModule
from checks.tools.ib_sysfs import Counters, IbPorts, NicFirmwares, NicLinks
from checks.tools.iproute import Addresses, ArpSettings, Links, Ping, Routes
from checks.tools.lldp import Neighbours
from checks.tools.net_log import NetLog, PcieLimits
from checks.tools.net_sysfs import Carriers, RoceEcns, TrafficClasses, Trusts
from checks.tools.nic_qos import DcbPfc, Gids, NicQos, RoceTos
from checks.tools.rdma import RdmaLinks
from tests.checks.rules.nic_files import healthy

TOOLS = {"rdma", "ib_sysfs", "ethtool", "net_sysfs", "net_log", "nic_qos", "iproute", "lldp"}
MINE = [c.id for c in catalogue.table().values() if c.tool in TOOLS]


def parsed(command: str, text: str, *, status: int = 0, stderr: str = "") -> Outcome:
    return interpret(Output("n", command, (), 1, text.encode(), stderr.encode(), status))


SAMPLES: dict[str, str] = {}
for _key, (_text, _status) in healthy().items():
    if _key[0] == 1 and _key[1] == "gpu001" and not _status:
        SAMPLES.setdefault(_key[2], _text)


def test_every_command_of_the_host_side_has_a_parser() -> None:
    assert [c for c in MINE if catalogue.parser(c) is None] == []


@pytest.mark.parametrize("command", sorted(SAMPLES))
def test_a_sample_reads_without_an_odd_line(command: str) -> None:
    facts = parsed(command, SAMPLES[command])
    assert isinstance(facts, Facts), facts
    assert facts.odd == ()


@pytest.mark.parametrize("command", sorted(SAMPLES))
def test_carriage_returns_and_a_banner_change_nothing(command: str) -> None:
    plain = parsed(command, SAMPLES[command])
    assert parsed(command, SAMPLES[command].replace("\n", "\r\n")) == plain
    banner = parsed(command, "Welcome to the cluster\n\nAuthorised use only\n" + SAMPLES[command])
    assert isinstance(banner, Facts)
    assert len(banner.model_dump_json()) - len(plain.model_dump_json()) < 4000  # type: ignore[union-attr]


@pytest.mark.parametrize("command", MINE)
def test_no_text_makes_a_parser_raise(command: str) -> None:
    parse = catalogue.parser(command)
    assert parse is not None
    rng = random.Random(command)
    texts = [SAMPLES.get(command, ""), *SAMPLES.values()]
    for text in texts:
        lines = text.split("\n")
        for n in rng.sample(range(len(lines)), min(12, len(lines))):
            parse(Raw.of("\n".join(lines[:n])))
            parse(Raw.of("\n".join([*lines[:n], lines[n][: len(lines[n]) // 2]])))
    for _ in range(20):
        parse(Raw.of(rng.randbytes(300)))
    for text in ("[", "{}", "[]", "[1]", "[[]]", '{"lldp":[[]]}', '[{"ifname":3}]', '{"prio_pfc":{"x":1}}', "null"):
        parse(Raw.of(text))


@pytest.mark.parametrize("command", MINE)
def test_the_output_of_another_command_is_not_read_as_facts(command: str) -> None:
    same = {"link-log": "fw-nic-health-log", "fw-nic-health-log": "link-log", "pcie-limited-log": "fw-nic-health-log"}
    for other, text in SAMPLES.items():
        # logs are all alike
        if other not in (command, same.get(command)) and (command, other) != ("ip-link", "ip-addr"):
            assert not isinstance(parsed(command, text), Facts), (command, other)


def test_a_cut_number_is_dropped_and_said() -> None:
    facts = parsed(
        "ib-counters",
        "/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error:0\n"
        "/sys/class/infiniband/mlx5_0/ports/1/counters/link_downed:1",
    )
    assert isinstance(facts, Counters)
    assert facts.ports[0].counters == {"symbol_error": 0}
    assert facts.odd[0].line == 2


def test_rdma_links_read_alike_from_json_and_both_texts() -> None:
    json = '[ {"ifindex":0,"ifname":"mlx5_0","port":1,"state":"DOWN","physical_state":"POLLING","netdev":"eth2"} ]\n'
    new = "link mlx5_0/1 state DOWN physical_state POLLING netdev eth2 \n"
    old = "1/1: mlx5_0/1: state DOWN physical_state POLLING netdev eth2\n"
    colon = "link mlx5_0/1: state DOWN physical_state POLLING netdev eth2\n"
    found = [parsed("rdma-link", t) for t in (json, new, old, colon)]
    assert all(isinstance(f, RdmaLinks) and f == found[0] for f in found)


def test_an_infiniband_link_has_no_netdev_and_a_node_without_devices_has_no_links() -> None:
    text = "link mlx5_0/1 subnet_prefix fe80:0000:0000:0000 lid 12 sm_lid 1 lmc 0 state INIT physical_state LINK_UP\n"
    facts = parsed("rdma-link", text)
    assert isinstance(facts, RdmaLinks)
    assert (facts.links[0].state, facts.links[0].netdev) == ("INIT", None)
    assert parsed("rdma-link", "[ ]\n") == RdmaLinks(links=())
    assert isinstance(parsed("rdma-link", ""), Empty)


def test_rdma_statistics_read_from_json_and_text() -> None:
    json = '[{"ifindex":0,"ifname":"mlx5_0","port":1,"np_cnp_sent":7,"out_of_sequence":0}]\n'
    text = "link mlx5_0/1 np_cnp_sent 7 out_of_sequence 0 \n"
    for sample in (json, text):
        facts = parsed("rdma-stat", sample)
        assert isinstance(facts, Counters)
        assert facts.ports[0].counters == {"np_cnp_sent": 7, "out_of_sequence": 0}


def test_port_states_keep_their_colons_and_rates_their_numbers() -> None:
    root = "/sys/class/infiniband/mlx5_0/ports/1"
    facts = parsed("ib-port", f"{root}/state:2: INIT\n{root}/rate:100 Gb/sec (4X EDR)\n{root}/sm_lid:0x0\n", status=2)
    assert isinstance(facts, IbPorts)
    port = facts.ports[0]
    assert (port.state, port.rate_gbps, port.sm_lid, port.phys_state) == ("INIT", 100.0, 0, None)


def test_a_card_that_fell_off_shows_no_width() -> None:
    root = "/sys/class/infiniband/mlx5_0/device"
    facts = parsed(
        "nic-pcie", f"{root}/current_link_speed:Unknown\n{root}/current_link_width:63\n{root}/numa_node:-1\n"
    )
    assert isinstance(facts, NicLinks)
    card = facts.devices[0]
    assert (card.speed_gts, card.width, card.numa_node) == (None, None, None)


def test_firmware_is_read_per_device() -> None:
    facts = parsed("nic-fw", SAMPLES["nic-fw"])
    assert isinstance(facts, NicFirmwares)
    assert {d.firmware for d in facts.devices} == {"20.39.3004"}
    assert len(facts.devices) == 5


def test_ethtool_says_down_why_and_unknown_speed() -> None:
    text = "Settings for eth2:\n\tSpeed: Unknown!\n\tDuplex: Unknown! (255)\n\tLink detected: no (No cable)\n"
    facts = parsed("eth-link", text)
    assert isinstance(facts, EthLink)
    assert (facts.speed_gbps, facts.duplex, facts.link) == (None, None, False)
    cut = parsed("eth-link", "Settings for eth2:\n\tSpeed: 200000Mb/s\n\tDuplex: Full\n")
    assert isinstance(cut, EthLink)
    assert cut.link is None


def test_statistics_of_four_thousand_counters_parse_fast_and_keep_their_lines() -> None:
    text = "NIC statistics:\n" + "".join(f"     rx{i}_packets: {i * 10**9}\n" for i in range(4000))
    raw = Raw.of(text)
    parse = catalogue.parser("eth-stats")
    assert parse is not None
    started = time.process_time()
    facts = parse(raw)
    assert time.process_time() - started < 0.5
    assert isinstance(facts, EthStats)
    assert (len(facts.counters), facts.counters["rx17_packets"], facts.lines["rx17_packets"]) == (4000, 17 * 10**9, 19)


def test_statistics_that_are_no_number_are_odd_and_other_lists_are_refused() -> None:
    facts = parsed("eth-stats", "NIC statistics:\n     rx_bytes: 5\n     rx_rate: fast\n     [0]: tx_drops: 3\n")
    assert isinstance(facts, EthStats)
    assert facts.counters == {"rx_bytes": 5, "[0]: tx_drops": 3}
    assert [o.line for o in facts.odd] == [3]
    assert isinstance(parsed("eth-stats", "Jobs submitted: 12\nJobs started: 9\nAgent queue size: 0\n"), Unparsable)


@pytest.mark.parametrize(
    ("line", "active"),
    [
        ("Active FEC encoding: RS", "RS"),
        ("Active FEC encodings: BaseR", "BaseR"),
        ("Active FEC encoding: None", "None"),
    ],
)
def test_fec_is_read_in_both_spellings(line: str, active: str) -> None:
    facts = parsed("eth-fec", f"FEC parameters for eth2:\nConfigured FEC encodings: Auto\n{line}\n")
    assert isinstance(facts, EthFec)
    assert (facts.active, facts.configured) == (active, ("Auto",))


def test_an_optic_gives_power_per_lane_limits_and_alarms() -> None:
    text = (
        "\tIdentifier                                : 0x18 (QSFP-DD Double Density 8X Pluggable Transceiver)\n"
        "\tModule temperature                        : 71.50 degrees C / 160.70 degrees F\n"
        "\tRcvr signal avg optical power(Channel 1)  : 0.9120 mW / -0.40 dBm\n"
        "\tRcvr signal avg optical power(Channel 2)  : 0.0000 mW / -inf dBm\n"
        "\tTransmit avg optical power (Channel 1)    : 1.1000 mW / 0.41 dBm\n"
        "\tModule temperature high warning           : On\n"
        "\tModule temperature high warning threshold : 70.00 degrees C / 158.00 degrees F\n"
        "\tLaser rx power low warning threshold      : 0.0794 mW / -11.00 dBm\n"
    )
    facts = parsed("eth-module", text)
    assert isinstance(facts, EthModule)
    assert (facts.rx_power_dbm, facts.tx_power_dbm) == ((-0.4, -40.0), (0.41,))
    assert facts.alarms == ("Module temperature high warning",)
    assert (facts.temperature_c, facts.temperature_high_warning_c, facts.rx_low_warning_dbm) == (71.5, 70.0, -11.0)


def test_driver_pause_and_rings_are_read() -> None:
    driver = parsed("eth-driver", SAMPLES["eth-driver"])
    assert isinstance(driver, EthDriver)
    pause = parsed("eth-pause", "Pause parameters for eth2:\nAutonegotiate:\toff\nRX:\t\ton\nTX:\t\tn/a\n")
    assert isinstance(pause, EthPause)
    assert (pause.autoneg, pause.rx, pause.tx) == (False, True, None)
    ring = parsed("eth-ring", SAMPLES["eth-ring"])
    assert isinstance(ring, EthRing)
    assert (ring.rx_max, ring.rx) == (2047, 511)


def test_links_read_from_json_text_and_brief() -> None:
    text = (
        "4: eth2@if7: <BROADCAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP mode DEFAULT group default qlen 1000\n"
        "    link/ether b8:ce:f6:00:00:02 brd ff:ff:ff:ff:ff:ff\n"
        "    RX: bytes  packets  errors  dropped missed  mcast\n"
        "    900        9        2       1       0       0\n"
    )
    facts = parsed("ip-link", text)
    assert isinstance(facts, Links)
    link = facts.links[0]
    assert (link.name, link.mtu, link.state, link.rx_errors, link.rx_dropped) == ("eth2", 9000, "UP", 2, 1)
    brief = parsed("ip-link", "eth2   DOWN   b8:ce:f6:00:00:02 <BROADCAST,MULTICAST>\n")
    assert isinstance(brief, Links)
    assert (brief.links[0].state, brief.links[0].mtu) == ("DOWN", None)
    json = parsed("ip-link", '[{},{"ifname":"eth2","mtu":9000,"operstate":"UP","stats64":{"rx":{"errors":3}}}]\n')
    assert isinstance(json, Links)
    assert (json.links[0].rx_errors, json.links[0].tx_errors) == (3, None)


def test_addresses_routes_sysctls_and_pings_are_read() -> None:
    addresses = parsed("ip-addr", "eth2  UP  10.20.0.1/16 fe80::1/64\n")
    assert isinstance(addresses, Addresses)
    assert addresses.interfaces[0].addresses == ("10.20.0.1/16", "fe80::1/64")
    routes = parsed("ip-route", "default via 10.0.0.1 dev eth0 \n10.20.0.0/16 dev eth2 table 102 src 10.20.0.1\n")
    assert isinstance(routes, Routes)
    assert [(r.to, r.interface, r.table) for r in routes.routes] == [
        ("default", "eth0", None),
        ("10.20.0.0/16", "eth2", "102"),
    ]
    arp = parsed("arp-sysctl", "net.ipv4.conf.all.arp_ignore = 0\nnet.ipv4.conf.all.rp_filter = 1\n")
    assert isinstance(arp, ArpSettings)
    assert (arp.arp_ignore, arp.arp_announce, arp.rp_filter) == (0, None, 1)
    ping = parsed(
        "ping-df",
        "ping: local error: message too long, mtu=1500\n\n--- 10.20.0.2 ping statistics ---\n"
        "3 packets transmitted, 0 received, +3 errors, 100% packet loss, time 2047ms\n",
        status=1,
    )
    assert isinstance(ping, Ping)
    assert (ping.sent, ping.received, ping.too_long) == (3, 0, True)


def test_sysfs_settings_are_read_per_interface() -> None:
    carrier = parsed("carrier", "/sys/class/net/eth2/carrier_changes:4\n/sys/class/net/eth2/carrier_down_count:2\n")
    assert isinstance(carrier, Carriers)
    assert (carrier.interfaces[0].changes, carrier.interfaces[0].up, carrier.interfaces[0].down) == (4, None, 2)
    trust = parsed("qos-trust", "/sys/class/net/eth2/qos/trust:pcp\n")
    assert isinstance(trust, Trusts)
    assert trust.interfaces[0].trust == "pcp"
    ecn = parsed("roce-ecn", SAMPLES["roce-ecn"].replace("eth3/ecn/roce_rp/enable/3:1", "eth3/ecn/roce_rp/enable/3:0"))
    assert isinstance(ecn, RoceEcns)
    row = ecn.of("eth3")
    assert row is not None
    assert (row.notifies[3], row.reacts[3], row.cnp_dscp, row.cnp_priority) == (True, False, 48, 6)
    tclass = parsed("roce-tclass", "/sys/class/infiniband/mlx5_0/tc/1/traffic_class:Global tclass=106\n")
    assert isinstance(tclass, TrafficClasses)
    assert tclass.devices[0].dscp == 26
    missing = parsed("roce-ecn", "", status=2, stderr="grep: /sys/class/net/*/ecn/roce_np: No such file or directory\n")
    assert isinstance(missing, NotAvailable)
    assert missing.kind == "unsupported"


def test_pfc_reads_from_dcb_in_both_forms_and_from_mlnx_qos() -> None:
    text = parsed(
        "qos-dcb", "pfc-cap 8 macsec-bypass off delay 0\nprio-pfc 0:off 1:off 2:off 3:on 4:on 5:off 6:off 7:off\n"
    )
    assert isinstance(text, DcbPfc)
    assert text.pfc == {3, 4}
    json = parsed("qos-dcb", SAMPLES["qos-dcb"])
    assert isinstance(json, DcbPfc)
    assert json.pfc == {3}
    mlnx = parsed("qos-mlnx", SAMPLES["qos-mlnx"])
    assert isinstance(mlnx, NicQos)
    assert (mlnx.trust, mlnx.pfc, mlnx.dscp_to_priority[26], mlnx.tc_of_priority[6]) == ("dscp", frozenset({3}), 3, 6)
    tos = parsed("roce-tos", "106\n")
    assert isinstance(tos, RoceTos)
    assert tos.tos == 106


def test_a_gid_table_that_says_more_than_it_shows_is_odd() -> None:
    whole = parsed("gids", SAMPLES["gids"])
    assert isinstance(whole, Gids)
    assert {g.index for g in whole.gids if g.ipv4 and g.version == 2} == {3}
    cut = parsed("gids", "\n".join(SAMPLES["gids"].split("\n")[:8]) + "\n")
    assert isinstance(cut, Gids)
    assert cut.odd


def test_link_events_are_named_by_interface_and_noise_is_told_apart() -> None:
    text = (
        "2026-03-04T01:12:09+0000 gpu017 kernel: mlx5_core 0000:5e:00.0 eth3: Link down\n"
        "2026-03-04T01:12:10+0000 gpu017 kernel: tg3 0000:04:00.0 eth0: Link is down\n"
        "2026-03-04T01:12:31+0000 gpu017 kernel: mlx5_core 0000:5e:00.0 eth3: Link up\n"
        "2026-03-04T01:13:00+0000 gpu017 systemd-networkd[881]: ib6: Lost carrier\n"
        "2026-03-04T01:14:00+0000 gpu017 kernel: mlx5_core 0000:5e:00.0: ACCESS_REG(0x805) op_mod(0x1) failed\n"
        "2026-03-04T01:15:00+0000 gpu017 kernel: mlx5_core 0000:5e:00.0: Port module event: module 0, Cable unplugged\n"
        "2026-03-04T01:16:00+0000 gpu017 kernel: mlx5_core 0000:5e:00.0: poll_health: reached miss count\n"
    )
    facts = parsed("link-log", text)
    assert isinstance(facts, NetLog)
    assert [(e.kind, e.device) for e in facts.events] == [
        ("down", "eth3"),
        ("down", "eth0"),
        ("up", "eth3"),
        ("down", "ib6"),
        ("noise", "0000:5e:00.0"),
        ("module", "0000:5e:00.0"),
        ("fatal", "0000:5e:00.0"),
    ]
    assert isinstance(parsed("link-log", "-- No entries --\n", status=1), Empty)
    assert isinstance(parsed("link-log", "kernel: NVRM: Xid (PCI:0000:1b:00): 79\n"), Unparsable)


def test_a_limited_slot_names_card_and_bridge() -> None:
    text = (
        "[    8.387840] mlx5_core 0000:43:00.0: 126.016 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x16 "
        "link at 0000:42:01.0 (capable of 252.048 Gb/s with 16.0 GT/s PCIe x16 link)\n"
    )
    facts = parsed("pcie-limited-log", text)
    assert isinstance(facts, PcieLimits)
    limit = facts.limits[0]
    assert (limit.driver, limit.pci, limit.bridge) == ("mlx5_core", "0000:43:00.0", "0000:42:01.0")
    assert (limit.speed_gts, limit.capable_speed_gts, limit.width) == (8.0, 16.0, 16)


LLDP = {
    "json, one": '{"lldp":{"interface":{"eth2":{"chassis":{"leaf01":{"id":{"type":"mac","value":"0c:29:ef:00:10:01"}}},'
    '"port":{"id":{"type":"local","value":"etp1"},"descr":"Ethernet0"}}}}}\n',
    "json0": '{"lldp":[{"interface":[{"name":"eth2","chassis":[{"id":[{"type":"mac","value":"0c:29:ef:00:10:01"}],'
    '"name":[{"value":"leaf01"}]}],"port":[{"id":[{"type":"local","value":"etp1"}],"descr":[{"value":"Ethernet0"}]}]}]}]}\n',
    "keyvalue": "lldp.eth2.via=LLDP\nlldp.eth2.chassis.mac=0c:29:ef:00:10:01\nlldp.eth2.chassis.name=leaf01\n"
    "lldp.eth2.port.local=etp1\nlldp.eth2.port.descr=Ethernet0\n",
    "plain": "----\nLLDP neighbors:\n----\nInterface:    eth2, via: LLDP, RID: 1, Time: 1 day\n  Chassis:     \n"
    "    ChassisID:    mac 0c:29:ef:00:10:01\n    SysName:      leaf01\n  Port:        \n"
    "    PortID:       local etp1\n    PortDescr:    Ethernet0\n",
}


@pytest.mark.parametrize("form", LLDP)
def test_a_neighbour_reads_alike_from_every_form(form: str) -> None:
    facts = parsed("lldp", LLDP[form])
    assert isinstance(facts, Neighbours)
    found = facts.of("eth2")
    assert found is not None
    assert (found.switch, found.port, found.port_id, found.chassis_id) == (
        "leaf01",
        "Ethernet0",
        "etp1",
        "0c:29:ef:00:10:01",
    )


def test_no_neighbour_is_an_answer_and_no_access_is_none() -> None:
    assert isinstance(parsed("lldp", '{"lldp":{}}\n'), Empty)
    denied = parsed("lldp", "", status=1, stderr="lldpcli: permission denied\n")
    assert isinstance(denied, NotAvailable)
