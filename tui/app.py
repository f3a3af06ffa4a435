"""The application: which cluster is open, which walk goes on, and the way between the screens."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on, work
from textual.app import App
from textual.command import Provider
from textual.worker import Worker, WorkerState

from common.errors import UsageError
from common.words import say
from tui import keys, themes
from tui.messages import ClusterOpened, SessionReady
from tui.screens.base import RackScreen
from tui.screens.home import HomeScreen

if TYPE_CHECKING:
    from checks.clusters import Asking, Opened
    from tui.screens.walk import WalkScreen
    from worksheets.desk import Desk
    from worksheets.plan import Given

    Measuring = Callable[[Opened, Iterable[str]], Mapping[str, Given]]
    """What a cluster tells its worksheets; the names are the cards of the reference table."""

SWITCH_S = 0.001
"""How long a thread keeps others from running (Python's own choice is 5 ms)."""


def _commands() -> type[Provider]:
    from tui.palette import RacksideCommands

    return RacksideCommands


class RacksideApp(App[int]):
    """Rackside on a terminal."""

    TITLE = "Rackside"
    # a default screen's own style file is not read
    CSS_PATH = ["styles/app.tcss", "styles/home.tcss"]
    BINDINGS = [*keys.SCREENS["app"]]
    COMMANDS = App.COMMANDS | {_commands}
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]

    def __init__(
        self,
        cluster: str | None = None,
        overlays: Sequence[str] = (),
        runbook: str | None = None,
        resume: Path | None = None,
        *,
        journal_dir: Path,
        opened: Opened | None = None,
        asking: Callable[[str], Asking] | None = None,
        measuring: Measuring | None = None,
    ) -> None:
        super().__init__()
        self._given, self._asking = opened, asking
        self._wanted = (cluster, tuple(overlays), runbook, resume)
        self.journal_dir = journal_dir
        self.opened: Opened | None = None
        self.overlays: tuple[str, ...] = ()
        self.cluster_name = ""
        self.home = HomeScreen()
        self.desk: Desk | None = None
        self.measuring = measuring

    def get_default_screen(self) -> HomeScreen:
        """Home."""
        return self.home

    def on_mount(self) -> None:
        """Looks of the application, then what the command line asked for."""
        # a check that judges a fleet must not keep a frame waiting 5 ms each time the loop turns
        sys.setswitchinterval(SWITCH_S)
        self.register_theme(themes.MONOCHROME)
        if os.environ.get("NO_COLOR"):
            self.theme = themes.MONOCHROME.name
        cluster, overlays, runbook, resume = self._wanted
        if resume is not None:
            self.call_after_refresh(self.resume_walk, str(resume))
        elif self._given is not None:
            self.post_message(ClusterOpened(self._given, runbook or "", cluster or "", tuple(overlays)))
        elif cluster is not None:
            self.call_after_refresh(self.open_cluster, cluster, overlays, then=runbook or "")
        elif runbook is not None:
            self.call_after_refresh(self.home.problem, say("app.runbook-needs-cluster"))

    # what the top line shows

    @property
    def cluster_label(self) -> str:
        """Cluster and overlays; those of the walk at hand come first."""
        return self.opened.label if self.opened else ""

    @property
    def source(self) -> str:
        """`replay`, `live`, `recording` for live and kept, or nothing while no cluster is open."""
        if self.opened is None:
            return ""
        kept = self.opened.asking is not None and self.opened.asking.record is not None
        return "recording" if kept else self.opened.source

    # opening clusters and walks

    def open_cluster(self, name: str, overlays: Sequence[str] = (), *, then: str = "") -> None:
        """Opens a cluster in the background; then starts a runbook, or shows its `=nodes`."""
        self._open_cluster(name, tuple(overlays), then)

    @work(thread=True, group="open", exclusive=True, exit_on_error=False)
    def _open_cluster(self, name: str, overlays: tuple[str, ...], then: str) -> None:
        from checks.clusters import open_cluster

        self.post_message(ClusterOpened(open_cluster(name, overlays), then, name, overlays))

    def ask_live(self, name: str) -> None:
        """Opens a cluster to ask its nodes; nothing is asked before a walk or a check wants it."""
        self._ask_live(name)

    @work(thread=True, group="open", exclusive=True, exit_on_error=False)
    def _ask_live(self, name: str) -> None:
        from checks.clusters import open_live

        self.post_message(ClusterOpened(open_live(name, self._asking(name) if self._asking else None), "", name, ()))

    def on_unmount(self) -> None:
        """Ends the connections to a living cluster."""
        if self.opened is not None:
            self.opened.close()

    @on(ClusterOpened)
    def _opened(self, event: ClusterOpened) -> None:
        if self.opened is not None and self.opened is not event.opened:
            self.opened.close()
        self.opened, self.cluster_name, self.overlays = event.opened, event.name, event.overlays
        if self.home.is_mounted and self.home.shelves.clusters:
            self.home.cluster_opened()
        self._show_top()
        if event.opened.store is None:
            self._problem(say("app.not-recorded", cluster=event.opened.label))
        elif event.then == "=nodes":
            self.show_nodes()
        elif event.then:
            self.start_walk(event.then)

    def start_walk(self, runbook: str, *, cluster: str = "") -> None:
        """Starts a runbook on the open cluster, or opens one first."""
        if self.opened is not None:
            if self.opened.store is None:
                self._problem(say("app.not-recorded", cluster=self.opened.label))
            else:
                self._start_walk(runbook, self.opened)
        elif cluster:
            self.open_cluster(cluster, then=runbook)
        else:
            self.go_home()
            self._problem(say("app.choose-cluster"))

    @work(thread=True, group="start", exclusive=True, exit_on_error=False)
    def _start_walk(self, runbook: str, opened: Opened) -> None:
        from runbooks.session import Session
        from tui.journals import new_journal

        session = Session.start(opened, runbook, journal=new_journal(self.journal_dir, runbook, opened.cluster.name))
        self.post_message(SessionReady(session))

    def resume_walk(self, journal: str) -> None:
        """Goes on with a session."""
        self._resume_walk(Path(journal))

    @work(thread=True, group="start", exclusive=True, exit_on_error=False)
    def _resume_walk(self, journal: Path) -> None:
        from runbooks.session import Session

        # a journal of a living cluster names its recording itself
        self.post_message(SessionReady(Session.resume(journal)))

    @on(SessionReady)
    def _session_ready(self, event: SessionReady) -> None:
        from tui.screens.walk import WalkScreen

        self.go_home()
        if event.session.opened is not None:
            self.opened = event.session.opened
            self.cluster_name = self.opened.folder.name
            self.overlays = tuple(o.name for o in self.opened.overlays)
        self.push_screen(WalkScreen(event.session))

    @on(Worker.StateChanged)
    def _failed(self, event: Worker.StateChanged) -> None:
        if event.state == WorkerState.ERROR and event.worker.group in ("open", "start"):
            self._problem(str(event.worker.error))

    # moving

    def leave_walk(self, walk: WalkScreen) -> None:
        """Closes the journal; the session is on the home screen's list."""
        walk.session.close()
        self.pop_screen()

    def go_home(self) -> None:
        """Back to the home screen, leaving walks as they are."""
        from tui.screens.walk import WalkScreen

        while len(self.screen_stack) > 1:
            if isinstance(self.screen, WalkScreen):
                self.screen.action_cancel()
                self.screen.session.close()
            self.pop_screen()

    def show_nodes(self, *, cluster: str = "") -> None:
        """The nodes view of the open cluster, or of the one named."""
        from tui.screens.nodes import NodesScreen
        from tui.screens.walk import WalkScreen

        if isinstance(self.screen, NodesScreen):
            return
        if self.opened is None:
            if cluster:
                self.open_cluster(cluster, then="=nodes")
            else:
                self._problem(say("app.choose-cluster"))
            return
        found = self.screen.session.walk.findings if isinstance(self.screen, WalkScreen) else ()
        self.push_screen(NodesScreen(self.opened, found))

    def show_worksheets(self) -> None:
        """Sheets of sizing and cost to choose from."""
        from tui.screens.worksheets import WorksheetsScreen

        if not isinstance(self.screen, WorksheetsScreen):
            self.push_screen(WorksheetsScreen())

    def show_worksheet(self, slug: str) -> None:
        """A sheet over the plan at hand."""
        from tui.screens.worksheet import WorksheetScreen

        self.push_screen(WorksheetScreen(slug))

    def action_help(self) -> None:
        """Keys and marks."""
        from tui.screens.help import HelpScreen

        if isinstance(self.screen, RackScreen) and not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen(self.screen.PLACE))

    def _problem(self, text: str) -> None:
        screen = next((s for s in reversed(self.screen_stack) if isinstance(s, RackScreen)), self.home)
        screen.problem(text)

    def _show_top(self) -> None:
        for screen in self.screen_stack:
            if isinstance(screen, RackScreen) and screen.is_mounted:
                screen.show_top()


def refuse(term: str, terminal: bool) -> str:
    """Why the application cannot start here, or nothing."""
    if not terminal:
        return say("app.no-terminal")
    return say("app.dumb-terminal", term=term or "-") if term in ("", "dumb", "unknown") else ""


def run(
    cluster: str | None,
    overlays: Sequence[str],
    runbook: str | None,
    resume: Path | None,
    journal_dir: Path,
    *,
    opened: Opened | None = None,
    asking: Callable[[str], Asking] | None = None,
    measuring: Measuring | None = None,
) -> int:
    """Opens the application and gives the exit status.

    Raises:
        UsageError: no terminal that can show it; the message names the command that needs none.
    """
    # Textual draws on standard error and starts on a pipe as well
    if why := refuse(os.environ.get("TERM", ""), sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(why)
    app = RacksideApp(
        cluster,
        overlays,
        runbook,
        resume,
        journal_dir=journal_dir,
        opened=opened,
        asking=asking,
        measuring=measuring,
    )
    app.run()
    return app.return_code or 0
