"""What one cell is worth in every draw: as an array where one will do, else draw by draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from common.errors import InputError
from worksheets.units import BOOL, TEXT
from worksheets.values import Value

Array = Any
"""A float array with NaN where a draw has no answer (yes and no are 1 and 0), or an object array of texts and None."""


class RaggedError(InputError):
    """The draws give lists of different length, or lists and single values, so that no array holds them."""

    def __init__(self) -> None:
        super().__init__(
            "a list whose length changes from draw to draw",
            fix="give the input that sets its length a single value",
        )


@dataclass(frozen=True, slots=True)
class Singly:
    """What a cell is worth draw by draw, or why it is worth nothing."""

    outcomes: tuple[Value | InputError, ...]

    def array(self, part: str) -> Array | tuple[Array, ...]:
        """The value, or the low or high end of it, as an array.

        Raises:
            RaggedError: no array holds it.
        """
        return gathered([_part(outcome, part) for outcome in self.outcomes])


Column = Array | tuple[Array, ...] | Singly


def _part(outcome: Value | InputError, part: str) -> Any:
    if isinstance(outcome, InputError):
        return None
    end = {"low": outcome.low, "high": outcome.high}.get(part)
    return outcome.value if end is None else end


def gathered(values: Sequence[Any]) -> Array | tuple[Array, ...]:
    """Values of single draws as one array, or as a tuple of arrays when they are lists; None is no answer.

    Raises:
        RaggedError: lists of different length, or lists and single values.
    """
    lists = [v for v in values if isinstance(v, tuple)]
    if not lists:
        texts = any(isinstance(v, str) for v in values)
        return np.array(values, dtype=object if texts else float)
    length = len(lists[0])
    if any(len(v) != length for v in lists) or any(v is not None and not isinstance(v, tuple) for v in values):
        raise RaggedError
    nothing = (None,) * length
    return tuple(gathered(column) for column in zip(*(nothing if v is None else v for v in values), strict=True))


def settled(found: Array | tuple[Array, ...], draws: int) -> Array | tuple[Array, ...]:
    """A computed column with a value for each draw; a list of which an item has no answer has none in that draw."""
    if not isinstance(found, tuple):
        wide = np.broadcast_to(np.asarray(found, dtype=object if isinstance(found, str) else None), (draws,))
        return wide if wide.dtype == object else np.where(np.isfinite(wide), wide, np.nan)
    items: list[Any] = [settled(item, draws) for item in found]
    if any(isinstance(item, tuple) for item in items):
        raise RaggedError
    bad = np.logical_or.reduce([unknown(item) for item in items])
    return tuple(np.where(bad, _absent(item), item) for item in items)


def unknown(column: Array | tuple[Array, ...]) -> Array:
    """Which draws have no answer."""
    if isinstance(column, tuple):
        return np.logical_or.reduce([unknown(item) for item in column])
    if column.dtype == object:
        # NaN among texts is the only thing that is not itself
        return np.array([v is None or v != v for v in column], dtype=bool)
    return np.isnan(column)


def nothing(unit_name: str) -> Array:
    """No answer, as a column of this unit has it."""
    return np.array(None, dtype=object) if unit_name == TEXT else np.array(np.nan)


def _absent(column: Array) -> Any:
    return None if column.dtype == object else np.nan


def drawn(column: Array | tuple[Array, ...], draw: int, unit_name: str) -> Any:
    """The value of one draw as plain formulas take it.

    Raises:
        InputError: there is none.
    """
    if isinstance(column, tuple):
        return tuple(drawn(item, draw, unit_name) for item in column)
    value = column[draw]
    if value is None or value != value:
        raise InputError("has no answer in this draw")
    if unit_name == BOOL:
        return bool(value)
    return str(value) if unit_name == TEXT else float(value)
