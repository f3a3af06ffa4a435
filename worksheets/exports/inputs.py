"""The line of an input: a cell to type into, its default or link beside it, and what formulas reckon with."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from common.words import say
from worksheets import fields
from worksheets.exports import layout, tables
from worksheets.exports.layout import address
from worksheets.exports.styles import clean
from worksheets.exports.translate import Formulas, scaled, times
from worksheets.formulas import excel
from worksheets.library import Ref
from worksheets.model import Input
from worksheets.plan import CARD
from worksheets.units import TEXT, unit
from worksheets.values import Value, is_number

MISSING = "#N/A"
GIVEN = ("user", "plan", "measured")


@dataclass(frozen=True, slots=True)
class Put:
    """What goes into a cell: a formula with the value it has now, or a plain value without formula."""

    value: Any
    formula: str = ""


@dataclass(slots=True)
class InputLine:
    """Works out the cells of one input. Clearing the cell that people type into brings the default back."""

    formulas: Formulas
    slug: str
    entry: Input

    @property
    def ref(self) -> Ref:
        """The input."""
        return Ref(self.slug, self.entry.name)

    @property
    def value(self) -> Value | None:
        """What the engine reckons with."""
        return self.formulas.value(self.ref)

    @property
    def given(self) -> bool:
        """Whether somebody typed, planned or measured it."""
        value = self.value
        return value is not None and value.origin in GIVEN and not fields.followed(self.entry, value)

    def here(self, column: int) -> str:
        """A cell of this line."""
        return address(self.formulas.tabs[self.slug].lines[self.entry.name], column)

    def cells(self) -> dict[int, Put]:
        """Every cell of the line that holds a value, by column."""
        default, value = self.default(), self.value
        base, own = None if value is None else value.value, self.value if self.given else None
        puts = {
            layout.BASE_DEFAULT: Put(_known(default), self.default_base()),
            layout.IS_DEFAULT: Put(own is None, self.is_default()),
            layout.BASE: Put(MISSING if base is None else base, self.base()),
        }
        if self.linked_or_priced:
            puts[layout.DEFAULT] = Put(_known(self.shown(default)), scaled(self.here(layout.BASE_DEFAULT), self.unit))
        elif default is not None:
            puts[layout.DEFAULT] = Put(self.shown(default))
        if own is not None:
            # an empty cell would bring the default back
            puts[layout.VALUE] = Put(self.typed(own.value), '""' if own.value == "" else "")
        elif self.linked_or_priced:
            puts[layout.VALUE] = Put(_known(self.shown(default)), self.here(layout.DEFAULT))
        elif default is not None:
            puts[layout.VALUE] = Put(self.shown(default))
        if self.table is not None:
            puts[layout.LINE] = Put(self.found or MISSING, self.table_line())
        if self.formulas.ranged(self.ref):
            puts |= self.ends(default)
        return puts | self.provenance(default)

    @property
    def unit(self) -> str:
        """Its unit."""
        return self.entry.unit

    @property
    def linked_or_priced(self) -> bool:
        """Whether its default follows other cells."""
        return bool(self.entry.from_) or (self.entry.default is not None and self.worth != "")

    @property
    def worth(self) -> str:
        """What turns an amount in USD into the plan's currency, as the end of a formula; empty for no money."""
        exponent = fields.priced(self.entry)
        if not exponent or fields.USD_RATE not in fields.needs(self.formulas.book.library, self.slug, self.entry):
            return ""
        rate = self.formulas.cell(fields.USD_RATE, layout.BASE, self.slug)
        return f"*{rate}" if exponent == 1 else f"*{rate}^{excel.literal(exponent)}"

    @property
    def table(self) -> tuple[str, str, str] | None:
        """Table, row as an expression, and column of a look-up."""
        name, _, rest = (self.entry.from_ or "").partition(".")
        references = self.formulas.book.library.references
        if not name or name not in references.names():
            return None
        row, _, column = rest.rpartition(".")
        if row:
            return name, excel.quoted(row), column
        key = self.formulas.book.library.resolve(self.slug, str(references.table(name).key))
        return name, self.formulas.cell(key, layout.BASE, self.slug), column

    @property
    def found(self) -> int | None:
        """Which figure of the tables its link points at, counted from 1."""
        name, _, rest = (self.entry.from_ or "").partition(".")
        row, _, column = rest.rpartition(".")
        key = self.formulas.book.library.references.table(name).key
        if not row and key:
            chosen = self.formulas.value(self.formulas.book.library.resolve(self.slug, key))
            row = "" if chosen is None else str(chosen.value)
        return self.formulas.tables.place(name, row, column)

    def table_line(self) -> str:
        """The formula for that."""
        assert self.table is not None
        return self.formulas.tables.line(*self.table)

    @property
    def source_ref(self) -> Ref | None:
        """The input or row that it follows."""
        if not self.entry.from_ or self.table is not None:
            return None
        return self.formulas.book.library.resolve(self.slug, self.entry.from_)

    def default(self) -> Value | None:
        """What it is worth when nobody gives it."""
        library = self.formulas.book.library
        whole = all(ref.key in self.known for ref in fields.needs(library, self.slug, self.entry))
        linked = fields.linked(library, self.slug, self.entry, self.known) if whole else None
        return linked or fields.default(self.entry, self.known)

    @property
    def known(self) -> dict[str, Value]:
        """The values that its default takes."""
        needs = fields.needs(self.formulas.book.library, self.slug, self.entry)
        return {ref.key: value for ref in needs if (value := self.formulas.value(ref)) is not None}

    def shown(self, value: Value | None) -> Any:
        """A value in the unit of the input."""
        if value is None or not is_number(self.unit):
            return None if value is None else value.value
        if value.origin == "default" and not self.linked_or_priced:
            return self.entry.default
        return self.typed(value.value)

    def typed(self, base: Any) -> Any:
        """The number in the unit of the input that gives exactly this base value."""
        if not is_number(self.unit):
            return base
        factor = unit(self.unit).factor
        near = base / factor
        tries = (near, math.nextafter(near, math.inf), math.nextafter(near, -math.inf))
        return next((number for number in tries if number * factor == base), near)

    def plain_default(self) -> str:
        """Its own default in base units, as a formula; empty when it has none."""
        default = self.entry.default
        if default is None or isinstance(default, bool | str):
            return "" if default is None else str(excel.literal(default))
        return times(str(excel.literal(default)), self.unit) + self.worth

    def plain_end(self, end: int) -> str:
        """The low (0) or high (1) end of its own default."""
        if self.entry.spread is None:
            return self.plain_default() or "NA()"
        return times(str(excel.literal(self.entry.spread[end])), self.unit) + self.worth

    def default_base(self) -> str:
        """The default in base units."""
        plain = self.plain_default()
        if self.table is not None:
            figure = self.formulas.tables.pick(tables.BASE, self.here(layout.LINE)) + self.worth
            return f"IFERROR({figure},{plain})" if plain else figure
        if (source := self.source_ref) is not None:
            link = self.linked(layout.BASE)
            return f"IF(ISNA({link}),{plain},{link})" if plain and self.formulas.fragile(source) else link
        if not plain or self.worth:
            return plain or "NA()"
        return self.reckoned(layout.DEFAULT)

    @property
    def short(self) -> bool:
        """Whether what it follows has no value now."""
        return self.source_ref is not None and self.formulas.value(self.source_ref) is None

    def linked(self, column: int) -> str:
        """A cell of what it follows."""
        assert self.source_ref is not None
        if column != layout.BASE and not self.formulas.ranged(self.source_ref):
            column = layout.BASE
        return self.formulas.cell(self.source_ref, column, self.slug)

    def is_default(self) -> str:
        """Whether the default counts; what somebody gave stays given even where it equals the default."""
        cell = self.here(layout.VALUE)
        if self.given or (self.entry.default is None and not self.entry.from_):
            return f"ISBLANK({cell})"
        return f"IF(ISBLANK({cell}),TRUE,IFERROR({cell}={self.here(layout.DEFAULT)},FALSE))"

    def base(self) -> str:
        """The value in base units."""
        own = self.reckoned(layout.VALUE)
        return f"IF({self.here(layout.IS_DEFAULT)},{self.here(layout.BASE_DEFAULT)},{own})"

    def reckoned(self, column: int) -> str:
        """A cell of this line in base units."""
        # an empty cell counts as 0, and as a text only beside one
        return f'{self.here(column)}&""' if self.unit == TEXT else times(self.here(column), self.unit)

    def ends(self, default: Value | None) -> dict[int, Put]:
        """The cells of its low and high end."""
        puts: dict[int, Put] = {}
        value, own = self.value, self.value if self.given else None
        for end, base_column, column in ((0, layout.BASE_LOW, layout.LOW), (1, layout.BASE_HIGH, layout.HIGH)):
            typed = self.here(layout.BASE)
            given = None if own is None else (own.low, own.high)[end]
            if own is not None and given is not None:
                same = f"{self.here(layout.VALUE)}={excel.literal(self.typed(own.value))}"
                typed = f"IF({same},{excel.literal(given)},{typed})"
            known = None if value is None else (value.low, value.high)[end]
            base = MISSING if value is None else value.value if known is None else known
            formula = f"IF({self.here(layout.IS_DEFAULT)},{self.default_end(end)},{typed})"
            puts[base_column] = Put(base, formula)
            shown = "" if value is None or base == value.value else self.typed(base)
            cell = self.here(base_column)
            puts[column] = Put(
                MISSING if value is None else shown,
                f'IF({cell}={self.here(layout.BASE)},"",{scaled(cell, self.unit)})',
            )
        return puts

    def default_end(self, end: int) -> str:
        """The low or high end of the default, in base units."""
        column = (layout.BASE_LOW, layout.BASE_HIGH)[end]
        if self.table is not None:
            of_figure = (tables.BASE_LOW, tables.BASE_HIGH)[end]
            figure = self.formulas.tables.pick(of_figure, self.here(layout.LINE)) + self.worth
            return f"IFERROR({figure},{self.plain_end(end)})"
        if (source := self.source_ref) is not None:
            link = self.linked(column)
            fallback = bool(self.plain_default()) and self.formulas.fragile(source)
            return f"IF(ISNA({link}),{self.plain_end(end)},{link})" if fallback else link
        return self.plain_end(end) if self.entry.spread else self.here(layout.BASE_DEFAULT)

    def provenance(self, default: Value | None) -> dict[int, Put]:
        """Origin, source and date, which change when somebody types a value."""
        own = self.value if self.given else None
        flag = self.here(layout.IS_DEFAULT)
        origin = say(default.origin) if default is not None else ""
        by_hand = say("typed") if own is None else say(own.origin)
        puts: dict[int, Put] = {}
        wanted = {
            layout.ORIGIN: (origin, by_hand),
            layout.SOURCE: (clean(default.source) if default else "", clean(own.source) if own else ""),
            layout.DATE: (default.date if default else "", own.date if own else ""),
        }
        for column, (of_default, of_own) in wanted.items():
            known = self.default_provenance(column) or excel.quoted(of_default)
            puts[column] = Put(of_default if own is None else of_own, f"IF({flag},{known},{excel.quoted(of_own)})")
        return puts

    def default_provenance(self, column: int) -> str:
        """The formula for origin, source or date of a default that follows other cells; empty when they stay."""
        if self.table is not None:
            line, plain = self.here(layout.LINE), fields.default(self.entry, self.known)
            if column == layout.ORIGIN:
                return f"IF(ISNA({line}),{excel.quoted(say('default'))},{excel.quoted(say('table'))})"
            else_ = "" if plain is None else plain.source if column == layout.SOURCE else plain.date
            of_figure = tables.SOURCE if column == layout.SOURCE else tables.DATE
            return f'IFERROR({self.formulas.tables.pick(of_figure, line)}&"",{excel.quoted(clean(else_))})'
        source = self.source_ref
        if source is None or self.short or not isinstance(self.formulas.book.library.entry(source), Input):
            return ""
        if column == layout.ORIGIN and source.sheet == CARD:
            return ""
        return self.formulas.cell(source, column, self.slug)


def _known(value: Any) -> Any:
    known = value.value if isinstance(value, Value) else value
    return MISSING if known is None else known
