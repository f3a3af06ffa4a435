"""What healthy GPUs print, with places to plant a fault: two cards a node unless said otherwise."""

from __future__ import annotations

from typing import Any

NODES = "gpu[1-4]"
SPEC: dict[str, Any] = {
    "roles": {"gpu-node": {"nodes": NODES, "expect": {"gpus": 4}}},
}
UUIDS = tuple(f"GPU-0000000{i}-aaaa-bbbb-cccc-00000000000{i}" for i in range(4))
BUSES = tuple(f"00000000:{n}:00.0" for n in ("07", "0F", "47", "4E"))


def smi_list(count: int = 4) -> str:
    """`nvidia-smi -L`."""
    return "".join(f"GPU {i}: NVIDIA A800-SXM4-80GB (UUID: {UUIDS[i]})\n" for i in range(count))


def smi_core(**changes: dict[int, str]) -> str:
    """Identity; `ecc={1: "Disabled"}` changes a column of one GPU."""
    columns = {
        "index": [str(i) for i in range(4)],
        "uuid": [*UUIDS],
        "bus": [*BUSES],
        "serial": [f"15612210000{i}" for i in range(4)],
        "name": ["NVIDIA A800-SXM4-80GB"] * 4,
        "driver": ["550.90.07"] * 4,
        "vbios": ["92.00.A3.00.01"] * 4,
        "inforom": ["G506.0210.00.04"] * 4,
        "persistence": ["Enabled"] * 4,
        "mig": ["Disabled"] * 4,
        "ecc": ["Enabled"] * 4,
        "compute": ["Default"] * 4,
    }
    for name, by_gpu in changes.items():
        for index, value in by_gpu.items():
            columns[name][index] = value
    return "".join(", ".join(row) + "\n" for row in zip(*columns.values(), strict=True))


def smi_perf(**changes: dict[int, str]) -> str:
    """Load: 96 % at 390 of 400 W, 62 C, 1395 of 1410 MHz, the software power cap alone."""
    columns = {
        "index": [str(i) for i in range(4)],
        "pstate": ["P0"] * 4,
        "util": ["96"] * 4,
        "used": ["71204"] * 4,
        "total": ["81920"] * 4,
        "temp": ["62"] * 4,
        "memtemp": ["66"] * 4,
        "power": ["390.00"] * 4,
        "limit": ["400.00"] * 4,
        "max": ["400.00"] * 4,
        "sm": ["1395"] * 4,
        "smmax": ["1410"] * 4,
        "mem": ["1593"] * 4,
        "reasons": ["0x0000000000000004"] * 4,
    }
    for name, by_gpu in changes.items():
        for index, value in by_gpu.items():
            columns[name][index] = value
    return "".join(", ".join(row) + "\n" for row in zip(*columns.values(), strict=True))


def smi_pcie(**changes: dict[int, str]) -> str:
    """Generation and width, now and at most."""
    columns = {
        "index": [str(i) for i in range(4)],
        "bus": [*BUSES],
        "gen": ["4"] * 4,
        "genmax": ["4"] * 4,
        "width": ["16"] * 4,
        "widthmax": ["16"] * 4,
    }
    for name, by_gpu in changes.items():
        for index, value in by_gpu.items():
            columns[name][index] = value
    return "".join(", ".join(row) + "\n" for row in zip(*columns.values(), strict=True))


def smi_ecc(bad: dict[int, str] | None = None) -> str:
    """Corrected DRAM and SRAM, uncorrected DRAM and SRAM, then those of the board's life."""
    return "".join(f"{i}, {(bad or {}).get(i, '0, 0, 0, 0, 0, 0')}\n" for i in range(4))


def smi_remap(bad: dict[int, str] | None = None) -> str:
    """Rows remapped for corrected and uncorrected errors, pending, failure."""
    return "".join(f"{BUSES[i]}, {UUIDS[i]}, {(bad or {}).get(i, '0, 0, 0, 0')}\n" for i in range(4))


def nvlink(down: tuple[int, int] | None = None) -> str:
    """`nvidia-smi nvlink --status`; `down` is (GPU, link)."""
    text = ""
    for index in range(4):
        text += f"GPU {index}: NVIDIA A800-SXM4-80GB (UUID: {UUIDS[index]})\n"
        text += "".join(f"\t Link {k}: {'<inactive>' if down == (index, k) else '25 GB/s'}\n" for k in range(8))
    return text


def nvlink_errors(crc: int = 0, replay: int = 0) -> str:
    """`nvidia-smi nvlink -e`; the counts are those of GPU 1, link 3."""
    text = ""
    for index in range(4):
        text += f"GPU {index}: NVIDIA A800-SXM4-80GB (UUID: {UUIDS[index]})\n"
        for k in range(8):
            here = (index, k) == (1, 3)
            text += f"\t Link {k}: Replay Errors: {replay if here else 0}\n"
            text += f"\t Link {k}: Recovery Errors: 0\n\t Link {k}: CRC Errors: {crc if here else 0}\n"
    return text


def unit(state: str = "active", load: str = "loaded") -> str:
    """`systemctl show nvidia-fabricmanager`."""
    return f"LoadState={load}\nActiveState={state}\nSubState=running\nNRestarts=0\n"


def xid(*lines: str, at: str = "2026-03-04T02:10:00+0000") -> str:
    """Lines of the kernel log, all at one time."""
    return "".join(f"{at} gpu1 kernel: {line}\n" for line in lines)


HEALTHY: dict[str, tuple[tuple[Any, Any], ...]] = {
    "gpu.answers": (((NODES, "smi-list"), smi_list()),),
    "gpu.count": (((NODES, "smi-list"), smi_list()),),
    "gpu.settings": (((NODES, "smi-core"), smi_core()),),
    "gpu.drift": (((NODES, "smi-core"), smi_core()),),
    "gpu.ecc": (((NODES, "smi-ecc"), smi_ecc()),),
    "gpu.row_remap": (((NODES, "smi-remap"), smi_remap()),),
    "gpu.recovery": (((NODES, "smi-recovery"), "0, None\n1, None\n2, None\n3, None\n"),),
    "gpu.pcie": (((NODES, "smi-pcie"), smi_pcie()),),
    "gpu.nvlinks_up": (((NODES, "smi-nvlink"), nvlink()),),
    "gpu.nvlink_errors": (
        ((1, NODES, "smi-nvlink-err"), nvlink_errors()),
        ((2, NODES, "smi-nvlink-err"), nvlink_errors()),
    ),
    "gpu.fabric_manager": (
        ((NODES, "fm-status"), unit()),
        ((NODES, "smi-fabric"), "0, Completed, Success\n1, Completed, Success\n"),
    ),
    "gpu.throttle": tuple(((NODES, f"smi-perf~{n}"), smi_perf()) for n in (1, 2, 3, 4, 5)),
    "gpu.power_limit": (((NODES, "smi-perf"), smi_perf()),),
    "gpu.utilisation": tuple(((NODES, f"smi-perf~{n}"), smi_perf()) for n in (1, 2, 3, 4, 5)),
    "gpu.xid": (((NODES, "xid-log"), ("-- No entries --\n", 1)),),
}
"""Checks and what they read on healthy nodes."""
