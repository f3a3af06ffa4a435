"""Computes a formula with plain numbers; every result is finite, or an error says which part is not."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from common.yamlfile import nearest
from worksheets.formulas import registry
from worksheets.formulas.syntax import (
    COMPARISONS,
    Call,
    Constant,
    FormulaError,
    Listed,
    Name,
    Node,
    Number,
    Operation,
)

Value = Any
"""A float, a bool, a text, or a tuple of these. Numbers are in base units."""
Scope = Callable[[str], Value]
Lookup = Callable[[str, str, str], Value]
Program = Callable[[Scope], Value]


def compile_formula(node: Node, lookup: Lookup | None = None) -> Program:
    """A formula as a function of what its names stand for."""
    match node:
        case Number() | Constant():
            constant = node.value
            return lambda scope: constant
        case Name():
            name = node.name
            return lambda scope: scope(name)
        case Listed():
            items = [compile_formula(item, lookup) for item in node.items]
            return lambda scope: tuple(item(scope) for item in items)
        case Operation():
            return _operation(node, lookup)
        case Call():
            return _call(node, lookup)


def evaluate(node: Node, values: Mapping[str, Value], lookup: Lookup | None = None) -> Value:
    """The value of a formula over named values."""
    return compile_formula(node, lookup)(values.__getitem__)


def each(apply: Callable[..., Value], *values: Value) -> Value:
    """Applies a function to values; lists go item by item, and must then be equally long."""
    lengths = {len(v) for v in values if isinstance(v, tuple)}
    if not lengths:
        return apply(*values)
    if len(lengths) > 1:
        raise FormulaError("lists of different length: " + " and ".join(str(n) for n in sorted(lengths)))
    length = lengths.pop()
    return tuple(each(apply, *(v[i] if isinstance(v, tuple) else v for v in values)) for i in range(length))


def _operation(node: Operation, lookup: Lookup | None) -> Program:
    programs = [compile_formula(part, lookup) for part in node.operands]
    if node.operator == "not":
        inner = programs[0]
        return lambda scope: each(lambda v: not _truth(v, node), inner(scope))
    if len(programs) == 1:
        negated = programs[0]
        return lambda scope: each(lambda v: -_numeric(v, node), negated(scope))
    left, right = programs
    if node.operator in ("and", "or"):
        decides = node.operator == "or"

        def decide(scope: Scope) -> Value:
            first = left(scope)
            if not isinstance(first, tuple) and _truth(first, node) is decides:
                return decides
            both = any if decides else all
            return each(lambda a, b: both((_truth(a, node), _truth(b, node))), first, right(scope))

        return decide
    apply = _comparison(node) if node.operator in COMPARISONS else _arithmetic(node)

    def run(scope: Scope) -> Value:
        a, b = left(scope), right(scope)
        if type(a) is tuple or type(b) is tuple:
            return each(apply, a, b)
        return apply(a, b)

    return run


def _arithmetic(node: Operation) -> Callable[[Value, Value], float]:
    operator = node.operator

    def apply(a: Value, b: Value) -> float:
        if type(a) is not float or type(b) is not float:
            a, b = _numeric(a, node), _numeric(b, node)
        try:
            if operator == "*":
                result = a * b
            elif operator == "+":
                result = a + b
            elif operator == "/":
                result = a / b
            elif operator == "-":
                result = a - b
            else:
                result = a**b
        except ZeroDivisionError:
            raise FormulaError(f"divides by zero at {node.position + 1}", position=node.position) from None
        except OverflowError:
            result = math.inf
        if type(result) is complex or not math.isfinite(result):
            raise FormulaError(f"no finite number at {node.position + 1}", position=node.position)
        return float(result)

    return apply


def _comparison(node: Operation) -> Callable[[Value, Value], bool]:
    operator = node.operator

    def apply(a: Value, b: Value) -> bool:
        if operator in ("==", "!="):
            if type(a) is not type(b):
                raise FormulaError(f"compares a {kind(a)} with a {kind(b)} at {node.position + 1}")
            return bool(a == b) is (operator == "==")
        left, right = _numeric(a, node), _numeric(b, node)
        if operator == "<":
            return left < right
        if operator == "<=":
            return left <= right
        return left > right if operator == ">" else left >= right

    return apply


def kind(value: Value) -> str:
    """What a value is, in a word."""
    if isinstance(value, tuple):
        return "list"
    return "yes/no" if isinstance(value, bool) else "text" if isinstance(value, str) else "number"


def _numeric(value: Value, node: Operation | Call) -> float:
    if type(value) is float:
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    raise FormulaError(f"needs a number, not a {kind(value)}, at {node.position + 1}", position=node.position)


def _truth(value: Value, node: Operation | Call) -> bool:
    if isinstance(value, bool):
        return value
    raise FormulaError(f"needs yes or no, not a {kind(value)}, at {node.position + 1}", position=node.position)


def steady(value: float) -> float:
    """A number without the noise of the last bits, so that 3.0000000000000004 GPUs are 3 and not 4."""
    return round(value, 9)


def half_up(value: float) -> float:
    """The nearest whole number, halves away from zero as spreadsheets round."""
    return math.copysign(math.floor(abs(steady(value)) + 0.5), value)


_UNARY: dict[str, Callable[[float], float]] = {
    "abs": abs,
    "ceil": lambda x: float(math.ceil(steady(x))),
    "floor": lambda x: float(math.floor(steady(x))),
    "round": half_up,
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
    "log2": math.log2,
    "log10": math.log10,
}


def run(known: registry.Function, *arguments: Value) -> Value:
    """What a registered function says, item by item over lists unless it takes them whole."""
    return known.call(*arguments) if known.lists else each(known.call, *arguments)


def check_arity(node: Call) -> None:
    """Refuses unknown functions and a wrong number of arguments."""
    known = registry.get(node.function)
    if known is not None:
        least = most = len(known.takes)
    elif node.function in registry.BUILTINS:
        least, most_or_none = registry.BUILTINS[node.function]
        most = 1000 if most_or_none is None else most_or_none
    else:
        raise FormulaError(
            f"unknown function `{node.function}` at {node.position + 1}",
            position=node.position,
            fix=nearest(node.function, registry.names()),
        )
    if not least <= len(node.arguments) <= most:
        wanted = str(least) if least == most else f"at least {least}"
        raise FormulaError(
            f"`{node.function}` takes {wanted} argument(s), not {len(node.arguments)}", position=node.position
        )


def _call(node: Call, lookup: Lookup | None) -> Program:
    check_arity(node)
    name = node.function
    programs = [compile_formula(part, lookup) for part in node.arguments]
    if name == "if":
        return _choice(node, programs)
    if (known := registry.get(name)) is not None:
        return lambda scope: checked(node, run(known, *(p(scope) for p in programs)))
    if name in _UNARY:
        function, inner = _UNARY[name], programs[0]
        return lambda scope: each(lambda v: _guarded(node, function, v), inner(scope))
    if name == "lookup":
        return lambda scope: found(node, lookup, [p(scope) for p in programs])
    return lambda scope: gathered(node, [p(scope) for p in programs])


def _choice(node: Call, programs: list[Program]) -> Program:
    condition, then, otherwise = programs

    def choose(scope: Scope) -> Value:
        held = condition(scope)
        if isinstance(held, tuple):
            return each(lambda c, a, b: a if _truth(c, node) else b, held, then(scope), otherwise(scope))
        return then(scope) if _truth(held, node) else otherwise(scope)

    return choose


def _guarded(node: Call, function: Callable[[float], float], value: Value) -> float:
    argument = _numeric(value, node)
    try:
        result = float(function(argument))
    except (ValueError, OverflowError):
        result = math.nan
    if not math.isfinite(result):
        raise FormulaError(
            f"`{node.function}` of {argument:g} is no finite number at {node.position + 1}", position=node.position
        )
    return result


def gathered(node: Call, values: list[Value]) -> Value:
    """min, max, clamp, and the functions over a list."""
    name = node.function
    if name in ("min", "max"):
        pick = min if name == "min" else max
        if len(values) == 1:
            return pick(_numeric(v, node) for v in _items(values[0], node))
        return each(lambda *vs: pick(_numeric(v, node) for v in vs), *values)
    if name == "clamp":
        return each(lambda *vs: max(min(_numeric(vs[0], node), _numeric(vs[2], node)), _numeric(vs[1], node)), *values)
    if name == "range":
        count = int(_numeric(values[0], node))
        if not 1 <= count <= 1000:
            raise FormulaError(f"`range` counts from 1 to at most 1000, not to {count}", position=node.position)
        return tuple(float(i) for i in range(1, count + 1))
    items = _items(values[0], node)
    if name == "len":
        return float(len(items))
    if name == "at":
        index = _numeric(values[1], node)
        if index != int(index) or not 1 <= index <= len(items):
            raise FormulaError(f"a list of {len(items)} has no item {index:g}", position=node.position)
        return items[int(index) - 1]
    total = math.fsum(_numeric(v, node) for v in items)
    return checked(node, total if name == "sum" else total / len(items))


def _items(value: Value, node: Call) -> tuple[Value, ...]:
    if not isinstance(value, tuple):
        raise FormulaError(f"`{node.function}` needs a list at {node.position + 1}", position=node.position)
    if not value:
        raise FormulaError(f"`{node.function}` of an empty list at {node.position + 1}", position=node.position)
    return value


def found(node: Call, lookup: Lookup | None, values: list[Value]) -> Value:
    """A cell of a reference table."""
    if lookup is None:
        raise FormulaError("no reference tables here", position=node.position)
    table, row, column = (str(v) for v in values)
    return lookup(table, row, column)


def checked(node: Call, value: Value) -> Value:
    """What a function returned, refused when it is no finite number."""
    if isinstance(value, tuple | list):
        return tuple(checked(node, v) for v in value)
    if isinstance(value, bool | str):
        return value
    if value is None or not math.isfinite(value):
        raise FormulaError(f"`{node.function}` has no answer here", position=node.position)
    return float(value)
