"""Charts for a worksheet, found in its formulas: curves over a list, sums by their parts, and rows of one unit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from worksheets.exports import layout
from worksheets.exports.layout import FIRST_LINE, ListPlace, Tab
from worksheets.exports.styles import clean
from worksheets.formulas.syntax import Name, Node, Operation, names
from worksheets.model import Row
from worksheets.units import unit
from worksheets.values import is_number

MOST_CHARTS = 4
FEWEST_PARTS = 3
FEWEST_POINTS = 4
MOST_BARS = 8
_WIDTH, _HEIGHT, _LINES = 560, 320, 17
_STEEP = 30
"""From this ratio of its ends on, an axis is logarithmic."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart to draw: rows by name over a list, or side by side, or stacked."""

    kind: str
    title: str
    unit: str
    rows: tuple[Row, ...]
    over: Row | None = None


def charts(tab: Tab) -> list[Chart]:
    """The charts that a worksheet is worth, the most telling first."""
    found = [*_curves(tab), *_sums(tab)]
    drawn = {row.name for chart in found for row in chart.rows}
    return [*found, *(c for c in _alike(tab) if not drawn & {row.name for row in c.rows})][:MOST_CHARTS]


def _numbers(tab: Tab, *, lists: bool) -> list[Row]:
    return [
        row
        for row in tab.sheet.rows
        if is_number(row.unit) and tab.result.rows[row.name].value is not None and (row.name in tab.lists) is lists
    ]


def _curves(tab: Tab) -> list[Chart]:
    rows = {row.name: row for row in _numbers(tab, lists=True) if tab.lists[row.name].length >= FEWEST_POINTS}
    found: list[Chart] = []
    for over in rows.values():
        value = tab.result.rows[over.name].value
        # an axis counts up and comes from no other list
        if value is None or any(a >= b for a, b in zip(value.value, value.value[1:], strict=False)):
            continue
        if _under(tab, over) & rows.keys():
            continue
        by_unit: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in rows.values():
            if over.name in _under(tab, row) and tab.lists[row.name].length == tab.lists[over.name].length:
                # a bare count says nothing about what is counted
                by_unit[row.unit, row.name if row.unit == "count" else ""].append(row)
        for (name, _), members in by_unit.items():
            drawn = [row for row in members if row.show] or members
            title = " · ".join(str(row.label) for row in drawn[:3])
            found.append(Chart("curve", title, name, tuple(drawn[:MOST_BARS]), over))
    return sorted(found, key=lambda chart: -len(chart.rows))


def _under(tab: Tab, row: Row) -> set[str]:
    """The rows of the sheet on which a row rests."""
    found: set[str] = set()
    waiting = [row]
    while waiting:
        for name in {n.name for n in names(waiting.pop().tree)} - found:
            if isinstance(entry := tab.sheet.get(name), Row):
                found.add(name)
                waiting.append(entry)
    return found


def _sums(tab: Tab) -> Iterator[Chart]:
    known = {row.name: row for row in _numbers(tab, lists=False)}
    for row in tab.sheet.rows:
        parts = list(_terms(row.tree))
        if len(parts) < FEWEST_PARTS or not all(part in known for part in parts):
            continue
        if row.show and row.name in known:
            yield Chart("stack", str(row.label), row.unit, tuple(known[part] for part in parts))


def _terms(node: Node) -> Iterator[str]:
    """The names that a plain sum adds; one that names nothing when it is none."""
    match node:
        case Name():
            yield node.name
        case Operation() if node.operator == "+":
            for part in node.operands:
                yield from _terms(part)
        case _:
            yield ""


def _alike(tab: Tab) -> Iterator[Chart]:
    titles = {group.id: str(group.title) for group in tab.sheet.groups}
    by_group: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in _numbers(tab, lists=False):
        # numbers without a dimension count different things under one unit
        if row.show and unit(row.unit).dimension:
            by_group[row.group, row.unit].append(row)
    for (group, name), members in by_group.items():
        if len(members) >= FEWEST_PARTS:
            yield Chart("bars", titles.get(group, str(tab.sheet.title)), name, tuple(members[:MOST_BARS]))


def draw(workbook: Any, sheet: Any, tab: Tab) -> None:
    """Draws the charts of a worksheet below its lines."""
    for place, chart in enumerate(charts(tab)):
        line, beside = tab.end + 1 + place // 2 * _LINES, place % 2 * (_WIDTH + 20)
        sheet.insert_chart(line, layout.LABEL, _drawn(workbook, tab, chart), {"x_offset": beside})


def _drawn(workbook: Any, tab: Tab, chart: Chart) -> Any:
    kinds = {
        "curve": {"type": "scatter", "subtype": "straight_with_markers"},
        "stack": {"type": "column", "subtype": "stacked"},
        "bars": {"type": "column"},
    }
    drawn = workbook.add_chart(kinds[chart.kind])
    for row in chart.rows:
        drawn.add_series(_series(tab, chart, row))
    name = tab.result.rows[chart.rows[0].name].value
    shown = chart.unit if name is None else name.unit
    drawn.set_title({"name": clean(chart.title)[:100], "name_font": {"size": 11}, "overlay": False})
    grid = {"visible": True, "line": {"color": "#E4E7EB"}}
    drawn.set_y_axis(
        {"name": shown, "major_gridlines": grid, "num_format": "[>=1000]#,##0;General", "num_font": {"size": 8}}
    )
    if chart.over is not None:
        drawn.set_x_axis(_axis(tab, chart.over))
    else:
        drawn.set_x_axis({"visible": False})
    drawn.set_legend({"position": "bottom"} if len(chart.rows) > 1 or chart.kind != "curve" else {"none": True})
    drawn.set_size({"width": _WIDTH, "height": _HEIGHT})
    return drawn


def _series(tab: Tab, chart: Chart, row: Row) -> dict[str, Any]:
    if chart.over is not None:
        return {
            "name": clean(str(row.label)),
            "categories": _span(tab, tab.lists[chart.over.name]),
            "values": _span(tab, tab.lists[row.name]),
        }
    line = tab.lines[row.name]
    return {
        "name": [tab.title, line, layout.LABEL],
        "values": [tab.title, line, layout.VALUE, line, layout.VALUE],
        "data_labels": {"value": True},
    }


def _axis(tab: Tab, over: Row) -> dict[str, Any]:
    value = tab.result.rows[over.name].value
    axis: dict[str, Any] = {"name": clean(f"{over.label} [{value.unit if value else over.unit}]")}
    if value is not None and value.value[0] > 0 and value.value[-1] / value.value[0] > _STEEP:
        axis["log_base"] = 10
    return axis


def _span(tab: Tab, place: ListPlace) -> list[Any]:
    return [tab.title, FIRST_LINE, place.column, FIRST_LINE + place.length - 1, place.column]
