"""What the SONiC switches of a sample cluster print.

`Fabric` says how the switches are; overlays change a field of it and write again only what looks different.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from sample_clusters.make import switch_config
from sample_clusters.make.spec import Spec, Writer, taken_at

IMAGE = "202305.3"
OLD_IMAGE = "202205.2"
THRESHOLDS = (1048576, 2097152)
LOSSLESS = 3
PERIOD_S = 10
GROUPS = tuple(f"PG{k}" for k in range(8))
STORMS = (
    "QUEUE",
    "STATUS",
    "STORM DETECTED/RESTORED",
    "TX OK/DROP",
    "RX OK/DROP",
    "TX LAST OK/DROP",
    "RX LAST OK/DROP",
)

DSCP_TO_TC = {str(d): "3" if d == 26 else "6" if d == 48 else "0" for d in range(64)}


@dataclass(frozen=True)
class Fabric:
    """How the switches of a cluster are. Shares in % of packets, use in % of line rate.

    `paused` holds frames a minute that a host sends to a (switch, port); `down` the (switch, port) that are down.
    """

    images: Mapping[str, str] = field(default_factory=dict)
    thresholds: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    dscp_to_tc: Mapping[str, str] = field(default_factory=lambda: DSCP_TO_TC)
    marked_pct: Mapping[str, float] = field(default_factory=dict)
    usual_marked_pct: float = 0.05
    down: frozenset[tuple[str, str]] = frozenset()
    paused: Mapping[tuple[str, str], int] = field(default_factory=dict)
    restarted_s: Mapping[str, int] = field(default_factory=dict)
    usual_util_pct: float = 42.0


def of(spec: Spec) -> Fabric:
    """The switches as the cluster's story has them."""
    if spec.story == "heartbeat-loss":
        return Fabric(restarted_s={"leaf02": 20 * 60}, usual_util_pct=31.0)
    return Fabric(usual_util_pct=24.0 if spec.story == "cpu-starved" else 42.0)


def table(header: Sequence[str], rows: Sequence[Sequence[object]], *, left: bool = False) -> str:
    """A table as SONiC prints it, right-aligned unless said otherwise."""
    cells = [[str(c) for c in row] for row in rows]
    # headings are two wider than their text, as `tabulate` pads them
    widths = [max(len(h) + (0 if left else 2), *(len(r[k]) for r in cells), 0) for k, h in enumerate(header)]
    if not left:
        widths[0] = max(len(header[0]), *(len(r[0]) for r in cells), 0) if cells else len(header[0]) + 2

    def line(parts: Sequence[str]) -> str:
        put: Callable[[str, int], str] = str.ljust if left else str.rjust
        return "  ".join(put(p, w) for p, w in zip(parts, widths, strict=True)).rstrip()

    return "\n".join([line(header), "  ".join("-" * w for w in widths), *(line(r) for r in cells)]) + "\n"


@dataclass(frozen=True)
class Link:
    """One port of a switch and what it is cabled to; `far` is the other end's port."""

    port: str
    device: str
    far: str
    uplink: bool


def links(spec: Spec, switch: str) -> list[Link]:
    """Every cabled port of a switch, in port order."""
    if switch in spec.leaves:
        hosts = [
            Link(spec.port_of(n, k)[1], n, eth, False)
            for n in spec.under(switch)
            for k, eth in enumerate(spec.rdma_interfaces)
        ]
        return hosts + [Link(p, s, _spine_port(spec, switch, j), True) for j, (p, s) in enumerate(spec.uplink_ports())]
    found: list[Link] = []
    for leaf in spec.leaves:
        for j, (port, spine) in enumerate(spec.uplink_ports()):
            if spine == switch:
                found.append(Link(_spine_port(spec, leaf, j), leaf, port, True))
    return found


def _spine_port(spec: Spec, leaf: str, uplink: int) -> str:
    half = spec.uplinks // 2
    return f"Ethernet{4 * (spec.leaves.index(leaf) * half + uplink % half)}"


def _up(fabric: Fabric, switch: str, link: Link) -> bool:
    return (switch, link.port) not in fabric.down and (link.device, link.far) not in fabric.down


def write(spec: Spec, out: Writer, round: int, fabric: Fabric | None = None) -> None:
    """Everything the switch checks read, for all leaves and spines; what does not change only in the first round."""
    fabric = fabric or of(spec)
    if round == 1:
        settings(spec, fabric, out)
    quiet(spec, out, round)
    for switch in (*spec.leaves, *spec.spines):
        if round == 1:
            version(spec, fabric, out, round, switch)
            ports(spec, fabric, out, round, switch)
            log(spec, fabric, out, round, switch)
        fec(spec, fabric, out, round, switch)
        counters(spec, fabric, out, round, switch)
        queues(spec, fabric, out, round, switch)


def settings(spec: Spec, fabric: Fabric, out: Writer) -> None:
    """What is the same on every switch of a role, and the ECN profile of the switches that differ."""
    for role, switch in (("switch-leaf", spec.leaves[0]), ("switch-spine", spec.spines[0])):
        names = [link.port for link in links(spec, switch)]
        priorities = table(("Interface", "Lossless priorities"), [(p, LOSSLESS) for p in names], left=True)
        out.put(1, role, "sw-pfc-prio", f"\n{priorities}\n")
        head = ("PORT", "ACTION", "DETECTION TIME", "RESTORATION TIME")
        watched = table(head, [(p, "drop", 200, 200) for p in names])
        out.put(1, role, "sw-pfcwd-conf", "Changed polling interval to 200ms\n" + watched)
        peaks = [(p, 0, 0, 0, 18432 + 1024 * (k % 5), 0, 0, 0, 0) for k, p in enumerate(names)]
        out.put(1, role, "sw-pg-wm", "Ingress headroom per PG:\n" + table(("Port", *GROUPS), peaks))
        for pattern, text in switch_config.qos(names).items():
            out.put(1, role, "sw-qos-json", text, pattern)
        out.put(1, role, "sw-qos-json", switch_config.dscp(fabric.dscp_to_tc), "DSCP_TO_TC_MAP*")
        ecn(out, role, *THRESHOLDS)
        out.put(1, role, "sw-buffer", switch_config.buffers(spec.nic_gbps))
        out.put(1, role, "sw-hash", switch_config.hashing())
    for switch, (low, high) in fabric.thresholds.items():
        ecn(out, switch, low, high)


def ecn(out: Writer, folder: str, low: int, high: int) -> None:
    """The ECN profile, as shown and as configured."""
    out.put(1, folder, "sw-ecn", switch_config.block("Profile", switch_config.PROFILE, switch_config.wred(low, high)))
    entry = {f"WRED_PROFILE|{switch_config.PROFILE}": switch_config.wred(low, high)}
    out.put(1, folder, "sw-qos-json", switch_config.dump(entry), "WRED_PROFILE*")


def quiet(spec: Spec, out: Writer, round: int) -> None:
    """Counters of faults that a healthy fabric never shows."""
    for role, switch in (("switch-leaf", spec.leaves[0]), ("switch-spine", spec.spines[0])):
        # the switch leaves out queues that never stormed
        out.put(round, role, "sw-pfcwd", table(STORMS, []))
        drops = table(("Port", *GROUPS), [(link.port, *[0] * 8) for link in links(spec, switch)])
        out.put(round, role, "sw-pg-drop", "Ingress PG dropped packets:\n" + drops)


def version(spec: Spec, fabric: Fabric, out: Writer, round: int, switch: str) -> None:
    """`show version`, with the uptime of a switch that restarted."""
    n = (*spec.leaves, *spec.spines).index(switch)
    up_s = fabric.restarted_s.get(switch)
    at = taken_at(round)
    if up_s is None:
        up = f"{41 + n % 3} days, {3 + n:2d}:{12 + round:02d}"
    else:
        up = f"{(up_s + int((at - taken_at(1)).total_seconds())) // 60} min"
    image = fabric.images.get(switch, IMAGE)
    out.put(
        round,
        switch,
        "sw-version",
        f"""
SONiC Software Version: SONiC.{image}
SONiC OS Version: 11
Distribution: Debian 11.{7 if image == IMAGE else 3}
Kernel: 5.10.0-{23 if image == IMAGE else 12}-2-amd64
Build commit: {"9c41d7e2b" if image == IMAGE else "4f0a6b81c"}
Build date: {"Tue Oct 17 08:21:44 UTC 2023" if image == IMAGE else "Fri Dec  9 05:12:31 UTC 2022"}
Built by: builder@build-7

Platform: x86_64-nvidia_sn4700-r0
HwSKU: Mellanox-SN4700-O32
ASIC: mellanox
ASIC Count: 1
Serial Number: MT2301X{4100 + n:05d}
Model Number: MSN4700-WS2FO
Hardware Revision: A1
Uptime: {at:%H:%M:%S} up {up},  1 user,  load average: 0.{42 + n}, 0.38, 0.35
Date: {at:%a %d %b %Y %H:%M:%S}

Docker images:
REPOSITORY            TAG         IMAGE ID       SIZE
docker-orchagent      {image:<11} 6d4a91e2b8c3   338MB
docker-syncd-mlnx     {image:<11} 7f8b2c3d1a92   701MB
""",
    )


def ports(spec: Spec, fabric: Fabric, out: Writer, round: int, switch: str) -> None:
    """Status and neighbours of every port."""
    status, near = [], []
    for k, link in enumerate(links(spec, switch)):
        up = _up(fabric, switch, link)
        lane = 8 * (k // 2) + 4 * (k % 2)
        lanes = ",".join(str(lane + x) for x in range(4))
        speed, oper = f"{spec.nic_gbps}G", "up" if up else "down"
        cage = "QSFP56" if spec.nic_gbps == 200 else "QSFP-DD Double Density 8X Pluggable Transceiver"
        status.append((link.port, lanes, speed, 9100, "rs", f"etp{k + 1}", "routed", oper, "up", cage, "off"))
        if up:
            host = link.device.startswith("gpu")
            near.append((link.port, link.device, link.far, "O" if host else "BR", link.far))
    head = ("Interface", "Lanes", "Speed", "MTU", "FEC", "Alias", "Vlan", "Oper", "Admin", "Type", "Asym PFC")
    out.put(round, switch, "sw-if-status", table(head, status))
    near.append(("eth0", "mgmt-sw1", f"swp{(*spec.leaves, *spec.spines).index(switch) + 1}", "BR", "out of band"))
    lldp = table(("LocalPort", "RemoteDevice", "RemotePortID", "Capability", "RemotePortDescr"), near, left=True)
    footer = "-" * 50 + f"\nTotal entries displayed:  {len(near)}\n"
    out.put(round, switch, "sw-lldp", "Capability codes: (R) Router, (B) Bridge, (O) Other\n" + lldp + footer)


def fec(spec: Spec, fabric: Fabric, out: Writer, round: int, switch: str) -> None:
    """Codewords per port: many corrected, none lost."""
    rows = []
    for k, link in enumerate(links(spec, switch)):
        corrected = 81_000 + 977 * k + 5_400 * (round - 1)
        counts = (f"{corrected:,}", 0, 0, f"{1.1 + k % 7 / 10:.2f}e-09", "0.00e+00")
        rows.append((link.port, "U" if _up(fabric, switch, link) else "D", *counts))
    head = ("IFACE", "STATE", "FEC_CORR", "FEC_UNCORR", "FEC_SYMBOL_ERR", "FEC_PRE_BER", "FEC_POST_BER")
    out.put(round, switch, "sw-fec", table(head, rows))


def _load(spec: Spec, fabric: Fabric, switch: str) -> dict[str, float]:
    """Use of every port in %: traffic of uplinks that are down moves to those that are up."""
    found: dict[str, float] = {}
    cabled = links(spec, switch)
    live = [x for x in cabled if x.uplink and _up(fabric, switch, x)]
    every = [x for x in cabled if x.uplink]
    for k, link in enumerate(cabled):
        use = fabric.usual_util_pct * (1 + (k * 7 % 11 - 5) / 100)
        if link.uplink and switch in spec.leaves:
            use = min(97.0, use * len(every) / max(1, len(live)))
        found[link.port] = use if _up(fabric, switch, link) else 0.0
    return found


def counters(spec: Spec, fabric: Fabric, out: Writer, round: int, switch: str) -> None:
    """Ten seconds of port counters."""
    rows = []
    for link in links(spec, switch):
        use = _load(spec, fabric, switch)[link.port] * (1.01 if round == 2 else 1.0)
        rate = use / 100 * spec.nic_gbps * 1e9 / 8
        packets = f"{int(rate * PERIOD_S / 4178):,}"
        state = "U" if _up(fabric, switch, link) else "D"
        half = (packets, f"{rate / 1e6:.2f} MB/s", f"{use:.2f}%", 0, 0, 0)
        rows.append((link.port, state, *half, *half))
    one = ("OK", "BPS", "UTIL", "ERR", "DRP", "OVR")
    head = ("IFACE", "STATE", *(f"RX_{x}" for x in one), *(f"TX_{x}" for x in one))
    text = f"The rates are calculated within {PERIOD_S} seconds period\n" + table(head, rows)
    out.put(round, switch, "sw-counters", text)


def queues(spec: Spec, fabric: Fabric, out: Writer, round: int, switch: str) -> None:
    """Packets, marks, peaks and pauses of the queues."""
    share = fabric.marked_pct.get(switch, fabric.usual_marked_pct) / 100
    load = _load(spec, fabric, switch)
    counts: dict[str, dict[str, object]] = {}
    marks, peaks = [], []
    for k, link in enumerate(links(spec, switch)):
        per_s = int(load[link.port] / 100 * spec.nic_gbps * 1e9 / 8 / 4178)
        seconds = fabric.restarted_s.get(switch, 40_000) + 60 * (round - 1)
        packets = per_s * seconds
        counts[link.port] = {"time": f"{taken_at(round):%Y-%m-%dT%H:%M:%S}.104212"}
        for queue, n, size in (
            ("UC0", per_s // 900 * seconds, 412),
            ("UC3", packets, 4178),
            ("UC6", per_s // 400 * seconds, 82),
        ):
            if n:
                counts[link.port][queue] = {
                    "totalpacket": str(n),
                    "totalbytes": str(n * size),
                    "droppacket": "0",
                    "dropbytes": "0",
                }
        marked = int(per_s * share) * seconds
        for queue in range(8):
            n = marked if queue == LOSSLESS else 0
            marks.append((link.port, f"UC{queue}", 0, 0, f"{n:,}", f"{n * 4178:,}"))
        low, high = fabric.thresholds.get(switch, THRESHOLDS)
        peak = (high if share > 0.01 else low) + 4096 * (k % 13) if per_s else 0
        peaks.append((link.port, 1248, 0, 0, peak if switch not in fabric.thresholds else high // 2, 0, 0, 208, 0))
    out.put(round, switch, "sw-queue", json.dumps(counts, indent=4, sort_keys=True) + "\n")
    head = ("Port", "TxQ", "WredDrp/pkts", "WredDrp/bytes", "EcnMarked/pkts", "EcnMarked/bytes")
    tables = [marks[i : i + 8] for i in range(0, len(marks), 8)]
    out.put(round, switch, "sw-wred", "".join(f"For namespace :\n{table(head, rows)}\n" for rows in tables))
    title = "Egress shared pool occupancy per unicast queue:\n"
    out.put(round, switch, "sw-queue-wm", title + table(("Port", *(f"UC{q}" for q in range(8))), peaks))
    pauses(spec, fabric, out, round, switch)


def pauses(spec: Spec, fabric: Fabric, out: Writer, round: int, switch: str) -> None:
    """PFC frames per port; ports that mark much pause much, too."""
    busy = fabric.marked_pct.get(switch, fabric.usual_marked_pct) > 1 or switch in fabric.thresholds
    rx, tx = [], []
    for k, link in enumerate(links(spec, switch)):
        gained = (5 + k % 4) * (400 if busy else 1) * (round - 1)
        asked = fabric.paused.get((switch, link.port), 0) * (199 + round)
        received, sent = 1_204 + 31 * k + gained + asked, 2_310 + 17 * k + gained
        rx.append((link.port, *(f"{received:,}" if q == LOSSLESS else 0 for q in range(8))))
        tx.append((link.port, *(f"{sent:,}" if q == LOSSLESS else 0 for q in range(8))))
    names = [f"PFC{q}" for q in range(8)]
    text = table(("Port Rx", *names), rx) + "\n" + table(("Port Tx", *names), tx)
    out.put(round, switch, "sw-pfc", text)


def log(spec: Spec, fabric: Fabric, out: Writer, round: int, switch: str) -> None:
    """A quiet log, or an upgrade with the links coming back; and the temperatures."""
    start = taken_at(1)
    lines: list[tuple[float, str]] = [
        (-26_000.0 + 3_600 * k, f"INFO pmon#thermalctld: Fan speed set to {38 + k % 2}%") for k in range(7)
    ]
    if (up_s := fabric.restarted_s.get(switch)) is not None:
        boot = -float(up_s)
        lines += [
            (
                boot - 268,
                "NOTICE sonic-installer: Command: /usr/local/bin/sonic-installer install -y sonic-mellanox.bin",
            ),
            (boot - 96, f"NOTICE sonic-installer: image SONiC-OS-{IMAGE} installed, set as next boot"),
            (boot - 71, "NOTICE admin: User requested rebooting device ..."),
            (
                boot + 2,
                "NOTICE kernel: [    0.000000] Linux version 5.10.0-23-2-amd64 (debian-kernel@lists.debian.org)",
            ),
        ]
        for k, link in enumerate(links(spec, switch)):
            change = f"Port {link.port} oper state set from down to up"
            lines.append((boot + 166 + k * 0.4, f"NOTICE swss#orchagent: :- updatePortOperStatus: {change}"))
    lines.append((-31.5, "INFO bgp#bgpcfgd: Finished checking of all scheduled changes"))
    text = []
    for after, said in sorted(lines):
        at = start + timedelta(seconds=after)
        text.append(f"{at:%b} {at.day:2d} {at:%H:%M:%S}.{int(at.microsecond):06d} {switch} {said}\n")
    out.put(round, switch, "sw-log", "".join(text))
    stamp = f"{taken_at(round):%Y%m%d %H:%M:%S}"
    sensors = [
        ("ASIC", 61.0, 105.0, 120.0),
        ("Ambient Fan Side Temp", 27.5, "N/A", "N/A"),
        ("CPU Pack Temp", 44.0, 95.0, 100.0),
    ]
    rows = [(n, t, high, "N/A", crit, "N/A", False, stamp) for n, t, high, crit in sensors]
    head = ("Sensor", "Temperature", "High TH", "Low TH", "Crit High TH", "Crit Low TH", "Warning", "Timestamp")
    out.put(round, switch, "sw-env", table([h.replace("TH", "Th") for h in head], rows))
