"""Conditions on results: `days <= 30`, `fits`, `verdict == good`, several of them joined with `and`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from common.errors import InputError
from worksheets import fields, quantities
from worksheets.engine import Workbook
from worksheets.library import Ref
from worksheets.units import BOOL, TEXT, unit
from worksheets.values import Value, show
from worksheets.whatif.targets import Target, target

if TYPE_CHECKING:
    from worksheets.whatif.columns import Array
    from worksheets.whatif.draws import Draws

_FORM = re.compile(r"(not\s+)?([a-z][\w.-]*(?:\[\d+\])?)\s*(?:(<=|>=|==|!=|<|>|=)\s*(.+))?")
_AND = re.compile(r"\s+and\s+")
_SLACK = 1e-9
"""The share by which a number may miss its bound: what typing 30 days in seconds costs."""
_OPERATORS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "<=": lambda a, b, slack: a <= b + slack,
    ">=": lambda a, b, slack: a >= b - slack,
    "<": lambda a, b, slack: a < b - slack,
    ">": lambda a, b, slack: a > b + slack,
    "==": lambda a, b, slack: abs(a - b) <= slack,
    "!=": lambda a, b, slack: abs(a - b) > slack,
}


@dataclass(frozen=True, slots=True)
class Condition:
    """A result compared with a bound in base units, with a text, or with yes or no."""

    target: Target
    operator: str
    bound: float | str | bool
    unit: str

    @property
    def text(self) -> str:
        """As people read it."""
        return f"{self.target.key} {self.operator} {show(self.bound, self.unit)}"

    def holds(self, book: Workbook) -> bool:
        """Whether it holds in a workbook; without a value it does not."""
        try:
            value = self.target.value(book)
        except InputError:
            return False
        if isinstance(value, tuple):
            return all(self._compared(item) for item in value)
        return bool(self._compared(value))

    def holds_in(self, run: Draws) -> Array:
        """Whether it holds in each draw; without a value it does not."""
        import numpy as np

        from worksheets.whatif.columns import unknown

        column = run.of(self.target)
        held = np.ones(run.size, dtype=bool)
        for values in column if isinstance(column, tuple) else (column,):
            held = held & ~unknown(values) & np.asarray(self._compared(values), dtype=bool)
        return held

    def miss(self, values: Array) -> Array:
        """How far numbers are from the bound, in base units."""
        return abs(values - float(self.bound))

    def _compared(self, value: Any) -> Any:
        if isinstance(self.bound, str | bool):
            return value == self.bound if self.operator == "==" else value != self.bound
        return _OPERATORS[self.operator](value, self.bound, _SLACK * abs(self.bound))


def conditions(book: Workbook, slug: str, text: str) -> tuple[Condition, ...]:
    """The conditions in a text; names without a sheet are rows of `slug`, bounds without a unit count in the row's.

    Raises:
        InputError: what cannot be read, or a row that there is not.
    """
    return tuple(_condition(book, slug, part.strip()) for part in _AND.split(text.strip()))


def _condition(book: Workbook, slug: str, text: str) -> Condition:
    found = _FORM.fullmatch(text)
    if found is None:
        raise InputError(
            f"`{text}` is no goal", fix="write ROW<=VALUE, such as days<=30, or the name of a yes-or-no row"
        )
    negated, name, operator, bound = found.groups()
    meant = target(book.library, slug, name)
    kind = meant.entry.unit
    if operator is None:
        if kind != BOOL:
            raise InputError(f"`{text}`: {meant.key} is neither yes nor no", fix="compare it: ROW<=VALUE")
        return Condition(meant, "==", not negated, kind)
    operator = "==" if operator == "=" else operator
    if negated or (kind in (TEXT, BOOL) and operator not in ("==", "!=")):
        raise InputError(f"`{text}` is no goal", fix=f"write {name}=VALUE")
    if kind == TEXT:
        return Condition(meant, operator, bound.strip().strip("\"'"), kind)
    if kind == BOOL:
        return Condition(meant, operator, fields.yes_or_no(meant.ref.name, bound), kind)
    return Condition(meant, operator, _amount(book, meant, bound), meant.unit(book))


def _amount(book: Workbook, meant: Target, text: str) -> float:
    kind = unit(meant.entry.unit)
    money = None
    if kind.dimension.get("currency"):
        known = {ref.key: _value(book, ref) for ref in fields.MONEY}
        money = fields.rates(known)
    try:
        return quantities.parse(text, kind, rates=money)
    except InputError as error:
        raise InputError(f"{meant.key}: {error.message}", fix=error.fix) from None


def _value(book: Workbook, ref: Ref) -> Value:
    cell = book.cell(ref.sheet, book.library.entry(ref))
    if cell.value is None:
        raise cell.error or InputError(f"{ref.key} has no value")
    return cell.value
