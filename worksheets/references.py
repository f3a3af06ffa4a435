"""Reference tables: figures with a source and a date per cell, shipped as YAML and overlaid by the user's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import model_validator

from common import yamlfile
from common.errors import InputError
from common.words import Text
from common.yamlfile import nearest
from worksheets.model import Date, Model, Plain, UnitName
from worksheets.units import BOOL, TEXT, unit
from worksheets.values import Value

FOLDER = Path(__file__).parent / "reference"
Sure = Literal["V", "R", "C", "E"]
"""V read in the source, R recomputed, C taken over unread, E an editable assumption."""


class Column(Model):
    """A column: its label and unit."""

    label: Text
    unit: UnitName = "count"
    note: Text = ""


class Cell(Model):
    """A figure with its own source, date or range; value, low and high are in the unit of the column."""

    value: Plain | None
    low: float | None = None
    high: float | None = None
    source: str = ""
    date: Date = ""
    sure: Sure | None = None
    note: Text = ""


class Line(Model):
    """A row of a table."""

    label: Text
    cells: dict[str, Cell | Plain | None]
    source: str = ""
    date: Date = ""
    sure: Sure = "C"
    note: Text = ""


class Table(Model):
    """A table file. `key` is the input whose value picks the row for `from: table.column`."""

    table: str
    title: Text
    key: str | None = None
    source: str = ""
    date: Date = ""
    columns: dict[str, Column]
    rows: dict[str, Line]

    @model_validator(mode="after")
    def _columns_known(self) -> Table:
        for key, row in self.rows.items():
            for name in row.cells:
                if name not in self.columns:
                    raise ValueError(f"row `{key}`: no column `{name}`; {nearest(name, self.columns)}")
            if not (row.source or self.source):
                raise ValueError(f"row `{key}` has no source; give the table or the row one")
        return self


class Sources(Model):
    """The file of source codes."""

    sources: dict[str, str]


@cache
def sources() -> dict[str, str]:
    """Source codes and what they stand for."""
    return yamlfile.load(FOLDER / "sources.yaml", Sources).sources


@dataclass(frozen=True, slots=True)
class References:
    """The tables as one plan sees them: shipped ones, and on top the rows of the user's folders."""

    folders: tuple[Path, ...] = ()

    def table(self, name: str) -> Table:
        """A table by name.

        Raises:
            InputError: no such table, with the nearest name.
        """
        return _table(name, self.folders)

    def names(self) -> list[str]:
        """All table names."""
        return _names(self.folders)

    def cell(self, table: str, row: str, column: str) -> Value | None:
        """A cell in base units with its provenance; None where the table leaves it open."""
        found = self.table(table)
        if row not in found.rows:
            raise InputError(f"table {table} has no row `{row}`", fix=nearest(row, found.rows))
        if column not in found.columns:
            raise InputError(f"table {table} has no column `{column}`", fix=nearest(column, found.columns))
        line = found.rows[row]
        given = line.cells.get(column)
        # what stands in the table is checked already
        cell = given if isinstance(given, Cell) else Cell.model_construct(value=given)
        if cell.value is None:
            return None
        name = found.columns[column].unit
        factor = 1.0 if name in (TEXT, BOOL) else unit(name).factor
        return Value(
            _base(cell.value, factor),
            name,
            None if cell.low is None else cell.low * factor,
            None if cell.high is None else cell.high * factor,
            "table",
            cell.source or line.source or found.source,
            cell.date or line.date or found.date,
            str(cell.note or line.note),
        )


def _base(value: Any, factor: float) -> Any:
    return value if isinstance(value, bool | str) else float(value) * factor


@cache
def _names(folders: tuple[Path, ...]) -> list[str]:
    return sorted({p.stem for place in (FOLDER, *folders) for p in place.glob("*.yaml")} - {"sources"})


@cache
def _table(name: str, folders: Sequence[Path]) -> Table:
    found: Table | None = None
    for folder in (FOLDER, *folders):
        path = folder / f"{name}.yaml"
        if name == "sources" or Path(name).name != name or not path.is_file():
            continue
        table = yamlfile.load(path, Table)
        found = table if found is None else _overlaid(found, table)
    if found is None:
        known = References(tuple(folders)).names()
        raise InputError(f"no reference table `{name}`", fix=nearest(name, known))
    return found


def _overlaid(under: Table, over: Table) -> Table:
    rows = dict(under.rows)
    for key, line in over.rows.items():
        before, own = rows.get(key), {name: _own(cell, line, over) for name, cell in line.cells.items()}
        update: dict[str, Any] = {"source": line.source or over.source, "date": line.date or over.date}
        if before is not None:
            line, update = before, {"cells": {**before.cells, **own}}
        rows[key] = line.model_copy(update=update)
    columns = {**under.columns, **over.columns}
    return under.model_copy(update={"rows": rows, "columns": columns})


def _own(given: Any, line: Line, table: Table) -> Cell:
    cell = given if isinstance(given, Cell) else Cell(value=given)
    update = {
        "source": cell.source or line.source or table.source,
        "date": cell.date or line.date or table.date,
        "note": cell.note or line.note,
    }
    return cell.model_copy(update=update)
