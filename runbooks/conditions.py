"""Whether a runbook's condition holds, as a pure function of what a walk knows: yes, no, or not known (None)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from checks.findings import Finding, Status
from runbooks.model import DONT_KNOW, Count, When


@dataclass(frozen=True, slots=True)
class Known:
    """What a condition may look at: findings by check, answers by question, and the question at hand."""

    findings: Mapping[str, Sequence[Finding]]
    answers: Mapping[str, str]
    step: str


def holds(when: When, known: Known) -> bool | None:
    """True, False, or None when what would decide it is not known."""
    if when.all_ is not None:
        return _all(holds(w, known) for w in when.all_)
    if when.any_ is not None:
        found = _all(_opposite(holds(w, known)) for w in when.any_)
        return _opposite(found)
    if when.not_ is not None:
        return _opposite(holds(when.not_, known))
    if when.answer is not None:
        return _answer(when.answer, known.answers.get(when.step or known.step))
    if when.fault is not None:
        return _fault(when.fault, known)
    findings = known.findings.get(when.check or "", ())
    if when.value is not None:
        return _value(when, findings)
    return _status(when, findings)


def _all(values: Iterable[bool | None]) -> bool | None:
    listed = list(values)
    if False in listed:
        return False
    return None if None in listed else True


def _opposite(value: bool | None) -> bool | None:
    return None if value is None else not value


def _answer(wanted: tuple[str, ...], given: str | None) -> bool | None:
    if given is None or given == DONT_KNOW:
        return True if given in wanted else None
    return given in wanted


def _fault(fault: str, known: Known) -> bool | None:
    listed = [f for findings in known.findings.values() for f in findings]
    if any(fault in f.faults and f.accuses for f in listed):
        return True
    return None if not listed or any(f.status == Status.UNKNOWN for f in listed) else False


def _status(when: When, findings: Sequence[Finding]) -> bool | None:
    wanted = {Status.of(word) for word in when.is_ or ()}
    worst = Status.fold(f.status for f in findings) if findings else Status.UNKNOWN
    if worst in wanted:
        if when.nodes is None:
            return True
        nodes = {n for f in findings if f.status in wanted for n in f.node_list}
        return _counted(when.nodes, len(nodes), unsure=any(f.status == Status.UNKNOWN for f in findings))
    return None if worst == Status.UNKNOWN else False


def _counted(count: Count, number: int, *, unsure: bool) -> bool | None:
    if count.at_most is not None:
        if number > count.at_most:
            return False
        # a node that did not answer might be one more
        if unsure:
            return None
    if count.at_least is not None and number < count.at_least:
        return None if unsure else False
    return True


def _value(when: When, findings: Sequence[Finding]) -> bool | None:
    values = [o.value for f in findings for o in f.observed if o.name == when.value and o.value is not None]
    if not values:
        return None
    if when.equals is not None:
        return any(v == when.equals for v in values)
    numbers = [float(v) for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    if not numbers:
        return None
    if when.above is not None:
        return max(numbers) > when.above
    return min(numbers) < (when.below or 0.0)
