"""A list driven by keys: rows keep their place when refilled, and `/` finds in them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from tui import keys
from tui.widgets.columns import Columns


@dataclass(frozen=True)
class Row:
    """One row; without a key it is a heading and cannot be chosen."""

    key: str
    shown: Columns | Content
    find: str = ""


class Rows(OptionList):
    """An option list over `Row`s."""

    BINDINGS = [*keys.SCREENS["lists"]]

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id, markup=False)
        self.rows: list[Row] = []
        self._needle = ""

    def fill(self, rows: Iterable[Row], *, choose: str | None = None) -> None:
        """Replaces the rows; the highlight stays on the row with the same key, or goes to `choose`."""
        wanted = choose or self.chosen
        before = self.highlighted
        new = list(rows)
        if new == self.rows and choose is None:
            return
        self.rows = new
        self.clear_options()
        self.add_options(Option(row.shown, id=row.key or None, disabled=not row.key) for row in new)
        # its height may follow the rows
        self.refresh(layout=True)
        at = next((i for i, row in enumerate(new) if row.key and row.key == wanted), None)
        if at is None:
            reachable = [i for i, row in enumerate(new) if row.key]
            at = min(reachable, key=lambda i: abs(i - (before or 0)), default=None)
        self.highlighted = at

    @property
    def chosen(self) -> str | None:
        """Key of the highlighted row."""
        if self.highlighted is None or not self.options:
            return None
        return self.get_option_at_index(self.highlighted).id

    def find(self, needle: str) -> bool:
        """Moves to the next row that holds the text; False when none does."""
        self._needle = needle.casefold()
        start = -1 if self.highlighted is None else self.highlighted
        order = [*range(start + 1, len(self.rows)), *range(start + 1)]
        for index in order:
            row = self.rows[index]
            if row.key and self._needle in (row.find or _plain(row.shown)).casefold():
                self.highlighted = index
                return True
        return False


def _plain(shown: Columns | Content) -> str:
    return shown.plain
