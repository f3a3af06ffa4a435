"""A computed worksheet as rows: its inputs to fill in, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from common.safetext import safe_line
from common.words import say
from tui import nodetext
from tui.widgets.columns import Columns
from tui.widgets.rows import Row
from worksheets.engine import Cell, Result, Said
from worksheets.exports.telling import MARKS, origin, parts, spread
from worksheets.model import Input
from worksheets.values import NotEnoughError

STYLES = {
    "ok": "$text-success",
    "info": "$text-accent",
    "warn": "$text-warning",
    "fail": "bold $text-error",
    "not-enough-input": "$text-accent",
}
LABEL_WIDTH, LABEL_WIDTH_BESIDE = 32, 26
"""Terminal cells of a label: across the screen, and where inputs and results stand side by side."""
LIST_SHOWN = 44
"""Terminal cells of a list that are shown in its row; `bars` shows all of it."""

Ranges = Mapping[str, str]
"""What results usually lie between, in words, by name."""


def blamed(result: Result) -> dict[str, Said]:
    """Every input a rule that speaks points at, with the worst of these rules."""
    found: dict[str, Said] = {}
    for severity in ("fail", "warn", "info"):
        for said in result.advice:
            for name in said.inputs if said.severity == severity else ():
                found.setdefault(name, said)
    return found


def field_rows(result: Result, width: int = LABEL_WIDTH) -> Iterator[Row]:
    """The inputs in their groups. A mark before one says that a rule points at it, `?` that it must be given."""
    rules = blamed(result)
    inputs, _ = parts(result)
    for title, cells in inputs.groups:
        if title:
            yield Row("", Content(title))
        for cell in cells:
            yield Row(cell.name, _line(cell, _field_mark(cell, rules), _told(cell), width))


def _field_mark(cell: Cell, rules: Mapping[str, Said]) -> Content:
    if isinstance(cell.error, NotEnoughError):
        return Content.styled("?", "bold $text-accent")
    if cell.error is not None:
        return Content.styled(MARKS["fail"], STYLES["fail"])
    if said := rules.get(cell.name):
        return Content.styled(MARKS[said.severity], STYLES[said.severity])
    return Content(" ")


def _told(cell: Cell) -> Content:
    """Value, usual range, and where it comes from."""
    usual = spread(cell)
    return Content.assemble(
        nodetext.line(cell.text(), "bold"),
        f" ({usual})" if usual else "",
        ("  " + safe_line(origin(cell)), "$text-muted") if cell.value is not None else "",
    )


def result_rows(result: Result, ranges: Ranges, width: int = LABEL_WIDTH) -> Iterator[Row]:
    """What follows: rules first, then the results in their groups with what they usually lie between."""
    told = [said for said in result.advice if said.severity != "ok"] or list(result.advice)
    for number, said in enumerate(told):
        yield Row(f"rule:{number}", _advice(said))
    _, results = parts(result)
    for title, cells in results.groups:
        if title:
            yield Row("", Content(title))
        for cell in cells:
            mark = Content(" ") if cell.error is None else _field_mark(cell, {})
            yield Row(cell.name, _line(cell, mark, _found(cell, ranges.get(cell.name, "")), width))
    # a sheet with many prices would hide its results behind their age
    for number, note in enumerate(result.notes):
        yield Row(f"note:{number}", Columns((Content(MARKS["warn"]), 1), (nodetext.line(note), 0)))


def rule(result: Result, key: str) -> Said | None:
    """The rule that a row of `result_rows` shows."""
    told = [said for said in result.advice if said.severity != "ok"] or list(result.advice)
    number = key.removeprefix("rule:")
    return told[int(number)] if key.startswith("rule:") and int(number) < len(told) else None


def _advice(said: Said) -> Columns:
    mark = Content.styled(MARKS[said.severity], STYLES[said.severity])
    text = f"{said.rule}: {said.text}"
    if said.runbook:
        text += f" ({say('runbook {name}', name=said.runbook)})"
    return Columns((mark, 1), (nodetext.line(text, limit=4000), 0))


def _found(cell: Cell, usual: str) -> Content:
    if cell.value is None:
        return nodetext.line(str(cell.error), "$text-muted")
    text = cell.text()
    if isinstance(cell.value.value, tuple) and cell_len(text) > LIST_SHOWN:
        count = f"… ({len(cell.value.value)})"
        text = set_cell_size(text, LIST_SHOWN - len(count)).rstrip(", ") + count
    lines = [nodetext.line(line, "bold", limit=4000) for line in text.split("\n")]
    return Content.assemble(Content("\n").join(lines), (f"  ({safe_line(usual)})", "$text-muted") if usual else "")


def _line(cell: Cell, mark: Content, value: Content, width: int) -> Columns:
    return Columns((mark, 1), (nodetext.line(str(cell.entry.label)), width), (value, 0))


def typed(cell: Cell) -> str:
    """A value as one goes on to type it: plain, in the unit of the input."""
    value = cell.value
    if value is None:
        return ""
    found = value.plain()
    if isinstance(found, bool):
        return "yes" if found else "no"
    return found if isinstance(found, str) else f"{found:.12g}"


def allowed(entry: Input, ends: str, choices: tuple[str, ...]) -> str:
    """What may be given, in words."""
    if choices:
        return say("sheet.choices", count=len(choices))
    return ends or say("sheet.yes-no" if entry.unit == "bool" else "sheet.any-text")
