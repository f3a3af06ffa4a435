"""Computed worksheets as text, JSON, CSV and Markdown."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from common.safetext import markdown, markdown_code, safe_line
from common.words import say
from rackside import output
from worksheets.documents import document
from worksheets.engine import Cell, Result, Said, Workbook
from worksheets.fields import followed
from worksheets.model import Input
from worksheets.references import sources
from worksheets.values import NotEnoughError, show

MARKS = {"ok": "✓", "info": "i", "warn": "!", "fail": "✗", "not-enough-input": "?"}
_COLOURS = {"ok": "32", "info": "36", "warn": "33", "fail": "31", "not-enough-input": "35"}
LONG = 60
"""Values longer than this stand below their line."""
WIDTH = 110
LIMIT = 4000
"""Characters of the longest text that a sheet may say in one place."""
_HEAD = ("kind", "name", "label", "value", "unit", "low", "high", "origin", "source", "date", "formula", "error")
_CODES = re.compile(r"\[([^\[\]]+)\]")


@dataclass(frozen=True, slots=True)
class Part:
    """Inputs or results in the groups of the sheet, each with its title; what has no group comes first."""

    title: str
    groups: tuple[tuple[str, tuple[Cell, ...]], ...]

    @property
    def cells(self) -> tuple[Cell, ...]:
        """All of them in order."""
        return tuple(cell for _, cells in self.groups for cell in cells)


def parts(result: Result) -> tuple[Part, Part]:
    """The inputs, and the results without intermediate values."""
    shown = [cell for cell in result.rows.values() if getattr(cell.entry, "show", True)]
    return (
        Part(say("Inputs"), tuple(_grouped(result, result.inputs.values()))),
        Part(say("Results"), tuple(_grouped(result, shown))),
    )


def _grouped(result: Result, cells: Iterable[Cell]) -> Iterator[tuple[str, tuple[Cell, ...]]]:
    titles = {"": "", **{group.id: safe_line(str(group.title)) for group in result.sheet.groups}}
    by_group: dict[str, list[Cell]] = {title: [] for title in titles}
    for cell in cells:
        # a group that the sheet does not list is a fault for the lint, not a reason to hide a number
        by_group.setdefault(cell.entry.group, []).append(cell)
    for group, found in by_group.items():
        if found:
            yield titles.get(group, safe_line(group)), tuple(found)


def reading(cell: Cell) -> str:
    """The value with its usual range, as people read it."""
    usual = spread(cell)
    return safe_line(cell.text(), limit=LIMIT) + (f" ({usual})" if usual else "")


def readings(cell: Cell) -> list[str]:
    """The same in the lines that a text is made of."""
    if "\n" not in cell.text():
        return [reading(cell)]
    return [safe_line(line, limit=LIMIT) for line in cell.text().split("\n")]


def spread(cell: Cell) -> str:
    """The usual low and high of a value, as people read them."""
    value = cell.value
    if value is None or value.low is None or value.high is None:
        return ""
    low, high = show(value.low, value.unit), show(value.high, value.unit)
    return safe_line(f"{low.removesuffix(f' {value.unit}')} {say('to')} {high}")


def whence(cell: Cell) -> str:
    """Where a value comes from, with the codes of its sources and its date; or why there is none."""
    value, entry = cell.value, cell.entry
    if value is None:
        return safe_line(str(cell.error))
    words = [value.source, value.date]
    if isinstance(entry, Input):
        words.insert(0, origin(cell))
    return safe_line(", ".join(word for word in words if word))


def origin(cell: Cell) -> str:
    """In words: typed, of the plan, measured, the default, or what `from` names; nothing for a result."""
    value, entry = cell.value, cell.entry
    if value is None or not isinstance(entry, Input):
        return ""
    if value.origin == "table" or followed(entry, value):
        return say("from {place}", place=entry.from_)
    words = {"user": "typed"}
    return say(words.get(value.origin, value.origin))


def source_lines(texts: Iterable[str]) -> list[tuple[str, str]]:
    """The codes in square brackets that stand in the texts, and what they stand for."""
    codes = sorted({code for text in texts for code in _CODES.findall(text)} & sources().keys())
    return [(f"[{code}]", sources()[code]) for code in codes]


def cited(result: Result) -> list[tuple[str, str]]:
    """The sources of a computed sheet."""
    shown = [cell for part in parts(result) for cell in part.cells]
    texts = [cell.value.source for cell in shown if cell.value is not None]
    return source_lines([*texts, *(said.source for said in result.advice)])


def head(result: Result) -> str:
    """Number, name and title of the sheet."""
    sheet = result.sheet
    return safe_line(f"{sheet.id} {sheet.sheet}: {sheet.title}")


def verdict(result: Result) -> str:
    """What the state of the sheet rests on, in one sentence."""
    if result.missing:
        names = ", ".join(result.missing)
        return safe_line(say("not enough input: give {names}", names=names) + f" (--set {result.missing[0]}=…)")
    lines = {**result.inputs, **result.rows}
    broken = [cell.name for cell in lines.values() if cell.error and not isinstance(cell.error, NotEnoughError)]
    rules = [said.rule for said in result.advice if said.severity == result.state]
    if not broken and result.state in ("ok", "info"):
        return say("no rule objects")
    words = {"fail": "does not work as it stands: {names}", "warn": "look at {names}"}
    return safe_line(say(words[result.state], names=", ".join([*rules, *broken])))


def told(said: Said) -> str:
    """A rule that speaks, with the runbook that goes on from there."""
    more = f" -> rackside walk {said.runbook}" if said.runbook else ""
    return safe_line(f"{said.rule}: {said.text}{more}", limit=LIMIT)


def as_text(book: Workbook, result: Result, colour: bool = False) -> str:
    """Question, inputs with their origin, results, and what follows from them."""

    def mark(severity: str) -> str:
        text = MARKS[severity]
        return f"\x1b[{_COLOURS[severity]}m{text}\x1b[0m" if colour else text

    lines = [head(result), safe_line(str(result.sheet.question))]
    for part in parts(result):
        lines += ["", part.title]
        rows = [("    " + c.name, safe_line(str(c.entry.label)), _short(c), whence(c)) for c in part.cells]
        ready = iter(output.table(rows, width=output.terminal_width()).splitlines())
        for title, cells in part.groups:
            lines += [f"  {title}"] if title else []
            for cell in cells:
                lines += [next(ready), *_long(cell)]
    lines.append("")
    lines += [f"{mark(said.severity)} {told(said)}" for said in result.advice]
    lines += [f"{mark('warn')} {safe_line(note)}" for note in result.notes]
    lines.append(f"{mark(result.state)} {result.state}: {verdict(result)}")
    return "\n".join(lines)


def _short(cell: Cell) -> str:
    text = reading(cell)
    return text if len(text) <= LONG else ""


def _long(cell: Cell) -> list[str]:
    # a sentence among the numbers would push their sources off the screen
    if _short(cell):
        return []
    indent, width = " " * 8, output.terminal_width() or WIDTH
    wrapped = (textwrap.wrap(line, width, initial_indent=indent, subsequent_indent=indent) for line in readings(cell))
    return [line for lines in wrapped for line in lines]


def as_json(book: Workbook, result: Result, colour: bool = False) -> str:
    """The `worksheet` document of the contract."""
    return json.dumps(document(result), indent=2, ensure_ascii=False, allow_nan=False)


def as_csv(book: Workbook, result: Result, colour: bool = False) -> str:
    """A row for each input, result, rule that speaks and note; numbers are plain, in the unit beside them."""
    told = document(result)
    rows: list[list[str | float]] = []
    for kind, part in (("input", "inputs"), ("output", "outputs")):
        cells = result.inputs if kind == "input" else result.rows
        for name, line in told[part].items():
            row = {"kind": kind, "name": name, "label": str(cells[name].entry.label), **line}
            if kind == "output":
                row["source"] = cells[name].entry.source
            rows.append([_plain(row.get(column)) for column in _HEAD])
    for said in result.advice:
        row = {"kind": "advice", "name": said.rule, "label": said.text, "value": said.severity, "source": said.source}
        rows.append([_plain(row.get(column)) for column in _HEAD])
    rows += [["note", "", note, *[""] * (len(_HEAD) - 3)] for note in result.notes]
    return output.csv(rows, _HEAD)


def _plain(value: object) -> str | float:
    if isinstance(value, list):
        return "; ".join(str(_plain(item)) for item in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str | int | float) else ""


def as_markdown(book: Workbook, result: Result, colour: bool = False) -> str:
    """Tables for a ticket or a plan under review."""
    inputs, results = parts(result)
    lines = [f"# {_md(head(result))}", "", _md(str(result.sheet.question)), ""]
    lines += [f"**{result.state}**: {_md(verdict(result))}", ""]
    lines += [f"- {MARKS[said.severity]} {_md(told(said))}" for said in result.advice]
    lines += [f"- {MARKS['warn']} {_md(note)}" for note in result.notes]
    lines += ["", f"## {_md(results.title)}", ""]
    lines += _table(results, ("Name", "Label", "Value", "Formula", "Source"), lambda c: [_formula(c), _md(whence(c))])
    lines += ["", f"## {_md(inputs.title)}", ""]
    lines += _table(inputs, ("Name", "Label", "Value", "Origin"), lambda c: [_md(whence(c))])
    if legend := cited(result):
        lines += ["", f"## {_md(say('Sources'))}", "", *(f"- {_md(code)} {_md(text)}" for code, text in legend)]
    return "\n".join(lines)


def _table(part: Part, heads: Iterable[str], more: Callable[[Cell], list[str]]) -> Iterator[str]:
    titles = [say(title) for title in heads]
    yield "| " + " | ".join(titles) + " |"
    yield "|---" * len(titles) + "|"
    for cell in part.cells:
        value = "<br>".join(map(_md, readings(cell)))
        cells = [markdown_code(cell.name), _md(str(cell.entry.label)), value, *more(cell)]
        yield "| " + " | ".join(cells) + " |"


def _formula(cell: Cell) -> str:
    # a bar would end the cell of the table even inside code
    return markdown_code(safe_line(getattr(cell.entry, "formula", ""))).replace("|", "\\|")


def _md(text: str) -> str:
    return markdown(safe_line(text, limit=LIMIT))


FORMATS: Mapping[str, Callable[[Workbook, Result, bool], str]] = {
    "text": as_text,
    "json": as_json,
    "csv": as_csv,
    "markdown": as_markdown,
}
