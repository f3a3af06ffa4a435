"""What must hold of the storage and node sheets, and that they say what the checks say of the same cluster."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks import judge, rules
from checks.clusters import open_cluster
from checks.findings import Finding, Status
from checks.rules.storage.striping import OST_GB_PER_S, recommended
from checks.thresholds import Thresholds
from checks.view import View
from runbooks import loader
from worksheets.engine import Result, Workbook
from worksheets.library import Library

LIBRARY = Library()
SHEETS = ("storage-tiers", "checkpoint-write", "stripe-count")


def computed(sheet: str, **given: Any) -> Result:
    book = Workbook(LIBRARY)
    for name, value in given.items():
        book.set(sheet, name, value)
    return book.compute(sheet)


@cache
def found(sample: str, check: str) -> tuple[Finding, ...]:
    opened, rule = open_cluster(sample), rules.get(check)
    assert opened.replay
    assert rule
    return tuple(judge.judge(rule, View(opened.cluster, opened.replay)))


def values(finding: Finding) -> dict[str, Any]:
    return {o.name: o.value for o in finding.observed}


sizes = st.floats(0.001, 10_000)
counts = st.integers(1, 2000)
rates = st.floats(0.01, 100)


@settings(max_examples=60, deadline=None)
@given(
    size=sizes, files=st.integers(1, 500), writers=st.integers(1, 500), stripes=st.tuples(counts, counts).map(sorted),
    osts=counts, ost_bw=rates, client_bw=rates, fabric=st.one_of(st.just(0.0), rates),
)  # fmt: skip
def test_a_wider_file_is_never_written_slower_and_no_faster_than_the_clients_allow(
    size: float, files: int, writers: int, stripes: list[int], osts: int, ost_bw: float, client_bw: float, fabric: float
) -> None:
    given = {
        "file_size": size, "files": files, "writers": writers, "ost_count": osts, "ost_bw": ost_bw,
        "client_bw": client_bw, "fabric_bw": fabric,
    }  # fmt: skip
    narrow, wide = (computed("stripe-count", **given, stripes_now=n) for n in stripes)
    assert wide["time_now"] <= narrow["time_now"] * (1 + 1e-12)
    fastest = wide["size_all"] / wide["rate_path"]
    assert wide["time_now"] >= fastest * (1 - 1e-12)
    if files * stripes[0] >= osts or stripes[0] >= narrow["stripes_path"]:
        assert wide["time_now"] == pytest.approx(narrow["time_now"])
    elif stripes[1] > stripes[0]:
        assert wide["time_now"] < narrow["time_now"]


@settings(max_examples=60, deadline=None)
@given(size=sizes, files=st.integers(1, 500), writers=st.integers(1, 500), osts=counts, client_bw=rates)
def test_the_recommended_count_meets_the_target_wherever_any_count_can(
    size: float, files: int, writers: int, osts: int, client_bw: float
) -> None:
    result = computed("stripe-count", file_size=size, files=files, writers=writers, ost_count=osts, client_bw=client_bw)
    target = result["target_write_s"]
    widest = result["size_all"] / min(result["rate_path"], min(osts, 160 * files) * 1e9)
    assert result["time_then"] <= max(target, widest) * (1 + 1e-9)
    assert 1 <= result["stripe_count"] <= min(osts, 160)
    assert result["stripes_needed"] <= osts


@settings(max_examples=60, deadline=None)
@given(
    params=st.floats(1e6, 1e13), layout=st.sampled_from(["single", "per-rank", "sharded"]), osts=counts,
    stripes=st.tuples(counts, counts).map(sorted), writers=st.tuples(counts, counts).map(sorted), ost_bw=rates,
    client_bw=rates, peak=st.one_of(st.just(0.0), rates),
)  # fmt: skip
def test_wider_files_and_more_writers_never_make_a_checkpoint_slower(
    params: float, layout: str, osts: int, stripes: list[int], writers: list[int], ost_bw: float, client_bw: float,
    peak: float,
) -> None:  # fmt: skip
    given = {
        "params_total": params, "ckpt_layout": layout, "ost_count": osts, "ost_bw": ost_bw, "client_bw": client_bw,
        "fs_peak": peak, "gpus": 16384,
    }  # fmt: skip
    slow = computed("checkpoint-write", **given, stripes_now=stripes[0], writers=writers[0])
    fast = computed("checkpoint-write", **given, stripes_now=stripes[1], writers=writers[1])
    for row in ("ckpt_time", "load_time", "copy_time"):
        assert fast[row] <= slow[row] * (1 + 1e-12)
    for result in (slow, fast):
        limits = {name: result[f"rate_{name}"] for name in ("ost", "client", "fabric", "fs")}
        assert result["write_rate"] == min(limits.values()) == limits[result["limiting"]]
        assert 0 < result["stall"] < 1


@settings(max_examples=40, deadline=None)
@given(size=st.floats(10, 10_000), osts=counts, now=counts)
def test_the_sheet_recommends_what_the_striping_check_does(size: float, osts: int, now: int) -> None:
    limits = Thresholds()
    check = recommended(
        size,
        osts,
        budget_s=limits.number("ckpt-stall", "budget"),
        least=int(limits.number("stripe-large-many", "min")),
        most=int(limits.number("stripe-max", "plain")),
    )
    # the check asks the OSTs alone, so no client may hold the file back
    result = computed("stripe-count", file_size=size, files=1, writers=100, ost_count=osts, stripes_now=now)
    assert result["stripe_count"] == check
    assert result["ost_bw"] == OST_GB_PER_S * 1e9


def test_the_sheet_and_the_check_save_the_same_seconds_on_the_sample_with_default_striping() -> None:
    spec = open_cluster("lustre-default-stripe").cluster.spec
    (finding,) = (f for f in found("lustre-default-stripe", "storage.striping") if "st-default-striping" in f.faults)
    seen = values(finding)
    result = computed(
        "stripe-count", file_size=spec.storage.checkpoint_file_gb, files=1, writers=16, ost_count=seen["OSTs"],
        stripes_now=seen["stripe_count"],
    )  # fmt: skip
    assert result["stripe_count"] == seen["recommended_stripe_count"] == 32
    assert round(result["time_now"], 1) == seen["stall_s"] == 30.0
    assert round(result["time_then"], 1) == seen["stall_recommended_s"]
    assert round(result["seconds_saved"], 1) == seen["seconds_saved"] == 26.2
    (said,) = (a for a in result.advice if a.rule == "STO-1")
    assert (said.severity, said.runbook) == ("fail", "checkpoint-stall")
    assert finding.status is Status.CRITICAL
    assert "lfs setstripe -c 32 -S 4M DIR" in said.text


def test_every_runbook_that_a_sheet_names_is_shipped() -> None:
    shipped = {book.id for book in loader.shipped()}
    for slug in SHEETS:
        named = {a.runbook for a in LIBRARY.sheet(slug).advice if a.runbook}
        assert named
        assert named <= shipped


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(["text", "samples", "steps"]),
    busy=st.tuples(st.floats(0.3, 1), st.floats(0.3, 1)).map(sorted),
    cache=st.sampled_from(["none", "shard", "full"]), years=st.tuples(st.floats(0, 10), st.floats(0, 10)).map(sorted),
    usable=st.tuples(st.floats(0.5, 1), st.floats(0.5, 1)).map(sorted), growth=st.floats(0, 500),
)  # fmt: skip
def test_busier_gpus_read_no_less_and_more_years_or_less_usable_space_need_no_smaller_tiers(
    kind: str, busy: list[float], cache: str, years: list[float], usable: list[float], growth: float
) -> None:
    given = {"data_kind": kind, "local_cache": cache, "data_growth": growth}
    small = computed("storage-tiers", **given, accel_util=busy[0], horizon=years[0], fs_usable=usable[1])
    large = computed("storage-tiers", **given, accel_util=busy[1], horizon=years[1], fs_usable=usable[0])
    for row in ("read_rate_gpu", "read_rate", "rate_hot", "cap_hot", "cap_warm", "cap_cold", "nvme_needed"):
        assert small[row] <= large[row] * (1 + 1e-12)
    assert large["rate_hot"] <= large["read_rate"] <= large["read_full_gpu"] * large["gpus"] * (1 + 1e-12)


@pytest.mark.parametrize(("filesystem", "usable"), [("lustre", 0.8), ("gpfs", 1.0), ("cloud-nfs", 0.89)])
def test_the_kind_of_filesystem_brings_its_usable_space(filesystem: str, usable: float) -> None:
    assert computed("storage-tiers", filesystem=filesystem)["fs_usable"] == usable
