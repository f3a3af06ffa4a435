"""A number that knows its unit, its range, where it comes from and when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from common.errors import InputError
from worksheets.quantities import shown
from worksheets.units import BOOL, TEXT, unit

Origin = Literal["default", "plan", "user", "measured", "table", "computed"]
State = Literal["ok", "warn", "fail", "not-enough-input"]


@dataclass(frozen=True, slots=True)
class Value:
    """One value: a number in base units, a text, a yes or no, or a list of these. `unit` is the one to show it in."""

    value: Any
    unit: str
    low: float | None = None
    high: float | None = None
    origin: Origin = "computed"
    source: str = ""
    date: str = ""
    note: str = ""

    def text(self) -> str:
        """The value as people read it."""
        return show(self.value, self.unit)

    def plain(self) -> Any:
        """The value as a plain number in its display unit, for JSON and CSV."""
        return plain(self.value, self.unit)


def show(value: Any, name: str) -> str:
    """A base-unit value in its display unit; lists item by item, yes and no as words."""
    if isinstance(value, tuple):
        return ", ".join(show(v, name) for v in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else shown(value, unit(name))


def plain(value: Any, name: str) -> Any:
    """A base-unit value as a plain number in its display unit."""
    if isinstance(value, tuple):
        return [plain(v, name) for v in value]
    if value is None or isinstance(value, bool | str):
        return value
    # ten digits hide what 0.1 costs in binary, and keep every whole number a worksheet can hold
    return float(f"{value / unit(name).factor:.12g}")


class NotEnoughError(InputError):
    """A row cannot be computed before somebody gives the inputs in `missing`."""

    def __init__(self, missing: tuple[str, ...]) -> None:
        self.missing = missing
        super().__init__("needs " + ", ".join(missing), fix="give a value for it")


def is_number(unit_name: str) -> bool:
    """False for text and yes/no."""
    return unit_name not in (TEXT, BOOL)
