"""Parsers of the GPU layer against recorded outputs: the facts that are true in each."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from checks.interpret import interpret
from checks.outputs import Empty, Facts, NotAvailable, Outcome, Output, Unparsable
from checks.tools.gpu_log import GpuLog
from tests import corpus


def xids(log: GpuLog) -> dict[int | None, int]:
    """How many of each number."""
    return dict(Counter(e.number for e in log.events if e.kind == "xid"))


CORPUS = {
    "nvidia-smi-csv/L-list-index-gap": ("smi-list", lambda f: [g.index for g in f.gpus], [0, 2]),
    "nvidia-smi-csv/list-gpus-mig": ("smi-list", lambda f: [g.mig_devices for g in f.gpus], [5]),
    "nvidia-smi-csv/list-gpus-heterogeneous": (
        "smi-list",
        lambda f: [g.name for g in f.gpus],
        ["Tesla K80", "Tesla P100-PCIE-16GB"],
    ),
    "kernel-gpu/a100-xid48-63-94-row-remap": ("xid-log", xids, {48: 1, 63: 1, 94: 9}),
    "kernel-gpu/gb10-xid119-120-gsp-crash": ("xid-log", xids, {119: 1, 120: 1}),
    "kernel-gpu/h100-xid119-gsp-timeout": ("xid-log", xids, {119: 5}),
    "kernel-gpu/h100-xid79-then-sxid20034": (
        "xid-log",
        lambda f: (xids(f), {e.number for e in f.events if e.kind == "sxid"}, {e.fatal for e in f.events if e.fatal}),
        ({79: 1}, {20034}, {True}),
    ),
    "kernel-gpu/k80-two-xid79": (
        "xid-log",
        lambda f: [e.device for e in f.events if e.number == 79],
        ["0000:05:00", "0000:06:00"],
    ),
    "kernel-gpu/nvrm-reset-required": ("xid-log", lambda f: {e.kind for e in f.events}, {"reset-required"}),
    "kernel-gpu/xid13-109-31-mmu-fault": ("xid-log", xids, {13: 3, 109: 2, 31: 1}),
    "kernel-gpu/xid62-rminitadapter-failed": (
        "xid-log",
        lambda f: (xids(f), "init-failed" in {e.kind for e in f.events}),
        ({62: 1}, True),
    ),
    "kernel-host/oom-lines-and-xid": ("xid-log", lambda f: set(xids(f)), {13, 43}),
    "nvidia-smi-nvlink/a100-8gpu-status": (
        "smi-nvlink",
        lambda f: ({g.active for g in f.gpus}, {x.gb_per_s for g in f.gpus for x in g.links}, len(f.gpus)),
        ({12}, {25.0}, 8),
    ),
    "nvidia-smi-nvlink/h800-8links-excerpt": (
        "smi-nvlink",
        lambda f: ([g.index for g in f.gpus], {len(g.links) for g in f.gpus}),
        ([0, 1, 7], {8}),
    ),
    "nvidia-smi-nvlink/l40s-no-nvlink": ("smi-nvlink", lambda f: [len(g.links) for g in f.gpus], [0]),
    "nvidia-smi-nvlink/rtx2080s-all-inactive": ("smi-nvlink", lambda f: sum(g.active for g in f.gpus), 0),
    "nvidia-smi-nvlink/v100-8gpu-bad": (
        "smi-nvlink",
        lambda f: (len(f.gpus), [x.link for x in f.gpus[3].links if x.gb_per_s is None]),
        (7, [3, 5]),
    ),
    "nvidia-smi-nvlink/h100-error-counters-excerpt": (
        "smi-nvlink-err",
        lambda f: {(x.gpu, x.replay, x.recovery, x.crc) for x in f.links},
        {(0, 0, 0, 0)},
    ),
    "nvidia-smi-q/a10-row-remap-pending": (
        "smi-tlimit",
        lambda f: (f.attached, f.driver_version, f.gpus[0].flag("remapped rows/pending")),
        (1, "535.129.03", True),
    ),
    "nvidia-smi-q/a100-40gb-8gpu-azure": ("smi-tlimit", lambda f: (f.attached, len(f.gpus)), (8, 8)),
    "nvidia-smi-q/h100-8gpu-one-power-brake": (
        "smi-tlimit",
        lambda f: [g.bus_id for g in f.gpus if any("power brake" in k and v == "Active" for k, v in g.values.items())],
        ["00000000:75:00.0"],
    ),
    "nvidia-smi-q/page-retirement-bad": (
        "smi-tlimit",
        lambda f: (f.gpus[0].number("retired pages/single bit ecc"), f.gpus[0].number("retired pages/double bit ecc")),
        (60.0, 5.0),
    ),
    "nvidia-smi-q/rtx4090-8gpu-mixed-load": ("smi-tlimit", lambda f: (f.attached, f.driver_version), (8, "535.154.05")),
    "nvidia-smi-topo/a800-8gpu-4nic": (
        "smi-topo",
        lambda f: (f.rows[0].to["GPU1"], [r.name for r in f.rows if r.to.get("NIC0") == "PIX"]),
        ("NV8", ["GPU1"]),
    ),
    "nvidia-smi-topo/dgx-h100-8gpu-10nic-mlx5-columns": (
        "smi-topo",
        lambda f: [r.name for r in f.rows if r.to.get("mlx5_6") == "PIX"],
        ["GPU6"],
    ),
    "nvidia-smi-topo/gb200-4gpu-all-sys": (
        "smi-topo",
        lambda f: [r.cpus for r in f.rows if r.name.startswith("GPU")],
        ["0-71", "0-71", "72-143", "72-143"],
    ),
    "nvidia-smi-topo/h200-1gpu-ansi": ("smi-topo", lambda f: (f.rows[0].cpus, f.rows[0].numa), ("0-23", "0")),
    "nvidia-smi-csv/h100-retired-pages-none": ("smi-retired", lambda f: [p.address for p in f.pages], [None, None]),
    "nvidia-smi-csv/power-samples-100ms": (
        "smi-perf",
        lambda f: (f.gpus[0].power_w, {g.utilization_pct for g in f.gpus}, {g.event_reasons for g in f.gpus}),
        (16.48, {None}, {None}),
    ),
    "kernel-gpu/fabricmanager-nonfatal-12028": (
        "fm-log",
        lambda f: [(e.sxid, e.fatal) for e in f.errors],
        [(12028, False)],
    ),
    "kernel-gpu/amdgpu-poison-consumed": (
        "xid-log",
        lambda f: [e.device for e in f.events if e.kind == "gpu-poison"],
        ["0000:68:00.0", "0000:01:00.0"],
    ),
    "kernel-gpu/amdgpu-bad-pages-threshold": ("xid-log", lambda f: {e.kind for e in f.events}, {"gpu-poison"}),
    "nvidia-smi-topo/2gpu-nv2": (
        "smi-topo",
        lambda f: (f.rows[0].to["GPU1"], f.rows[0].cpus, f.rows[0].numa),
        ("NV2", "0-23", None),
    ),
    "nvidia-smi-topo/k80-p2p-caps": (
        "smi-p2p",
        lambda f: sorted((r.name, to) for r in f.rows for to, state in r.to.items() if state == "OK"),
        [("GPU0", "GPU1"), ("GPU1", "GPU0"), ("GPU2", "GPU3"), ("GPU3", "GPU2")],
    ),
    "nvidia-smi-q/a100-xid63-remap-excerpt": (
        "smi-tlimit",
        lambda f: (f.gpus[0].bus_id, f.gpus[0].number("ecc errors/volatile/dram correctable"), bool(f.odd)),
        ("00000000:10:1C.0", 177.0, True),
    ),
    "nvidia-smi-q/page-retirement-good": (
        "smi-tlimit",
        lambda f: {g.flag("retired pages/pending page blacklist") for g in f.gpus},
        {False},
    ),
    "nvidia-smi-q/rtx4090-8gpu-addressing-unknown-error": (
        "smi-tlimit",
        lambda f: ({g.text("addressing mode") for g in f.gpus}, len(f.gpus)),
        ({None}, 8),
    ),
    "nvidia-smi-q/supported-clocks-k80": (
        "smi-tlimit",
        lambda f: (f.attached, len(f.gpus), bool(f.odd)),
        (4, 1, True),
    ),
    "nvidia-smi-xml/gtx1070ti-minimal": (
        "smi-xml",
        lambda f: (
            f.gpus[0].number("temperature/gpu_temp"),
            f.gpus[0].text("power_readings/power_draw"),
            f.gpus[0].number("pci/pci_gpu_link_info/link_widths/current_link_width"),
        ),
        (39.0, None, 16.0),
    ),
    "nvidia-smi-xml/a100-40gb-mig-dtd11": ("smi-xml", lambda f: (f.attached, f.driver_version), (1, "510.47.03")),
    "nvidia-smi-xml/a100-sxm4-4gpu-mig-dtd12": (
        "smi-xml",
        lambda f: (f.attached, len(f.gpus), bool(f.odd)),
        (4, 1, True),
    ),
    "nvidia-smi-xml/a10g-link-x8-of-x16-idle": (
        "smi-xml",
        lambda f: (
            f.gpus[0].number("pci/pci_gpu_link_info/link_widths/current_link_width"),
            f.gpus[0].number("pci/pci_gpu_link_info/link_widths/max_link_width"),
        ),
        (8.0, 16.0),
    ),
    "nvidia-smi-xml/rtx3080-dtd13": ("smi-xml", lambda f: f.driver_version, "595.58.03"),
}


@pytest.mark.parametrize("entry", CORPUS)
def test_a_recorded_output_gives_its_facts(entry: str) -> None:
    command, look, expected = CORPUS[entry]
    facts = interpret(Output("n", command, (), 1, corpus.data(entry)))
    assert isinstance(facts, Facts), facts
    assert look(facts) == expected  # type: ignore[no-untyped-call]


def read(command: str, entry: str) -> Outcome:
    return interpret(Output("n", command, (), 1, corpus.data(entry)))


def facts(command: str, entry: str) -> Any:
    found = read(command, entry)
    assert isinstance(found, Facts), (entry, found)
    return found


def test_every_xid_the_index_counts_is_found() -> None:
    counted = [e for e in corpus.entries("kernel-gpu") if e["truth"].get("xids")]
    assert len(counted) >= 7
    for entry in counted:
        assert xids(facts("xid-log", entry["id"])) == entry["truth"]["xids"], entry["id"]


@pytest.mark.parametrize(
    "name", ["dgx-boot-no-xid", "kmsg-nvswitch-open", "nccl-segfault", "amdgpu-aca-entries", "nvrm-reset-required"]
)
def test_a_log_without_an_xid_has_none(name: str) -> None:
    found = read("xid-log", f"kernel-gpu/{name}")
    assert isinstance(found, Empty) or (isinstance(found, GpuLog) and not xids(found))


REMAPPED = {
    "remap_pending": ("remapped_rows/remapped_row_pending", "remapped rows/pending"),
    "remap_failure": ("remapped_rows/remapped_row_failure", "remapped rows/remapping failure occurred"),
}


def test_every_full_report_gives_what_the_index_says() -> None:
    reports = corpus.entries("nvidia-smi-q") + corpus.entries("nvidia-smi-xml")
    assert len(reports) >= 13
    for entry in reports:
        truth, found = entry["truth"], facts("smi-tlimit", entry["id"])
        shown = truth.get("gpu_sections", truth.get("gpus_shown"))
        assert found.attached == truth.get("attached_gpus"), entry["id"]
        assert "driver" not in truth or found.driver_version == truth["driver"], entry["id"]
        assert shown is None or len(found.gpus) == shown, entry["id"]
        if "product" in truth:
            assert {g.text("product name", "product_name") for g in found.gpus} == {truth["product"]}, entry["id"]
        for key, paths in REMAPPED.items():
            if key in truth:
                # a report of several GPUs states it once for all that tell it
                told = {g.flag(*paths) for g in found.gpus} - {None}
                assert told == {truth[key] == "Yes"}, (entry["id"], key)
        if isinstance(truth.get("remapped_uncorrectable"), list):
            rows = [g.number("remapped rows/uncorrectable error") for g in found.gpus]
            assert rows == truth["remapped_uncorrectable"], entry["id"]


def test_retired_pages_are_told_per_board() -> None:
    found = facts("smi-tlimit", "nvidia-smi-q/page-retirement-bad")
    by_bus = {g.bus_id: g for g in found.gpus}
    for bus, truth in corpus.entry("nvidia-smi-q/page-retirement-bad")["truth"]["retired"].items():
        gpu = by_bus[bus]
        assert gpu.number("retired pages/single bit ecc") == truth["sbe"]
        assert gpu.number("retired pages/double bit ecc") == truth["dbe"]
        assert gpu.flag("retired pages/pending page blacklist") is (truth["pending"] == "Yes")


def test_every_topology_gives_what_the_index_says() -> None:
    known = [
        e for e in corpus.entries("nvidia-smi-topo") if e["truth"].get("supported", True) and "p2p" not in e["command"]
    ]
    assert len(known) >= 6
    for entry in known:
        truth, found = entry["truth"], facts("smi-topo", entry["id"])
        gpus = [r for r in found.rows if r.name.startswith("GPU")]
        assert len(gpus) == truth["gpus"], entry["id"]
        assert found.odd == (), entry["id"]
        others = [c for r in gpus[:1] for c in r.to if not c.startswith("GPU")]
        assert len(others) == truth.get("nics", 0), entry["id"]
        cores = truth.get("cpu_affinity")
        if cores is not None:
            assert [r.cpus for r in gpus] == (cores if isinstance(cores, list) else [cores] * len(gpus)), entry["id"]
        if isinstance(truth.get("numa"), list):
            assert [r.numa for r in gpus] == [str(n) for n in truth["numa"]], entry["id"]
        if "nvlinks_per_pair" in truth:
            pairs = {state for r in gpus for to, state in r.to.items() if to.startswith("GPU") and to != r.name}
            assert pairs == {f"NV{truth['nvlinks_per_pair']}"}, entry["id"]


def test_every_field_of_a_driver_may_be_asked_for_and_ours_are_found() -> None:
    h100 = "nvidia-smi-csv/h100-all-fields-idle"
    (perf,) = facts("smi-perf", h100).gpus
    assert (perf.temperature_c, perf.memory_temperature_c, perf.power_w, perf.memory_used_mib) == (
        41.0,
        48.0,
        69.85,
        0.0,
    )
    assert (perf.pstate, perf.event_reasons) == ("P0", 1)
    (core,) = facts("smi-core", h100).gpus
    assert (core.driver_version, core.name, core.ecc_mode) == ("590.48.01", "NVIDIA H100 80GB HBM3", True)
    (link,) = facts("smi-pcie", h100).gpus
    assert (link.gen, link.width, link.width_max) == (5, 16, 16)
    (ecc,) = facts("smi-ecc", h100).gpus
    assert (ecc.uncorrected_volatile_dram, ecc.uncorrected_volatile_sram) == (0, 0)
    (fabric,) = facts("smi-fabric", h100).gpus
    assert (fabric.state, fabric.status) == ("Completed", "Success")


def test_a_consumer_board_without_ecc_counts_none() -> None:
    rtx = "nvidia-smi-csv/rtx2080s-driver610-all-fields-load"
    (perf,) = facts("smi-perf", rtx).gpus
    assert (perf.power_w, perf.utilization_pct, perf.memory_temperature_c) == (98.14, 8.0, None)
    (ecc,) = facts("smi-ecc", rtx).gpus
    assert set(ecc.model_dump(exclude={"line", "index"}).values()) == {None}
    (core,) = facts("smi-core", rtx).gpus
    assert (core.ecc_mode, core.mig_mode) == (None, None)


def test_other_outputs_of_nvidia_smi_are_never_taken_for_an_answer() -> None:
    others = [e["id"] for e in corpus.entries("nvidia-smi-table")]
    others += [
        f"nvidia-smi-csv/{n}" for n in ("dmon-cut-off-when-gpu-dies", "h200-pmon-load", "throttle-reasons-hex-l4")
    ]
    assert len(others) >= 13
    commands = (
        "smi-list",
        "smi-core",
        "smi-perf",
        "smi-pcie",
        "smi-ecc",
        "smi-remap",
        "smi-nvlink",
        "smi-topo",
        "smi-xml",
    )
    for entry in others:
        for command in commands:
            found = read(command, entry)
            assert isinstance(found, Unparsable | NotAvailable), (entry, command, found)


@pytest.mark.parametrize(
    ("entry", "command", "said"),
    [
        ("nvidia-smi-failure/no-devices-were-found", "smi-core", "No devices were found"),
        ("nvidia-smi-failure/nvml-mismatch-550.90", "smi-list", "version mismatch"),
        ("nvidia-smi-failure/nvml-mismatch-560.31", "smi-core", "version mismatch"),
        ("nvidia-smi-failure/unable-to-determine-handle", "smi-perf", "91:00.0"),
        ("nvidia-smi-failure/gpu-is-lost-index-and-address", "smi-core", "GPU is lost"),
        ("nvidia-smi-topo/windows-not-supported", "smi-topo", "Option -m"),
    ],
)
def test_a_recorded_complaint_is_no_answer_and_says_why(entry: str, command: str, said: str) -> None:
    found = interpret(Output("n", command, (), 1, corpus.data(entry)))
    assert isinstance(found, NotAvailable)
    assert said in found.reason
