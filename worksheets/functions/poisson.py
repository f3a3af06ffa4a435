"""Failures that come by chance: how many spares cover them."""

from __future__ import annotations

import math
from statistics import NormalDist

from worksheets.formulas.registry import function
from worksheets.formulas.syntax import FormulaError

MANY = 10_000
"""Above this many expected failures the normal distribution is exact to less than one spare in a thousand."""


@function("poisson_spares", takes=("count", "fraction"), gives="count")
def poisson_spares(expected: float, target: float) -> float:
    """The fewest spares that cover the failures expected in a repair time with the probability `target`."""
    if expected < 0 or not 0 < target < 1:
        raise FormulaError("`poisson_spares` needs failures from 0 up, and a probability between 0 and 1")
    if expected > MANY:
        return float(math.ceil(expected + NormalDist().inv_cdf(target) * math.sqrt(expected)))
    # in logarithms, because exp(-expected) is no number any more above 745
    total, term, most = math.exp(-expected), -expected, int(expected + 40 * math.sqrt(expected) + 40)
    for spares in range(1, most + 1):
        if total >= target:
            return float(spares - 1)
        term += math.log(expected / spares)
        total += math.exp(term)
    return float(most)
