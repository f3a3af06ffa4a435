"""Do the clocks of the nodes agree."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from checks.findings import Certainty, Evidence, Status
from checks.judgement import Judgement, ok
from checks.outputs import NotAvailable
from checks.rules import Read, rule
from checks.rules.host.common import HOSTS
from checks.tools.clock import Chrony, Epoch, TimeCtl
from checks.view import Reading, View, observed

PEERS = 3
SPREAD = 5
"""An epoch is odd when it lies this many times the usual spread from the median: nodes are not asked all at once."""


@rule(
    "host.clock",
    title="Do the clocks of the nodes agree?",
    why="Credentials of MUNGE and Slurm carry times: a node whose clock is off by a second starts no jobs and looks "
    "lost, and its log lines fall out of order.",
    scope="node",
    reads=(
        Read("time-chrony", roles=HOSTS),
        Read("epoch", optional=True, roles=HOSTS),
        Read("time-ctl", optional=True, roles=HOSTS),
    ),
    thresholds=("clock-skew-warn",),
    faults=("host-clock-skew",),
)
def clock(view: View) -> Iterator[Judgement]:
    """What the time service says of its own offset, and what the clocks read side by side."""
    nodes = view.nodes(*HOSTS)
    skews = _skews(view, nodes)
    for node in nodes:
        chrony = view.newest("time-chrony", node, Chrony)
        if chrony.facts is not None:
            yield _by_chrony(view, chrony, skews.get(node))
        elif node in skews and _odd(view, skews, node):
            reading, skew = skews[node]
            yield _skewed(view, node, skew, (reading.quote(reading.known.line),), "supported")
        else:
            yield _by_systemd(view, chrony)


def _skews(view: View, nodes: tuple[str, ...]) -> dict[str, tuple[Reading[Epoch], float]]:
    """Each node's clock against the median of all, where each was read at its own known time or all in one sweep."""
    readings = {n: r for n in nodes if (r := view.newest("epoch", n, Epoch)).facts is not None}
    newest = max((r.round for r in readings.values()), default=0)
    same = {n: r for n, r in readings.items() if r.round == newest}
    if len(same) < PEERS:
        return {}
    middle = median(r.known.seconds for r in same.values())
    return {n: (r, r.known.seconds - middle) for n, r in same.items()}


def _odd(view: View, skews: dict[str, tuple[Reading[Epoch], float]], node: str) -> bool:
    spread = median(abs(s) for _, s in skews.values())
    return abs(skews[node][1]) > max(view.limit("clock-skew-warn", "warn"), SPREAD * spread)


def _by_chrony(view: View, chrony: Reading[Chrony], epoch: tuple[Reading[Epoch], float] | None) -> Judgement:
    facts, node = chrony.known, chrony.node
    if facts.synchronised is None or facts.offset_s is None:
        return chrony.unknown("offset or leap status missing")
    quote = chrony.quote(facts.offset_line or facts.line)
    skew = epoch[1] if epoch else None
    far = skew is not None and abs(skew) > view.limit("clock-skew-warn", "warn")
    if abs(facts.offset_s) > view.limit("clock-skew-warn", "warn"):
        quotes = (quote, epoch[0].quote(epoch[0].known.line)) if epoch else (quote,)
        return _skewed(view, node, facts.offset_s, quotes, "established")
    if facts.synchronised is False:
        if far and epoch and skew is not None:
            quotes = (quote, epoch[0].quote(epoch[0].known.line))
            return _skewed(view, node, skew, quotes, "established")
        return Judgement(
            Status.WARN,
            "the clock is not synchronised",
            nodes=(node,),
            observed=(observed("leap status", facts.leap, "", node),),
            threshold=view.against("clock-skew-warn", "warn"),
            evidence=(chrony.quote(facts.leap_line or facts.line),),
            faults=("host-clock-skew",),
            certainty="supported",
        )
    if epoch and skew is not None and _odd(view, _skews(view, view.nodes(*HOSTS)), node):
        return _skewed(view, node, skew, (epoch[0].quote(epoch[0].known.line), quote), "supported")
    return ok(
        "the clock is synchronised",
        node,
        observed=(observed("clock offset", round(facts.offset_s, 6), "s", node),),
        evidence=(quote,),
    )


def _skewed(view: View, node: str, offset_s: float, evidence: tuple[Evidence, ...], certainty: Certainty) -> Judgement:
    fault = abs(offset_s) > view.limit("clock-skew-warn", "fault")
    return Judgement(
        Status.CRITICAL if fault else Status.WARN,
        "the clock is " + ("ahead" if offset_s > 0 else "behind"),
        nodes=(node,),
        observed=(observed("clock offset", round(offset_s, 3), "s", node),),
        threshold=view.against("clock-skew-warn", "fault" if fault else "warn"),
        evidence=evidence,
        faults=("host-clock-skew",),
        certainty=certainty,
    )


def _by_systemd(view: View, chrony: Reading[Chrony]) -> Judgement:
    """A node without chrony may use another time service; systemd then knows whether the clock is synchronised."""
    other = view.newest("time-ctl", chrony.node, TimeCtl)
    absent = isinstance(chrony.outcome, NotAvailable) and chrony.outcome.kind in ("absent", "failed")
    if other.facts is None or other.facts.synchronised is None:
        return chrony.unknown()
    quote = (other.quote(other.facts.synchronised_line or other.facts.line),)
    if other.facts.synchronised is False:
        return Judgement(
            Status.WARN,
            "the clock is not synchronised",
            nodes=(chrony.node,),
            threshold=view.against("clock-skew-warn", "warn"),
            evidence=quote,
            faults=("host-clock-skew",),
            certainty="supported",
        )
    if not absent:
        return chrony.unknown()
    return ok("the clock is synchronised", chrony.node, evidence=quote)
