"""The walk: the path so far, the step at work, its findings, and the question when there is one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from textual import on, work
from textual.containers import Container, VerticalScroll
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import Worker, WorkerState, get_current_worker

from checks.runner import CancelledError
from common.safetext import safe_line
from common.words import say
from runbooks.model import DONT_KNOW
from runbooks.requests import AskOperator, Finished, RunChecks, ShowNote
from tui import keys, nodetext
from tui.messages import ChecksDone, Progressed
from tui.node_progress import READ_EVERY_S, NodeProgress
from tui.path_rows import PathRows
from tui.screens.ask import AskText
from tui.screens.base import RackScreen
from tui.screens.evidence import about
from tui.widgets.prompt import Prompt
from tui.widgets.rows import Rows

if TYPE_CHECKING:
    from checks.runner import Progress
    from runbooks.session import Session


class WalkScreen(RackScreen):
    """One session, driven by keys. Everything that waits is done in a worker; the journal keeps every step."""

    PLACE = "walk"
    CSS_PATH = "../styles/walk.tcss"
    BINDINGS = [*keys.SCREENS["walk"]]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        self.path = PathRows()
        self._busy = False
        self.nodes = NodeProgress()

    @property
    def request(self) -> RunChecks | AskOperator | ShowNote | Finished:
        """What the walk needs now."""
        return self.session.walk.request()

    def place(self) -> str:
        """The complaint."""
        walk = self.session.walk
        return walk.books[walk.start].title

    def body(self) -> Iterable[Widget]:
        """Path, details beside it where there is room, and what is needed now."""
        yield Container(
            Rows(id="path"), VerticalScroll(Static(id="detail", markup=False), id="detail-scroll"), id="upper"
        )
        yield Prompt(id="prompt")

    def on_mount(self) -> None:
        """Goes on from where the session stands."""
        super().on_mount()
        self.query_one("#detail-scroll").can_focus = False
        if self.live:
            self.set_interval(READ_EVERY_S, self._show_nodes)
        self.advance()

    def on_unmount(self) -> None:
        """Gives the journal back, so that another window can go on with it."""
        self.session.close()

    @property
    def live(self) -> bool:
        """True when the nodes themselves are asked."""
        return self.session.opened is not None and self.session.opened.live is not None

    # showing

    def advance(self) -> None:
        """Shows the path and asks for, or does, what comes next."""
        self._fill(follow=True)
        prompt = self.query_one(Prompt)
        match self.request:
            case RunChecks() as request:
                prompt.running(request.title, request.why, 0, len(request.checks), "")
                self.nodes.clear()
                self._run_checks()
            case AskOperator() as request:
                prompt.ask(request.text, request.why, request.choices, request.free)
            case ShowNote() as request:
                prompt.offer(request.title, request.text, {"=seen": say("walk.go-on")})
            case Finished() as request:
                verdict = say(f"verdict.{self.session.walk.verdict}")
                choices = {"=conclusion": say("walk.to-conclusion"), "=report": say("walk.to-report")}
                prompt.offer(say("walk.finished", verdict=verdict), request.text, choices)
        self.refresh_bindings()

    def _fill(self, *, follow: bool = False) -> None:
        rows = [*self.path.rows(self.session.walk, self.session.document().notes)]
        path = self.query_one("#path", Rows)
        last = next((r.key for r in reversed(rows) if r.key.startswith("step:")), None)
        path.fill(rows, choose=last if follow else None)
        if follow and last is not None:
            path.scroll_to_highlight(top=True)
        self._detail()

    def _detail(self) -> None:
        key = self.query_one("#path", Rows).chosen or ""
        detail = self.query_one("#detail", Static)
        if finding := self.path.findings.get(key):
            detail.update(about(finding))
        elif step := self.path.steps.get(key):
            book, slash, name = step.step.rpartition("/")
            model = self.session.walk.books[book if slash else self.session.walk.start].step(name)
            why = f"\n{model.why}" if model and model.why else ""
            concluded = say("walk.concluded", faults=", ".join(step.concluded)) if step.concluded else ""
            detail.update(nodetext.block(f"{step.title or step.step}{why}\n{concluded}"))
        else:
            detail.update("")

    # doing

    @work(thread=True, group="checks", exclusive=True, exit_on_error=False)
    def _ask_again(self, nodes: frozenset[str] | None) -> None:
        worker = get_current_worker()
        try:
            self.session.ask_again(nodes, self._tell_progress, lambda: worker.is_cancelled)
        except CancelledError:
            self.post_message(ChecksDone(cancelled=True))
            return
        self.post_message(ChecksDone())

    @work(thread=True, group="checks", exclusive=True, exit_on_error=False)
    def _run_checks(self) -> None:
        worker = get_current_worker()
        try:
            self.session.run_checks(self._tell_progress, lambda: worker.is_cancelled)
        except CancelledError:
            self.post_message(ChecksDone(cancelled=True))
            return
        self.post_message(ChecksDone())

    def _tell_progress(self, progress: Progress) -> None:
        # what hundreds of nodes do is read by a timer; a message each would drown the screen
        if not self.nodes.note(progress):
            self.post_message(Progressed(progress))

    def _show_nodes(self) -> None:
        request = self.request
        if self.checking and isinstance(request, RunChecks) and (text := self.nodes.text()):
            self.query_one(Prompt).running(request.title, request.why, 0, len(request.checks), "", text)

    @on(Progressed)
    def _progressed(self, event: Progressed) -> None:
        request, p = self.request, event.progress
        if isinstance(request, RunChecks):
            self.query_one(Prompt).running(request.title, request.why, p.done, p.total, p.check)

    @on(ChecksDone)
    def _done(self, event: ChecksDone) -> None:
        if event.cancelled:
            self._stopped()
        else:
            self.problem()
            self.advance()

    def _stopped(self) -> None:
        choices = {"=again": say("walk.run-again"), "=skip": say("walk.skip-step")}
        self.query_one(Prompt).offer(say("stopped"), say("walk.stopped"), choices)
        self.refresh_bindings()

    def _do(self, act: Callable[[], object]) -> None:
        """One reply to the walk; it goes to the journal's disk, so not on the screen's loop."""
        if self._busy or self.checking:
            return
        self._busy = True
        self._act(act)

    @work(thread=True, group="reply", exit_on_error=False)
    def _act(self, act: Callable[[], object]) -> None:
        act()

    @on(Worker.StateChanged)
    def _worked(self, event: Worker.StateChanged) -> None:
        worker = event.worker
        if worker.node is not self or worker.group not in ("reply", "checks"):
            return
        if event.state not in (WorkerState.SUCCESS, WorkerState.ERROR, WorkerState.CANCELLED):
            return
        if worker.group == "reply":
            self._busy = False
        if event.state == WorkerState.ERROR:
            self.problem(str(worker.error))
            if worker.group == "checks":
                self._stopped()
        elif worker.group == "reply":
            self.problem()
            self.advance()
        self.refresh_bindings()

    @property
    def checking(self) -> bool:
        """True while checks run."""
        return any(w.group == "checks" and not w.is_finished for w in self.workers if w.node is self)

    @on(Prompt.Chosen)
    def _chosen(self, event: Prompt.Chosen) -> None:
        match event.choice:
            case "=seen":
                self._do(self.session.seen)
            case "=conclusion":
                self.action_conclusion()
            case "=report":
                self.action_report()
            case "=again":
                self.advance()
            case "=skip":
                self.action_skip()
            case choice if isinstance(self.request, AskOperator):
                self._do(lambda: self.session.answer(choice))

    @on(Prompt.Typed)
    def _typed(self, event: Prompt.Typed) -> None:
        if isinstance(self.request, AskOperator):
            self._do(lambda: self.session.answer(event.text))

    @on(Rows.OptionHighlighted, "#path")
    def _highlighted(self) -> None:
        self._detail()

    @on(Rows.OptionSelected, "#path")
    def _selected(self, event: Rows.OptionSelected) -> None:
        self._open(event.option_id or "")

    def _open(self, key: str) -> None:
        if finding := self.path.findings.get(key):
            from tui.screens.evidence import EvidenceScreen

            opened = self.session.opened
            self.app.push_screen(EvidenceScreen(finding, opened.store if opened else None))
            return
        self.path.toggle(key, self.query_one("#path", Rows).rows)
        self._fill()

    # keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that do nothing now are hidden."""
        if action == "dont_know":
            return isinstance(self.request, AskOperator)
        if action == "skip":
            return not isinstance(self.request, Finished) and not self.checking
        if action == "step_back":
            return self.session.walk.decisions > 0 and not self.checking
        if action == "cancel":
            return self.checking
        if action == "ask_again":
            return self.live and not self.checking
        return True

    def action_choose(self) -> None:
        """Takes the highlighted row of the list at hand."""
        if isinstance(self.focused, Rows):
            self.focused.action_select()

    def action_pick(self, number: int) -> None:
        """Takes a numbered choice."""
        self.query_one(Prompt).pick(number)

    def action_dont_know(self) -> None:
        """Answers that nobody knows."""
        if isinstance(self.request, AskOperator):
            self._do(lambda: self.session.answer(DONT_KNOW))

    def action_skip(self) -> None:
        """Leaves the step out, with a reason for the report."""

        def given(reason: str | None) -> None:
            if reason:
                self._do(lambda: self.session.skip(reason))

        check: Callable[[str], str] = lambda text: "" if text else say("walk.skip-needs-reason")  # noqa: E731
        self.app.push_screen(AskText(say("walk.skip-why"), check=check), given)

    def action_step_back(self) -> None:
        """Undoes the last answer or skip."""
        self._do(self.session.back)

    def action_note(self) -> None:
        """A remark pinned to the highlighted step."""
        step = self._step_at_hand()

        def written(text: str | None) -> None:
            if text:
                self._act_note(text, step)

        self.app.push_screen(AskText(say("walk.note-for", step=safe_line(step or self.place()))), written)

    @work(thread=True, group="note", exit_on_error=False)
    def _act_note(self, text: str, step: str) -> None:
        self.session.note(text, step)
        self.app.call_from_thread(self._fill)

    def _step_at_hand(self) -> str:
        """The step the cursor is on or inside of; on the last one the step that is asked now."""
        key = self.query_one("#path", Rows).chosen or ""
        number = key.split(":")[1] if ":" in key else ""
        step = self.path.steps.get(f"step:{number}")
        return step.step if step and self.focused is self.query_one("#path") else ""

    def action_ask_again(self) -> None:
        """Asks the nodes that failed once more, and judges everything walked so far again."""
        opened = self.session.opened
        if opened is None or opened.live is None or not opened.live.failures:
            self.tell(say("live.none-failed"))
            return
        self.ask_again(None)

    def ask_again(self, nodes: frozenset[str] | None) -> None:
        """Asks nodes anew, those that failed or the ones named."""
        if self.checking or self._busy:
            return
        self.nodes.clear()
        self.query_one(Prompt).running(say("live.asking-again"), "", 0, 0, "")
        self._ask_again(nodes)
        self.refresh_bindings()

    def action_cancel(self) -> None:
        """Stops after the check at work."""
        self.workers.cancel_group(self, "checks")

    def action_conclusion(self) -> None:
        """What is concluded so far."""
        from tui.screens.conclusion import ConclusionScreen

        self.app.push_screen(ConclusionScreen(self.session))

    def action_report(self) -> None:
        """The report as it would be handed over now."""
        from tui.screens.report import ReportScreen

        self.app.push_screen(ReportScreen(self.session))

    def action_nodes(self) -> None:
        """Nodes by what the walk found."""
        from tui.screens.nodes import NodesScreen

        if self.session.opened is not None:
            again = self.ask_again if self.live else None
            self.app.push_screen(NodesScreen(self.session.opened, self.session.walk.findings, again))

    def action_search(self) -> None:
        """Looks in the path."""

        def found(needle: str | None) -> None:
            if needle and not self.query_one("#path", Rows).find(needle):
                self.tell(say("search.nothing", text=safe_line(needle)))

        self.app.push_screen(AskText(say("search.title")), found)

    def action_back(self) -> None:
        """Leaves the walk; its journal keeps it for later."""
        self.action_cancel()
        self.rack.leave_walk(self)
