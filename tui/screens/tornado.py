"""What sways a result of a worksheet: a bar for each input behind it, the widest swing first."""

from __future__ import annotations

from collections.abc import Iterable

from textual import on, work
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import Worker, WorkerState

from common.safetext import safe_line
from common.words import say
from tui import keys, nodetext
from tui.messages import TornadoRead
from tui.screens.base import RackScreen
from tui.widgets.bars import Bar, Bars
from worksheets.desk import Desk
from worksheets.engine import Workbook
from worksheets.exports.telling import between
from worksheets.values import show
from worksheets.whatif import tornado as whatif


class TornadoScreen(RackScreen):
    """Reckoned in a worker, over the plan as it stood when it was asked for."""

    PLACE = "tornado"
    CSS_PATH = "../styles/worksheet.tcss"
    BINDINGS = [*keys.SCREENS["tornado"]]

    def __init__(self, desk: Desk, slug: str, name: str) -> None:
        super().__init__()
        self._library, self._plan, self._slug, self._row = desk.library, desk.plan(), slug, name

    def body(self) -> Iterable[Widget]:
        """Heading, bars, what does not count."""
        yield VerticalScroll(
            Static(say("tornado.reckoning"), id="head", markup=False),
            Static(id="bars", markup=False),
            Static(id="still", markup=False),
            id="page",
        )

    def on_mount(self) -> None:
        """Begins."""
        super().on_mount()
        self.query_one("#page").focus()
        self._reckon()

    @work(thread=True, group="tornado", exclusive=True, exit_on_error=False)
    def _reckon(self) -> None:
        from worksheets.whatif.targets import target

        book = Workbook(self._library, self._plan)
        self.post_message(TornadoRead(whatif.tornado(book, target(self._library, self._slug, self._row))))

    @on(Worker.StateChanged)
    def _failed(self, event: Worker.StateChanged) -> None:
        if event.state == WorkerState.ERROR and event.worker.node is self:
            self.query_one("#head", Static).update("")
            self.problem(str(event.worker.error))

    @on(TornadoRead)
    def _read(self, event: TornadoRead) -> None:
        found = event.tornado
        title = nodetext.line(str(found.target.entry.label), "bold")
        base = nodetext.line(say("tornado.base", value=show(found.base, found.unit)), "bold $text-accent")
        head = [title, base, nodetext.line(say("tornado.how")), Content("")]
        self.query_one("#head", Static).update(Content("\n").join(head))
        self.query_one("#bars", Static).update(Bars([_bar(bar, found.unit) for bar in found.bars]))
        still = ", ".join(str(one.entry.label) for one in found.still)
        told = nodetext.line(say("tornado.still", names=still), "$text-muted", limit=2000)
        self.query_one("#still", Static).update(Content("\n").join([Content(""), told]) if still else "")


def _bar(bar: whatif.Bar, unit: str) -> Bar:
    one = bar.input
    label = safe_line(f"{one.entry.label} {between(one.low, one.high, one.unit)}")
    low, high = bar.at_low, bar.at_high
    if low.result is not None and high.result is not None:
        return Bar(label, bar.swing, between(low.result, high.result, unit))
    shown = (end.why if end.result is None else show(end.result, unit) for end in (low, high))
    return Bar(label, bar.swing, safe_line(" / ".join(shown)))
