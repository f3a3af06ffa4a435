"""The path of a walk as rows: steps, their findings folded, answers and notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from checks.findings import Finding, Status
from common.words import say
from tui import nodetext
from tui.screens.nodes import STATUS_WIDTH, finding_row
from tui.widgets.columns import Columns
from tui.widgets.rows import Row

if TYPE_CHECKING:
    from runbooks.documents import Note, PathStep
    from runbooks.engine import Walk

STATUS_WORDS = {s.word: s for s in Status}
MARKS = {"answered": ">", "noted": ">", "skipped": "-", "ran": ">", "stopped": "."}
FOLDED_FROM = {Status.OK: 1, Status.SKIPPED: 1, Status.UNKNOWN: 4}
"""Findings of a status are one row from this many on; what accuses is never folded away."""


def findings_of(walk: Walk, step: PathStep) -> list[Finding]:
    """Findings of a step, worst first; those a later step found anew show there as well."""
    book_id, slash, step_id = step.step.rpartition("/")
    book = walk.books.get(book_id if slash else walk.start)
    model = book.step(step_id) if book else None
    checks = model.checks if model else ()
    found = [f for f in walk.findings if f.check in checks or f"{f.check.split('.', 1)[0]}.*" in checks]
    return sorted(found, key=lambda f: (-f.status, f.check, f.nodes))


def answer_text(walk: Walk, step: PathStep) -> str:
    """The words of the answer given at a step."""
    book_id, slash, step_id = step.step.rpartition("/")
    book = walk.books.get(book_id if slash else walk.start)
    model = book.step(step_id) if book else None
    choices = model.ask.choices if model and model.ask else {}
    word = step.answer or ""
    return choices.get(word, say("don't know") if word == "dont-know" else word)


class PathRows:
    """Makes the rows, and remembers what is unfolded and which finding a row stands for."""

    def __init__(self) -> None:
        self.open: set[str] = set()
        self.closed: set[str] = set()
        self.findings: dict[str, Finding] = {}
        self.steps: dict[str, PathStep] = {}

    def toggle(self, key: str, shown: Iterable[Row]) -> None:
        """Unfolds or folds a row."""
        prefix = key.replace("step:", "in:", 1) + ":"
        if key in self.open or any(row.key.startswith(prefix) for row in shown):
            self.open.discard(key)
            self.closed.add(key)
        else:
            self.open.add(key)
            self.closed.discard(key)

    def rows(self, walk: Walk, notes: Sequence[Note]) -> Iterator[Row]:
        """All rows."""
        self.findings.clear()
        self.steps.clear()
        last = max((n for n, s in enumerate(walk.path) if s.outcome != "stopped"), default=0)
        pinned = [*notes]
        for number, step in enumerate(walk.path):
            if step.outcome == "stopped" and not step.title:
                # the closing words stand in the prompt
                continue
            key = f"step:{number}"
            self.steps[key] = step
            found = findings_of(walk, step) if step.outcome in STATUS_WORDS else []
            accused = any(f.status >= Status.WARN for f in found)
            open_ = key in self.open or (key not in self.closed and (accused or number == last))
            yield Row(key, _step_row(walk, step, len(found), open_))
            if open_:
                yield from self._inside(f"in:{number}", found)
            for note in [n for n in pinned if n.step == step.step]:
                pinned.remove(note)
                yield _note_row(f"note:{number}:{len(pinned)}", note)
        for note in pinned:
            yield _note_row(f"note:now:{note.at}:{pinned.index(note)}", note)

    def _inside(self, prefix: str, found: Sequence[Finding]) -> Iterator[Row]:
        for status in sorted({f.status for f in found}, reverse=True):
            alike = [f for f in found if f.status == status]
            key = f"{prefix}:{status.word}"
            if len(alike) >= FOLDED_FROM.get(status, len(alike) + 1):
                checks = len({f.check for f in alike})
                text = say(f"walk.folded.{status.word}", checks=checks)
                fold = "-" if key in self.open else "+"
                yield Row(
                    key,
                    Columns((nodetext.status(status), STATUS_WIDTH), (Content(f"{text}  [{fold}]"), 0), indent=2),
                )
                if key not in self.open:
                    continue
            for number, finding in enumerate(alike):
                finding_key = f"{key}:{number}"
                self.findings[finding_key] = finding
                yield Row(finding_key, finding_row(finding, indent=2))


def _step_row(walk: Walk, step: PathStep, found: int, open_: bool) -> Columns:
    if (status := STATUS_WORDS.get(step.outcome)) is not None and step.outcome != "skipped":
        mark = nodetext.status(status)
    else:
        mark = Content(f"{MARKS.get(step.outcome, ' ')} {say(f'outcome.{step.outcome}')}")
    text = nodetext.line(step.title or step.step, "bold")
    if step.answer is not None:
        text = Content.assemble(
            text, "  ", (say("walk.answered"), "$text-muted"), " ", nodetext.line(answer_text(walk, step))
        )
    if step.reason:
        text = Content.assemble(text, "  ", nodetext.line(step.reason, "italic"))
    if found:
        text = Content.assemble(text, f"  [{'-' if open_ else '+'}]")
    return Columns((mark, STATUS_WIDTH), (text, 0))


def _note_row(key: str, note: Note) -> Row:
    text = Content.assemble((f"{note.at[11:16]} ", "$text-muted"), nodetext.line(note.text, "italic", limit=2000))
    return Row(key, Columns((Content(f"# {say('walk.note')}"), STATUS_WIDTH), (text, 0), indent=2))
