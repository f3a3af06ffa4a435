"""Which traffic the switches let into the lossless class."""

from __future__ import annotations

from collections.abc import Iterator

from checks.findings import Certainty, Evidence, Status
from checks.judgement import Judgement, ok
from checks.rules import rule
from checks.rules.network.switch_common import lossless_priority, named, only_roce, switches, unread
from checks.tools.sonic_config import QosEntry, QosTable
from checks.view import Reading, View, observed

BULK_DSCPS = frozenset({0, 8})
"""Best effort and CS1: what everything carries that nobody marked, and what backups carry."""


def _name(text: str | None) -> str:
    """A map's name: newer releases write `AZURE`, older ones `[DSCP_TO_TC_MAP|AZURE]`."""
    return (text or "").strip("[]").split("|")[-1]


def _dscps(text: str) -> frozenset[int]:
    return frozenset({int(text)}) if text.isdigit() and int(text) < 64 else frozenset()


def _lossless_dscps(entry: QosEntry, classes: frozenset[str]) -> frozenset[int]:
    """The DSCPs that a map sends into one of the classes."""
    return frozenset(d for dscp, tc in entry.fields if tc in classes for d in _dscps(dscp))


def _lossless_classes(view: View, node: str, priority: int) -> frozenset[str]:
    """Traffic classes that end in the lossless priority group; the class of the same number where no map says so."""
    table = view.newest("sw-qos-json", node, QosTable, ("TC_TO_PRIORITY_GROUP_MAP*",))
    entries = table.facts.of("TC_TO_PRIORITY_GROUP_MAP") if table.facts else ()
    classes = {tc for e in entries for tc, group in e.fields if group == str(priority)}
    return frozenset(classes) if classes else frozenset({str(priority)})


@rule(
    "network.pfc_isolation",
    title="Does only RDMA travel in the lossless class?",
    why="Whatever shares the lossless priority shares its pauses: a backup or management transfer then stops training "
    "traffic, with no packet lost and no error counted.",
    scope="group",
    reads=("sw-qos-json",),
    thresholds=("roce-dscp", "cnp-dscp"),
    faults=("net-pfc-not-isolated", "net-dscp-mismarked"),
    applies=only_roce,
)
def pfc_isolation(view: View) -> Iterator[Judgement]:
    """Which DSCPs the maps bound to the ports send into the lossless class."""
    yield from unread(view, "sw-qos-json")
    for node in switches(view):
        maps = view.newest("sw-qos-json", node, QosTable, ("DSCP_TO_TC_MAP*",))
        bound = view.newest("sw-qos-json", node, QosTable, ("PORT_QOS_MAP*",))
        if maps.facts is None or bound.facts is None:
            yield (bound if maps.facts is not None else maps).unknown()
            continue
        yield _isolation(view, node, maps, bound)


def _isolation(view: View, node: str, maps: Reading[QosTable], bound: Reading[QosTable]) -> Judgement:
    given = view.cluster.spec.fabric.dscp
    roce = int(view.limit("roce-dscp")) if given is None else given
    priority = lossless_priority(view)
    uses = [(e.key[-1], _name(e.get("dscp_to_tc_map"))) for e in bound.known.of("PORT_QOS_MAP") if e.key]
    trusted = {name for _, name in uses if name}
    entries = [e for e in maps.known.of("DSCP_TO_TC_MAP") if e.key and e.key[-1] in trusted]
    if not entries:
        reason = "no port uses a DSCP map that could be read"
        return Judgement(Status.UNKNOWN, reason, nodes=(node,), reason=reason, missing=("sw-qos-json",))
    classes = _lossless_classes(view, node, priority)
    allowed = {roce, int(view.limit("cnp-dscp", "dscp"))}
    inside = {d for e in entries for d in _lossless_dscps(e, classes)}
    seen = (observed("DSCPs in the lossless class", _ranges(inside), "", node),)
    strangers = inside - allowed
    evidence = tuple(line for e in entries for line in _map_lines(maps, e, strangers or {roce}))
    if strangers:
        certainty: Certainty = "established" if given is not None and strangers & BULK_DSCPS else "supported"
        return Judgement(
            Status.CRITICAL,
            "other traffic than RDMA is mapped into the lossless class",
            nodes=(node,),
            observed=(*seen, observed("DSCPs that do not belong there", _ranges(strangers), "", node)),
            threshold=view.against("roce-dscp"),
            evidence=evidence,
            faults=("net-pfc-not-isolated",),
            certainty=certainty,
        )
    # SONiC writes the ports' maps under one key a port; the global one speaks for the CPU port
    untrusting = [port for port, name in uses if not name and port.startswith("Ethernet")]
    if untrusting or roce not in inside:
        return Judgement(
            Status.WARN,
            "the DSCP of RDMA traffic does not reach the lossless class",
            nodes=(node,),
            entities=named(node, untrusting),
            observed=seen,
            threshold=view.against("roce-dscp"),
            evidence=evidence,
            faults=("net-dscp-mismarked",),
            certainty="supported" if given is not None else "hypothesis",
        )
    return ok("only RDMA is mapped into the lossless class", node, observed=seen, evidence=evidence)


def _map_lines(reading: Reading[QosTable], entry: QosEntry, dscps: set[int]) -> Iterator[Evidence]:
    """The lines of a map for these DSCPs; its first line where the text has none of them on a line of its own."""
    lines = reading.output.stdout.decode("utf-8", "replace").split("\n") if reading.output else []
    wanted = [(dscp, tc) for dscp, tc in entry.fields if _dscps(dscp) & dscps]
    last = min(len(lines), entry.line + len(entry.fields) + 8)
    hits = [n for n in range(entry.line, last + 1) if any(f'"{d}": "{tc}"' in lines[n - 1] for d, tc in wanted)]
    return (reading.quote(n) for n in hits[:4] or [entry.line])


def _ranges(values: set[int]) -> str:
    """`0-2, 26`."""
    parts: list[list[int]] = []
    for v in sorted(values):
        if parts and v == parts[-1][-1] + 1:
            parts[-1].append(v)
        else:
            parts.append([v])
    return ", ".join(str(p[0]) if len(p) == 1 else f"{p[0]}-{p[-1]}" for p in parts) or "none"
