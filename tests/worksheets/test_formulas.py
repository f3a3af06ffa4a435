"""The expression language: what it computes, what it refuses and where, its units, arrays and spreadsheet form."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.errors import InputError
from worksheets.formulas import arrays, excel, registry, scalar
from worksheets.formulas.dimensions import kind_of, kind_of_unit, say
from worksheets.formulas.syntax import FormulaError, Node, parse

NAMES = {"a": 2.0, "b": 3.0, "zero": 0.0, "t": "x", "yes": True, "steps": (1.0, 2.0, 4.0), "model-shape.n": 5.0}


def value(text: str) -> Any:
    return scalar.evaluate(parse(text), NAMES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", 7.0),
        ("2 ^ 3 ^ 2", 512.0),
        ("-2 ^ 2", -4.0),
        ("2 ^ -1", 0.5),
        ("a-b", -1.0),
        ("model-shape.n - a", 3.0),
        ("5[%] * 100", 5.0),
        ("1[GiB] / 1[B]", 2.0**30),
        ("if(t == \"x\", a, 1 / zero)", 2.0),
        ("yes or 1 / zero > 1", True),
        ("not a > b and yes", True),
        ("(a < b) == yes", True),
        ("ceil(0.3 / 0.1)", 3.0),
        ("round(2.5)", 3.0),
        ("round(-2.5)", -3.0),
        ("clamp(9, 1, 4)", 4.0),
        ("sum(steps)", 7.0),
        ("steps * 10", (10.0, 20.0, 40.0)),
        ("a ^ range(3)", (2.0, 4.0, 8.0)),
        ("at(steps, 3)", 4.0),
        ("max(steps)", 4.0),
        ("max(steps, a)", (2.0, 2.0, 4.0)),
        ("if(steps > 1, \"big\", \"small\")", ("small", "big", "big")),
    ],
)  # fmt: skip
def test_a_formula_computes(text: str, expected: Any) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("", "empty", 0),
        ("a +", "ends too early", 3),
        ("a b", "unexpected `b` at 3", 2),
        ("a = b", "write `==`", 2),
        ("a < b < 3", "do not chain", 6),
        ("(a", "`)` is missing", 2),
        ("3[furlong]", "unknown unit `furlong`", 0),
        ("1e999", "too large", 0),
        ("__import__('os')", "unknown function", 0),
        ("frob(1)", "unknown function `frob`", 0),
        ("if(a)", "takes 3 argument", 0),
        ("a ; b", "unexpected `;`", 2),
    ],
)
def test_a_formula_that_cannot_be_read_says_where(text: str, message: str, position: int) -> None:
    with pytest.raises(FormulaError, match=message.replace("(", r"\(").replace(")", r"\)")) as caught:
        value(text)
    assert caught.value.position == position


@pytest.mark.parametrize("text", ["1 / zero", "(0 - 1) ^ 0.5", "10 ^ 400", "sqrt(0 - 1)", "log(zero)", "a * t", "not a",
                                  "at(steps, 4)", "range(0)", "steps + [1, 2]", "a == t", "exp(1000)"])  # fmt: skip
def test_a_formula_without_a_finite_answer_is_refused(text: str) -> None:
    with pytest.raises(FormulaError):
        value(text)


@pytest.mark.parametrize("text", ["(" * 500 + "1" + ")" * 500, "+".join(["1"] * 900), "-" * 1500 + "1", "1" * 3000])
def test_an_endless_formula_is_refused_and_does_no_harm(text: str) -> None:
    with pytest.raises(FormulaError):
        value(text)


UNITS = {"size": "GB", "speed": "GB/s", "n": "count", "tokens": "tokens", "kind": "text", "on": "bool"}


def dimension(text: str) -> str:
    return say(kind_of(parse(text), lambda name: kind_of_unit(UNITS[name.name])))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("size / speed", "s"),
        ("6[FLOP/token] * n * tokens", "FLOP"),
        ("sqrt(size * size)", "B"),
        ("size ^ 2 / size", "B"),
        ("max(0, size)", "B"),
        ("if(on, size, 0)", "B"),
        ("size > 3[GiB] and kind == \"x\"", "bool"),
        ("sum([size, size])", "B"),
        ("exp(n)", "1"),
    ],
)  # fmt: skip
def test_units_of_a_formula_follow_from_its_names(text: str, expected: str) -> None:
    assert dimension(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "size + speed",
        "size + 1",
        "size > 1",
        "ceil(size)",
        "exp(size)",
        "size ^ n",
        "if(n, 1, 2)",
        "if(on, size, n)",
        "kind + 1",
        "max(size, n)",
        "kind < kind",
    ],
)
def test_units_that_do_not_fit_are_refused(text: str) -> None:
    with pytest.raises(InputError):
        dimension(text)


LEAVES = st.sampled_from(["a", "b", "c", "0", "1", "2.5", "0.001", "7"])
NUMBERS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "^"]), inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
        st.tuples(st.sampled_from(["ceil", "floor", "abs", "sqrt", "exp", "log", "log2", "-"]), inner).map(
            lambda p: f"{p[0]}({p[1]})"
        ),
        st.tuples(inner, inner, inner, inner).map(lambda p: f"if({p[0]} < {p[1]}, {p[2]}, {p[3]})"),
        st.tuples(inner, inner, inner).map(lambda p: f"if({p[0]} > 0 or {p[1]} >= {p[2]}, {p[2]}, 1)"),
        st.tuples(inner, inner).map(lambda p: f"max({p[0]}, {p[1]}, 1)"),
        st.tuples(inner, inner).map(lambda p: f"sum([{p[0]}, {p[1]}])"),
    ),
    max_leaves=12,
)
SAMPLES = st.lists(st.floats(-1e6, 1e6, allow_nan=False), min_size=3, max_size=3)


def singly(node: Node, names: dict[str, float]) -> float:
    try:
        return float(scalar.evaluate(node, names))
    except FormulaError:
        return math.nan


@given(NUMBERS, SAMPLES, SAMPLES, SAMPLES)
@settings(max_examples=150, deadline=None)
def test_many_samples_at_once_give_what_each_gives_alone(
    text: str, a: list[float], b: list[float], c: list[float]
) -> None:
    node = parse(text)
    try:
        together = arrays.evaluate(node, {"a": np.array(a), "b": np.array(b), "c": np.array(c)})
    except FormulaError:
        together = np.full(3, np.nan)
    alone = [singly(node, {"a": x, "b": y, "c": z}) for x, y, z in zip(a, b, c, strict=True)]
    np.testing.assert_allclose(np.broadcast_to(together, 3), alone, rtol=1e-9, atol=0, equal_nan=True)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_with_a_message(text: str) -> None:
    # any other exception fails the test
    with contextlib.suppress(FormulaError):
        assert parse(text) == parse(text)


def sheet_formula(text: str) -> Any:
    is_text: Callable[[Node], bool] = lambda node: "'x'" in text  # noqa: E731
    return excel.translate(parse(text), lambda n: f"${n.upper()}$1", lambda node: 42.0, is_text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-a ^ 2", "(-($A$1^2))"),
        ("2 ^ 3 ^ 2", "(2^(3^2))"),
        ("if(a != b and not (a < 1), 1, 2)", "IF(AND(($A$1<>$B$1),NOT(($A$1<1))),1,2)"),
        ("ceil(a / b)", "(-INT(-ROUND(($A$1/$B$1),9)))"),
        ("a == 'x'", 'EXACT($A$1,"x")'),
        ("log2(a) + log(a)", "(LOG($A$1,2)+LN($A$1))"),
        ("6[GiB] * a", "(6442450944*$A$1)"),
        ("sum([a, b])", "SUM($A$1,$B$1)"),
        ("[a, 2] * b", ("($A$1*$B$1)", "(2*$B$1)")),
        ("lookup('t', 'r', 'c')", "42"),
        ("a > 1 and b / a > 2", "IF(($A$1>1),(($B$1/$A$1)>2),FALSE)"),
        ("a > 1 or log(a) > 2", "IF(($A$1>1),TRUE,(LN($A$1)>2))"),
        ("at([a, b], 2)", "$B$1"),
        ("at([a, b], a)", "CHOOSE($A$1,$A$1,$B$1)"),
        ("a ^ range(2)", ("($A$1^1)", "($A$1^2)")),
        ("mean([a, b])", "(SUM($A$1,$B$1)/2)"),
        ("lcm(a, b)", "LCM($A$1,$B$1)"),
        ("running_total([a, b, 1])", ("($A$1)", "($A$1+$B$1)", "($A$1+$B$1+1)")),
    ],
)
def test_a_formula_becomes_a_spreadsheet_formula(text: str, expected: Any) -> None:
    registry.load("whole")
    registry.load("lists")
    assert sheet_formula(text) == expected


def test_a_name_that_may_have_no_value_is_not_asked_in_vain() -> None:
    fragile: Callable[[str], bool] = lambda name: name == "b"  # noqa: E731
    say: Callable[[str], Any] = lambda text: excel.translate(  # noqa: E731
        parse(text), str.upper, lambda node: 0.0, bool, fragile=fragile
    )
    assert say("a > 1 or b > 1") == "IF((A>1),TRUE,(B>1))"
    assert say("b > 1 or a > 1") == "OR((B>1),(A>1))"


def test_neighbouring_cells_are_spelt_as_a_range() -> None:
    cells = tuple(f"'my-sheet'!$V${row}" for row in range(6, 9))
    say: Callable[[str], Any] = lambda text: excel.translate(parse(text), lambda n: cells, lambda node: 0.0, bool)  # noqa: E731
    assert say("sum(steps)") == "SUM('my-sheet'!$V$6:$V$8)"
    assert say("max(steps * 2)") == f"MAX({','.join(f'({cell}*2)' for cell in cells)})"


def test_long_texts_are_cut_into_the_pieces_a_spreadsheet_takes() -> None:
    assert excel.literal("a" * 250) == f'("{"a" * 240}"&"{"a" * 10}")'


def test_what_has_no_spreadsheet_form_is_told() -> None:
    registry.load("optimum")
    assert excel.fixed(parse("interval_band(a, b, 1) + range(a) + lookup('t', 'r', 'c') + range(3)")) == (
        "interval_band",
        "range",
        "lookup",
    )
    assert excel.fixed(parse("lookup('t', 'r', 'c')"), tables=True) == ()


def test_a_look_up_follows_the_row_it_is_given() -> None:
    lookup: excel.Lookup = lambda table, row, column: f"{table}[{row},{column}]"  # noqa: E731
    text = excel.translate(parse("2 * lookup('t', kind, 'c')"), lambda n: "$A$1", lambda node: 0.0, bool, lookup)
    assert text == "(2*t[$A$1,c])"
