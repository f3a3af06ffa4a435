"""Parsers of the GPU layer against recorded outputs: the facts that are true in each."""

from __future__ import annotations

from collections import Counter

import pytest

from checks.interpret import interpret
from checks.outputs import Empty, Facts, NotAvailable, Output
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
    assert look(facts) == expected  # type: ignore[operator]


def test_a_boot_log_without_an_xid_is_empty_not_unparsable() -> None:
    assert isinstance(interpret(Output("n", "xid-log", (), 1, corpus.data("kernel-gpu/dgx-boot-no-xid"))), Empty)


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
