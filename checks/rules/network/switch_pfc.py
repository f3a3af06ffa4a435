"""PFC on the switches: one priority everywhere, no storms, enough headroom, no deadlock."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from checks.findings import Evidence, Status
from checks.judgement import Judgement, ok
from checks.rules import Read, rule
from checks.rules.network.switch_common import (
    Wiring,
    grown,
    lossless_priority,
    minority,
    named,
    only_roce,
    ports_up,
    switches,
    unread,
)
from checks.tools.sonic_ports import IfStatus
from checks.tools.sonic_qos import Buffers, PfcHistory, PfcPriorities, WatchdogConfig, WatchdogStats
from checks.tools.sonic_queues import GroupDrops, HeadroomPeaks
from checks.view import Reading, View, Window, observed

PAUSED_FOR_GOOD = 0.9
"""Part of the window from which a port counts as paused without end."""


@rule(
    "network.switch_pfc",
    title="Do all switch ports pause on the same priority?",
    why="Where one end pauses on a priority the other does not know, packets of the lossless class are dropped.",
    scope="entity",
    reads=("sw-pfc-prio", "sw-if-status"),
    thresholds=("roce-prio",),
    faults=("net-pfc-priority-mismatch",),
    applies=only_roce,
)
def switch_pfc(view: View) -> Iterator[Judgement]:
    """Priorities of live ports against those of most ports of the fabric and the cluster file."""
    yield from unread(view, "sw-pfc-prio")
    ports: dict[str, tuple[int, ...]] = {}
    lines: dict[str, int] = {}
    readings: dict[str, Reading[PfcPriorities]] = {}
    for node in switches(view):
        reading = view.newest("sw-pfc-prio", node, PfcPriorities)
        status = view.newest("sw-if-status", node, IfStatus)
        if reading.facts is None or status.facts is None:
            yield (status if reading.facts is not None else reading).unknown()
            continue
        readings[node] = reading
        stated = {p.port: p for p in reading.facts.ports}
        for port in ports_up(status.facts):
            row = stated.get(port)
            ports[f"{node}:{port}"] = (row.priorities or ()) if row else ()
            lines[f"{node}:{port}"] = row.line if row else 1
    odd, usual = minority(ports)
    wanted = lossless_priority(view)
    if usual is not None and wanted not in usual:
        odd, usual = tuple(ports), None
    for node, reading in readings.items():
        mine = [p for p in ports if p.startswith(f"{node}:")]
        bad = [p for p in mine if p in set(odd)]
        shown = {", ".join(map(str, ports[p])) or "none" for p in (bad or mine)}
        seen = tuple(observed("lossless priorities", text, "", node) for text in sorted(shown))
        at = [lines[p] for p in (bad or mine)]
        if not mine:
            reason = "no port is up"
            yield Judgement(Status.UNKNOWN, reason, nodes=(node,), reason=reason, missing=("sw-if-status",))
        elif not bad:
            yield ok("live ports pause on the lossless priority", node, observed=seen, evidence=(reading.quote(at[0]),))
        else:
            yield Judgement(
                Status.CRITICAL,
                "live ports pause on other priorities than the rest of the fabric",
                nodes=(node,),
                entities=named(node, (p.partition(":")[2] for p in bad)),
                observed=seen,
                threshold=view.against("roce-prio"),
                evidence=tuple(reading.quote(line) for line in sorted(set(at))[:4]),
                faults=("net-pfc-priority-mismatch",),
                certainty="established" if usual is not None else "supported",
            )


def _storms(window: Window[WatchdogStats]) -> Iterator[tuple[str, int, int]]:
    """(port, new storms, line) of queues that stormed in the window or storm now."""
    before = {(q.port, q.queue): q.detected for q in window.before.queues}
    for q in window.after.queues:
        # the switch leaves out queues that never stormed
        gained = grown(before.get((q.port, q.queue), 0), q.detected)
        if (gained or 0) > 0 or q.status == "stormed":
            yield q.port, max(gained or 0, 1), q.line


@rule(
    "network.pfc_storm",
    title="Did a host flood a switch with pause frames?",
    why="A host that never stops pausing blocks its leaf, then the spines, then everyone who sends through them.",
    scope="entity",
    reads=(Read("sw-pfcwd", rounds=2), Read("sw-pfcwd-conf", optional=True), Read("sw-lldp", optional=True)),
    thresholds=("pfcwd-storm", "pfcwd-sonic"),
    faults=("net-pfc-storm",),
    applies=only_roce,
)
def pfc_storm(view: View) -> Iterator[Judgement]:
    """Storms the watchdog saw between the rounds; old counts that stand still are history."""
    yield from unread(view, "sw-pfcwd")
    wiring = Wiring(view)
    for node in switches(view):
        window = view.window("sw-pfcwd", node, WatchdogStats)
        if not isinstance(window, Window):
            yield window.unknown()
            continue
        storms = list(_storms(window))
        if storms:
            towards = wiring.towards_switches(node)
            yield from _storm(view, node, window, [s for s in storms if s[0] not in towards], wiring, inside=False)
            yield from _storm(view, node, window, [s for s in storms if s[0] in towards], wiring, inside=True)
            continue
        conf = view.newest("sw-pfcwd-conf", node, WatchdogConfig)
        if conf.empty:
            reason = "the PFC watchdog watches no port, so it cannot have seen a storm"
            yield Judgement(Status.UNKNOWN, reason, nodes=(node,), reason=reason, missing=("sw-pfcwd-conf",))
            continue
        old = sum(q.detected or 0 for q in window.after.queues)
        yield ok(
            "no pause storm in the window",
            node,
            observed=(observed("storms before the window", old, "", node),),
            evidence=(window.last.quote(1, 3),),
        )


def _storm(
    view: View,
    node: str,
    window: Window[WatchdogStats],
    storms: list[tuple[str, int, int]],
    wiring: Wiring,
    *,
    inside: bool,
) -> Iterator[Judgement]:
    if not storms:
        return
    ends = [(p, wiring.neighbour(node, p)) for p, _, _ in storms]
    yield Judgement(
        Status.CRITICAL,
        "a pause storm came in from another switch" if inside else "a pause storm came in from a host",
        nodes=(node,),
        entities=named(node, (p for p, _ in ends)),
        observed=(
            observed("storms in the window", sum(k for _, k, _ in storms), "", node),
            *(observed(f"other end of {node}:{p}", end, "") for p, end in ends if end),
        ),
        threshold=view.against("pfcwd-storm"),
        evidence=tuple(window.last.quote(line) for _, _, line in storms[:6]),
        faults=("net-pfc-storm",),
        # a storm passed on by a switch began at some host behind it
        certainty="hypothesis" if inside else "established",
    )


@rule(
    "network.headroom",
    title="Is there room for what arrives after a pause was sent?",
    why="Headroom holds what is on the wire while a pause travels. Too little of it and the lossless class loses "
    "packets: RDMA goes back and sends everything again.",
    scope="entity",
    reads=(Read("sw-pg-drop", rounds=2), Read("sw-pg-wm", optional=True), Read("sw-buffer", optional=True)),
    thresholds=("lossless-drop",),
    faults=("net-headroom-too-small",),
    applies=only_roce,
)
def headroom(view: View) -> Iterator[Judgement]:
    """Drops on the lossless priority group between the rounds, with the headroom peak beside them."""
    yield from unread(view, "sw-pg-drop")
    group = lossless_priority(view)
    for node in switches(view):
        window = view.window("sw-pg-drop", node, GroupDrops)
        if not isinstance(window, Window):
            yield window.unknown()
            continue
        before = {p.port: p.values for p in window.before.ports}
        gained = {
            p.port: (g, p.line)
            for p in window.after.ports
            if len(p.values) > group
            and len(before.get(p.port, ())) > group
            and (g := grown(before[p.port][group], p.values[group])) is not None
        }
        lost = {p: v for p, v in gained.items() if v[0] > view.limit("lossless-drop")}
        if not gained:
            reason = "no drops are counted on the lossless priority group"
            yield Judgement(Status.UNKNOWN, reason, nodes=(node,), reason=reason, missing=("sw-pg-drop",))
        elif not lost:
            line = min(line for _, line in gained.values())
            seen = (observed("lossless drops in the window", 0, "packets", node),)
            yield ok("the lossless class loses nothing", node, observed=seen, evidence=(window.last.quote(line),))
        else:
            full, more = _full(view, node, tuple(lost), group)
            yield Judgement(
                Status.CRITICAL,
                "packets of the lossless class are dropped on arrival",
                nodes=(node,),
                entities=named(node, lost),
                observed=(observed("lossless drops in the window", sum(g for g, _ in lost.values()), "packets", node),),
                threshold=view.against("lossless-drop"),
                evidence=(*(window.last.quote(line) for _, line in list(lost.values())[:4]), *more),
                faults=("net-headroom-too-small",),
                certainty="established" if full and len(lost) < len(gained) else "supported",
            )


def _full(view: View, node: str, ports: tuple[str, ...], group: int) -> tuple[bool, tuple[Evidence, ...]]:
    """True when a port's headroom was used up to the size of its profile."""
    peaks = view.newest("sw-pg-wm", node, HeadroomPeaks)
    buffers = view.newest("sw-buffer", node, Buffers)
    if peaks.facts is None or buffers.facts is None:
        return False, ()
    sizes = [b.xoff for b in buffers.facts.buffers if b.kind == "Profile" and b.xoff]
    hit = [
        p
        for p in peaks.facts.ports
        if p.port in ports and len(p.values) > group and sizes and (p.values[group] or 0) >= median(sizes)
    ]
    return bool(hit), tuple(peaks.quote(p.line) for p in hit[:2])


@rule(
    "network.pfc_deadlock",
    title="Do pauses between switches ever end?",
    why="Switches that pause one another in a ring wait for ever; nothing is lost, nothing moves.",
    scope="cluster",
    reads=(Read("sw-pfcwd", rounds=2), "sw-lldp", Read("sw-pfc-hist", rounds=2, optional=True)),
    thresholds=("pfcwd-storm",),
    faults=("net-pfc-deadlock",),
    applies=only_roce,
)
def pfc_deadlock(view: View) -> Iterator[Judgement]:
    """Storms or endless pauses on links between switches, on several switches at once."""
    yield from unread(view, "sw-pfcwd")
    wiring = Wiring(view)
    stuck: dict[str, tuple[list[str], list[Evidence]]] = {}
    calm: list[tuple[str, Window[WatchdogStats]]] = []
    for node in switches(view):
        window = view.window("sw-pfcwd", node, WatchdogStats)
        if not isinstance(window, Window):
            yield window.unknown()
            continue
        if not wiring.known(node):
            yield wiring.readings[node].unknown("which ports lead to other switches is not known")
            continue
        towards = wiring.towards_switches(node)
        hits = [(p, window.last.quote(line)) for p, _, line in _storms(window) if p in towards]
        hits.extend(_endless(view, node, set(towards)))
        if hits:
            stuck[node] = ([p for p, _ in hits], [e for _, e in hits])
        else:
            calm.append((node, window))
    for node, window in calm:
        note = "links between switches are not paused without end"
        yield ok(note, node, evidence=(window.last.quote(1, 3),))
    for node, (ports, evidence) in stuck.items():
        ring = len(stuck) > 1
        yield Judgement(
            Status.CRITICAL if ring else Status.WARN,
            "links between several switches are paused without end"
            if ring
            else "one switch is paused without end by another switch",
            nodes=(node,),
            entities=named(node, set(ports)),
            threshold=view.against("pfcwd-storm"),
            evidence=tuple(evidence[:4]),
            faults=("net-pfc-deadlock",),
            certainty="supported" if ring else "hypothesis",
        )


def _endless(view: View, node: str, ports: set[str]) -> Iterator[tuple[str, Evidence]]:
    """Ports that were paused for nearly the whole window."""
    window = view.window("sw-pfc-hist", node, PfcHistory)
    if not isinstance(window, Window) or not window.seconds:
        return
    priority = lossless_priority(view)
    before = {(r.port, r.priority): r.total_ms for r in window.before.rows}
    for row in window.after.rows:
        first = before.get((row.port, row.priority))
        if row.port not in ports or row.priority != priority or first is None or row.total_ms is None:
            continue
        if (row.total_ms - first) / 1000 >= PAUSED_FOR_GOOD * window.seconds:
            yield row.port, window.last.quote(row.line)
