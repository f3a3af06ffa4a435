"""The formula language: its tokens, its tree, and a parser that says where a formula goes wrong.

Numbers (a constant with a unit is `6[FLOP/token]`), "texts", true and false, lists `[1, 2]`, names, names of other
sheets (`model-shape.params_total`), `+ - * / ^`, comparisons, `and or not`, and calls such as `if(a, b, c)`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, NoReturn

from common.errors import InputError
from worksheets.units import Unit, unit

MAX_LENGTH = 2000
MAX_DEPTH = 60
MAX_TOKENS = 400
_SPLIT = "split it into rows with `show: false`"


class FormulaError(InputError):
    """A formula that cannot be read or computed; `position` counts characters from 0."""

    def __init__(self, message: str, *, position: int | None = None, fix: str | None = None) -> None:
        self.position = position
        super().__init__(message, fix=fix)


@dataclass(frozen=True, slots=True)
class Number:
    """A constant. `value` is in base units; `given` is what the author wrote before the unit."""

    value: float
    given: str
    unit: Unit | None
    position: int


@dataclass(frozen=True, slots=True)
class Constant:
    """A text, or true or false."""

    value: str | bool
    position: int


@dataclass(frozen=True, slots=True)
class Name:
    """An input or a row: `hidden`, `mfu.high` or `model-shape.params_total`."""

    name: str
    position: int


@dataclass(frozen=True, slots=True)
class Listed:
    """A list written out."""

    items: tuple[Node, ...]
    position: int


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator over one value (`-`, `not`) or two."""

    operator: str
    operands: tuple[Node, ...]
    position: int


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the language or of the registry, with its arguments."""

    function: str
    arguments: tuple[Node, ...]
    position: int


Node = Number | Constant | Name | Listed | Operation | Call

_TOKENS = re.compile(
    r"""\s*(?:
      (?P<number>(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?P<unit>\[[^\]\[]*\])?
    | (?P<name>[A-Za-z_]\w*(?:(?:-\w+)*(?:\.[A-Za-z_]\w*)+)?)
    | (?P<text>"[^"\n]*"|'[^'\n]*')
    | (?P<mark><=|>=|==|!=|[-+*/^<>(),\[\]])
    )""",
    re.VERBOSE,
)
_BINDING = {
    "or": 1, "and": 2,
    "==": 4, "!=": 4, "<": 4, "<=": 4, ">": 4, ">=": 4,
    "+": 5, "-": 5, "*": 6, "/": 6, "^": 8,
}  # fmt: skip
COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
_NOT, _NEGATE = 3, 7
_MISTAKES = {"=": "write `==`", "&": "write `and`", "|": "write `or`", "!": "write `not`", "%": "write 0.05 or 5[%]"}


class _Token(NamedTuple):
    kind: str
    text: str
    unit: str | None
    position: int


@cache
def parse(text: str) -> Node:
    """The tree of a formula.

    Raises:
        FormulaError: with the position of what cannot be read.
    """
    if len(text) > MAX_LENGTH:
        raise FormulaError(f"formula has more than {MAX_LENGTH} characters", fix=_SPLIT)
    return _Parser(text).whole()


def names(node: Node) -> Iterator[Name]:
    """Every name in a tree, in the order of the text."""
    if isinstance(node, Name):
        yield node
    for part in parts(node):
        yield from names(part)


def parts(node: Node) -> tuple[Node, ...]:
    """The trees a tree is made of."""
    match node:
        case Operation():
            return node.operands
        case Call():
            return node.arguments
        case Listed():
            return node.items
    return ()


def calls(node: Node) -> Iterator[Call]:
    """Every call in a tree."""
    if isinstance(node, Call):
        yield node
    for part in parts(node):
        yield from calls(part)


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(self._tokens())
        if len(self.tokens) > MAX_TOKENS:
            raise FormulaError(f"formula has more than {MAX_TOKENS} parts", fix=_SPLIT)
        self.at = 0
        self.depth = 0

    def _tokens(self) -> Iterator[_Token]:
        at, end = 0, len(self.text.rstrip())
        while at < end:
            found = _TOKENS.match(self.text, at)
            if found is None or found.lastgroup is None:
                start = at + len(self.text[at:]) - len(self.text[at:].lstrip())
                sign = self.text[start]
                raise FormulaError(f"unexpected `{sign}` at {start + 1}", position=start, fix=_MISTAKES.get(sign))
            kind = "number" if found["number"] else found.lastgroup
            yield _Token(kind, found[kind], found["unit"], found.start(kind))
            at = found.end()

    def whole(self) -> Node:
        if not self.tokens:
            raise FormulaError("formula is empty", position=0, fix="write one, such as `a * b`")
        tree = self._expression(0)
        if self.at < len(self.tokens):
            self._unexpected()
        return tree

    @property
    def _next(self) -> _Token | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def _unexpected(self) -> NoReturn:
        token = self._next
        if token is None:
            raise FormulaError("formula ends too early", position=len(self.text), fix="something is missing at the end")
        raise FormulaError(f"unexpected `{token.text}` at {token.position + 1}", position=token.position)

    def _take(self, text: str) -> None:
        token = self._next
        if token is None or token.text != text:
            where = len(self.text) if token is None else token.position
            raise FormulaError(f"`{text}` is missing at {where + 1}", position=where)
        self.at += 1

    def _expression(self, binding: int) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise FormulaError("formula is nested too deep", fix=_SPLIT)
        left, compared = self._first(), False
        while (token := self._next) is not None and (power := _operator(token)) is not None and power > binding:
            if compared and token.text in COMPARISONS:
                where = token.position
                fix = "write `a < b and b < c`"
                raise FormulaError(f"comparisons do not chain at {where + 1}", position=where, fix=fix)
            self.at += 1
            # a power binds to the right: 2^3^2 is 2^9
            right = self._expression(power - 1 if token.text == "^" else power)
            left = Operation(token.text, (left, right), token.position)
            compared = token.text in COMPARISONS
        self.depth -= 1
        return left

    def _first(self) -> Node:
        token = self._next
        if token is None:
            self._unexpected()
        self.at += 1
        if token.kind == "number":
            return _number(token)
        if token.kind == "text":
            return Constant(token.text[1:-1], token.position)
        if token.kind == "name":
            return self._named(token)
        if token.text == "-":
            return Operation("-", (self._expression(_NEGATE),), token.position)
        if token.text == "(":
            inner = self._expression(0)
            self._take(")")
            return inner
        if token.text == "[":
            return Listed(self._items("]"), token.position)
        self.at -= 1
        return self._unexpected()

    def _named(self, token: _Token) -> Node:
        if token.text == "not":
            return Operation("not", (self._expression(_NOT),), token.position)
        if token.text in ("true", "false"):
            return Constant(token.text == "true", token.position)
        if token.text in ("and", "or"):
            self.at -= 1
            self._unexpected()
        following = self._next
        if following is not None and following.text == "(" and "." not in token.text:
            self.at += 1
            return Call(token.text, self._items(")"), token.position)
        return Name(token.text, token.position)

    def _items(self, closing: str) -> tuple[Node, ...]:
        found: list[Node] = []
        if (token := self._next) is not None and token.text == closing:
            self.at += 1
            return ()
        while True:
            found.append(self._expression(0))
            token = self._next
            if token is not None and token.text == ",":
                self.at += 1
                continue
            self._take(closing)
            return tuple(found)


def _operator(token: _Token) -> int | None:
    return _BINDING.get(token.text) if token.kind in ("mark", "name") else None


def _number(token: _Token) -> Number:
    value = float(token.text.replace("_", ""))
    if not math.isfinite(value):
        raise FormulaError(f"`{token.text}` is too large", position=token.position)
    if token.unit is None:
        return Number(value, token.text, None, token.position)
    try:
        given = unit(token.unit[1:-1])
    except InputError as error:
        raise FormulaError(f"{error.message} at {token.position + 1}", position=token.position, fix=error.fix) from None
    return Number(value * given.factor, token.text, given, token.position)
