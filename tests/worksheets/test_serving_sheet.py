"""What must hold of serving capacity whatever the numbers: batches, latencies, nodes and what holds them back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worksheets.engine import compute

MIXTURE = {
    "params_total": 671e9, "params_active": 37e9, "experts": 256, "top_k": 8, "weight_bits": 8, "copy_wanted": 16,
}  # fmt: skip
DENSE = {"params_total": 70e9, "params_active": 70e9, "experts": 0, "top_k": 0}
models = st.sampled_from([MIXTURE, DENSE])
kv_token = st.floats(1e4, 1e6)
prompts = st.integers(1, 100_000)
outputs = st.integers(1, 10_000)
tpots = st.floats(0.003, 5)


def pair(of: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.tuples(of, of).map(sorted)


@settings(max_examples=80, deadline=None)
@given(
    model=models, kv=kv_token, prompt=prompts, output=outputs, tpot=tpots, batch=pair(st.integers(1, 5000)),
    overhead=st.floats(0, 20), mfu=st.floats(0.02, 1), eff=st.floats(0.05, 1),
)  # fmt: skip
def test_a_larger_batch_never_writes_fewer_tokens_until_memory_or_tpot_bounds_it(
    model: dict[str, Any], kv: float, prompt: int, output: int, tpot: float, batch: list[int], overhead: float,
    mfu: float, eff: float,
) -> None:  # fmt: skip
    given = {
        **model, "known_kv_token": kv, "prompt_tokens": prompt, "output_tokens": output, "tpot_slo": tpot,
        "step_overhead": overhead, "prefill_mfu": mfu, "bw_eff": eff,
    }  # fmt: skip
    small, large = (compute("serving", overrides={**given, "batch_wanted": n}) for n in batch)
    assert small["decode_copy"] <= large["decode_copy"] * (1 + 1e-12)
    assert small["step"] <= large["step"] * (1 + 1e-12)
    bound = min(large["batch_mem"], large["batch_slo"])
    assert large["batch"] == min(batch[1], bound)
    if bound:
        assert large["step"] <= tpot * (1 + 1e-9)
        assert large["batch"] * large["kv_full"] <= large["cache_copy"] * (1 + 1e-9)


@settings(max_examples=60, deadline=None)
@given(kv=kv_token, prompt=prompts, output=outputs, tpot=tpots)
def test_one_sequence_more_than_the_tpot_allows_a_dense_model_breaks_it(
    kv: float, prompt: int, output: int, tpot: float
) -> None:
    given = {**DENSE, "known_kv_token": kv, "prompt_tokens": prompt, "output_tokens": output, "tpot_slo": tpot}
    result = compute("serving", overrides=given)
    more = result["batch_slo"] + 1
    weights = result["weights_time_most"]
    assert result["step_overhead"] + more * result["kv_time"] + max(weights, more * result["token_time"]) >= tpot * (
        1 - 1e-9
    )


@settings(max_examples=60, deadline=None)
@given(batch=pair(st.integers(1, 3000)))
def test_a_step_reads_active_weights_for_one_sequence_and_at_most_all_for_many(batch: list[int]) -> None:
    given = {**MIXTURE, "known_kv_token": 70272, "tpot_slo": 5}
    few, many = (compute("serving", overrides={**given, "batch_wanted": n}) for n in batch)
    one = compute("serving", overrides={**given, "batch_wanted": 1})
    read_all = one["weights"] / one["bw_copy"]
    assert one["weights_time"] == pytest.approx(37e9 / one["bw_copy"])
    assert one["weights_time"] <= few["weights_time"] <= many["weights_time"] <= read_all * (1 + 1e-12)


@settings(max_examples=80, deadline=None)
@given(
    rps=pair(st.floats(0.01, 10_000)), peak=st.floats(1, 50), prompt=prompts, output=outputs, hit=st.floats(0, 0.99),
    cap=st.floats(0.1, 0.95), split=st.booleans(), rates=st.sampled_from([(0, 0), (3000, 1500)]),
)  # fmt: skip
def test_more_requests_never_need_fewer_nodes_and_no_pool_is_busier_than_its_cap(
    rps: list[float], peak: float, prompt: int, output: int, hit: float, cap: float, split: bool,
    rates: tuple[float, float],
) -> None:  # fmt: skip
    given = {
        "peak_factor": peak, "prompt_tokens": prompt, "output_tokens": output, "prefix_hit": hit, "util_cap": cap,
        "split_pools": split, "ttft_slo": 120, "prefill_rate": rates[0], "decode_rate": rates[1],
    }  # fmt: skip
    few, many = (compute("serving", overrides={**given, "rps_avg": n}) for n in rps)
    if few.rows["nodes_total"].error:
        assert {"SRV-6", "SRV-7", "SRV-8"} & {said.rule for said in few.advice}
        return
    for row in ("nodes_prefill", "nodes_decode", "nodes_serving", "nodes_total", "concurrency"):
        assert few[row] <= many[row]
    assert many["util_at_peak"] <= cap * (1 + 1e-9)
    assert many["kv_fill"] <= 1 + 1e-9
    assert many["ttft_peak"] <= many["ttft_slo"] * (1 + 1e-9)
    assert many["rps_most"] >= many["rps_peak"] * (1 - 1e-9)


@settings(max_examples=40, deadline=None)
@given(rps=st.floats(0.1, 10_000), output=outputs, prompt=prompts)
def test_waiting_longer_for_a_token_never_needs_more_nodes(rps: float, output: int, prompt: int) -> None:
    given = {"rps_avg": rps, "output_tokens": output, "prompt_tokens": prompt}
    result = compute("serving", overrides=given)
    nodes = [n for n in result["curve_nodes"] if n > 0]
    assert nodes == sorted(nodes, reverse=True)
    assert all(step <= tpot * (1 + 1e-9) for n, step, tpot in zip(
        result["curve_nodes"], result["curve_step"], result["curve_tpot"], strict=True
    ) if n)  # fmt: skip


@pytest.mark.parametrize(
    ("given", "limit"),
    [
        ({}, "compute"),
        ({"prompt_tokens": 20000, "copy_wanted": 4}, "memory"),
        ({"tpot_slo": 0.012}, "slo"),
        ({"batch_wanted": 8}, "batch"),
        ({"decode_rate": 100}, "compute"),
        ({"decode_rate": 100000, "prompt_tokens": 20000}, "memory"),
        ({"decode_rate": 100000, "tpot_slo": 0.012}, "slo"),
    ],
)
def test_what_holds_decode_back_is_named(given: dict[str, Any], limit: str) -> None:
    assert compute("serving", overrides=given)["limit"] == limit


def test_nodes_there_are_tell_what_is_missing_and_how_the_queue_grows() -> None:
    short, enough = (compute("serving", overrides={"nodes_present": n}) for n in (3, 6))
    assert (short["nodes_missing"], enough["nodes_missing"]) == (1, 0)
    assert short["util_at_peak"] == pytest.approx(2 * enough["util_at_peak"])
    assert short["ttft_peak"] > enough["ttft_peak"]
    overrun = compute("serving", overrides={"nodes_present": 1})
    assert overrun.rows["ttft_peak"].error
    assert "SRV-3" in {said.rule for said in overrun.advice}


def test_a_copy_over_two_nodes_is_redundant_as_a_whole() -> None:
    result = compute("serving", overrides={"copy_wanted": 16})
    assert result["nodes_total"] - result["nodes_serving"] == 2
    assert result["nodes_decode"] % 2 == 0


def test_long_prompts_pay_for_attention() -> None:
    short, long = (compute("serving", overrides={"prompt_tokens": n}) for n in (1000, 128_000))
    assert short["prompt_flop"] == pytest.approx(2 * short["params_active"], rel=0.02)
    assert long["prompt_flop"] > 2 * short["prompt_flop"]
