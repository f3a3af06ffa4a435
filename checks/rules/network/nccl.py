"""What carries NCCL's traffic: RDMA or sockets, over which devices, straight from GPU memory or through the host."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from checks.findings import Certainty, Status
from checks.inventory import Cluster
from checks.judgement import Judgement, ok, skipped
from checks.rules import Read, attached, rule
from checks.rules.attached import Log
from checks.rules.network.ports import Rails
from checks.tools.job_log import JobLog, NetLine
from checks.tools.procfs import Environment
from checks.view import View, known, observed


def _no_rdma(cluster: Cluster) -> str | None:
    return "the fabric has no RDMA" if cluster.spec.fabric.kind == "ethernet" else None


@rule(
    "network.rdma_transport",
    title="Does NCCL use RDMA, on the rails, straight from GPU memory?",
    why="NCCL falls back to TCP, to another interface or to copies through host memory without an error, and the job "
    "runs at a fraction of its speed.",
    scope="cluster",
    reads=(Read("proc-env", optional=True), Read("rdma-link", optional=True)),
    faults=("net-nccl-tcp", "net-nccl-wrong-if", "net-gdr-off"),
    applies=_no_rdma,
)
def rdma_transport(view: View) -> Iterator[Judgement]:
    """Lines of the job's log, and variables of its processes where they were read."""
    found = attached.logs(view)
    asked = [n for n in view.nodes("gpu-node") if view.store.params(n, "proc-env")]
    if not found and not asked:
        yield skipped(attached.NONE)
        return
    yield from (log.unknown() for log in found if log.facts is None)
    rails = Rails(view) if view.nodes("gpu-node") else None
    said = False
    for log, facts in attached.readable(found):
        if facts.nets or facts.gdr_channels or facts.plain_channels:
            said = True
            yield from _of_log(view, log, facts, rails)
    if any(log.facts is not None for log in found) and not said:
        yield skipped("the job log shows no NET/ lines (run the job with NCCL_DEBUG=INFO)")
    yield from _of_environments(view, asked, rails)


def _of_log(view: View, log: Log, facts: JobLog, rails: Rails | None) -> Iterator[Judgement]:
    every = set(view.cluster.nodes())
    by_host: dict[str | None, list[NetLine]] = defaultdict(list)
    for net in facts.nets:
        by_host[net.host].append(net)
    bad = False
    for host, nets in by_host.items():
        nodes = (host,) if host in every and host is not None else ()
        if all(n.transport in ("Socket", "FastSocket") for n in nets):
            bad = True
            yield Judgement(
                Status.CRITICAL,
                "NCCL talks TCP over sockets, not RDMA",
                nodes=nodes,
                observed=tuple(observed("interface", d, "", *nodes) for d in nets[0].devices[:4]),
                evidence=log.quote(nets[0].line),
                faults=("net-nccl-tcp",),
            )
            continue
        judgement = _devices(log, next((n for n in nets if n.devices), None), rails, nodes)
        if judgement is not None:
            bad = True
            yield judgement
    if (facts.plain_channels and not facts.gdr_channels) or facts.gdr_refused:
        bad = True
        refused = bool(facts.gdr_refused)
        lines = facts.gdr_refused[:2] if refused else (facts.plain_line or 1,)
        certainty: Certainty = "established" if refused else "supported"
        yield Judgement(
            Status.WARN,
            "NCCL copies through host memory: GPUDirect RDMA is off",
            observed=(observed("network channels without GPUDirect RDMA", facts.plain_channels),),
            evidence=log.quote(*lines),
            faults=("net-gdr-off",),
            certainty=certainty,
        )
    if not bad:
        first = facts.nets[0].line if facts.nets else facts.gdr_line or 1
        yield ok(
            "NCCL uses RDMA",
            *(h for h in by_host if h in every and h is not None),
            observed=(observed("transport", ", ".join(facts.transports)),),
            evidence=log.quote(first),
        )


def _devices(log: Log, net: NetLine | None, rails: Rails | None, nodes: tuple[str, ...]) -> Judgement | None:
    """Devices that are no rails, or rails that are not used, against the rails of the node (or of any: all alike)."""
    if net is None or rails is None or not rails.nodes or net.transport not in ("IB", "RoCE"):
        return None
    node = nodes[0] if nodes else rails.nodes[0]
    if not rails.mapped(node):
        return None
    mine = {r.device for r in rails.of(node)}
    foreign = [d for d in net.devices if d not in mine]
    absent = sorted(mine - set(net.devices))
    if not foreign and not absent:
        return None
    return Judgement(
        Status.WARN,
        "NCCL uses RDMA devices that are no rails" if foreign else "NCCL uses fewer rails than the node has",
        nodes=nodes,
        entities=tuple(f"{node}:{d}" for d in (foreign or absent)) if nodes else (),
        observed=tuple(observed("no rail" if foreign else "not used", d, "", *nodes) for d in (foreign or absent)[:8]),
        evidence=log.quote(net.line),
        faults=("net-nccl-wrong-if",),
        certainty="supported",
    )


def _of_environments(view: View, nodes: list[str], rails: Rails | None) -> Iterator[Judgement]:
    readings = view.read_each("proc-env", Environment, nodes=nodes) if nodes else []
    yield from (r.unknown() for r in readings if r.facts is None and not r.empty)
    clean = [r.node for r in readings if r.empty]
    for r in known(readings):
        found = list(_variables(r.known.values, {x.device for x in rails.of(r.node)} if rails else set()))
        if not found:
            clean.append(r.node)
        # an environment holds secrets: it is never quoted, the telling variables are named instead
        for summary, fault, name, certainty in found:
            yield Judgement(
                Status.CRITICAL if fault == "net-nccl-tcp" else Status.WARN,
                summary,
                nodes=(r.node,),
                observed=(observed(name, r.known.values[name], "", r.node),),
                faults=(fault,),
                certainty=certainty,
            )
    if clean:
        yield ok("no variable keeps NCCL off RDMA", *dict.fromkeys(clean))


def _variables(values: dict[str, str], rails: set[str]) -> Iterator[tuple[str, str, str, Certainty]]:
    if values.get("NCCL_IB_DISABLE") == "1":
        yield "a variable turns RDMA off", "net-nccl-tcp", "NCCL_IB_DISABLE", "established"
    elif values.get("NCCL_NET", "").lower() == "socket":
        yield "a variable makes NCCL use sockets", "net-nccl-tcp", "NCCL_NET", "established"
    if values.get("NCCL_NET_GDR_LEVEL", "").upper() in ("LOC", "0"):
        yield "a variable turns GPUDirect RDMA off", "net-gdr-off", "NCCL_NET_GDR_LEVEL", "supported"
    named = values.get("NCCL_IB_HCA", "")
    exact = [d.split(":")[0] for d in named.lstrip("=").split(",") if d]
    if named and not named.startswith("^") and all(rails) and rails:
        used = {r for r in rails for d in exact if (r == d if named.startswith("=") else r.startswith(d))}
        if used != rails:
            yield "a variable keeps NCCL off some rails", "net-nccl-wrong-if", "NCCL_IB_HCA", "supported"
