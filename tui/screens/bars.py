"""The numbers of a worksheet as bars: lists over what they rest on, sums by their parts, groups of one unit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Static

from common.safetext import safe_line
from common.words import say
from tui import keys, nodetext
from tui.screens.base import RackScreen
from tui.widgets.bars import Bar, Bars
from worksheets.engine import Result
from worksheets.exports.charts import Chart, charts
from worksheets.exports.layout import ListPlace, Tab
from worksheets.exports.telling import between
from worksheets.values import show

FLAT = 0.5
"""A curve whose least is more than this share of its most is drawn between the two, not from 0."""


class BarsScreen(RackScreen):
    """One part for each chart the sheet is worth."""

    PLACE = "bars"
    CSS_PATH = "../styles/worksheet.tcss"
    BINDINGS = [*keys.SCREENS["bars"]]

    def __init__(self, result: Result) -> None:
        super().__init__()
        self.parts = list(parts(result))

    def body(self) -> Iterable[Widget]:
        """Titles and bars."""
        shown: list[Widget] = []
        for title, bars in self.parts:
            shown += [Static(nodetext.line(title, "bold underline"), classes="title"), Static(bars)]
        yield VerticalScroll(*(shown or [Static(say("bars.none"), markup=False)]), id="page")

    def on_mount(self) -> None:
        """Ready to scroll."""
        super().on_mount()
        self.query_one("#page").focus()


def parts(result: Result) -> Iterator[tuple[str, Bars]]:
    """Title and bars of each chart that a sheet is worth."""
    lists = {
        name: ListPlace(0, len(cell.value.value))
        for name, cell in result.rows.items()
        if cell.value is not None and isinstance(cell.value.value, tuple)
    }
    for chart in charts(Tab(result.sheet.sheet, str(result.sheet.title), result, lists=lists)):
        if chart.over is None:
            bars = [
                Bar(safe_line(str(row.label)), value.value, value.text())
                for row in chart.rows
                if (value := result.rows[row.name].value) is not None
            ]
            yield _title(result, chart), Bars(bars)
        else:
            yield from _curves(result, chart)


def _curves(result: Result, chart: Chart) -> Iterator[tuple[str, Bars]]:
    assert chart.over is not None
    over = result.rows[chart.over.name].value
    for row in chart.rows:
        value = result.rows[row.name].value
        if over is None or value is None:
            continue
        pairs = zip(over.value, value.value, strict=True)
        bars = [Bar(show(at, over.unit), amount, show(amount, value.unit)) for at, amount in pairs]
        title = f"{safe_line(str(row.label))} / {safe_line(str(chart.over.label))}"
        amounts = [bar.amount for bar in bars]
        if flat := max(amounts) > min(amounts) > FLAT * max(amounts):
            title += f" ({between(min(amounts), max(amounts), value.unit)})"
        yield title, Bars(bars, dots=flat)


def _title(result: Result, chart: Chart) -> str:
    whole = next((c for c in result.rows.values() if str(c.entry.label) == chart.title and chart.kind == "stack"), None)
    return safe_line(chart.title) if whole is None else safe_line(f"{chart.title}: {whole.text()}")
