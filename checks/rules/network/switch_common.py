"""What the checks of switches share: which switches can be read, which ports are uplinks, what peers do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from checks.findings import Status
from checks.inventory import SWITCHES, Cluster
from checks.judgement import Judgement
from checks.tools.sonic_ports import IfStatus, SwitchNeighbours
from checks.tools.sonic_system import SwitchVersion
from checks.view import Reading, View

V = TypeVar("V", bound=Hashable)

TIER = {"switch-leaf": 0, "switch-spine": 1, "switch-core": 2}


def only_ethernet(cluster: Cluster) -> str | None:
    """Why a check of Ethernet switches makes no sense here."""
    return "the fabric is InfiniBand" if cluster.spec.fabric.kind == "infiniband" else None


def only_roce(cluster: Cluster) -> str | None:
    """Why a check of lossless classes makes no sense here."""
    kind = cluster.spec.fabric.kind
    return None if kind == "roce" else f"the fabric is {'InfiniBand' if kind == 'infiniband' else 'plain Ethernet'}"


def switches(view: View, *roles: str) -> tuple[str, ...]:
    """SONiC switches of the roles (default: all), in order."""
    return tuple(n for n in view.nodes(*(roles or SWITCHES)) if view.cluster.os_of(n) == "sonic")


def unread(view: View, command: str, *roles: str) -> Iterator[Judgement]:
    """Judgements for switches that no command of this check can ask, and for a fabric without any switch."""
    asked = view.nodes(*(roles or SWITCHES))
    if not asked:
        reason = "the cluster file names no switches of this kind; without access to them this stays open"
        yield Judgement(Status.UNKNOWN, reason, reason=reason, missing=(command,))
    for node in asked:
        if (os := view.cluster.os_of(node)) != "sonic":
            reason = f"this check reads SONiC; the switch runs {os}"
            yield Judgement(Status.UNKNOWN, reason, nodes=(node,), reason=reason, missing=(command,))


def lossless_priority(view: View) -> int:
    """The priority of RDMA traffic, as the cluster file says or by default."""
    given = view.cluster.spec.fabric.lossless_priority
    return int(view.limit("roce-prio")) if given is None else given


def models(view: View, nodes: Iterable[str]) -> dict[str, str]:
    """Hardware model of each switch where known; empty otherwise. Settings are compared within one model."""
    found: dict[str, str] = {}
    for node in nodes:
        reading = view.newest("sw-version", node, SwitchVersion)
        found[node] = (reading.facts.hwsku or "") if reading.facts else ""
    return found


def peer_groups(view: View, nodes: Sequence[str]) -> list[tuple[str, ...]]:
    """Switches grouped by role and hardware model; a switch whose model is not known joins the only or largest one."""
    by_role: dict[str, list[str]] = {}
    for node in nodes:
        role = next((r for r in view.cluster.roles_of(node) if r in TIER), "")
        by_role.setdefault(role, []).append(node)
    groups: list[tuple[str, ...]] = []
    for members in by_role.values():
        known = models(view, members)
        names = Counter(m for m in known.values() if m)
        usual = names.most_common(1)[0][0] if names else ""
        by_model: dict[str, list[str]] = {}
        for node in members:
            by_model.setdefault(known[node] or usual, []).append(node)
        groups.extend(tuple(g) for g in by_model.values())
    return groups


def minority(values: Mapping[str, V]) -> tuple[tuple[str, ...], V | None]:
    """(odd ones out, what most have). Without a majority everyone is odd and nothing is what most have."""
    counts = Counter(values.values())
    if len(counts) < 2:
        return (), next(iter(counts), None)
    usual, many = counts.most_common(1)[0]
    if many * 2 <= len(values):
        return tuple(values), None
    return tuple(n for n, v in values.items() if v != usual), usual


class Wiring:
    """Which ports of the switches lead to other switches, by LLDP of both ends and of the peers."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.all = frozenset(view.nodes(*SWITCHES))
        self.readings: dict[str, Reading[SwitchNeighbours]] = {
            n: view.newest("sw-lldp", n, SwitchNeighbours) for n in switches(view)
        }

    def tier(self, node: str) -> int:
        """0 for a leaf, 1 for a spine, 2 for a core switch."""
        return max((TIER[r] for r in self.view.cluster.roles_of(node) if r in TIER), default=0)

    def known(self, node: str) -> bool:
        """True when the switch's neighbours could be read whole."""
        facts = self.readings[node].facts if node in self.readings else None
        return facts is not None and not facts.odd

    def towards_switches(self, node: str) -> dict[str, str]:
        """{port: switch} of the live links to other switches."""
        facts = self.readings[node].facts if node in self.readings else None
        return {x.port: s for x in (facts.neighbours if facts else ()) if (s := self._switch(x.device))}

    def uplinks(self, node: str) -> dict[str, str]:
        """{port: switch} of the live links to a higher tier."""
        return {p: s for p, s in self.towards_switches(node).items() if self.tier(s) > self.tier(node)}

    def neighbour(self, node: str, port: str) -> str:
        """Device at the other end as LLDP names it; empty when unknown."""
        facts = self.readings[node].facts if node in self.readings else None
        return next((self._short(x.device) for x in (facts.neighbours if facts else ()) if x.port == port), "")

    def line(self, node: str, port: str) -> int:
        """Line of the neighbour table for a port; 1 when there is none."""
        facts = self.readings[node].facts if node in self.readings else None
        return next((x.line for x in (facts.neighbours if facts else ()) if x.port == port), 1)

    def usual_uplinks(self, node: str) -> frozenset[str]:
        """Ports that lead upwards on more than half of this switch's peers."""
        peers = [n for n in self.readings if n != node and self.tier(n) == self.tier(node) and self.known(n)]
        counts = Counter(p for n in peers for p in self.uplinks(n))
        return frozenset(p for p, k in counts.items() if k * 2 > len(peers))

    def _short(self, device: str) -> str:
        return device if device in self.all else device.split(".", 1)[0]

    def _switch(self, device: str) -> str:
        short = self._short(device)
        return short if short in self.all else ""


def ports_up(status: IfStatus) -> frozenset[str]:
    """Physical ports that are up."""
    return frozenset(p.name for p in status.physical if p.oper == "up")


def named(node: str, ports: Iterable[str]) -> tuple[str, ...]:
    """Entities like `leaf03:Ethernet128`, by port number."""
    return tuple(f"{node}:{p}" for p in sorted(ports, key=port_number))


def port_number(port: str) -> tuple[int, str]:
    """Sort key of `Ethernet128`."""
    digits = "".join(c for c in port if c.isdigit())
    return (int(digits[:9]) if digits else -1, port)


def grown(before: int | None, after: int | None) -> int | None:
    """What a counter gained; one that ran backwards was cleared in between and counts from zero."""
    if before is None or after is None:
        return None
    return after - before if after >= before else after
