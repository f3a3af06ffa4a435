"""The incident report as Markdown: to read, to copy, to save."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on, work
from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import Worker, WorkerState

from common.files import write_atomically
from common.safetext import safe
from common.words import say
from tui import keys, nodetext
from tui.messages import ReportReady, ReportSaved
from tui.screens.ask import AskText, free_file
from tui.screens.base import RackScreen

if TYPE_CHECKING:
    from runbooks.session import Session


class ReportScreen(RackScreen):
    """Text only: what is saved is what is read."""

    PLACE = "report"
    CSS_PATH = "../styles/report.tcss"
    BINDINGS = [*keys.SCREENS["report"]]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        self.text = ""

    def body(self) -> Iterable[Widget]:
        """The text."""
        yield VerticalScroll(Static(say("report.writing"), id="text", markup=False), id="page")

    def on_mount(self) -> None:
        """Written in a worker: a long walk has many findings."""
        super().on_mount()
        self.query_one("#page").focus()
        self._write()

    @work(thread=True, group="report", exclusive=True, exit_on_error=False)
    def _write(self) -> None:
        from runbooks import report

        self.post_message(ReportReady(report.as_markdown(self.session.document())))

    @on(ReportReady)
    def _ready(self, event: ReportReady) -> None:
        self.text = event.text
        self.query_one("#text", Static).update(nodetext.block(event.text))

    @on(Worker.StateChanged)
    def _worked(self, event: Worker.StateChanged) -> None:
        if event.state == WorkerState.ERROR and event.worker.node is self:
            self.problem(str(event.worker.error))

    def action_copy(self) -> None:
        """All of it."""
        if self.text:
            self.app.copy_to_clipboard(safe(self.text))
            self.tell(say("copied.report"))

    def action_save(self) -> None:
        """Asks for the file."""
        walk = self.session.document()
        name = re.sub(r"[^A-Za-z0-9.-]+", "-", f"{walk.runbook}-{walk.cluster}").strip("-")

        def named(path: str | None) -> None:
            if path:
                self._save(Path(path).expanduser())

        self.app.push_screen(AskText(say("report.save-as"), value=f"rackside-{name}.md", check=free_file), named)

    @work(thread=True, group="save", exit_on_error=False)
    def _save(self, path: Path) -> None:
        text = self.text if self.text.endswith("\n") else f"{self.text}\n"
        write_atomically(path, text.encode("utf-8", "replace"))
        self.post_message(ReportSaved(path))

    @on(ReportSaved)
    def _saved(self, event: ReportSaved) -> None:
        self.problem()
        self.tell(say("report.saved", path=str(event.path)))
