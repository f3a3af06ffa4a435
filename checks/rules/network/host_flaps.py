"""Links that go down and up, seen from the nodes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

from checks.findings import Status
from checks.judgement import Judgement, ok
from checks.rules import Read, rule
from checks.rules.network.ports import Rail, Rails, eth_growths, ib_growths, middle
from checks.tools.net_log import NetEvent, NetLog
from checks.tools.net_sysfs import Carriers
from checks.view import Reading, View, Window, observed

TOGETHER_S = 120.0
TOGETHER_NODES = 3
"""So many nodes of one switch whose links drop within `TOGETHER_S` have one cause, and it is not their cables."""

CHANGES_A_FLAP = 2


@rule(
    "network.link_flaps",
    title="Do links go down and up?",
    why="A link that drops for a moment kills the job or costs it seconds of retries, and is back before anyone looks.",
    scope="entity",
    reads=[
        Read("carrier", rounds=2),
        "link-log",
        Read("eth-stats", rounds=2, optional=True),
        Read("ib-counters", rounds=2, optional=True),
        Read("rdma-link", optional=True),
        Read("lldp", optional=True),
    ],
    thresholds=["flap-azure", "flap-gpud", "carrier-changes", "ib-link-downed"],
    faults=["net-link-flap"],
)
def link_flaps(view: View) -> list[Judgement]:
    """Growth of the carrier and link-down counters, totals against peers, and the log of a day."""
    rails = Rails(view)
    logs = {n: view.newest("link-log", n, NetLog) for n in rails.nodes}
    downs = {n: _downs(rails.of(n), logs[n]) for n in rails.nodes}
    common = _common(rails, downs)
    totals = _totals(view, rails)
    found: list[Judgement] = []
    for node in rails.nodes:
        judged = [*_by_log(view, node, logs[node], downs[node], common), *_by_counters(view, rails, node)]
        accused = {e for j in judged if "net-link-flap" in j.faults for e in j.entities}
        late = [j for j in _by_total(view, rails, node, totals) if not set(j.entities) & accused]
        found.extend((*judged, *late))
        if not judged and not late:
            carrier = view.newest("carrier", node, Carriers)
            evidence = (carrier.quote(carrier.known.interfaces[0].line),) if carrier.facts else ()
            found.append(ok("no link went down", node, evidence=evidence))
    return found


def _downs(rails: Iterable[Rail], log: Reading[NetLog]) -> dict[str, list[NetEvent]]:
    """Down events per rail interface."""
    names = {r.netdev: r for r in rails if r.netdev} | {r.device: r for r in rails if r.device}
    found: dict[str, list[NetEvent]] = defaultdict(list)
    for event in log.facts.of("down") if log.facts else ():
        # an InfiniBand rail may be called after its network device, which rdma-link then does not show
        if event.device in names or (event.device.startswith("ib") and not any(r.netdev for r in names.values())):
            found[event.device].append(event)
    return found


def _common(rails: Rails, downs: dict[str, dict[str, list[NetEvent]]]) -> dict[str, str]:
    """{node: switch} of the nodes whose links dropped together with those of the same switch."""
    times: dict[str, list[tuple[datetime, str]]] = defaultdict(list)
    members: dict[str, set[str]] = defaultdict(set)
    for node, ports in downs.items():
        for rail in rails.of(node):
            switch = rails.switch(rail)
            members[switch].add(node)
            times[switch].extend((e.at, node) for e in ports.get(rail.netdev, ()) if e.at)
    found: dict[str, str] = {}
    for switch, stamps in times.items():
        stamps.sort(key=lambda s: s[0].timestamp())
        for at, _ in stamps:
            near = {n for t, n in stamps if 0 <= t.timestamp() - at.timestamp() <= TOGETHER_S}
            if switch and len(near) >= max(TOGETHER_NODES, len(members[switch]) / 2):
                found.update(dict.fromkeys(near, switch))
    return found


def _by_log(
    view: View, node: str, log: Reading[NetLog], downs: dict[str, list[NetEvent]], common: dict[str, str]
) -> list[Judgement]:
    if log.facts is None and not log.empty:
        return [log.unknown()]
    found: list[Judgement] = []
    most = view.limit("flap-azure")
    for name, events in downs.items():
        lines = tuple(log.quote(e.line) for e in events[:3])
        seen = (observed("times down in the log", len(events), "", node),)
        at = next((e.at.isoformat() for e in events if e.at), "")
        if node in common and len(events) < most:
            found.append(
                Judgement(
                    Status.WARN,
                    "links of most nodes of one switch dropped together: look at the switch",
                    nodes=(node,),
                    entities=(f"{node}:{name}", common[node]),
                    observed=seen,
                    evidence=lines,
                    at=at,
                )
            )
            continue
        found.append(
            Judgement(
                Status.CRITICAL if len(events) >= most else Status.WARN,
                "a link goes down again and again" if len(events) >= most else "a link went down in the last day",
                nodes=(node,),
                entities=(f"{node}:{name}",),
                observed=seen,
                threshold=view.against("flap-azure"),
                evidence=lines,
                faults=("net-link-flap",),
                certainty="established" if len(events) >= most else "supported",
                at=at,
            )
        )
    return found


def _by_counters(view: View, rails: Rails, node: str) -> list[Judgement]:
    """What grew between the rounds; a rail that could not be followed makes the answer unknown."""
    found: list[Judgement] = []
    own = rails.of(node)
    ethernet = [r for r in own if r.netdev]
    carrier = view.window("carrier", node, Carriers)
    if isinstance(carrier, Window):
        found.extend(j for r in ethernet if (j := _carrier_change(view, r, carrier)))
    else:
        found.append(carrier.unknown())
    infiniband = view.cluster.spec.fabric.kind == "infiniband"
    growths, without = ib_growths(view, rails, node, "ib-counters") if infiniband else eth_growths(view, rails, node)
    found.extend(without)
    name = "link_downed" if infiniband else "link_down_events_phy"
    accused = {e for j in found for e in j.entities}
    for growth in growths:
        if (gained := growth.of(name)) and growth.rail.port not in accused:
            found.append(
                Judgement(
                    Status.CRITICAL,
                    "a link went down between the two readings",
                    nodes=(node,),
                    entities=(growth.rail.port,),
                    observed=(observed("times down", gained, "", node),),
                    threshold=view.against("ib-link-downed"),
                    evidence=growth.quote(name),
                    faults=("net-link-flap",),
                )
            )
    return found


def _carrier_change(view: View, rail: Rail, carrier: Window[Carriers]) -> Judgement | None:
    before, after = carrier.before.of(rail.netdev), carrier.after.of(rail.netdev)
    if before is None or after is None or before.changes is None or after.changes is None:
        return carrier.last.unknown("the carrier count of a rail is not shown")
    if after.changes <= before.changes:
        return None
    return Judgement(
        Status.CRITICAL,
        "a link changed its state between the two readings",
        nodes=(rail.node,),
        entities=(rail.port,),
        observed=(observed("carrier changes", after.changes - before.changes, "", rail.node),),
        threshold=view.against("carrier-changes"),
        evidence=(carrier.first.quote(before.line), carrier.last.quote(after.line)),
        faults=("net-link-flap",),
    )


def _totals(view: View, rails: Rails) -> list[int]:
    """Carrier changes of all rails since their drivers loaded."""
    found: list[int] = []
    for node in rails.nodes:
        names = {r.netdev for r in rails.of(node)}
        facts = view.newest("carrier", node, Carriers).facts
        rows = facts.interfaces if facts else ()
        found.extend(c.changes for c in rows if c.interface in names and c.changes is not None)
    return found


def _by_total(view: View, rails: Rails, node: str, totals: list[int]) -> list[Judgement]:
    """Totals since the driver loaded, far above those of the other ports."""
    reading = view.newest("carrier", node, Carriers)
    usual = middle(totals)
    if reading.facts is None or usual is None or len(totals) < TOGETHER_NODES:
        return []
    own = {r.netdev: r for r in rails.of(node) if r.netdev}
    limit = view.limit("flap-gpud") * CHANGES_A_FLAP
    return [
        Judgement(
            Status.WARN,
            "a link changed its state far more often than the others since the driver loaded",
            nodes=(node,),
            entities=(own[c.interface].port,),
            observed=(
                observed("carrier changes since the driver loaded", c.changes, "", node),
                observed("median of all rails", usual, "", node),
            ),
            threshold=view.against("flap-gpud"),
            evidence=(reading.quote(c.line),),
            faults=("net-link-flap",),
            certainty="supported",
        )
        for c in reading.facts.interfaces
        if c.interface in own and c.changes is not None and c.changes - usual >= limit
    ]
