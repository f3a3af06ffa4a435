"""A worksheet to fill in: inputs by group, and what follows from them while one types."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from textual import on, work
from textual.containers import Container
from textual.content import Content
from textual.events import DescendantFocus, Key
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import Worker, WorkerState

from common.errors import InputError
from common.safetext import safe_line
from common.words import say
from tui import keys, nodetext, sheet_rows
from tui.messages import ClusterMeasured, DeskReady, RangesRead
from tui.screens.ask import AskText, PickOne
from tui.screens.base import RackScreen
from tui.sheet_files import SheetFiles
from tui.widgets.edit import EditLine
from tui.widgets.rows import Rows
from worksheets.exports.telling import MARKS, verdict, whence
from worksheets.library import Ref
from worksheets.model import Input

if TYPE_CHECKING:
    from textual.timer import Timer

    from worksheets.engine import Cell, Result, Said

PAUSE_S = 0.15
"""After the last key the ranges of the results are reckoned anew; the results themselves follow every key."""


class WorksheetScreen(SheetFiles, RackScreen):
    """Inputs, results, and a line about the row under the cursor."""

    PLACE = "worksheet"
    CSS_PATH = "../styles/worksheet.tcss"
    BINDINGS = [*keys.SCREENS["worksheet"]]

    def __init__(self, slug: str) -> None:
        super().__init__()
        self.slug = slug
        self.result: Result | None = None
        self.ranges: dict[str, str] = {}
        self._state = 0
        self._ranges_of = -1
        self._editing = ""
        self._pause: Timer | None = None

    def __getitem__(self, name: str) -> str:
        """An input or result as it is shown."""
        cells = {cell.name: cell for cell in self.cells}
        return cells[name].text()

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Inputs and results as they stand."""
        return () if self.result is None else (*self.result.inputs.values(), *self.result.rows.values())

    @property
    def ranges_are_of_now(self) -> bool:
        """Whether the ranges shown belong to the results shown."""
        return self._ranges_of == self._state

    def place(self) -> str:
        """The title of the sheet."""
        return self.slug if self.result is None else f"{self.result.sheet.id} {self.result.sheet.title}"

    def body(self) -> Iterable[Widget]:
        """Question, state, inputs and results, what one types."""
        yield Static(id="question", markup=False)
        yield Static(id="verdict", markup=False)
        yield Container(Rows(id="inputs"), Rows(id="results"), id="panes")
        yield EditLine(id="editing")
        yield Static(id="about", markup=False)

    def on_mount(self) -> None:
        """Reads in a worker what has not been read."""
        super().on_mount()
        self.query_one("#inputs").focus()
        self._read()

    def on_screen_resume(self) -> None:
        """The plan card, or another sheet, may have changed what this one takes from it."""
        super().on_screen_resume()
        if self.result is not None:
            self.show()

    @work(thread=True, group="sheets", exclusive=True, exit_on_error=False)
    def _read(self) -> None:
        from tui import desks

        desk = self.rack.desk or desks.opened(self.slug)
        self.post_message(DeskReady(desk))
        cluster = self.rack.opened
        if self.rack.measuring is None or cluster is None or cluster.label == desk.cluster:
            return
        cards = desk.library.references.table("accelerator").rows
        self.post_message(ClusterMeasured(cluster.label, self.rack.measuring(cluster, cards)))

    @on(Worker.StateChanged)
    def _failed(self, event: Worker.StateChanged) -> None:
        if event.state == WorkerState.ERROR and event.worker.node is self:
            self.problem(str(event.worker.error))

    @on(DeskReady)
    def _ready(self, event: DeskReady) -> None:
        self.rack.desk = self.rack.desk or event.desk
        try:
            self.show()
        except InputError as error:
            # a sheet of the user whose file has a fault
            self.problem(str(error))

    @on(ClusterMeasured)
    def _measured(self, event: ClusterMeasured) -> None:
        if problems := self.desk.measure(event.cluster, event.found):
            self.problem("\n".join(problems[:3]))
        self.show()

    # showing

    def show(self) -> None:
        """Computes and shows the sheet as it stands."""
        self.result = result = self.desk.compute(self.slug)
        self._state += 1
        self.query_one("#question", Static).update(nodetext.line(str(result.sheet.question)))
        mark = Content.styled(f"{MARKS[result.state]} {result.state}", sheet_rows.STYLES[result.state])
        file = self.desk.file.name if self.desk.file else say("sheet.no-file")
        plan = safe_line(f"{file}{' *' if self.desk.changed else ''}")
        told = nodetext.line(f"  {self._verdict(result)}")
        self.query_one("#verdict", Static).update(Content.assemble(mark, told, f"  [{plan}]"))
        self.query_one("#inputs", Rows).fill(sheet_rows.field_rows(result, self._label_width))
        self._show_results()
        self.show_top()
        self._about()
        if self._pause is not None:
            self._pause.stop()
        self._pause = self.set_timer(PAUSE_S, self._reckon_ranges)

    def _verdict(self, result: Result) -> str:
        if not result.missing:
            return verdict(result)
        labels = (str(self.desk.book.settable(key).label) for key in result.missing)
        return say("not enough input: give {names}", names=", ".join(labels))

    def _show_results(self) -> None:
        assert self.result is not None
        self.query_one("#results", Rows).fill(sheet_rows.result_rows(self.result, self.ranges, self._label_width))

    @property
    def _label_width(self) -> int:
        return sheet_rows.LABEL_WIDTH_BESIDE if self.has_class("-wide") else sheet_rows.LABEL_WIDTH

    def on_resize(self) -> None:
        """Side by side there is less room for a row."""
        if self.result is not None:
            self.call_after_refresh(self.show)

    def _reckon_ranges(self) -> None:
        self._ranges(self._state)

    @work(thread=True, group="ranges", exclusive=True, exit_on_error=False)
    def _ranges(self, state: int) -> None:
        from tui import desks

        self.post_message(RangesRead(state, desks.ranges(self.desk.library, self.desk.plan(), self.slug)))

    @on(RangesRead)
    def _ranges_read(self, event: RangesRead) -> None:
        if event.state == self._state:
            self.ranges, self._ranges_of = dict(event.ranges), event.state
            self._show_results()

    @on(Rows.OptionHighlighted)
    @on(DescendantFocus)
    def _about(self) -> None:
        """The row under the cursor: name, what may be given, where it comes from, what it means."""
        cell = self._cell()
        if cell is None:
            said = self._rule()
            text = nodetext.line(say("sheet.rule", names=", ".join(said.inputs)) if said and said.inputs else "")
            self.query_one("#about", Static).update(text)
            return
        entry = cell.entry
        parts = [f"{cell.name} [{entry.unit}]"]
        if isinstance(entry, Input):
            ends = self.desk.ends(Ref(self.slug, cell.name))
            parts.append(sheet_rows.allowed(entry, ends, self.desk.choices(entry)))
            parts.append(whence(cell))
        else:
            parts += [f"= {entry.formula}", entry.source]
        told = nodetext.line(" · ".join(part for part in parts if part))
        help_ = safe_line(str(entry.help) or str(entry.note))
        self.query_one("#about", Static).update(Content("\n").join([told, Content(help_)]) if help_ else told)

    def _rows(self) -> Rows:
        """The part one works in; while one types, the inputs."""
        return self.query_one("#results" if self.focused is self.query_one("#results") else "#inputs", Rows)

    def _cell(self) -> Cell | None:
        """The input or result under the cursor."""
        key = self._rows().chosen
        if self.result is None or key is None:
            return None
        return self.result.inputs.get(key) or self.result.rows.get(key)

    def _rule(self) -> Said | None:
        return None if self.result is None else sheet_rows.rule(self.result, self._rows().chosen or "")

    # typing

    def on_key(self, event: Key) -> None:
        """A digit begins a new value."""
        cell = self._cell()
        if self._editing or self.focused is not self.query_one("#inputs") or cell is None:
            return
        if event.character and event.character in "0123456789.-" and not self._picked(cell):
            event.stop()
            self._edit(cell, event.character)

    def _picked(self, cell: Cell) -> bool:
        return isinstance(cell.entry, Input) and (cell.entry.unit == "bool" or bool(self.desk.choices(cell.entry)))

    @on(Rows.OptionSelected)
    def _selected(self) -> None:
        self.action_choose()

    def action_choose(self) -> None:
        """Types a value, picks a choice, explains a result, goes to what a rule points at."""
        cell = self._cell()
        if cell is None:
            if (said := self._rule()) and self.result is not None:
                name = next((name for name in said.inputs if name in self.result.inputs), "")
                self._go_to(name)
            return
        if not isinstance(cell.entry, Input):
            self.action_explain()
        elif cell.entry.unit == "bool":
            self._set(cell.name, "no" if cell.value is not None and cell.value.value is True else "yes")
        elif choices := self.desk.choices(cell.entry):
            self._pick(cell, choices)
        else:
            self._edit(cell)

    def _go_to(self, name: str) -> None:
        rows = self.query_one("#inputs", Rows)
        at = next((i for i, row in enumerate(rows.rows) if row.key == name), None)
        if at is not None:
            rows.highlighted = at
            rows.focus()

    def _pick(self, cell: Cell, choices: tuple[str, ...]) -> None:
        def picked(choice: str | None) -> None:
            if choice is not None:
                self._set(cell.name, choice)

        self.app.push_screen(PickOne(safe_line(str(cell.entry.label)), choices, cell.text()), picked)

    def _set(self, name: str, text: str) -> None:
        try:
            self.desk.set(self.slug, name, text)
            self.problem()
        except InputError as error:
            self.problem(str(error))
        self.show()

    def _edit(self, cell: Cell, begun: str = "") -> None:
        self._editing = cell.name
        self.desk.begin(self.slug, cell.name)
        name = f"{safe_line(str(cell.entry.label))} [{cell.entry.unit}]"
        self.query_one(EditLine).ask(name, begun or sheet_rows.typed(cell), typed=bool(begun))

    @on(EditLine.Typed)
    def _typed(self, event: EditLine.Typed) -> None:
        if self._editing:
            self._try(event.text)

    def _try(self, text: str) -> bool:
        """Takes the text for the moment; what cannot be leaves the last good value, and says why."""
        try:
            self.desk.type(self.slug, self._editing, text)
        except InputError as error:
            self.problem(str(error))
            return False
        self.problem()
        self.show()
        return True

    @on(EditLine.Taken)
    def _taken(self, event: EditLine.Taken) -> None:
        name = self._editing
        if not name or self.result is None:
            return
        unchanged = event.text == sheet_rows.typed(self.result.inputs[name])
        if not unchanged and not self._try(event.text):
            return
        self.desk.end()
        self._stop_editing()
        rows = self.query_one("#inputs", Rows)
        if event.step > 0:
            rows.action_cursor_down()
        elif event.step < 0:
            rows.action_cursor_up()

    @on(EditLine.Left)
    def _left(self) -> None:
        self.desk.cancel()
        self._stop_editing()

    def _stop_editing(self) -> None:
        self._editing = ""
        self.problem()
        self.query_one(EditLine).display = False
        self.query_one("#inputs", Rows).focus()
        self.show()

    def action_default(self) -> None:
        """Takes the value of the row back: what was measured, looked up or assumed counts again."""
        cell = self._cell()
        if cell is not None and isinstance(cell.entry, Input):
            self._set(cell.name, "")

    def action_undo(self) -> None:
        """Takes the last change back."""
        key = self.desk.undo()
        self.problem()
        self.show()
        slug, _, name = key.partition(".")
        if slug == self.slug:
            self._go_to(name)
        self.tell(say("sheet.undone", name=key) if key else say("sheet.nothing-to-undo"))

    # looking closer

    def action_explain(self) -> None:
        """Formula, the formula with its numbers, and where each comes from."""
        if (cell := self._cell()) is not None:
            from tui.screens.number import NumberScreen

            self.app.push_screen(NumberScreen(self.desk, self.slug, cell.name))

    def action_bars(self) -> None:
        """Lists, sums and groups of one unit as bars."""
        if self.result is not None:
            from tui.screens.bars import BarsScreen

            self.app.push_screen(BarsScreen(self.result))

    def action_tornado(self) -> None:
        """What sways the result under the cursor."""
        if (cell := self._cell()) is not None and not isinstance(cell.entry, Input):
            from tui.screens.tornado import TornadoScreen

            self.app.push_screen(TornadoScreen(self.desk, self.slug, cell.name))
        else:
            self.tell(say("sheet.choose-result"))

    def action_card(self) -> None:
        """The plan card, on which all sheets rest."""
        if self.slug != "plan":
            self.rack.show_worksheet("plan")

    def action_search(self) -> None:
        """Asks what to look for in the rows."""

        def found(needle: str | None) -> None:
            if needle and not self._rows().find(needle):
                self.tell(say("search.nothing", text=safe_line(needle)))

        self.app.push_screen(AskText(say("search.title")), found)
