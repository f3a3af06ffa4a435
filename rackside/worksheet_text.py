"""Computed worksheets as text on a terminal, and the formats a command may ask for."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping

from common.safetext import safe_line
from rackside import output
from worksheets.engine import Cell, Result, Workbook
from worksheets.exports.flat import as_csv, as_json, as_markdown
from worksheets.exports.telling import LONG, MARKS, head, parts, reading, readings, told, verdict, whence

_COLOURS = {"ok": "32", "info": "36", "warn": "33", "fail": "31", "not-enough-input": "35"}
WIDTH = 110


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


FORMATS: Mapping[str, Callable[[Workbook, Result, bool], str]] = {
    "text": as_text,
    "json": as_json,
    "csv": as_csv,
    "markdown": as_markdown,
}
