"""Does RDMA leave the nodes in the lossless class, with PFC on it and congestion control at work?"""

from __future__ import annotations

from typing import TypeVar

from checks.findings import Certainty, Evidence, Status
from checks.judgement import Judgement, ok
from checks.outputs import Facts, NotAvailable
from checks.rules import Read, rule
from checks.rules.network.ports import Growth, Rail, Rails, against_peers, eth_growths, ib_growths, prevailing
from checks.rules.network.switch_common import lossless_priority, only_roce
from checks.tools.ethtool import EthStats
from checks.tools.iproute import ArpSettings
from checks.tools.net_sysfs import RoceEcns, TrafficClasses, Trusts
from checks.tools.nic_qos import DcbPfc, NicQos
from checks.view import Reading, View, observed

F = TypeVar("F", bound=Facts)

BUSY_BYTES = 100_000_000
"""Bytes of a window from which on it says something about where traffic goes (100 MB, a blink of a training step)."""

RIGHT_SHARE_PCT = 90.0
"""Share of a rail's bytes that must be in the lossless class; the rest is ARP, LLDP and connection set-up."""

DOUBLE, HALF = 1.6, 0.4
"""One rail that carries the bytes of two shows near 2, the other near 0; balanced rails differ by a few per cent."""

MARKS_TO_JUDGE = 1000


@rule(
    "network.lossless_class",
    title="Does RDMA travel in the lossless class?",
    why="Unmarked RDMA shares the best-effort queue: no PFC protects it, and every drop costs a retransmission.",
    scope="entity",
    reads=[
        Read("eth-stats", rounds=2),
        Read("rdma-link", optional=True),
        Read("roce-tclass", optional=True),
        Read("qos-trust", optional=True),
    ],
    thresholds=["roce-prio"],
    faults=["net-dscp-mismarked"],
    applies=only_roce,
)
def lossless_class(view: View) -> list[Judgement]:
    """Bytes per priority over the window; the settings only where there is no traffic to see."""
    rails = Rails(view)
    priority = lossless_priority(view)
    bad: list[tuple[Growth, int, float]] = []
    right: set[str] = set()
    found: list[Judgement] = []
    for node in rails.nodes:
        growths, without = eth_growths(view, rails, node)
        found.extend(without)
        idle = 0
        wrong = 0
        for growth in growths:
            by_priority = {p: g for p in range(8) if (g := growth.of(f"tx_prio{p}_bytes")) is not None}
            total = sum(by_priority.values())
            if not by_priority:
                found.append(growth.unknown("bytes per priority are not counted"))
                idle += 1
            elif total < BUSY_BYTES:
                idle += 1
                if not _by_settings(view, growth.rail):
                    found.append(growth.unknown("too little traffic in the window to see its class"))
            elif (share := 100 * by_priority.get(priority, 0) / total) < RIGHT_SHARE_PCT:
                bad.append((growth, max(by_priority, key=lambda p: by_priority[p]), share))
                wrong += 1
        if idle or without:
            found.extend(j for r in rails.of(node) if (j := _by_settings(view, r)))
        elif growths and not wrong:
            right.add(node)
            name = f"tx_prio{priority}_bytes"
            found.append(ok(f"RDMA leaves in priority {priority}", node, evidence=growths[0].quote(name)))
    for growth, other, share in bad:
        node = growth.rail.node
        rdma = growth.of("tx_vport_rdma_unicast_bytes")
        # without RDMA counters the bytes could be of something else on the rail
        certainty: Certainty = "hypothesis" if rdma is None or rdma < BUSY_BYTES else against_peers(len(right))
        found.append(
            Judgement(
                Status.CRITICAL,
                f"RDMA leaves in priority {other}, not in the lossless priority {priority}",
                nodes=(node,),
                entities=(growth.rail.port,),
                observed=(observed(f"share of priority {priority}", round(share, 2), "%", node),),
                threshold=view.against("roce-prio"),
                evidence=(*growth.quote(f"tx_prio{other}_bytes"), *_settings(view, growth.rail)),
                faults=("net-dscp-mismarked",),
                certainty=certainty,
            )
        )
    return found


def _by_settings(view: View, rail: Rail) -> Judgement | None:
    """A setting that marks nothing, seen without traffic: a hint, not proof."""
    trusts = view.newest("qos-trust", rail.node, Trusts)
    row = next((t for t in trusts.facts.interfaces if t.interface == rail.netdev), None) if trusts.facts else None
    dscp = view.cluster.spec.fabric.dscp
    if row is None or row.trust == "dscp" or dscp is None:
        return None
    return Judgement(
        Status.WARN,
        "a rail trusts the VLAN priority, while the fabric marks with DSCP",
        nodes=(rail.node,),
        entities=(rail.port,),
        evidence=(trusts.quote(row.line),),
        faults=("net-dscp-mismarked",),
        certainty="hypothesis",
    )


def _settings(view: View, rail: Rail) -> tuple[Evidence, ...]:
    found: list[Evidence] = []
    classes = view.newest("roce-tclass", rail.node, TrafficClasses)
    trusts = view.newest("qos-trust", rail.node, Trusts)
    found.extend(
        classes.quote(c.line) for c in (classes.facts.devices if classes.facts else ()) if c.device == rail.device
    )
    found.extend(
        trusts.quote(t.line) for t in (trusts.facts.interfaces if trusts.facts else ()) if t.interface == rail.netdev
    )
    return tuple(found)


@rule(
    "network.pfc_priority",
    title="Is PFC on for the lossless priority, and only where the fabric expects it?",
    why="PFC on another priority than the switch's protects nothing: RDMA drops while best effort is paused.",
    scope="entity",
    reads=[
        "qos-dcb",
        Read("qos-mlnx", optional=True),
        Read("eth-stats", optional=True),
        Read("rdma-link", optional=True),
    ],
    thresholds=["roce-prio"],
    faults=["net-pfc-priority-mismatch"],
    applies=only_roce,
)
def pfc_priority(view: View) -> list[Judgement]:
    """Priorities with PFC on each rail, by every tool that tells."""
    rails = Rails(view)
    said = {r: _pfc_of(view, r) for n in rails.nodes for r in rails.of(n) if r.netdev}
    declared = view.cluster.spec.fabric.lossless_priority
    usual = prevailing(pfc for sources in said.values() for pfc, _ in sources.values())
    priority = lossless_priority(view)
    found: list[Judgement] = []
    good = {n for n in rails.nodes if all(priority in p for r in said if r.node == n for p, _ in said[r].values())}
    for node in rails.nodes:
        mine = {r: sources for r, sources in said.items() if r.node == node}
        if not mine:
            found.append(rails.unmapped(node))
        unread = wrong = 0
        for rail, sources in mine.items():
            off = {name: (pfc, quote) for name, (pfc, quote) in sources.items() if priority not in pfc}
            for pfc, quote in list(off.values())[:1]:
                wrong += 1
                on = ", ".join(str(p) for p in sorted(pfc)) or "none"
                sure = against_peers(len(good - {node})) if declared is not None or usual != pfc else "hypothesis"
                found.append(
                    Judgement(
                        Status.CRITICAL,
                        f"PFC is on for priority {on}, not for {priority}" if pfc else "PFC is off on a rail",
                        nodes=(node,),
                        entities=(rail.port,),
                        observed=(observed("priorities with PFC", on, "", node),),
                        threshold=view.against("roce-prio"),
                        evidence=quote,
                        faults=("net-pfc-priority-mismatch",),
                        certainty=sure,
                    )
                )
            dcb = view.newest("qos-dcb", node, DcbPfc, (rail.netdev,))
            if not off and dcb.facts is None and not (_not_installed(dcb) and "qos-mlnx" in sources):
                unread += 1
                found.append(dcb.unknown())
        if mine and not unread and not wrong:
            quote = next(iter(next(iter(mine.values())).values()))[1]
            found.append(ok(f"PFC is on for priority {priority}", node, evidence=quote))
    return found


def _not_installed(reading: Reading[F]) -> bool:
    """True when the node said that it has no such tool; an output nobody recorded could hold anything."""
    return isinstance(reading.outcome, NotAvailable) and reading.outcome.kind in ("absent", "unsupported")


def _pfc_of(view: View, rail: Rail) -> dict[str, tuple[frozenset[int], tuple[Evidence, ...]]]:
    """{command: (priorities with PFC, evidence)}; per-priority pause counters exist only where PFC is on."""
    found: dict[str, tuple[frozenset[int], tuple[Evidence, ...]]] = {}
    dcb = view.newest("qos-dcb", rail.node, DcbPfc, (rail.netdev,))
    if dcb.facts:
        found["qos-dcb"] = (dcb.facts.pfc, (dcb.quote(dcb.facts.line),))
    mlnx = view.newest("qos-mlnx", rail.node, NicQos, (rail.netdev,))
    if mlnx.facts and mlnx.facts.pfc is not None:
        found["qos-mlnx"] = (mlnx.facts.pfc, (mlnx.quote(mlnx.facts.pfc_line or 1),))
    stats = view.newest("eth-stats", rail.node, EthStats, (rail.netdev,))
    counted = stats.facts.counters if stats.facts else {}
    if "tx_prio0_bytes" in counted:
        on = frozenset(p for p in range(8) if f"rx_prio{p}_pause" in counted)
        line = next((stats.known.lines[f"rx_prio{p}_pause"] for p in sorted(on)), stats.known.lines["tx_prio0_bytes"])
        found["eth-stats"] = (on, (stats.quote(line),))
    return found


@rule(
    "network.cnp_enabled",
    title="Do the NICs answer ECN marks with CNPs and slow down on them?",
    why="A receiver that sends no CNPs, or a sender that ignores them, lets queues grow until PFC stops the port.",
    scope="entity",
    reads=["roce-ecn", Read("ib-hwcounters", rounds=2, optional=True), Read("rdma-link", optional=True)],
    thresholds=["roce-prio"],
    faults=["net-cnp-broken"],
    applies=only_roce,
)
def cnp_enabled(view: View) -> list[Judgement]:
    """The switches of congestion control, and whether CNPs follow the marks."""
    rails = Rails(view)
    priority = lossless_priority(view)
    off: list[tuple[Rail, str, tuple[Evidence, ...]]] = []
    on: set[str] = set()
    found: list[Judgement] = []
    for node in rails.nodes:
        reading = view.newest("roce-ecn", node, RoceEcns)
        growths, without = ib_growths(view, rails, node, "ib-hwcounters")
        silent = [j for g in growths if (j := _ignored(g))]
        found.extend(silent)
        if reading.facts is None:
            # without the vendor's driver only the counters can tell
            answered = [g for g in growths if (g.of("np_ecn_marked_roce_packets") or 0) > MARKS_TO_JUDGE]
            if answered and not silent and _not_installed(reading):
                found.append(ok("CNPs follow the marks", node, evidence=answered[0].quote("np_cnp_sent")))
            elif not silent:
                found.append(reading.unknown())
            continue
        own = [r for r in rails.of(node) if r.netdev]
        rows = {r: reading.facts.of(r.netdev) for r in own}
        wrong = 0
        for rail, row in rows.items():
            sides = (("np", row.notifies), ("rp", row.reacts)) if row else ()
            for side, table in sides:
                if table.get(priority) is False and row:
                    what = "send CNPs" if side == "np" else "slow down on CNPs"
                    off.append((rail, what, (reading.quote(row.lines[f"{side}/enable/{priority}"]),)))
                    wrong += 1
        blank = [r for r, row in rows.items() if not row or priority not in row.notifies or priority not in row.reacts]
        if not own:
            found.append(rails.unmapped(node))
        elif blank:
            found.append(reading.unknown("the congestion control of a rail is not shown"))
        elif not wrong and not silent:
            # the counters refine: where they are missing the settings alone cannot show CNPs that get lost
            found.extend(without or [ok("congestion control is on", node, evidence=(reading.quote(1),))])
            on.add(node)
    for rail, what, quote in off:
        found.append(
            Judgement(
                Status.CRITICAL,
                f"a rail does not {what} in priority {priority}",
                nodes=(rail.node,),
                entities=(rail.port,),
                threshold=view.against("roce-prio"),
                evidence=quote,
                faults=("net-cnp-broken",),
                certainty=against_peers(len(on - {rail.node})),
            )
        )
    return found


def _ignored(growth: Growth) -> Judgement | None:
    marks, sent = growth.of("np_ecn_marked_roce_packets"), growth.of("np_cnp_sent")
    ignored, handled = growth.of("rp_cnp_ignored"), growth.of("rp_cnp_handled")
    if marks is not None and marks > MARKS_TO_JUDGE and sent == 0:
        what, name, value = "marked packets arrive and no CNP is sent", "np_ecn_marked_roce_packets", marks
    elif ignored is not None and ignored > MARKS_TO_JUDGE and ignored > (handled or 0):
        what, name, value = "CNPs arrive and are ignored", "rp_cnp_ignored", ignored
    else:
        return None
    return Judgement(
        Status.CRITICAL,
        what,
        nodes=(growth.rail.node,),
        entities=(growth.rail.card,),
        observed=(observed(name, value, "", growth.rail.node),),
        evidence=growth.quote(name),
        faults=("net-cnp-broken",),
        certainty="supported",
    )


@rule(
    "network.rail_balance",
    title="Does every rail carry its own share?",
    why="When NICs in one subnet answer for each other, one port carries the bytes of two and the other idles.",
    scope="node",
    reads=[
        Read("eth-stats", rounds=2),
        Read("arp-sysctl", optional=True),
        Read("rdma-link", optional=True),
    ],
    faults=["net-arp-flux"],
    applies=only_roce,
)
def rail_balance(view: View) -> list[Judgement]:
    """Bytes per rail against the mean of the node."""
    rails = Rails(view)
    balanced: set[str] = set()
    lopsided: list[tuple[str, list[tuple[Growth, int]], float]] = []
    found: list[Judgement] = []
    for node in rails.nodes:
        growths, without = eth_growths(view, rails, node)
        found.extend(without)
        if without:
            continue
        carried = [(g, b) for g in growths if (b := _bytes(g)) is not None]
        mean = sum(b for _, b in carried) / len(carried) if carried else 0.0
        if len(carried) < len(growths):
            found.append(growths[0].unknown("bytes are not counted on every rail"))
        elif len(carried) < 2:
            found.append(ok("there is one rail", node, evidence=growths[0].quote("tx_bytes_phy")))
        elif mean < BUSY_BYTES:
            found.append(growths[0].unknown("too little traffic in the window to compare the rails"))
        elif max(b for _, b in carried) > DOUBLE * mean and min(b for _, b in carried) < HALF * mean:
            lopsided.append((node, carried, mean))
        else:
            balanced.add(node)
            found.append(ok("the rails carry equal shares", node, evidence=growths[0].quote(_counter(growths[0]))))
    for node, carried, mean in lopsided:
        sysctl = view.newest("arp-sysctl", node, ArpSettings)
        settings = sysctl.facts
        certainty: Certainty = "hypothesis"
        if settings and settings.arp_ignore == 0:
            certainty = against_peers(len(balanced))
        busiest = max(carried, key=lambda c: c[1])[0]
        odd = [(g, b) for g, b in carried if b > DOUBLE * mean or b < HALF * mean]
        found.append(
            Judgement(
                Status.WARN,
                "one rail carries the bytes of two",
                nodes=(node,),
                entities=tuple(g.rail.port for g, _ in odd),
                observed=tuple(observed("share of the mean", round(b / mean, 2), "", node) for _, b in odd),
                evidence=(
                    *busiest.quote(_counter(busiest)),
                    *((sysctl.quote(settings.line),) if settings else ()),
                ),
                faults=("net-arp-flux",),
                certainty=certainty,
            )
        )
    return found


def _counter(growth: Growth) -> str:
    """The counter of sent bytes that a port has: RDMA alone where it is told apart."""
    names = ("tx_vport_rdma_unicast_bytes", "tx_bytes_phy", "tx_bytes")
    return next((n for n in names if growth.of(n) is not None), names[-1])


def _bytes(growth: Growth) -> int | None:
    name = _counter(growth)
    return growth.sum(name, name.replace("tx_", "rx_", 1))
