"""What sways a result: every input behind it to its low and its high end, one at a time, the widest swing first."""

from __future__ import annotations

from dataclasses import dataclass

from common.errors import InputError
from worksheets.engine import Workbook
from worksheets.whatif.targets import Target, put
from worksheets.whatif.uncertain import Uncertain, nothing_varies, uncertain


@dataclass(frozen=True, slots=True)
class End:
    """The result, in base units, with an input at one end of its range; or why it has none there."""

    result: float | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """One input, and the result at its low and its high end, all else as in the plan."""

    input: Uncertain
    at_low: End
    at_high: End
    swing: float

    @property
    def broken(self) -> bool:
        """Whether the result cannot be computed at one of the ends."""
        return self.at_low.result is None or self.at_high.result is None


@dataclass(frozen=True, slots=True)
class Tornado:
    """The bars of a result that is `base` in the plan: first those without a result at an end, then by swing.

    `still` are inputs behind the result that do not move it.
    """

    target: Target
    unit: str
    base: float
    bars: tuple[Bar, ...]
    still: tuple[Uncertain, ...]
    others_pct: float


def tornado(book: Workbook, target: Target, others_pct: float = 0.0) -> Tornado:
    """Takes every input behind a result to its low and high end; with `others_pct` also those that have none.

    The swing is the way from the least to the most of the two results and the plan's. An end gives what typing it would
    give: an input that follows a moved one moves with it, and a typed value has no range of its own.

    Raises:
        InputError: the result has no value or is no number, or nothing behind it has a range.
    """
    if not 0 <= others_pct <= 100:
        raise InputError(f"{others_pct:g} %", fix="take 0 to 100 %")
    base = target.number(book)
    inputs = uncertain(book, target.ref, others_pct=others_pct)
    if not inputs:
        raise nothing_varies(target.ref)
    bars = sorted((_bar(book, target, base, one) for one in inputs), key=lambda b: (not b.broken, -b.swing))
    moving = tuple(bar for bar in bars if bar.swing > 1e-12 * abs(base) or bar.broken)
    still = tuple(bar.input for bar in bars if bar not in moving)
    return Tornado(target, target.unit(book), base, moving, still, others_pct)


def _bar(book: Workbook, target: Target, base: float, one: Uncertain) -> Bar:
    low, high = _end(book, target, one, one.low), _end(book, target, one, one.high)
    results = [base, *(end.result for end in (low, high) if end.result is not None)]
    return Bar(one, low, high, max(results) - min(results))


def _end(book: Workbook, target: Target, one: Uncertain, value: float) -> End:
    trial = book.copy()
    try:
        put(trial, one.ref, one.entry, value)
        return End(target.number(trial))
    except InputError as error:
        return End(None, str(error))
