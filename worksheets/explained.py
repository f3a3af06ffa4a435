"""What a worksheet is, and how one of its numbers came about: formula, numbers, sources, dates, other opinions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from common.errors import UsageError
from common.yamlfile import nearest
from worksheets.engine import Cell, Workbook
from worksheets.exports.telling import origin, source_lines, spread
from worksheets.fields import CROSS, CURRENCY, followed
from worksheets.library import Ref
from worksheets.model import Advice, Input, Row
from worksheets.values import Value

Told = dict[str, Any]


def sheet(book: Workbook, slug: str) -> Told:
    """The question a sheet answers, its inputs, results and rules."""
    found = book.library.sheet(slug)
    return {
        "kind": "worksheet",
        "id": slug,
        "number": found.id,
        "title": str(found.title),
        "question": str(found.question),
        "help": str(found.help),
        "inputs": [_named(entry) for entry in found.inputs],
        "results": [_named(entry) for entry in found.rows if entry.show],
        "rules": [f"{a.id} ({a.severity}) when {a.when}" for a in found.advice],
    }


def line(book: Workbook, slug: str, name: str) -> Told:
    """An input or result of a sheet.

    Raises:
        UsageError: the sheet has none of that name.
    """
    found = book.library.sheet(slug)
    if found.get(name) is None:
        known = [entry.name for entry in (*found.inputs, *found.rows)]
        raise UsageError(f"worksheet {slug} has no `{name}`; {nearest(name, known)}")
    how = book.explain(slug, name)
    entry, cell = how.cell.entry, how.cell
    told: Told = {
        "kind": "worksheet input" if isinstance(entry, Input) else "worksheet result",
        "id": f"{slug}.{name}",
        "title": str(entry.label),
        "value": cell.text() if cell.value is not None else None,
        "error": None if cell.error is None else str(cell.error),
        "unit": entry.unit,
        "usual": spread(cell),
        "help": str(entry.help),
    }
    if isinstance(entry, Input):
        told |= _input(cell, entry)
    else:
        told |= {"formula": how.formula, "with numbers": how.filled if how.filled != how.formula else ""}
    inputs = [c for c in how.inputs if _counts(book, c)]
    sources = [entry.source, *(c.value.source for c in (cell, *inputs) if c.value is not None)]
    return told | {
        "from": [_behind(c) for c in inputs],
        "source": entry.source if isinstance(entry, Row) else cell.value.source if cell.value else "",
        "sources": [f"{code} {text}" for code, text in source_lines(sources)],
        "notes, and who says otherwise": list(_notes([cell, *inputs])),
        **_rests(book, Ref(slug, name)),
        "used by": list(_users(book, slug, name)),
    }


def _input(cell: Cell, entry: Input) -> Told:
    value = cell.value
    return {
        "origin": origin(cell),
        "date": value.date if value is not None else entry.date,
        "range": None if entry.range is None else _range(entry.range, entry.unit),
        "choices": list(entry.choices) if isinstance(entry.choices, tuple) else entry.choices,
        "kind of figure": entry.kind,
    }


def _range(ends: tuple[float, float], unit: str) -> str:
    # sheets count money in USD, whatever the currency of the plan
    return f"{ends[0]:.12g} to {ends[1]:.12g} {unit.replace('currency', 'USD')}"


def _counts(book: Workbook, cell: Cell) -> bool:
    """Whether an input has a say: of the exchange rates only that of the plan's currency has."""
    rates = {ref.key: name for name, ref in CROSS.items()}
    return cell.key not in rates or book.part(CURRENCY) == rates[cell.key]


def _named(entry: Input | Row) -> str:
    return f"{entry.name}: {entry.label} ({entry.unit})"


def _behind(cell: Cell) -> Told:
    value = cell.value
    return {
        "name": cell.key,
        "label": str(cell.entry.label),
        "value": cell.text() if value is not None else str(cell.error),
        "usual": spread(cell),
        "origin": origin(cell),
        "source": value.source if value is not None else "",
        "date": value.date if value is not None else "",
    }


def _notes(cells: list[Cell]) -> Iterator[str]:
    seen = set()
    for cell in cells:
        value: Value | None = cell.value
        linked = value is not None and isinstance(cell.entry, Input) and followed(cell.entry, value)
        for note in (str(cell.entry.note), "" if value is None or linked else value.note):
            if note and (cell.key, note) not in seen:
                seen.add((cell.key, note))
                yield f"{cell.name}: {note}"


def _rests(book: Workbook, ref: Ref) -> Told:
    if not isinstance(book.cell(ref.sheet, book.library.entry(ref)).value, Value):
        return {}
    age_s = book.part(Ref(ref.sheet, ref.name, "price_age"))
    return {
        "assumptions nobody looked at": book.part(Ref(ref.sheet, ref.name, "untouched")),
        "age of the oldest price": f"{age_s / 86400:.0f} days" if age_s else "",
    }


def _users(book: Workbook, slug: str, name: str) -> Iterator[str]:
    found = book.library.sheet(slug)
    users: tuple[Row | Advice, ...] = (*found.rows, *found.advice)
    for user in users:
        if any((ref.sheet, ref.name) == (slug, name) for ref in book.library.ready(slug, user).names.values()):
            yield user.name if isinstance(user, Row) else user.id
