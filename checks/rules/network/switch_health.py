"""Health of the switches: bit errors on their ports, recent restarts and upgrades."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from statistics import median

from checks.findings import Certainty, Evidence, Status
from checks.judgement import Judgement, ok
from checks.rules import Read, rule
from checks.rules.network.switch_common import Wiring, grown, named, only_ethernet, switches, unread
from checks.tools.sonic_ports import FecStats, PortFec
from checks.tools.sonic_system import LogEvent, SwitchLog, SwitchVersion
from checks.view import Reading, View, Window, observed

RECENT_S = 24 * 3600.0
"""A change within a day before the trouble outranks every counter."""

LONGER_UP = 10
"""Peers that are up this many times longer say that the switch restarted on its own."""


@rule(
    "network.switch_fec",
    title="Do the switch ports correct every bit error?",
    why="Corrected errors are normal on fast links; a codeword that cannot be corrected is a lost packet, and RDMA "
    "sends everything after it again.",
    scope="entity",
    reads=(Read("sw-fec", rounds=2), Read("sw-lldp", optional=True)),
    thresholds=("fec-uncorr", "ber-eff"),
    faults=("net-high-ber",),
    applies=only_ethernet,
)
def switch_fec(view: View) -> Iterator[Judgement]:
    """Uncorrectable codewords between the rounds, and the bit error rate that is left after correction."""
    yield from unread(view, "sw-fec")
    wiring = Wiring(view)
    for node in switches(view):
        window = view.window("sw-fec", node, FecStats)
        if not isinstance(window, Window):
            yield window.unknown()
            continue
        before = {p.name: p.uncorrectable for p in window.before.ports}
        counted = [
            (p, gained)
            for p in window.after.ports
            if p.name in before and (gained := grown(before[p.name], p.uncorrectable)) is not None
        ]
        if not counted:
            reason = "no port counts FEC codewords"
            yield Judgement(Status.UNKNOWN, reason, nodes=(node,), reason=reason, missing=("sw-fec",))
            continue
        ber = view.limit("ber-eff", "fault")
        lost = [(p, g) for p, g in counted if g > view.limit("fec-uncorr")]
        noisy = [(p, g) for p, g in counted if (p.post_ber or 0.0) > ber and (p, g) not in lost]
        if lost:
            yield _errors(view, node, window, wiring, lost, "fec-uncorr")
        if noisy:
            yield _errors(view, node, window, wiring, noisy, "ber-eff")
        if not lost and not noisy:
            seen = (observed("uncorrectable codewords in the window", 0, "", node),)
            evidence = (window.last.quote(counted[0][0].line),)
            yield ok("every bit error was corrected", node, observed=seen, evidence=evidence)


def _errors(
    view: View,
    node: str,
    window: Window[FecStats],
    wiring: Wiring,
    ports: list[tuple[PortFec, int]],
    threshold: str,
) -> Judgement:
    uncorrected = threshold == "fec-uncorr"
    others = len(window.after.ports) > len(ports)
    ends = [(p.name, wiring.neighbour(node, p.name)) for p, _ in ports[:8]]
    return Judgement(
        Status.WARN,
        "bit errors on a link could not be corrected" if uncorrected else "the error rate after correction is high",
        nodes=(node,),
        entities=named(node, (p.name for p, _ in ports)),
        observed=(
            *(
                observed(f"uncorrectable codewords on {node}:{p.name}", g, "", node)
                if uncorrected
                else observed(f"bit error rate after correction on {node}:{p.name}", p.post_ber, "", node)
                for p, g in ports[:8]
            ),
            *(observed(f"other end of {node}:{port}", end) for port, end in ends if end),
        ),
        threshold=view.against(threshold, None if uncorrected else "fault"),
        evidence=tuple(window.last.quote(p.line) for p, _ in ports[:6]),
        faults=("net-high-ber",),
        certainty="established" if others and uncorrected else "supported",
    )


@rule(
    "network.switch_restart",
    title="Did a switch restart or take an upgrade within the last day?",
    why="While a switch restarts, the nodes behind it send no heartbeat: a scheduler that waits less long than an "
    "upgrade takes kills healthy jobs.",
    scope="node",
    reads=("sw-version", Read("sw-log", optional=True)),
    faults=("net-switch-maintenance",),
    applies=only_ethernet,
)
def switch_restart(view: View) -> Iterator[Judgement]:
    """Uptime of every switch, with what its log says about that time."""
    yield from unread(view, "sw-version")
    readings = {n: view.newest("sw-version", n, SwitchVersion) for n in switches(view)}
    uptimes = {n: r.facts.uptime_s for n, r in readings.items() if r.facts and r.facts.uptime_s is not None}
    for node, reading in readings.items():
        log = view.newest("sw-log", node, SwitchLog)
        events = tuple(_recent(log)) if log.facts else ()
        if reading.facts is None or reading.facts.uptime_s is None:
            if events:
                yield _restarted(node, None, reading, log, events, "supported")
            else:
                yield reading.unknown("" if reading.facts is None else "the uptime could not be read")
            continue
        uptime = reading.facts.uptime_s
        if uptime >= RECENT_S:
            days = observed("uptime", round(uptime / 86400, 1), "days", node)
            evidence = (reading.quote(reading.facts.uptime_line or reading.facts.line),)
            yield ok("has not restarted within a day", node, observed=(days,), evidence=evidence)
            continue
        peers = [u for n, u in uptimes.items() if n != node]
        longer = bool(peers) and median(peers) > LONGER_UP * uptime
        yield _restarted(node, uptime, reading, log, events, "established" if longer or events else "supported")


def _recent(log: Reading[SwitchLog]) -> Iterator[LogEvent]:
    """Reboots and upgrades within a day before the last line of the log."""
    last = log.known.last_at
    for event in log.known.events:
        if event.kind not in ("reboot", "upgrade"):
            continue
        if last is None or event.at is None or abs(last - event.at) <= timedelta(seconds=RECENT_S):
            yield event


def _restarted(
    node: str,
    uptime_s: float | None,
    reading: Reading[SwitchVersion],
    log: Reading[SwitchLog],
    events: tuple[LogEvent, ...],
    certainty: Certainty,
) -> Judgement:
    upgraded = any(e.kind == "upgrade" for e in events)
    evidence: tuple[Evidence, ...] = ()
    if reading.facts is not None:
        evidence = (reading.quote(reading.facts.uptime_line or reading.facts.line),)
    evidence = (*evidence, *(log.quote(e.line) for e in events[:4]))
    seen = () if uptime_s is None else (observed("uptime", round(uptime_s / 60), "min", node),)
    return Judgement(
        Status.WARN,
        "restarted for an upgrade within the last day" if upgraded else "restarted within the last day",
        nodes=(node,),
        observed=seen,
        evidence=evidence,
        faults=("net-switch-maintenance",),
        certainty=certainty,
        at=_began(uptime_s, reading.read_at),
    )


def _began(uptime_s: float | None, read_at: datetime | None) -> str:
    if uptime_s is None or read_at is None:
        return ""
    return (read_at - timedelta(seconds=uptime_s)).isoformat().replace("+00:00", "Z")
