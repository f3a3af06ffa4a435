"""Checkpoint intervals: the optimum, and the band around it that costs hardly more."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from worksheets.formulas.registry import function
from worksheets.formulas.syntax import FormulaError


def efficiency(tau: Any, delta: Any, mtbf: Any, restart: Any, maths: Any = math) -> Any:
    """Share of useful time with dumps of `delta` s every `tau` s of computing, after Daly's complete model.

    `maths` is `math`, or numpy for arrays of these.
    """
    # with minus signs, because exp of a long dump over a short MTBF is no number
    return tau / mtbf * maths.exp(-(restart + tau + delta) / mtbf) / -maths.expm1(-(tau + delta) / mtbf)


def _bands(delta: Any, mtbf: Any, loss: Any) -> tuple[Any, Any]:
    """The same over arrays."""
    import numpy as np

    able = (delta > 0) & (mtbf > 0) & (loss > 0) & (loss < 1)
    delta, mtbf, loss = (np.where(able, values, np.nan) for values in (delta, mtbf, loss))
    return _band(delta, mtbf, loss, np, np.where)


@function("interval_band", takes=("s", "s", "fraction"), gives="s", arrays=_bands)
def interval_band(delta: float, mtbf: float, loss: float) -> tuple[float, float]:
    """The shortest and longest interval whose efficiency is within `loss` of the best one."""
    if delta <= 0 or mtbf <= 0 or not 0 < loss < 1:
        raise FormulaError("`interval_band` needs a cost, an MTBF and a loss above 0")
    return _band(delta, mtbf, loss, math, lambda holds, then, otherwise: then if holds else otherwise)


def _band(delta: Any, mtbf: Any, loss: Any, maths: Any, pick: Callable[[Any, Any, Any], Any]) -> tuple[Any, Any]:
    def useful(logarithm: Any) -> Any:
        return efficiency(maths.exp(logarithm), delta, mtbf, 0.0, maths)

    def crossing(inside: Any, outside: Any) -> Any:
        for _ in range(60):
            middle = (inside + outside) / 2
            holds = useful(middle) >= wanted
            inside, outside = pick(holds, middle, inside), pick(holds, outside, middle)
        return maths.exp(inside)

    first, last = maths.log(delta * 1e-3), maths.log(mtbf * 20)
    low, high = first, last
    # the curve has one top over the logarithm of the interval
    for _ in range(100):
        third = (high - low) / 3
        rising = useful(low + third) < useful(high - third)
        low, high = pick(rising, low + third, low), pick(rising, high, high - third)
    best = (low + high) / 2
    wanted = (1 - loss) * useful(best)
    return crossing(best, first), crossing(best, last)
