"""A formula in the language of spreadsheets, over the cells its names lie in.

Everything is bracketed, because spreadsheets take -2^2 for 4 and powers from the left. Where something has no
spreadsheet form, the value it computed stands in its place; `fixed` tells what.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from worksheets.formulas import registry
from worksheets.formulas.scalar import each
from worksheets.formulas.syntax import Call, Constant, FormulaError, Listed, Name, Node, Number, Operation, calls, parts

Cells = Callable[[str], Any]
"""Where a name lies: a cell such as `Inputs!$C$4` or any expression over one, or a tuple of these for a list."""
Lookup = Callable[[str, str, str], str]
"""The formula for a cell of a reference table: its table, an expression for the row, its column."""
MOST_ARGUMENTS = 250


def translate(
    node: Node,
    cells: Cells,
    compute: Callable[[Node], Any],
    is_text: Callable[[Node], bool],
    lookup: Lookup | None = None,
    fragile: Callable[[str], bool] = lambda name: False,
) -> Any:
    """The formula without `=`; a tuple of formulas for a list. `compute` gives the value of a part of it.

    `is_text` says which parts are texts, as their comparison is spelt differently; `fragile` which names may have no
    value, so that nothing may ask for them in vain.
    """
    return _Translator(cells, compute, is_text, lookup, fragile).say(node)


def fixed(node: Node, tables: bool = False) -> tuple[str, ...]:
    """The functions of a formula that have no spreadsheet form, so that their part will not follow its inputs.

    `tables` says that look-ups have one.
    """
    return tuple(dict.fromkeys(call.function for call in calls(node) if not has_form(call, tables)))


def has_form(call: Call, tables: bool) -> bool:
    """Whether a call follows its arguments in a spreadsheet; what its arguments call does not matter."""
    if (known := registry.get(call.function)) is not None:
        return bool(known.excel)
    if call.function == "range":
        # the length of a list is what it is; only a written number keeps it
        return isinstance(call.arguments[0], Number)
    return call.function != "lookup" or tables


def literal(value: Any) -> Any:
    """A value as a spreadsheet writes it; None is what it calls not available."""
    if isinstance(value, tuple):
        return tuple(literal(v) for v in value)
    if value is None:
        return "NA()"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return quoted(value)
    number = float(value)
    text = f"{number:.0f}" if number == int(number) and abs(number) < 1e15 else repr(number).upper()
    return f"({text})" if number < 0 else text


def quoted(text: str) -> str:
    """A text as a constant of a formula, in pieces of the 255 characters that spreadsheets allow."""
    pieces = [text[at : at + 240] for at in range(0, len(text), 240)] or [""]
    joined = "&".join('"' + piece.replace('"', '""') + '"' for piece in pieces)
    return joined if len(pieces) == 1 else f"({joined})"


_INFIX = {"==": "=", "!=": "<>"}
_UNARY = {
    "abs": "ABS({})",
    "ceil": "(-INT(-ROUND({},9)))",
    "floor": "INT(ROUND({},9))",
    "round": "ROUND(ROUND({},9),0)",
    "sqrt": "SQRT({})",
    "exp": "EXP({})",
    "log": "LN({})",
    "log2": "LOG({},2)",
    "log10": "LOG10({})",
}
_NEVER_FAIL = frozenset({"if", "min", "max", "clamp", "abs", "ceil", "floor", "round", "len", "sum", "mean"})
_CELL = re.compile(r"((?:'[^']*'|\w+)!)?\$([A-Z]+)\$(\d+)")


class _Translator:
    def __init__(
        self,
        cells: Cells,
        compute: Callable[[Node], Any],
        is_text: Callable[[Node], bool],
        lookup: Lookup | None,
        fragile: Callable[[str], bool],
    ) -> None:
        self.cells, self.compute, self.is_text = cells, compute, is_text
        self.lookup, self.fragile = lookup, fragile

    def say(self, node: Node) -> Any:
        match node:
            case Number() | Constant():
                return literal(node.value)
            case Name():
                return self.cells(node.name)
            case Listed():
                return tuple(self.say(item) for item in node.items)
            case Operation():
                return self.operation(node)
            case Call():
                return self.call(node)

    def operation(self, node: Operation) -> Any:
        operator = node.operator
        parts = [self.say(part) for part in node.operands]
        if operator == "not":
            return each(lambda a: f"NOT({a})", *parts)
        if len(parts) == 1:
            return each(lambda a: f"(-{a})", *parts)
        if operator in ("and", "or"):
            return each(_both(operator, may_fail(node.operands[1], self.fragile)).format, *parts)
        if operator in ("==", "!=") and self.is_text(node.operands[0]):
            # a spreadsheet's = does not tell small letters from large ones
            whole = "EXACT({},{})" if operator == "==" else "NOT(EXACT({},{}))"
            return each(whole.format, *parts)
        return each(lambda a, b: f"({a}{_INFIX.get(operator, operator)}{b})", *parts)

    def call(self, node: Call) -> Any:
        name = node.function
        if not has_form(node, self.lookup is not None):
            return literal(self.compute(node))
        if name == "lookup" and self.lookup is not None:
            return self.looked_up(node, self.lookup)
        if name == "range" and isinstance(count := node.arguments[0], Number):
            return tuple(str(i) for i in range(1, int(count.value) + 1))
        parts = [self.say(part) for part in node.arguments]
        if (known := registry.get(name)) is not None:
            return each(known.excel.format, *parts) if isinstance(known.excel, str) else known.excel(*parts)
        if name in _UNARY:
            return each(_UNARY[name].format, parts[0])
        if name == "if":
            return each(lambda c, a, b: f"IF({c},{a},{b})", *parts)
        if name == "clamp":
            return each(lambda x, low, high: f"MAX(MIN({x},{high}),{low})", *parts)
        if name in ("min", "max") and len(parts) > 1:
            return each(lambda *vs: f"{name.upper()}({','.join(vs)})", *parts)
        items = parts[0] if isinstance(parts[0], tuple) else (parts[0],)
        if name == "at":
            return _picked(items, node.arguments[1], parts[1])
        return self.over(node, items)

    def over(self, node: Call, items: tuple[str, ...]) -> str:
        name = node.function
        if name == "len":
            return str(literal(float(len(items))))
        if name == "mean":
            return f"({_gathered('SUM', items)}/{len(items)})"
        functions = {"min": "MIN", "max": "MAX", "sum": "SUM"}
        if name not in functions:
            raise FormulaError(f"`{name}` has no spreadsheet form", position=node.position)
        return _gathered(functions[name], items)

    def looked_up(self, node: Call, lookup: Lookup) -> Any:
        table, row, column = node.arguments
        if not (isinstance(table, Constant) and isinstance(column, Constant)):
            raise FormulaError("`lookup` takes table and column as written texts", position=node.position)
        return each(lambda key: lookup(str(table.value), key, str(column.value)), self.say(row))


def may_fail(node: Node, fragile: Callable[[str], bool]) -> bool:
    """Whether computing a formula can end in an error; `fragile` says so of its names."""
    if isinstance(node, Name):
        return fragile(node.name)
    own = (isinstance(node, Operation) and node.operator in ("/", "^")) or (
        isinstance(node, Call) and node.function not in _NEVER_FAIL
    )
    return own or any(may_fail(part, fragile) for part in parts(node))


def _both(operator: str, fragile: bool) -> str:
    if not fragile:
        return f"{operator.upper()}({{}},{{}})"
    # AND and OR compute both sides, and fail with the one that nobody asks for
    return "IF({},{},FALSE)" if operator == "and" else "IF({},TRUE,{})"


def _picked(items: tuple[str, ...], index: Node, said: Any) -> Any:
    if isinstance(index, Number):
        if not 1 <= index.value <= len(items):
            raise FormulaError(f"a list of {len(items)} has no item {index.given}", position=index.position)
        return items[int(index.value) - 1]
    if len(items) > MOST_ARGUMENTS:
        raise FormulaError("a spreadsheet chooses from 254 at most", position=index.position)
    return each(lambda i: f"CHOOSE({i},{','.join(items)})", said)


def _gathered(function: str, items: Sequence[str]) -> str:
    """A function over many items; neighbouring cells are spelt as a range."""
    if (span := _span(items)) is not None:
        return f"{function}({span})"
    if len(items) > MOST_ARGUMENTS:
        items = [
            f"{function}({','.join(items[at : at + MOST_ARGUMENTS])})" for at in range(0, len(items), MOST_ARGUMENTS)
        ]
    return f"{function}({','.join(items)})"


def _span(items: Sequence[str]) -> str | None:
    found = [_CELL.fullmatch(item) for item in items]
    first, last = found[0], found[-1]
    if len(items) < 2 or first is None or last is None:
        return None
    rows = range(int(first[3]), int(first[3]) + len(items))
    if any(
        f is None or (f[1], f[2], int(f[3])) != (first[1], first[2], row) for f, row in zip(found, rows, strict=True)
    ):
        return None
    return f"{first[0]}:${last[2]}${last[3]}"
