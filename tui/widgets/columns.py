"""A row of a list: fixed columns and a last one that takes the rest and wraps under itself, by terminal cells."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from textual.content import Content
from textual.css.styles import RulesMap
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual

GAP = 1
NARROWEST = 26


class Columns(Visual):
    """Cells with widths in terminal cells; the last cell's width is ignored.

    Where the last cell would have less than 26 cells it goes below the others, two cells in.
    """

    def __init__(self, *cells: tuple[Content, int], indent: int = 0) -> None:
        self.cells, self.indent = cells, indent

    @property
    def plain(self) -> str:
        """The text of all cells, for searching."""
        return " ".join(content.plain for content, _ in self.cells)

    def _rows(self, width: int) -> list[list[tuple[Content, int, int]]]:
        """Rows of (content, left edge, width)."""
        left = self.indent
        placed: list[tuple[Content, int, int]] = []
        for content, size in self.cells[:-1]:
            size = max(1, min(size, width - left))
            placed.append((content, left, size))
            left += size + GAP
        last = self.cells[-1][0]
        if width - left >= min(NARROWEST, last.cell_length) or len(self.cells) == 1:
            return [[*placed, (last, left, max(1, width - left))]]
        edge = min(self.indent + 2, max(0, width - 1))
        return [placed, [(last, edge, max(1, width - edge))]]

    def render_strips(self, width: int, height: int | None, style: Style, options: RenderOptions) -> list[Strip]:
        """Strips of the whole row."""
        strips: list[Strip] = []
        for row in self._rows(width):
            parts = [(content.render_strips(size, None, style, options), left) for content, left, size in row]
            for y in range(max((len(lines) for lines, _ in parts), default=1)):
                strips.append(_join([(lines[y], left) for lines, left in parts if y < len(lines)], width, style))
        return strips[:height]

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        """All cells on one line."""
        fixed = sum(size + GAP for _, size in self.cells[:-1])
        return min(container_width, self.indent + fixed + self.cells[-1][0].cell_length)

    def get_height(self, rules: RulesMap, width: int) -> int:
        """Lines needed at a width."""
        return sum(max(content.get_height(rules, size) or 1 for content, _, size in row) for row in self._rows(width))


def _join(parts: Sequence[tuple[Strip, int]], width: int, style: Style) -> Strip:
    segments: list[Segment] = []
    at = 0
    for strip, left in parts:
        if left > at:
            segments.append(Segment(" " * (left - at), style.rich_style))
            at = left
        segments.extend(strip)
        at += strip.cell_length
    return Strip(segments).adjust_cell_length(width, style.rich_style)
