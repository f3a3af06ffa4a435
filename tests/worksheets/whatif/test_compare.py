"""Two plans: what differs, and shares of the gap that add up, none of them for what does not matter."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.worksheets.whatif.sheets import SLUGS, TODAY, book, row, shipped
from worksheets.engine import Workbook
from worksheets.plan import Given, Plan
from worksheets.whatif.compare import EVERY_ORDER, ORDERS, Comparison, Line, compare


def line(found: Comparison, name: str) -> Line:
    return next(one for one in found.lines if one.target.ref.name == name)


def beside(first: Workbook, **plan: Any) -> Workbook:
    """Another plan over the same sheets."""
    return Workbook(first.library, Plan.model_validate(plan), TODAY)


def test_of_a_linear_result_every_share_is_exact(tmp_path: Path) -> None:
    first = book(tmp_path, sheets={"linear": {"a": 2, "b": 1, "idle": 0}})
    second = beside(first, sheets={"linear": {"a": 5, "b": 3, "idle": 2, "c": 10}})
    found = compare(first, second, "linear")
    total = line(found, "total")
    assert (total.first.value, total.second.value, total.gap) == (14, 19, 5)
    assert {share.key: share.amount for share in total.shares} == pytest.approx({"linear.a": 9, "linear.b": -4})
    assert [share.key for share in total.shares] == ["linear.a", "linear.b"]
    # c is given as what it is anyway
    assert [one.ref.key for one in found.inputs] == ["linear.a", "linear.b", "linear.idle"]
    assert (found.orders, found.every_order) == (6, True)
    assert found.states == ("ok", "warn")


def test_of_a_product_two_inputs_share_what_they_do_together(tmp_path: Path) -> None:
    first = book(tmp_path, sheets={"linear": {"workers": 2}, "follower": {"price": 10}})
    second = beside(first, sheets={"linear": {"workers": 3}, "follower": {"price": 30}})
    paid = line(compare(first, second, "follower"), "paid")
    # 2 x 2 x 10 against 3 x 2 x 30: each input first, then the other, and the mean of both
    assert {share.key: share.amount for share in paid.shares} == pytest.approx(
        {"follower.price": (4 * 20 + 6 * 20) / 2, "linear.workers": (2 * 10 + 2 * 30) / 2}
    )
    assert paid.gap == 140


def test_lists_and_texts_stand_side_by_side_without_shares(tmp_path: Path) -> None:
    first = book(tmp_path)
    found = compare(first, beside(first, sheets={"linear": {"a": 5}}), "linear")
    for name in ("words", "path", "big"):
        assert (line(found, name).gap, line(found, name).shares) == (None, ())
    assert (line(found, "words").first.value, line(found, "words").second.value) == ("some", "much")
    item = compare(first, beside(first, sheets={"linear": {"a": 5}}), "linear", [row(first, "linear.path[3]")])
    assert item.lines[0].gap == 12
    assert [share.amount for share in item.lines[0].shares] == [12]


def test_equal_plans_have_no_lines(tmp_path: Path) -> None:
    first = book(tmp_path, sheets={"linear": {"a": 5}})
    found = compare(first, beside(first, sheets={"linear": {"a": "5"}}), "linear")
    assert (found.inputs, found.lines) == ((), ())
    assert len(found.alike) == len(first.library.sheet("linear").rows)


def test_a_measured_value_is_swapped_for_what_the_other_plan_assumes(tmp_path: Path) -> None:
    first = book(tmp_path, measured={"linear.a": Given(value=3, source="a run")})
    second = beside(first)
    total = line(compare(first, second, "linear"), "total")
    assert [(share.key, share.amount) for share in total.shares] == [("linear.a", -3)]
    back = line(compare(second, first, "linear"), "total")
    assert [(share.key, share.amount) for share in back.shares] == [("linear.a", 3)]


def test_a_typed_value_that_hides_a_link_is_swapped_for_the_link(tmp_path: Path) -> None:
    first = book(tmp_path, sheets={"follower": {"total": 100}})
    second = beside(first, sheets={"linear": {"a": 4}})
    twice = line(compare(first, second, "follower"), "twice")
    assert (twice.first.value, twice.second.value) == (200, 40)
    shares = {share.key: share.amount for share in twice.shares}
    assert math.fsum(shares.values()) == pytest.approx(-160)
    # a counts only in the orders in which the typed value is gone already
    assert shares == pytest.approx({"follower.total": -166, "linear.a": 6})


def test_a_row_without_a_number_in_one_plan_says_why(tmp_path: Path) -> None:
    first = book(tmp_path)
    wall = line(compare(first, beside(first, sheets={"linear": {"a": 1}}), "linear"), "wall")
    assert (wall.first.value, wall.second.value, wall.gap) == (1, None, None)
    assert "divides by zero" in wall.second.why


def test_orders_that_lead_over_what_cannot_be_are_left_out(tmp_path: Path) -> None:
    first = book(tmp_path, sheets={"linear": {"a": 0.6}, "follower": {"total": 3}})
    second = beside(first, sheets={"linear": {"a": 2, "b": 9, "c": 5}})
    # without a typed total, b = 9 alone makes it negative, which the sheet refuses
    twice = line(compare(first, second, "follower"), "twice")
    assert twice.second.value is None
    third = beside(first, sheets={"linear": {"a": 8, "b": 9, "c": 5}})
    twice = line(compare(first, third, "follower"), "twice")
    assert (twice.first.value, twice.second.value) == (6, 22)
    assert math.fsum(share.amount for share in twice.shares) == pytest.approx(16)


def test_plans_in_different_currencies_have_no_gap_in_money() -> None:
    found = compare(shipped(), shipped(card={"currency": "CNY", "gpus_total": 512}), "training-time")
    cost = [one for one in found.lines if one.target.ref.name == "cost_run"]
    assert cost[0].gap is None
    assert "reckon in USD and CNY" in cost[0].why
    days = line(found, "days")
    assert [share.key for share in days.shares] == ["plan.gpus_total"]


FIRST = {"card": {"gpus_total": 512}, "sheets": {"training-time": {"mfu": 0.35}}}
SECOND = {
    "card": {"gpus_total": 1024, "accelerator": "A100-SXM-80", "rent_gpu_h": 1.5, "tokens_total": "10 T tokens"},
    "sheets": {
        "training-time": {"mfu": 0.45, "goodput": 0.95, "extra_work": 8},
        "power-cooling": {"pue": 1.2},
        "spares": {"repair_days": 2},
    },
}


@pytest.mark.parametrize("slug", SLUGS)
def test_on_every_sheet_the_shares_of_each_number_add_up_to_its_gap(slug: str) -> None:
    found = compare(shipped(**FIRST), shipped(**SECOND), slug)
    assert found.every_order is (len(found.inputs) <= EVERY_ORDER)
    assert found.orders == (math.factorial(len(found.inputs)) if found.every_order else ORDERS)
    for one in found.lines:
        if one.gap is None or one.why:
            continue
        sizes = max(abs(one.first.value), abs(one.second.value))
        assert math.fsum(share.amount for share in one.shares) == pytest.approx(one.gap, abs=1e-9 * sizes)
        amounts = [abs(share.amount) for share in one.shares]
        assert amounts == sorted(amounts, reverse=True)


@settings(max_examples=20, deadline=None)
@given(
    first=st.fixed_dictionaries({}, optional={n: st.floats(1, 10) for n in ("a", "b", "c")}),
    second=st.fixed_dictionaries({}, optional={n: st.floats(1, 10) for n in ("a", "b", "c")}),
)
def test_the_way_back_has_the_same_shares_with_the_other_sign(
    first: dict[str, float], second: dict[str, float], tmp_path_factory: pytest.TempPathFactory
) -> None:
    one = book(tmp_path_factory.mktemp("sheets"), sheets={"linear": first})
    other = beside(one, sheets={"linear": second})
    wanted = [row(one, "linear.total"), row(one, "linear.wall")]
    there, back = compare(one, other, "linear", wanted), compare(other, one, "linear", wanted)
    for go, come in zip(there.lines, back.lines, strict=True):
        assert {s.key: s.amount for s in go.shares} == pytest.approx({s.key: -s.amount for s in come.shares})


def test_both_workbooks_stay_as_they_were() -> None:
    first, second = shipped(**FIRST), shipped(**FIRST, measured={"training-time.goodput": Given(value=0.8, source="x")})
    before = first.compute("training-time"), second.compute("training-time")
    compare(first, second, "training-time")
    assert (first.compute("training-time"), second.compute("training-time")) == before
