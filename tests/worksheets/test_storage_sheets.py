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
from checks.rules.host.sizing import NOMINAL
from checks.rules.storage.striping import OST_GB_PER_S, recommended
from checks.thresholds import Thresholds
from checks.view import View
from runbooks import loader
from worksheets.engine import Result, Workbook
from worksheets.library import Library

LIBRARY = Library()
SHEETS = ("storage-tiers", "checkpoint-write", "stripe-count", "node-balance")


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


shapes = {
    "gpus_per_node": st.integers(1, 72), "dl_workers": st.integers(0, 32), "os_cores": st.integers(0, 64),
    "agent_cores": st.integers(0, 64), "sockets": st.integers(1, 8), "numa_spread": st.booleans(),
    "ram_bytes": st.floats(1, 10_000), "nvme_count": st.integers(0, 32), "nics_per_node": st.integers(0, 32),
}  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(node=st.fixed_dictionaries(shapes), cores=st.tuples(st.integers(1, 1024), st.integers(1, 1024)).map(sorted))
def test_more_cores_never_leave_fewer_for_a_gpu_nor_turn_enough_into_too_little(
    node: dict[str, Any], cores: list[int]
) -> None:
    few, many = (computed("node-balance", **node, cpu_cores=n) for n in cores)
    for row in ("cores_per_gpu", "cores_present", "workers_most"):
        assert few[row] <= many[row]
    assert (few["cores_verdict"], many["cores_verdict"]) != ("ok", "short")
    for result in (few, many):
        # the rule solved for the loader processes agrees with the rule
        assert (result["cores_verdict"] == "short") is (node["dl_workers"] >= result["workers_short"])


@settings(max_examples=60, deadline=None)
@given(node=st.fixed_dictionaries(shapes), cores=st.integers(1, 1024))
def test_what_the_node_lacks_is_said_and_named_in_its_verdict(node: dict[str, Any], cores: int) -> None:
    result = computed("node-balance", **node, cpu_cores=cores)
    said = {a.rule for a in result.advice}
    assert ("NOD-1" in said) is (result["ram_present"] < result["ram_required"])
    assert ("NOD-2" in said) is (result["cores_present"] < result["cores_required"])
    assert (result["verdict"] == "balanced") is (not said & {"NOD-1", "NOD-2", "NOD-3", "NOD-4", "NOD-7"})


SAMPLES = [("h100-cpu-starved", True), ("h100-cpu-balanced", False)]


@pytest.mark.parametrize(("sample", "starved"), SAMPLES)
def test_the_sheet_and_the_check_agree_on_the_nodes_of_the_samples(sample: str, starved: bool) -> None:
    findings = found(sample, "host.sizing")
    assert findings
    for finding in findings:
        seen = values(finding)
        result = computed("node-balance", cpu_cores=seen["cores"], ram_bytes=f"{seen['memory']} GiB")
        assert ("host-undersized" in finding.faults) is starved
        small = [a for a in result.advice if a.rule in ("NOD-1", "NOD-2", "NOD-7")]
        assert bool(small) is starved
        assert {a.runbook for a in small} <= {"dataloader-starved"}
        assert result["verdict"] == ("memory" if starved else "balanced")


@pytest.mark.parametrize("gib", [256, 384, 512, 768, 1024, 1536, 2048])
@pytest.mark.parametrize("cores", [32, 64, 95, 96, 112, 192])
def test_the_sheet_calls_a_node_small_where_the_sizing_check_does(cores: int, gib: int) -> None:
    limits = Thresholds()
    seen_gib = 0.98 * gib
    small = cores < limits.number("cpu-cores-need", "enough") or seen_gib < NOMINAL * limits.number(
        "ram-need", "enough"
    )
    result = computed("node-balance", cpu_cores=cores, ram_bytes=f"{seen_gib} GiB")
    assert ("NOD-7" in {a.rule for a in result.advice}) is small
    assert result["cores_proven"] == limits.number("cpu-cores-need", "enough")
    assert result["ram_proven"] == limits.number("ram-need", "enough") * 1e9
