"""Recomputes a workbook as a spreadsheet program would, so that its formulas can be tested where none is installed.

It knows the operators and functions that the workbooks use, refuses any other, and computes a cell when it is asked
for. What it gives is held against LibreOffice wherever that is at hand.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import openpyxl
from openpyxl.formula import Tokenizer
from openpyxl.utils import column_index_from_string

Key = tuple[str, int, int]
Run = Callable[[str], Any]
_PLACE = re.compile(r"(?:'([^']+)'!|(\w+)!)?\$?([A-Z]+)\$?(\d+)(?::\$?([A-Z]+)\$?(\d+))?")
_BINDING = {"^": 6, "*": 5, "/": 5, "+": 4, "-": 4, "&": 3, "=": 2, "<>": 2, "<": 2, ">": 2, "<=": 2, ">=": 2}
_PREFIX = 7


class Failed(Exception):
    """An error value such as #N/A, on its way to whoever asked."""

    def __init__(self, code: str) -> None:
        self.code = code
        super().__init__(code)


class Area(list[Any]):
    """The cells of a range; a cell that failed is there as `Failed`."""

    @cached_property
    def places(self) -> dict[str, int]:
        """Where each text stands first, counted from 1, whatever its case."""
        return {v.lower(): i for i, v in reversed([*enumerate(self, start=1)]) if isinstance(v, str)}


class Book:
    """A workbook from its file, to change and compute. Names lead to cells as `book.named["plan.tp"]`."""

    def __init__(self, path: Path) -> None:
        loaded = openpyxl.load_workbook(path)
        self.cells: dict[Key, Any] = {}
        for sheet in loaded:
            for row in sheet.iter_rows():
                for cell in row:
                    if cell.value is not None:
                        self.cells[sheet.title, cell.row, cell.column] = cell.value
        self.named = {name: _place(str(found.attr_text)) for name, found in loaded.defined_names.items()}
        self._programs: dict[str, Run] = {}
        self._known: dict[Key, Any] = {}
        self._plain: dict[tuple[str, int, int, int, int], Area] = {}
        self._under_way: set[Key] = set()

    def formulas(self) -> list[Key]:
        """Every cell that holds a formula."""
        return [key for key, value in self.cells.items() if _is_formula(value)]

    def set(self, key: Key, value: Any) -> Any:
        """Types a value into a cell, or clears it with None; returns what stood there."""
        before = self.cells.pop(key, None)
        if value is not None:
            self.cells[key] = value
        self._known.clear()
        self._plain = {place: area for place, area in self._plain.items() if place[0] != key[0]}
        return before

    def __getitem__(self, key: Key) -> Any:
        """What a cell shows; an error as its text, such as `#N/A`."""
        try:
            return self.value(key)
        except Failed as failed:
            return failed.code

    def value(self, key: Key) -> Any:
        """What a cell holds; None when nothing does."""
        content = self.cells.get(key)
        if not _is_formula(content):
            return float(content) if type(content) is int else content
        if key not in self._known:
            assert key not in self._under_way, f"{key} depends on itself"
            self._under_way.add(key)
            try:
                found = self.program(str(content))(key[0])
                # a formula that leads to an empty cell shows 0
                self._known[key] = 0.0 if found is None else found
            except Failed as failed:
                self._known[key] = failed
            finally:
                self._under_way.discard(key)
        known = self._known[key]
        if isinstance(known, Failed):
            raise known
        return known

    def program(self, formula: str) -> Run:
        """A formula ready to run on a sheet."""
        if formula not in self._programs:
            self._programs[formula] = _Parser(self, formula).whole()
        return self._programs[formula]

    def area(self, place: tuple[str, int, int, int, int]) -> Area:
        """The cells of a range, line by line."""
        if place in self._plain:
            return self._plain[place]
        sheet, top, left, bottom, right = place
        keys = [(sheet, row, column) for row in range(top, bottom + 1) for column in range(left, right + 1)]
        cells = Area()
        for key in keys:
            try:
                cells.append(self.value(key))
            except Failed as failed:
                cells.append(failed)
        if not any(_is_formula(self.cells.get(key)) for key in keys):
            self._plain[place] = cells
        return cells


def _is_formula(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("=")


def _place(text: str) -> Key:
    found = _PLACE.fullmatch(text)
    assert found is not None, text
    return found[1] or found[2], int(found[4]), column_index_from_string(found[3])


class _Parser:
    def __init__(self, book: Book, formula: str) -> None:
        self.book = book
        self.tokens = [t for t in Tokenizer(formula).items if t.type != "WHITE-SPACE"]
        self.at = 0

    def whole(self) -> Run:
        found = self.expression(0)
        assert self.at == len(self.tokens), f"left over: {self.tokens[self.at].value}"
        return found

    def expression(self, binding: int) -> Run:
        left = self.first()
        while self.at < len(self.tokens) and (token := self.tokens[self.at]).type == "OPERATOR-INFIX":
            power = _BINDING[token.value]
            if power <= binding:
                break
            self.at += 1
            left = _infix(token.value, left, self.expression(power))
        return left

    def first(self) -> Run:
        token = self.tokens[self.at]
        self.at += 1
        match token.type, token.subtype:
            case "OPERATOR-PREFIX", _:
                inner = self.expression(_PREFIX)
                sign = -1.0 if token.value == "-" else 1.0
                return lambda sheet: _each(lambda v: sign * number(v), inner(sheet))
            case "OPERAND", "NUMBER":
                value = float(token.value)
                return lambda sheet: value
            case "OPERAND", "TEXT":
                text = token.value[1:-1].replace('""', '"')
                return lambda sheet: text
            case "OPERAND", "LOGICAL":
                truth = token.value == "TRUE"
                return lambda sheet: truth
            case "OPERAND", "RANGE":
                return self.place(token.value)
            case "FUNC", "OPEN":
                return _call(token.value[:-1], self.arguments())
            case "PAREN", "OPEN":
                inner = self.expression(0)
                self.at += 1
                return inner
        raise AssertionError(f"cannot read {token.value}")

    def arguments(self) -> list[Run]:
        found: list[Run] = []
        while self.tokens[self.at].type != "FUNC" or self.tokens[self.at].subtype != "CLOSE":
            found.append(self.expression(0))
            if self.tokens[self.at].type == "SEP":
                self.at += 1
        self.at += 1
        return found

    def place(self, text: str) -> Run:
        found = _PLACE.fullmatch(text)
        assert found is not None, f"a name or place that is not known: {text}"
        title, row, column = found[1] or found[2], int(found[4]), column_index_from_string(found[3])
        if found[5] is None:
            return lambda sheet: self.book.value((title or sheet, row, column))
        bottom, right = int(found[6]), column_index_from_string(found[5])
        return lambda sheet: self.book.area((title or sheet, row, column, bottom, right))


def _each(apply: Callable[[Any], Any], value: Any) -> Any:
    return Area(apply(v) for v in value) if isinstance(value, Area) else apply(value)


def number(value: Any) -> float:
    """A value as arithmetic takes it."""
    if value is None:
        return 0.0
    if isinstance(value, Failed):
        raise value
    if isinstance(value, str):
        raise Failed("#VALUE!")
    return float(value)


def text(value: Any) -> str:
    """A value as it stands beside a text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return value if isinstance(value, str) else f"{value:.15g}".upper()


def _finite(value: Any) -> float:
    if isinstance(value, complex) or not math.isfinite(value):
        raise Failed("#NUM!")
    return float(value)


def _infix(operator: str, left: Run, right: Run) -> Run:
    def run(sheet: str) -> Any:
        a, b = left(sheet), right(sheet)
        if operator == "&":
            return text(a) + text(b)
        if operator in ("=", "<>", "<", ">", "<=", ">="):
            return _compare(operator, a, b)
        x, y = number(a), number(b)
        try:
            match operator:
                case "+":
                    return _finite(x + y)
                case "-":
                    return _finite(x - y)
                case "*":
                    return _finite(x * y)
                case "/":
                    return _finite(x / y)
            return _finite(x**y)
        except ZeroDivisionError:
            raise Failed("#DIV/0!") from None
        except OverflowError:
            raise Failed("#NUM!") from None

    return run


def _compare(operator: str, a: Any, b: Any) -> bool:
    kinds = [2 if isinstance(v, bool) else 1 if isinstance(v, str) else 0 for v in (a, b)]
    if None in (a, b) and (other := b if a is None else a) is not None:
        blank: Any = "" if isinstance(other, str) else False if isinstance(other, bool) else 0.0
        a, b = (blank, b) if a is None else (a, blank)
        kinds = [kinds[1] if other is b else kinds[0]] * 2
    x, y = (v.lower() if isinstance(v, str) else 0.0 if v is None else v for v in (a, b))
    low, high = ((kinds[0], 0), (kinds[1], 0)) if kinds[0] != kinds[1] else ((0, x), (0, y))
    return {
        "=": low == high, "<>": low != high, "<": low < high, ">": low > high, "<=": low <= high, ">=": low >= high,
    }[operator]  # fmt: skip


def _truth(value: Any) -> bool:
    if isinstance(value, str):
        raise Failed("#VALUE!")
    return bool(value)


def _attempt(run: Run, sheet: str) -> Any:
    try:
        return run(sheet)
    except Failed as failed:
        return failed


def _call(name: str, arguments: list[Run]) -> Run:
    if name == "IF":
        condition, then, otherwise = arguments
        return lambda sheet: then(sheet) if _truth(condition(sheet)) else otherwise(sheet)
    if name == "IFERROR":
        tried, instead = arguments
        return lambda sheet: instead(sheet) if isinstance(found := _attempt(tried, sheet), Failed) else found
    if name in _TESTS:
        test, tested = _TESTS[name], arguments[0]
        return lambda sheet: _each(test, _attempt(tested, sheet))
    if name == "CHOOSE":
        return lambda sheet: _chosen(arguments, arguments[0](sheet), sheet)
    function = _FUNCTIONS[name]
    return lambda sheet: function(*(argument(sheet) for argument in arguments))


def _chosen(arguments: list[Run], index: Any, sheet: str) -> Any:
    if not 1 <= number(index) < len(arguments):
        raise Failed("#VALUE!")
    return arguments[int(number(index))](sheet)


def _numbers(*values: Any) -> list[float]:
    found: list[float] = []
    for value in values:
        # a range skips texts and empty cells
        found += (
            [number(v) for v in value if v is not None and not isinstance(v, str | bool)]
            if isinstance(value, Area)
            else [number(value)]
        )
    return found


def _na() -> Any:
    raise Failed("#N/A")


def _index(area: Any, place: Any) -> Any:
    if not 1 <= number(place) <= len(area):
        raise Failed("#REF!")
    found = area[int(number(place)) - 1]
    if isinstance(found, Failed):
        raise found
    return found


def _match(wanted: Any, area: Area, exact: Any) -> float:
    assert exact == 0.0
    assert isinstance(wanted, str)
    if wanted.lower() not in area.places:
        raise Failed("#N/A")
    return float(area.places[wanted.lower()])


def _domain(function: Callable[..., float]) -> Callable[..., float]:
    def run(*values: Any) -> float:
        try:
            return _finite(function(*(number(v) for v in values)))
        except (ValueError, OverflowError, ZeroDivisionError):
            raise Failed("#NUM!") from None

    return run


def _round(value: float, digits: float) -> float:
    scale = 10.0 ** int(digits)
    # beyond the digits of a float there is nothing to round
    if abs(value) * scale >= 2.0**52:
        return value
    # as spreadsheets do, a half that binary cannot say counts as one
    return math.copysign(math.floor(float(f"{abs(value) * scale:.15g}") + 0.5), value) / scale


def _poisson(count: float, mean: float, cumulative: float) -> float:
    first = 0 if cumulative else int(count)
    chances = (math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in range(first, int(count) + 1))
    return math.fsum(chances)


_TESTS: dict[str, Callable[[Any], bool]] = {
    "ISNA": lambda v: isinstance(v, Failed) and v.code == "#N/A",
    "ISERR": lambda v: isinstance(v, Failed) and v.code != "#N/A",
    "ISERROR": lambda v: isinstance(v, Failed),
    "ISBLANK": lambda v: v is None,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "NA": _na,
    "AND": lambda *vs: all(_truth(v) for v in vs),
    "OR": lambda *vs: any(_truth(v) for v in vs),
    "NOT": lambda v: not _truth(v),
    "EXACT": lambda a, b: text(a) == text(b),
    "MAX": lambda *vs: max(_numbers(*vs), default=0.0),
    "MIN": lambda *vs: min(_numbers(*vs), default=0.0),
    "SUM": lambda *vs: math.fsum(_numbers(*vs)),
    "SUMPRODUCT": lambda area: math.fsum(number(v) for v in area),
    "COUNTIF": lambda area, wanted: float(sum(_compare("=", v, wanted) for v in area if not isinstance(v, Failed))),
    "ABS": _domain(abs),
    "INT": _domain(math.floor),
    "ROUND": _domain(_round),
    "SQRT": _domain(math.sqrt),
    "EXP": _domain(math.exp),
    "LN": _domain(math.log),
    "LOG": _domain(lambda x, base: math.log2(x) if base == 2 else math.log(x, base)),
    "LOG10": _domain(math.log10),
    "POISSON": _domain(_poisson),
    "LCM": _domain(lambda a, b: float(math.lcm(int(a), int(b)))),
    "INDEX": _index,
    "MATCH": _match,
    "MID": lambda t, start, count: text(t)[int(start) - 1 : int(start) - 1 + int(count)],
    "SUBSTITUTE": lambda t, old, new: text(t).replace(text(old), text(new)),
}
