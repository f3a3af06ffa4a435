"""Failures that come by chance: how many spares cover them, and how surely."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import NormalDist
from typing import Any

from worksheets.formulas.registry import function
from worksheets.formulas.syntax import FormulaError

MANY = 10_000
"""Above this many expected failures the normal distribution is exact to less than one spare in a thousand."""


def _spares(expected: Any, target: Any) -> Any:
    """The same over arrays."""
    import numpy as np

    able = (expected >= 0) & (target > 0) & (target < 1)
    found = np.full(len(expected), np.nan)
    many = able & (expected > MANY)
    normal = [NormalDist().inv_cdf(share) for share in target[many]]
    found[many] = np.ceil(expected[many] + normal * np.sqrt(expected[many]))
    open_ = np.flatnonzero(able & ~many)
    rate, wanted, most = expected[open_], target[open_], np.floor(_most(expected[open_], np))
    term, each, total, spares = -rate, np.log(rate), np.zeros(len(open_)), 0
    while len(open_):
        total = total + np.exp(term)
        done = (total >= wanted) | (spares >= most)
        found[open_[done]] = np.minimum(spares, most[done])
        spares += 1
        term = term + each - math.log(spares)
        open_, wanted, most, term, each, total = (values[~done] for values in (open_, wanted, most, term, each, total))
    return found


def _most(expected: Any, maths: Any = math) -> Any:
    """More spares than that cover every target that a number can hold."""
    return expected + 40 * maths.sqrt(expected) + 40


@function("poisson_spares", takes=("count", "fraction"), gives="count", arrays=_spares)
def poisson_spares(expected: float, target: float) -> float:
    """The fewest spares that cover the failures expected in a repair time with the probability `target`."""
    if expected < 0 or not 0 < target < 1:
        raise FormulaError("`poisson_spares` needs failures from 0 up, and a probability between 0 and 1")
    if expected > MANY:
        return float(math.ceil(expected + NormalDist().inv_cdf(target) * math.sqrt(expected)))
    total, most = 0.0, int(_most(expected))
    for spares, chance in zip(range(most), _chances(expected), strict=False):
        total += chance
        if total >= target:
            return float(spares)
    return float(most)


@function("poisson_covered", takes=("count", "count"), gives="fraction", excel="POISSON({1},{0},TRUE)")
def poisson_covered(expected: float, spares: float) -> float:
    """The probability that no more than `spares` fail when so many are expected."""
    _check("poisson_covered", expected, spares)
    if expected > MANY:
        # half a failure more, because the count is whole
        return NormalDist(expected, math.sqrt(expected)).cdf(math.floor(spares) + 0.5)
    return min(1.0, math.fsum(chance for _, chance in zip(range(int(spares) + 1), _chances(expected), strict=False)))


@function("poisson_exactly", takes=("count", "count"), gives="fraction", excel="POISSON({1},{0},FALSE)")
def poisson_exactly(expected: float, count: float) -> float:
    """The probability that exactly `count` fail when so many are expected."""
    _check("poisson_exactly", expected, count)
    if expected == 0:
        return 1.0 if int(count) == 0 else 0.0
    return math.exp(int(count) * math.log(expected) - expected - math.lgamma(int(count) + 1))


def _check(name: str, expected: float, count: float) -> None:
    if expected < 0 or count < 0:
        raise FormulaError(f"`{name}` needs failures from 0 up")


def _chances(expected: float) -> Iterator[float]:
    """The probabilities of 0, 1, 2 … failures."""
    # in logarithms, because exp(-expected) is no number any more above 745
    term, count, each = -expected, 0, math.log(expected) if expected else -math.inf
    while True:
        yield math.exp(term)
        count += 1
        term += each - math.log(count)
