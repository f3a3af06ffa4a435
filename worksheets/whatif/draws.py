"""A workbook over many draws at once: only what hangs on a drawn input is computed again, with arrays.

Every draw gives what typing its values would give. What a number rests on (`x.untouched`, `x.given`, `x.price_age`)
stays as in the plan, because trying a value is not giving one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from common.errors import InputError
from worksheets import fields
from worksheets.engine import Cell, Workbook
from worksheets.formulas import arrays
from worksheets.library import Ref, unit_of
from worksheets.model import Input, Row
from worksheets.units import TEXT, unit
from worksheets.values import NotEnoughError, Value
from worksheets.whatif.columns import Array, Column, RaggedError, Singly, drawn, gathered, nothing, settled, unknown
from worksheets.whatif.targets import Target, known_needs, picked

_ENDS = ("value", "low", "high")


class Draws:
    """The cells of `book` when the inputs in `changed`, as `sheet.input` in base units, take many values together."""

    def __init__(self, book: Workbook, changed: Mapping[str, Array]) -> None:
        self.book, self.library = book, book.library
        self.size = len(next(iter(changed.values())))
        self._columns: dict[str, Column | None] = dict(changed)
        self._fixed: dict[Ref, Any] = {}

    def varies(self, ref: Ref) -> bool:
        """Whether a cell can differ from draw to draw."""
        self._know(ref)
        return self._columns[ref.key] is not None

    def array(self, ref: Ref) -> Array | tuple[Array, ...]:
        """What a reference stands for in every draw; a single value or list when it is the same in all.

        Raises:
            InputError: the draws give lists of different length.
        """
        self._know(ref)
        column = self._columns[ref.key]
        if column is None or ref.part not in _ENDS:
            return self._same(ref)
        # a value that is tried has no range any more, as a typed one has none
        if not isinstance(column, Singly):
            return column
        try:
            return column.array(ref.part)
        except RaggedError as error:
            raise InputError(f"{ref.key} is {error.message}", fix=error.fix) from None

    def wide(self, ref: Ref) -> Array | tuple[Array, ...]:
        """The same with a value for each draw even where all are alike.

        Raises:
            InputError: the draws give lists of different length.
        """
        return settled(self.array(ref), self.size)

    def of(self, target: Target) -> Array | tuple[Array, ...]:
        """What a result, or the named item of a list, is in each draw; where the list is shorter there is no answer.

        Raises:
            InputError: no such item, or lists of different length of which none is named.
        """
        self._know(target.ref)
        column = self._columns[target.ref.key]
        if target.item is None or not isinstance(column, Singly):
            return picked(target, self.wide(target.ref))
        lists = [outcome.value if isinstance(outcome, Value) else () for outcome in column.outcomes]
        return gathered([one[target.item - 1] if len(one) >= target.item else None for one in lists])

    def outcome(self, ref: Ref, draw: int) -> Value | InputError:
        """What a cell is worth in one draw, or why it is worth nothing."""
        self._know(ref)
        column, cell = self._columns[ref.key], self._cell(ref)
        if column is None:
            return cell.value or cell.error or InputError(f"{ref.key} has no value")
        if isinstance(column, Singly):
            return column.outcomes[draw]
        try:
            return Value(drawn(column, draw, cell.entry.unit), cell.entry.unit)
        except InputError as error:
            return cell.error or InputError(f"{ref.key} {error.message}")

    def _cell(self, ref: Ref) -> Cell:
        return self.book.cell(ref.sheet, self.library.entry(ref))

    def _same(self, ref: Ref) -> Any:
        if ref not in self._fixed:
            try:
                self._fixed[ref] = self.book.part(ref)
            except InputError:
                self._fixed[ref] = nothing(unit_of(self.library.entry(ref), ref))
        return self._fixed[ref]

    def _know(self, ref: Ref) -> None:
        if ref.key in self._columns:
            return
        # raises when cells depend on each other, which would have no end below
        self._cell(ref)
        waiting = [(ref, False)]
        while waiting:
            at, ready = waiting.pop()
            if at.key in self._columns:
                continue
            entry = self.library.entry(at)
            needs = self._needs(at, entry)
            if ready:
                varying = [need for need in needs if self._columns[need.key] is not None]
                self._columns[at.key] = self._computed(at, entry, varying) if varying else None
                continue
            waiting.append((at, True))
            waiting.extend((need, False) for need in needs if need.key not in self._columns)

    def _needs(self, ref: Ref, entry: Input | Row) -> list[Ref]:
        needs = self.book.needs(ref)
        if isinstance(entry, Input) and self.book.given(ref.key) is not None:
            # a given value hangs on no link, but an amount in another currency does on the rates
            return [need for need in needs if need in fields.MONEY]
        return [need for need in needs if need.part in _ENDS]

    def _computed(self, ref: Ref, entry: Input | Row, varying: list[Ref]) -> Column:
        if isinstance(entry, Row):
            return self._row(ref, entry)
        column = self._linked(ref, entry, varying)
        return self._input(ref, entry) if column is None else column

    def _row(self, ref: Ref, entry: Row) -> Column:
        ready = self.library.ready(ref.sheet, entry)
        try:
            return settled(arrays.evaluate(entry.tree, _Names(self, ready.names), self.library.lookup), self.size)
        except (InputError, ValueError, TypeError):
            # lists whose length is drawn, and the like: no array says it
            return self._row_singly(ref, entry)

    def _row_singly(self, ref: Ref, entry: Row) -> Column:
        ready = self.library.ready(ref.sheet, entry)
        found: list[Value | InputError] = []
        for draw in range(self.size):
            try:
                found.append(Value(ready.program(self._scope(ready.names, draw)), entry.unit))
            except InputError as error:
                found.append(error)
        try:
            return gathered([v.value if isinstance(v, Value) else None for v in found])
        except RaggedError:
            return Singly(tuple(found))

    def _scope(self, refs: Mapping[str, Ref], draw: int) -> Any:
        def look(name: str) -> Any:
            ref = refs[name]
            if ref.part not in _ENDS:
                return self.book.part(ref)
            outcome = self.outcome(ref, draw)
            if isinstance(outcome, InputError):
                raise outcome
            end = {"low": outcome.low, "high": outcome.high}.get(ref.part)
            return outcome.value if end is None else end

        return look

    def _linked(self, ref: Ref, entry: Input, varying: list[Ref]) -> Column | None:
        """An input that follows a drawn cell of another sheet; None when there is more to it than that."""
        link = fields.link(self.library, ref.sheet, entry)
        if link is None or [need.key for need in varying] != [link.key] or link in fields.MONEY:
            return None
        column = self._columns[link.key]
        if isinstance(column, Singly) or isinstance(self._cell(link).error, NotEnoughError):
            return None
        return self._checked(entry, column, fields.allowed(entry, known_needs(self.book, ref)))

    def _checked(self, entry: Input, column: Any, allowed: tuple[float, float] | None) -> Column:
        if isinstance(column, tuple):
            return settled(tuple(self._checked(entry, item, allowed) for item in column), self.size)
        if column.dtype == object or entry.unit == TEXT:
            options = fields.choices(self.library, entry)
            return np.array([v if not options or v in options else None for v in column], dtype=object)
        refused = unknown(column)
        if allowed is not None:
            slack = fields.SLACK * max(map(abs, allowed))
            refused = refused | (column < allowed[0] - slack) | (column > allowed[1] + slack)
        if entry.whole:
            refused = refused | (column / unit(entry.unit).factor % 1 != 0)
        return np.where(refused, np.nan, column)

    def _input(self, ref: Ref, entry: Input) -> Column:
        given, needs = self.book.given(ref.key), self.book.needs(ref)
        found: list[Value | InputError] = []
        for draw in range(self.size):
            try:
                outcomes = {need.key: self.outcome(need, draw) for need in needs}
                found.append(fields.value(self.library, ref, entry, given, outcomes))
            except InputError as error:
                found.append(error)
        return Singly(tuple(found))


class _Names(Mapping[str, Any]):
    """The names of a formula; each is looked up when the formula comes to it."""

    def __init__(self, draws: Draws, refs: Mapping[str, Ref]) -> None:
        self.draws, self.refs = draws, refs

    def __getitem__(self, name: str) -> Any:
        return self.draws.array(self.refs[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.refs)

    def __len__(self) -> int:
        return len(self.refs)
