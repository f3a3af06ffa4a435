"""Capacity of the fabric: uplinks that are up, live oversubscription, even use of the uplinks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import mean

from checks.findings import Certainty, Evidence, Status
from checks.judgement import Judgement, ok
from checks.rules import Read, rule
from checks.rules.network.switch_common import Wiring, named, only_ethernet, port_number, ports_up, switches, unread
from checks.tools.sonic_config import SwitchHash
from checks.tools.sonic_ports import Counters, IfStatus, PortCounters
from checks.view import Reading, View, observed

LEAF = "switch-leaf"

BUSY_PCT = 10.0
"""Mean use of the uplinks below which their balance says nothing."""

ENTROPY = frozenset({"L4_SRC_PORT", "L4_DST_PORT", "RDMA_BTH_DEST_QP", "IPV6_FLOW_LABEL"})
"""Hash fields that tell RDMA flows between the same two hosts apart."""


@dataclass(frozen=True)
class _Leaf:
    """A leaf as it is wired now: uplinks that are up, uplink ports that are not, and how many there should be."""

    node: str
    status: Reading[IfStatus]
    live: tuple[str, ...]
    down: tuple[str, ...]
    expected: int | None
    compared: bool


def _leaf(view: View, node: str, wiring: Wiring) -> _Leaf | Judgement:
    status = view.newest("sw-if-status", node, IfStatus)
    if status.facts is None:
        return status.unknown()
    if not wiring.known(node):
        return _by_numbers(view, node, status, wiring)
    up = ports_up(status.facts)
    towards = wiring.uplinks(node)
    usual = wiring.usual_uplinks(node)
    # a port the peers use as uplink is one here too unless something else hangs on it: LLDP may be slow or off
    unnamed = {p for p in usual if not wiring.neighbour(node, p)}
    live = tuple(sorted((p for p in {*towards, *unnamed} if p in up), key=port_number))
    configured = view.cluster.spec.fabric.leaf_up_ports
    names = {p.name for p in status.facts.physical}
    down = tuple(sorted(((usual | set(towards)) & names) - up, key=port_number))
    expected = configured if configured is not None else (len(usual) or None)
    return _Leaf(node, status, live, down, expected, bool(usual))


def _by_numbers(view: View, node: str, status: Reading[IfStatus], wiring: Wiring) -> _Leaf | Judgement:
    """Without neighbours: when as many ports are up as the cluster file counts, all uplinks are among them."""
    fabric = view.cluster.spec.fabric
    neighbours = wiring.readings[node]
    up = sorted(ports_up(status.known), key=port_number)
    if fabric.leaf_down_ports is None or fabric.leaf_up_ports is None:
        return neighbours.unknown()
    if len(up) < fabric.leaf_down_ports + fabric.leaf_up_ports:
        return neighbours.unknown("ports are down, and without neighbours it is not known whether they are uplinks")
    # which of them are the uplinks does not matter for their number; by convention they come last
    return _Leaf(node, status, tuple(up[-fabric.leaf_up_ports :]), (), fabric.leaf_up_ports, False)


def _rows(status: Reading[IfStatus], ports: Iterable[str]) -> Iterator[Evidence]:
    for port in ports:
        row = status.known.port(port)
        if row is not None:
            yield status.quote(row.line)


@rule(
    "network.uplinks_up",
    title="Are all uplinks of every leaf up?",
    why="A leaf with half its uplinks carries all cross-leaf traffic over the rest: queues grow, and nothing on the "
    "nodes shows why.",
    scope="entity",
    reads=("sw-if-status", "sw-lldp"),
    faults=("net-uplink-down",),
    applies=only_ethernet,
)
def uplinks_up(view: View) -> Iterator[Judgement]:
    """Live links towards spines against the cluster file and the ports the peers use as uplinks."""
    yield from unread(view, "sw-if-status", LEAF)
    wiring = Wiring(view)
    for node in switches(view, LEAF):
        leaf = _leaf(view, node, wiring)
        if isinstance(leaf, Judgement):
            yield leaf
            continue
        yield _uplinks(leaf, wiring)


def _uplinks(leaf: _Leaf, wiring: Wiring) -> Judgement:
    node, live, expected = leaf.node, len(leaf.live), leaf.expected
    seen = [observed("uplinks up", live, "", node)]
    if expected is not None:
        seen.append(observed("uplinks expected", expected, "", node))
    if leaf.down:
        return Judgement(
            Status.CRITICAL,
            "no uplink is up" if not live else "uplinks are down",
            nodes=(node,),
            entities=named(node, leaf.down),
            observed=tuple(seen),
            evidence=tuple(_rows(leaf.status, leaf.down)),
            faults=("net-uplink-down",),
            certainty="established" if leaf.compared else "supported",
        )
    if expected is None and not live:
        reason = "no neighbour is a switch of a higher tier, so the uplinks are not known"
        return Judgement(Status.UNKNOWN, reason, nodes=(node,), reason=reason, missing=("sw-lldp",))
    if expected is not None and live < expected:
        # admin-up ports that are down and lead to no node are the only candidates left
        dark = tuple(p.name for p in leaf.status.known.physical if p.oper == "down" and p.admin == "up")
        if not dark:
            reason = "fewer uplinks than the cluster file counts, and no port that is down accounts for it"
            return Judgement(Status.UNKNOWN, reason, nodes=(node,), reason=reason, missing=("sw-lldp",))
        return Judgement(
            Status.WARN,
            "fewer uplinks are up than the cluster file counts",
            nodes=(node,),
            entities=named(node, dark),
            observed=tuple(seen),
            evidence=tuple(_rows(leaf.status, dark)),
            faults=("net-uplink-down",),
            certainty="supported" if len(dark) >= expected - live else "hypothesis",
        )
    evidence = tuple(_rows(leaf.status, leaf.live[:1]))
    if wiring.known(node) and leaf.live:
        evidence = (*evidence, wiring.readings[node].quote(wiring.line(node, leaf.live[0])))
    return ok("all uplinks are up", node, observed=tuple(seen), evidence=evidence)


@rule(
    "network.oversubscription",
    title="Do the live uplinks match the live ports towards nodes?",
    why="Training sends as much across leaves as within; above 1.5 to 1 the uplinks decide how long a step takes.",
    scope="node",
    reads=("sw-if-status", "sw-lldp"),
    thresholds=("oversub-train", "oversub-infer"),
    faults=("net-oversubscription",),
    applies=only_ethernet,
)
def oversubscription(view: View) -> Iterator[Judgement]:
    """Speed of live node-facing ports over speed of live uplinks, per leaf."""
    yield from unread(view, "sw-if-status", LEAF)
    serving = view.cluster.spec.workload.kind == "inference"
    limit, level = ("oversub-infer", "high") if serving else ("oversub-train", None)
    wiring = Wiring(view)
    for node in switches(view, LEAF):
        leaf = _leaf(view, node, wiring)
        if isinstance(leaf, Judgement):
            yield leaf
            continue
        yield _ratio(view, leaf, limit, level)


def _ratio(view: View, leaf: _Leaf, limit: str, level: str | None) -> Judgement:
    node, ports = leaf.node, {p.name: p for p in leaf.status.known.physical}
    lower = [p for p in ports_up(leaf.status.known) if p not in leaf.live]
    below, above = ([ports[p].speed_gbps for p in group] for group in (lower, leaf.live))
    down_gbps, up_gbps = (sum(s for s in group if s is not None) for group in (below, above))
    if None in below or None in above or not (below or above):
        reason = "the speed of live ports is not known"
        return Judgement(Status.UNKNOWN, reason, nodes=(node,), reason=reason, missing=("sw-if-status",))
    if not up_gbps and not leaf.down:
        reason = "no neighbour is a switch of a higher tier, so the uplinks are not known"
        return Judgement(Status.UNKNOWN, reason, nodes=(node,), reason=reason, missing=("sw-lldp",))
    seen = [observed("towards nodes", down_gbps, "Gbit/s", node), observed("uplinks", up_gbps, "Gbit/s", node)]
    evidence = tuple(_rows(leaf.status, [*leaf.live[:2], *leaf.down[:4]]))
    if up_gbps:
        seen.append(observed("live ratio", round(down_gbps / up_gbps, 2), ": 1", node))
        if down_gbps / up_gbps <= view.limit(limit, level):
            note = "live uplinks match the ports towards nodes"
            return ok(note, node, observed=tuple(seen), threshold=view.against(limit, level), evidence=evidence)
    return Judgement(
        Status.WARN if up_gbps else Status.CRITICAL,
        "live uplinks are too few for the ports towards nodes",
        nodes=(node,),
        observed=tuple(seen),
        threshold=view.against(limit, level),
        evidence=evidence,
        faults=("net-oversubscription",),
        certainty="supported",
    )


@rule(
    "network.uplink_balance",
    title="Are the uplinks of each leaf used evenly?",
    why="A few large flows hashed onto one uplink fill it while others idle: congestion with capacity to spare.",
    scope="node",
    reads=("sw-counters", "sw-lldp", Read("sw-hash", optional=True)),
    thresholds=("uplink-imbalance",),
    faults=("net-ecmp-polarisation",),
    applies=only_ethernet,
)
def uplink_balance(view: View) -> Iterator[Judgement]:
    """Busiest uplink over the mean of all, over ten seconds in every round."""
    yield from unread(view, "sw-counters", LEAF)
    wiring = Wiring(view)
    for node in switches(view, LEAF):
        if not wiring.known(node):
            yield wiring.readings[node].unknown("which ports are uplinks is not known")
            continue
        ports = set(wiring.uplinks(node))
        readings = [r for r in view.samples("sw-counters", node, Counters) if r.facts is not None]
        if not readings:
            yield view.newest("sw-counters", node, Counters).unknown()
            continue
        if len(ports) < 2:
            reason = "fewer than two uplinks with a known neighbour: nothing to compare"
            yield Judgement(Status.UNKNOWN, reason, nodes=(node,), reason=reason, missing=("sw-lldp",))
            continue
        yield _balance(view, node, [_use(r, ports) for r in readings], readings)


def _use(reading: Reading[Counters], ports: set[str]) -> Mapping[str, PortCounters]:
    return {p.name: p for p in reading.known.ports if p.name in ports and p.tx_util_pct is not None}


def _balance(
    view: View, node: str, rounds: list[Mapping[str, PortCounters]], readings: list[Reading[Counters]]
) -> Judgement:
    if not all(rounds):
        reason = "the use of the uplinks is not counted"
        return Judgement(Status.UNKNOWN, reason, nodes=(node,), reason=reason, missing=("sw-counters",))
    limit = view.limit("uplink-imbalance")
    means = [mean(p.tx_util_pct or 0.0 for p in ports.values()) for ports in rounds]
    tops = [max(ports.values(), key=lambda p: p.tx_util_pct or 0.0) for ports in rounds]
    ratios = [(t.tx_util_pct or 0.0) / m if m else 0.0 for t, m in zip(tops, means, strict=True)]
    seen = (
        observed("mean use of the uplinks", round(means[-1], 1), "%", node),
        observed("busiest over mean", round(ratios[-1], 2), "", node),
    )
    evidence = tuple(r.quote(t.line) for r, t in zip(readings, tops, strict=True))
    if min(means) < BUSY_PCT:
        return ok("uplinks are hardly used", node, observed=seen, evidence=evidence[-1:])
    if min(ratios) <= limit:
        return ok("uplinks are used evenly", node, observed=seen, evidence=evidence[-1:])
    # one hash over ten seconds proves little; the same port in every round, or a poor hash, proves more
    same = len(rounds) > 1 and len({t.name for t in tops}) == 1
    hashed = view.newest("sw-hash", node, SwitchHash)
    poor = hashed.facts is not None and hashed.facts.ecmp is not None and not ENTROPY & set(hashed.facts.ecmp)
    certainty: Certainty = "established" if same and poor else "supported" if same or poor else "hypothesis"
    return Judgement(
        Status.WARN,
        "one uplink carries far more than the others",
        nodes=(node,),
        entities=named(node, {t.name for t in tops}),
        observed=seen,
        threshold=view.against("uplink-imbalance"),
        evidence=(*evidence, hashed.quote(hashed.facts.line)) if poor and hashed.facts else evidence,
        faults=("net-ecmp-polarisation",),
        certainty=certainty,
    )
