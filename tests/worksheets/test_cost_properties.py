"""What must hold of the cost sheets whatever the numbers: dearer never costs less, shares sum to one."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worksheets.engine import Workbook, compute
from worksheets.library import Library
from worksheets.model import Input

LIBRARY = Library()
PRICES = [
    ("tco", "capex_node", "cost_total"),
    ("tco", "capex_node", "gpu_hour_effective"),
    ("tco", "capex_storage", "cost_total"),
    ("tco", "capex_facility", "cost_total"),
    ("tco", "rent_kw_month", "cost_total"),
    ("tco", "tariff", "cost_total"),
    ("tco", "fte_cost", "cost_total"),
    ("tco", "support_pct", "cost_total"),
    ("tco", "interest", "cost_depreciation"),
    ("token-cost", "rent_gpu_h", "cost_m_in"),
    ("token-cost", "rent_gpu_h", "cost_m_out"),
    ("token-cost", "rent_gpu_h", "cost_m_blend"),
    ("run-or-serve", "rent_gpu_h", "cost_run"),
    ("run-or-serve", "failed_runs_factor", "cost_all_runs"),
    ("run-or-serve", "cost_m_out", "cost_inference_year"),
    ("buy-or-rent", "capex", "npv_buy"),
    ("buy-or-rent", "own_opex_h", "npv_buy"),
    ("buy-or-rent", "rent_gpu_h", "npv_rent"),
    ("buy-or-rent", "capex", "min_utilisation"),
    ("training-time", "rent_gpu_h", "cost_run"),
]


def within(sheet: str, name: str, low: float, high: float) -> tuple[float, float]:
    """Two shares of the allowed range as values of the input, in its unit."""
    entry = LIBRARY.sheet(sheet).get(name)
    assert isinstance(entry, Input)
    assert entry.range
    # what people pay lies at the low end of ranges that span decades
    least, most = entry.range[0], min(entry.range[1], 20 * float(entry.default or entry.range[1]))
    return least + low * (most - least), least + high * (most - least)


def computed(sheet: str, **given: Any) -> Any:
    book = Workbook(LIBRARY)
    for name, value in given.items():
        book.set(sheet, name, value)
    return book.compute(sheet)


shares = st.floats(0, 1)


@pytest.mark.parametrize(("sheet", "price", "cost"), PRICES, ids=lambda v: str(v))
@settings(max_examples=15, deadline=None)
@given(ends=st.tuples(shares, shares).map(sorted))
def test_what_is_dearer_never_costs_less(sheet: str, price: str, cost: str, ends: list[float]) -> None:
    low, high = within(sheet, price, *ends)
    cheap, dear = computed(sheet, **{price: low})[cost], computed(sheet, **{price: high})[cost]
    assert cheap <= dear * (1 + 1e-9)


@settings(max_examples=30, deadline=None)
@given(
    node=st.floats(1, 1e7), storage=st.floats(0, 1e9), years=st.floats(1, 10), residual=st.floats(0, 60),
    interest=st.floats(0, 30), tariff=st.floats(0, 2), staff=st.floats(0, 1), wan=st.floats(0, 1e9),
)  # fmt: skip
def test_the_shares_of_the_five_parts_sum_to_one_and_none_is_negative(
    node: float, storage: float, years: float, residual: float, interest: float, tariff: float, staff: float, wan: float
) -> None:
    result = computed(
        "tco", capex_node=node, capex_storage=storage, years=years, residual=residual, interest=interest,
        tariff=tariff, fte_per_gpu=staff, wan_cost=wan,
    )  # fmt: skip
    assert math.fsum(result["shares"]) == pytest.approx(1)
    assert min(result["shares"]) >= 0


@settings(max_examples=30, deadline=None)
@given(hours=st.floats(1, 1e9), rps=st.floats(0, 1e5), factor=st.floats(1, 10))
def test_training_and_inference_share_the_first_year(hours: float, rps: float, factor: float) -> None:
    result = computed("run-or-serve", gpu_hours=hours, rps_avg=rps, failed_runs_factor=factor)
    assert result["share_runs"] + result["share_inference"] == pytest.approx(1)


@settings(max_examples=30, deadline=None)
@given(gpus=st.tuples(st.integers(1, 262144), st.integers(1, 262144)).map(sorted), mfu=st.floats(0.02, 0.7))
def test_more_gpus_never_take_more_days(gpus: list[int], mfu: float) -> None:
    few, many = (computed("training-time", gpus=n, mfu=mfu) for n in gpus)
    for row in ("days", "days_low", "days_high"):
        assert many[row] <= few[row] * (1 + 1e-12)


@settings(max_examples=30, deadline=None)
@given(
    used=st.floats(0.02, 1), years=st.floats(1, 10), interest=st.one_of(st.just(0.0), st.floats(0.1, 30)),
    residual=st.floats(0, 60),
)  # fmt: skip
def test_low_is_never_above_the_value_nor_the_value_above_high(
    used: float, years: float, interest: float, residual: float
) -> None:
    usual = computed("tco")
    assert usual["total_low"] <= usual["cost_total"] <= usual["total_high"]
    assert usual["effective_low"] <= usual["gpu_hour_effective"] <= usual["effective_high"]
    result = computed("tco", utilisation=used, years=years, interest=interest, residual=residual)
    assert result["total_low"] <= result["cost_total"] * (1 + 1e-12)
    assert result["cost_total"] <= result["total_high"] * (1 + 1e-12)


@settings(max_examples=30, deadline=None)
@given(
    rent=st.floats(2.5, 20), years=st.floats(2, 8), interest=st.one_of(st.just(0.0), st.floats(0.1, 20)),
    lead=st.floats(0, 52), egress=st.floats(0, 1e5),
)  # fmt: skip
def test_at_the_least_utilisation_buying_costs_what_renting_does(
    rent: float, years: float, interest: float, lead: float, egress: float
) -> None:
    given = {
        "rent_gpu_h": rent, "years": years, "interest": interest, "lead_time": lead, "egress_cost": egress,
        "compare": "on-demand",
    }  # fmt: skip
    least = computed("buy-or-rent", **given)["min_utilisation"]
    if 0.02 <= least <= 1:
        even = computed("buy-or-rent", utilisation=least, **given)
        assert even["npv_buy"] == pytest.approx(even["npv_rent"])


@settings(max_examples=20, deadline=None)
@given(years=st.floats(1, 10), residual=st.floats(0, 60))
def test_an_annuity_without_interest_is_the_straight_line(years: float, residual: float) -> None:
    straight = computed("tco", years=years, residual=residual, interest=0)["cost_depreciation"]
    almost = computed("tco", years=years, residual=residual, interest=0.002)["cost_depreciation"]
    assert almost == pytest.approx(straight, rel=1e-3)


@settings(max_examples=30, deadline=None)
@given(read=st.floats(0.001, 1000), cached=st.floats(0, 1000), written=st.floats(0.001, 1000), nodes=st.floats(1, 500))
def test_what_tokens_cost_sums_to_what_the_gpus_cost(read: float, cached: float, written: float, nodes: float) -> None:
    result = computed("token-cost", day_in=read, day_cached=cached, day_out=written, nodes_paid=nodes)
    parts = [result[f"rate_{n}"] * result[f"cost_m_{n}"] for n in ("in", "cached", "out")]
    assert math.fsum(parts) == pytest.approx(result["cost_day"])


@pytest.mark.parametrize(
    ("given", "split"),
    [
        ({"serve_nodes": 40}, "serve-elsewhere"),
        ({"serve_nodes": 2}, "rent-serving"),
        ({"serve_nodes": 10, "gpu_hours": 1000}, "rent-training"),
        ({"serve_nodes": 10}, "two-pools-short"),
        ({"serve_nodes": 10, "gpu_hours": 500000}, "two-pools"),
    ],
)
def test_the_split_follows_from_what_both_need(given: dict[str, Any], split: str) -> None:
    assert compute("run-or-serve", overrides=given)["split"] == split


@pytest.mark.parametrize(
    ("given", "cheapest"),
    [
        ({"rent_gpu_h": 10, "reserved_gpu_h": 9, "utilisation": 0.9}, "buy"),
        ({"rent_gpu_h": 3, "reserved_gpu_h": 1, "utilisation": 0.9}, "reserve"),
        ({"utilisation": 0.1}, "rent"),
    ],
)
def test_the_cheapest_way_is_named(given: dict[str, Any], cheapest: str) -> None:
    assert compute("buy-or-rent", overrides=given)["cheapest"] == cheapest


def test_renting_below_the_running_cost_gives_no_break_even() -> None:
    result = compute("buy-or-rent", overrides={"rent_gpu_h": 0.1})
    assert result["renting_cheaper"] is True
    assert "never pays back" in str(result.rows["breakeven_hours"].error)
