"""Faults of the network laid over a800-roce-256, each a folder of what looks different then."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from checks.nodesets import fold
from sample_clusters.make import nic, switch, switch_config
from sample_clusters.make.nic_counters import hw_counters, nic_stats
from sample_clusters.make.spec import Spec, Writer, fresh, taken_at
from sample_clusters.make.switch import DSCP_TO_TC, OLD_IMAGE, Fabric

CLUSTER = "a800-roce-256"


@dataclass(frozen=True)
class Overlay:
    """A function that writes the outputs, and the text of `expected.yaml`."""

    make: Callable[[Spec, Writer], None]
    expected: str


def write(spec: Spec, root: Path) -> None:
    """All overlays of this module under `root`; nothing for other clusters."""
    if spec.name != CLUSTER:
        return
    for name, overlay in OVERLAYS.items():
        folder = fresh(root / name)
        out = Writer(folder)
        overlay.make(spec, out)
        for number in (1, 2):
            stamp = taken_at(number).isoformat().replace("+00:00", "Z")
            (folder / f"round-{number}").mkdir(exist_ok=True)
            (folder / f"round-{number}" / "round.yaml").write_text(f"taken_at: {stamp}\n")
        (folder / "expected.yaml").write_text(overlay.expected)


# ---- what changes on the nodes


def _marked(spec: Spec, out: Writer, nodes: list[str], share_pct: float) -> None:
    """RDMA counters of nodes that receive this share of marked packets on their rails."""

    def counters(rail: int, round: int) -> dict[str, int]:
        found = hw_counters(spec, rail, round)
        if rail < spec.rails:
            marked = int(found["np_ecn_marked_roce_packets"] * 2500 * share_pct / 100)
            more = {"np_ecn_marked_roce_packets": marked, "np_cnp_sent": marked // 8, "rp_cnp_handled": marked // 9}
            found |= more
        return found

    for round in (1, 2):
        lines: list[str] = []
        rows: list[dict[str, object]] = []
        for rail in range(spec.rails + 1):
            found = counters(rail, round)
            folder = f"/sys/class/infiniband/mlx5_{rail}/ports/1/hw_counters"
            lines.extend(f"{folder}/{name}:{value}\n" for name, value in sorted(found.items()))
            rows.append({"ifindex": rail, "ifname": f"mlx5_{rail}", "port": 1, **found})
        out.put(round, fold(nodes), "ib-hwcounters", "".join(lines))
        out.put(round, fold(nodes), "rdma-stat", json.dumps(rows, separators=(",", ":")) + "\n")


def _stats(spec: Spec, out: Writer, nodes: list[str], rail: int, grow: dict[str, int], start: dict[str, int]) -> None:
    """`ethtool -S` of one rail with counters that stand at `start` at first and grow by `grow` in the window."""
    for round in (1, 2):
        text = nic_stats(spec, rail, round).split("\n")
        for n, line in enumerate(text):
            name, _, value = line.strip().partition(": ")
            if name in grow or name in start:
                more = start.get(name, 0) + (grow.get(name, 0) if round == 2 else 0)
                text[n] = f"     {name}: {int(value) + more}"
        out.put(round, fold(nodes), "eth-stats", "\n".join(text), f"eth{2 + rail}")


# ---- what changes on the switches


def _traffic(spec: Spec, fabric: Fabric, out: Writer, switches: list[str]) -> None:
    """Counters of switches under another load."""
    for round in (1, 2):
        for name in switches:
            switch.counters(spec, fabric, out, round, name)
            switch.queues(spec, fabric, out, round, name)


def _founding_case(spec: Spec, out: Writer) -> None:
    """An upgrade left half way, and a backup in the lossless class; an Xid 43 draws attention to a healthy node."""
    odd = "leaf03"
    shared = {**DSCP_TO_TC, "0": "3", "8": "3"}
    shares = {leaf: 2.1 + 0.3 * n for n, leaf in enumerate(spec.leaves)} | {odd: 0.0}
    fabric = Fabric(
        images={odd: OLD_IMAGE},
        thresholds={odd: (10485760, 20971520)},
        dscp_to_tc=shared,
        marked_pct={**shares, **dict.fromkeys(spec.spines, 0.6)},
        usual_util_pct=47.0,
    )
    switch.version(spec, fabric, out, 1, odd)
    switch.ecn(out, odd, *fabric.thresholds[odd])
    out.put(1, "switch-leaf", "sw-qos-json", switch_config.dscp(shared), "DSCP_TO_TC_MAP*")
    _traffic(spec, fabric, out, [*spec.leaves, *spec.spines])
    for leaf in spec.leaves:
        under = spec.under(leaf)
        _marked(spec, out, under, max(0.02, shares[leaf]))
        for rail in range(spec.rails):
            # DSCP 8 is priority 1 to the NIC; it is the switch that puts it beside RDMA
            backup = {"rx_prio1_bytes": 5_400_000_000, "rx_prio1_packets": 3_700_000} if rail == 0 else {}
            # what the odd leaf does not mark it has to pause
            pause = {"rx_prio3_pause": 91_000, "rx_prio3_pause_duration": 2_460_000} if leaf == odd else {}
            if backup or pause:
                start = {name: 40 * value for name, value in (backup | pause).items()}
                _stats(spec, out, under, rail, backup | pause, start)
    xid = "NVRM: Xid (PCI:0000:4d:00): 43, pid=91544, name=python3, Ch 00000008"
    out.put(1, "gpu017", "xid-log", f"2026-03-04T01:58:12+0000 gpu017 kernel: {xid}\n")


def _uplink_down(spec: Spec, out: Writer) -> None:
    """One leaf has lost all its links to one spine."""
    leaf, spine = "leaf02", "spine02"
    down = frozenset((leaf, port) for port, far in spec.uplink_ports() if far == spine)
    fabric = Fabric(down=down, marked_pct={leaf: 3.1})
    for name in (leaf, spine):
        switch.ports(spec, fabric, out, 1, name)
        for round in (1, 2):
            switch.fec(spec, fabric, out, round, name)
    _traffic(spec, fabric, out, [leaf, spine])
    lines = "".join(
        f"Mar  4 01:4{2 + k // 60}:{k % 60:02d}.318204 {leaf} NOTICE swss#orchagent: :- updatePortOperStatus: "
        f"Port {port} oper state set from up to down\n"
        for k, (_, port) in enumerate(sorted(down, key=lambda d: int(d[1].removeprefix("Ethernet"))))
    )
    out.put(1, leaf, "sw-log", lines)
    _marked(spec, out, [n for n in spec.gpu_nodes if n not in spec.under(leaf)], 0.9)


def _straggler_pcie(spec: Spec, out: Writer) -> None:
    """One NIC trained at PCIe generation 3: it takes in less than arrives and pauses its leaf."""
    node, rail = "gpu013", 2
    every = range(spec.rails + 1)
    pcie = "".join(nic._pcie(spec, k) for k in every).split("\n")
    prefix = f"/sys/class/infiniband/mlx5_{rail}/device/current_link_speed:"
    out.put(1, node, "nic-pcie", "\n".join(prefix + "8.0 GT/s PCIe" if x.startswith(prefix) else x for x in pcie))
    bus = nic.BUSES[rail]
    limited = (
        "126.016 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x16 link "
        f"at 0000:{int(bus, 16) - 1:02x}:00.0 (capable of 252.048 Gb/s with 16.0 GT/s PCIe x16 link)"
    )
    out.put(
        1, node, "pcie-limited-log", f"2026-02-19T07:41:14+0000 {node} kernel: mlx5_core 0000:{bus}:00.0: {limited}\n"
    )
    health = "".join(nic._start_lines(spec, k) for k in every).split("\n")
    mine = f"mlx5_core 0000:{bus}:00.0: "
    out.put(
        1,
        node,
        "fw-nic-health-log",
        "\n".join(
            x.partition(mine)[0] + mine + limited if mine in x and "available PCIe bandwidth" in x else x
            for x in health
        ),
    )
    pause = {
        "tx_prio3_pause": 184_200,
        "tx_prio3_pause_duration": 5_910_000,
        "tx_pause_ctrl_phy": 184_200,
        "rx_buffer_passed_thres_phy": 2_140,
        "outbound_pci_stalled_wr": 38,
        "outbound_pci_stalled_wr_events": 38,
    }
    _stats(spec, out, [node], rail, pause, {name: 200 * value for name, value in pause.items()})
    leaf, port = spec.port_of(node, rail)
    fabric = Fabric(paused={(leaf, port): 184_200})
    for round in (1, 2):
        switch.pauses(spec, fabric, out, round, leaf)


def _no_access_leaves(spec: Spec, out: Writer) -> None:
    for round in (1, 2):
        for leaf in spec.leaves[2:]:
            out.unreachable(round, leaf, f"oncall@{leaf}: Permission denied (publickey,password).")


def _nodes_unreachable(spec: Spec, out: Writer) -> None:
    said = {
        "gpu005": "ssh: connect to host gpu005 port 22: Connection timed out",
        "gpu018": "ssh: connect to host gpu018 port 22: No route to host",
        "gpu027": "kex_exchange_identification: Connection closed by remote host",
    }
    for round in (1, 2):
        for node, text in said.items():
            out.unreachable(round, node, text)


def _cases(*cases: str, note: str) -> str:
    return f"note: {note}\ncases:\n" + "".join(cases)


def _fault(runbook: str, faults: dict[str, str], *more: str, answers: str = "{}") -> str:
    lines = [f"  - runbook: {runbook}", f"    answers: {answers}", "    verdict: fault", "    conclusions:"]
    lines += [f"      - {{fault: {fault}, nodes: '{nodes}'}}" for fault, nodes in faults.items()]
    return "\n".join([*lines, *(f"    {x}" for x in more)]) + "\n"


def _open(runbook: str, unknown: str) -> str:
    return f"  - runbook: {runbook}\n    verdict: undecided\n    unknown: '{unknown}'\n"


FOUNDING = {"net-ecn-threshold-mismatch": "leaf03", "net-pfc-not-isolated": "leaf[01-04]"}
UPLINK = {"net-uplink-down": "leaf02", "net-oversubscription": "leaf02"}
PCIE = {"net-nic-pcie-downgrade": "gpu013"}
DRIFT = "accept: {net-ecn-threshold-mismatch: [net-firmware-drift]}"

OVERLAYS = {
    "founding-case": Overlay(
        _founding_case,
        _cases(
            _fault("training-slow", FOUNDING, DRIFT, answers="{what-changed: upgrade}"),
            _fault("triage", FOUNDING, "cleared: [gpu]", DRIFT),
            note="one leaf kept older software whose ECN thresholds never mark, and backups share the lossless class",
        ),
    ),
    "uplink-down": Overlay(
        _uplink_down,
        _cases(
            _fault("training-slow", UPLINK),
            _fault("triage", UPLINK, "cleared: [gpu]"),
            note="leaf02 lost its links to spine02, so half of its uplinks carry everything",
        ),
    ),
    "straggler-pcie": Overlay(
        _straggler_pcie,
        _cases(
            _fault("training-slow", PCIE),
            _fault("straggler", PCIE),
            _fault("triage", PCIE, "cleared: [gpu]"),
            note="one NIC of gpu013 trained at PCIe generation 3 and pauses its leaf",
        ),
    ),
    "no-access-leaves": Overlay(
        _no_access_leaves,
        _cases(
            _open("training-slow", "leaf[03-04]"),
            _open("triage", "leaf[03-04]"),
            note="two leaves refuse the login, so nothing is known of them",
        ),
    ),
    "nodes-unreachable": Overlay(
        _nodes_unreachable,
        _cases(
            _open("training-slow", "gpu[005,018,027]"),
            _open("triage", "gpu[005,018,027]"),
            note="three nodes cannot be asked, each for another reason",
        ),
    ),
}
