"""What nvidia-smi prints: usual values, odd values, other columns, cut-off and foreign texts."""

from __future__ import annotations

from typing import Any

import pytest

from checks.interpret import interpret
from checks.outputs import Empty, Facts, NotAvailable, Outcome, Output, Unparsable
from checks.tools.nvidia_smi import GpuList
from tests.checks.rules import gpu_files as files


def read(command: str, text: str, status: int = 0) -> Outcome:
    return interpret(Output("gpu1", command, (), 1, text.encode(), b"", status))


def facts(command: str, text: str) -> Any:
    found = read(command, text)
    assert isinstance(found, Facts), found
    return found


def test_identity_gives_modes_and_versions() -> None:
    gpu = facts("smi-core", files.smi_core(mig={1: "Enabled"})).gpus[1]
    assert (gpu.index, gpu.uuid, gpu.bus_id) == (1, files.UUIDS[1], files.BUSES[1])
    assert (gpu.ecc_mode, gpu.mig_mode, gpu.persistence_mode) == (True, True, True)
    assert (gpu.driver_version, gpu.vbios_version) == ("550.90.07", "92.00.A3.00.01")


def test_load_gives_numbers_in_their_units() -> None:
    gpu = facts("smi-perf", files.smi_perf()).gpus[0]
    assert (gpu.utilization_pct, gpu.power_w, gpu.power_limit_w) == (96.0, 390.0, 400.0)
    assert (gpu.sm_clock_mhz, gpu.temperature_c, gpu.event_reasons) == (1395.0, 62.0, 4)


@pytest.mark.parametrize(
    "odd", ["N/A", "[N/A]", "[Not Supported]", "[Unknown Error]", "ERR!", "[GPU requires reset]", ""]
)
def test_a_value_that_is_not_told_is_none_and_never_zero(odd: str) -> None:
    perf = facts("smi-perf", files.smi_perf(util={0: odd}, power={0: odd}, reasons={0: odd}, memtemp={0: odd})).gpus[0]
    assert (perf.utilization_pct, perf.power_w, perf.event_reasons, perf.memory_temperature_c) == (None,) * 4
    core = facts("smi-core", files.smi_core(ecc={0: odd}, mig={0: odd}, persistence={0: odd})).gpus[0]
    assert (core.ecc_mode, core.mig_mode, core.persistence_mode) == (None, None, None)
    ecc = facts("smi-ecc", files.smi_ecc({0: ", ".join([odd] * 6)})).gpus[0]
    assert (ecc.uncorrected_volatile_dram, ecc.uncorrected_aggregate_sram) == (None, None)
    remap = facts("smi-remap", files.smi_remap({0: ", ".join([odd] * 4)})).gpus[0]
    assert (remap.pending, remap.failure, remap.uncorrectable) == (None, None, None)


def test_units_and_a_header_nobody_asked_for_are_understood() -> None:
    text = (
        "index, pstate, utilization.gpu [%], memory.used [MiB], memory.total [MiB], temperature.gpu, "
        "temperature.memory, power.draw [W], power.limit [W], power.max_limit [W], clocks.sm [MHz], "
        "clocks.max.sm [MHz], clocks.mem [MHz], clocks_event_reasons.active\n"
        "0, P0, 96 %, 71204 MiB, 81920 MiB, 62, 66, 390.00 W, 400.00 W, 400.00 W, 1395 MHz, 1410 MHz, 1593 MHz, "
        "0x0000000000000004\n"
    )
    (gpu,) = facts("smi-perf", text).gpus
    assert (gpu.utilization_pct, gpu.memory_used_mib, gpu.power_w, gpu.sm_clock_mhz) == (96.0, 71204.0, 390.0, 1395.0)


@pytest.mark.parametrize(
    "dress",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: f"\x1b[32m{text}\x1b[0m",
        lambda text: f"*** Authorised use only ***\nLast login: Tue Mar  3\n{text}",
    ],
    ids=["crlf", "colours", "banner"],
)
def test_dress_around_the_rows_does_not_matter(dress: Any) -> None:
    plain = facts("smi-pcie", files.smi_pcie())
    dressed = facts("smi-pcie", dress(files.smi_pcie()))
    assert [g.model_dump(exclude={"line"}) for g in dressed.gpus] == [
        g.model_dump(exclude={"line"}) for g in plain.gpus
    ]


@pytest.mark.parametrize("command", ["smi-core", "smi-perf", "smi-pcie", "smi-ecc"])
def test_a_row_that_is_cut_off_leaves_a_mark(command: str) -> None:
    text = {
        "smi-core": files.smi_core,
        "smi-perf": files.smi_perf,
        "smi-pcie": files.smi_pcie,
        "smi-ecc": files.smi_ecc,
    }[command]()
    found = read(command, text[: text.rindex(",") - 2])
    assert isinstance(found, Unparsable) or (isinstance(found, Facts) and (found.odd or len(found.gpus) == 3))  # type: ignore[attr-defined]
    if isinstance(found, Facts):
        assert found.odd


def test_a_list_with_a_lost_gpu_names_it() -> None:
    text = files.smi_list(3) + "Unable to determine the device handle for gpu 0000:4E:00.0: Unknown Error\n"
    found = facts("smi-list", text)
    assert len(found.gpus) == 3
    assert "4E:00.0" in found.unreachable[0].text


def test_a_node_without_any_gpu_lists_none() -> None:
    found = read("smi-list", "No devices were found\n", 6)
    assert isinstance(found, GpuList)
    assert found.gpus == ()


def test_no_process_is_empty() -> None:
    assert isinstance(read("smi-apps", "No running processes found\n"), Empty)
    assert isinstance(read("smi-apps", ""), Empty)


def test_processes_give_pid_and_memory() -> None:
    (row,) = facts("smi-apps", f"{files.UUIDS[0]}, 81234, /usr/bin/python3, 71200\n").processes
    assert (row.pid, row.name, row.memory_mib) == (81234, "/usr/bin/python3", 71200.0)


def test_recovery_actions_are_kept_as_the_driver_words_them() -> None:
    found = facts("smi-recovery", "0, None\n1, Reset\n2, Drain and Reset\n")
    assert [g.action for g in found.gpus] == ["None", "Reset", "Drain and Reset"]


def test_links_that_are_down_have_no_rate() -> None:
    found = facts("smi-nvlink", files.nvlink(down=(2, 7)))
    assert [g.active for g in found.gpus] == [8, 8, 7, 8]
    assert found.gpus[2].links[7].gb_per_s is None


def test_error_counters_belong_to_gpu_and_link() -> None:
    found = facts("smi-nvlink-err", files.nvlink_errors(crc=12, replay=3))
    hit = [(x.gpu, x.link, x.replay, x.recovery, x.crc) for x in found.links if x.crc or x.replay]
    assert hit == [(1, 3, 3, 0, 12)]


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", 9),
        ("Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.90\n", 18),
        ("No devices were found\n", 6),
        ("Unable to determine the device handle for GPU0000:47:00.0: Unknown Error\n", 255),
    ],
)
@pytest.mark.parametrize("command", ["smi-core", "smi-perf", "smi-ecc", "smi-nvlink"])
def test_a_driver_that_does_not_answer_is_not_available(command: str, said: str, status: int) -> None:
    found = read(command, said, status)
    assert isinstance(found, NotAvailable)
    assert said.split(":")[0].strip()[:20] in found.reason


COMMANDS = [
    "smi-list", "smi-core", "smi-perf", "smi-pcie", "smi-ecc", "smi-remap", "smi-retired", "smi-recovery",
    "smi-fabric", "smi-apps", "smi-tlimit", "smi-xml", "smi-nvlink", "smi-nvlink-err", "smi-topo", "fm-status",
    "fm-version", "drv-version",
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("text", ["Filesystem 1K-blocks Used\n/dev/sda1 100 50 50%\n", '{"jobs": []}\n', "ü\x00\x01\n"])
def test_a_foreign_text_is_unparsable(command: str, text: str) -> None:
    found = read(command, text)
    assert isinstance(found, Unparsable | NotAvailable), found
