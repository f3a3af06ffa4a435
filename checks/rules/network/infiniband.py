"""InfiniBand ports of the nodes: state, errors, congestion."""

from __future__ import annotations

from checks.findings import Status
from checks.inventory import Cluster
from checks.judgement import Judgement, ok
from checks.rules import Read, rule
from checks.rules.network.ports import Growth, Rails, against_peers, ib_growths, prevailing
from checks.tools.ib_sysfs import IbPorts
from checks.view import View, observed

CEILINGS = {
    "symbol_error": 65535,
    "link_error_recovery": 255,
    "local_link_integrity_errors": 15,
    "excessive_buffer_overrun_errors": 15,
    "port_rcv_errors": 65535,
    "port_xmit_discards": 65535,
}
"""Where the classic counters stop. A counter that stands there says nothing about what came after."""

HOUR_S = 3600.0


def only_infiniband(cluster: Cluster) -> str | None:
    """Why a check of InfiniBand makes no sense here."""
    return None if cluster.spec.fabric.kind == "infiniband" else "the fabric is not InfiniBand"


@rule(
    "network.ib_port_state",
    title="Is every InfiniBand port active?",
    why="A port in INIT has a link and no subnet manager: it carries nothing until one has configured it.",
    scope="entity",
    reads=["ib-port", Read("rdma-link", optional=True)],
    faults=["ib-port-init"],
    applies=only_infiniband,
)
def ib_port_state(view: View) -> list[Judgement]:
    """State of every rail."""
    rails = Rails(view)
    readings = {n: view.newest("ib-port", n, IbPorts) for n in rails.nodes}
    states = {n: _states(rails, n, r.facts) for n, r in readings.items() if r.facts}
    everywhere = prevailing(s for rows in states.values() for s, _, _ in rows.values()) in ("INIT", "ARMED")
    active = sum(1 for rows in states.values() if rows and all(s == "ACTIVE" for s, _, _ in rows.values()))
    found: list[Judgement] = []
    for node, reading in readings.items():
        if reading.facts is None:
            found.append(reading.unknown())
            continue
        rows = states[node]
        for device, (state, line, lid) in rows.items():
            if state in ("INIT", "ARMED"):
                found.append(
                    Judgement(
                        Status.CRITICAL,
                        "ports wait for a subnet manager on most nodes"
                        if everywhere
                        else "a port waits for the subnet manager",
                        nodes=(node,),
                        entities=(f"{node}:{device}",),
                        observed=(observed("state", state, "", node), observed("LID of the manager", lid, "", node)),
                        evidence=(reading.quote(line),),
                        faults=("ib-port-init",),
                        certainty="established" if everywhere else against_peers(active),
                    )
                )
            elif state not in ("ACTIVE", ""):
                found.append(
                    Judgement(
                        Status.CRITICAL,
                        "a port has no link",
                        nodes=(node,),
                        entities=(f"{node}:{device}",),
                        observed=(observed("state", state, "", node),),
                        evidence=(reading.quote(line),),
                    )
                )
        if not rows or any(not state for state, _, _ in rows.values()):
            found.append(reading.unknown("the state of a rail is not shown"))
        elif all(state == "ACTIVE" for state, _, _ in rows.values()):
            line = next(iter(rows.values()))[1]
            found.append(ok("all ports are active", node, evidence=(reading.quote(line),)))
    return found


def _states(rails: Rails, node: str, facts: IbPorts | None) -> dict[str, tuple[str, int, int | None]]:
    """{device: (state, line, LID of the subnet manager)} of the rails; all devices while they are not mapped."""
    ports = {p.device: p for p in facts.ports} if facts else {}
    if rails.mapped(node):
        names = [r.device for r in rails.of(node)]
    else:
        names = [d for d, p in ports.items() if p.link_layer != "Ethernet"]
    found: dict[str, tuple[str, int, int | None]] = {}
    for name in names:
        port = ports.get(name)
        found[name] = (port.state or "", port.lines.get("state", port.line), port.sm_lid) if port else ("", 1, None)
    return found


@rule(
    "network.ib_errors",
    title="Are the InfiniBand links of the nodes free of errors?",
    why="Symbol errors cost retransmissions; a link that retrains stops everything on it for a moment, every time.",
    scope="entity",
    reads=[Read("ib-counters", rounds=2), Read("rdma-link", optional=True)],
    thresholds=["ib-symbol-hour", "ib-symbol-sec", "ib-link-recovery", "ib-lli", "ib-ebo", "ib-rcv-err"],
    faults=["ib-symbol-errors", "ib-link-recovery"],
    applies=only_infiniband,
)
def ib_errors(view: View) -> list[Judgement]:
    """Rates over the window; totals since boot do not count, and a counter at its ceiling is unknown."""
    rails = Rails(view)
    found: list[Judgement] = []
    judged = {n: ib_growths(view, rails, n, "ib-counters") for n in rails.nodes}
    names = [n for n in CEILINGS if n != "port_xmit_discards"]
    clean = {n for n, (growths, _) in judged.items() if growths and not any(_errors(view, g) for g in growths)}
    for node, (growths, without) in judged.items():
        found.extend(without)
        stuck = [(g, n) for g in growths for n in names if g.before.get(n) == CEILINGS[n] == g.after.get(n)]
        unread = [g for g in growths if g.of("symbol_error") is None or g.of("link_error_recovery") is None]
        errors = [(g, e) for g in growths for e in _errors(view, g)]
        for growth, (name, gained, threshold, status, fault) in errors:
            found.append(
                Judgement(
                    status,
                    "a link has more symbol errors than the standard allows"
                    if fault == "ib-symbol-errors"
                    else "a link retrains or loses frames",
                    nodes=(node,),
                    entities=(growth.rail.card,),
                    observed=(observed(name, gained, "", node),),
                    threshold=view.against(threshold),
                    evidence=growth.quote(name),
                    faults=(fault,),
                    certainty=against_peers(len(clean - {node})),
                )
            )
        if stuck:
            found.append(stuck[0][0].unknown("an error counter stands at its ceiling and counts no further"))
        if unread:
            found.append(unread[0].unknown("errors are not counted, or were cleared between the readings"))
        if growths and not (errors or without or stuck or unread):
            found.append(ok("no link of the node gains errors", node, evidence=growths[0].quote("symbol_error")))
    return found


_Error = tuple[str, int, str, Status, str]


def _errors(view: View, growth: Growth) -> list[_Error]:
    """(counter, gain, threshold, status, fault) of what grew beyond its limit."""
    found: list[_Error] = []
    seconds = growth.seconds

    def per_s(name: str) -> float:
        return (growth.of(name) or 0) / seconds if seconds else 0.0

    symbols = growth.of("symbol_error") or 0
    if per_s("symbol_error") > view.limit("ib-symbol-sec"):
        found.append(("symbol_error", symbols, "ib-symbol-sec", Status.CRITICAL, "ib-symbol-errors"))
    elif seconds and seconds >= HOUR_S and symbols / seconds * HOUR_S > view.limit("ib-symbol-hour"):
        found.append(("symbol_error", symbols, "ib-symbol-hour", Status.WARN, "ib-symbol-errors"))
    if per_s("port_rcv_errors") > view.limit("ib-rcv-err"):
        gained = growth.of("port_rcv_errors") or 0
        found.append(("port_rcv_errors", gained, "ib-rcv-err", Status.WARN, "ib-symbol-errors"))
    recovered = growth.of("link_error_recovery") or 0
    if recovered:
        often = per_s("link_error_recovery") * 60 > view.limit("ib-link-recovery")
        status = Status.CRITICAL if often else Status.WARN
        found.append(("link_error_recovery", recovered, "ib-link-recovery", status, "ib-link-recovery"))
    for name, threshold in (("local_link_integrity_errors", "ib-lli"), ("excessive_buffer_overrun_errors", "ib-ebo")):
        if (gained := growth.of(name) or 0) > view.limit(threshold):
            found.append((name, gained, threshold, Status.WARN, "ib-link-recovery"))
    return found


@rule(
    "network.ib_congestion",
    title="Do the InfiniBand ports of the nodes get their packets out?",
    why="A port that discards packets because it may not send them meets congestion that credits could not hold back.",
    scope="entity",
    reads=[Read("ib-counters", rounds=2), Read("rdma-link", optional=True)],
    thresholds=["ib-xmit-disc"],
    faults=["ib-congestion"],
    applies=only_infiniband,
)
def ib_congestion(view: View) -> list[Judgement]:
    """Discards a second on the rails. Waiting ticks of the uplinks are counted on the switches, not here."""
    rails = Rails(view)
    name = "port_xmit_discards"
    found: list[Judgement] = []
    for node in rails.nodes:
        growths, without = ib_growths(view, rails, node, "ib-counters")
        found.extend(without)
        judged: list[Judgement] = []
        for growth in growths:
            gained = growth.of(name)
            if gained is None or growth.seconds is None:
                judged.append(growth.unknown("discards are not counted, or the time between the readings is not known"))
            elif growth.before[name] == growth.after[name] == CEILINGS[name]:
                judged.append(growth.unknown("the count of discards stands at its ceiling"))
            elif gained / growth.seconds > view.limit("ib-xmit-disc"):
                judged.append(
                    Judgement(
                        Status.WARN,
                        "a port discards packets it cannot send",
                        nodes=(node,),
                        entities=(growth.rail.card,),
                        observed=(observed("discards", round(gained / growth.seconds, 1), "1/s", node),),
                        threshold=view.against("ib-xmit-disc"),
                        evidence=growth.quote(name),
                        faults=("ib-congestion",),
                        certainty="supported",
                    )
                )
        found.extend(judged)
        if growths and not judged and not without:
            found.append(ok("the ports of the node discard nothing", node, evidence=growths[0].quote(name)))
    return found
