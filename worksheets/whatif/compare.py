"""Two plans side by side: what differs, and which inputs explain by how much.

A share is the Shapley value: what swapping an input from the first plan's value to the second's changes, averaged over
orders in which the differing inputs can be swapped one after the other. The shares of a number add up to its gap.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from statistics import fmean
from typing import Any

from common.errors import InputError
from worksheets import fields
from worksheets.engine import Workbook
from worksheets.library import Ref
from worksheets.model import Input
from worksheets.plan import Given
from worksheets.values import State
from worksheets.whatif.sweep import Outcome, outcome
from worksheets.whatif.targets import Target

EVERY_ORDER = 6
"""Up to so many differing inputs every order is taken."""
ORDERS = 32
"""Beyond that so many orders, drawn with a fixed seed, one half the reverse of the other."""
_Order = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """An input that is not worth the same in both plans, in base units."""

    ref: Ref
    entry: Input
    units: tuple[str, str]
    first: Outcome
    second: Outcome


@dataclass(frozen=True, slots=True)
class Share:
    """How much of a gap an input explains, in base units; positive makes the second plan's number larger."""

    key: str
    amount: float


@dataclass(frozen=True, slots=True)
class Line:
    """A result in both plans, its gap where both have a number, and the shares of it, largest first.

    `why` tells why there are no shares.
    """

    target: Target
    units: tuple[str, str]
    first: Outcome
    second: Outcome
    gap: float | None
    shares: tuple[Share, ...]
    why: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The lines of a sheet that differ, over the inputs that do. `orders` is how many orders were averaged over."""

    sheet: str
    names: tuple[str, str]
    states: tuple[State, State]
    inputs: tuple[Difference, ...]
    lines: tuple[Line, ...]
    alike: tuple[Target, ...]
    orders: int
    every_order: bool


def compare(
    first: Workbook,
    second: Workbook,
    slug: str,
    rows: Sequence[Target] = (),
    names: tuple[str, str] = ("this plan", "the other"),
) -> Comparison:
    """Compares a sheet over two plans, row by row; without `rows` it is every row that the sheet shows.

    Raises:
        InputError: no such sheet.
    """
    sheet = first.library.sheet(slug)
    wanted = tuple(rows) or tuple(Target(Ref(slug, row.name), row) for row in sheet.rows if row.show)
    states = (first.compute(slug).state, second.compute(slug).state)
    differing = tuple(_differing(first, second, wanted))
    told = [(row, outcome(first, row), outcome(second, row)) for row in wanted]
    apart = [(row, a, b) for row, a, b in told if rows or not _same(a.value, b.value) or a.why != b.why]
    numbers = [row for row, a, b in apart if _gap(a, b) is not None]
    orders = _orders([one.ref.key for one in differing])
    swaps = _Swaps(first, second, differing, numbers, orders)
    by_row = {row.key: swaps.shares(i) for i, row in enumerate(numbers)}
    lines = tuple(_line(first, second, row, a, b, by_row.get(row.key, ())) for row, a, b in apart)
    alike = tuple(row for row in wanted if row not in [line.target for line in lines])
    return Comparison(
        slug, names, states, differing, lines, alike, len(orders), len(differing) <= EVERY_ORDER
    )  # fmt: skip


def _differing(first: Workbook, second: Workbook, rows: Sequence[Target]) -> Iterator[Difference]:
    refs = [row.ref for row in rows]
    behind = {standing.ref.key for book in (first, second) for standing in book.rests_on(*refs)}
    # the rates decide what amounts in other currencies are worth, without standing behind them
    behind |= {ref.key for ref in (fields.CURRENCY, *fields.CROSS.values())}
    for key in sorted((first.given_keys() | second.given_keys()) & behind):
        sheet, _, name = key.partition(".")
        entry, ref = first.settable(key), Ref(sheet, name)
        cells = [book.cell(sheet, entry) for book in (first, second)]
        a, b = (cell.value for cell in cells)
        if a is None or b is None or not all(map(_same, (a.value, a.low, a.high), (b.value, b.low, b.high))):
            a_told, b_told = (outcome(book, Target(ref, entry)) for book in (first, second))
            units = (entry.unit if a is None else a.unit, entry.unit if b is None else b.unit)
            yield Difference(ref, entry, units, a_told, b_told)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= 1e-12 * max(abs(a), abs(b))
    return bool(a == b)


def _gap(a: Outcome, b: Outcome) -> float | None:
    return b.value - a.value if isinstance(a.value, float) and isinstance(b.value, float) else None


def _line(first: Workbook, second: Workbook, row: Target, a: Outcome, b: Outcome, shares: tuple[Share, ...]) -> Line:
    units = (row.unit(first), row.unit(second))
    if units[0] != units[1]:
        why = f"the plans reckon in {units[0]} and {units[1]}"
        return Line(row, units, a, b, None, (), f"{why}: give both the same currency")
    gap = _gap(a, b)
    if gap is None or shares:
        return Line(row, units, a, b, gap, shares)
    why = "every way from one plan to the other leads over values that do not go together" if gap else ""
    return Line(row, units, a, b, gap, (), why)


def _orders(keys: Sequence[str]) -> list[_Order]:
    if len(keys) <= EVERY_ORDER:
        return list(permutations(keys))
    chance, found = random.Random(1), list[_Order]()
    for _ in range(ORDERS // 2):
        order = tuple(chance.sample(keys, len(keys)))
        found += [order, order[::-1]]
    return found


class _Swaps:
    """The results on every way from the first plan to the second; each mixture of both is computed once."""

    def __init__(
        self,
        first: Workbook,
        second: Workbook,
        differing: Sequence[Difference],
        rows: Sequence[Target],
        orders: Sequence[_Order],
    ) -> None:
        self.start, self.rows, self.orders = _loose(first), rows, orders
        self.given = {one.ref.key: _given(second, one.ref.key) for one in differing}
        self._known: dict[frozenset[str], tuple[float | None, ...]] = {}
        for order in orders:
            self._walk(order)

    def shares(self, row: int) -> tuple[Share, ...]:
        """The shares of one row's gap; none when no order leads over results that all exist."""
        amounts: dict[str, list[float]] = {key: [] for key in self.given}
        for order in self.orders:
            steps = [self._known[frozenset(order[:count])][row] for count in range(len(order) + 1)]
            if all(step is not None for step in steps):
                for key, before, after in zip(order, steps, steps[1:], strict=False):
                    amounts[key].append((after or 0.0) - (before or 0.0))
        found = [Share(key, fmean(steps)) for key, steps in amounts.items() if steps]
        most = max((abs(share.amount) for share in found), default=0.0)
        moving = [share for share in found if abs(share.amount) > 1e-12 * most]
        return tuple(sorted(moving, key=lambda share: (-abs(share.amount), share.key)))

    def _walk(self, order: _Order) -> None:
        book, behind = self.start.copy(), list[str]()
        for count in range(len(order) + 1):
            behind += order[count - 1 : count] if count else []
            if (mixture := frozenset(order[:count])) not in self._known:
                behind = self._swapped(book, behind)
                # what the second plan gives may not be allowed beside what the first gives
                self._known[mixture] = tuple(None if behind else self._number(book, row) for row in self.rows)

    def _swapped(self, book: Workbook, keys: Sequence[str]) -> list[str]:
        """Gives the second plan's values; what is left could not be given."""
        refused = []
        for key in keys:
            sheet, _, name = key.partition(".")
            given = self.given[key]
            try:
                if given is None:
                    book.clear(sheet, name)
                else:
                    book.set(sheet, name, given)
            except InputError:
                refused.append(key)
        return refused

    @staticmethod
    def _number(book: Workbook, row: Target) -> float | None:
        try:
            return row.number(book)
        except InputError:
            return None


def _given(book: Workbook, key: str) -> Given | None:
    found = book.given(key)
    return None if found is None else found[0]


def _loose(book: Workbook) -> Workbook:
    """A copy in which measured values count as typed, so that they can be taken back one by one."""
    trial, measured = book.copy(), book.plan.measured
    trial.plan = book.plan.model_copy(update={"measured": {}})
    for key, given in measured.items():
        if trial.given(key) is None:
            sheet, _, name = key.partition(".")
            trial.set(sheet, name, given)
    return trial
