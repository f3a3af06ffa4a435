"""Bars of plain characters; what they show stands beside them in numbers."""

from __future__ import annotations

from collections.abc import Sequence

WIDTH = 22
_STEPS = "▁▂▃▄▅▆▇█"


def span(low: float, high: float, base: float, least: float, most: float, width: int = WIDTH) -> str:
    """A bar from `low` to `high` with a mark at `base`, on a scale from `least` to `most`."""
    ends = [_place(value, least, most, width) for value in (low, high)]
    marks = ["█" if min(ends) <= place <= max(ends) else "·" for place in range(width)]
    marks[_place(base, least, most, width)] = "│"
    return "".join(marks)


def _place(value: float, least: float, most: float, width: int) -> int:
    share = (value - least) / (most - least) if most > least else 0.5
    return min(width - 1, max(0, round(share * (width - 1))))


def amount(value: float, most: float, width: int = WIDTH) -> str:
    """A bar to the right of a middle line for what adds, to the left of it for what takes away."""
    half = (width - 1) // 2
    length = min(half, max(1, round(abs(value) / most * half))) if most and value else 0
    bar = "█" * length
    return f"{bar if value < 0 else '':>{half}}│{bar if value > 0 else '':<{half}}"


def heap(counts: Sequence[int]) -> str:
    """How often each step of a range was met, as blocks of eight heights; a blank where it never was."""
    most = max(counts, default=0)
    return "".join(_STEPS[round((count / most) * 7)] if count else " " for count in counts)
