"""Congestion as the nodes feel it: marked packets by leaf, time paused, and who asks for pauses."""

from __future__ import annotations

from collections import defaultdict

from checks.findings import Certainty, Status
from checks.judgement import Judgement, ok
from checks.rules import Read, rule
from checks.rules.network.ports import Growth, Rails, against_peers, eth_growths, ib_growths, middle
from checks.rules.network.switch_common import lossless_priority, only_roce
from checks.view import View, observed

BUSY_PACKETS = 100_000
"""Packets of a window from which on a share of marks means something."""

STEADY_PER_S = 10.0
"""Pause frames a second from which on sending them is no accident."""

MARKS = "np_ecn_marked_roce_packets"


@rule(
    "network.host_ecn_share",
    title="Is the share of ECN-marked packets low on the nodes of every leaf?",
    why="Marks are the first sign of growing queues. Grouped by leaf they say where, even without access to a switch.",
    scope="group",
    reads=[
        Read("ib-hwcounters", rounds=2),
        Read("eth-stats", rounds=2),
        Read("rdma-link", optional=True),
        Read("lldp", optional=True),
    ],
    thresholds=["ecn-mark-ratio-warn", "ecn-mark-ratio-fault"],
    faults=["net-ecn-mark-rate-high"],
    applies=only_roce,
)
def host_ecn_share(view: View) -> list[Judgement]:
    """Marked of received packets of the lossless priority, summed over the nodes of each leaf."""
    rails = Rails(view)
    packets_name = f"rx_prio{lossless_priority(view)}_packets"
    leaves: dict[str, list[tuple[Growth, int, int]]] = defaultdict(list)
    found: list[Judgement] = []
    for node in rails.nodes:
        hardware, no_hardware = ib_growths(view, rails, node, "ib-hwcounters")
        ethernet, no_ethernet = eth_growths(view, rails, node)
        found.extend((*no_hardware, *no_ethernet))
        received = {g.rail: g for g in ethernet}
        for growth in hardware:
            port = received.get(growth.rail)
            packets = port.of(packets_name) if port else None
            marked = growth.of(MARKS)
            if port is None and (no_ethernet or not rails.mapped(node)):
                continue
            if packets is None or marked is None:
                found.append(growth.unknown("marked or received packets are not counted on a rail"))
            elif packets < BUSY_PACKETS:
                found.append(growth.unknown("too few packets in the window for a share"))
            else:
                leaves[rails.switch(growth.rail)].append((growth, marked, packets))
        if not rails.mapped(node) and not (no_hardware or no_ethernet):
            found.append(rails.unmapped(node))
    unclear = {n for j in found for n in j.nodes}
    warn, fault = view.limit("ecn-mark-ratio-warn"), view.limit("ecn-mark-ratio-fault")
    for leaf, rows in leaves.items():
        share = 100 * sum(m for _, m, _ in rows) / sum(p for _, _, p in rows)
        nodes = tuple(dict.fromkeys(g.rail.node for g, _, _ in rows))
        worst = max(rows, key=lambda r: r[1] / r[2])[0]
        if share <= warn:
            if clear := tuple(n for n in nodes if n not in unclear):
                evidence = next(g for g, _, _ in rows if g.rail.node in clear).quote(MARKS)
                found.append(ok("few packets arrive marked", *clear, evidence=evidence))
            continue
        level = "ecn-mark-ratio-fault" if share > fault else "ecn-mark-ratio-warn"
        found.append(
            Judgement(
                Status.CRITICAL if share > fault else Status.WARN,
                "many packets arrive marked on all nodes of a leaf" if leaf else "many packets arrive marked",
                nodes=nodes,
                entities=(leaf,) if leaf else (),
                observed=(observed("ECN-marked share", round(share, 2), "%", *nodes),),
                threshold=view.against(level),
                evidence=worst.quote(MARKS),
                faults=("net-ecn-mark-rate-high",),
                certainty="supported",
            )
        )
    return found


@rule(
    "network.pause_share",
    title="How much of the time are the nodes told to pause?",
    why="A paused port sends nothing. Pauses towards a node are an effect: they say that something ahead is full.",
    scope="entity",
    reads=[Read("eth-stats", rounds=2), Read("rdma-link", optional=True)],
    thresholds=["pfc-pause-share-warn", "pfc-pause-share-fault"],
    faults=["net-ecn-mark-rate-high"],
    applies=only_roce,
)
def pause_share(view: View) -> list[Judgement]:
    """Microseconds of pause received on the lossless priority, of the window."""
    rails = Rails(view)
    name = f"rx_prio{lossless_priority(view)}_pause_duration"
    warn, fault = view.limit("pfc-pause-share-warn"), view.limit("pfc-pause-share-fault")
    found: list[Judgement] = []
    for node in rails.nodes:
        growths, without = eth_growths(view, rails, node)
        judged: list[Judgement] = []
        for growth in growths:
            gained = growth.of(name)
            if growth.seconds is None:
                judged.append(growth.unknown("the time between the readings is not known"))
            elif gained is None:
                judged.append(growth.unknown("no pause time is counted on the lossless priority: is PFC off?"))
            elif (share := gained / growth.seconds / 10_000) > warn:
                judged.append(
                    Judgement(
                        Status.CRITICAL if share > fault else Status.WARN,
                        "a rail is paused for a noticeable part of the time",
                        nodes=(node,),
                        entities=(growth.rail.port,),
                        observed=(observed("time paused", round(share, 2), "%", node),),
                        threshold=view.against("pfc-pause-share-fault" if share > fault else "pfc-pause-share-warn"),
                        evidence=growth.quote(name),
                        faults=("net-ecn-mark-rate-high",),
                        certainty="hypothesis",
                    )
                )
        found.extend((*judged, *without))
        if growths and not judged and not without:
            found.append(ok("the rails are hardly ever paused", node, evidence=growths[0].quote(name)))
    return found


@rule(
    "network.pause_sender",
    title="Does a node ask the fabric to pause?",
    why="A NIC that sends pauses cannot drain what it receives: the fault is in that node, the victims are elsewhere.",
    scope="entity",
    reads=[Read("eth-stats", rounds=2), Read("rdma-link", optional=True)],
    thresholds=["pfc-tx-pause-host", "pfc-storm-event", "pci-stall", "rx-buffer-pass"],
    faults=["net-slow-receiver", "net-pfc-storm"],
    applies=only_roce,
)
def pause_sender(view: View) -> list[Judgement]:
    """Pause frames sent on the lossless priority against the other nodes; storm events; stalls of the PCIe link."""
    rails = Rails(view)
    name = f"tx_prio{lossless_priority(view)}_pause"
    sent: list[tuple[Growth, float]] = []
    found: list[Judgement] = []
    unclear: set[str] = set()
    growths_of: dict[str, list[Growth]] = {}
    for node in rails.nodes:
        growths_of[node], without = eth_growths(view, rails, node)
        found.extend(without)
        for growth in growths_of[node]:
            gained = growth.of(name)
            if growth.seconds is None or gained is None:
                why = "no sent pauses are counted on the lossless priority: is PFC off?"
                found.append(growth.unknown(why if growth.seconds else "the time between the readings is not known"))
            else:
                sent.append((growth, gained / growth.seconds))
        unclear.update(n for j in found for n in j.nodes)
    usual = middle([rate for _, rate in sent]) or 0.0
    limit = max(STEADY_PER_S, usual * view.limit("pfc-tx-pause-host", "peer-ratio"))
    calm = {g.rail.node for g, rate in sent if rate <= limit}
    accused: set[str] = set()
    for growth, rate in sent:
        node = growth.rail.node
        storm = _storm(view, growth)
        if storm:
            found.append(storm)
            accused.add(node)
        if rate > limit:
            accused.add(node)
            stalls = _signs(growth)
            certainty: Certainty = against_peers(len(calm - {node}))
            found.append(
                Judgement(
                    Status.CRITICAL,
                    "a node sends far more pauses than its peers",
                    nodes=(node,),
                    entities=(growth.rail.port,),
                    observed=(
                        observed("pauses sent", round(rate, 1), "1/s", node),
                        observed("median of all rails", round(usual, 1), "1/s", node),
                        *(observed(sign, value, "", node) for sign, value in stalls),
                    ),
                    threshold=view.against("pfc-tx-pause-host", "peer-ratio"),
                    evidence=(*growth.quote(name), *(e for sign, _ in stalls for e in growth.quote(sign)[-1:])),
                    faults=("net-slow-receiver",),
                    certainty=certainty,
                )
            )
        elif stalled := _stalled(view, growth):
            found.append(stalled)
            accused.add(node)
    for node, growths in growths_of.items():
        if growths and node not in accused and node not in unclear:
            found.append(ok("the node hardly ever asks for a pause", node, evidence=growths[0].quote(name)))
    return found


def _storm(view: View, growth: Growth) -> Judgement | None:
    name = "tx_pause_storm_error_events"
    gained = growth.of(name)
    if gained is None or gained <= view.limit("pfc-storm-event"):
        return None
    return Judgement(
        Status.CRITICAL,
        "a NIC reports a pause storm",
        nodes=(growth.rail.node,),
        entities=(growth.rail.port,),
        observed=(observed("pause storm events", gained, "", growth.rail.node),),
        threshold=view.against("pfc-storm-event"),
        evidence=growth.quote(name),
        faults=("net-pfc-storm",),
    )


def _signs(growth: Growth) -> list[tuple[str, int]]:
    """Counters that say why a node cannot drain its NIC."""
    names = ("outbound_pci_stalled_wr_events", "outbound_pci_stalled_rd_events", "rx_discards_phy")
    return [(n, g) for n in (*names, "rx_buffer_passed_thres_phy") if (g := growth.of(n))]


def _stalled(view: View, growth: Growth) -> Judgement | None:
    """A PCIe link that stalls, or a buffer that fills, before any pause is sent."""
    seconds = growth.seconds or 0.0
    stalls = max(growth.of(f"outbound_pci_stalled_{d}_events") or 0 for d in ("wr", "rd"))
    passed = growth.of("rx_buffer_passed_thres_phy") or 0
    if seconds and 100 * stalls / seconds > view.limit("pci-stall"):
        name, level = "outbound_pci_stalled_wr_events", "pci-stall"
        if growth.of(name) != stalls:
            name = "outbound_pci_stalled_rd_events"
        value, what = stalls, "the PCIe link of a NIC stalls"
    elif seconds and 60 * passed / seconds > view.limit("rx-buffer-pass"):
        name, level = "rx_buffer_passed_thres_phy", "rx-buffer-pass"
        value, what = passed, "the receive buffer of a NIC keeps filling"
    else:
        return None
    return Judgement(
        Status.WARN,
        what,
        nodes=(growth.rail.node,),
        entities=(growth.rail.port,),
        observed=(observed(name, value, "", growth.rail.node),),
        threshold=view.against(level),
        evidence=growth.quote(name),
        faults=("net-slow-receiver",),
        certainty="hypothesis",
    )
