"""What a step has to ask of which node: the commands its rules read, with parameters, rounds and samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from checks import catalogue, params
from checks.inventory import Cluster
from checks.rules import Rule
from checks.tools.rdma import RdmaLink, RdmaLinks
from checks.view import View

HISTORY = "now-30days"


@dataclass(frozen=True, slots=True)
class Wanted:
    """One command for one node in one round."""

    node: str
    command: str
    params: tuple[str, ...] = ()
    sample: int = 1


def simple(rules: Iterable[Rule], view: View) -> list[Wanted]:
    """Commands without parameters that the rules read: the first thing asked, since parameters follow from them."""
    found = [w for w in _all(rules, view) if not catalogue.get(w.command).params]
    # parameters of network commands follow from which RDMA device is which interface
    needs = {w.node for w in _all(rules, view) if set(catalogue.get(w.command).params.values()) & _DEVICES}
    found += [Wanted(node, "rdma-link") for node in sorted(needs) if not view.cluster.os_of(node)]
    return list(dict.fromkeys(found))


def with_parameters(rules: Iterable[Rule], view: View) -> list[Wanted]:
    """Commands with parameters, once the readings they follow from are there."""
    found: dict[Wanted, None] = {}
    for wanted in _all(rules, view):
        for values in _values(wanted.command, wanted.node, view):
            found[Wanted(wanted.node, wanted.command, values, wanted.sample)] = None
    return list(found)


def twice(rules: Iterable[Rule], view: View) -> frozenset[str]:
    """Commands that some rule needs in two rounds, and `boot`, which says whether a node restarted between them."""
    found = {read.command for rule in rules for read in rule.reads if read.rounds == 2}
    return frozenset(found | {"boot"}) if found else frozenset()


_DEVICES = frozenset({"interface", "rdma-device"})


def _all(rules: Iterable[Rule], view: View) -> Iterator[Wanted]:
    rules = list(rules)
    boots: set[str] = set()
    for rule in rules:
        if rule.applies and rule.applies(view.cluster):
            continue
        for read in rule.reads:
            entry = catalogue.get(read.command)
            if not entry.runnable:
                continue
            nodes = view.where(read.command, read.roles)
            # shared targets are asked by one client at a time
            for node in nodes[:1] if entry.fanout == "one" else nodes:
                for sample in range(1, read.samples + 1):
                    yield Wanted(node, read.command, (), sample)
                if read.rounds == 2 and node not in boots and _has_boot(view.cluster, node):
                    boots.add(node)
                    yield Wanted(node, "boot")


def _has_boot(cluster: Cluster, node: str) -> bool:
    return bool(set(cluster.roles_of(node)) & set(catalogue.get("boot").roles))


def _values(command: str, node: str, view: View) -> Iterator[tuple[str, ...]]:
    """The parameter values to ask for; nothing where they cannot be known."""
    entry = catalogue.get(command)
    kinds = tuple(entry.params.values())
    if len(kinds) != 1:
        return
    for value in _of_kind(kinds[0], next(iter(entry.params)), node, view):
        try:
            params.check(kinds[0], value)
        except params.ParameterError:
            continue
        yield (value,)


def _of_kind(kind: str, name: str, node: str, view: View) -> Iterable[str]:
    spec = view.cluster.spec
    match kind, name:
        case "sonic-pattern", _:
            return params.SONIC_PATTERNS
        case "path", "dir":
            return (spec.storage.checkpoint_dir,) if spec.storage.checkpoint_dir else ()
        case "path", "mnt":
            return (spec.storage.mount,) if spec.storage.mount else ()
        case "date", "start":
            return (HISTORY,)
        case "interface", "if":
            named = (*spec.interfaces.rdma, *spec.interfaces.storage, *spec.interfaces.management)
            links = _links(node, view)
            by_device = {link.device: link.netdev for link in links if link.netdev}
            if named:
                return dict.fromkeys(by_device.get(n) or n for n in named)
            return dict.fromkeys(link.netdev for link in links if link.netdev)
        case "rdma-device", _:
            return dict.fromkeys(link.device for link in _links(node, view))
        case _:
            return ()


def _links(node: str, view: View) -> tuple[RdmaLink, ...]:
    facts = view.newest("rdma-link", node, RdmaLinks).facts
    return facts.links if facts else ()
