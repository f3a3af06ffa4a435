"""How the cells of a workbook look: number formats with the unit in them, and a few colours."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from common.redact import redact
from common.safetext import safe_line
from worksheets.units import BOOL, TEXT, unit

INK, GREY, RULE, FILLED, ENTRY, HEAD = "#1F2933", "#7B8794", "#CBD2D9", "#F5F7FA", "#FFF8DB", "#243B53"
COLOURS = {"ok": "#1B7F4B", "info": "#1D5FA8", "warn": "#A15C00", "fail": "#B42318", "not-enough-input": "#A15C00"}
LONGEST_TEXT, LONGEST_UNIT = 2000, 9
_BARE = ("count", "ratio", "fraction", "x", "1")


@lru_cache(maxsize=4096)
def clean(text: str) -> str:
    """A text from a file or a person, without control characters or secrets."""
    return safe_line(redact(text), limit=LONGEST_TEXT)


def number_format(value: Any, name: str, *, with_unit: bool = True) -> str:
    """The number format for a value in its display unit, with a short unit in it that does not change."""
    if name in (TEXT, BOOL) or isinstance(value, bool | str):
        return "General"
    shown = 0.0 if value is None else abs(float(value) / unit(name).factor)
    plain = name in _BARE or "currency" in name or len(name) > LONGEST_UNIT or not with_unit
    tail = "" if plain else f'"{"" if name == "%" else " "}{name}"'
    if shown and (shown < 1e-3 or shown >= 1e12):
        return f"0.000E+00{tail}"
    if shown == int(shown) and name != "fraction":
        # a whole number may become a broken one when an input changes
        return f"[>=1000]#,##0{tail};General{tail}"
    return f"[>=1000]#,##0{tail};[>=10]#,##0.0#{tail};0.00##{tail}"


class Styles:
    """The formats of one workbook, each made once."""

    def __init__(self, workbook: Any) -> None:
        self.workbook = workbook
        self._made: dict[tuple[tuple[str, Any], ...], Any] = {}

    def get(self, **properties: Any) -> Any:
        """A format with these properties of XlsxWriter."""
        key = tuple(sorted(properties.items()))
        if key not in self._made:
            base = {"font_name": "Calibri", "font_size": 10, "font_color": INK, "valign": "top"}
            self._made[key] = self.workbook.add_format({**base, **properties})
        return self._made[key]

    @property
    def title(self) -> Any:
        """The title of a sheet."""
        return self.get(bold=True, font_size=14)

    @property
    def head(self) -> Any:
        """The heading of a column."""
        return self.get(bold=True, font_color="#FFFFFF", bg_color=HEAD, valign="vcenter", text_wrap=True)

    @property
    def part(self) -> Any:
        """The heading of a part of a sheet."""
        return self.get(bold=True, font_size=11, bottom=1, bottom_color=RULE)

    @property
    def group(self) -> Any:
        """The heading of a group."""
        return self.get(bold=True, font_color=GREY)

    @property
    def text(self) -> Any:
        """Plain text."""
        return self.get()

    @property
    def beside(self) -> Any:
        """Text that stands beside a number."""
        return self.get(indent=1)

    @property
    def quiet(self) -> Any:
        """What matters less."""
        return self.get(font_color=GREY)

    @property
    def wrapped(self) -> Any:
        """A text over several lines."""
        return self.get(text_wrap=True)

    def entry(self, number: str) -> Any:
        """A cell to type into."""
        return self.get(num_format=number, bg_color=ENTRY, border=1, border_color=RULE, align="right")

    def result(self, number: str) -> Any:
        """A computed number."""
        return self.get(num_format=number, align="right")

    def working(self) -> Any:
        """A number in base units."""
        return self.get(font_color=GREY, bg_color=FILLED, align="right")

    def state(self, severity: str) -> Any:
        """The colour of a state, for conditional formats."""
        return self.workbook.add_format({"font_color": COLOURS[severity], "bold": True})
