"""A session: a walk over a cluster, with its journal. The only part of the room that does I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from checks.clusters import Asking, Opened
from checks.findings import Finding
from checks.runner import Progress, Runner
from common.errors import InputError, NothingReachedError, UsageError
from common.redact import redact
from common.words import say
from common.yamlfile import nearest
from runbooks import loader
from runbooks.documents import Note, PathStep, WalkDocument
from runbooks.engine import (
    Answered,
    AskOperator,
    ChecksDone,
    Finished,
    NoteSeen,
    Reply,
    ReplyError,
    RunChecks,
    ShowNote,
    Skipped,
    Walk,
)
from runbooks.journal import SCHEMA, Event, EventKind, Journal
from runbooks.journal import read as read_journal
from runbooks.model import DONT_KNOW
from runbooks.saved import books_of, check_answers, effective, event_of, plain, reference, reopen, reply_of

Ask = Callable[[AskOperator], str]


class Session:
    """One walk over one cluster. Start, resume or fork it; then answer what `walk.request()` asks."""

    def __init__(
        self, walk: Walk, opened: Opened | None, head: Event, *, only: frozenset[str] | None, journal: Journal | None
    ) -> None:
        self.walk, self.opened, self._head, self._journal = walk, opened, head, journal
        self._notes: list[Note] = []
        self._times: list[str] = []
        self._ended: str | None = None
        self._runner: Runner | None = None
        self._only = only

    # opening

    @classmethod
    def start(
        cls,
        opened: Opened,
        runbook: str,
        *,
        only: frozenset[str] | None = None,
        journal: Path | None = None,
        answers: Mapping[str, str] | None = None,
    ) -> Session:
        """A new session of a runbook (its id, or a YAML file).

        Raises:
            UsageError: no such runbook, or an answer to a question or with a choice it does not have.
            NothingReachedError: the cluster has nothing to replay.
        """
        if opened.store is None:
            raise NothingReachedError(f"{opened.cluster.name} has no recordings to replay")
        books = loader.books(runbook)
        given = dict(answers or {})
        check_answers(books, given)
        first = next(iter(books))
        head: Event = {
            "schema": SCHEMA,
            "runbook": first,
            "books": {name: plain(book) for name, book in books.items()},
            "cluster": opened.label,
            "source": opened.source,
            **reference(opened),
            "only": sorted(only) if only is not None else None,
            "answers": given,
        }
        at = now()
        session = cls(
            Walk(books, first, answers=given), opened, {**head, "at": at}, only=only, journal=_created(journal)
        )
        session._write("start", at, **head)
        session._maybe_end()
        return session

    @classmethod
    def resume(cls, journal: Path, asking: Asking | None = None) -> Session:
        """The session a journal holds, ready to go on where it stopped; a living cluster is asked as `asking` says.

        Raises:
            InputError: no journal, damaged, in use, or its cluster is gone.
        """
        file, events = Journal.reopen(journal)
        try:
            session = _replayed(events, journal, reopen(events[0], journal, asking))
        except BaseException:
            file.close()
            raise
        session._journal = file
        session._maybe_end()
        return session

    @classmethod
    def fork(
        cls, source: Path, step: str, answer: str, *, journal: Path | None = None, asking: Asking | None = None
    ) -> Session:
        """A new session that shares a journal's walk up to a question, and answers that one differently.

        Raises:
            UsageError: the walk never asked this, or the answer is none of its choices.
            InputError: no journal, or its cluster is gone.
        """
        events = read_journal(source)
        head = {k: v for k, v in events[0].items() if k not in ("event", "at")}
        head["answers"] = {k: v for k, v in head["answers"].items() if k != step}
        check_answers(books_of(head, source), {step: answer}, strict=True)
        old = _replayed([{**events[0], **head}, *events[1:]], source, None, until=step)
        request = old.walk.request()
        if not isinstance(request, AskOperator) or request.step.split("/")[-1] != step.split("/")[-1]:
            asked = [p.step for p in old.walk.path if p.answer is not None]
            raise UsageError(f"the walk never asked `{step}`; {nearest(step, asked)}")
        at = now()
        opened = reopen(events[0], source, asking)
        new = cls(old.walk, opened, {**head, "at": at}, only=old._only, journal=_created(journal))
        new._times, new._notes = list(old._times), list(old._notes)
        new._write("start", at, **head, forked_from=source.name)
        for event in effective(old.walk, old._times):
            new._write(**event)
        new.answer(answer)
        return new

    @staticmethod
    def read(journal: Path) -> WalkDocument:
        """The document of a journal, finished or not; the cluster is not needed.

        Raises:
            InputError: no journal, or damaged.
        """
        return _replayed(read_journal(journal), journal, None).document()

    # moving

    @property
    def runner(self) -> Runner:
        """Runs checks over the cluster; keeps what it read."""
        if self._runner is None:
            if self.opened is None or self.opened.store is None:
                raise NothingReachedError("the cluster of this session is not open")
            ahead = {c: None for book in self.walk.books.values() for step in book.steps for c in step.checks}
            self._runner = Runner(self.opened.cluster, self.opened.store, only=self._only, ahead=ahead)
        return self._runner

    def run_checks(
        self,
        on_progress: Callable[[Progress], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> tuple[Finding, ...]:
        """Runs the checks the walk waits for and replies. Blocks; meant for a worker thread.

        Raises:
            CancelledError: `cancelled()` became true; the walk still waits.
            ReplyError: the walk waits for something else.
        """
        request = self.walk.request()
        if not isinstance(request, RunChecks):
            raise ReplyError("no checks are asked for")
        if request.attachment and not self._attached(request.attachment):
            self.skip(say("no {kind} was attached", kind=request.attachment))
            return ()
        path = {**self.walk.given, **self.walk.answers}.get("which-path", "")
        self.runner.view.paths = (path,) if path.startswith("/") else ()
        findings = tuple(self.runner.run(request.checks, on_progress=on_progress, cancelled=cancelled))
        self._reply(ChecksDone(findings))
        return findings

    def answer(self, choice: str) -> None:
        """Answers the question asked."""
        self._reply(Answered(choice))

    def skip(self, reason: str) -> None:
        """Leaves the step out, and why."""
        self._reply(Skipped(reason))

    def seen(self) -> None:
        """The note was read."""
        self._reply(NoteSeen())

    def back(self) -> bool:
        """Undoes the last answer or skip; False when there is none."""
        if not self.walk.back():
            return False
        del self._times[len(self.walk.replies) :]
        self._ended = None
        self._write("back", now())
        return True

    def ask_again(
        self,
        nodes: Iterable[str] | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> None:
        """Asks a living cluster's nodes anew, those that failed or the ones named, and judges every check of the walk
        again; answers and skips stay. Blocks; meant for a worker thread.

        Raises:
            CancelledError: `cancelled()` became true; the walk stays as it was.
        """
        if self.opened is None or self.opened.live is None:
            raise UsageError("only a living cluster can be asked again")
        self.opened.live.retry(nodes)
        self.runner.forget()
        told = dict(zip((self.walk.path[n].step for n in sorted(self.walk.replied)), self.walk.replies, strict=False))
        walk, replies = self.walk.again(), []
        while not isinstance(request := walk.request(), Finished) and (reply := told.get(request.step)) is not None:
            if isinstance(request, RunChecks) and isinstance(reply, ChecksDone):
                reply = ChecksDone(tuple(self.runner.run(request.checks, on_progress=on_progress, cancelled=cancelled)))
            walk.reply(reply)
            replies.append((reply, request.step))
        self.walk, self._times, self._ended = walk, [], None
        self._write("again", now())
        for reply, step in replies:
            self._times.append(now())
            self._write(**event_of(reply, step, self._times[-1]))
        self._maybe_end()

    def note(self, text: str, step: str = "") -> None:
        """Keeps a remark, redacted."""
        at = now()
        self._notes.append(Note(at=at, step=step or self._at_step(), text=redact(text)))
        self._write("note", at, step=self._notes[-1].step, text=text)

    def drive(
        self,
        ask: Ask | None = None,
        *,
        on_step: Callable[[str], None] | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> WalkDocument:
        """Walks to the end. Without `ask` every question left open counts as don't know.

        `on_step` hears one line per step, `on_progress` what happens inside of one.
        """
        tell = on_step or (lambda text: None)
        while not isinstance(request := self.walk.request(), Finished):
            if isinstance(request, RunChecks):
                tell(f"{request.step}: {request.title}")
                self.run_checks(on_progress, cancelled)
            elif isinstance(request, AskOperator):
                self.answer(ask(request) if ask else DONT_KNOW)
            elif isinstance(request, ShowNote):
                tell(request.text)
                self.seen()
        return self.document()

    def document(self) -> WalkDocument:
        """The walk so far as the contract's document."""
        walk = self.walk
        return WalkDocument(
            runbook=walk.start,
            title=walk.books[walk.start].title,
            cluster=self._head["cluster"],
            source=self._head["source"],
            started=self._head["at"],
            ended=self._ended,
            verdict=walk.verdict,
            path=self._timed_path(),
            conclusions=walk.conclusions,
            findings=walk.findings,
            cleared=walk.cleared,
            unknown=walk.unknown,
            notes=tuple(self._notes),
            closing=request.text if isinstance(request := walk.request(), Finished) else "",
        )

    def close(self) -> None:
        """Gives the journal back."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    # inside

    def _reply(self, reply: Reply) -> None:
        step = self._at_step()
        self.walk.reply(reply)
        at = now()
        self._times.append(at)
        self._write(**event_of(reply, step, at))
        self._maybe_end()

    def _maybe_end(self) -> None:
        if self.walk.finished and self._ended is None:
            self._ended = now()
            self._write("end", self._ended, verdict=self.walk.verdict)

    def _write(self, event: EventKind, at: str, **values: Any) -> None:
        if self._journal is not None:
            self._journal.write(event, at, **values)

    def _at_step(self) -> str:
        request = self.walk.request()
        return "" if isinstance(request, Finished) else request.step

    def _attached(self, kind: str) -> bool:
        store = self.opened.store if self.opened else None
        return store is not None and bool(store.attachment(kind))

    def _timed_path(self) -> tuple[PathStep, ...]:
        """The path with the time of each reply; steps nobody was asked for take the time of the one before."""
        times = iter(self._times)
        at = self._head["at"]
        timed: list[PathStep] = []
        for number, step in enumerate(self.walk.path):
            if number in self.walk.replied:
                at = next(times, at)
            timed.append(step.model_copy(update={"at": at}))
        return tuple(timed)


def now() -> str:
    """The time as RFC 3339 in UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _created(path: Path | None) -> Journal | None:
    return Journal.create(path) if path is not None else None


def _replayed(events: list[Event], file: Path, opened: Opened | None, *, until: str | None = None) -> Session:
    """The session after these events; with `until`, as it was when that question was asked."""
    head = events[0]
    books = books_of(head, file)
    only = frozenset(head["only"]) if head.get("only") is not None else None
    walk = Walk(books, head["runbook"], answers=head.get("answers") or {})
    session = Session(walk, opened, head, only=only, journal=None)
    for number, event in enumerate(events[1:], 2):
        request = session.walk.request()
        if until and isinstance(request, AskOperator) and request.step.split("/")[-1] == until.split("/")[-1]:
            break
        try:
            _apply(session, event)
        except (ReplyError, KeyError, TypeError, ValueError) as error:
            message = f"this event does not fit the walk: {error}".splitlines()[0]
            raise InputError(message, file=file, line=number) from None
    return session


def _apply(session: Session, event: Event) -> None:
    kind = event["event"]
    if kind == "note":
        session._notes.append(Note(at=event["at"], step=event["step"], text=event["text"]))
    elif kind == "end":
        session._ended = event["at"]
    elif kind == "again":
        session.walk, session._times, session._ended = session.walk.again(), [], None
    elif kind == "back":
        session.walk.back()
        session._ended = None
        del session._times[len(session.walk.replies) :]
    elif (reply := reply_of(event)) is not None:
        session.walk.reply(reply)
        session._times.append(event["at"])
