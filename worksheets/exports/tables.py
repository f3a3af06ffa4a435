"""The reference tables of a workbook: one line for every figure, with its source and date, found by key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from worksheets.exports.layout import FIRST_LINE, REFERENCES, letters
from worksheets.fields import choices
from worksheets.formulas import excel
from worksheets.formulas.syntax import Constant, calls
from worksheets.library import Library
from worksheets.model import Advice, Input, Row
from worksheets.references import Cell
from worksheets.units import BOOL, TEXT, unit

(TABLE, ROW, COLUMN, VALUE, UNIT, LOW, HIGH, SOURCE, DATE, SURE, NOTE, KEY, BASE, BASE_LOW, BASE_HIGH) = range(15)
FIRST_CHOICES = 17


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a table, in the unit of its column."""

    key: str
    table: str
    row: str
    column: str
    value: Any
    unit: str
    low: float | None
    high: float | None
    source: str
    date: str
    sure: str
    note: str

    @property
    def factor(self) -> float:
        """What one of its unit is worth in base units."""
        return 1.0 if self.unit in (TEXT, BOOL) else unit(self.unit).factor

    def base(self, value: Any) -> Any:
        """A value of it in base units."""
        return value if isinstance(value, bool | str) else float(value) * self.factor


@dataclass(slots=True)
class Tables:
    """The figures of all tables that some sheets use, and formulas that find them."""

    library: Library
    figures: list[Figure] = field(default_factory=list)
    offered: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def add(self, names: Iterable[str]) -> None:
        """Takes tables in, each once."""
        for name in names:
            if all(figure.table != name for figure in self.figures):
                self.figures += _figures(self.library, name)

    def offer(self, table: str, entry: Input) -> None:
        """Takes in the choices that an input has out of a table."""
        self.offered.setdefault(table, choices(self.library, entry))

    @property
    def last(self) -> int:
        """The last line of figures, from 0."""
        return FIRST_LINE + max(len(self.figures), 1) - 1

    def span(self, column: int) -> str:
        """A column over all figures."""
        return f"'{REFERENCES}'!${letters(column)}${FIRST_LINE + 1}:${letters(column)}${self.last + 1}"

    def line(self, table: str, row: str, column: str) -> str:
        """The formula for which figure it is; `row` is an expression."""
        if row.startswith('"') and "&" not in row:
            key = row[:1] + f"{table}/" + row[1:-1] + f"/{column}" + row[-1:]
        else:
            key = f"{excel.quoted(f'{table}/')}&{row}&{excel.quoted(f'/{column}')}"
        return f"MATCH({key},{self.span(KEY)},0)"

    def pick(self, column: int, line: str) -> str:
        """The formula for something about a figure."""
        return f"INDEX({self.span(column)},{line})"

    def lookup(self, table: str, row: str, column: str) -> str:
        """The formula for a figure in base units."""
        return self.pick(BASE, self.line(table, row, column))

    def place(self, table: str, row: str, column: str) -> int | None:
        """Which figure it is, counted from 1; None where the table leaves it open."""
        key = f"{table}/{row}/{column}"
        return next((i for i, figure in enumerate(self.figures, start=1) if figure.key == key), None)

    def choices(self, table: str) -> str:
        """Where the choices out of a table stand."""
        column = letters(FIRST_CHOICES + list(self.offered).index(table))
        return f"'{REFERENCES}'!${column}${FIRST_LINE + 1}:${column}${FIRST_LINE + len(self.offered[table])}"

    def ranged(self, table: str, column: str) -> bool:
        """True when any figure of a column has a low or high end."""
        here = (f for f in self.figures if f.key.startswith(f"{table}/") and f.key.endswith(f"/{column}"))
        return any(f.low is not None or f.high is not None for f in here)


def used(library: Library, entry: Input | Row | Advice) -> Iterator[str]:
    """The tables that an input, row or rule takes figures from."""
    if isinstance(entry, Input):
        table = (entry.from_ or "").partition(".")[0]
        if table in library.references.names():
            yield table
        return
    for call in calls(entry.tree):
        if call.function == "lookup" and isinstance(name := call.arguments[0], Constant):
            yield str(name.value)


def _figures(library: Library, name: str) -> Iterator[Figure]:
    table = library.references.table(name)
    for row, line in table.rows.items():
        for column, given in line.cells.items():
            cell = given if isinstance(given, Cell) else Cell(value=given)
            if cell.value is None:
                continue
            yield Figure(
                f"{name}/{row}/{column}",
                name,
                row,
                column,
                cell.value,
                table.columns[column].unit,
                cell.low,
                cell.high,
                cell.source or line.source or table.source,
                cell.date or line.date or table.date,
                str(cell.sure or line.sure),
                str(cell.note or line.note),
            )
