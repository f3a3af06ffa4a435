"""The Python functions that formulas call, against published figures and by their properties."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worksheets.formulas.arrays import evaluate as over_samples
from worksheets.formulas.registry import load
from worksheets.formulas.scalar import evaluate
from worksheets.formulas.syntax import FormulaError, parse
from worksheets.functions.clos import even_spines, three_tier_spines
from worksheets.functions.lists import running_total
from worksheets.functions.optimum import interval_band
from worksheets.functions.payback import payback
from worksheets.functions.poisson import MANY, poisson_covered, poisson_exactly, poisson_spares


@pytest.mark.parametrize(
    ("nodes", "rate", "spares"),
    [(32, 4, 2), (32, 22, 5), (128, 4, 4), (128, 22, 13), (2048, 4, 33), (2048, 22, 155)],
)
def test_spares_for_a_repair_of_three_days(nodes: int, rate: float, spares: int) -> None:
    assert poisson_spares(nodes * rate / 1000 * 3, 0.95) == spares


@settings(max_examples=60, deadline=None)
@given(expected=st.floats(0, 800), target=st.floats(0.5, 0.9999))
def test_spares_cover_the_target_and_one_less_does_not(expected: float, target: float) -> None:
    def covered(spares: float) -> float:
        terms = (math.exp(k * math.log(expected) - expected - math.lgamma(k + 1)) for k in range(int(spares) + 1))
        return math.fsum(terms)

    spares = poisson_spares(expected, target)
    if expected > 0:
        assert covered(spares) >= target - 1e-9
        assert spares == 0 or covered(spares - 1) < target + 1e-9


def test_spares_for_very_many_failures_meet_those_of_many() -> None:
    assert poisson_spares(MANY + 1, 0.99) == pytest.approx(poisson_spares(MANY, 0.99) + 1, abs=2)
    assert poisson_spares(0, 0.95) == 0


@pytest.mark.parametrize(("expected", "target"), [(-1, 0.9), (1, 0), (1, 1)])
def test_spares_for_what_cannot_be_are_refused(expected: float, target: float) -> None:
    with pytest.raises(FormulaError):
        poisson_spares(expected, target)


@settings(max_examples=60, deadline=None)
@given(expected=st.floats(0, 800), spares=st.integers(0, 900))
def test_the_chance_that_spares_suffice_grows_by_what_each_one_more_covers(expected: float, spares: int) -> None:
    covered, more = poisson_covered(expected, spares), poisson_covered(expected, spares + 1)
    assert 0 <= covered <= more <= 1
    assert more - covered == pytest.approx(poisson_exactly(expected, spares + 1), abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(expected=st.floats(0.01, 800), target=st.floats(0.5, 0.9999))
def test_the_fewest_spares_that_cover_do_cover_and_one_less_does_not(expected: float, target: float) -> None:
    spares = poisson_spares(expected, target)
    assert poisson_covered(expected, spares) >= target - 1e-9
    assert spares == 0 or poisson_covered(expected, spares - 1) < target + 1e-9


def test_chances_of_very_many_failures_meet_those_of_many() -> None:
    spares = MANY + 100
    assert poisson_covered(MANY + 1e-6, spares) == pytest.approx(poisson_covered(MANY, spares), abs=2e-3)
    assert poisson_exactly(0, 0) == 1
    assert poisson_exactly(0, 1) == 0
    assert poisson_covered(0, 0) == 1


def test_chances_of_what_cannot_be_are_refused() -> None:
    for chance in (poisson_covered, poisson_exactly):
        for expected, count in ((-1, 1), (1, -1)):
            with pytest.raises(FormulaError):
                chance(expected, count)


@pytest.mark.parametrize(
    ("leaves", "radix", "spines"), [(8, 64, 4), (16, 64, 8), (24, 64, 16), (32, 64, 16), (64, 64, 32), (32, 144, 18)]
)
def test_spines_spread_evenly_as_the_published_fabrics_do(leaves: int, radix: int, spines: int) -> None:
    assert even_spines(leaves, radix // 2, radix) == spines


def test_more_leaves_than_two_tiers_hold_are_refused() -> None:
    with pytest.raises(FormulaError, match="72 leaves need 36 spines"):
        even_spines(72, 32, 64)


@pytest.mark.parametrize(
    ("leaves", "down", "spines"), [(128, 32, 128), (512, 32, 512), (100, 42, 77), (2048, 32, 2048)]
)
def test_spines_of_three_tiers_take_all_uplinks(leaves: int, down: int, spines: int) -> None:
    assert three_tier_spines(leaves, 32, down, 64) == spines


def test_more_leaves_than_three_tiers_hold_are_refused() -> None:
    with pytest.raises(FormulaError, match="2049 leaves are more than the 2048"):
        three_tier_spines(2049, 32, 32, 64)
    with pytest.raises(FormulaError, match="above 0"):
        three_tier_spines(0, 32, 32, 64)


def test_a_running_total_ends_in_the_sum() -> None:
    assert running_total((1.0, 2.0, 4.0)) == (1.0, 3.0, 7.0)
    assert running_total(3.0) == (3.0,)


def test_what_saves_nothing_never_pays_back() -> None:
    assert payback(100.0, 4.0) == 25
    for saved in (0.0, -1.0):
        with pytest.raises(FormulaError, match="never pays back"):
            payback(100.0, saved)


def test_functions_go_through_lists_item_by_item_and_over_samples_too() -> None:
    for module in ("poisson", "lists"):
        load(module)
    spares = parse("poisson_spares([0.384, 1.536, n], 0.95)")
    assert evaluate(spares, {"n": 24.576}) == (2.0, 4.0, 33.0)
    together = over_samples(spares, {"n": [24.576, 0.384]})
    assert [np.broadcast_to(column, 2).tolist() for column in together] == [[2, 2], [4, 4], [33, 2]]
    total = parse("running_total([1[currency], n])")
    assert evaluate(total, {"n": 2.0}) == (1.0, 3.0)
    assert [column.tolist() for column in over_samples(total, {"n": [2.0, 3.0]})] == [[1, 1], [3, 4]]


@settings(max_examples=60, deadline=None)
@given(
    expected=st.lists(st.one_of(st.floats(0, 800), st.floats(-2, 20_000)), min_size=1, max_size=5),
    target=st.one_of(st.floats(0.01, 0.9999), st.sampled_from([0.0, 1.0, math.nan])),
)
def test_spares_over_samples_are_those_of_each_sample(expected: list[float], target: float) -> None:
    load("poisson")
    together = over_samples(parse("poisson_spares(n, share)"), {"n": expected, "share": target})
    assert together.tolist() == pytest.approx([alone(poisson_spares, n, target) for n in expected], nan_ok=True)


@settings(max_examples=40, deadline=None)
@given(
    delta=st.lists(st.floats(-1, 3600), min_size=1, max_size=4), mtbf=st.floats(0, 1e7), loss=st.floats(-0.1, 1.1)
)  # fmt: skip
def test_interval_bands_over_samples_are_those_of_each_sample(delta: list[float], mtbf: float, loss: float) -> None:
    load("optimum")
    names = {"delta": delta, "mtbf": mtbf, "loss": loss}
    together = over_samples(parse("interval_band(delta * 1[s], mtbf * 1[s], loss)"), names)
    bands = [alone(interval_band, d, mtbf, loss) for d in delta]
    for end in (0, 1):
        expected = [band[end] if isinstance(band, tuple) else band for band in bands]
        assert together[end].tolist() == pytest.approx(expected, rel=1e-6, nan_ok=True)


def alone(call: Callable[..., Any], *arguments: float) -> Any:
    try:
        return call(*arguments)
    except (FormulaError, ArithmeticError, ValueError):
        return math.nan


def test_an_interval_for_failures_more_frequent_than_dumps_last_is_a_number() -> None:
    assert all(math.isfinite(end) and end > 0 for end in interval_band(3600, 0.5, 0.5))
