"""What formulas may call: the functions of the language, and named Python functions for what no formula can say."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from common.errors import InputError

F = Callable[..., Any]

BUILTINS: dict[str, tuple[int, int | None]] = {
    "if": (3, 3), "min": (1, None), "max": (1, None), "clamp": (3, 3), "abs": (1, 1),
    "ceil": (1, 1), "floor": (1, 1), "round": (1, 1),
    "sqrt": (1, 1), "exp": (1, 1), "log": (1, 1), "log2": (1, 1), "log10": (1, 1),
    "sum": (1, 1), "mean": (1, 1), "len": (1, 1), "range": (1, 1), "at": (2, 2), "lookup": (3, 3),
}  # fmt: skip
"""Name to the least and the most arguments."""


@dataclass(frozen=True, slots=True)
class Function:
    """A registered function. `takes` and `gives` are units; it sees and returns base-unit numbers, texts or lists.

    A list goes through it item by item, unless it takes whole `lists`. `excel` is its spreadsheet form where there is
    one: a text with a `{}` for each argument, or a function of their spreadsheet forms, lists as tuples. `arrays` is
    the same over equally long numpy arrays, with NaN where it has no answer; it loads numpy by itself.
    """

    name: str
    call: F
    takes: tuple[str, ...]
    gives: str
    says: str
    lists: bool = False
    excel: str | F = ""
    arrays: F | None = None


_FUNCTIONS: dict[str, Function] = {}


def function(
    name: str,
    *,
    takes: tuple[str, ...],
    gives: str,
    lists: bool = False,
    excel: str | F = "",
    arrays: F | None = None,
) -> Callable[[F], F]:
    """Registers a function under the name by which formulas call it.

    Its docstring becomes its line in the guide. In a spreadsheet `excel` stands in its place, such as `LCM({},{})`,
    or else the value it computed. A slow one gives `arrays`, too, its form over many samples at once.
    """

    def register(call: F) -> F:
        if name in BUILTINS or (name in _FUNCTIONS and _FUNCTIONS[name].call.__module__ != call.__module__):
            raise ValueError(f"function {name} exists already")
        says = (call.__doc__ or "").strip().partition("\n")[0]
        _FUNCTIONS[name] = Function(name, call, takes, gives, says, lists, excel, arrays)
        return call

    return register


def get(name: str) -> Function | None:
    """A registered function; None when no loaded module has it."""
    return _FUNCTIONS.get(name)


def names() -> set[str]:
    """Everything that formulas may call by now."""
    return {*BUILTINS, *_FUNCTIONS}


def load(module: str) -> None:
    """Loads `worksheets/functions/<module>.py`, which registers its functions."""
    if not re.fullmatch(r"[a-z_]+", module):
        raise InputError(f"`{module}` is not a module of functions", fix="name a file of worksheets/functions")
    try:
        importlib.import_module(f"worksheets.functions.{module}")
    except ModuleNotFoundError:
        raise InputError(f"no module of functions `{module}`", fix="name a file of worksheets/functions") from None
