"""What SONiC switches print, in the forms of several releases."""

from __future__ import annotations

from typing import Any

import pytest

from checks import catalogue
from checks.outputs import Empty, Facts, NotAvailable, Raw, Unparsable
from sample_clusters.make import switch
from sample_clusters.make.switch import table
from sample_clusters.make.switch_config import block, wred
from tests import corpus
from tests.checks.rules.switch_files import fabric


def parse(command: str, text: str | bytes, *params: str) -> Any:
    parser = catalogue.parser(command)
    assert parser is not None
    return parser(Raw.of(text, params=params))


def of_leaf() -> dict[tuple[str, ...], str]:
    """Every switch output of one leaf: (command, *params) → text."""
    return {key[2:]: text for key, text in fabric().items() if key[:2] == (1, "leaf01")}


ALL = sorted(of_leaf())


@pytest.mark.parametrize("key", ALL, ids=lambda k: "@".join(k))
def test_an_output_reads_alike_with_a_banner_carriage_returns_and_colours(key: tuple[str, ...]) -> None:
    text = of_leaf()[key]
    plain = parse(key[0], text, *key[1:])
    assert isinstance(plain, Facts)
    assert not plain.odd
    assert parse(key[0], text.replace("\n", "\r\n"), *key[1:]) == plain
    coloured = "\n".join(f"\x1b[32m{line}\x1b[0m" if line else "" for line in text.split("\n"))
    assert parse(key[0], coloured, *key[1:]) == plain
    banner = parse(key[0], "Debian GNU/Linux 11 \\n \\l\n\nYou are on SONiC\n" + text, *key[1:])
    assert isinstance(banner, Facts)
    assert not banner.odd


@pytest.mark.parametrize("key", ALL, ids=lambda k: "@".join(k))
def test_an_output_cut_off_within_a_line_is_never_whole(key: tuple[str, ...]) -> None:
    text = of_leaf()[key]
    cut = parse(key[0], text[: len(text) * 2 // 3].rstrip("\n ")[:-1], *key[1:])
    assert not isinstance(cut, Facts) or cut.odd


@pytest.mark.parametrize("key", ALL, ids=lambda k: "@".join(k))
def test_the_output_of_another_switch_command_is_no_answer(key: tuple[str, ...]) -> None:
    for other, text in of_leaf().items():
        if other != key:
            assert isinstance(parse(key[0], text, *key[1:]), Unparsable | Empty), other


@pytest.mark.parametrize("key", ALL, ids=lambda k: "@".join(k))
def test_noise_is_no_answer(key: tuple[str, ...]) -> None:
    for text in ("bash: show: gibberish\n", "{]", "\x00\xff\n" * 9, "a  b\n-  -\n1  2\n"):
        assert not isinstance(parse(key[0], text, *key[1:]), Facts)


def test_port_status_of_a_release_without_fec_and_with_channels() -> None:
    head = ("Interface", "Lanes", "Speed", "MTU", "Alias", "Vlan", "Oper", "Admin", "Type", "Asym PFC")
    rows = [
        ("Ethernet0", "0,1,2,3", "100G", 9100, "etp1", "routed", "up", "up", "QSFP28 or later", "off"),
        ("Ethernet4", "4,5", "1000M", 9100, "etp2", "routed", "down", "up", "N/A", "off"),
        ("PortChannel1", "N/A", "200G", 9100, "N/A", "trunk", "N/A", "N/A", "N/A", "N/A"),
    ]
    facts = parse("sw-if-status", table(head, rows))
    assert [(p.name, p.speed_gbps, p.oper, p.fec) for p in facts.ports] == [
        ("Ethernet0", 100.0, "up", None),
        ("Ethernet4", 1.0, "down", None),
        ("PortChannel1", 200.0, None, None),
    ]
    assert facts.ports[0].type == "QSFP28 or later"
    assert [p.name for p in facts.physical] == ["Ethernet0", "Ethernet4"]


def test_rates_have_a_unit_of_their_own_in_every_row() -> None:
    head = ("IFACE", "STATE", "RX_OK", "RX_BPS", "RX_UTIL", "RX_ERR", "TX_OK", "TX_BPS", "TX_UTIL", "TX_ERR")
    rows = [
        ("Ethernet0", "U", "1,234,567", "812.40 B/s", "0.00%", 0, 7, "61.25 KB/s", "0.02%", "2"),
        ("Ethernet4", "D", "N/A", "N/A", "N/A", "N/A", "N/A", "N/A", "N/A", "N/A"),
    ]
    first, last = parse("sw-counters", "Last cached time was 2026-03-04T02:29:50\n" + table(head, rows)).ports
    assert (first.rx_ok, first.rx_bytes_per_s, first.tx_bytes_per_s, first.tx_err) == (1234567, 812.4, 61250.0, 2)
    assert (last.rx_ok, last.rx_util_pct, last.tx_err) == (None, None, None)


def test_fec_columns_of_a_newer_release_and_values_that_are_absent() -> None:
    head = ("IFACE", "STATE", "FEC_CORR", "FEC_UNCORR", "FEC_SYMBOL_ERR", "FEC_PRE_BER", "FEC_POST_BER", "FLR(O)")
    rows = [
        ("Ethernet0", "U", "9,007,199", "3", "4", "2.10e-08", "3.00e-13", "0"),
        ("Ethernet4", "N/A", "N/A", "N/A", "N/A", "N/A", "N/A", "N/A"),
    ]
    first, last = parse("sw-fec", table(head, rows)).ports
    assert (first.corrected, first.uncorrectable, first.post_ber) == (9007199, 3, 3e-13)
    assert (last.uncorrectable, last.post_ber, last.state) == (None, None, None)


def test_a_neighbour_table_shorter_than_its_footer_says_is_doubtful() -> None:
    rows = [("Ethernet0", "spine01", "Ethernet4", "BR", "to leaf"), ("eth0", "mgmt", "Gi 0/2", "B", "")]
    head = ("LocalPort", "RemoteDevice", "RemotePortID", "Capability", "RemotePortDescr")
    text = table(head, rows, left=True) + "-" * 50 + "\nTotal entries displayed:  "
    whole = parse("sw-lldp", text + "2\n")
    assert [(n.port, n.device, n.remote_port) for n in whole.neighbours] == [
        ("Ethernet0", "spine01", "Ethernet4"),
        ("eth0", "mgmt", "Gi 0/2"),
    ]
    assert not whole.odd
    assert parse("sw-lldp", text + "3\n").odd
    assert parse("sw-lldp", table(head, rows, left=True)).odd


def test_pfc_counters_without_the_second_table_are_doubtful() -> None:
    text = of_leaf()[("sw-pfc",)]
    facts = parse("sw-pfc", text)
    assert facts.row("rx", "Ethernet4").frames[3] == 1235
    assert facts.row("tx", "Ethernet4").frames[3] == 2327
    assert parse("sw-pfc", text.split("\n\n")[0] + "\n").odd


@pytest.mark.parametrize(("unit", "milliseconds"), [("MS", 20003.0), ("US", 20.003)])
def test_pause_history_in_either_unit(unit: str, milliseconds: float) -> None:
    head = ("Port", "Priority", "RX Pause Transitions", f"Total RX Pause Time {unit}", f"Recent RX Pause Time {unit}")
    rows = [("Ethernet0", "PFC3", 23, "20,003", "2,003"), ("Ethernet0", "PFC4", "N/A", "N/A", "N/A")]
    facts = parse("sw-pfc-hist", table(head, rows))
    assert (facts.rows[0].priority, facts.rows[0].total_ms) == (3, milliseconds)
    assert facts.rows[1].total_ms is None


def test_lossless_priorities_of_a_port() -> None:
    head = ("Interface", "Lossless priorities")
    facts = parse("sw-pfc-prio", "\n" + table(head, [("Ethernet0", "3,4"), ("Ethernet4", "N/A")], left=True) + "\n")
    assert [p.priorities for p in facts.ports] == [(3, 4), None]


def test_the_watchdog_and_its_history_column() -> None:
    head = ("PORT", "ACTION", "DETECTION TIME", "RESTORATION TIME", "HISTORY")
    text = "Changed polling interval to 400ms\n" + table(head, [("Ethernet0", "drop", 400, 401, "disable")])
    facts = parse("sw-pfcwd-conf", text)
    assert (facts.polling_ms, facts.ports[0].detection_ms, facts.ports[0].restoration_ms) == (400, 400, 401)
    assert isinstance(parse("sw-pfcwd-conf", table(head, [])), Empty)


def test_storms_of_the_watchdog() -> None:
    rows = [("Ethernet0:3", "stormed", "2/1", "100/300", "7/8", "0/200", "0/0"), ("Ethernet4:4", "N/A", *["0/0"] * 5)]
    facts = parse("sw-pfcwd", table(switch.STORMS, rows))
    first, last = facts.queues
    assert (first.port, first.queue, first.detected, first.restored, first.tx_dropped) == ("Ethernet0", 3, 2, 1, 300)
    assert (last.status, last.detected) == (None, 0)
    assert parse("sw-pfcwd", table(switch.STORMS, [])).queues == ()


def test_ecn_profiles_with_their_thresholds() -> None:
    facts = parse("sw-ecn", block("Profile", "AZURE_LOSSLESS", wred(250000, 1500000)) + "Total profiles: 1\n")
    (profile,) = facts.profiles
    assert (profile.name, profile.green_min, profile.green_max) == ("AZURE_LOSSLESS", 250000, 1500000)
    assert (profile.probability_pct, profile.mode, profile.line) == (5, "ecn_all", 1)
    assert isinstance(parse("sw-ecn", ""), Empty)


def test_configuration_as_dump_and_as_cut_out_of_the_file() -> None:
    dumped = parse("sw-qos-json", of_leaf()[("sw-qos-json", "DSCP_TO_TC_MAP*")], "DSCP_TO_TC_MAP*")
    (entry,) = dumped.of("DSCP_TO_TC_MAP")
    assert (entry.key, entry.get("26"), entry.get("0"), entry.line) == (("AZURE",), "3", "0", 2)
    cut = parse("sw-qos-json", '{"DSCP_TO_TC_MAP": {\n "AZURE": {"26": "3"}\n}}\n', "DSCP_TO_TC_MAP*")
    assert (cut.entries[0].key, cut.entries[0].fields, cut.entries[0].line) == (("AZURE",), (("26", "3"),), 2)
    assert parse("sw-qos-json", "{}\n", "QUEUE*").entries == ()
    assert isinstance(parse("sw-qos-json", '{"QUEUE|Ethernet0|3": {"value": {}}}', "WRED_PROFILE*"), Unparsable)


def test_buffers_with_negative_alpha() -> None:
    profile = {"dynamic_th": -2, "pool": "ingress_lossless_pool", "size": 1518, "xoff": 52224, "xon": 0}
    facts = parse("sw-buffer", block("Profile", "pg_lossless_100000_5m", profile))
    (found,) = facts.buffers
    assert (found.dynamic_th, found.xoff, found.xon, found.pool) == (-2, 52224, 0, "ingress_lossless_pool")
    none = "No buffer pool information available\nNo buffer profile information available\n"
    assert isinstance(parse("sw-buffer", none), Empty)


BOXED = """\
+--------+-------------------------------+
| Hash   | Configuration                 |
+========+===============================+
| ECMP   | +-------------+-------------+ |
|        | | Hash Field  | Algorithm   | |
|        | |-------------+-------------| |
|        | | SRC_IP      | CRC         | |
|        | | L4_SRC_PORT |             | |
|        | +-------------+-------------+ |
+--------+-------------------------------+
| LAG    | +-------------+-------------+ |
|        | | Hash Field  | Algorithm   | |
|        | |-------------+-------------| |
|        | | N/A         | N/A         | |
|        | +-------------+-------------+ |
+--------+-------------------------------+
"""
COLUMNS = "ECMP HASH    LAG HASH\n-----------  ----------\nSRC_IP       SRC_MAC\nL4_SRC_PORT\n"
JSON = '{"ecmp": {"hash_field": ["SRC_IP", "L4_SRC_PORT"], "algorithm": "CRC"}, "lag": {"hash_field": "N/A"}}'


@pytest.mark.parametrize("text", [BOXED, COLUMNS, JSON])
def test_hash_fields_in_every_form(text: str) -> None:
    assert parse("sw-hash", text).ecmp == ("SRC_IP", "L4_SRC_PORT")


def test_a_switch_without_configured_hash_uses_its_default() -> None:
    assert isinstance(parse("sw-hash", "No configuration is present in CONFIG DB\n"), Empty)


QUEUES_JSON = """\
{
    "Ethernet0": {
        "time": "2026-03-04T02:30:00.104212",
        "UC3": {
            "totalpacket": "81204", "totalbytes": "84,451,160",
            "droppacket": "N/A", "dropbytes": "0"
        }
    },
    "Ethernet4": {"time": "2026-03-04T02:30:00.104212"}
}
"""


def test_queue_counters_as_json_and_as_table() -> None:
    (queue,) = parse("sw-queue", QUEUES_JSON).queues
    assert (queue.port, queue.queue, queue.packets, queue.bytes) == ("Ethernet0", "UC3", 81204, 84451160)
    assert (queue.dropped_packets, queue.line) == (None, 4)
    head = ("Port", "TxQ", "Counter/pkts", "Counter/bytes", "Drop/pkts", "Drop/bytes")
    one = table(head, [("Ethernet0", "UC3", "81,204", "84,451,160", "0", "0"), ("Ethernet0", "ALL20", *["N/A"] * 4)])
    two = table(head, [("Ethernet4", "UC3", "5", "5", "1", "5")])
    text = f"For namespace :\n{one}\nFor namespace :\n{two}\n"
    facts = parse("sw-queue", text)
    assert not facts.odd
    assert [(q.port, q.packets, q.dropped_packets) for q in facts.queues] == [
        ("Ethernet0", 81204, 0),
        ("Ethernet0", None, None),
        ("Ethernet4", 5, 1),
    ]
    assert isinstance(parse("sw-queue", "{}"), Empty)


def test_ecn_marks_as_json() -> None:
    text = '{"Ethernet0": {"UC3": {"wreddroppacket": "0", "ecnmarkedpacket": "63", "ecnmarkedbytes": "72"}}}'
    (queue,) = parse("sw-wred", text).queues
    assert (queue.marked_packets, queue.wred_dropped_packets) == (63, 0)
    assert isinstance(parse("sw-wred", QUEUES_JSON), Unparsable)


def test_drop_counters_that_are_switched_off_are_not_available() -> None:
    text = "Warning: PG counters are disabled. Use 'counterpoll pg-drop enable' to enable polling\n"
    assert isinstance(parse("sw-pg-drop", text), NotAvailable)


def test_peaks_of_shared_and_headroom_are_not_mixed_up() -> None:
    text = table(("Port", *(f"PG{k}" for k in range(8))), [("Ethernet0", *range(8))])
    assert parse("sw-pg-wm", "Ingress headroom per PG:\n" + text).ports[0].values[3] == 3
    assert isinstance(parse("sw-pg-wm", "Ingress shared pool occupancy per PG:\n" + text), Unparsable)


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("up 41 days,  3:12,  1 user,  load average: 0.42, 0.38, 0.35", 41 * 86400 + 3 * 3600 + 12 * 60),
        ("up 20 min,  2 users,  load average: 0.42, 0.38, 0.35", 1200),
        ("up 1 day, 4 min,  1 user,  load average: 0.1, 0.1, 0.1", 86400 + 240),
        ("up  3:07,  0 users,  load average: 0.1, 0.1, 0.1", 3 * 3600 + 7 * 60),
        ("up 2 weeks, 3 days, 4 hours, 5 minutes", 14 * 86400 + 3 * 86400 + 4 * 3600 + 300),
    ],
)
def test_uptime_in_every_wording(said: str, seconds: float) -> None:
    text = f"\nSONiC Software Version: SONiC.202305.3\nHwSKU: ACS-X\nUptime: 02:30:00 {said}\n\nDocker images:\n"
    facts = parse("sw-version", text)
    assert (facts.image, facts.hwsku, facts.uptime_s, facts.odd) == ("SONiC.202305.3", "ACS-X", seconds, ())


def test_events_of_a_log_with_and_without_a_year() -> None:
    said = [
        "leaf02 NOTICE swss#orchagent: :- updatePortOperStatus: Port Ethernet8 oper state set from up to down",
        "leaf02 NOTICE swss#orchagent: :- startWdActionOnQueue: PFC Watchdog detected PFC storm on port Ethernet16",
        "leaf02 NOTICE admin: User requested rebooting device ...",
        "leaf02 INFO pmon#thermalctld: all fine",
    ]
    for stamp in ("Mar  4 02:10:0{}.118240", "2026 Mar  4 02:10:0{}.118240", "2026-03-04T02:10:0{}.118240+00:00"):
        text = "".join(f"{stamp.format(n)} {x}\n" for n, x in enumerate(said))
        facts = parse("sw-log", text)
        assert [(e.kind, e.port) for e in facts.events] == [
            ("link-down", "Ethernet8"),
            ("pfc-storm", "Ethernet16"),
            ("reboot", ""),
        ]
        assert facts.lines == 4
        assert facts.events[0].at is not None
        assert facts.events[0].at.minute == 10


EEPROM = """\
Ethernet0: SFP EEPROM detected
        Identifier: QSFP56
        Vendor Name: Acme
        ChannelMonitorValues:
                RX1Power: -1.6622dBm
                RX2Power: -infdBm
        ChannelThresholdValues:
                RxPowerLowWarning : -9.5001dBm
        ModuleMonitorValues:
                Temperature: 61.5C
        ModuleThresholdValues:
                TempHighWarning : 70.0000C

Ethernet4: SFP EEPROM Not detected
"""


def test_optics_with_power_limits_and_an_empty_cage() -> None:
    first, last = parse("sw-xcvr", EEPROM).optics
    assert (first.rx_dbm, first.rx_low_warning_dbm, first.temperature_c) == ((-1.6622, None), -9.5001, 61.5)
    assert (first.temperature_high_warning_c, first.vendor) == (70.0, "Acme")
    assert (last.port, last.present, last.rx_dbm) == ("Ethernet4", False, ())


TRUTHS: list[tuple[str, str, Any]] = [
    ("fec-stats-uncorrectable", "sw-fec", lambda f: [(p.name, p.uncorrectable) for p in f.ports][:2]),
    ("interfaces-status-mixed-types", "sw-if-status", lambda f: [p.name for p in f.physical if p.oper == "down"]),
    ("lldp-table", "sw-lldp", lambda f: {n.port: n.device for n in f.neighbours}),
    (
        "pfc-counters-all-priorities",
        "sw-pfc",
        lambda f: {r.port: (r.frames[3], f.row("tx", r.port).frames[3]) for r in f.rx},
    ),
    ("pfc-counters-zero", "sw-pfc", lambda f: [(r.port, sum(r.frames)) for r in (*f.rx, *f.tx)]),
    ("platform-temperature-ok", "sw-env", lambda f: (f.sensors[0].temperature_c, any(s.warning for s in f.sensors))),
    (
        "queue-counters-drops",
        "sw-queue",
        lambda f: next(
            (q.packets, q.bytes, q.dropped_packets, q.dropped_bytes)
            for q in f.queues
            if (q.port, q.queue) == ("Ethernet0", "UC3")
        ),
    ),
    (
        "transceiver-dom-qsfp",
        "sw-xcvr",
        lambda f: (f.optics[0].rx_dbm, f.optics[0].temperature_c, f.optics[0].voltage_v),
    ),
    (
        "wred-counters-ecn-marked",
        "sw-wred",
        lambda f: next((q.wred_dropped_packets, q.marked_packets) for q in f.queues if q.queue == "UC3"),
    ),
    (
        "interfaces-counters-period-5s",
        "sw-counters",
        lambda f: (len(f.ports), sum(p.rx_drp + p.tx_drp for p in f.ports)),
    ),
]


@pytest.mark.parametrize(("name", "command", "seen"), TRUTHS, ids=[t[0] for t in TRUTHS])
def test_recorded_outputs_read_as_they_are(name: str, command: str, seen: Any) -> None:
    entry = corpus.entry(f"switch-sonic/{name}")
    facts = parse(command, corpus.data(entry["id"]))
    assert isinstance(facts, Facts)
    assert not facts.odd
    truth = entry["truth"]
    expected = {
        "fec-stats-uncorrectable": lambda: [
            ("Ethernet0", truth["eth0"]["uncorr"]),
            ("Ethernet4", truth["eth4"]["uncorr"]),
        ],
        "interfaces-status-mixed-types": lambda: truth["down_ports_admin_up"],
        "lldp-table": lambda: truth["neighbours"],
        "pfc-counters-all-priorities": lambda: {p: (n, truth["tx_pfc3"][p]) for p, n in truth["rx_pfc3"].items()},
        "pfc-counters-zero": lambda: [(p, 0) for p in ("Ethernet0", "Ethernet4", "Ethernet8", "Ethernet12") * 2],
        "platform-temperature-ok": lambda: (truth["asic_c"], bool(truth["warnings"])),
        "queue-counters-drops": lambda: tuple(
            truth["eth0_uc3"][k] for k in ("pkts", "bytes", "drop_pkts", "drop_bytes")
        ),
        "transceiver-dom-qsfp": lambda: (tuple(truth["rx_dbm"]), truth["temp_c"], truth["vcc"]),
        "wred-counters-ecn-marked": lambda: (truth["uc3"]["wred_drop_pkts"], truth["uc3"]["ecn_marked_pkts"]),
        "interfaces-counters-period-5s": lambda: (truth["interfaces"], truth["drops"]),
    }
    assert seen(facts) == expected[name]()
