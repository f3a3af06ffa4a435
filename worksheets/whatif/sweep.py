"""One or two inputs over several values: what the results and the state of the sheet are at each."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from common.errors import InputError
from worksheets.engine import Workbook
from worksheets.library import Ref
from worksheets.model import Input
from worksheets.values import State, is_number
from worksheets.whatif.targets import Target, put, turnable, typed

MOST = 1000
_PLAIN = re.compile(r"[-+\d.eE_]+")
_RANGE = re.compile(r"([^:]+):([^:]+):([-+\d.eE_]+)\s*(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Axis:
    """An input and its values: base-unit numbers, texts, or yes and no."""

    ref: Ref
    entry: Input
    unit: str
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A result at one point, in base units; or why it has none."""

    value: Any
    why: str = ""


@dataclass(frozen=True, slots=True)
class Point:
    """A value for each axis, the results in the order of the rows, the state of the sheet, and its rules that speak."""

    values: tuple[Any, ...]
    outcomes: tuple[Outcome, ...]
    state: State
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sweep:
    """The results of `rows`, shown in `units`, at every point; `alike` are rows that are the same at all."""

    sheet: str
    axes: tuple[Axis, ...]
    rows: tuple[Target, ...]
    units: tuple[str, ...]
    points: tuple[Point, ...]
    alike: tuple[Target, ...]


def axis(book: Workbook, slug: str, text: str) -> Axis:
    """The values that `input=64:512:64` (the end included) or `input=a,b,c` names, with or without a unit at the end.

    Raises:
        InputError: no such input, or a value that it cannot have.
    """
    name, equals, values = (part.strip() for part in text.partition("="))
    if not equals or not values:
        raise InputError(f"`{text}`: write INPUT=START:END:STEP or INPUT=A,B,C")
    ref, entry = turnable(book.library, slug, name)
    found = _RANGE.fullmatch(values) if is_number(entry.unit) else None
    if found is None:
        read = [typed(book, ref, entry, one) for part in values.split(",") if (one := part.strip())]
    else:
        first, last, step = (typed(book, ref, entry, with_unit(end, found[4])) for end in found.groups()[:3])
        read = _steps(text, first, last, step)
    if not read:
        raise InputError(f"`{text}` names no value", fix="write INPUT=START:END:STEP or INPUT=A,B,C")
    for value in read:
        put(book.copy(), ref, entry, value)
    return Axis(ref, entry, Target(ref, entry).unit(book), tuple(dict.fromkeys(read)))


def with_unit(text: str, unit_name: str) -> str:
    """A number with the unit that stands behind the last of a range; one with a unit of its own keeps it."""
    return f"{text.strip()} {unit_name}".strip() if _PLAIN.fullmatch(text.strip()) else text


def _steps(text: str, first: float, last: float, step: float) -> list[float]:
    if step == 0 or (last - first) / step < 0:
        raise InputError(f"`{text}` never gets from its start to its end", fix="write INPUT=START:END:STEP")
    count = int((last - first) / step + 1e-9) + 1
    if count > MOST:
        raise InputError(f"`{text}` has {count} values", fix=f"take at most {MOST}")
    return [first + i * step for i in range(count)]


def sweep(book: Workbook, slug: str, axes: Sequence[Axis], rows: Sequence[Target] = ()) -> Sweep:
    """Types every value, or every pair of values, into a copy of the workbook, and computes the rows and the sheet.

    Without `rows` it is every row that the sheet shows.

    Raises:
        InputError: no axis, more than two, the same twice, or too many points.
    """
    if not 1 <= len(axes) <= 2 or len({axis.ref for axis in axes}) < len(axes):
        raise InputError("a sweep turns one input, or two different ones")
    values = list(itertools.product(*(axis.values for axis in axes)))
    if len(values) > MOST:
        raise InputError(f"{len(values)} points", fix=f"take at most {MOST}")
    wanted = tuple(rows) or tuple(Target(Ref(slug, r.name), r) for r in book.library.sheet(slug).rows if r.show)
    points = [_point(book, slug, axes, at, wanted) for at in values]
    moves = [len({point.outcomes[i] for point in points}) > 1 for i in range(len(wanted))]
    # rows that were asked for are told even when nothing happens to them
    told = [i for i, moved in enumerate(moves) if moved or rows]
    return Sweep(
        slug,
        tuple(axes),
        tuple(wanted[i] for i in told),
        tuple(wanted[i].unit(book) for i in told),
        tuple(replace(point, outcomes=tuple(point.outcomes[i] for i in told)) for point in points),
        tuple(row for row, moved in zip(wanted, moves, strict=True) if not moved),
    )


def _point(book: Workbook, slug: str, axes: Sequence[Axis], values: tuple[Any, ...], rows: Sequence[Target]) -> Point:
    trial = book.copy()
    try:
        for axis, value in zip(axes, values, strict=True):
            put(trial, axis.ref, axis.entry, value)
    except InputError as error:
        # two values that are allowed alone and not together
        return Point(values, tuple(Outcome(None, str(error)) for _ in rows), "fail", ())
    result = trial.compute(slug)
    return Point(values, tuple(outcome(trial, row) for row in rows), result.state, tuple(s.rule for s in result.advice))


def outcome(book: Workbook, row: Target) -> Outcome:
    """What a row is worth in a workbook, or why it is worth nothing."""
    try:
        return Outcome(row.value(book))
    except InputError as error:
        return Outcome(None, str(error))
