"""What a step has to ask of which node: the commands its rules read, with parameters, rounds and samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import PurePosixPath

from checks import catalogue, params
from checks.inventory import Cluster
from checks.rules import Rule
from checks.tools.nvidia_smi import GpuProcesses
from checks.tools.nvme import NvmeList
from checks.tools.rdma import RdmaLink, RdmaLinks
from checks.tools.slurm_job_tables import SlurmJobs
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
    found: dict[Wanted, None] = {}
    for wanted in _all(rules, view):
        kinds = catalogue.get(wanted.command).params.values()
        if not kinds:
            found[wanted] = None
        for kind in kinds:
            if (source := DISCOVERED_BY.get(kind)) and not view.cluster.os_of(wanted.node):
                nodes = view.where(source)[:1] if kind == "user" else [wanted.node]
                found.update(dict.fromkeys(Wanted(node, source) for node in nodes))
    return list(found)


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


DISCOVERED_BY = {
    "interface": "rdma-link",
    "rdma-device": "rdma-link",
    "block-device": "nvme-list",
    "pid": "smi-apps",
    "user": "squeue-run",
}
"""The command whose answer says which values a parameter can take on a node."""

MOST_VALUES = 16
"""Processes, drives or users asked about one by one; a node with more is asked about the first."""


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
    given = [_of_kind(kind, name, node, view) for name, kind in entry.params.items()]
    for values in product(*given) if given else ():
        try:
            for kind, value in zip(entry.params.values(), values, strict=True):
                params.check(kind, value)
        except params.ParameterError:
            continue
        yield values


def _of_kind(kind: str, name: str, node: str, view: View) -> Iterable[str]:
    spec = view.cluster.spec
    match kind, name:
        case "sonic-pattern", _:
            return params.SONIC_PATTERNS
        case "path", "dir":
            return dict.fromkeys((*filter(None, [spec.storage.checkpoint_dir]), *_paths(view, file=False)))
        case "path", "file":
            return _paths(view, file=True)
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
        case "block-device", _:
            drives = view.newest("nvme-list", node, NvmeList).facts
            return [d.device for d in drives.drives][:MOST_VALUES] if drives else ()
        case "pid", _:
            running = view.newest("smi-apps", node, GpuProcesses).facts
            pids = dict.fromkeys(str(p.pid) for p in running.processes if p.pid) if running else {}
            return list(pids)[:MOST_VALUES]
        case "user", _:
            heads = view.where("squeue-run")[:1]
            jobs = view.newest("squeue-run", heads[0], SlurmJobs).facts if heads else None
            users = dict.fromkeys(j.user for j in jobs.jobs if j.user) if jobs else {}
            return list(users)[:MOST_VALUES]
        case _:
            return ()


def _paths(view: View, *, file: bool) -> list[str]:
    """What the person named: with a suffix it is a file, else a directory; that much has to be guessed."""
    return [p for p in view.paths if bool(PurePosixPath(p).suffix) == file]


def _links(node: str, view: View) -> tuple[RdmaLink, ...]:
    facts = view.newest("rdma-link", node, RdmaLinks).facts
    return facts.links if facts else ()
