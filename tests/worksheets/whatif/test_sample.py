"""P10, P50 and P90: reproducible, in order, right where the answer is known, and honest about draws without one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.errors import InputError
from tests.worksheets.whatif.sheets import LIBRARY, SLUGS, book, row, rows_of, shipped
from worksheets.library import Ref
from worksheets.model import Input
from worksheets.values import is_number
from worksheets.whatif.condition import conditions
from worksheets.whatif.sample import Quantiles, Shares, sample
from worksheets.whatif.targets import Target
from worksheets.whatif.uncertain import Uncertain, triangular

ENTRY = Input.model_validate({"name": "x", "label": "X", "range": [-1e9, 1e9]})


def triangle(low: float, value: float, high: float, name: str = "x") -> Uncertain:
    return Uncertain(Ref("some", name), ENTRY, "count", low, value, high)


@settings(max_examples=60, deadline=None)
@given(ends=st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3).map(sorted), seed=st.integers(0, 2**40))
def test_draws_stay_between_the_ends_and_meet_the_mean_of_the_triangle(ends: list[float], seed: int) -> None:
    low, value, high = ends
    found = triangular(triangle(low, value, high), 400, seed)
    slack = 1e-9 * max(1.0, abs(low), abs(high))
    assert low - slack <= found.min() <= found.max() <= high + slack
    # one draw from each of 400 slices leaves hardly any chance in the mean
    assert found.mean() == pytest.approx(sum(ends) / 3, abs=0.01 * (high - low) + slack)


@pytest.mark.parametrize(("low", "value", "high"), [(0.0, 0.0, 1.0), (0.0, 1.0, 1.0), (0.0, 0.25, 1.0)])
def test_draws_have_the_quantiles_of_the_triangle(low: float, value: float, high: float) -> None:
    found = np.sort(triangular(triangle(low, value, high), 20_000, 7))
    for share in (0.1, 0.5, 0.9):
        left = share * (high - low) < value - low
        exact = low + (share * value) ** 0.5 if left else high - ((1 - share) * (1 - value)) ** 0.5
        assert np.quantile(found, share) == pytest.approx(exact, abs=1e-3)


def test_another_input_has_other_draws_and_the_same_seed_the_same() -> None:
    one, again = triangular(triangle(0, 1, 2), 50, 3), triangular(triangle(0, 1, 2), 50, 3)
    assert (one == again).all()
    assert (one != triangular(triangle(0, 1, 2, "y"), 50, 3)).any()
    assert (one != triangular(triangle(0, 1, 2), 50, 4)).any()


def test_whole_inputs_are_drawn_whole(tmp_path: Path) -> None:
    found = sample(book(tmp_path), [row(book(tmp_path), "linear.crew")], draws=300)
    (crew,) = found.rows
    assert isinstance(crew, Quantiles)
    assert (crew.least, crew.most) == (2, 18)
    assert all(value % 2 == 0 for value in (crew.p10, crew.p50, crew.p90))


def test_the_same_seed_gives_the_same_answer_and_asking_for_more_rows_does_not_change_it(tmp_path: Path) -> None:
    workbook = book(tmp_path)
    total = sample(workbook, [row(workbook, "linear.total")], 200, 9).rows[0]
    again = sample(workbook, [row(workbook, "linear.crew"), row(workbook, "linear.total")], 200, 9).rows[1]
    assert total == again
    assert total != sample(workbook, [row(workbook, "linear.total")], 200, 10).rows[0]


def test_sampling_leaves_the_workbook_as_it_was(tmp_path: Path) -> None:
    workbook = book(tmp_path)
    before = workbook.compute("linear")
    sample(workbook, [row(workbook, "linear.total")], 50)
    assert workbook.compute("linear") == before


@pytest.mark.parametrize("slug", SLUGS)
def test_on_every_sheet_p10_is_at_most_p50_and_that_at_most_p90(slug: str) -> None:
    workbook = shipped()
    targets = [Target(ref, LIBRARY.entry(ref)) for ref in rows_of(workbook, slug)]
    computed = [t for t in targets if workbook.cell(slug, t.entry).value is not None]
    if not any(one.value.low is not None for one in workbook.rests_on(*(t.ref for t in computed))):
        pytest.skip("nothing in this sheet has a range")
    found = sample(workbook, computed, draws=50, seed=2)
    numbers = [r for r in found.rows if isinstance(r, Quantiles)]
    for one in numbers:
        assert one.least <= one.p10 <= one.p50 <= one.p90 <= one.most
        assert one.least - 1e-9 * abs(one.least) <= one.mean <= one.most + 1e-9 * abs(one.most)
        assert sum(one.bins) == one.answered
        assert (one.answered == found.draws) is (one.why == "")
    for told in found.rows:
        if isinstance(told, Shares):
            assert sum(share for _, share in told.shares) == pytest.approx(told.answered / found.draws)
            assert not is_number(told.target.entry.unit)


def test_texts_and_yes_or_no_tell_their_shares(tmp_path: Path) -> None:
    workbook = book(tmp_path)
    words, big = sample(workbook, [row(workbook, "linear.words"), row(workbook, "linear.big")], 1000).rows
    assert isinstance(words, Shares)
    assert isinstance(big, Shares)
    assert dict(words.shares).keys() == {"much", "some", "little"}
    assert dict(big.shares)["yes"] == dict(words.shares)["much"]
    assert (words.base, big.base) == ("some", "no")


def test_a_list_tells_each_of_its_items_and_one_can_be_named(tmp_path: Path) -> None:
    workbook = book(tmp_path)
    all_of_it = sample(workbook, [row(workbook, "linear.path")], 100).rows
    assert [one.target.key for one in all_of_it] == ["linear.path[1]", "linear.path[2]", "linear.path[3]"]
    assert sample(workbook, [row(workbook, "linear.path[2]")], 100).rows == (all_of_it[1],)
    with pytest.raises(InputError, match="without item 4"):
        sample(workbook, [row(workbook, "linear.path[4]")], 100)


def test_an_item_that_some_draws_do_not_have_counts_as_no_answer_there(tmp_path: Path) -> None:
    workbook = book(tmp_path)
    (found,) = sample(workbook, [row(workbook, "follower.growth[4]")], 200).rows
    assert isinstance(found, Quantiles)
    assert 0 < found.answered < 200
    assert "without item 4" in found.why


def test_draws_without_an_answer_are_counted_and_one_of_them_tells_why(tmp_path: Path) -> None:
    workbook = book(tmp_path)
    (found,) = sample(workbook, [row(workbook, "linear.root")], 200).rows
    assert isinstance(found, Quantiles)
    # the part of the triangle over -2, 1 and 5 that lies below 0
    assert found.answered == pytest.approx(200 * (1 - 2**2 / (7 * 3)), abs=1)
    assert "`sqrt` of -" in found.why
    assert found.base == 1


def test_a_chance_is_the_share_of_draws_in_which_a_condition_holds(tmp_path: Path) -> None:
    workbook = book(tmp_path)
    asked = [conditions(workbook, "linear", text)[0] for text in ("total <= 1000", "total > 1000", "big", "total > 15")]
    found = sample(workbook, [row(workbook, "linear.big")], 500, conditions=asked)
    sure, never, big, much = (chance.share for chance in found.chances)
    assert (sure, never) == (1, 0)
    (shares,) = found.rows
    assert isinstance(shares, Shares)
    assert big == much == dict(shares.shares)["yes"]
    assert [chance.base for chance in found.chances] == [True, False, False, False]


@pytest.mark.parametrize(
    ("name", "draws", "seed", "why"),
    [
        ("linear.total", 5, 1, "take 10 to"),
        ("linear.total", 10**9, 1, "take 10 to"),
        ("linear.total", 100, -1, "take 0 or more"),
        ("plan.nodes", 100, 1, "no input behind plan.nodes has a low and a high end"),
        ("follower.growth", 100, 1, "a list whose length changes"),
        ("follower.needs_open", 100, 1, "needs follower.open"),
    ],
)
def test_what_cannot_be_sampled_says_why(tmp_path: Path, name: str, draws: int, seed: int, why: str) -> None:
    workbook = book(tmp_path)
    with pytest.raises(InputError, match=why):
        sample(workbook, [row(workbook, name)], draws, seed)
