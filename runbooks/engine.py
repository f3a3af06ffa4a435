"""The walk of a runbook as a pure state machine: it says what it needs next and is told; it does no I/O itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from checks.findings import Finding, Status
from common.words import say
from runbooks import conclusions, conditions
from runbooks.conclusions import Coverage
from runbooks.documents import Cleared, Conclusion, PathStep, Unknown, Verdict
from runbooks.model import DONT_KNOW, Outcome, Runbook, Step
from runbooks.requests import (
    Answered,
    AskOperator,
    ChecksDone,
    Finished,
    NoteSeen,
    Reply,
    ReplyError,
    Request,
    RunChecks,
    ShowNote,
    Skipped,
    accept,
)

__all__ = [
    "Answered",
    "AskOperator",
    "ChecksDone",
    "Finished",
    "NoteSeen",
    "Reply",
    "ReplyError",
    "Request",
    "RunChecks",
    "ShowNote",
    "Skipped",
    "Walk",
]

MAX_STEPS = 500


@dataclass(slots=True)
class _State:
    """Everything that replies change; thrown away and replayed to go back."""

    frames: list[tuple[str, str]]
    path: list[PathStep] = field(default_factory=list)
    found: dict[str, tuple[Finding, ...]] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)
    skipped: list[Unknown] = field(default_factory=list)
    concluded: dict[str, tuple[str, ...]] = field(default_factory=dict)
    visited: set[tuple[tuple[str, str], ...]] = field(default_factory=set)
    marks: list[int] = field(default_factory=list)
    replied: set[int] = field(default_factory=set)
    finished: str | None = None


class Walk:
    """A walk through one runbook and those it runs.

    `books` holds them by id, `answers` those known beforehand, by question id; a question answered once is not asked
    again in the same walk. `coverage` tells which checks can see a fault; by default what the registered rules say.
    """

    def __init__(
        self,
        books: Mapping[str, Runbook],
        start: str,
        *,
        answers: Mapping[str, str] | None = None,
        coverage: Coverage | None = None,
    ) -> None:
        self.books, self.start = books, start
        self.given = dict(answers or {})
        self._coverage = coverage
        self._replies: list[Reply] = []
        self._restart()

    def _restart(self) -> None:
        self._state = _State([(self.start, self.books[self.start].start)])
        self._made: list[Conclusion] | None = None
        self._settle()

    # what the walk needs

    def request(self) -> Request:
        """What is needed next; the same until a reply comes."""
        state = self._state
        if state.finished is not None:
            return Finished(state.finished)
        step, name = self._step(), self._name()
        if step.ask is not None:
            choices = {**step.ask.choices, DONT_KNOW: say("don't know")}
            return AskOperator(name, step.ask.text, choices, step.why, step.ask.free)
        if step.note is not None:
            return ShowNote(name, step.note, step.title)
        return RunChecks(name, step.checks, step.title or step.id, step.why, step.layer, step.attachment)

    def reply(self, reply: Reply) -> None:
        """Tells the walk what it asked for, and moves on.

        Raises:
            ReplyError: the reply does not fit the request.
        """
        request = self.request()
        fits = {
            RunChecks: (ChecksDone, Skipped),
            AskOperator: (Answered, Skipped),
            ShowNote: (NoteSeen, Skipped),
            Finished: (),
        }[type(request)]
        if not isinstance(reply, fits):
            raise ReplyError(f"{type(reply).__name__} is no reply to {type(request).__name__}")
        if isinstance(request, AskOperator) and isinstance(reply, Answered):
            accept(request, reply.choice)
        self._replies.append(reply)
        self._made = None
        self._state.replied.add(len(self._state.path))
        self._apply(reply)
        self._settle()

    def again(self) -> Walk:
        """The same walk, nothing told yet."""
        return Walk(self.books, self.start, answers=self.given, coverage=self._coverage)

    @property
    def replies(self) -> tuple[Reply, ...]:
        """What was told so far; the same replies to a new walk lead to the same place."""
        return tuple(self._replies)

    @property
    def replied(self) -> frozenset[int]:
        """Positions in `path` of the steps that came from a reply, in the order of `replies`."""
        return frozenset(self._state.replied)

    @property
    def decisions(self) -> int:
        """How many operator decisions `back` could undo."""
        return sum(isinstance(r, Answered | Skipped) for r in self._replies)

    def back(self) -> bool:
        """Undoes the last answer or skip and everything after it; False when there is none."""
        last = max((i for i, r in enumerate(self._replies) if isinstance(r, Answered | Skipped)), default=None)
        if last is None:
            return False
        kept = self._replies[:last]
        self._replies = []
        self._restart()
        for reply in kept:
            self.reply(reply)
        return True

    # what the walk knows

    @property
    def finished(self) -> bool:
        """True at the end."""
        return self._state.finished is not None

    @property
    def path(self) -> tuple[PathStep, ...]:
        """The steps walked."""
        return tuple(self._state.path)

    @property
    def answers(self) -> Mapping[str, str]:
        """Answers by question id."""
        return dict(self._state.answers)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, in the order found; a check run twice counts once, with its newest findings."""
        return tuple(f for findings in self._state.found.values() for f in findings)

    @property
    def conclusions(self) -> tuple[Conclusion, ...]:
        """What was concluded so far, causes first."""
        if self._made is None:
            self._made = conclusions.build(self._state.concluded, self._state.found, self._coverage)
        return tuple(self._made)

    @property
    def cleared(self) -> tuple[Cleared, ...]:
        """Layers shown to be innocent."""
        return conclusions.cleared(self._state.found, self.conclusions, self._state.skipped)

    @property
    def unknown(self) -> tuple[Unknown, ...]:
        """What could not be told."""
        return (*conclusions.unknown(self._state.found), *self._state.skipped)

    @property
    def verdict(self) -> Verdict:
        """`fault`, `healthy` or `undecided`; a walk that goes on is never `healthy`."""
        found = conclusions.verdict(self.findings, self.conclusions, self.unknown)
        return "undecided" if found == "healthy" and not self.finished else found

    # moving

    def _step(self) -> Step:
        book, step_id = self._state.frames[-1]
        step = self.books[book].step(step_id)
        if step is None:
            raise ReplyError(f"runbook {book} has no step {step_id}")
        return step

    def _name(self) -> str:
        book, step_id = self._state.frames[-1]
        return step_id if len(self._state.frames) == 1 else f"{book}/{step_id}"

    def _settle(self) -> None:
        """Moves over everything that needs nobody: known answers, other runbooks, ends."""
        state = self._state
        while state.finished is None:
            place = tuple(state.frames)
            if place in state.visited or len(state.path) >= MAX_STEPS:
                state.finished = say("The runbook leads back to a step already walked; stopped here.")
                return
            step = self._step()
            if step.ask is not None and (known := self._known_answer(step)) is not None:
                self._answered(step, known)
            elif step.run is not None:
                state.visited.add(place)
                if any(book == step.run for book, _ in state.frames):
                    state.finished = say("The runbook runs itself; stopped here.")
                    return
                state.marks.append(len(state.path))
                state.frames.append((step.run, self.books[step.run].start))
            elif step.stop is not None:
                self._walked(step, "stopped")
                self._ended(step.stop)
            else:
                return

    def _known_answer(self, step: Step) -> str | None:
        known = self._state.answers.get(step.id, self.given.get(step.id))
        if known is None or step.ask is None:
            return None
        fits = step.ask.free or known in step.ask.choices or known == DONT_KNOW
        return known if fits else None

    def _apply(self, reply: Reply) -> None:
        step = self._step()
        match reply:
            case Answered(choice):
                self._answered(step, choice)
            case ChecksDone(findings):
                self._checked(step, findings)
            case NoteSeen():
                self._walked(step, "noted")
                self._go(step.fallback)
            case Skipped(reason):
                self._skip(step, reason)

    def _answered(self, step: Step, choice: str) -> None:
        self._state.answers[step.id] = choice
        matched, named = self._match(step, ())
        self._walked(step, "answered", answer=choice, concluded=named)
        unsure = choice == DONT_KNOW and matched is None
        self._go(matched or (step.unknown if unsure and step.unknown else step.fallback))

    def _skip(self, step: Step, reason: str) -> None:
        if step.ask is not None:
            self._state.answers[step.id] = DONT_KNOW
            self._walked(step, "skipped", answer=DONT_KNOW, reason=reason)
        else:
            self._state.skipped.extend(Unknown(check=c, reason=reason) for c in step.checks)
            self._walked(step, "skipped", reason=reason)
        self._go(step.unknown or step.fallback)

    def _checked(self, step: Step, findings: tuple[Finding, ...]) -> None:
        state = self._state
        found: dict[str, tuple[Finding, ...]] = {}
        for finding in (*findings, *_silent(step, findings)):
            found[finding.check] = (*found.get(finding.check, ()), finding)
        state.found.update(found)
        matched, named = self._match(step, tuple(f for fs in found.values() for f in fs))
        worst = Status.fold(f.status for fs in found.values() for f in fs)
        self._walked(step, worst.word, concluded=named)
        unsure = any(f.status == Status.UNKNOWN for fs in found.values() for f in fs)
        nothing = matched is None and not named
        self._go(matched or (step.unknown if unsure and nothing and step.unknown else step.fallback))

    def _match(self, step: Step, findings: tuple[Finding, ...]) -> tuple[str | None, tuple[str, ...]]:
        """Where the first matching outcome leads, and every fault the matching ones conclude."""
        go: str | None = None
        named: dict[str, None] = {}
        for outcome in step.outcomes:
            if outcome.otherwise:
                break
            matches, faults = self._outcome(step, outcome, findings)
            named.update(dict.fromkeys(faults))
            if matches and go is None:
                go = outcome.go
        checks = tuple(dict.fromkeys(f.check for f in findings))
        for fault in named:
            before = self._state.concluded.get(fault, ())
            self._state.concluded[fault] = tuple(dict.fromkeys((*before, *checks)))
        return go, tuple(named)

    def _outcome(self, step: Step, outcome: Outcome, findings: tuple[Finding, ...]) -> tuple[bool, Iterable[str]]:
        accused = dict.fromkeys(fault for f in findings if f.accuses for fault in f.faults)
        if outcome.fault is not None:
            faults = [f for f in outcome.fault if f in accused]
            return bool(faults), faults
        if outcome.when is not None:
            known = conditions.Known(self._state.found, {**self.given, **self._state.answers}, step.id)
            if conditions.holds(outcome.when, known) is not True:
                return False, ()
        if outcome.conclude is None:
            return True, ()
        wanted = dict.fromkeys(c for c in outcome.conclude if c != "any")
        if "any" in outcome.conclude:
            wanted.update(accused)
        return bool(wanted) or outcome.when is not None, wanted

    def _walked(
        self, step: Step, outcome: str, *, answer: str | None = None, concluded: tuple[str, ...] = (), reason: str = ""
    ) -> None:
        self._state.visited.add(tuple(self._state.frames))
        self._state.path.append(
            PathStep(
                step=self._name(),
                layer=step.layer,
                outcome=outcome,
                answer=answer,
                title=step.title or (step.ask.text if step.ask else ""),
                concluded=concluded,
                reason=reason,
                text=step.note,
            )
        )

    def _go(self, target: str | None) -> None:
        if target is None:
            self._ended("")
        else:
            book, _ = self._state.frames[-1]
            self._state.frames[-1] = (book, target)

    def _ended(self, text: str) -> None:
        """The end of a runbook: of the walk, or back to the step that ran it."""
        state = self._state
        state.frames.pop()
        if not state.frames:
            state.finished = text
            return
        step = self._step()
        inside = state.path[state.marks.pop() :]
        matched, named = self._match(step, ())
        self._walked(step, "ran", concluded=named)
        unsure = any(p.outcome in ("unknown", "skipped") for p in inside) and not any(p.concluded for p in inside)
        self._go(matched or (step.unknown if unsure and step.unknown else step.fallback))


def _silent(step: Step, findings: tuple[Finding, ...]) -> Iterable[Finding]:
    """Checks asked that answered nothing are unknown, never ok."""
    answered = {f.check for f in findings}
    for check in step.checks:
        layer = check.split(".", 1)[0]
        quiet = check not in answered
        if check.endswith(".*"):
            quiet = not any(c.startswith(f"{layer}.") for c in answered)
        if quiet:
            reason = say("no such check here")
            yield Finding(
                check=check,
                status=Status.UNKNOWN,
                layer=layer,
                scope="cluster",
                summary=reason,
                reason=reason,
            )
