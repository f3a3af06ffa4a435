"""Functions over whole lists."""

from __future__ import annotations

from itertools import accumulate

from worksheets.formulas.registry import function


def _sums(cells: str | tuple[str, ...]) -> tuple[str, ...]:
    sums = accumulate(cells if isinstance(cells, tuple) else (cells,), "{}+{}".format)
    return tuple(f"({terms})" for terms in sums)


@function("running_total", takes=("currency",), gives="currency", lists=True, excel=_sums)
def running_total(amounts: float | tuple[float, ...]) -> tuple[float, ...]:
    """The sum of all items up to each one."""
    return tuple(accumulate(amounts if isinstance(amounts, tuple) else (amounts,)))
