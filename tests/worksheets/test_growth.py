"""The growth plan: the limit it meets first, and what it costs on the way."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worksheets.engine import compute


@pytest.mark.parametrize(
    ("given", "limit", "step"),
    [
        ({"nodes_per_rack": 0}, "rack-power", 0),
        ({"feed_kw": 500}, "feed", 3),
        ({"rack_places": 10}, "rack-places", 3),
        ({"ost_most": 100, "read_rate_gpu": 1, "ost_read_bw": 1}, "osts", 2),
        ({"scheduler_most": 100}, "scheduler", 4),
        ({"radix": 8, "reserved_ports": 0}, "two-tiers", 1),
        ({"radix": 8, "reserved_ports": 0, "growth": 10}, "three-tiers", 1),
        ({}, "none", 1000),
    ],
)
def test_the_first_hard_limit_is_named_with_its_step(given: dict[str, Any], limit: str, step: int) -> None:
    result = compute("growth", overrides=given)
    assert (result["first_limit"], result["first_step"]) == (limit, step)


def test_a_limit_says_its_number_in_words_at_each_step() -> None:
    result = compute("growth", overrides={"feed_kw": 500})
    assert result.rows["first_limit"].text() == "the feed of 500 kW"
    assert result.rows["limit"].text() == "none, none, none, the feed of 500 kW, the feed of 500 kW"


def test_a_node_that_no_rack_feeds_leaves_the_other_rows_alone() -> None:
    result = compute("growth", overrides={"nodes_per_rack": 0})
    assert result.rows["racks"].error
    assert result["spares"] == (0, 1, 1, 2, 4)


@settings(max_examples=30, deadline=None)
@given(pilot=st.integers(1, 4096), growth=st.floats(1.1, 10), steps=st.integers(1, 6))
def test_steps_grow_and_their_cost_sums_up(pilot: int, growth: float, steps: int) -> None:
    result = compute("growth", overrides={"pilot_gpus": pilot, "growth": growth, "steps": steps})
    for row in ("gpus", "nodes", "racks", "it_kw", "osts_needed", "spares", "cost_sum"):
        assert list(result[row]) == sorted(result[row])
        assert len(result[row]) == steps + 1
    assert list(result["mtbf"]) == sorted(result["mtbf"], reverse=True)
    assert result["cost_sum"][-1] == pytest.approx(sum(result["cost_step"]))
    assert result["cost_sum"][-1] == pytest.approx(result["nodes"][-1] * result["node_price"])


def test_a_falling_price_makes_later_steps_cheaper() -> None:
    steady, falling = (compute("growth", overrides={"price_change": p}) for p in (0, -20))
    assert falling["cost_step"][0] == steady["cost_step"][0]
    assert falling["cost_step"][2] == pytest.approx(0.8 * steady["cost_step"][2])


STEPS = range(5)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    ("sheet", "row", "ours"),
    [
        ("plan", "nodes", "nodes"),
        ("plan", "endpoints", "endpoints"),
        ("fabric", "leaf", "leaf"),
        ("fabric", "spine", "spine"),
        ("fabric", "core", "core"),
        ("fabric", "tiers", "tiers"),
        ("power-cooling", "racks", "racks"),
        ("power-cooling", "it_kw", "it_kw"),
        ("spares", "spares", "spares"),
        ("checkpoint-interval", "mtbf", "mtbf"),
    ],
)
def test_each_step_is_what_the_other_sheets_say_of_a_cluster_of_its_size(
    step: int, sheet: str, row: str, ours: str
) -> None:
    growth = compute("growth", overrides={"pilot_gpus": 64, "growth": 3.5})
    whole = compute(sheet, overrides={"plan.gpus_total": growth["gpus"][step]})
    # the growth plan leaves management switches out
    assert growth[ours][step] == pytest.approx(whole[row], rel=0.005 if ours == "it_kw" else 1e-9)
