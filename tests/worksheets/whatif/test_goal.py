"""Goal seek: exact for whole inputs, close for real ones, and clear about ranges without a solution."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.errors import InputError
from tests.worksheets.whatif.sheets import book, shipped
from worksheets.engine import Workbook
from worksheets.whatif.condition import conditions
from worksheets.whatif.goal import Goal, Pick, seek, turned

RUN = {"card": {"tokens_total": "300 B tokens"}}


def sought(workbook: Workbook, slug: str, goal: str, by: str, pick: Pick | None = None) -> Goal:
    return seek(workbook, conditions(workbook, slug, goal), turned(workbook, slug, by), pick)


def holds(workbook: Workbook, slug: str, goal: str, name: str, value: float) -> bool:
    """Whether a goal holds with the input typed."""
    trial = workbook.copy()
    trial.set(slug, name, value)
    return all(condition.holds(trial) for condition in conditions(workbook, slug, goal))


def test_the_smallest_gpu_count_that_trains_in_30_days_does_and_one_less_does_not() -> None:
    workbook = shipped(**RUN)
    found = sought(workbook, "training-time", "days<=30", "gpus")
    assert found.pick == "smallest"
    assert found.found is not None
    assert found.beside is not None
    assert found.beside.value == found.found.value - 1
    assert holds(workbook, "training-time", "days<=30", "gpus", found.found.value)
    assert not holds(workbook, "training-time", "days<=30", "gpus", found.found.value - 1)
    assert (found.stops, found.gaps, found.every) == ("", False, False)


@settings(max_examples=25, deadline=None)
@given(days=st.floats(0.2, 900), step=st.sampled_from([1, 8, 56]))
def test_any_number_of_days_finds_the_edge_among_whole_gpus(days: float, step: int) -> None:
    workbook = shipped(**RUN)
    goal = f"days <= {days!r}"
    found = sought(workbook, "training-time", goal, f"gpus={step}:262144:{step}")
    one = workbook.compute("training-time")["gpu_hours"]
    exact = -(-one / (days * 86400) // step) * step
    assert found.found is not None
    assert found.found.value == max(step, exact)
    assert found.found.holds
    if found.beside is not None:
        assert not found.beside.holds
        assert found.beside.value == found.found.value - step


def test_the_largest_number_that_fits_is_found_by_trying_every_one(tmp_path: Path) -> None:
    workbook = book(tmp_path)
    found = sought(workbook, "linear", "fits", "workers")
    assert found.pick == "largest"
    assert (found.found and found.found.value, found.beside and found.beside.value) == (5, 6)
    assert (found.every, found.tried) == (True, 50)
    assert found.now is not None
    assert (found.now.value, found.now.holds) == (4, True)


@settings(max_examples=25, deadline=None)
@given(bound=st.floats(1.01e-3, 9e9))
def test_a_real_input_is_found_close_to_its_edge(bound: float) -> None:
    workbook = shipped(**RUN)
    found = sought(workbook, "training-time", f"cost_run <= {bound!r} USD", "tokens_total")
    per_token = workbook.compute("training-time")["cost_run"] / 300e9
    edge = bound / per_token
    if edge >= 1e15:
        assert found.stops == "low"
        assert found.found is not None
    elif edge < 1e6:
        assert found.found is None
        assert found.stops == "low"
    else:
        assert found.found is not None
        assert found.found.value == pytest.approx(edge, rel=1e-8)
        assert found.pick == "largest"


def test_no_solution_tells_the_nearest_miss_and_at_which_bound_it_stops() -> None:
    workbook = shipped(**RUN)
    found = sought(workbook, "training-time", "days <= 1", "mfu")
    assert found.found is None
    assert found.nearest is not None
    assert (found.nearest.value, found.stops) == (0.7, "high")
    assert found.nearest.outcomes[0].value > 86400
    low = sought(workbook, "training-time", "days > 1000", "gpus=512:4096")
    assert (low.found, low.stops) == (None, "low")


def test_a_goal_that_holds_everywhere_stops_at_the_bound_it_comes_from(tmp_path: Path) -> None:
    workbook = book(tmp_path)
    everywhere = sought(workbook, "linear", "total < 1000", "a")
    assert (everywhere.pick, everywhere.stops) == ("smallest", "low")
    assert everywhere.found is not None
    assert (everywhere.found.value, everywhere.beside) == (0, None)
    largest = sought(workbook, "linear", "total < 1000", "a", "largest")
    assert largest.found is not None
    assert (largest.found.value, largest.stops) == (100, "high")


def test_a_goal_that_holds_in_between_alone_says_that_it_fails_again(tmp_path: Path) -> None:
    workbook = book(tmp_path)
    smallest = sought(workbook, "linear", "total >= 14 and total <= 20", "a")
    assert smallest.gaps
    assert smallest.found is not None
    assert smallest.found.value == pytest.approx(2, rel=1e-8)
    largest = sought(workbook, "linear", "total >= 14 and total <= 20", "a", "largest")
    assert largest.gaps
    assert largest.found is not None
    assert largest.found.value == pytest.approx(4, rel=1e-8)


def test_a_narrow_window_is_found_when_every_value_is_tried() -> None:
    workbook = shipped(card={"tp": 7, "gpus_total": 8})
    found = sought(workbook, "plan", "dp == 93", "gpus_total=1:4096")
    assert found.every
    assert found.found is not None
    assert (found.found.value, found.gaps) == (651, True)


def test_texts_yes_or_no_and_items_of_lists_can_be_goals(tmp_path: Path) -> None:
    workbook = book(tmp_path)
    much = sought(workbook, "linear", "words = much", "a")
    assert much.found is not None
    assert much.found.value == pytest.approx(7 / 3, rel=1e-8)
    assert sought(workbook, "linear", "words != 'much'", "a").pick == "largest"
    not_big = sought(workbook, "linear", "not big", "a")
    assert not_big.found is not None
    assert not_big.found.value == pytest.approx(7 / 3, rel=1e-8)
    third = sought(workbook, "linear", "path[3] >= 40", "a")
    assert third.found is not None
    assert third.found.value == pytest.approx(10, rel=1e-8)
    every = sought(workbook, "linear", "path >= 40", "a")
    assert every.found is not None
    assert every.found.value == pytest.approx(40, rel=1e-8)


def test_an_item_of_a_list_whose_length_is_turned_can_be_a_goal(tmp_path: Path) -> None:
    workbook = book(tmp_path)
    found = sought(workbook, "follower", "growth[4] >= 1", "steps")
    assert found.found is not None
    assert (found.found.value, found.pick) == (4, "smallest")
    with pytest.raises(InputError, match="a list whose length changes"):
        sought(workbook, "follower", "growth >= 1", "steps")


def test_a_goal_without_any_answer_tells_why(tmp_path: Path) -> None:
    workbook = book(tmp_path)
    found = sought(workbook, "linear", "root > 1", "b=-10:-1")
    assert found.found is None
    assert found.nearest is not None
    assert "`sqrt` of -10" in found.nearest.outcomes[0].why


def test_bounds_take_units_and_currencies() -> None:
    workbook = shipped(card={"currency": "CNY", "tokens_total": "300 B tokens"})
    in_cny = sought(workbook, "training-time", "cost_run <= 710000", "tokens_total=1:500 B tokens")
    assert in_cny.conditions[0].text == "training-time.cost_run <= 710 000 CNY"
    assert (in_cny.turned.low, in_cny.turned.high) == (1e9, 500e9)
    (in_usd,) = conditions(workbook, "training-time", "cost_run <= 100k USD")
    assert in_usd.bound == pytest.approx(710_000)
    (weeks,) = conditions(workbook, "training-time", "days <= 2 weeks")
    assert weeks.bound == 14 * 86400


def test_the_workbook_stays_as_it_was(tmp_path: Path) -> None:
    workbook = book(tmp_path)
    before = workbook.compute("linear")
    sought(workbook, "linear", "fits", "workers")
    assert workbook.compute("linear") == before


@pytest.mark.parametrize(
    ("goal", "by", "why"),
    [
        ("total", "a", "neither yes nor no"),
        ("total ~ 3", "a", "is no goal"),
        ("total <= soon", "a", "is not a number"),
        ("total <= 3 days", "a", "is in s, this field is in count"),
        ("words < much", "a", "write words=VALUE"),
        ("big = perhaps", "a", "neither yes nor no"),
        ("nothing <= 3", "a", "no such row `nothing`"),
        ("total <= 3", "nothing", "no such input `nothing`"),
        ("total <= 3", "total", "it is computed"),
        ("total <= 3", "strict", "takes no numbers; try its values with a sweep"),
        ("total <= 3", "workers", "linear.workers does not move linear.total"),
        ("total <= 3", "a=1:1000", "is no range of linear.a; stay from 0 to 100"),
        ("total <= 3", "a=9:3", "is no range of linear.a"),
        ("total <= 3", "a=9", "write a=LOW:HIGH"),
        ("path[9] <= 3", "a", "a list of 3, without item 9"),
        ("total[1] <= 3", "a", "is no list"),
    ],
)
def test_what_cannot_be_sought_says_why(tmp_path: Path, goal: str, by: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        sought(book(tmp_path), "linear", goal, by)
