"""Does storage traffic keep off the compute rails?"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from checks.findings import Status
from checks.judgement import Judgement, ok, skipped
from checks.rules import Read, rule
from checks.rules.network.ports import Rails
from checks.rules.storage.common import shared
from checks.tools.disks import Mounts
from checks.tools.iproute import Routes
from checks.tools.lnet import Lnet
from checks.view import Reading, View, observed


@rule(
    "network.storage_path",
    title="Does storage traffic keep off the compute rails?",
    why="A checkpoint or a data loader that shares a rail with RDMA fills the lossless class and pauses every job.",
    scope="node",
    reads=(
        Read("lnet", optional=True),
        Read("findmnt", optional=True),
        Read("ip-route", optional=True),
        Read("rdma-link", optional=True),
    ),
    faults=("net-storage-on-rail",),
    applies=shared,
)
def storage_path(view: View) -> Iterator[Judgement]:
    """The interface Lustre or NFS uses, against the rails."""
    rails = Rails(view)
    kind = view.cluster.spec.storage.kind or "lustre"
    for node in view.nodes("storage-client"):
        compute = {rail.netdev for rail in rails.of(node)} | set(view.cluster.spec.interfaces.rdma)
        if not compute:
            yield skipped("no compute rail is known here")
            continue
        if kind == "lustre":
            r = view.newest("lnet", node, Lnet)
            if r.facts is None:
                yield r.unknown()
                continue
            used = {i: n.line for n in r.facts.nids for i in n.interfaces}
            yield _judged(r, used, compute) if used else r.unknown("LNet does not tell its interface")
        else:
            yield _mounted(view, node, kind, compute)


def _mounted(view: View, node: str, kind: str, compute: set[str]) -> Judgement:
    mounts, routes = view.newest("findmnt", node, Mounts), view.newest("ip-route", node, Routes)
    if mounts.facts is None or routes.facts is None:
        return (mounts if mounts.facts is None else routes).unknown()
    servers = {m.source.partition(":")[0] for m in mounts.facts.mounts if m.fstype.startswith(kind)}
    used: dict[str, int] = {}
    for server in servers:
        found = _route(server, routes)
        if found is not None:
            used[found[0]] = found[1]
    return _judged(routes, used, compute) if used else routes.unknown("the way to the storage servers is not known")


def _route(server: str, routes: Reading[Routes]) -> tuple[str, int] | None:
    try:
        address = ipaddress.ip_address(server)
    except ValueError:
        return None
    best: tuple[int, str, int] | None = None
    for route in routes.known.routes:
        text = "0.0.0.0/0" if route.to == "default" else route.to
        try:
            net = ipaddress.ip_network(text, strict=False)
        except ValueError:
            continue
        if (
            route.interface
            and net.version == address.version
            and address in net
            and (not best or net.prefixlen > best[0])
        ):
            best = (net.prefixlen, route.interface, route.line)
    return (best[1], best[2]) if best else None


def _judged(r: Reading[Lnet] | Reading[Routes], used: dict[str, int], compute: set[str]) -> Judgement:
    value = (observed("storage interface", ", ".join(sorted(used)), "", r.node),)
    common = sorted(set(used) & compute)
    if common:
        return Judgement(
            Status.CRITICAL,
            "storage traffic runs on a compute rail",
            nodes=(r.node,),
            entities=tuple(f"{r.node}:{name}" for name in common),
            observed=value,
            evidence=tuple(r.quote(used[name]) for name in common),
            faults=("net-storage-on-rail",),
        )
    return ok("storage has its own interface", r.node, observed=value, evidence=(r.quote(min(used.values())),))
