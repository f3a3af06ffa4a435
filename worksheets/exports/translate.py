"""Formulas of sheets as formulas of a workbook: names become cells, and what has no form becomes its value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from common.errors import InputError
from worksheets import fields
from worksheets.engine import Workbook
from worksheets.exports import texts
from worksheets.exports.fixed import Following, carried
from worksheets.exports.layout import BASE, BASE_HIGH, BASE_LOW, FIRST_LINE, TEXT, Tab, address
from worksheets.exports.tables import Tables
from worksheets.formulas import excel
from worksheets.formulas.dimensions import kind_of, kind_of_unit
from worksheets.formulas.syntax import FormulaError, Name, Node, names
from worksheets.library import Ref, unit_of
from worksheets.model import FILL, Advice, Input, Row
from worksheets.units import TEXT as TEXT_UNIT
from worksheets.units import unit
from worksheets.values import Value, is_number

LONGEST = 8000
"""A spreadsheet takes 8192 characters in a formula."""
MOST_WATCHED = 40
Said = str | tuple[str, ...]


@dataclass(slots=True)
class Formulas:
    """Translates over the cells of the tabs. `following.whole` fills with rows that could not be translated."""

    book: Workbook
    tabs: dict[str, Tab]
    tables: Tables
    following: Following
    _ranged: dict[str, bool] = field(default_factory=dict)
    _fragile: dict[str, bool] = field(default_factory=dict)

    def value(self, ref: Ref) -> Value | None:
        """What the engine computed; None where it could not."""
        return self.book.cell(ref.sheet, self.book.library.entry(ref)).value

    def cell(self, ref: Ref, column: int, seen_from: str) -> str:
        """The address of something about an input or row."""
        tab = self.tabs[ref.sheet]
        return address(tab.lines[ref.name], column, None if ref.sheet == seen_from else tab.title)

    def items(self, ref: Ref, seen_from: str, beside: int = 1) -> tuple[str, ...]:
        """The cells of a list row: in base units, or as shown (0) or said (2)."""
        tab = self.tabs[ref.sheet]
        place = tab.lists[ref.name]
        title = None if ref.sheet == seen_from else tab.title
        return tuple(address(FIRST_LINE + i, place.column + beside, title) for i in range(place.length))

    def base(self, ref: Ref, seen_from: str) -> Said:
        """Where the base-unit value of a reference lies."""
        if carried(ref):
            return str(excel.literal(self._part(ref)))
        tab = self.tabs[ref.sheet]
        if ref.name in tab.lists:
            return self.items(ref, seen_from)
        column = {"low": BASE_LOW, "high": BASE_HIGH}.get(ref.part, BASE)
        return self.cell(ref, column if self.ranged(ref) else BASE, seen_from)

    def ranged(self, ref: Ref) -> bool:
        """Whether an input has cells for a low and a high end."""
        if ref.key not in self._ranged:
            entry = self.book.library.entry(ref)
            self._ranged[ref.key] = isinstance(entry, Input) and self._has_ends(ref, entry)
        return self._ranged[ref.key]

    def _has_ends(self, ref: Ref, entry: Input) -> bool:
        value = self.value(ref)
        if not is_number(entry.unit):
            return False
        if entry.spread or (value is not None and (value.low is not None or value.high is not None)):
            return True
        table, _, rest = (entry.from_ or "").partition(".")
        if table in self.book.library.references.names():
            return self.tables.ranged(table, rest.rpartition(".")[2])
        return bool(entry.from_) and self.ranged(self.book.library.resolve(ref.sheet, str(entry.from_)))

    def fragile(self, ref: Ref) -> bool:
        """Whether an input or row may have no value, because something was not given or cannot be computed."""
        if ref.key not in self._fragile:
            entry = self.book.library.entry(ref)
            if isinstance(entry, Row):
                refs = self.book.library.ready(ref.sheet, entry).names
                self._fragile[ref.key] = excel.may_fail(entry.tree, lambda name: self.fragile(refs[name]))
            else:
                needs = fields.needs(self.book.library, ref.sheet, entry)
                self._fragile[ref.key] = entry.default is None or any(self.fragile(need) for need in needs)
        return self._fragile[ref.key]

    def row(self, slug: str, row: Row) -> Said:
        """The formula of a row in base units; its value where it cannot be said, which `following.whole` then knows."""
        value = self.value(Ref(slug, row.name))
        try:
            said: Said = self._said(slug, row)
            if isinstance(said, tuple) is not (value is not None and isinstance(value.value, tuple)):
                raise FormulaError("a list where a value was expected")
            if isinstance(said, tuple) and value is not None and len(said) != len(value.value):
                raise FormulaError("a list of another length")
        except InputError:
            self.following.whole.add(f"{slug}.{row.name}")
            return excel.literal(None if value is None else value.value)  # type: ignore[no-any-return]
        return said

    def condition(self, slug: str, advice: Advice) -> str:
        """The condition of a rule."""
        try:
            said = self._said(slug, advice)
        except InputError:
            said = ()
        # a rule over a list says nothing
        return said if isinstance(said, str) else "FALSE"

    def _said(self, slug: str, entry: Row | Advice) -> Said:
        library, refs = self.book.library, self.book.library.ready(slug, entry).names

        def cells(name: str) -> Said:
            ref = refs[name]
            if not carried(ref) and self.value(ref) is None and self._listed(ref):
                raise FormulaError(f"`{name}` is a list that was not computed")
            return self.base(ref, slug)

        def column(table: str, name: str) -> str:
            return str(library.references.table(table).columns[name].unit)

        def is_text(node: Node) -> bool:
            of_name: Callable[[Name], Any] = lambda n: kind_of_unit(unit_of(library.entry(refs[n.name]), refs[n.name]))  # noqa: E731
            return kind_of(node, of_name, column) == TEXT_UNIT

        compute = lambda node: self._computed(slug, entry, node)  # noqa: E731
        fragile: Callable[[str], bool] = lambda name: self.fragile(refs[name])  # noqa: E731
        said: Said = excel.translate(entry.tree, cells, compute, is_text, self.tables.lookup, fragile)
        if any(len(formula) > LONGEST for formula in ((said,) if isinstance(said, str) else said)):
            raise FormulaError("too long for a spreadsheet")
        return said

    def _listed(self, ref: Ref) -> bool:
        """Whether a row that has no value would be a list, as far as its formula shows."""
        entry = self.book.library.entry(ref)
        if isinstance(entry, Input):
            return False
        refs = self.book.library.ready(ref.sheet, entry).names
        if any(call == "range" for call in excel.fixed(entry.tree)):
            return True
        return any(refs[n.name].name in self.tabs[refs[n.name].sheet].lists for n in names(entry.tree))

    def _computed(self, slug: str, entry: Row | Advice, node: Node) -> Any:
        try:
            return self.book.evaluate(slug, entry, node)
        except InputError:
            return None

    def _part(self, ref: Ref) -> Any:
        try:
            return self.book.part(ref)
        except InputError:
            return None

    def stale(self, slug: str, entry: Row | Advice) -> str:
        """The formula that is true once what a fixed part was computed from has changed; empty for very long lists."""
        refs = self.book.library.ready(slug, entry).names
        watched = dict.fromkeys(refs[n.name] for call in self.following.frozen(slug, entry) for n in names(call))
        tests = [test for ref in watched for test in self._changed(ref, slug)]
        return f"OR({','.join(tests)})" if tests and len(tests) <= MOST_WATCHED else ""

    def _changed(self, ref: Ref, slug: str) -> Iterator[str]:
        value = self.value(ref)
        if value is None or carried(ref):
            return
        where = self.base(ref, slug)
        was = {"low": value.low, "high": value.high}.get(ref.part)
        known: Any = value.value if was is None else was
        pairs = zip(where, known, strict=True) if isinstance(where, tuple) else ((where, known),)
        for cell, before in pairs:
            if isinstance(before, bool | str):
                yield f"NOT(EXACT({cell},{excel.literal(before)}))"
            else:
                yield f"ABS({cell}-{excel.literal(before)})>{excel.literal(abs(before) * 1e-9)}"

    def currency(self, slug: str) -> str:
        """The cell with the plan's currency."""
        return self.cell(fields.CURRENCY, BASE, slug)

    def text(self, slug: str, template: str, refs: Mapping[str, Ref]) -> str:
        """The formula for a text with `{name}` filled in."""
        pieces: list[str] = []
        at = 0
        for found in FILL.finditer(template):
            if before := template[at : found.start()]:
                pieces.append(excel.quoted(before))
            pieces.append(self.filled(slug, refs[found[1]]))
            at = found.end()
        if (rest := template[at:]) or not pieces:
            pieces.append(excel.quoted(rest))
        return "&".join(pieces)

    def told(self, template: str, refs: Mapping[str, Ref]) -> str:
        """What that formula says now."""
        return FILL.sub(lambda found: self._told(refs[found[1]]), template)

    def _told(self, ref: Ref) -> str:
        entry = self.book.library.entry(ref)
        cell, part = self.book.cell(ref.sheet, entry), self._part(ref)
        if ref.part == "value" or part is None:
            return cell.text()
        shown = unit_of(entry, ref) if carried(ref) or cell.value is None else cell.value.unit
        return texts.told(part, shown, "")

    def filled(self, slug: str, ref: Ref) -> str:
        """The formula that says a reference inside a text."""
        entry = self.book.library.entry(ref)
        if carried(ref):
            part = self._part(ref)
            return excel.quoted("" if part is None else texts.told(part, unit_of(entry, ref), ""))
        if ref.name in self.tabs[ref.sheet].lists:
            return '&", "&'.join(self.items(ref, slug, 2))
        if ref.part == "value" or not self.ranged(ref):
            said, else_ = self.cell(ref, TEXT, slug), '"-"' if ref.part == "value" else '"?"'
        else:
            cell = self.cell(ref, BASE_LOW if ref.part == "low" else BASE_HIGH, slug)
            said, else_ = f"({texts.formula(scaled(cell, entry.unit), entry.unit, self.currency(slug))})", '"?"'
        return f"IFERROR({said},{else_})" if self.fragile(ref) else said

    def said_of(self, ref: Ref, slug: str) -> str:
        """The formula that says an input or row as people read it."""
        entry = self.book.library.entry(ref)
        # the cell to type into may be empty
        base = self.cell(ref, BASE, slug)
        plain = texts.formula(scaled(base, entry.unit), entry.unit, self.currency(slug))
        return self.worded(slug, entry, base, plain) if isinstance(entry, Row) else plain

    def worded(self, slug: str, row: Row, cell: str, plain: str) -> str:
        """The formula for a row's words, or what else is to be said."""
        refs = self.book.library.ready(slug, row).names
        said = plain if not row.words or row.unit != TEXT_UNIT else cell
        for word, text in reversed(row.words.items()):
            if str(text):
                said = f"IF(EXACT({cell},{excel.quoted(word)}),{self.text(slug, str(text), refs)},{said})"
        return said


def scaled(cell: str, name: str) -> str:
    """A base-unit cell in the unit `name`."""
    if not is_number(name) or unit(name).factor == 1:
        return cell
    return f"({cell}/{excel.literal(unit(name).factor)})"


def times(cell: str, name: str) -> str:
    """A cell in the unit `name` in base units."""
    if not is_number(name) or unit(name).factor == 1:
        return cell
    return f"{cell}*{excel.literal(unit(name).factor)}"
