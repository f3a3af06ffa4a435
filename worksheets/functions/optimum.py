"""Checkpoint intervals: the optimum, and the band around it that costs hardly more."""

from __future__ import annotations

import math

from worksheets.formulas.registry import function
from worksheets.formulas.syntax import FormulaError


def efficiency(tau: float, delta: float, mtbf: float, restart: float) -> float:
    """Share of useful time with dumps of `delta` s every `tau` s of computing, after Daly's complete model."""
    return tau / mtbf * math.exp(-restart / mtbf) / math.expm1((tau + delta) / mtbf)


@function("interval_band", takes=("s", "s", "fraction"), gives="s")
def interval_band(delta: float, mtbf: float, loss: float) -> tuple[float, float]:
    """The shortest and longest interval whose efficiency is within `loss` of the best one."""
    if delta <= 0 or mtbf <= 0 or not 0 < loss < 1:
        raise FormulaError("`interval_band` needs a cost, an MTBF and a loss above 0")
    low, high = math.log(delta * 1e-3), math.log(mtbf * 20)
    best = _peak(low, high, delta, mtbf)
    wanted = (1 - loss) * efficiency(math.exp(best), delta, mtbf, 0.0)
    return _crossing(best, low, wanted, delta, mtbf), _crossing(best, high, wanted, delta, mtbf)


def _peak(low: float, high: float, delta: float, mtbf: float) -> float:
    # the curve has one top over the logarithm of the interval
    for _ in range(100):
        third = (high - low) / 3
        left, right = low + third, high - third
        if efficiency(math.exp(left), delta, mtbf, 0.0) < efficiency(math.exp(right), delta, mtbf, 0.0):
            low = left
        else:
            high = right
    return (low + high) / 2


def _crossing(inside: float, outside: float, wanted: float, delta: float, mtbf: float) -> float:
    for _ in range(60):
        middle = (inside + outside) / 2
        if efficiency(math.exp(middle), delta, mtbf, 0.0) >= wanted:
            inside = middle
        else:
            outside = middle
    return math.exp(inside)
