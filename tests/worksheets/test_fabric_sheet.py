"""What must hold of every fabric: ports balance, links spread evenly, and nothing is computed past the limit."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worksheets.engine import Result, Workbook
from worksheets.library import Library

LIBRARY = Library()


def computed(**given: Any) -> Result:
    book = Workbook(LIBRARY)
    for name, value in given.items():
        book.set("fabric", name, value)
    return book.compute("fabric")


designs = st.fixed_dictionaries(
    {
        "endpoints": st.integers(1, 262144), "radix": st.sampled_from([32, 40, 64, 128, 144, 256]),
        "rails": st.integers(1, 16), "su_nodes": st.integers(0, 200), "oversub_leaf": st.floats(1, 16),
        "oversub_spine": st.floats(1, 16), "planes": st.integers(1, 16), "plane_use": st.sampled_from(["one", "all"]),
        "reserved_ports": st.integers(0, 64),
    }
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(design=designs)
def test_no_switch_needs_more_ports_than_it_has(design: dict[str, Any]) -> None:
    result, radix, planes = computed(**design), design["radix"], design["planes"]
    assert result["down_ports"] + result["up_ports"] <= radix
    if result["tiers"] == 1:
        assert result["links_node_leaf"] <= radix * planes
        return
    assert result["leaf"] * result["down_ports"] >= result["links_node_leaf"]
    if result["tiers"] == 4:
        assert "three tiers" in str(result.rows["spine"].error)
        assert {a.rule for a in result.advice} >= {"FAB-10"}
        return
    assert result["spine"] * radix >= result["links_leaf_spine"] + result["links_spine_core"]
    assert result["core"] * radix >= result["links_spine_core"]
    if result["tiers"] == 2:
        assert result["up_ports"] % result["spine_plane"] == 0
        assert not {a.rule for a in result.advice} & {"FAB-2", "FAB-9"}
    assert result["endpoints"] <= result["endpoints_max"]
    assert result["endpoints_left"] == pytest.approx(result["endpoints_max"] - result["endpoints"])


@settings(max_examples=100, deadline=None)
@given(design=designs, ratios=st.tuples(st.floats(1, 16), st.floats(1, 16)).map(sorted))
def test_more_oversubscription_never_gives_more_bandwidth(design: dict[str, Any], ratios: list[float]) -> None:
    little, much = (computed(**{**design, "su_nodes": 0, "oversub_leaf": ratio}) for ratio in ratios)
    assert little["down_ports"] / little["up_ports"] <= much["down_ports"] / much["up_ports"]
    assert little["leaf"] >= much["leaf"]
    if little["tiers"] == much["tiers"] == 2:
        assert little["bisection"] >= much["bisection"] * (1 - 1e-12)
        assert little["endpoints_max"] <= much["endpoints_max"]


@settings(max_examples=100, deadline=None)
@given(design=designs, aoc=st.booleans(), lengths=st.tuples(*[st.floats(0.5, 50)] * 3), twin=st.booleans())
def test_every_link_has_a_cable_or_optics(
    design: dict[str, Any], aoc: bool, lengths: tuple[float, ...], twin: bool
) -> None:
    names = ("len_node_leaf", "len_leaf_spine", "len_spine_core")
    result = computed(
        **design, **dict(zip(names, lengths, strict=True)), long_medium="aoc" if aoc else "optics", twin_port=twin
    )
    if result["tiers"] == 4:
        return
    links = result["links_node_leaf"] + result["links_between"]
    if aoc:
        assert result["dac"] + result["aoc"] == links
        assert result["optics"] == 0
    else:
        far = links - result["dac"]
        # two ends per link; a module with two ports serves two ends of a switch
        assert (1 if twin else 2) * far <= result["optics"] <= 2 * far
    assert result["spares"] == math.ceil(round((result["dac"] + result["aoc"] + result["optics"]) * 0.05, 9))


def test_planes_multiply_switches_and_the_endpoints_they_hold() -> None:
    one = computed(endpoints=2048, reserved_ports=0)
    many = computed(endpoints=8192, reserved_ports=0, planes=4)
    for row in ("leaf", "spine", "links_leaf_spine", "endpoints_max"):
        assert many[row] == 4 * one[row]
    everywhere = computed(endpoints=2048, reserved_ports=0, planes=4, plane_use="all")
    assert everywhere["leaf"] == 4 * one["leaf"]
    assert everywhere["endpoints_max"] == one["endpoints_max"]
    assert everywhere["bisection"] == 4 * one["bisection"]


def test_a_switch_of_unknown_power_asks_for_it_and_leaves_the_rest_alone() -> None:
    result = computed(switch_model="XDR")
    assert "switch_w" in str(result.rows["fabric_power"].error)
    assert result["leaf"] == 8
    assert computed(switch_model="XDR", switch_w=3000)["fabric_power"] > 3000 * result["fabric_switches"]


def test_a_small_cluster_without_rails_fits_on_one_switch() -> None:
    result = computed(endpoints=32, rails=1)
    assert (result["tiers"], result["leaf"], result["spine"], result["hops"]) == (1, 1, 0, 1)
    assert result["links_leaf_spine"] == 0
    assert result["endpoints_left"] == 64 - 4 - 32
