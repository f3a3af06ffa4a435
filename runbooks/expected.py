"""`expected.yaml` of a sample cluster: what each runbook must conclude there, and the comparison with a walk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import field_validator

from checks import nodesets
from checks.findings import Layer, Model
from common import yamlfile
from runbooks.documents import WalkDocument

Verdict = Literal["fault", "healthy", "undecided"]


class ExpectedConclusion(Model):
    """A conclusion that must be there; `nodes` and `role` are compared only when given."""

    fault: str
    nodes: str | None = None
    role: Literal["initiating", "contributing", "cascade"] | None = None
    certainty: Literal["established", "supported", "hypothesis"] | None = None

    @field_validator("nodes")
    @classmethod
    def _set(cls, value: str | None) -> str | None:
        return value if value is None else nodesets.fold(nodesets.expand(value))


class Case(Model):
    """One walk: runbook and answers given, verdict and conclusions expected.

    `conclusions` lists all that may be concluded apart from cascades and hypotheses; `accept` names faults that are
    fine instead of one, `accept_verdicts` verdicts that are fine too, `unknown` nodes that must be named as unknown.
    """

    runbook: str
    answers: dict[str, str] = {}
    verdict: Verdict
    conclusions: tuple[ExpectedConclusion, ...] = ()
    cleared: tuple[Layer, ...] = ()
    unknown: str | None = None
    accept_verdicts: tuple[Verdict, ...] = ()
    accept: dict[str, tuple[str, ...]] = {}


class Expected(Model):
    """The file."""

    cases: tuple[Case, ...]
    note: str = ""


def read(path: Path) -> Expected:
    """The expectations of a cluster or overlay folder's file.

    Raises:
        InputError: with file, line and fix.
    """
    return yamlfile.load(path, Expected)


def mismatches(case: Case, walk: WalkDocument) -> Iterator[str]:
    """What differs between a walk and what was expected, in words; nothing when it is as expected."""
    if walk.verdict not in (case.verdict, *case.accept_verdicts):
        yield f"verdict {walk.verdict}, expected {case.verdict}"
    concluded = {c.fault: c for c in walk.conclusions}
    allowed: set[str] = set()
    for wanted in case.conclusions:
        names = (wanted.fault, *case.accept.get(wanted.fault, ()))
        allowed.update(names)
        found = next((concluded[n] for n in names if n in concluded), None)
        if found is None:
            if walk.verdict == "fault" or not case.accept_verdicts:
                yield f"{wanted.fault} not concluded; concluded {', '.join(concluded) or 'nothing'}"
            continue
        if wanted.nodes is not None and found.nodes != wanted.nodes:
            yield f"{found.fault} on {found.nodes or 'no node'}, expected {wanted.nodes}"
        for name in ("role", "certainty"):
            value = getattr(wanted, name)
            if value is not None and getattr(found, name) != value:
                yield f"{found.fault}: {name} {getattr(found, name)}, expected {value}"
    for fault, conclusion in concluded.items():
        side = conclusion.role == "cascade" or conclusion.certainty == "hypothesis"
        if fault not in allowed and not side:
            yield f"{fault} concluded on {conclusion.nodes or conclusion.entities}, not expected"
    cleared = {c.layer for c in walk.cleared}
    for layer in case.cleared:
        if layer not in cleared:
            yield f"layer {layer} not cleared; cleared {', '.join(sorted(cleared)) or 'none'}"
    if case.unknown:
        named = {n for u in walk.unknown for n in (nodesets.expand(u.nodes) if u.nodes else ())}
        missing = set(nodesets.expand(case.unknown)) - named
        if missing:
            yield f"unknown nodes not named: {nodesets.fold(missing)}"
