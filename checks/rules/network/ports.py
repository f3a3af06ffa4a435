"""The rails of a node: which network and RDMA devices they are, what hangs on them, how their counters grew."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import TypeVar

from checks.findings import Certainty, Evidence
from checks.judgement import Judgement
from checks.tools.ethtool import EthStats
from checks.tools.ib_sysfs import Counters
from checks.tools.lldp import Neighbours
from checks.tools.rdma import RdmaLink, RdmaLinks
from checks.view import Reading, View, Window

V = TypeVar("V", bound=Hashable)

ENOUGH_PEERS = 3
"""Nodes that make a majority worth the name."""

_RDMA_NAME = re.compile(r"^(?:mlx\d_|bnxt_re|roce|rdma|ibp|irdma|hns_|efa_|rxe)")


@dataclass(frozen=True, slots=True)
class Rail:
    """One RDMA port of a node; `netdev` is empty on plain InfiniBand, either name where it is not known."""

    node: str
    index: int
    netdev: str
    device: str

    @property
    def port(self) -> str:
        """`gpu017:eth3`, by network device where there is one."""
        return f"{self.node}:{self.netdev or self.device or self.index}"

    @property
    def card(self) -> str:
        """`gpu017:mlx5_1`, by RDMA device where it is known."""
        return f"{self.node}:{self.device or self.netdev or self.index}"


class Rails:
    """The rails of all GPU nodes: named by the cluster file and mapped by `rdma-link`, else inferred from it.

    Where a node's own `rdma-link` is missing the mapping of most other nodes serves: the nodes are built alike.
    """

    def __init__(self, view: View) -> None:
        self.view = view
        self.nodes: tuple[str, ...] = view.nodes("gpu-node")
        self.links: dict[str, Reading[RdmaLinks]] = {n: view.newest("rdma-link", n, RdmaLinks) for n in self.nodes}
        spec = view.cluster.spec.interfaces
        self.named: tuple[str, ...] = spec.rdma
        self.others = frozenset((*spec.storage, *spec.management))
        self._lldp: dict[str, Neighbours | None] = {}

    def of(self, node: str) -> tuple[Rail, ...]:
        """The rails of a node in order; empty when nothing tells."""
        reading = self.links.get(node)
        own = reading.facts if reading else None
        if self.named:
            return tuple(self._named(node, i, name, own) for i, name in enumerate(self.named))
        pairs = self._pairs(own) if own else self._usual
        if not pairs:
            names = sorted({p[0] for p in self.view.store.params(node, "eth-stats")} - self.others)
            pairs = tuple(("", name) for name in names)
        return tuple(Rail(node, i, netdev, device) for i, (device, netdev) in enumerate(pairs))

    def mapped(self, node: str) -> bool:
        """True when every rail's RDMA device is known."""
        rails = self.of(node)
        return bool(rails) and all(r.device for r in rails)

    def chosen(self, links: RdmaLinks) -> tuple[RdmaLink, ...]:
        """Links that are rails, by exclusion of storage and management."""
        return tuple(x for x in links.links if not ({x.device, x.netdev} & self.others))

    def unmapped(self, node: str) -> Judgement:
        """Unknown, because the rails of the node are."""
        reading = self.links[node]
        if reading.facts is not None:
            return reading.unknown("rdma-link does not show the rails")
        return reading.unknown()

    def switch(self, rail: Rail) -> str:
        """The leaf a rail hangs on: the cluster file's group `leaf`, else LLDP; empty when neither tells."""
        if label := self.view.cluster.group_of("leaf", rail.node):
            return label
        if rail.node not in self._lldp:
            self._lldp[rail.node] = self.view.newest("lldp", rail.node, Neighbours).facts
        facts = self._lldp[rail.node]
        found = facts.of(rail.netdev) if facts else None
        return found.switch.split(".", 1)[0] if found and found.switch else ""

    @cached_property
    def _usual(self) -> tuple[tuple[str, str], ...]:
        counts = Counter(self._pairs(r.facts) for r in self.links.values() if r.facts)
        return counts.most_common(1)[0][0] if counts else ()

    @cached_property
    def _usual_names(self) -> dict[str, tuple[str, str]]:
        pairs = Counter((x.device, x.netdev or "") for r in self.links.values() if r.facts for x in r.facts.links)
        names: dict[str, tuple[str, str]] = {}
        for pair, _ in reversed(pairs.most_common()):
            names.update({name: pair for name in pair if name})
        return names

    def _pairs(self, links: RdmaLinks) -> tuple[tuple[str, str], ...]:
        return tuple((x.device, x.netdev or "") for x in self.chosen(links))

    def _named(self, node: str, index: int, name: str, own: RdmaLinks | None) -> Rail:
        link = own.of(name) if own else None
        if link:
            return Rail(node, index, link.netdev or "", link.device)
        device, netdev = self._usual_names.get(name, (name, "") if _RDMA_NAME.match(name) else ("", name))
        return Rail(node, index, netdev, device)


@dataclass(frozen=True, slots=True)
class Growth:
    """How the counters of one port grew over a window of `seconds` (None when the times are not known)."""

    rail: Rail
    seconds: float | None
    before: dict[str, int]
    after: dict[str, int]
    first: Reading[EthStats] | Reading[Counters]
    last: Reading[EthStats] | Reading[Counters]
    lines_before: dict[str, int]
    lines_after: dict[str, int]

    def of(self, name: str) -> int | None:
        """What a counter gained; None when it is not there or ran backwards (cleared, or the driver reloaded)."""
        if name not in self.before or name not in self.after:
            return None
        gained = self.after[name] - self.before[name]
        return gained if gained >= 0 else None

    def sum(self, *names: str) -> int | None:
        """Sum of the counters there are; None when there is none."""
        found = [g for name in names if (g := self.of(name)) is not None]
        return sum(found) if found else None

    def ran_backwards(self, name: str) -> bool:
        """True when the counter is smaller than before."""
        return name in self.before and name in self.after and self.after[name] < self.before[name]

    def quote(self, name: str) -> tuple[Evidence, ...]:
        """The counter's line in both readings."""
        found = []
        if name in self.lines_before:
            found.append(self.first.quote(self.lines_before[name]))
        if name in self.lines_after:
            found.append(self.last.quote(self.lines_after[name]))
        return tuple(found)

    def unknown(self, why: str) -> Judgement:
        """Unknown over this port."""
        return self.last.unknown(why)


def eth_growths(view: View, rails: Rails, node: str) -> tuple[list[Growth], list[Judgement]]:
    """Growth of `ethtool -S` per rail, and judgements for rails that have no window."""
    growths: list[Growth] = []
    without: list[Judgement] = []
    found = [r for r in rails.of(node) if r.netdev]
    for rail in found:
        window = view.window("eth-stats", node, EthStats, (rail.netdev,))
        if isinstance(window, Window):
            a, b = window.before, window.after
            growths.append(
                Growth(rail, window.seconds, a.counters, b.counters, window.first, window.last, a.lines, b.lines)
            )
        else:
            without.append(window.unknown())
    if not found:
        without.append(rails.unmapped(node))
    return growths, without


def ib_growths(view: View, rails: Rails, node: str, command: str) -> tuple[list[Growth], list[Judgement]]:
    """Growth of `ib-counters` or `ib-hwcounters` per rail; of all devices while the rails are not mapped."""
    window = view.window(command, node, Counters)
    if not isinstance(window, Window):
        return [], [window.unknown()]
    own = rails.of(node)
    if not own or not all(r.device for r in own):
        own = tuple(Rail(node, i, "", p.device) for i, p in enumerate(window.after.ports))
    growths: list[Growth] = []
    without: list[Judgement] = []
    for rail in own:
        a, b = window.before.of(rail.device), window.after.of(rail.device)
        if a and b:
            growths.append(
                Growth(rail, window.seconds, a.counters, b.counters, window.first, window.last, a.lines, b.lines)
            )
        else:
            without.append(window.last.unknown("a rail is missing from the counters"))
    return growths, without


def prevailing(values: Iterable[V]) -> V | None:
    """What more than half have; None without a majority."""
    counts = Counter(values)
    if not counts:
        return None
    value, many = counts.most_common(1)[0]
    return value if many * 2 > counts.total() else None


def against_peers(healthy: int) -> Certainty:
    """Established when enough other nodes do not show it, supported when there is nobody to compare with."""
    return "established" if healthy >= ENOUGH_PEERS - 1 else "supported"


def middle(values: Sequence[float]) -> float | None:
    """Median; None of nothing."""
    return median(values) if values else None
