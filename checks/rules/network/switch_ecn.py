"""ECN on the switches: equal thresholds, profiles bound to the lossless queue, share of marked packets, firmware."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from statistics import median

from checks.findings import Certainty, Evidence, Observed, Status
from checks.judgement import Judgement, ok
from checks.rules import Read, rule
from checks.rules.network.switch_common import (
    grown,
    lossless_priority,
    minority,
    named,
    only_ethernet,
    only_roce,
    peer_groups,
    ports_up,
    switches,
    unread,
)
from checks.tools.sonic_config import QosTable
from checks.tools.sonic_ports import IfStatus
from checks.tools.sonic_qos import Ecn, EcnProfile
from checks.tools.sonic_queues import MarkedQueues, Queues
from checks.tools.sonic_system import SwitchVersion
from checks.view import Reading, View, Window, observed

Profile = tuple[tuple[str, str], ...]

MIN_WINDOW_S = 55.0
SIMILAR_LOAD = 1 / 3
"""A switch with less than this part of its peers' median traffic is not held against their marking."""


def _reference(text: str | None) -> str:
    """A profile's name: newer releases write `AZURE_LOSSLESS`, older ones `[WRED_PROFILE|AZURE_LOSSLESS]`."""
    return (text or "").strip("[]").split("|")[-1]


def _ports_and_queues(key: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    """(port, queue) of a QUEUE key; older releases fold them: `Ethernet0,Ethernet4|3-4`."""
    if len(key) < 2:
        return
    first, _, last = key[-1].partition("-")
    if not first.isdigit() or (last and not last.isdigit()):
        return
    for port in key[-2].split(","):
        yield from ((port, q) for q in range(int(first), int(last or first) + 1) if q < 64)


def _bindings(view: View, node: str) -> tuple[Reading[QosTable], dict[tuple[str, int], tuple[str, int]]]:
    """The QUEUE table, and {(port, queue): (profile or empty, line)}."""
    reading = view.newest("sw-qos-json", node, QosTable, ("QUEUE*",))
    found: dict[tuple[str, int], tuple[str, int]] = {}
    for entry in reading.facts.of("QUEUE") if reading.facts else ():
        name = _reference(entry.get("wred_profile"))
        for place in _ports_and_queues(entry.key):
            # a range and a single queue may both speak of one queue: the one that binds a profile counts
            if name or place not in found:
                found[place] = (name, entry.line)
    return reading, found


def _profiles(view: View, node: str) -> tuple[Reading[Ecn] | Reading[QosTable], dict[str, EcnProfile]]:
    """Profiles by name, from `show ecn` or else from the configuration."""
    shown = view.newest("sw-ecn", node, Ecn)
    if shown.facts is not None:
        return shown, {p.name: p for p in shown.facts.profiles}
    table = view.newest("sw-qos-json", node, QosTable, ("WRED_PROFILE*",))
    if table.facts is None or not table.facts.entries:
        return shown, {}
    entries = table.facts.of("WRED_PROFILE")
    return table, {e.key[-1]: EcnProfile(line=e.line, name=e.key[-1], fields=e.fields) for e in entries if e.key}


def _in_force(view: View, node: str) -> tuple[Reading[Ecn] | Reading[QosTable], list[EcnProfile]]:
    """The profiles bound to the lossless queue; all there are where the binding is not known."""
    reading, profiles = _profiles(view, node)
    priority = lossless_priority(view)
    _, bound = _bindings(view, node)
    names = {name for (_, queue), (name, _) in bound.items() if queue == priority and name in profiles}
    return reading, [profiles[n] for n in sorted(names)] or [profiles[n] for n in sorted(profiles)]


def _settings(profiles: Iterable[EcnProfile]) -> Profile:
    """What decides when packets are marked, comparable between switches."""
    return tuple((f"{k}", v) for p in profiles for k, v in sorted(p.fields))


def _shown(node: str, profiles: Iterable[EcnProfile]) -> Iterator[Observed]:
    for p in profiles:
        yield observed("ECN min threshold", p.green_min, "bytes", node)
        yield observed("ECN max threshold", p.green_max, "bytes", node)
        yield observed("ECN probability", p.probability_pct, "%", node)
        yield observed("ECN mode", p.mode, "", node)


def _image(view: View, node: str) -> tuple[Reading[SwitchVersion], str]:
    reading = view.newest("sw-version", node, SwitchVersion)
    return reading, reading.facts.image if reading.facts else ""


@rule(
    "network.ecn_thresholds",
    title="Do all switches of a tier mark ECN at the same queue length?",
    why="One leaf that marks later than its peers never slows its senders down: its queues fill, the others' flows "
    "give way, and training runs at the pace of that leaf.",
    scope="group",
    reads=("sw-ecn", Read("sw-qos-json", optional=True), Read("sw-version", optional=True)),
    thresholds=("ecn-sonic-default",),
    faults=("net-ecn-threshold-mismatch",),
    applies=only_roce,
)
def ecn_thresholds(view: View) -> Iterator[Judgement]:
    """Compares the profile on the lossless queue within role and model."""
    yield from unread(view, "sw-ecn")
    for group in peer_groups(view, switches(view)):
        found = {node: _in_force(view, node) for node in group}
        answered = {n: _settings(ps) for n, (_, ps) in found.items() if ps}
        for reading, profiles in found.values():
            if not profiles:
                yield reading.unknown() if reading.facts is None else _no_profile(reading)
        if len(answered) == 1 and len(group) > 1:
            (node,) = answered
            reason = "no other switch of this kind answered: nothing to compare its ECN thresholds with"
            yield Judgement(Status.UNKNOWN, reason, nodes=(node,), reason=reason, missing=("sw-ecn",))
            continue
        odd, usual = minority(answered)
        for node in answered:
            reading, profiles = found[node]
            version, image = _image(view, node)
            seen = [*_shown(node, profiles)]
            if image and odd:
                seen.append(observed("software version", image, "", node))
            evidence = tuple(_lines(reading, profiles))
            if node not in odd:
                yield ok("ECN thresholds are those of the peers", node, observed=tuple(seen), evidence=evidence[:1])
                continue
            if version.facts is not None:
                evidence = (*evidence, version.quote(version.facts.line))
            certainty: Certainty = "established" if usual is not None else "supported"
            yield Judgement(
                Status.CRITICAL,
                "ECN thresholds differ from those of the peers"
                if usual is not None
                else "ECN thresholds differ between the switches, and none has a majority",
                nodes=(node,),
                observed=tuple(seen),
                threshold=view.against("ecn-sonic-default"),
                evidence=evidence,
                faults=("net-ecn-threshold-mismatch",),
                certainty=certainty,
            )


def _no_profile(reading: Reading[Ecn] | Reading[QosTable]) -> Judgement:
    reason = "no ECN profile could be read"
    return Judgement(Status.UNKNOWN, reason, nodes=(reading.node,), reason=reason, missing=("sw-ecn",))


def _lines(reading: Reading[Ecn] | Reading[QosTable], profiles: Iterable[EcnProfile]) -> Iterator[Evidence]:
    return (reading.quote(p.line, p.line + len(p.fields) + 1) for p in profiles)


@rule(
    "network.ecn_bound",
    title="Is an ECN profile bound to the lossless queue of every port?",
    why="A profile that no queue uses marks nothing: senders never slow down and only PFC stops them, which spreads.",
    scope="entity",
    reads=("sw-qos-json", "sw-if-status"),
    faults=("net-ecn-not-bound",),
    applies=only_roce,
)
def ecn_bound(view: View) -> Iterator[Judgement]:
    """Reads QUEUE|port|priority of every port that is up."""
    yield from unread(view, "sw-qos-json")
    priority = lossless_priority(view)
    bare: dict[str, list[str]] = {}
    whole: list[str] = []
    readings: dict[str, Reading[QosTable]] = {}
    lines: dict[str, int] = {}
    for node in switches(view):
        reading, bound = _bindings(view, node)
        if reading.facts is None:
            yield reading.unknown()
            continue
        status = view.newest("sw-if-status", node, IfStatus)
        ports = ports_up(status.facts) if status.facts else frozenset(p for p, _ in bound)
        if not ports:
            reason = "no port that is up, or none is known: nothing to look at"
            yield Judgement(Status.UNKNOWN, reason, nodes=(node,), reason=reason, missing=("sw-if-status",))
            continue
        readings[node] = reading
        missing = [p for p in ports if not bound.get((p, priority), ("", 0))[0]]
        at = [line for (p, q), (_, line) in bound.items() if q == priority and p in (missing or ports)]
        lines[node] = min(at, default=1)
        if missing:
            bare[node] = missing
        elif status.facts is None:
            yield status.unknown()  # a port without any queue entry would not have been seen
        else:
            whole.append(node)
    for node in whole:
        note = observed("ports with an ECN profile", "all", "", node)
        evidence = (readings[node].quote(lines[node], lines[node] + 6),)
        yield ok("the lossless queue of every live port has an ECN profile", node, observed=(note,), evidence=evidence)
    for node, missing in bare.items():
        yield Judgement(
            Status.CRITICAL,
            "the lossless queue of some live ports has no ECN profile",
            nodes=(node,),
            entities=named(node, missing),
            observed=(observed("ports without an ECN profile", len(missing), "", node),),
            evidence=(readings[node].quote(lines[node], lines[node] + 6),),
            faults=("net-ecn-not-bound",),
            certainty="established" if whole else "supported",
        )


def _share(marks: Window[MarkedQueues], counts: Window[Queues], queue: str) -> tuple[int, int, str, int] | None:
    """(marked, packets, port with most marks, its line) of the lossless queue over the window; None if unknown."""
    before = {q.port: q.marked_packets for q in marks.before.queues if q.queue == queue}
    sent_before = {q.port: q.packets for q in counts.before.queues if q.queue == queue}
    sent_after = {q.port: q.packets for q in counts.after.queues if q.queue == queue}
    marked = packets = 0
    worst, most, line, seen = "", -1, 1, False
    for q in marks.after.queues:
        if q.queue != queue:
            continue
        gained = grown(before.get(q.port), q.marked_packets)
        # a queue left out of --nonzero output had counted nothing
        sent = grown(sent_before.get(q.port, 0), sent_after.get(q.port, 0))
        if gained is None or sent is None:
            continue
        seen = True
        marked, packets = marked + gained, packets + sent
        if gained > most:
            worst, most, line = q.port, gained, q.line
    return (marked, packets, worst, line) if seen else None


@rule(
    "network.ecn_mark_ratio",
    title="How many packets of the lossless class are marked as congested?",
    why="Marks are the switches' way of saying that queues grow. Above a few per cent senders are slowed for good; a "
    "leaf that never marks while its peers do has other thresholds.",
    scope="group",
    reads=(
        Read("sw-wred", rounds=2),
        Read("sw-queue", rounds=2),
        Read("sw-qos-json", optional=True),
        Read("sw-version", optional=True),
    ),
    thresholds=("ecn-mark-ratio-warn", "ecn-mark-ratio-fault", "ecn-mark-peer-ratio"),
    faults=("net-ecn-mark-rate-high", "net-ecn-threshold-mismatch", "net-ecn-not-bound"),
    applies=only_roce,
)
def ecn_mark_ratio(view: View) -> Iterator[Judgement]:
    """Difference of marks over difference of packets, per switch and against its peers."""
    yield from unread(view, "sw-wred")
    queue = f"UC{lossless_priority(view)}"
    for group in peer_groups(view, switches(view)):
        shares: dict[str, tuple[float, int, str, int, Window[MarkedQueues]]] = {}
        for node in group:
            got = _marks(view, node, queue)
            if isinstance(got, Judgement):
                yield got
            else:
                shares[node] = got
        for node, (share, packets, worst, line, window) in shares.items():
            peers = [(s, p) for n, (s, p, *_) in shares.items() if n != node]
            yield _marked(view, node, share, packets, worst, window, line, peers)


def _marks(view: View, node: str, queue: str) -> tuple[float, int, str, int, Window[MarkedQueues]] | Judgement:
    marks = view.window("sw-wred", node, MarkedQueues)
    counts = view.window("sw-queue", node, Queues)
    if not isinstance(marks, Window):
        return marks.unknown()
    if not isinstance(counts, Window):
        return counts.unknown()
    if marks.seconds is not None and marks.seconds < MIN_WINDOW_S:
        reason = "the rounds are too close together for a marked share (a minute is needed)"
        return Judgement(Status.UNKNOWN, reason, nodes=(node,), reason=reason, missing=("sw-wred",))
    got = _share(marks, counts, queue)
    if got is None:
        reason = f"no ECN marks are counted on {queue}: the release has no WRED counters or they are off"
        return Judgement(Status.UNKNOWN, reason, nodes=(node,), reason=reason, missing=("sw-wred",))
    marked, packets, worst, line = got
    return (100 * marked / packets if packets else 0.0), packets, worst, line, marks


def _marked(
    view: View,
    node: str,
    share: float,
    packets: int,
    worst: str,
    window: Window[MarkedQueues],
    line: int,
    peers: list[tuple[float, int]],
) -> Judgement:
    warn, fault = view.limit("ecn-mark-ratio-warn"), view.limit("ecn-mark-ratio-fault")
    ratio = view.limit("ecn-mark-peer-ratio", "ratio")
    seen = (observed("marked share", round(share, 3), "%", node), observed("packets in the window", packets, "", node))
    evidence = (window.first.quote(line), window.last.quote(line))
    usual = median(s for s, _ in peers) if peers else None
    loaded = bool(peers) and packets >= SIMILAR_LOAD * median(p for _, p in peers)
    if share >= fault:
        return Judgement(
            Status.CRITICAL,
            "a large share of the lossless packets is marked as congested",
            nodes=(node,),
            entities=named(node, [worst]),
            observed=seen,
            threshold=view.against("ecn-mark-ratio-fault"),
            evidence=evidence,
            faults=("net-ecn-mark-rate-high",),
            certainty="supported",
        )
    if usual is not None and usual > warn and share * ratio <= usual and loaded:
        return Judgement(
            Status.WARN,
            "marks far fewer packets than its peers at like traffic",
            nodes=(node,),
            observed=(*seen, observed("marked share of the peers", round(usual, 3), "%", node)),
            threshold=view.against("ecn-mark-peer-ratio", "ratio"),
            evidence=evidence,
            faults=_silent(view, node),
            certainty="hypothesis",
        )
    if share > warn:
        return Judgement(
            Status.WARN,
            "lossless packets are marked as congested",
            nodes=(node,),
            observed=seen,
            threshold=view.against("ecn-mark-ratio-warn"),
            evidence=evidence,
            faults=("net-ecn-mark-rate-high",),
            certainty="hypothesis",
        )
    return ok("few packets are marked as congested", node, observed=seen, evidence=evidence[-1:])


def _silent(view: View, node: str) -> tuple[str, ...]:
    """What may keep a switch from marking: thresholds out of reach, or no profile bound."""
    priority = lossless_priority(view)
    reading, bound = _bindings(view, node)
    if reading.facts is None:
        return ("net-ecn-threshold-mismatch", "net-ecn-not-bound")
    has_profile = any(name for (_, queue), (name, _) in bound.items() if queue == priority)
    return ("net-ecn-threshold-mismatch",) if has_profile else ("net-ecn-not-bound",)


@rule(
    "network.switch_firmware",
    title="Do all switches of a tier run the same software?",
    why="Releases differ in their defaults. A rolling upgrade left half way gives one fabric with two behaviours.",
    scope="group",
    reads=("sw-version", Read("sw-ecn", optional=True)),
    faults=("net-firmware-drift",),
    applies=only_ethernet,
)
def switch_firmware(view: View) -> Iterator[Judgement]:
    """Groups images by role and model; equal ECN thresholds take the sting out of a difference."""
    yield from unread(view, "sw-version")
    for group in peer_groups(view, switches(view)):
        readings = {n: view.newest("sw-version", n, SwitchVersion) for n in group}
        images = {n: r.facts.image for n, r in readings.items() if r.facts is not None}
        for node, reading in readings.items():
            if node not in images:
                yield reading.unknown()
        odd, usual = minority(images)
        roce = view.cluster.spec.fabric.kind == "roce"
        settings = {n: _settings(_in_force(view, n)[1]) for n in images} if odd and roce else {}
        for node, image in images.items():
            facts = readings[node].known
            seen = (observed("software version", image, "", node),)
            evidence = (readings[node].quote(facts.line),)
            if node not in odd:
                yield ok("software is that of the peers", node, observed=seen, evidence=evidence)
                continue
            usual_settings = {s for n, s in settings.items() if n not in odd or usual is None}
            if settings.get(node) and usual_settings == {settings[node]}:
                note = "another software version than the peers, with equal ECN thresholds"
                yield ok(note, node, observed=seen, evidence=evidence)
                continue
            proven = bool(settings.get(node)) and all(usual_settings)
            yield Judgement(
                Status.WARN,
                "another software version than the peers",
                nodes=(node,),
                observed=seen,
                evidence=evidence,
                faults=("net-firmware-drift",),
                certainty="hypothesis" if not proven else "supported" if usual is None else "established",
            )
