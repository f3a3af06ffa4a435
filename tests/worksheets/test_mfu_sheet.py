"""What must hold of every MFU: the ways of counting keep their order, and the ways of measuring agree."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worksheets.engine import Result, Workbook, compute
from worksheets.library import Library

LIBRARY = Library()


def computed(model: str, **given: Any) -> Result:
    book = Workbook(LIBRARY)
    book.set("plan", "model", model)
    for name, value in given.items():
        book.set("mfu", name, value)
    return book.compute("mfu")


models = st.sampled_from(["Llama-3-70B", "GPT-3", "Mixtral-8x7B", "DeepSeek-V3"])
ways = {
    "attention_counting": st.sampled_from(["none", "full", "causal"]),
    "recompute": st.sampled_from(["none", "selective", "full"]), "count_lookup": st.booleans(),
}  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(model=models, way=st.fixed_dictionaries(ways), rate=st.floats(1, 1e8), gpus=st.integers(1, 262144))
def test_what_is_counted_more_is_never_less(model: str, way: dict[str, Any], rate: float, gpus: int) -> None:
    result = computed(model, **way, tokens_per_s=rate, gpus=gpus)
    assert result["mfu_none"] < result["mfu_causal"] < result["mfu_full"]
    assert result["mfu"] == result[f"mfu_{way['attention_counting']}"]
    assert result["hfu"] >= result["mfu"]
    assert (result["hfu"] == result["mfu"]) is (
        way["recompute"] == "none" or (way["recompute"], way["attention_counting"]) == ("selective", "none")
    )
    said = {a.rule for a in result.advice}
    assert ("MFU-6" in said) is (result["mfu"] > 1)
    assert ("MFU-4" in said) is (result["band"] in ("poor", "low"))


@settings(max_examples=60, deadline=None)
@given(
    model=models, way=st.fixed_dictionaries(ways), rate=st.floats(1e3, 1e7),
    counts=st.sampled_from(["model", "hardware"]),
)  # fmt: skip
def test_tokens_steps_and_the_log_lead_to_the_same_mfu(
    model: str, way: dict[str, Any], rate: float, counts: str
) -> None:
    tokens = computed(model, **way, tokens_per_s=rate)
    steps = computed(model, **way, step_time=4194304 / rate) if 4194304 / rate <= 1e5 else tokens
    row = "tflops_gpu" if counts == "model" else "tflops_gpu_hardware"
    printed = tokens[row] / 1e12
    for name in ("mfu", "hfu", "mfu_none", "tokens_per_day", "vs_best_matmul"):
        assert steps[name] == pytest.approx(tokens[name])
        if printed <= 100_000:
            log = computed(model, **way, logged_flops=printed, logged_counts=counts)
            assert log[name] == pytest.approx(tokens[name])


def test_a_log_that_counts_eight_overstates_by_a_third() -> None:
    given = {"logged_flops": 400.0, "recompute": "full"}
    with_eight, hardware = (computed("GPT-3", **given, logged_counts=c) for c in ("factor-8", "hardware"))
    assert with_eight["mfu"] == pytest.approx(hardware["mfu"])
    assert with_eight["tflops_gpu"] == pytest.approx(300e12)


def test_the_look_up_of_tied_embeddings_is_the_output_and_stays_counted() -> None:
    for model, changes in (("GPT-3", False), ("DeepSeek-V3", True)):
        counted, left_out = (computed(model, count_lookup=c, tokens_per_s=1e6)["flop_none"] for c in (True, False))
        assert (counted > left_out) is changes


@pytest.mark.parametrize(
    ("flops", "band"),
    [(240, "poor"), (340, "low"), (400, "normal"), (500, "good"), (580, "rare"), (700, "suspect")],
)
def test_an_mfu_is_put_into_its_band(flops: float, band: str) -> None:
    assert compute("mfu", overrides={"logged_flops": flops})["band"] == band


def test_a_run_in_fp8_may_state_either_peak() -> None:
    given = {"precision": "fp8", "logged_flops": 600}
    bf16, fp8 = (compute("mfu", overrides={**given, "peak_of": p}) for p in ("bf16", "fp8"))
    assert fp8["mfu"] == pytest.approx(bf16["mfu"] * 989 / 1979)
    assert fp8["mfu_bf16"] == bf16["mfu"]


def test_without_any_measurement_the_sheet_asks_for_the_time_of_a_step() -> None:
    result = compute("mfu")
    assert result.state == "not-enough-input"
    assert "step_time" in str(result.rows["mfu"].error)
