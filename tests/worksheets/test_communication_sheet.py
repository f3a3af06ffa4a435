"""What must hold of a step whatever the run: shares sum to one, and nothing slower makes it faster."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from worksheets.engine import Result, Workbook, compute
from worksheets.library import Library

LIBRARY = Library()


def computed(**given: Any) -> Result:
    book = Workbook(LIBRARY)
    for name, value in given.items():
        if name == "model":
            book.set("plan", name, value)
        else:
            book.set("communication", name, value)
    return book.compute("communication")


powers = st.integers(0, 5).map(lambda exponent: 2**exponent)
runs = st.fixed_dictionaries(
    {
        "model": st.sampled_from(["Llama-3-70B", "Mixtral-8x7B", "DeepSeek-V3"]),
        "gpus": st.integers(3, 14).map(lambda x: 2**x),
        "tp": powers, "pp": powers, "cp": powers, "ep": powers, "vp": st.integers(1, 4),
        "zero_stage": st.sampled_from(["0", "1", "2", "3", "hsdp"]), "hsdp_group": st.sampled_from([4, 8, 64]),
        "sequence_parallel": st.booleans(), "recompute": st.sampled_from(["none", "selective", "full"]),
        "micro_batch": st.integers(1, 8), "nvls": st.booleans(), "sharp": st.booleans(), "oversub": st.floats(1, 8),
        "nic_bw": st.floats(1, 400),
    }
).filter(lambda run: run["gpus"] % (run["tp"] * run["pp"] * run["cp"]) == 0)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(run=runs)
def test_the_shares_of_a_step_sum_to_one_and_none_is_negative(run: dict[str, Any]) -> None:
    result = computed(**run)
    assert math.fsum(result["shares"]) == pytest.approx(1)
    assert min(result["shares"]) >= 0
    assert result["scaling"] + result["share"] + result["t_bubble"] / result["t_step"] == pytest.approx(1)
    assert result["mfu_step"] <= 0.45 * (1 + 1e-12)
    assert result["t_sum"] >= math.fsum(result["axis_times"]) * (1 - 1e-12)


WORSE = [
    ("oversub", 1, 16), ("alpha_inter", 0.5, 200), ("grad_bytes", 1, 4), ("act_bytes", 1, 4),
    ("ep_combine_bytes", 1, 4), ("crossing", 0, 1),
]  # fmt: skip
BETTER = [
    ("nic_bw", 1, 800), ("eff_inter", 0.05, 1.1), ("eff_intra", 0.05, 1.1), ("nvlink_bw", 20, 900),
    ("overlap_dp", 0, 1), ("overlap_tp", 0, 1), ("overlap_pp", 0, 1), ("overlap_cp", 0, 1), ("overlap_ep", 0, 1),
    ("reduce_gain", 1, 2),
]  # fmt: skip


@pytest.mark.parametrize(("name", "low", "high", "worse"), [(*w, True) for w in WORSE] + [(*b, False) for b in BETTER])
@settings(max_examples=15, deadline=None)
@given(run=runs, ends=st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted))
def test_what_is_slower_or_larger_never_makes_a_step_faster(
    run: dict[str, Any], ends: list[float], name: str, low: float, high: float, worse: bool
) -> None:
    few, many = (computed(**{**run, name: low + end * (high - low)}) for end in ends)
    fast, slow = (few, many) if worse else (many, few)
    assert fast["t_step"] <= slow["t_step"] * (1 + 1e-9)
    assert fast["t_exposed"] <= slow["t_exposed"] * (1 + 1e-9)


@settings(max_examples=60, deadline=None)
@given(run=runs)
def test_nics_twice_as_fast_give_what_the_sheet_promises(run: dict[str, Any]) -> None:
    once, twice = computed(**run), computed(**{**run, "nic_bw": 2 * run["nic_bw"]})
    assert once["t_step_twice"] == pytest.approx(twice["t_step"])
    assert once["twice_gain"] >= -1e-9


@settings(max_examples=60, deadline=None)
@given(run=runs, rate=st.floats(0.01, 0.5))
def test_the_rate_that_explains_a_slow_step_is_the_rate_that_makes_it_so(run: dict[str, Any], rate: float) -> None:
    run = {**run, **{f"overlap_{axis}": 0 for axis in ("dp", "tp", "pp", "cp", "ep")}, "pp": 1}
    fast, slow = computed(**run), computed(**run, eff_inter=max(0.05, 0.75 * rate))
    assume(slow["t_step"] > 1.05 * fast["t_step"])
    # an axis that uses the NICs must wait for them, not for the links in the node
    assume(all(out == 0 or out > up for up, out in zip(slow["up_times"], slow["out_times"], strict=True)))
    blamed = computed(**run, step_observed=slow["t_step"])
    assert blamed["verdict"] == "fault"
    # latency is blamed on the rate too
    late = math.fsum(lat for lat, out in zip(slow["latencies"], slow["out_times"], strict=True) if out > 0)
    seconds = slow["gap_bytes"] / slow["out_bw"] + late
    assert blamed["nic_rate_explaining"] == pytest.approx(slow["gap_bytes"] / seconds, rel=1e-6)


def test_fsdp_moves_one_and_a_half_times_what_replicas_reduce() -> None:
    same = {"tp": 1, "gather_each": False, "grad_bytes": 2, "param_bytes": 2}
    replicas, fsdp = computed(**same, zero_stage="1"), computed(**same, zero_stage="3")
    for row in ("dp_up", "dp_out"):
        assert fsdp[row] == pytest.approx(1.5 * replicas[row])


def test_hsdp_over_all_is_fsdp_and_over_one_is_replication() -> None:
    for group, stage in ((262144, "3"), (1, "1")):
        for row in ("dp_up", "dp_out", "t_dp"):
            hybrid = computed(tp=1, zero_stage="hsdp", hsdp_group=group)
            assert hybrid[row] == pytest.approx(computed(tp=1, zero_stage=stage)[row])
    # gathering anew for each micro-batch stays in the node then
    node, over_all = computed(tp=1, zero_stage="hsdp", hsdp_group=8), computed(tp=1, zero_stage="3")
    assert node["dp_up"] == pytest.approx(over_all["dp_up"])
    assert node["dp_out"] < over_all["dp_out"]


def test_oversubscription_matters_only_beyond_the_leaves_that_nodes_share() -> None:
    small, large = computed(gpus=64, oversub=4), computed(gpus=4096, oversub=4)
    assert small["out_bw"] == computed(gpus=64)["out_bw"]
    assert large["out_bw"] == pytest.approx(small["out_bw"] / 4)
    assert computed(gpus=4096, oversub=4, crossing=0.25)["out_bw"] == small["out_bw"]


@pytest.mark.parametrize(
    ("given", "bound"),
    [
        ({"tp": 1, "zero_stage": "3", "overlap_dp": 0}, "dp"),
        ({}, "tp"),
        ({"tp": 1, "pp": 32, "micro_batch": 8, "overlap_dp": 1}, "bubble"),
        ({"tp": 1, "cp": 8, "gpus": 64, "seq_len": 131072}, "cp"),
        ({"tp": 1, "gpus": 8, "pp": 2, "nvlink_bw": 1, "overlap_dp": 1, "vp": 8}, "pp"),
        ({"model": "DeepSeek-V3", "gpus": 2048, "tp": 1, "pp": 16, "ep": 64, "global_batch_tokens": 62914560}, "ep"),
        ({"compute_time": 1000}, "compute"),
    ],
)
def test_the_axis_that_a_step_waits_for_most_is_named(given: dict[str, Any], bound: str) -> None:
    assert computed(**given)["bound"] == bound


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        ({}, "none"),
        ({"step_observed": 19.9}, "healthy"),
        ({"step_observed": 40}, "fault"),
        ({"gpus": 8, "step_observed": 2000}, "elsewhere"),
        ({"tp": 16, "nic_bw": 25, "step_observed": 25}, "size"),
        ({"effective_ratio": 0.3, "effective_ratio_kind": "peak"}, "fault"),
        ({"effective_ratio": 0.84, "effective_ratio_kind": "single-node"}, "healthy"),
    ],
)
def test_an_observed_step_gets_a_verdict(given: dict[str, Any], verdict: str) -> None:
    assert computed(**given)["verdict"] == verdict


@pytest.mark.parametrize("op", ["all-reduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast", "p2p"])
@settings(max_examples=20, deadline=None)
@given(size=st.floats(1e-6, 100), ranks=st.integers(2, 4096), per_node=st.integers(1, 8))
def test_a_collective_takes_between_its_slower_phase_and_both(op: str, size: float, ranks: int, per_node: int) -> None:
    result = computed(op=op, coll_size=size, coll_ranks=ranks, coll_per_node=per_node)
    assert result["t_coll"] <= result["t_coll_sum"] * (1 + 1e-9)
    assert result["t_coll"] >= max(result["coll_up"], result["coll_out"]) * (1 - 1e-9)
    assert result["busbw"] == pytest.approx(result["busbw_factor"] * size * 1e9 / result["t_coll"])


def test_a_measured_bus_bandwidth_gives_back_the_rate_it_came_from() -> None:
    expected = computed(coll_size=100)
    measured = computed(coll_size=100, measured_busbw=expected["busbw"] / 1e9)
    assert measured["nic_rate_measured"] == pytest.approx(expected["out_bw"], rel=0.01)


def test_reducing_switches_speed_up_an_all_reduce_alone() -> None:
    plain, reducing = computed(coll_size=100), computed(coll_size=100, sharp=True)
    assert reducing["busbw"] == pytest.approx(1.25 * plain["busbw"], rel=0.01)
    gathered = {"op": "all-gather", "coll_size": 100}
    assert computed(**gathered, sharp=True)["busbw"] == computed(**gathered)["busbw"]


def test_a_card_without_nics_says_what_is_missing() -> None:
    result = compute("communication", overrides={"plan.nics_per_node": 0})
    assert "nic_bw" in str(result.rows["t_step"].error)
