"""What must hold of spares and availability whatever the numbers."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from worksheets.engine import compute

nodes_of = st.integers(1, 20_000)
rates = st.floats(0.01, 100)
repairs = st.floats(0.05, 30)


@settings(max_examples=60, deadline=None)
@given(
    nodes=nodes_of, rate=rates, repair=repairs,
    spares=st.tuples(st.integers(0, 3000), st.integers(0, 3000)).map(sorted),
)  # fmt: skip
def test_more_spares_never_lower_availability_or_the_chance_that_they_suffice(
    nodes: int, rate: float, repair: float, spares: list[int]
) -> None:
    given = {"nodes": nodes, "fail_rate": rate, "repair_days": repair}
    few, many = (compute("spares", overrides={**given, "spare_nodes": n}) for n in spares)
    for row in ("availability", "covered", "repair_covered"):
        assert few[row] <= many[row] + 1e-9
    assert few["missing"] >= many["missing"] - 1e-9 * nodes
    assert 0 <= few["availability_bare"] <= few["availability"] + 1e-9
    assert many["availability"] <= 1


@settings(max_examples=60, deadline=None)
@given(nodes=st.integers(1, 5000), rate=st.floats(0.01, 30), repair=st.floats(0.05, 10), spares=st.integers(0, 60))
def test_missing_nodes_are_the_mean_of_what_fails_beyond_the_spares(
    nodes: int, rate: float, repair: float, spares: int
) -> None:
    expected = nodes * rate / 1000 * repair
    assume(expected < 300)
    result = compute(
        "spares", overrides={"nodes": nodes, "fail_rate": rate, "repair_days": repair, "spare_nodes": spares}
    )
    chances = (math.exp(k * math.log(expected) - expected - math.lgamma(k + 1)) for k in range(spares + 1, 1200))
    beyond = math.fsum((k - spares) * chance for k, chance in enumerate(chances, start=spares + 1))
    assert result["missing"] == pytest.approx(beyond, rel=1e-6, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(
    nodes=nodes_of, rate=st.tuples(rates, rates).map(sorted), repair=st.tuples(repairs, repairs).map(sorted),
    target=st.tuples(st.floats(0.5, 0.9999), st.floats(0.5, 0.9999)).map(sorted),
)  # fmt: skip
def test_more_failures_longer_repairs_and_a_higher_target_never_need_fewer_spares(
    nodes: int, rate: list[float], repair: list[float], target: list[float]
) -> None:
    calm, rough = (
        compute("spares", overrides={"nodes": nodes, "fail_rate": f, "repair_days": r, "spare_target": t})
        for f, r, t in zip(rate, repair, target, strict=True)
    )
    assert calm["spares"] <= rough["spares"]
    assert rough["spares_half_repair"] <= rough["spares"]
    assert calm["p_job_survives"] >= rough["p_job_survives"]


@settings(max_examples=40, deadline=None)
@given(nodes=nodes_of, rate=rates, hours=st.floats(0.1, 1000), planned=st.floats(0, 100), network=st.floats(1, 1e6))
def test_planned_and_network_interruptions_only_shorten_the_time_between_them(
    nodes: int, rate: float, hours: float, planned: float, network: float
) -> None:
    given = {"nodes": nodes, "fail_rate": rate, "job_hours": hours}
    plain = compute("spares", overrides=given)
    more = compute("spares", overrides={**given, "planned_per_day": planned, "network_mtbf": network})
    assert more["mtbi_job"] <= more["mtbf_job"] <= plain["mtbf_job"] * (1 + 1e-12)
    assert more["p_job_survives"] <= plain["p_job_survives"]
    assert more["mtbf_job"] <= network * 3600 * (1 + 1e-12)


@settings(max_examples=30, deadline=None)
@given(new=st.integers(0, 4096), share=st.floats(0, 100), gpus=st.integers(1, 72))
def test_a_new_batch_fails_by_nodes_and_never_more_of_them_than_it_has(new: int, share: float, gpus: int) -> None:
    given = {"new_nodes": new, "early_share": share, "gpus_per_node": gpus}
    result = compute("spares", overrides=given)
    assert 0 <= result["early_down_mean"] <= result["early_nodes"] <= new
    assert result["early_nodes"] >= new * share / 100 - 1e-9
    assert result["spares_burn_in"] >= result["spares"]
