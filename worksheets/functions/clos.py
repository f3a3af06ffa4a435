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


@function(
    "three_tier_spines",
    takes=("count", "count", "count", "count"),
    gives="count",
    excel="IF({0}>{2}*{3},NA(),-INT(-ROUND({0}*{1}/{2},9)))",
)
def three_tier_spines(leaves: float, uplinks: float, downlinks: float, radix: float) -> float:
    """The fewest spines of so many `downlinks` for the `uplinks` of all leaves, under cores of `radix` ports."""
    if min(leaves, uplinks, downlinks, radix) < 1:
        raise FormulaError("`three_tier_spines` needs leaves, links and a radix above 0")
    if leaves > downlinks * radix:
        raise FormulaError(f"{leaves:g} leaves are more than the {downlinks * radix:g} of three tiers")
    return float(math.ceil(leaves * uplinks / downlinks))
