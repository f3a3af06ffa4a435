"""Checks sheets, tables and plans: unknown names, units that do not fit, circles, missing sources, wrong values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from common import yamlfile
from common.errors import InputError
from worksheets import fields, references
from worksheets.formulas.dimensions import Kind, kind_of, kind_of_unit, say
from worksheets.formulas.scalar import compile_formula
from worksheets.formulas.syntax import Name, names
from worksheets.library import Library, Ref, unit_of
from worksheets.model import FILL, Advice, Input, Row, Sheet
from worksheets.plan import CARD, Plan, load
from worksheets.units import BOOL

Where = tuple[int | str, ...]
_CODES = re.compile(r"\[([^\[\]]+)\]")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to put right in a sheet, table or plan."""

    file: Path
    line: int | None
    severity: Literal["error", "warning"]
    message: str
    fix: str = ""

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else str(self.file)
        return f"{where}: {self.severity}: {self.message}" + (f"; {self.fix}" if self.fix else "")


def lint_sheet(path: Path, library: Library | None = None) -> list[Problem]:
    """Every problem of a sheet file."""
    library = library or Library((path.parent,))
    try:
        sheet = library.sheet(path.stem)
    except InputError as error:
        return [Problem(path, error.line, "error", error.message, error.fix or "")]
    text = yamlfile.read_text(path)
    return [
        Problem(path, yamlfile.line_of(text, where), severity, message, fix)
        for where, severity, message, fix in _Linter(sheet, library).problems()
    ]


def lint_table(path: Path) -> list[Problem]:
    """Every problem of a reference table file, or of the file of source codes."""
    try:
        if path.stem == "sources":
            yamlfile.load(path, references.Sources)
            return []
        table = yamlfile.load(path, references.Table)
        for column in table.columns.values():
            kind_of_unit(column.unit)
    except InputError as error:
        return [Problem(path, error.line, "error", error.message, error.fix or "")]
    found = []
    if table.table != path.stem:
        found.append(Problem(path, 1, "error", f"`table: {table.table}` in a file named {path.name}"))
    text = yamlfile.read_text(path)
    for key, row in table.rows.items():
        cells = [c for c in row.cells.values() if isinstance(c, references.Cell)]
        for source in (row.source, *(c.source for c in cells)):
            for message, fix in _unknown_codes(source):
                found.append(Problem(path, yamlfile.line_of(text, ("rows", key)), "error", message, fix))
        if not (row.date or table.date):
            found.append(Problem(path, yamlfile.line_of(text, ("rows", key)), "error", f"row `{key}` has no date"))
    return found


def lint_plan(path: Path, library: Library | None = None, plan: Plan | None = None) -> list[Problem]:
    """Every problem of a plan file: names that no sheet has, and values that cannot be."""
    library = library or Library()
    try:
        plan = plan or load(path)
    except InputError as error:
        return [Problem(path, error.line, "error", error.message, error.fix or "")]
    text = yamlfile.read_text(path)
    found = [
        Problem(path, yamlfile.line_of(text, where), "error", error.message, error.fix or "")
        for where, error in _unfit(library, plan)
    ]
    return sorted(found, key=lambda problem: problem.line or 0)


def sound_plan(path: Path, library: Library) -> Plan:
    """A plan in which every name is known and every value can be: a typing error must not vanish in a default.

    Raises:
        InputError: the first problem of the file.
    """
    loaded = load(path)
    for problem in lint_plan(path, library, loaded):
        raise InputError(problem.message, file=path, line=problem.line, fix=problem.fix)
    return loaded


def _unfit(library: Library, plan: Plan) -> Iterator[tuple[Where, InputError]]:
    from worksheets.engine import Workbook

    places: dict[str, Where] = {f"{CARD}.{name}": ("card", name) for name in plan.card}
    places |= {f"{sheet}.{name}": ("sheets", sheet, name) for sheet, values in plan.sheets.items() for name in values}
    places |= {key: ("measured", key) for key in plan.measured}
    book, fit = Workbook(library), {}
    for key, where in places.items():
        try:
            fit[key] = book.settable(key)
        except InputError as error:
            yield where, error
    # only all of them together tell: a price is held against its range in the currency of the plan
    book = Workbook(library, plan.only(fit))
    for key, entry in fit.items():
        if wrong := book.cell(key.partition(".")[0], entry).error:
            yield places[key], wrong


def _unknown_codes(source: str) -> Iterator[tuple[str, str]]:
    for code in _CODES.findall(source):
        if code not in references.sources():
            yield f"source [{code}] is not in sources.yaml", yamlfile.nearest(code, references.sources())


Found = tuple[Where, Literal["error", "warning"], str, str]


class _Linter:
    def __init__(self, sheet: Sheet, library: Library) -> None:
        self.sheet, self.library = sheet, library
        self.used: set[str] = set()

    def problems(self) -> Iterator[Found]:
        for i, entry in enumerate(self.sheet.inputs):
            yield from self.guarded(("inputs", i, "from"), self.input, entry)
            yield from self.named(("inputs", i), entry)
        for i, row in enumerate(self.sheet.rows):
            yield from self.guarded(("rows", i, "formula"), self.row, row)
            yield from self.named(("rows", i), row)
        for i, advice in enumerate(self.sheet.advice):
            yield from self.guarded(("advice", i, "when"), self.advice, advice)
            for message, fix in _unknown_codes(advice.source):
                yield (("advice", i, "source"), "error", message, fix)
        for i, entry in enumerate(self.sheet.inputs):
            if entry.name not in self.used and self.sheet.sheet != CARD:
                yield (("inputs", i), "error", f"input `{entry.name}` is used by no row or rule", "use it or remove it")
        yield from self.circle()

    def guarded(self, where: Where, look: object, entry: Input | Row | Advice) -> Iterator[Found]:
        try:
            assert callable(look)
            look(entry)
        except InputError as error:
            name = entry.id if isinstance(entry, Advice) else entry.name
            yield (where, "error", f"{name}: {error.message}", error.fix or "")

    def named(self, where: Where, entry: Input | Row) -> Iterator[Found]:
        groups = {g.id for g in self.sheet.groups}
        if entry.group and entry.group not in groups:
            yield ((*where, "group"), "error", f"no group `{entry.group}`", yamlfile.nearest(entry.group, groups))
        for message, fix in _unknown_codes(entry.source):
            yield ((*where, "source"), "error", message, fix)
        if isinstance(entry, Input) and entry.kind == "assumption" and fields.priced(entry) and not entry.date:
            yield (where, "error", f"price `{entry.name}` has no date", "add `date: 2026-05`")

    def input(self, entry: Input) -> None:
        if entry.unit == "text":
            fields.choices(self.library, entry)
        if not entry.from_:
            return
        table, _, rest = entry.from_.partition(".")
        if table in self.library.references.names():
            found = self.library.references.table(table)
            row, _, column = rest.rpartition(".")
            if row and row not in found.rows:
                raise InputError(f"table {table} has no row `{row}`", fix=yamlfile.nearest(row, found.rows))
            if not row and not found.key:
                raise InputError(f"table {table} has no key", fix=f"write from: {table}.ROW.{column}")
            kind = kind_of_unit(self.column(table, column))
            if not row:
                self.kind_of_name(Name(str(found.key), 0))
        else:
            kind = self.kind_of_ref(self.library.resolve(self.sheet.sheet, entry.from_))
        if kind != kind_of_unit(entry.unit):
            raise InputError(f"is in {entry.unit}, but {entry.from_} in {say(kind)}")

    def column(self, table: str, column: str) -> str:
        found = self.library.references.table(table)
        if column not in found.columns:
            raise InputError(f"table {table} has no column `{column}`", fix=yamlfile.nearest(column, found.columns))
        return str(found.columns[column].unit)

    def kind_of_ref(self, ref: Ref) -> Kind:
        return kind_of_unit(unit_of(self.library.entry(ref), ref))

    def kind_of_name(self, name: Name) -> Kind:
        ref = self.library.resolve(self.sheet.sheet, name.name)
        if ref.sheet == self.sheet.sheet:
            self.used.add(ref.name)
        return self.kind_of_ref(ref)

    def row(self, row: Row) -> None:
        compile_formula(row.tree)
        kind = kind_of(row.tree, self.kind_of_name, self.column)
        if kind is not None and kind != kind_of_unit(row.unit):
            raise InputError(f"the formula gives {say(kind)}, the row says {row.unit}", fix="correct one of them")

        for filled in (found for text in row.words.values() for found in FILL.findall(str(text))):
            self.kind_of_name(Name(filled, 0))

    def advice(self, advice: Advice) -> None:
        for n in names(advice.tree):
            self.library.resolve(self.sheet.sheet, n.name)
        if kind_of(advice.tree, self.kind_of_name, self.column) != BOOL:
            raise InputError("the condition is neither yes nor no", fix="write a comparison")
        for filled in FILL.findall(str(advice.text)):
            self.library.resolve(self.sheet.sheet, filled)
        for name in advice.inputs:
            if not isinstance(self.sheet.get(name), Input):
                known = [e.name for e in self.sheet.inputs]
                raise InputError(f"`{name}` is no input of this sheet", fix=yamlfile.nearest(name, known))

    def circle(self) -> Iterator[Found]:
        from worksheets.engine import Workbook

        try:
            Workbook(self.library).compute(self.sheet.sheet)
        except InputError as error:
            yield (("rows",), "error", error.message, error.fix or "")
