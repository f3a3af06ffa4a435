"""Functions over whole numbers."""

from __future__ import annotations

import math

from worksheets.formulas.registry import function
from worksheets.formulas.syntax import FormulaError


@function("lcm", takes=("count", "count"), gives="count", excel="LCM({},{})")
def lcm(a: float, b: float) -> float:
    """The least common multiple of two whole numbers."""
    if a != int(a) or b != int(b) or a < 1 or b < 1:
        raise FormulaError("`lcm` needs whole numbers above 0")
    return float(math.lcm(int(a), int(b)))
