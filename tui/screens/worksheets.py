"""Worksheets to choose from: one begins with a question, and what is typed filters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from textual import on, work
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input
from textual.worker import Worker, WorkerState

from common.words import say
from tui import keys, nodetext
from tui.messages import DeskReady
from tui.screens.base import RackScreen
from tui.widgets.columns import Columns
from tui.widgets.rows import Row, Rows
from worksheets.finding import Entry, ranked

TITLE_WIDTH = 34


class WorksheetsScreen(RackScreen):
    """The line to ask in keeps the keys; up and down move through the sheets below it."""

    PLACE = "worksheets"
    CSS_PATH = "../styles/worksheet.tcss"
    BINDINGS = [*keys.SCREENS["worksheets"]]

    def __init__(self) -> None:
        super().__init__()
        self.entries: tuple[Entry, ...] = ()

    def body(self) -> Iterable[Widget]:
        """The question, the sheets."""
        yield Input(id="ask", placeholder=say("sheets.ask"), compact=True)
        yield Rows(id="sheets")

    def on_mount(self) -> None:
        """Paints first, then reads."""
        super().on_mount()
        line = self.query_one(Input)
        line.cursor_blink = False
        line.focus()
        self.query_one(Rows).loading = True
        self.call_after_refresh(self._read)

    @work(thread=True, group="sheets", exclusive=True, exit_on_error=False)
    def _read(self) -> None:
        from tui import desks
        from worksheets import finding

        desk = self.rack.desk or desks.opened()
        self.post_message(DeskReady(desk, tuple(finding.entries(desk.library))))

    @on(Worker.StateChanged)
    def _failed(self, event: Worker.StateChanged) -> None:
        if event.state == WorkerState.ERROR and event.worker.group == "sheets":
            self.query_one(Rows).loading = False
            self.problem(str(event.worker.error))

    @on(DeskReady)
    def _ready(self, event: DeskReady) -> None:
        self.rack.desk = self.rack.desk or event.desk
        self.entries = tuple(event.entries)
        self.query_one(Rows).loading = False
        self._fill()
        if broken := [entry.problem for entry in self.entries if entry.problem]:
            self.problem("\n".join(broken[:3]))

    @on(Input.Changed, "#ask")
    def _fill(self) -> None:
        if not self.entries:
            return
        rows = list(self._rows(self.query_one(Input).value))
        self.query_one(Rows).fill(rows, choose=rows[0].key)

    def _rows(self, query: str) -> Iterator[Row]:
        found = ranked(self.entries, query)
        if not found:
            yield Row("=none", nodetext.line(say("sheets.none", text=query.strip())))
        for entry in found:
            title = nodetext.line(entry.title, "bold")
            told = nodetext.line(entry.problem or entry.question, "$text-error" if entry.problem else "")
            yield Row(entry.slug, Columns((title, TITLE_WIDTH), (told if entry.question else Content(" "), 0)))

    def action_cursor_down(self) -> None:
        """The next sheet, while one types."""
        self.query_one(Rows).action_cursor_down()

    def action_cursor_up(self) -> None:
        """The sheet before."""
        self.query_one(Rows).action_cursor_up()

    @on(Input.Submitted, "#ask")
    def _submitted(self) -> None:
        self.action_choose()

    @on(Rows.OptionSelected)
    def _selected(self) -> None:
        self.action_choose()

    def action_choose(self) -> None:
        """Opens the highlighted sheet."""
        slug = self.query_one(Rows).chosen or ""
        if any(entry.slug == slug for entry in self.entries):
            self.rack.show_worksheet(slug)

    def action_back(self) -> None:
        """Empties the line, then leaves."""
        line = self.query_one(Input)
        if line.value:
            line.value = ""
            line.focus()
        else:
            super().action_back()
