"""Whatever is taken away from a recording, a verdict never becomes wrong or healthier, and it names what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cache

import pytest

from checks import catalogue, judge, rules
from checks.clusters import Opened
from checks.findings import Finding
from checks.outputs import NotAvailable, Output
from checks.transports.replay import Replay
from checks.view import View
from runbooks.documents import WalkDocument
from runbooks.session import Session
from tests.scenarios.cases import Place, places, walk

GONE = NotAvailable("not-recorded", "not recorded")


class Without(Replay):
    """A recording from which one command was taken away everywhere."""

    def __init__(self, inner: Replay, command: str) -> None:
        self.inner, self.command = inner, command
        self.cluster = inner.cluster
        self.extra_attachments = inner.extra_attachments

    @property
    def rounds(self) -> Sequence[int]:
        return self.inner.rounds

    def get(self, node: str, command: str, params: tuple[str, ...], round: int, sample: int) -> Output | NotAvailable:
        return GONE if command == self.command else self.inner.get(node, command, params, round, sample)

    def params(self, node: str, command: str) -> Sequence[tuple[str, ...]]:
        return () if command == self.command else self.inner.params(node, command)

    def samples(self, node: str, command: str, params: tuple[str, ...], round: int) -> int:
        return 0 if command == self.command else self.inner.samples(node, command, params, round)

    def attachment(self, kind: str) -> Sequence[tuple[str, bytes]]:
        return self.inner.attachment(kind)

    def taken_at(self, round: int) -> datetime | None:
        return self.inner.taken_at(round)


def read_by_checks() -> set[str]:
    return {read.command for rule in rules.every() for read in rule.reads} | {"boot"}


def recorded(opened: Opened) -> list[str]:
    replay = opened.replay
    assert replay is not None
    stems = {
        key.stem.split("@")[0] for layer in replay._base.values() for folder in layer.folders for key in folder.files
    }
    return sorted(stems & read_by_checks() & set(catalogue.table()))


@cache
def looked_at(place: Place) -> tuple[Opened, dict[str, tuple[frozenset[str], tuple[Finding, ...]]]]:
    """The open place, and for every check the commands it looked at and what it found with all of them there."""
    opened = place.open()
    assert opened.replay is not None
    view = View(opened.cluster, opened.replay)
    seen = {}
    for rule in rules.every():
        view.touched.clear()
        found = tuple(judge.judge(rule, view))
        seen[rule.id] = (frozenset(c for _, c in view.touched) | {r.command for r in rule.reads}, found)
    return opened, seen


def without(place: Place, command: str, runbook: str, answers: dict[str, str]) -> WalkDocument:
    opened, seen = looked_at(place)
    assert opened.replay is not None
    poorer = Opened(opened.cluster, Without(opened.replay, command), opened.folder, opened.overlays)
    session = Session.start(poorer, runbook, answers=answers)
    # a check is a pure function of what it looks at: where it never looked at the command, nothing can change
    session.runner._found.update({check: found for check, (commands, found) in seen.items() if command not in commands})
    session.drive()
    return session.document()


PLACES = list(places())


@pytest.mark.parametrize("place", PLACES, ids=lambda p: p.name)
def test_taking_away_any_one_command_never_makes_triage_wrong_or_healthier(place: Place) -> None:
    whole = walk(place, "triage")
    true = {c.fault for c in whole.conclusions} | {c.fault for case in place.cases() for c in case.conclusions}
    true |= {f for case in place.cases() for names in case.accept.values() for f in names}
    for command in recorded(place.open()):
        poorer = without(place, command, "triage", {})
        accused = {c.fault for c in poorer.conclusions if c.role != "cascade" and c.certainty != "hypothesis"}
        assert accused <= true, f"without {command}: {accused - true}"
        if whole.verdict == "fault":
            assert poorer.verdict in ("fault", "undecided"), f"without {command}"
        else:
            assert poorer.verdict in (whole.verdict, "undecided"), f"without {command}"
        if poorer.verdict == "undecided" and whole.verdict != "undecided":
            named = " ".join(f"{u.check} {u.reason} {' '.join(u.missing)}" for u in poorer.unknown)
            assert command in named, f"without {command}: not named in {named[:400]}"


@pytest.mark.parametrize("place", PLACES, ids=lambda p: p.name)
def test_taking_away_any_one_command_never_makes_the_expected_runbook_wrong(place: Place) -> None:
    for case in place.cases():
        if case.runbook == "triage":
            continue
        whole = walk(place, case.runbook, tuple(case.answers.items()))
        true = {c.fault for c in whole.conclusions} | {c.fault for c in case.conclusions}
        true |= {f for names in case.accept.values() for f in names}
        asked = {m for f in whole.findings for e in f.evidence for m in [e.command.split("@")[0]]}
        for command in sorted(asked & set(recorded(place.open()))):
            poorer = without(place, command, case.runbook, case.answers)
            accused = {c.fault for c in poorer.conclusions if c.role != "cascade" and c.certainty != "hypothesis"}
            assert accused <= true, f"{case.runbook} without {command}: {accused - true}"
            if whole.verdict == "fault":
                assert poorer.verdict != "healthy", f"{case.runbook} without {command}"
