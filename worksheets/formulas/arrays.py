"""Computes a formula over many samples at once with numpy; a sample that has no finite answer becomes NaN.

Yes and no are 1 and 0, texts stay texts. numpy loads with the first use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from common.errors import InputError
from worksheets.formulas import registry
from worksheets.formulas.scalar import Lookup, check_arity, each, gathered, run
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

Array = Any
"""A float array, an object array of texts, or a tuple of these."""


def evaluate(node: Node, values: Mapping[str, Any], lookup: Lookup | None = None) -> Array:
    """The values of a formula; names stand for numbers, texts, arrays of samples, or tuples of these."""
    with np.errstate(all="ignore"):
        return _Evaluator(values, lookup).run(node)


def _finite(values: Array) -> Array:
    return np.where(np.isfinite(values), values, np.nan)


def _given(value: Any) -> Array:
    if isinstance(value, tuple):
        return tuple(_given(v) for v in value)
    if isinstance(value, str):
        return np.asarray(value, dtype=object)
    array = np.asarray(value)
    return array if array.dtype == object else array.astype(float)


class _Evaluator:
    def __init__(self, values: Mapping[str, Any], lookup: Lookup | None) -> None:
        self.values, self.lookup = values, lookup

    def run(self, node: Node) -> Array:
        match node:
            case Number() | Constant():
                return _given(node.value)
            case Name():
                return _given(self.values[node.name])
            case Listed():
                return tuple(self.run(item) for item in node.items)
            case Operation():
                return self.operation(node)
            case Call():
                return self.call(node)

    def operation(self, node: Operation) -> Array:
        operator = node.operator
        if operator in ("and", "or"):
            return self.both(node)
        operands = [self.run(part) for part in node.operands]
        if operator == "not":
            return each(lambda v: 1 - v, *operands)
        if len(operands) == 1:
            return each(lambda v: -v, *operands)
        return each(_COMPARE[operator] if operator in COMPARISONS else _ARITHMETIC[operator], *operands)

    def call(self, node: Call) -> Array:
        check_arity(node)
        name = node.function
        if name == "if":
            return self.choice(node)
        arguments = [self.run(part) for part in node.arguments]
        if name in _UNARY:
            return each(lambda v: _finite(_UNARY[name](v)), arguments[0])
        if name in ("min", "max"):
            pick = np.minimum if name == "min" else np.maximum
            if len(arguments) == 1:
                return _folded(pick, arguments[0])
            return each(lambda *vs: _folded(pick, vs), *arguments)
        if name == "clamp":
            return each(lambda x, low, high: np.maximum(np.minimum(x, high), low), *arguments)
        if name in ("sum", "mean"):
            total = _folded(np.add, arguments[0])
            return _finite(total if name == "sum" else total / len(arguments[0]))
        if name == "len":
            return _given(float(len(arguments[0])))
        if name == "at":
            return _picked(arguments[0], arguments[1])
        return self.singly(node, arguments)

    def both(self, node: Operation) -> Array:
        """`and`, `or`: what the first operand decides in all samples asks for no second."""
        first = self.run(node.operands[0])
        if _uniform(first) == (1.0 if node.operator == "or" else 0.0):
            return first
        second = self.run(node.operands[1])
        if _uniform(first) is None:
            _refuse_lists_in_some(node, first, second, first)
        return each(_both(node.operator), first, second)

    def choice(self, node: Call) -> Array:
        condition = self.run(node.arguments[0])
        uniform = _uniform(condition)
        if uniform is not None:
            # one branch for all samples: the other may be impossible to compute
            taken = self.run(node.arguments[1 if uniform else 2])
            return each(lambda v: np.broadcast_arrays(v, condition)[0], taken)
        then, otherwise = self.run(node.arguments[1]), self.run(node.arguments[2])
        _refuse_lists_in_some(node, condition, then, otherwise)
        return each(_chosen, condition, then, otherwise)

    def singly(self, node: Call, arguments: list[Array]) -> Array:
        """Functions that know no arrays run once per sample."""
        known = registry.get(node.function)
        if known is not None and known.arrays is not None:
            return each(_together(known.arrays), *arguments)
        flat, lengths = [], []
        for argument in arguments:
            parts = argument if isinstance(argument, tuple) else (argument,)
            flat += list(parts)
            lengths.append(len(parts) if isinstance(argument, tuple) else 0)
        wide = np.broadcast_arrays(*flat)
        # few inputs are drawn, so that the same arguments come again and again
        samples = list(zip(*(w.ravel().tolist() for w in wide), strict=True))
        answers = {sample: self.once(node, sample, lengths) for sample in set(samples)}
        results = [answers[sample] for sample in samples]
        shape = wide[0].shape
        if results and all(isinstance(r, tuple) for r in results):
            return tuple(_given(list(column)).reshape(shape) for column in zip(*results, strict=True))
        texts = any(isinstance(r, str) for r in results)
        return np.asarray(results, dtype=object if texts else float).reshape(shape)

    def once(self, node: Call, sample: tuple[Any, ...], lengths: list[int]) -> Any:
        arguments: list[Any] = []
        at = 0
        for length in lengths:
            arguments.append(sample[at : at + length] if length else sample[at])
            at += max(length, 1)
        if any(a is None or a != a for a in arguments):
            return np.nan
        try:
            if node.function == "lookup" and self.lookup is not None:
                return self.lookup(*(str(a) for a in arguments))
            if node.function == "range":
                return gathered(node, arguments)
            known = registry.get(node.function)
            if known is None:
                raise FormulaError(f"`{node.function}` cannot run here", position=node.position)
            return run(known, *arguments)
        except InputError:
            return np.nan


def _together(call: Callable[..., Array]) -> Callable[..., Array]:
    def apply(*arguments: Array) -> Array:
        wide = np.broadcast_arrays(*arguments)
        found = call(*(w.ravel() for w in wide))
        parts = found if isinstance(found, tuple) else (found,)
        shaped = tuple(_finite(part).reshape(wide[0].shape) for part in parts)
        return shaped if isinstance(found, tuple) else shaped[0]

    return apply


def _uniform(condition: Array) -> float | None:
    """What a condition is in all samples alike."""
    found = None if isinstance(condition, tuple) else np.unique(condition)
    return None if found is None or len(found) != 1 or np.isnan(found[0]) else float(found[0])


def _refuse_lists_in_some(node: Node, condition: Array, one: Array, other: Array) -> None:
    if not isinstance(condition, tuple) and isinstance(one, tuple) is not isinstance(other, tuple):
        raise FormulaError("a list in some samples and a single value in others", position=node.position)


def _both(operator: str) -> Callable[[Array, Array], Array]:
    decides = 1.0 if operator == "or" else 0.0

    def apply(a: Array, b: Array) -> Array:
        rest = np.where(np.isnan(a), np.nan, b)
        return np.where(a == decides, decides, rest)

    return apply


def _compared(compare: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    def apply(a: Array, b: Array) -> Array:
        if a.dtype == object or b.dtype == object:
            # among texts None and NaN are no answer
            nothing: Any = None
            unknown = (a == nothing) | (b == nothing) | (a != a) | (b != b)
            return np.where(unknown.astype(bool), np.nan, compare(a, b).astype(float))
        return np.where(np.isnan(a) | np.isnan(b), np.nan, compare(a, b))

    return apply


def _chosen(condition: Array, then: Array, otherwise: Array) -> Array:
    unknown: Any = None if then.dtype == object else np.nan
    return np.where(np.isnan(condition), unknown, np.where(condition != 0, then, otherwise))


def _folded(combine: Callable[[Array, Array], Array], items: tuple[Array, ...]) -> Array:
    total = items[0]
    for item in items[1:]:
        total = combine(total, item)
    return total


def _picked(items: tuple[Array, ...], index: Array) -> Array:
    found = np.full(np.broadcast_shapes(*(i.shape for i in items), index.shape), np.nan)
    for place, item in enumerate(items, start=1):
        found = np.where(index == place, item, found)
    return found


_ARITHMETIC: dict[str, Callable[[Array, Array], Array]] = {
    "+": lambda a, b: _finite(a + b),
    "-": lambda a, b: _finite(a - b),
    "*": lambda a, b: _finite(a * b),
    "/": lambda a, b: _finite(a / b),
    # numpy says 1 for NaN to the power 0
    "^": lambda a, b: np.where(np.isnan(a) | np.isnan(b), np.nan, _finite(np.power(a, b))),
}
_COMPARE = {
    "<": _compared(np.less),
    "<=": _compared(np.less_equal),
    ">": _compared(np.greater),
    ">=": _compared(np.greater_equal),
    "==": _compared(lambda a, b: np.asarray(a == b)),
    "!=": _compared(lambda a, b: np.asarray(a != b)),
}


def _steady(values: Array) -> Array:
    # numpy's round multiplies first and so loses large numbers; they have no digits to round anyway
    return np.where(np.abs(values) < 1e6, np.round(values, 9), values)


_UNARY: dict[str, Callable[[Array], Array]] = {
    "abs": np.abs,
    "ceil": lambda x: np.ceil(_steady(x)),
    "floor": lambda x: np.floor(_steady(x)),
    "round": lambda x: np.copysign(np.floor(np.abs(_steady(x)) + 0.5), x),
    "sqrt": np.sqrt,
    "exp": np.exp,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
}
