"""Checks a runbook: every way leads somewhere, every id exists, nothing is unreachable; file, line, fix."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from checks import faults, rules
from checks.findings import LAYERS
from checks.lint import Problem
from common import yamlfile
from common.errors import InputError
from common.yamlfile import nearest
from runbooks import loader
from runbooks.model import Outcome, Runbook, Step, When

Where = tuple[int | str, ...]


def lint_file(path: Path) -> list[Problem]:
    """Every problem of a runbook file, in the order of its lines."""
    try:
        text = yamlfile.read_text(path)
        book = yamlfile.build(text, Runbook, path)
    except InputError as error:
        return [Problem.of(error, path)]
    return lint_text(text, book, path)


def lint_text(text: str, book: Runbook, path: Path) -> list[Problem]:
    """Every problem of a runbook that was read from `text`."""
    linter = _Linter(text, book, path)
    return sorted(linter.problems(), key=lambda p: p.line or 0)


class _Linter:
    def __init__(self, text: str, book: Runbook, path: Path) -> None:
        self.text, self.book, self.path = text, book, path
        self.ids = [s.id for s in book.steps]

    def _problem(
        self, where: Where, message: str, fix: str, severity: Literal["error", "warning", "note"] = "error"
    ) -> Problem:
        line = yamlfile.line_of(self.text, where)
        return Problem(file=str(self.path), line=line, severity=severity, message=message, fix=fix)

    def problems(self) -> Iterator[Problem]:
        if self.path.parent == loader.LIBRARY and self.path.stem != self.book.id:
            yield self._problem(("id",), f"id `{self.book.id}` differs from the file's name", f"`id: {self.path.stem}`")
        for number, step in enumerate(self.book.steps):
            at: Where = ("steps", number)
            yield from self._ways(step, at)
            yield from self._branches(step, at)
            yield from self._ids(step, at)
            for n, outcome in enumerate(step.outcomes):
                yield from self._outcome(step, outcome, (*at, "outcomes", n))
        yield from self._unreachable()
        yield from self._cycles()

    def _ways(self, step: Step, at: Where) -> Iterator[Problem]:
        targets: list[tuple[Where, str | None]] = [((*at, "go"), step.go), ((*at, "unknown"), step.unknown)]
        targets += [((*at, "outcomes", n, "go"), o.go) for n, o in enumerate(step.outcomes)]
        for where, target in targets:
            if target is not None and target not in self.ids:
                yield self._problem(
                    where, f"`{step.id}` goes to `{target}`, which is no step", nearest(target, self.ids)
                )

    def _branches(self, step: Step, at: Where) -> Iterator[Problem]:
        if step.kind == "stop":
            if step.outcomes or step.go or step.unknown:
                yield self._problem(at, f"`{step.id}` stops, so nothing can follow it", "remove go, outcomes, unknown")
            return
        if step.fallback is None:
            what = "its outcomes have no otherwise" if step.outcomes else "it leads nowhere"
            yield self._problem(
                (*at, "outcomes") if step.outcomes else at,
                f"`{step.id}`: {what}",
                "end the outcomes with `- go: STEP`, or give the step `go: STEP`",
            )
        if step.kind in ("ask", "checks", "run") and step.unknown is None:
            yield self._problem(
                at,
                f"`{step.id}` has no unknown branch",
                "say where to go when nothing is known: `unknown: STEP`",
            )
        otherwise = next((n for n, o in enumerate(step.outcomes) if o.otherwise), None)
        if otherwise is not None and otherwise < len(step.outcomes) - 1:
            yield self._problem(
                (*at, "outcomes", otherwise + 1),
                f"`{step.id}`: outcomes after the otherwise are never looked at",
                "move the outcome without a condition to the end",
            )

    def _ids(self, step: Step, at: Where) -> Iterator[Problem]:
        for n, check in enumerate(step.checks):
            yield from self._check(check, (*at, "checks", n), pattern=True)
        if step.run is not None and step.run not in loader.names():
            yield self._problem((*at, "run"), f"unknown runbook `{step.run}`", nearest(step.run, loader.names()))

    def _check(self, check: str, where: Where, *, pattern: bool = False) -> Iterator[Problem]:
        if check.endswith(".*") and pattern:
            if check[:-2] not in LAYERS:
                yield self._problem(where, f"unknown layer in `{check}`", nearest(check[:-2], LAYERS))
        elif rules.get(check) is None:
            yield self._problem(where, f"unknown check `{check}`", nearest(check, (r.id for r in rules.every())))

    def _outcome(self, step: Step, outcome: Outcome, where: Where) -> Iterator[Problem]:
        for key in ("fault", "conclude"):
            for fault in getattr(outcome, key) or ():
                if fault == "any" and key == "conclude":
                    continue
                if faults.get(fault) is None:
                    yield self._problem((*where, key), f"unknown fault `{fault}`", nearest(fault, faults.every()))
                elif key == "fault" and not self._can_name(step, fault):
                    yield self._problem(
                        (*where, key),
                        f"no check of `{step.id}` can name `{fault}`",
                        "add the check that sees it",
                        "warning",
                    )
        if outcome.when is not None:
            yield from self._when(step, outcome.when, (*where, "when"))

    def _can_name(self, step: Step, fault: str) -> bool:
        return any(fault in rule.faults for rule in rules.select(step.checks))

    def _when(self, step: Step, when: When, where: Where) -> Iterator[Problem]:
        if when.check is not None:
            yield from self._check(when.check, (*where, "check"))
        if when.fault is not None and faults.get(when.fault) is None:
            yield self._problem((*where, "fault"), f"unknown fault `{when.fault}`", nearest(when.fault, faults.every()))
        if when.answer is not None:
            yield from self._answer(step, when, where)
        parts: list[tuple[str, tuple[When, ...]]] = [("all", when.all_ or ()), ("any", when.any_ or ())]
        for key, inner in parts:
            for n, one in enumerate(inner):
                yield from self._when(step, one, (*where, key, n))
        if when.not_ is not None:
            yield from self._when(step, when.not_, (*where, "not"))

    def _answer(self, step: Step, when: When, where: Where) -> Iterator[Problem]:
        asked = self.book.step(when.step) if when.step else step
        if asked is None or asked.ask is None:
            questions = [s.id for s in self.book.steps if s.ask]
            name = when.step or step.id
            yield self._problem((*where, "step"), f"`{name}` is no question", nearest(name, questions))
            return
        valid = [*asked.ask.choices, "dont-know"]
        for choice in when.answer or ():
            if choice not in valid and not asked.ask.free:
                yield self._problem(
                    (*where, "answer"), f"`{choice}` is no choice of `{asked.id}`", nearest(choice, valid)
                )

    def _unreachable(self) -> Iterator[Problem]:
        reached: set[str] = set()
        waiting = [self.book.start]
        while waiting:
            step = self.book.step(waiting.pop())
            if step is not None and step.id not in reached:
                reached.add(step.id)
                waiting.extend(step.targets())
        for number, step in enumerate(self.book.steps):
            if step.id not in reached:
                yield self._problem(
                    ("steps", number), f"no step leads to `{step.id}`", "lead to it from an outcome, or remove it"
                )

    def _cycles(self) -> Iterator[Problem]:
        done: set[str] = set()
        trail: list[str] = []

        def visit(name: str) -> Iterator[Problem]:
            step = self.book.step(name)
            if step is None or name in done:
                return
            if name in trail:
                way = " -> ".join([*trail[trail.index(name) :], name])
                number = self.ids.index(trail[-1])
                yield self._problem(("steps", number), f"the walk can go in a circle: {way}", "lead forward only")
                return
            trail.append(name)
            for target in step.targets():
                yield from visit(target)
            trail.pop()
            done.add(name)

        yield from visit(self.book.start)
