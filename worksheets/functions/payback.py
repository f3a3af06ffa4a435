"""When savings have paid back what was spent."""

from __future__ import annotations

from worksheets.formulas.registry import function
from worksheets.formulas.syntax import FormulaError


@function("payback", takes=("currency", "currency/s"), gives="s", excel="IF({1}>0,{0}/{1},NA())")
def payback(spent: float, saved: float) -> float:
    """The time in which what is saved per time pays back what was spent; none when nothing is saved."""
    if saved <= 0:
        raise FormulaError("nothing is saved, so it never pays back", fix="compare with a dearer offer, or spend less")
    return spent / saved
