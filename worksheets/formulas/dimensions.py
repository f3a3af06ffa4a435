"""Whether a formula's units fit: adds only equal dimensions, compares like with like, roots and powers stay whole."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from worksheets.formulas import registry
from worksheets.formulas.scalar import check_arity
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
from worksheets.units import BOOL, TEXT, Dimension, multiply, spell, unit

Kind = Dimension | str | None
"""A dimension, `text`, `bool`, or None for a zero, which fits every unit. A list has the kind of its items."""

PURE: Dimension = {}


def kind_of_unit(text: str) -> Kind:
    """The kind of a declared unit."""
    return text if text in (TEXT, BOOL) else unit(text).dimension


def kind_of(node: Node, of_name: Callable[[Name], Kind], of_cell: Callable[[str, str], str] | None = None) -> Kind:
    """The kind of a formula; `of_cell` gives the unit of a table's column.

    Raises:
        FormulaError: where units do not fit, with the position.
    """
    return _Checker(of_name, of_cell).kind(node)


def say(kind: Kind) -> str:
    """A kind for messages."""
    return "any unit" if kind is None else kind if isinstance(kind, str) else spell(kind)


class _Checker:
    def __init__(self, of_name: Callable[[Name], Kind], of_cell: Callable[[str, str], str] | None) -> None:
        self.of_name, self.of_cell = of_name, of_cell

    def kind(self, node: Node) -> Kind:
        match node:
            case Number():
                return (None if node.value == 0 else PURE) if node.unit is None else node.unit.dimension
            case Constant():
                return BOOL if isinstance(node.value, bool) else TEXT
            case Name():
                return self.of_name(node)
            case Listed():
                return self.same(node.items, node, "a list holds")
            case Operation():
                return self.operation(node)
            case Call():
                return self.call(node)

    def number(self, node: Node) -> Dimension:
        kind = self.kind(node)
        if isinstance(kind, str):
            raise FormulaError(f"needs a number, not {kind}, at {node.position + 1}", position=node.position)
        return PURE if kind is None else kind

    def same(self, nodes: tuple[Node, ...], at: Node, does: str) -> Kind:
        result: Kind = None
        for node in nodes:
            kind = self.kind(node)
            if kind is None:
                continue
            if result is not None and result != kind:
                raise FormulaError(
                    f"{does} {say(result)} and {say(kind)} at {at.position + 1}",
                    position=at.position,
                    fix="give the constants their unit, as in 6[FLOP/token]",
                )
            result = kind
        return result

    def truth(self, node: Node) -> None:
        if (kind := self.kind(node)) != BOOL:
            raise FormulaError(f"needs yes or no, not {say(kind)}, at {node.position + 1}", position=node.position)

    def operation(self, node: Operation) -> Kind:
        operator, operands = node.operator, node.operands
        if operator in ("and", "or", "not"):
            for part in operands:
                self.truth(part)
            return BOOL
        if operator in COMPARISONS:
            kind = self.same(operands, node, "compares")
            if isinstance(kind, str) and operator not in ("==", "!="):
                raise FormulaError(f"`{operator}` needs numbers at {node.position + 1}", position=node.position)
            return BOOL
        if operator in ("+", "-"):
            kind = self.same(operands, node, "adds" if operator == "+" else "subtracts")
            if isinstance(kind, str):
                raise FormulaError(f"needs numbers, not {kind}, at {node.position + 1}", position=node.position)
            return kind
        left, right = (self.number(part) for part in operands)
        if operator == "^":
            return self.power(node, left, right)
        return multiply(left, right, Fraction(1 if operator == "*" else -1))

    def power(self, node: Operation, base: Dimension, exponent: Dimension) -> Kind:
        self.pure(exponent, node.operands[1], "a power")
        if not base:
            return PURE
        value = _whole(node.operands[1])
        if value is None:
            raise FormulaError(
                f"{spell(base)} to a power that is no plain number at {node.position + 1}", position=node.position
            )
        return multiply({}, base, value)

    def pure(self, kind: Dimension, node: Node, what: str) -> None:
        if kind:
            raise FormulaError(
                f"{what} needs a number without unit, not {spell(kind)}, at {node.position + 1}",
                position=node.position,
                fix=f"divide by 1[{spell(kind)}] or the unit you count in",
            )

    def call(self, node: Call) -> Kind:
        check_arity(node)
        name, arguments = node.function, node.arguments
        if (known := registry.get(name)) is not None:
            for argument, wanted in zip(arguments, known.takes, strict=True):
                kind = self.kind(argument)
                if kind is not None and kind != kind_of_unit(wanted):
                    raise FormulaError(
                        f"`{name}` takes {wanted}, not {say(kind)}, at {argument.position + 1}",
                        position=argument.position,
                    )
            return kind_of_unit(known.gives)
        if name == "if":
            self.truth(arguments[0])
            return self.same(arguments[1:], node, "chooses between")
        if name in ("min", "max", "clamp", "abs", "sum", "mean"):
            kind = self.same(arguments, node, "compares")
            if isinstance(kind, str):
                raise FormulaError(f"`{name}` needs numbers at {node.position + 1}", position=node.position)
            return kind
        if name == "sqrt":
            return multiply({}, self.number(arguments[0]), Fraction(1, 2))
        if name == "at":
            self.pure(self.number(arguments[1]), arguments[1], "an index")
            return self.kind(arguments[0])
        if name == "lookup":
            return self.lookup(node)
        if name != "len":
            self.pure(self.number(arguments[0]), arguments[0], f"`{name}`")
        return PURE

    def lookup(self, node: Call) -> Kind:
        table, row, column = node.arguments
        if not (isinstance(table, Constant) and isinstance(column, Constant)):
            raise FormulaError("`lookup` takes table and column as written texts", position=node.position)
        if self.kind(row) != TEXT:
            raise FormulaError("`lookup` takes the row as text", position=row.position)
        if self.of_cell is None:
            raise FormulaError("no reference tables here", position=node.position)
        return kind_of_unit(self.of_cell(str(table.value), str(column.value)))


def _whole(node: Node) -> Fraction | None:
    if isinstance(node, Number):
        return Fraction(node.value).limit_denominator(100)
    if isinstance(node, Operation) and node.operator == "-" and len(node.operands) == 1:
        inner = _whole(node.operands[0])
        return None if inner is None else -inner
    return None
