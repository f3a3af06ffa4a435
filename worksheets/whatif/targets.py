"""Names of what-if questions: which result is meant, which input is turned, and what each is worth in a workbook."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from common.errors import InputError
from common.yamlfile import nearest
from worksheets import fields
from worksheets.engine import Workbook
from worksheets.library import Library, Ref
from worksheets.model import Input, Row
from worksheets.plan import CARD, Given
from worksheets.units import unit
from worksheets.values import Value, is_number

_TARGET = re.compile(r"([a-z][\w.-]*)(?:\[(\d{1,4})\])?")


@dataclass(frozen=True, slots=True)
class Target:
    """A result, or one item of a list, counted from 1."""

    ref: Ref
    entry: Input | Row
    item: int | None = None

    @property
    def key(self) -> str:
        """`sheet.row`, or `sheet.row[3]`."""
        return self.ref.key + (f"[{self.item}]" if self.item else "")

    def number(self, book: Workbook) -> float:
        """What it is worth, in base units.

        Raises:
            InputError: it has no value, or none that is a single number.
        """
        value = self.value(book)
        if isinstance(value, tuple):
            raise InputError(f"{self.key} is a list of {len(value)}", fix=f"name an item, such as {self.key}[1]")
        if isinstance(value, bool | str):
            raise InputError(f"{self.key} is no number", fix="name a row with a number")
        return float(value)

    def value(self, book: Workbook) -> Any:
        """What it is worth, in base units.

        Raises:
            InputError: why it has no value.
        """
        return picked(self, book.part(self.ref))

    def unit(self, book: Workbook) -> str:
        """The unit to show it in, with the plan's currency."""
        value = book.cell(self.ref.sheet, self.entry).value
        return self.entry.unit if value is None else value.unit


def picked(target: Target, value: Any) -> Any:
    """The item that a target names out of the value or column of its row.

    Raises:
        InputError: there is no such item.
    """
    if target.item is None:
        return value
    if not isinstance(value, tuple):
        raise InputError(f"{target.ref.key} is no list", fix=f"write {target.ref.key}")
    if not 1 <= target.item <= len(value):
        raise InputError(f"{target.ref.key} is a list of {len(value)}, without item {target.item}")
    return value[target.item - 1]


def target(library: Library, slug: str, text: str) -> Target:
    """The row that `row`, `row[3]` or `sheet.row` names; without a sheet it is one of `slug`, else of the plan card.

    Raises:
        InputError: no such row, with the nearest name.
    """
    found = _TARGET.fullmatch(text.strip())
    if found is None:
        raise InputError(f"`{text}` names no row", fix="write ROW, SHEET.ROW, or ROW[3] for the third item of a list")
    ref, entry = _find(library, slug, found[1])
    return Target(ref, entry, int(found[2]) if found[2] else None)


def turnable(library: Library, slug: str, text: str) -> tuple[Ref, Input]:
    """The input that `input` or `sheet.input` names; without a sheet it is one of `slug`, else of the plan card.

    Raises:
        InputError: no such input, with the nearest name.
    """
    ref, entry = _find(library, slug, text.strip(), inputs=True)
    if not isinstance(entry, Input):
        raise InputError("it is computed; set one of its inputs")
    return ref, entry


def _find(library: Library, slug: str, name: str, inputs: bool = False) -> tuple[Ref, Input | Row]:
    sheet, _, plain = name.rpartition(".")
    places = [sheet] if sheet else [slug, CARD]
    found = [(Ref(place, plain), entry) for place in places if (entry := library.sheet(place).get(plain))]
    # an input of the plan card counts before a row of the same name when an input is wanted
    found.sort(key=lambda pair: inputs and not isinstance(pair[1], Input))
    if found:
        return found[0]
    names = {e.name for p in places for e in (library.sheet(p).inputs if inputs else _entries(library, p))}
    raise InputError(f"no such {'input' if inputs else 'row'} `{name}`", fix=nearest(plain, names))


def _entries(library: Library, slug: str) -> tuple[Input | Row, ...]:
    sheet = library.sheet(slug)
    return (*sheet.inputs, *sheet.rows)


def typed(book: Workbook, ref: Ref, entry: Input, text: str) -> Any:
    """What somebody typed for an input, in base units, whether or not it is allowed.

    Raises:
        InputError: it cannot be read.
    """
    return fields.read(entry, Given(value=text), "user", known_needs(book, ref)).value


def known_needs(book: Workbook, ref: Ref) -> dict[str, Value]:
    """What an input hangs on at first hand, as far as it has a value."""
    cells = {need.key: book.cell(need.sheet, book.library.entry(need)).value for need in book.needs(ref)}
    return {key: value for key, value in cells.items() if value is not None}


def put(book: Workbook, ref: Ref, entry: Input, value: Any) -> None:
    """Types a base-unit number, a text, or yes or no into a workbook.

    Raises:
        InputError: a value that cannot be.
    """
    if not is_number(entry.unit):
        book.set(ref.sheet, ref.name, value)
        return
    amount = value / unit(entry.unit).factor
    # the last bits of a conversion make no whole number broken
    book.set(ref.sheet, ref.name, round(amount) if entry.whole and abs(amount - round(amount)) < 1e-6 else amount)
