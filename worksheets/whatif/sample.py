"""How sure results are: P10, P50 and P90 of seeded draws over all inputs that have a range, together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from common.errors import InputError
from worksheets.engine import Workbook
from worksheets.units import BOOL
from worksheets.values import is_number, show
from worksheets.whatif.columns import Array, unknown
from worksheets.whatif.condition import Condition
from worksheets.whatif.draws import Draws
from worksheets.whatif.targets import Target, put
from worksheets.whatif.uncertain import Uncertain, nothing_varies, triangular, uncertain

DRAWS, SEED, BINS = 1000, 1, 20
MOST_DRAWS = 100_000


@dataclass(frozen=True, slots=True)
class Quantiles:
    """A number over all draws, in base units: one in ten lies below `p10`, nine in ten below `p90`.

    `bins` counts the draws in equally wide steps from `least` to `most`; `why` says why some have no answer.
    """

    target: Target
    unit: str
    base: float | None
    p10: float
    p50: float
    p90: float
    mean: float
    least: float
    most: float
    bins: tuple[int, ...]
    answered: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class Shares:
    """A text, or yes and no, over all draws: each value with the share of the draws that have it, most first."""

    target: Target
    unit: str
    base: str | None
    shares: tuple[tuple[str, float], ...]
    answered: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class Chance:
    """The share of the draws in which a condition holds; those without an answer do not hold it."""

    condition: Condition
    share: float
    base: bool


@dataclass(frozen=True, slots=True)
class Sampling:
    """What came of the draws, from which inputs."""

    rows: tuple[Quantiles | Shares, ...]
    chances: tuple[Chance, ...]
    inputs: tuple[Uncertain, ...]
    draws: int
    seed: int
    method: str = "Latin hypercube over triangular distributions"


def sample(
    book: Workbook,
    targets: Sequence[Target],
    draws: int = DRAWS,
    seed: int = SEED,
    conditions: Sequence[Condition] = (),
) -> Sampling:
    """Draws every input behind the results that has a range, from a triangle over low, value and high, independently.

    Raises:
        InputError: nothing to vary, or a number of draws that cannot be.
    """
    if not 10 <= draws <= MOST_DRAWS:
        raise InputError(f"{draws} draws", fix=f"take 10 to {MOST_DRAWS}")
    if seed < 0:
        raise InputError(f"seed {seed}", fix="take 0 or more")
    refs = [target.ref for target in (*targets, *(condition.target for condition in conditions))]
    inputs = uncertain(book, *refs)
    if not inputs:
        for target in targets:
            # a row without a value has nothing behind it, and tells itself why
            target.value(book)
        raise nothing_varies(*refs)
    run = Draws(book, {one.ref.key: triangular(one, draws, seed) for one in inputs})
    reasons = _Reasons(book, run, inputs)
    rows = tuple(row for target in targets for row in _rows(book, run, target, reasons))
    chances = tuple(_chance(book, run, condition) for condition in conditions)
    return Sampling(rows, chances, inputs, draws, seed)


@dataclass(frozen=True, slots=True)
class _Reasons:
    """Why a draw has no answer, from typing that draw into a copy of the workbook."""

    book: Workbook
    run: Draws
    inputs: tuple[Uncertain, ...]

    def why(self, target: Target, draw: int) -> str:
        trial = self.book.copy()
        for one in self.inputs:
            put(trial, one.ref, one.entry, float(self.run.array(one.ref)[draw]))
        try:
            target.value(trial)
        except InputError as error:
            return str(error)
        return ""


def _rows(book: Workbook, run: Draws, target: Target, reasons: _Reasons) -> Iterator[Quantiles | Shares]:
    column = run.of(target)
    if isinstance(column, tuple):
        for item, values in enumerate(column, start=1):
            yield _row(book, run, Target(target.ref, target.entry, item), values, reasons)
    else:
        yield _row(book, run, target, column, reasons)


def _row(book: Workbook, run: Draws, target: Target, values: Array, reasons: _Reasons) -> Quantiles | Shares:
    missing = unknown(values)
    why = reasons.why(target, int(np.argmax(missing))) if missing.any() else ""
    found, shown = values[~missing], target.unit(book)
    try:
        base = target.value(book)
    except InputError:
        base = None
    if not is_number(target.entry.unit):
        texts = Counter(show(bool(v) if target.entry.unit == BOOL else v, shown) for v in found.tolist())
        shares = tuple((text, count / run.size) for text, count in texts.most_common())
        return Shares(target, shown, None if base is None else show(base, shown), shares, len(found), why)
    if not len(found):
        raise InputError(f"{target.key} has no answer in any draw: {why}")
    p10, p50, p90 = (float(value) for value in np.quantile(found, (0.1, 0.5, 0.9)))
    least, most = float(found.min()), float(found.max())
    bins, _ = np.histogram(found, BINS, (least, most)) if most > least else (np.array([len(found)]), None)
    return Quantiles(
        target, shown, base, p10, p50, p90, float(found.mean()), least, most, tuple(bins.tolist()), len(found), why
    )  # fmt: skip


def _chance(book: Workbook, run: Draws, condition: Condition) -> Chance:
    return Chance(condition, float(np.mean(condition.holds_in(run))), condition.holds(book))
