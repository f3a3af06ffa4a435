"""What must hold of power, racks and cooling whatever the numbers, and which limit binds first."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worksheets.engine import compute

node_w = st.floats(100, 30_000)
rack_kw = st.floats(34, 300)
halls = st.sampled_from(["air", "contained-air", "rear-door", "liquid"])


def pair(low: int, high: int) -> st.SearchStrategy[list[int]]:
    return st.tuples(st.integers(low, high), st.integers(low, high)).map(sorted)


@settings(max_examples=60, deadline=None)
@given(
    nodes=pair(1, 262144), node=node_w, rack=rack_kw, load=st.floats(0.1, 1), pue=st.floats(1.02, 3),
    tariff=st.floats(0, 2), hall=halls,
)  # fmt: skip
def test_more_nodes_never_take_less_power_space_cooling_or_money(
    nodes: list[int], node: float, rack: float, load: float, pue: float, tariff: float, hall: str
) -> None:
    given = {
        "node_max_w": node, "rack_kw": rack, "load_factor": load, "pue": pue, "tariff": tariff, "hall_cooling": hall,
    }  # fmt: skip
    few, many = (compute("power-cooling", overrides={**given, "nodes": n}) for n in nodes)
    rows = ("it_kw", "typical_kw", "facility_kw", "mwh_year", "cost_year", "carbon_year", "racks", "rack_kw_actual")
    for row in (*rows, "heat_liquid", "cdus_needed"):
        assert few[row] <= many[row] * (1 + 1e-12)


@settings(max_examples=60, deadline=None)
@given(node=node_w, rack=st.floats(3, 300), margin=st.floats(0, 50), height=st.integers(10, 60), u=st.integers(1, 20))
def test_a_rack_is_never_overfilled_and_one_node_more_would_overfill_it(
    node: float, rack: float, margin: float, height: int, u: int
) -> None:
    given = {"node_max_w": node, "rack_kw": rack, "rack_margin": margin, "rack_u": height, "node_u": u, "nodes": 4096}
    result = compute("power-cooling", overrides=given)
    count, room = result["nodes_per_rack"], rack * 1000 * (1 - margin / 100)
    assert count * u <= height
    assert count * node <= room * (1 + 1e-4)
    assert (count + 1) * u > height or (count + 1) * node > room * (1 - 1e-9)
    if count:
        assert result["racks"] * count >= 4096 > (result["racks"] - 1) * count
        assert result["spare_rack_u"] >= 0
    else:
        assert result.rows["racks"].error
        assert "PWR-6" in {said.rule for said in result.advice}


@settings(max_examples=40, deadline=None)
@given(node=node_w, rack=rack_kw, hall=halls)
def test_what_the_hall_cools_is_never_above_its_limit(node: float, rack: float, hall: str) -> None:
    result = compute("power-cooling", overrides={"node_max_w": node, "rack_kw": rack, "hall_cooling": hall})
    assert result["nodes_cooled"] * node <= result["hall_limit"] * (1 + 1e-4)
    assert result["too_hot"] is (result["rack_kw_actual"] > result["hall_limit"])


@settings(max_examples=40, deadline=None)
@given(load=st.floats(0.1, 1), pue=st.floats(1.02, 3), fabric=st.floats(0.01, 1e5), storage=st.floats(0.01, 1e5))
def test_bills_never_exceed_feeds_and_known_power_beats_its_share(
    load: float, pue: float, fabric: float, storage: float
) -> None:
    given = {"load_factor": load, "pue": pue, "fabric_power": fabric, "storage_power": storage}
    result = compute("power-cooling", overrides=given)
    assert result["typical_kw"] <= result["it_kw"] <= result["facility_kw"]
    assert result["it_kw"] == pytest.approx(result["nodes_kw"] + (fabric + storage) * 1000)


@pytest.mark.parametrize(
    ("given", "limit"),
    [
        ({"rack_kw": 11}, "a node of 10.2 kW needs more than a rack of 11 kW gives"),
        ({"node_u": 12, "rack_u": 10}, "a node of 12 U does not fit into 10 U"),
        ({"feed_kw": 350}, "the feed of 350 kW"),
        ({"rack_places": 9}, "the 9 racks of the hall, 11 racks are needed"),
        ({"row_kw": 200}, "the 200 kW of a row that draws 306 kW"),
        ({}, "cooling: a rack of 30.6 kW in a hall for 30 kW"),
        ({"hall_cooling": "rear-door"}, "power of a rack, 40 kW"),
        ({"hall_cooling": "liquid", "rack_kw": 100}, "height of a rack, 48 U"),
    ],
)
def test_the_first_binding_limit_is_named_with_its_numbers(given: dict[str, Any], limit: str) -> None:
    assert compute("power-cooling", overrides=given).rows["binding"].text() == limit


@pytest.mark.parametrize(
    ("given", "way"),
    [
        ({"hall_cooling": "rear-door"}, "none needed"),
        ({"water": True}, "rear-door exchangers, for water is at the racks; or 2 nodes per rack"),
        ({"water": True, "rack_kw": 70}, "direct liquid cooling, for water is at the racks; or 2 nodes per rack"),
        ({"hall_cooling": "air", "node_max_w": 8000}, "2 nodes per rack"),
        ({"hall_cooling": "air", "node_max_w": 35000}, "water to the racks"),
        ({"hall_cooling": "air", "node_max_w": 9000, "rack_kw": 36}, "close the aisles; or 2 nodes per rack"),
    ],
)
def test_a_rack_that_is_too_hot_gets_a_way_out(given: dict[str, Any], way: str) -> None:
    assert compute("power-cooling", overrides=given).rows["way_out"].text() == way


def test_an_accelerator_whose_node_nobody_measured_asks_for_its_power() -> None:
    result = compute("power-cooling", overrides={"plan.accelerator": "H20"})
    assert "node_max_w" in str(result.rows["it_kw"].error)
    assert compute("power-cooling", overrides={"plan.accelerator": "H20", "node_max_w": 6000})["it_kw"] > 0
