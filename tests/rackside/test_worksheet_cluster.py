"""`rackside worksheet --from`: what a cluster's file and recording give a worksheet, and what they leave open."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rackside.measured import accelerator
from tests.rackside.test_cli import run
from worksheets.references import References

CARDS = tuple(References().table("accelerator").rows)


def inputs(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, dict[str, object]]:
    out = run(capsys, "worksheet", *arguments, "--format", "json")[1]
    return json.loads(out)["inputs"]  # type: ignore[no-any-return]


def test_the_founding_case_gives_its_stripe_sheet_the_osts_the_layout_and_the_file(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = inputs(capsys, "stripe-count", "--from", "lustre-default-stripe")
    assert (told["file_size"]["value"], told["file_size"]["origin"]) == (120, "recording")
    assert (told["stripes_now"]["value"], told["stripes_now"]["origin"]) == (4, "recording")
    assert told["ost_count"]["value"] == 48
    assert str(told["ost_count"]["source"]).startswith("lfs-df@/lustre of gpu001, lustre-default-stripe")
    assert told["ost_count"]["date"] == "2026-03-04"


def test_the_size_of_the_cluster_and_its_cards_come_from_file_and_recording(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = inputs(capsys, "plan", "--from", "a800-roce-256")
    assert {name: told[name]["value"] for name in ("accelerator", "gpus_total", "nics_per_node", "nic_rate")} == {
        "accelerator": "A800-SXM",
        "gpus_total": 256,
        "nics_per_node": 4,
        "nic_rate": 200,
    }
    assert "smi-core of" in str(told["accelerator"]["source"])
    assert told["nic_rate"]["source"] == "cluster.yaml of a800-roce-256"
    assert told["model"]["origin"] == "default"


def test_what_is_typed_or_planned_counts_before_what_the_cluster_tells(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("card: {gpus_total: 2048}\n", encoding="utf-8")
    args = ("plan", "--from", "a800-roce-256", "--plan", str(plan), "--set", "nic_rate=400")
    told = inputs(capsys, *args)
    found = {name: (told[name]["value"], told[name]["origin"]) for name in ("gpus_total", "nic_rate", "nics_per_node")}
    assert found == {"gpus_total": (2048, "user"), "nic_rate": (400, "user"), "nics_per_node": (4, "recording")}


def cluster(folder: Path, text: str) -> str:
    (folder / "cluster.yaml").write_text(f"version: 1\nname: ours\n{text}", encoding="utf-8")
    return str(folder)


def test_a_cluster_without_recordings_gives_what_its_file_says(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = "roles: {gpu-node: {nodes: 'n[1-3]', expect: {gpus: 4, gpu_model: H200, memory_gib: 1024}}}\n"
    told = inputs(capsys, "node-balance", "--from", cluster(tmp_path, text + "fabric: {kind: infiniband}\n"))
    assert told["gpus_per_node"]["value"] == 4
    assert told["ram_bytes"]["value"] == pytest.approx(1024 * 1.073741824)
    assert told["cpu_cores"].get("origin") != "recording"
    told = inputs(capsys, "plan", "--from", str(tmp_path))
    assert [told[name]["value"] for name in ("accelerator", "gpus_total", "fabric")] == ["H200-SXM", 12, "infiniband"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("roles: {login: login01}\n", "tells nothing that a worksheet could use"),
        (
            "roles: {gpu-node: {nodes: n1, expect: {gpus: 500}}}\n",
            "ours: gpus_per_node: 500 GPUs is outside",
        ),
    ],
)
def test_a_cluster_that_tells_nothing_or_nonsense_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, said: str
) -> None:
    code, out, err = run(capsys, "worksheet", "plan", "--from", cluster(tmp_path, text))
    assert (code, out) == (65, "")
    assert said in err


def test_an_unknown_cluster_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "worksheet", "plan", "--from", "nowhere")
    assert (code, "no cluster `nowhere`" in err) == (64, True)


@pytest.mark.parametrize(
    ("name", "card"),
    [
        ("NVIDIA A800-SXM4-80GB", "A800-SXM"),
        ("NVIDIA H100 80GB HBM3", "H100-SXM"),
        ("NVIDIA H100 PCIe", "H100-PCIe"),
        ("NVIDIA A100 80GB PCIe", "A100-PCIe-80"),
        ("NVIDIA A100-SXM4-80GB", "A100-SXM-80"),
        ("NVIDIA A100-SXM4-40GB", None),
        ("NVIDIA H100 NVL", None),
        ("NVIDIA A800 80GB PCIe", None),
        ("NVIDIA GB200", "GB200"),
        ("NVIDIA H20", "H20"),
        ("AMD Instinct MI300X", "MI300X"),
        ("A800", "A800-SXM"),
        ("H100", None),
        ("Ascend 910B", None),
        ("", None),
    ],
)
def test_a_card_is_named_only_when_it_can_be_no_other(name: str, card: str | None) -> None:
    assert accelerator(name, CARDS) == card
