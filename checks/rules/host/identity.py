"""Is the node what it should be, and the same that it was: memory size, governor, restarts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from statistics import median

from checks.findings import Status
from checks.judgement import Judgement, ok
from checks.outputs import NotAvailable
from checks.rules import Read, rule
from checks.rules.host.common import HOSTS
from checks.rules.host.sizing import NOMINAL
from checks.tools.clock import Boot
from checks.tools.cpu import Governors
from checks.tools.memory import MemInfo
from checks.view import Reading, View, known, observed, unknown

PEERS = 3
"""Fewer nodes than this have no majority worth speaking of."""
JUST_RESTARTED_S = 3600
LONG_UP_S = 86400


@rule(
    "host.memory_size",
    title="Does the node have all its memory?",
    why="A DIMM that was mapped out at boot leaves the node running, slower and below what the scheduler was promised.",
    scope="node",
    reads=("mem-info",),
    faults=("host-dimm-missing",),
)
def memory_size(view: View) -> Iterator[Judgement]:
    """Against what the cluster file promises and what the other nodes have."""
    readings = view.read("mem-info", MemInfo, roles=("gpu-node",))
    yield from unknown(readings)
    sizes = {r.node: r.known.total_gib for r in known(readings)}
    usual = median(s for s in sizes.values() if s is not None) if len(sizes) >= PEERS else None
    for r in known(readings):
        size = r.known.total_gib
        if size is None:
            yield r.unknown("no total")
            continue
        expected = view.cluster.expect(r.node).memory_gib
        value = (observed("memory", round(size), "GiB", r.node),)
        quote = (r.quote(r.known.line),)
        below_peers = usual is not None and size < NOMINAL * usual
        below_plan = expected is not None and size < NOMINAL * expected
        if below_peers or (below_plan and usual is None):
            yield Judgement(
                Status.WARN,
                "less memory than " + ("the other nodes have" if below_peers else "the cluster file promises"),
                nodes=(r.node,),
                observed=value,
                evidence=quote,
                faults=("host-dimm-missing",),
                certainty="established" if below_peers else "supported",
            )
        elif below_plan:
            yield Judgement(
                Status.WARN,
                "less memory than the cluster file promises, on all nodes alike: the file may be wrong",
                nodes=(r.node,),
                observed=value,
                evidence=quote,
                faults=("host-dimm-missing",),
                certainty="hypothesis",
            )
        elif usual is None and expected is None:
            yield r.unknown("nothing to compare with: no peers, and no memory_gib in the cluster file")
        else:
            yield ok("all the memory is there", r.node, observed=value, evidence=quote)


@rule(
    "host.governor",
    title="Do the processors run at full clock?",
    why="A node whose firmware or tuning was reset saves power between kernel launches and becomes the straggler.",
    scope="group",
    reads=("cpu-governor",),
    faults=("host-governor",),
)
def governor(view: View) -> Iterator[Judgement]:
    """The odd node counts: where all nodes have the same governor it is the site's choice."""
    readings = view.read("cpu-governor", Governors)
    yield from unknown(readings, empty_is_ok=True)
    for r in readings:
        if r.empty:
            yield ok("the firmware controls the frequency", r.node)
    seen = {r.node: Counter(p.value for p in r.known.policies) for r in known(readings)}
    usual = Counter(c.most_common(1)[0][0] for c in seen.values() if c)
    for r in known(readings):
        here = seen[r.node]
        if not here:
            yield r.unknown("no governor could be read")
            continue
        slow = [p for p in r.known.policies if p.value != "performance"]
        peers = sum(usual.values()) >= PEERS
        majority = usual.most_common(1)[0]
        fast_peers = peers and majority[0] == "performance" and majority[1] * 2 > sum(usual.values())
        value = (observed("governor", (slow[0].value if slow else "performance"), "", r.node),)
        quote = (r.quote((slow or list(r.known.policies))[0].line),)
        if not slow:
            yield ok("all processors run with the performance governor", r.node, observed=value, evidence=quote)
        elif fast_peers or len(here) > 1:
            yield Judgement(
                Status.WARN,
                "a power-saving governor, unlike " + ("the other nodes" if fast_peers else "the node's other cores"),
                nodes=(r.node,),
                observed=value,
                evidence=quote,
                faults=("host-governor",),
                certainty="established" if fast_peers else "supported",
            )
        elif peers:
            yield ok("the same governor as on most nodes", r.node, observed=value, evidence=quote)
        else:
            yield Judgement(
                Status.WARN,
                "a power-saving governor",
                nodes=(r.node,),
                observed=value,
                evidence=quote,
                faults=("host-governor",),
                certainty="hypothesis",
            )


@rule(
    "host.restarted",
    title="Did the node restart?",
    why="A restart ends every job on the node and sets all counters back; an unchanged boot id clears the node when a "
    "scheduler says it was lost.",
    scope="node",
    reads=(Read("boot", rounds=2, roles=HOSTS),),
    faults=("sc-node-rebooted",),
)
def restarted(view: View) -> Iterator[Judgement]:
    """Boot ids of all rounds, and how long the node is up beside its peers."""
    nodes = view.nodes(*HOSTS)
    readings = {n: [view.at("boot", n, round=k) for k in view.rounds] for n in nodes}
    uptimes = {
        n: boot.uptime_s
        for n, each in readings.items()
        if each and isinstance(boot := each[-1].facts, Boot) and boot.uptime_s is not None
    }
    usual = median(uptimes.values()) if len(uptimes) >= PEERS else None
    for node in nodes:
        boots = [(r, r.facts) for r in readings[node] if isinstance(r.facts, Boot)]
        ids = list(dict.fromkeys(b.boot_id for _, b in boots))
        if len(ids) > 1:
            yield Judgement(
                Status.CRITICAL,
                "the node restarted between the rounds",
                nodes=(node,),
                observed=(observed("up", boots[-1][1].uptime_s, "s", node),),
                evidence=tuple(r.quote(b.line) for r, b in boots),
                faults=("sc-node-rebooted",),
            )
            continue
        if not readings[node]:
            yield Reading[Boot](node, "boot", (), 1, NotAvailable("not-recorded", "nothing was recorded")).unknown()
            continue
        last = readings[node][-1]
        boot = last.facts
        if not isinstance(boot, Boot):
            yield last.unknown()
            continue
        if boot.uptime_s is None:
            yield last.unknown("no uptime")
            continue
        value = (observed("up", round(boot.uptime_s), "s", node),)
        quote = (last.quote(boot.line, boot.uptime_line),)
        if boot.uptime_s < JUST_RESTARTED_S and usual is not None and usual > LONG_UP_S:
            yield Judgement(
                Status.WARN,
                "the node restarted within the last hour, its peers did not",
                nodes=(node,),
                observed=value,
                evidence=quote,
                faults=("sc-node-rebooted",),
                certainty="supported",
            )
        elif len(boots) < len(readings[node]) and boot.uptime_s < JUST_RESTARTED_S:
            yield last.unknown("the boot id is known in one round only, and the node is not up for long")
        else:
            yield ok("the node did not restart", node, observed=value, evidence=quote)
