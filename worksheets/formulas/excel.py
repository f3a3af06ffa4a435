"""A formula in the language of spreadsheets, over the cells its names lie in.

Everything is bracketed, because spreadsheets take -2^2 for 4 and powers from the left. Registered functions and table
look-ups have no spreadsheet form; the value they computed stands in their place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from worksheets.formulas import registry
from worksheets.formulas.scalar import each
from worksheets.formulas.syntax import Call, Constant, FormulaError, Listed, Name, Node, Number, Operation, calls

Cells = Callable[[str], Any]
"""Where a name lies: a cell such as `Inputs!$C$4` or any expression over one, or a tuple of these for a list."""


def translate(node: Node, cells: Cells, compute: Callable[[Node], Any], is_text: Callable[[Node], bool]) -> Any:
    """The formula without `=`; a tuple of formulas for a list. `compute` gives the value of a part of it.

    `is_text` says which parts are texts, as their comparison is spelt differently.
    """
    return _Translator(cells, compute, is_text).say(node)


def needs_value(node: Node) -> bool:
    """True when a part of the formula has no spreadsheet form, so that it will not follow its inputs."""
    return any(registry.get(c.function) is not None or c.function in ("lookup", "range", "at") for c in calls(node))


def literal(value: Any) -> Any:
    """A value as a spreadsheet writes it."""
    if isinstance(value, tuple):
        return tuple(literal(v) for v in value)
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return '"' + value.replace('"', '""') + '"'
    number = float(value)
    text = f"{number:.0f}" if number == int(number) and abs(number) < 1e15 else repr(number).upper()
    return f"({text})" if number < 0 else text


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


class _Translator:
    def __init__(self, cells: Cells, compute: Callable[[Node], Any], is_text: Callable[[Node], bool]) -> None:
        self.cells, self.compute, self.is_text = cells, compute, is_text

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
            return each(lambda a, b: f"{operator.upper()}({a},{b})", *parts)
        if operator in ("==", "!=") and self.is_text(node.operands[0]):
            # a spreadsheet's = does not tell small letters from large ones
            whole = "EXACT({},{})" if operator == "==" else "NOT(EXACT({},{}))"
            return each(whole.format, *parts)
        return each(lambda a, b: f"({a}{_INFIX.get(operator, operator)}{b})", *parts)

    def call(self, node: Call) -> Any:
        name = node.function
        if needs_value(Call(name, (), node.position)):
            return literal(self.compute(node))
        parts = [self.say(part) for part in node.arguments]
        if name in _UNARY:
            return each(_UNARY[name].format, parts[0])
        if name == "if":
            return each(lambda c, a, b: f"IF({c},{a},{b})", *parts)
        if name == "clamp":
            return each(lambda x, low, high: f"MAX(MIN({x},{high}),{low})", *parts)
        if name in ("min", "max") and len(parts) > 1:
            return each(lambda *vs: f"{name.upper()}({','.join(vs)})", *parts)
        items = parts[0] if isinstance(parts[0], tuple) else (parts[0],)
        if name == "len":
            return literal(float(len(items)))
        functions = {"min": "MIN", "max": "MAX", "sum": "SUM", "mean": "AVERAGE"}
        if name not in functions:
            raise FormulaError(f"`{name}` has no spreadsheet form", position=node.position)
        return f"{functions[name]}({','.join(items)})"
