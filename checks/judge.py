"""Runs rules over a view and folds their judgements into findings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from checks import nodesets
from checks.findings import Evidence, Finding, Observed, Status
from checks.judgement import Judgement
from checks.outputs import Facts
from checks.rules import Rule
from checks.view import View

KEPT_EVIDENCE = 8
KEPT_OBSERVED = 64


def judge(rule: Rule, view: View) -> list[Finding]:
    """The findings of one rule, worst first. Never raises: a rule's mistake is an unknown that names it."""
    if rule.applies and (reason := rule.applies(view.cluster)):
        return [_finding(rule, Judgement(Status.SKIPPED, reason, reason=reason))]
    view.touched.clear()
    try:
        judgements = list(rule(view))
    except Exception as error:
        reason = f"the check itself failed: {type(error).__name__}: {error}"
        judgements = [Judgement(Status.UNKNOWN, reason, reason=reason)]
    judgements = list(_doubted(judgements, view))
    if not judgements:
        reason = "nothing to look at: no node of the kind this check asks"
        judgements = [Judgement(Status.UNKNOWN, reason, reason=reason, missing=tuple(r.command for r in rule.reads))]
    return sorted((_finding(rule, j) for j in _folded(judgements)), key=lambda f: (-f.status, f.nodes))


def _doubted(judgements: list[Judgement], view: View) -> Iterable[Judgement]:
    """An `ok` that rests on an output with lines nobody understood is unknown for the nodes concerned."""
    doubts: dict[str, tuple[str, Evidence]] = {}
    for node, command in view.touched:
        for reading in view.readings_of(node, command):
            facts = reading.outcome
            if isinstance(facts, Facts) and facts.odd and node not in doubts:
                doubts[node] = (command, reading.quote(facts.odd[0].line))
    if not doubts:
        yield from judgements
        return
    for j in judgements:
        # what is said of the whole cluster rests on the nodes it quotes
        named = j.nodes or tuple(dict.fromkeys(e.node for e in j.evidence))
        doubtful = [n for n in named if n in doubts] if j.status == Status.OK else []
        if not doubtful:
            yield j
            continue
        if rest := tuple(n for n in j.nodes if n not in doubts):
            yield replace(j, nodes=rest, evidence=tuple(e for e in j.evidence if e.node not in doubts))
        for node in doubtful:
            command, evidence = doubts[node]
            reason = "part of the output was not understood or is cut off"
            yield Judgement(
                Status.UNKNOWN,
                f"{command}: {reason}",
                nodes=(node,),
                entities=j.entities,
                reason=reason,
                missing=(command,),
                evidence=(evidence,),
            )


def _folded(judgements: Iterable[Judgement]) -> list[Judgement]:
    groups: dict[tuple[object, ...], list[Judgement]] = {}
    for j in judgements:
        limit = (j.threshold.id, j.threshold.value) if j.threshold else None
        key = (j.status, j.summary, j.faults, limit, j.certainty, j.reason)
        groups.setdefault(key, []).append(j)
    return [_merged(group) for group in groups.values()]


def _merged(group: list[Judgement]) -> Judgement:
    first = group[0]
    if len(group) == 1:
        return replace(first, evidence=_unique(first.evidence), observed=_observed(first.observed))
    return replace(
        first,
        nodes=tuple(dict.fromkeys(n for j in group for n in j.nodes)),
        entities=tuple(dict.fromkeys(e for j in group for e in j.entities)),
        observed=_observed(o for j in group for o in j.observed),
        evidence=_unique(e for j in group for e in j.evidence),
        missing=tuple(dict.fromkeys(m for j in group for m in j.missing)),
        at=min((j.at for j in group if j.at), default=""),
    )


def _observed(values: Iterable[Observed]) -> tuple[Observed, ...]:
    """Equal values of several nodes folded into one."""
    groups: dict[tuple[str, object, str], list[str]] = {}
    for o in values:
        groups.setdefault((o.name, o.value, o.unit), []).extend(nodesets.expand(o.nodes) if o.nodes else ())
    rows = [Observed(name=n, value=v, unit=u, nodes=nodesets.fold(nodes)) for (n, v, u), nodes in groups.items()]
    return tuple(rows[:KEPT_OBSERVED])


def _unique(evidence: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """One piece of evidence a node at first, then more, up to the cap."""
    rest: list[Evidence] = []
    first: dict[str, Evidence] = {}
    for e in dict.fromkeys(evidence):
        if e.node in first:
            rest.append(e)
        else:
            first[e.node] = e
    return tuple([*first.values(), *rest][:KEPT_EVIDENCE])


def _finding(rule: Rule, j: Judgement) -> Finding:
    return Finding(
        check=rule.id,
        status=j.status,
        layer=rule.layer,
        scope=rule.scope,
        nodes=nodesets.fold(j.nodes),
        entities=j.entities,
        summary=j.summary,
        observed=j.observed,
        threshold=j.threshold,
        evidence=j.evidence,
        faults=j.faults,
        certainty=j.certainty,
        reason=j.reason,
        missing=j.missing,
        at=j.at,
    )
