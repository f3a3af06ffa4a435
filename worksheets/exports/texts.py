"""Numbers as words in a formula: four significant digits and the unit, as the sheets say them."""

from __future__ import annotations

from typing import Any

from worksheets.formulas import excel
from worksheets.quantities import prefixed
from worksheets.units import BOOL, TEXT, unit

PREFIXES = "kMGTPEZY"
_BARE = ("count", "ratio", "fraction")


def formula(cell: str, name: str, currency: str) -> str:
    """The formula that says a cell, which holds a value in the unit `name`, or a text, or yes or no.

    `currency` is the cell with the name of the plan's currency.
    """
    if name == TEXT:
        return cell
    if name == BOOL:
        return f'IF({cell},"yes","no")'
    if prefixed(name):
        step = f"MIN({len(PREFIXES)},INT(LOG10(ABS({cell}))/3))"
        space = " " if name.startswith("token") else ""
        scaled = f'{_number(f"({cell}/10^(3*{step}))")}&" "&MID("{PREFIXES}",{step},1)&{excel.quoted(space + name)}'
        return f"IF(ABS({cell})<10000,{_number(cell)}&{excel.quoted(f' {name}')},{scaled})"
    if name in _BARE:
        return _number(cell)
    if "currency" in name:
        return f'{_number(cell)}&" "&{named(name, currency)}'
    return f"{_number(cell)}&{excel.quoted(name if name == '%' else f' {name}')}"


def named(name: str, currency: str) -> str:
    """The formula for a unit with the plan's currency in it."""
    return f'SUBSTITUTE({excel.quoted(name)},"currency",{currency})'


def _number(x: str) -> str:
    digits = f"3-INT(LOG10(ABS({x})))"
    return f'(IF({x}=0,0,IF(ABS({x})>=10000,ROUND({x},0),ROUND({x},{digits})))&"")'


def told(value: Any, name: str, currency: str) -> str:
    """What the formula says of a base-unit value."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    amount = float(value) / unit(name).factor
    if prefixed(name) and abs(amount) >= 10000:
        step = next(k for k in range(len(PREFIXES), 0, -1) if abs(amount) >= 10 ** (3 * k))
        space = " " if name.startswith("token") else ""
        return f"{_digits(amount / 10 ** (3 * step))} {PREFIXES[step - 1]}{space}{name}"
    if name in _BARE:
        return _digits(amount)
    return f"{_digits(amount)}{'' if name == '%' else ' '}{name.replace('currency', currency)}"


def _digits(amount: float) -> str:
    rounded = float(f"{amount:.0f}" if abs(amount) >= 10000 else f"{amount:.4g}")
    return f"{rounded:.0f}" if rounded == int(rounded) and abs(rounded) < 1e15 else f"{rounded:.15g}".upper()
