"""Which value of an input meets a goal: the smallest GPU count that trains in 30 days, the largest batch that fits.

Whole inputs of up to `EVERY` values are tried one by one. Larger ranges are tried at many places, and the section in
which the goal begins or ceases to hold is cut again and again, which is exact where the goal changes once in it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from common.errors import InputError
from worksheets import fields
from worksheets.engine import Workbook
from worksheets.library import Ref
from worksheets.model import Input
from worksheets.units import unit
from worksheets.values import is_number, show
from worksheets.whatif.columns import Array, unknown
from worksheets.whatif.condition import Condition
from worksheets.whatif.draws import Draws
from worksheets.whatif.sweep import Outcome, outcome, with_unit
from worksheets.whatif.targets import Target, known_needs, put, turnable, typed

EVERY, SECTIONS, ROUNDS = 4096, 256, 40
CLOSE = 1e-9
"""The share of a real input's value to which its edge is found."""
Pick = Literal["smallest", "largest"]
_SPAN = re.compile(r"([^:]+):([^:]+?)(?::([-+\d.eE_]+)\s*(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Turned:
    """The input to turn, from `low` to `high` in base units; `step` is 0 for an input that takes any number."""

    ref: Ref
    entry: Input
    unit: str
    low: float
    high: float
    step: float


@dataclass(frozen=True, slots=True)
class Try:
    """A value of the input, the results that the goal is about, and whether it holds there."""

    value: float
    outcomes: tuple[Outcome, ...]
    holds: bool


@dataclass(frozen=True, slots=True)
class Goal:
    """The value found, or None with the `nearest` miss.

    `beside` is the next value, where the goal fails; `stops` is the end of the range at which the search stopped, where
    there is no such value. `gaps` tells that the goal fails again further on. `now` is the plan's value.
    """

    conditions: tuple[Condition, ...]
    units: tuple[str, ...]
    turned: Turned
    pick: Pick
    found: Try | None
    beside: Try | None
    nearest: Try | None
    now: Try | None
    stops: Literal["low", "high", ""]
    gaps: bool
    every: bool
    tried: int


def turned(book: Workbook, slug: str, text: str) -> Turned:
    """The input that `gpus`, `gpus=8:4096` or `gpus=8:4096:8` names; without ends it may go as far as is allowed.

    Raises:
        InputError: no such input, one without numbers, or ends outside the allowed range.
    """
    name, equals, ends = (part.strip() for part in text.partition("="))
    ref, entry = turnable(book.library, slug, name)
    allowed = fields.allowed(entry, known_needs(book, ref))
    if not is_number(entry.unit) or allowed is None:
        raise InputError(f"{ref.key} takes no numbers; try its values with a sweep")
    low, high, step = *allowed, unit(entry.unit).factor if entry.whole else 0.0
    if equals:
        found = _SPAN.fullmatch(ends)
        if found is None:
            raise InputError(f"`{text}`: write {name}=LOW:HIGH or {name}=LOW:HIGH:STEP")
        tail = found[4] or found[2].strip().lstrip("-+.0123456789eE_").strip()
        low, high = (typed(book, ref, entry, with_unit(end, tail)) for end in (found[1], found[2]))
        step = typed(book, ref, entry, with_unit(found[3], found[4])) if found[3] else step
    shown = Target(ref, entry).unit(book)
    if not allowed[0] <= low < high <= allowed[1] or step < 0:
        least, most = show(allowed[0], shown), show(allowed[1], shown)
        raise InputError(f"`{text}` is no range of {ref.key}", fix=f"stay from {least} to {most}, low end first")
    if entry.whole:
        one = unit(entry.unit).factor
        low, step = math.ceil(low / one - CLOSE) * one, max(1, round(step / one)) * one
    return Turned(ref, entry, shown, low, high, step)


def seek(book: Workbook, conditions: Sequence[Condition], by: Turned, pick: Pick | None = None) -> Goal:
    """Looks for the smallest or largest value of an input at which all conditions hold.

    Without `pick` it is the largest where the goal holds at the low end and fails at the high one, else the smallest.

    Raises:
        InputError: the input does not move what the goal is about.
    """
    search = _Search(book, tuple(conditions), by)
    values = search.places()
    held = search.holds(values)
    if pick is None:
        pick = "largest" if held[0] and not held[-1] else "smallest"
    units = tuple(condition.target.unit(book) for condition in conditions)
    now = search.current()
    every = by.step > 0 and len(values) == search.count
    if not held.any():
        nearest = search.nearest(values)
        return Goal(
            search.conditions, units, by, pick, None, None, nearest, now, search.end(nearest.value), False, every,
            search.tried,
        )  # fmt: skip
    # from here on everything goes upwards
    order = values if pick == "smallest" else values[::-1]
    held = held if pick == "smallest" else held[::-1]
    first = int(np.argmax(held))
    gaps = not held[first:].all()
    found, beside = float(order[first]), None
    if first:
        beside, found = search.narrowed(float(order[first - 1]), found)
    return Goal(
        search.conditions,
        units,
        by,
        pick,
        search.at(found),
        None if beside is None else search.at(beside),
        None,
        now,
        search.end(found) if beside is None else "",
        gaps,
        every,
        search.tried,
    )


@dataclass(slots=True)
class _Search:
    book: Workbook
    conditions: tuple[Condition, ...]
    by: Turned
    tried: int = 0

    @property
    def count(self) -> int:
        """How many values a stepped input has."""
        return int((self.by.high - self.by.low) / self.by.step + CLOSE) + 1

    def places(self) -> Array:
        """Where to look first: everywhere, or densely both in equal steps and in equal ratios."""
        low, high = self.by.low, self.by.high
        if self.by.step and self.count <= EVERY:
            return self._stepped(np.arange(self.count))
        last = self.count - 1 if self.by.step else 1.0
        shares = np.concatenate([np.linspace(0, 1, SECTIONS), np.geomspace(1e-9, 1, SECTIONS)])
        if low > 0:
            shares = np.concatenate([shares, (np.geomspace(low, high, SECTIONS) - low) / (high - low)])
        if self.by.step:
            return self._stepped(np.unique(np.rint(np.clip(shares, 0, 1) * last)))
        return np.unique(np.clip(low + shares * (high - low), low, high))

    def _stepped(self, numbers: Array) -> Array:
        return self.by.low + numbers * self.by.step

    def holds(self, values: Array) -> Array:
        """Where all conditions hold, for many values at once."""
        run = self._run(values)
        if not any(run.varies(condition.target.ref) for condition in self.conditions):
            names = " and ".join(condition.target.key for condition in self.conditions)
            raise InputError(f"{self.by.ref.key} does not move {names}", fix="turn another input")
        return np.logical_and.reduce([condition.holds_in(run) for condition in self.conditions])

    def _run(self, values: Array) -> Draws:
        self.tried += len(values)
        return Draws(self.book, {self.by.ref.key: values})

    def narrowed(self, fails: float, holds: float) -> tuple[float, float]:
        """The edge between a value at which the goal fails and one at which it holds, both moved to it."""
        for _ in range(ROUNDS):
            if self.by.step:
                between = round(abs(holds - fails) / self.by.step) - 1
                if between < 1:
                    break
                places = np.unique(np.rint(np.linspace(1, between, min(between, SECTIONS))))
                inner = fails + math.copysign(self.by.step, holds - fails) * places
            else:
                if abs(holds - fails) <= CLOSE * max(abs(holds), abs(fails)):
                    break
                inner = np.linspace(fails, holds, SECTIONS + 1)[1:-1]
            held = self.holds(inner)
            if held.any():
                at = int(np.argmax(held))
                fails, holds = float(inner[at - 1]) if at else fails, float(inner[at])
            else:
                fails = float(inner[-1])
        return fails, holds

    def nearest(self, values: Array) -> Try:
        """Where the first number of the goal comes closest to its bound; the low end when it never has a value."""
        run = self._run(values)
        for condition in self.conditions:
            if not is_number(condition.target.entry.unit) or not run.varies(condition.target.ref):
                continue
            column = run.of(condition.target)
            if isinstance(column, tuple) or unknown(column).all():
                continue
            return self.at(float(values[int(np.nanargmin(condition.miss(column)))]))
        return self.at(float(values[0]))

    def at(self, value: float) -> Try:
        """What typing a value gives."""
        trial = self.book.copy()
        put(trial, self.by.ref, self.by.entry, value)
        return self._told(trial, value)

    def current(self) -> Try | None:
        """The plan as it is."""
        cell = self.book.cell(self.by.ref.sheet, self.by.entry)
        return None if cell.value is None else self._told(self.book, float(cell.value.value))

    def _told(self, book: Workbook, value: float) -> Try:
        outcomes = tuple(outcome(book, condition.target) for condition in self.conditions)
        return Try(value, outcomes, all(condition.holds(book) for condition in self.conditions))

    def end(self, value: float) -> Literal["low", "high", ""]:
        """The end of the range that a value is."""
        last = self.by.low + (self.count - 1) * self.by.step if self.by.step else self.by.high
        slack = CLOSE * max(abs(self.by.low), abs(last))
        return "low" if abs(value - self.by.low) <= slack else "high" if abs(value - last) <= slack else ""
