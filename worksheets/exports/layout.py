"""Where everything of a workbook lies: which sheets it has, and the line of every input, row, rule and list."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from common.words import say
from worksheets import fields
from worksheets.engine import Result, Workbook
from worksheets.library import Library, Ref
from worksheets.model import Advice, Input, Row, Sheet
from worksheets.plan import CARD

OVERVIEW, REFERENCES, SOURCES = "Overview", "References", "Sources"
STATE_LINE, HEAD_LINE, FIRST_LINE = 2, 4, 5
LONGEST_TITLE = 31

# what people read, then what the formulas reckon with
LABEL, VALUE, UNIT, LOW, HIGH, DEFAULT, ORIGIN, SOURCE, DATE, FORMULA, NOTE, NAME = range(12)
BASE, BASE_LOW, BASE_HIGH, BASE_DEFAULT, BASE_UNIT, LINE, IS_DEFAULT, TEXT, STALE = range(13, 22)
FIRST_LIST = 23

Kind = Literal["part", "group", "input", "row", "advice", "note"]


@dataclass(frozen=True, slots=True)
class ListPlace:
    """A list row: the column it is shown in; base units stand one to the right, texts one further where needed."""

    column: int
    length: int


@dataclass(frozen=True, slots=True)
class Drawn:
    """One line of a sheet."""

    kind: Kind
    line: int
    text: str = ""
    entry: Input | Row | None = None
    advice: Advice | None = None


@dataclass(slots=True)
class Tab:
    """One worksheet of the workbook: its name there, and the lines (from 0) of what it holds."""

    slug: str
    title: str
    result: Result
    drawn: list[Drawn] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)
    advice: dict[str, int] = field(default_factory=dict)
    lists: dict[str, ListPlace] = field(default_factory=dict)
    first_row: int = 0
    last_row: int = 0
    end: int = 0

    @property
    def sheet(self) -> Sheet:
        """The sheet as its file says."""
        return self.result.sheet


def letters(column: int) -> str:
    """The letters of a column counted from 0."""
    text = ""
    while column >= 0:
        text = chr(ord("A") + column % 26) + text
        column = column // 26 - 1
    return text


def address(line: int, column: int, title: str | None = None) -> str:
    """A cell, of another sheet when its title is given."""
    place = f"${letters(column)}${line + 1}"
    return place if title is None else f"'{title}'!{place}"


def defined_name(slug: str, name: str) -> str:
    """The name of an input or result in the whole workbook: `training_time.mfu` for training-time.mfu."""
    return f"{slug.replace('-', '_')}.{name}"[:255]


def titles(slugs: Iterable[str]) -> dict[str, str]:
    """A name that spreadsheets accept for every sheet."""
    taken = {OVERVIEW.lower(), REFERENCES.lower(), SOURCES.lower(), "history"}
    found: dict[str, str] = {}
    for slug in slugs:
        title, count = re.sub(r"[^\w-]", "_", slug)[:LONGEST_TITLE], 2
        while title.lower() in taken:
            tail = f"-{count}"
            title, count = slug[: LONGEST_TITLE - len(tail)] + tail, count + 1
        taken.add(title.lower())
        found[slug] = title
    return found


def needed(library: Library, slugs: Iterable[str]) -> list[str]:
    """The sheets asked for, the plan card, and all sheets that they take values from."""
    found: dict[str, None] = dict.fromkeys([*slugs, CARD])
    waiting = list(found)
    while waiting:
        slug = waiting.pop(0)
        for ref in refs_of(library, slug):
            if ref.sheet not in found:
                found[ref.sheet] = None
                waiting.append(ref.sheet)
    return list(found)


def refs_of(library: Library, slug: str) -> Iterator[Ref]:
    """Everything that the inputs, rows and rules of a sheet name."""
    sheet = library.sheet(slug)
    for entry in sheet.inputs:
        yield from fields.needs(library, slug, entry)
    told_by: tuple[Row | Advice, ...] = (*sheet.rows, *sheet.advice)
    for told in told_by:
        yield from library.ready(slug, told).names.values()


def lay_out(book: Workbook, slugs: Iterable[str]) -> dict[str, Tab]:
    """A tab for each sheet that the workbook needs, by slug."""
    every = needed(book.library, slugs)
    named = titles(every)
    return {slug: _tab(Tab(slug, named[slug], book.compute(slug))) for slug in every}


def _tab(tab: Tab) -> Tab:
    line = FIRST_LINE
    shown = [row for row in tab.sheet.rows if row.show]
    hidden = [row for row in tab.sheet.rows if not row.show]
    for title, entries in ((say("Inputs"), tab.sheet.inputs), (say("Results"), shown), (say("Workings"), hidden)):
        if not entries:
            continue
        tab.drawn.append(Drawn("part", line, title))
        line += 1
        for kind, text, entry in _grouped(tab.sheet, entries):
            tab.drawn.append(Drawn(kind, line, text, entry))
            if entry is not None:
                tab.lines[entry.name] = line
                if isinstance(entry, Row):
                    tab.first_row = tab.first_row or line
                    tab.last_row = line
            line += 1
    line = _told(tab, line + 1)
    column = FIRST_LIST
    for row in tab.sheet.rows:
        value = tab.result.rows[row.name].value
        if value is not None and isinstance(value.value, tuple):
            tab.lists[row.name] = ListPlace(column, len(value.value))
            column += 4
    tab.end = line + 1
    return tab


def _grouped(
    sheet: Sheet, entries: Iterable[Input | Row]
) -> Iterator[tuple[Literal["group", "input", "row"], str, Input | Row | None]]:
    by_group: dict[str, list[Input | Row]] = {id_: [] for id_ in ("", *(group.id for group in sheet.groups))}
    for entry in entries:
        by_group.setdefault(entry.group, []).append(entry)
    texts = {group.id: str(group.title) for group in sheet.groups}
    for group, members in by_group.items():
        if group and members:
            yield "group", texts.get(group, group), None
        for member in members:
            yield ("input" if isinstance(member, Input) else "row"), "", member


def _told(tab: Tab, line: int) -> int:
    if tab.sheet.advice:
        tab.drawn.append(Drawn("part", line, say("Advice")))
        line += 1
    for advice in tab.sheet.advice:
        tab.drawn.append(Drawn("advice", line, advice=advice))
        tab.advice[advice.id] = line
        line += 1
    for note in tab.result.notes:
        tab.drawn.append(Drawn("note", line, say("At export: {note}", note=note)))
        line += 1
    return line
