"""Computed worksheets as JSON, CSV and Markdown."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator

from common.csvtext import csv_text
from common.safetext import markdown, markdown_code, safe_line
from common.words import say
from worksheets.documents import document
from worksheets.engine import Cell, Result, Workbook
from worksheets.exports.telling import LIMIT, MARKS, Part, cited, head, parts, readings, told, verdict, whence

_HEAD = ("kind", "name", "label", "value", "unit", "low", "high", "origin", "source", "date", "formula", "error")


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
            rows.append([csv_cell(row.get(column)) for column in _HEAD])
    for said in result.advice:
        row = {"kind": "advice", "name": said.rule, "label": said.text, "value": said.severity, "source": said.source}
        rows.append([csv_cell(row.get(column)) for column in _HEAD])
    rows += [["note", "", note, *[""] * (len(_HEAD) - 3)] for note in result.notes]
    return csv_text(rows, _HEAD)


def csv_cell(value: object) -> str | float:
    """A value of a document as a cell: lists with semicolons, nothing for null."""
    if isinstance(value, list):
        return "; ".join(str(csv_cell(item)) for item in value)
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
