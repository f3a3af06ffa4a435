"""Bars made of characters, each with its number in words beside it, so that nothing hangs on seeing the bar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from textual.content import Content
from textual.css.styles import RulesMap
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual

from tui import nodetext

MARK, BELOW, DOT = "#", "-", "o"
LABEL_MOST, BAR_LEAST = 46, 8
"""Terminal cells: of a label on a narrow screen, on a wide one half of it; and of the longest bar."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: what it is about, how long, and the number as text."""

    label: str
    amount: float
    text: str


class Bars(Visual):
    """Bars of one unit under each other, from 0; amounts below 0 are drawn with `-`.

    With `dots` the line goes from the least to the most instead, so that a flat curve shows its bend.
    """

    def __init__(self, bars: Sequence[Bar], *, dots: bool = False) -> None:
        self.bars, self.dots = tuple(bars), dots

    @property
    def plain(self) -> str:
        """The numbers as text."""
        return "\n".join(f"{bar.label}: {bar.text}" for bar in self.bars)

    def lines(self, width: int) -> list[Content]:
        """One line for each bar, of at most `width` cells."""
        longest = max((abs(bar.amount) for bar in self.bars), default=0.0)
        numbers = max((cell_len(bar.text) for bar in self.bars), default=0)
        room = max(1, width - numbers - 2)
        wanted = max((cell_len(bar.label) for bar in self.bars), default=0)
        label = max(1, min(wanted, max(LABEL_MOST, width // 2), room - BAR_LEAST - 1))
        most = max(0, room - label - 1)
        lines = []
        for bar in self.bars:
            drawn = self._dot(bar.amount, most) if self.dots else _bar(bar.amount, longest, most)
            number = " " * (numbers - cell_len(bar.text)) + bar.text
            lines.append(
                Content.assemble(
                    nodetext.line(set_cell_size(bar.label, label)),
                    " ",
                    nodetext.line(number, "bold"),
                    " ",
                    (drawn, "$text-primary" if bar.amount >= 0 else "$text-warning"),
                )
            )
        return lines

    def _dot(self, amount: float, most: int) -> str:
        least, widest = min(bar.amount for bar in self.bars), max(bar.amount for bar in self.bars)
        share = (amount - least) / (widest - least) if widest > least else 0.0
        return " " * round(share * max(0, most - 1)) + DOT if most else ""

    def render_strips(self, width: int, height: int | None, style: Style, options: RenderOptions) -> list[Strip]:
        """A strip for each bar."""
        strips: list[Strip] = []
        for line in self.lines(width):
            strips += line.render_strips(width, 1, style, options)
        return strips[:height]

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        """All there is."""
        return container_width

    def get_height(self, rules: RulesMap, width: int) -> int:
        """A line for each bar."""
        return len(self.bars)


def _bar(amount: float, longest: float, most: int) -> str:
    filled = 0 if not longest else round(most * abs(amount) / longest)
    # what is there is seen, however small
    filled = max(filled, 1 if amount and most else 0)
    return (BELOW if amount < 0 else MARK) * filled
