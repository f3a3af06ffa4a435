"""Functions over whole lists."""

from __future__ import annotations

from itertools import accumulate

from worksheets.formulas.registry import function


@function("running_total", takes=("currency",), gives="currency", lists=True)
def running_total(amounts: float | tuple[float, ...]) -> tuple[float, ...]:
    """The sum of all items up to each one."""
    return tuple(accumulate(amounts if isinstance(amounts, tuple) else (amounts,)))
