"""Switches of a fabric in tiers."""

from __future__ import annotations

import math

from worksheets.formulas.registry import function
from worksheets.formulas.syntax import FormulaError


@function("even_spines", takes=("count", "count", "count"), gives="count")
def even_spines(leaves: float, uplinks: float, radix: float) -> float:
    """The fewest spines of `radix` ports that give each leaf the same number of its `uplinks` to every spine."""
    if leaves < 1 or radix < 1 or uplinks < 1 or uplinks != int(uplinks):
        raise FormulaError("`even_spines` needs leaves, a whole number of uplinks and a radix above 0")
    least = math.ceil(leaves * uplinks / radix)
    for spines in range(least, int(uplinks) + 1):
        if int(uplinks) % spines == 0:
            return float(spines)
    raise FormulaError(f"{leaves:g} leaves need {least} spines, and a leaf has only {uplinks:g} uplinks")
