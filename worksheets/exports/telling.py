"""How a computed worksheet is told to people: parts and groups, values with ranges, origins, sources, the verdict."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from common.safetext import safe_line
from common.words import say
from worksheets.engine import Cell, Result, Said
from worksheets.fields import followed
from worksheets.model import Input
from worksheets.references import sources
from worksheets.values import NotEnoughError, show

MARKS = {"ok": "✓", "info": "i", "warn": "!", "fail": "✗", "not-enough-input": "?"}
LONG = 60
"""Values longer than this stand below their line."""
LIMIT = 4000
"""Characters of the longest text that a sheet may say in one place."""
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
    return between(value.low, value.high, value.unit)


def between(least: float, most: float, unit: str) -> str:
    """Two ends in base units, with the unit they are shown in."""
    low, high = show(least, unit), show(most, unit)
    return safe_line(f"{low.removesuffix(f' {unit}')} {say('to')} {high}")


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
