"""Raw output with line numbers: only the lines on the screen are made, so the size of an output does not matter."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.segment import Segment
from textual.binding import Binding
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from common.redact import redact
from common.safetext import safe_line
from tui import keys

WIDEST = 2000


class OutputView(ScrollView, can_focus=True):
    """Lines of a text; some marked as evidence, some found. A `>` marks evidence where colours do not."""

    DEFAULT_CSS = """
    OutputView { background: $surface; color: $foreground; }
    OutputView > .output--number { color: $text-muted; }
    OutputView > .output--evidence { background: $primary-muted; text-style: bold; }
    OutputView > .output--found { background: $warning-muted; text-style: reverse; }
    """
    COMPONENT_CLASSES = {"output--number", "output--evidence", "output--found"}
    BINDINGS = [
        Binding(
            b.key,
            {"cursor_down": "scroll_down", "cursor_up": "scroll_up", "first": "scroll_home", "last": "scroll_end"}[
                b.action
            ],
            b.description,
            show=False,
            tooltip=b.tooltip,
        )
        for b in keys.SCREENS["lists"]
    ]

    def __init__(self, *, id: str, numbered: bool = True) -> None:
        super().__init__(id=id)
        self.lines: Sequence[str] = ()
        self.marked: tuple[int, int] = (0, 0)
        self.numbered = numbered
        self._found: int | None = None
        self._needle = ""

    def show(self, lines: Sequence[str], marked: tuple[int, int] = (0, 0)) -> None:
        """Shows a text; `marked` is first and last line of the evidence, from 1 ((0, 0) for none)."""
        self.lines, self.marked, self._found = lines, marked, None
        # a character takes at most two cells; measuring every line of a large output would cost more than it shows
        longest = max(lines, key=len, default="")
        width = max(cell_len(self._safe(longest)), *(min(len(line), WIDEST) for line in lines), 0, 0)
        self.virtual_size = Size(width + self._gutter + 1, len(lines))
        self.to_line(marked[0] or 1)
        self.refresh()

    @property
    def _gutter(self) -> int:
        return len(str(len(self.lines))) + 4 if self.numbered else 1

    def to_line(self, number: int) -> None:
        """Scrolls so that a line (from 1) stands in the upper third."""
        top = max(0, number - 1 - max(1, self.size.height) // 3)
        self.scroll_to(0, top, animate=False, immediate=True)

    def find(self, needle: str, *, backwards: bool = False) -> bool:
        """Goes to the next line that holds the text; False when there is none."""
        self._needle = needle.casefold()
        if not self._needle or not self.lines:
            return False
        count, step = len(self.lines), -1 if backwards else 1
        here = (self._found if self._found is not None else int(self.scroll_offset.y) - step) % count
        for distance in range(1, count + 1):
            index = (here + step * distance) % count
            text = self._safe(self.lines[index])
            if (at := text.casefold().find(self._needle)) >= 0:
                self._found = index
                self.to_line(index + 1)
                before = text[:at]
                region = Region(self._gutter + cell_len(before), index, cell_len(needle), 1)
                self.scroll_to_region(region, animate=False, force=True, immediate=True)
                self.refresh()
                return True
        return False

    def _safe(self, line: str) -> str:
        return safe_line(redact(line[: 2 * WIDEST]), limit=WIDEST)

    def again(self, *, backwards: bool = False) -> bool:
        """The next match of the last search."""
        return self.find(self._needle, backwards=backwards)

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        left, top = (int(v) for v in self.scroll_offset)
        width, index = self.size.width, top + y
        plain = self.rich_style
        if index >= len(self.lines):
            return Strip.blank(width, plain)
        first, last = self.marked
        evidence = first <= index + 1 <= last
        style = self.get_component_rich_style("output--evidence") if evidence else plain
        if index == self._found:
            style = self.get_component_rich_style("output--found")
        mark = ">" if evidence else " "
        gutter = f"{mark} {index + 1:>{self._gutter - 4}}  " if self.numbered else " "
        text = self._safe(self.lines[index])
        body = Strip([Segment(text, style)]).crop_extend(left, left + max(1, width - self._gutter), style)
        number = self.get_component_rich_style("output--number")
        return Strip.join([Strip([Segment(gutter, style if evidence else number)]), body])
