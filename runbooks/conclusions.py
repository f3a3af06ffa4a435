"""From findings that name faults to conclusions: merged per fault, cause told from effect, with what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TypeAlias

from checks import faults, nodesets
from checks.faults import Fault
from checks.findings import LAYERS, Certainty, Finding, Model, Status
from common import yamlfile
from runbooks.documents import Cleared, Conclusion, Remedy, Role, Unknown, Verdict

CAUSALITY = Path(__file__).parent / "causality.yaml"

Found: TypeAlias = Mapping[str, Sequence[Finding]]
Coverage: TypeAlias = Mapping[str, Sequence[str]]
"""Fault id → ids of the checks that can see it."""

CERTAINTIES: tuple[Certainty, ...] = ("hypothesis", "supported", "established")
SEVERITIES = ("critical", "high", "medium", "low", "info")
ROLES: tuple[Role, ...] = ("initiating", "contributing", "cascade")
RISKS = ("read-only", "safe", "reversible", "disruptive", "destructive")

TOLERANCE = timedelta(minutes=2)
"""An effect seen this much earlier than its cause is still its effect: clocks differ, logs are read by the minute."""


class Cause(Model):
    """What one fault brings about. With `same_node` only on the nodes it is on itself."""

    cause: str
    effects: dict[str, Role]
    same_node: bool = False


class Causality(Model):
    """The file. `echoes` are faults that something else always brings about."""

    explains: tuple[Cause, ...]
    echoes: tuple[str, ...]


@cache
def causality() -> Causality:
    """What causes what, as shipped."""
    return yamlfile.load(CAUSALITY, Causality)


@cache
def registered_coverage() -> Coverage:
    """Which registered checks name which fault."""
    from checks import rules

    found: dict[str, list[str]] = {}
    for rule in rules.every():
        for fault in rule.faults:
            found.setdefault(fault, []).append(rule.id)
    return found


def build(concluded: Mapping[str, Sequence[str]], found: Found, coverage: Coverage | None = None) -> list[Conclusion]:
    """Conclusions of a walk, causes first; `concluded` is fault → the checks of the steps that concluded it."""
    if not concluded:
        return []
    coverage = registered_coverage() if coverage is None else coverage
    made = {fault: _conclusion(fault, checks, found, coverage, concluded) for fault, checks in concluded.items()}
    return sorted(_with_roles(made), key=_rank)


def _rank(c: Conclusion) -> tuple[bool, int, int, int]:
    severity = SEVERITIES.index(c.severity) if c.severity in SEVERITIES else len(SEVERITIES)
    return c.certainty == "hypothesis", ROLES.index(c.role), severity, LAYERS.index(c.layer)


def _conclusion(
    fault_id: str, checks: Sequence[str], found: Found, coverage: Coverage, concluded: Mapping[str, Sequence[str]]
) -> Conclusion:
    naming = [f for findings in found.values() for f in findings if f.accuses and fault_id in f.faults]
    because = [f.check for f in naming]
    if not naming:
        # concluded from an answer, or from signs that do not name it: what looked bad is all there is to show
        naming = [f for check in checks for f in found.get(check, ()) if f.status >= Status.WARN]
        because = [f.check for f in naming]
        certainty: Certainty = "hypothesis"
    else:
        certainty = max((_certainty(f, found) for f in naming), key=CERTAINTIES.index)
    fault = faults.get(fault_id) or _nameless(fault_id)
    # a guess beside a proof must not widen where the fault is
    best = [f for f in naming if f.certainty == certainty] or naming
    return Conclusion(
        fault=fault_id,
        title=fault.title,
        layer=fault.layer,
        severity=fault.severity,
        role="initiating",
        certainty=certainty,
        nodes=nodesets.fold(n for f in best for n in f.node_list),
        entities=tuple(dict.fromkeys(e for f in best for e in f.entities)),
        because=tuple(dict.fromkeys(because)),
        alternatives=tuple(a for a in fault.confused_with if a not in concluded and not _excluded(a, found, coverage)),
        remedy=_remedies(fault),
        confirm=fault.confirm,
        at=min((f.at for f in best if f.at), default=""),
    )


def _certainty(finding: Finding, found: Found) -> Certainty:
    """Established needs peers that do not show the fault: where none of them answered it is only supported."""
    if finding.certainty != "established":
        return finding.certainty
    others = [f.status for f in found.get(finding.check, ()) if not f.accuses]
    compared = Status.OK in others or Status.UNKNOWN not in others
    return "established" if compared else "supported"


def _excluded(fault: str, found: Found, coverage: Coverage) -> bool:
    """True when every check that can see the fault ran, answered, and does not name it."""
    checks = coverage.get(fault, ())
    return bool(checks) and all(
        check in found
        and not any(f.status == Status.UNKNOWN or (f.accuses and fault in f.faults) for f in found[check])
        for check in checks
    )


def _remedies(fault: Fault) -> tuple[Remedy, ...]:
    def risk(step: faults.Remedy) -> int:
        return RISKS.index(step.risk) if step.risk in RISKS else len(RISKS)

    return tuple(
        Remedy(
            step=r.step,
            risk=r.risk,
            command=r.command,
            rollback=r.rollback,
            confirm=r.confirm or fault.confirm or None,
        )
        for r in sorted(fault.remedy, key=risk)
    )


def _nameless(fault_id: str) -> Fault:
    prefix = fault_id.split("-", 1)[0]
    layer = faults.PREFIXES.get(prefix, "training-run")
    return Fault(id=fault_id, title=fault_id, layer=layer, severity="medium", symptom="")


def _with_roles(made: Mapping[str, Conclusion]) -> list[Conclusion]:
    """Each conclusion with its role, and what it was caused by."""
    causes: dict[str, dict[str, Role]] = {fault: {} for fault in made}
    for entry in causality().explains:
        if (cause := made.get(entry.cause)) is None:
            continue
        for effect_id, role in entry.effects.items():
            effect = made.get(effect_id)
            if effect is not None and _may_explain(cause, effect, same_node=entry.same_node):
                causes[effect_id][entry.cause] = role
    echoes = causality().echoes
    real = [f for f, c in made.items() if f not in echoes and c.certainty != "hypothesis"]
    for echo in (e for e in echoes if e in made):
        # an echo has a cause even where no table says which
        causes[echo].update({fault: "cascade" for fault in real if not causes[fault]})
    return [
        c.model_copy(update={"role": max(found.values(), key=ROLES.index), "caused_by": tuple(found)})
        if (found := causes[fault])
        # alone it is an effect all the same: of something this walk has not seen
        else c.model_copy(update={"role": "cascade"})
        if fault in echoes
        else c
        for fault, c in made.items()
    ]


def _may_explain(cause: Conclusion, effect: Conclusion, *, same_node: bool) -> bool:
    if cause.certainty == "hypothesis" and effect.certainty != "hypothesis":
        return False
    if same_node and not set(_nodes(effect)) <= set(_nodes(cause)):
        return False
    began, seen = _time(cause.at), _time(effect.at)
    return began is None or seen is None or seen >= began - TOLERANCE


def _nodes(conclusion: Conclusion) -> tuple[str, ...]:
    return nodesets.expand(conclusion.nodes) if conclusion.nodes else ()


def _time(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else None


def cleared(found: Found, concluded: Sequence[Conclusion], skipped: Iterable[Unknown] = ()) -> tuple[Cleared, ...]:
    """Layers whose checks all answered and show nothing but health, or effects of a cause elsewhere."""
    effects = {c.fault for c in concluded if c.role == "cascade" and c.caused_by}
    sure = [c for c in concluded if c.role != "cascade" and c.certainty != "hypothesis"]
    untold = {u.check.split(".", 1)[0] for u in skipped}
    result: list[Cleared] = []
    for layer in LAYERS:
        findings = [f for fs in found.values() for f in fs if f.layer == layer]
        guilty = layer in untold or any(c.layer == layer for c in concluded if c.role != "cascade")
        elsewhere = any(c.layer != layer for c in sure)
        innocent = all(_innocent(f, effects, elsewhere) for f in findings)
        fine = tuple(dict.fromkeys(f.check for f in findings if f.status == Status.OK))
        if fine and innocent and not guilty:
            result.append(Cleared(layer=layer, checks=fine))
    return tuple(result)


def _innocent(finding: Finding, effects: set[str], elsewhere: bool) -> bool:
    if finding.status <= Status.OK:
        return True
    if finding.status == Status.UNKNOWN:
        return False
    # a sign that names no fault is an effect when the cause was found elsewhere
    return set(finding.faults) <= effects if finding.faults else elsewhere


def unknown(found: Found) -> tuple[Unknown, ...]:
    """Everything that did not answer."""
    return tuple(
        Unknown(check=f.check, nodes=f.nodes, reason=f.reason or f.summary, missing=f.missing)
        for findings in found.values()
        for f in findings
        if f.status == Status.UNKNOWN
    )


def verdict(findings: Iterable[Finding], concluded: Sequence[Conclusion], unknown: Sequence[Unknown]) -> Verdict:
    """Fault when a cause was proven; undecided while anything is open; else healthy."""
    if any(c.role != "cascade" and c.certainty != "hypothesis" for c in concluded):
        return "fault"
    named = {c.fault for c in concluded}
    open_accusation = any(f.accuses and not named.intersection(f.faults) for f in findings)
    return "undecided" if concluded or unknown or open_accusation else "healthy"
