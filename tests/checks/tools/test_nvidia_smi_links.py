"""NVLinks, their error totals and the topology as nvidia-smi prints them."""

from __future__ import annotations

from typing import Any

import pytest

from checks.interpret import interpret
from checks.outputs import Facts, NotAvailable, Outcome, Output, Unparsable
from tests.checks.rules import gpu_files as files

HEAD = f"GPU 0: NVIDIA H100 80GB HBM3 (UUID: {files.UUIDS[0]})\n"


def read(command: str, text: str) -> Outcome:
    return interpret(Output("gpu1", command, (), 1, text.encode()))


def facts(command: str, text: str) -> Any:
    found = read(command, text)
    assert isinstance(found, Facts), found
    return found


def test_healthy_links_give_gpu_speed_and_line() -> None:
    found = facts("smi-nvlink", f"{HEAD}\t Link 0: 26.562 GB/s\n\t Link 1: 26.562 GB/s\n")
    (gpu,) = found.gpus
    assert (gpu.index, gpu.name, gpu.active, gpu.supported) == (0, "NVIDIA H100 80GB HBM3", 2, True)
    assert [(x.link, x.gb_per_s, x.line) for x in gpu.links] == [(0, 26.562, 2), (1, 26.562, 3)]
    assert found.odd == ()


@pytest.mark.parametrize("word", ["<inactive>", "inactive", "<Inactive>"])
def test_an_inactive_link_is_listed_without_a_speed(word: str) -> None:
    (gpu,) = facts("smi-nvlink", f"{HEAD}\t Link 0: {word}\n\t Link 1: 25 GB/s\n").gpus
    assert [x.gb_per_s for x in gpu.links] == [None, 25.0]
    assert gpu.active == 1


@pytest.mark.parametrize("value", ["N/A", "ERR!", "[Unknown Error]", "<Not Supported>", "2"])
def test_a_link_whose_state_is_not_told_is_odd_and_neither_up_nor_down(value: str) -> None:
    found = facts("smi-nvlink", f"{HEAD}\t Link 0: 25 GB/s\n\t Link 1: {value}\n")
    assert [x.link for x in found.gpus[0].links] == [0]
    assert [o.line for o in found.odd] == [3]


@pytest.mark.parametrize(
    "words",
    ["Device does not have or support Nvlink", "NVML: Unable to retrieve NVLink information as all links are inActive"],
)
def test_a_gpu_without_links_is_told_by_words(words: str) -> None:
    found = facts("smi-nvlink", f"{HEAD}{words}\n")
    assert [(g.supported, g.links) for g in found.gpus] == [(False, ())]
    assert found.odd == ()
    assert facts("smi-nvlink-err", f"{HEAD}{words}\n").links == ()


def test_a_gpu_of_which_only_the_heading_came_is_odd() -> None:
    second = HEAD.replace("GPU 0", "GPU 1")
    assert [o.line for o in facts("smi-nvlink", f"{HEAD}\t Link 0: 25 GB/s\n{second}").odd] == [3]
    assert isinstance(read("smi-nvlink", HEAD), Unparsable)


@pytest.mark.parametrize(
    "dress",
    [lambda t: t.replace("\n", "\r\n"), lambda t: f"\x1b[1m{t}\x1b[0m", lambda t: f"Authorised use only\n\n{t}"],
    ids=["crlf", "colours", "banner"],
)
def test_dress_around_the_links_does_not_matter(dress: Any) -> None:
    assert [g.active for g in facts("smi-nvlink", dress(files.nvlink())).gpus] == [8, 8, 8, 8]
    assert len(facts("smi-nvlink-err", dress(files.nvlink_errors())).links) == 32


def test_error_totals_know_the_line_of_each_counter() -> None:
    text = f"{HEAD}\t Link 0: Replay Errors: 1\n\t Link 0: Recovery Errors: 2\n\t Link 0: CRC Errors: 3\n"
    (link,) = facts("smi-nvlink-err", text).links
    assert (link.gpu, link.link, link.replay, link.recovery, link.crc) == (0, 0, 1, 2, 3)
    assert link.lines == {"replay": 2, "recovery": 3, "crc": 4}


def test_an_error_total_that_is_not_told_is_none() -> None:
    text = f"{HEAD}\t Link 0: Replay Errors: N/A\n\t Link 0: CRC Errors: 3\n\t Link 1: CRC Errors: ERR!\n"
    found = facts("smi-nvlink-err", text)
    assert [(x.replay, x.recovery, x.crc) for x in found.links] == [(None, None, 3)]
    assert [o.line for o in found.odd] == [4]


def test_a_cut_off_error_total_is_odd() -> None:
    assert facts("smi-nvlink-err", f"{HEAD}\t Link 0: Replay Errors: 0\n\t Link 0: Recov").odd


TOPOLOGY = (
    "\tGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
    "GPU0\t X \tNV8\tPXB\tSYS\t0-31,64-95\t0\t\tN/A\n"
    "GPU1\tNV8\t X \tSYS\tPXB\t32-63\t1\t\tN/A\n"
    "NIC0\tPXB\tSYS\t X \tSYS\n"
    "NIC1\tSYS\tPXB\tSYS\t X \n"
    "\nLegend:\n\n  X    = Self\n  PXB  = Connection traversing multiple PCIe bridges\n"
    "\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_4\n"
)


def test_a_topology_gives_connections_cores_and_nics() -> None:
    found = facts("smi-topo", TOPOLOGY)
    assert [(r.name, r.cpus, r.numa, r.line) for r in found.rows] == [
        ("GPU0", "0-31,64-95", "0", 2),
        ("GPU1", "32-63", "1", 3),
        ("NIC0", None, None, 4),
        ("NIC1", None, None, 5),
    ]
    assert found.rows[0].to == {"GPU0": "X", "GPU1": "NV8", "NIC0": "PXB", "NIC1": "SYS"}
    assert found.nics == {"NIC0": "mlx5_0", "NIC1": "mlx5_4"}
    assert found.odd == ()


@pytest.mark.parametrize("names", [("mlx5_0", "mlx5_4"), ("rocep7s0", "rocep8s0"), ("bnxt_re0", "irdma1")])
def test_devices_may_have_any_name(names: tuple[str, str]) -> None:
    text = TOPOLOGY.replace("NIC0", names[0]).replace("NIC1", names[1])
    found = facts("smi-topo", text)
    assert found.rows[1].to == {"GPU0": "NV8", "GPU1": "X", names[0]: "SYS", names[1]: "PXB"}
    assert (found.rows[1].cpus, found.rows[1].numa) == ("32-63", "1")


def test_affinity_that_is_not_told_is_none() -> None:
    found = facts("smi-topo", TOPOLOGY.replace("32-63\t1", "N/A\tN/A"))
    assert (found.rows[1].cpus, found.rows[1].numa) == (None, None)


def test_colours_and_windows_line_ends_do_not_matter() -> None:
    dressed = "\x1b[4m" + TOPOLOGY.replace("\n", "\x1b[0m\r\n")
    assert [r.to for r in facts("smi-topo", dressed).rows] == [r.to for r in facts("smi-topo", TOPOLOGY).rows]


def test_a_cut_off_matrix_names_the_rows_it_lacks() -> None:
    found = facts("smi-topo", TOPOLOGY[: TOPOLOGY.index("GPU1\tNV8") + 9])
    assert [r.name for r in found.rows] == ["GPU0"]
    assert any("GPU1" in o.text for o in found.odd)


def test_a_cell_that_is_no_connection_is_odd() -> None:
    found = facts("smi-topo", TOPOLOGY.replace("GPU1\tNV8\t X ", "GPU1\tERR!\t X "))
    assert [r.name for r in found.rows] == ["GPU0", "NIC0", "NIC1"]
    assert 3 in [o.line for o in found.odd]


def test_peer_access_reads_like_a_topology() -> None:
    found = facts("smi-p2p", " \tGPU0\tGPU1\t\n GPU0\tX\tOK\t\n GPU1\tCNS\tX\t\n\nLegend:\n\n  OK = Status Ok\n")
    assert [r.to for r in found.rows] == [{"GPU0": "X", "GPU1": "OK"}, {"GPU0": "CNS", "GPU1": "X"}]


def test_a_driver_that_knows_no_topology_is_not_available() -> None:
    found = read("smi-topo", "Option -m is not supported on this platform.\n")
    assert isinstance(found, NotAvailable)
    assert found.kind == "unsupported"
