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
        "smi-core": files.smi_core(),
        "smi-perf": files.smi_perf(),
        "smi-pcie": files.smi_pcie(),
        "smi-ecc": files.smi_ecc(),
    }[command]
    found = read(command, text[: text.rindex(",") - 2])
    assert isinstance(found, Facts)
    assert [o.line for o in found.odd] == [4]


def test_the_list_gives_index_name_uuid_and_mig_devices() -> None:
    text = files.smi_list(2).replace(
        "GPU 1:", "  MIG 3g.40gb     Device  0: (UUID: MIG-4d6f0b0e-0c9a-4a57-8d5e-0d6f0b0e2a11)\nGPU 1:"
    )
    found = facts("smi-list", text)
    assert [(g.index, g.name, g.uuid, g.line, g.mig_devices) for g in found.gpus] == [
        (0, "NVIDIA A800-SXM4-80GB", files.UUIDS[0], 1, 1),
        (1, "NVIDIA A800-SXM4-80GB", files.UUIDS[1], 3, 0),
    ]
    assert (found.odd, found.unreachable) == ((), ())


def test_a_cut_off_list_marks_the_torn_line() -> None:
    found = facts("smi-list", files.smi_list(2)[:-20])
    assert [g.index for g in found.gpus] == [0]
    assert [o.line for o in found.odd] == [2]


def test_identity_is_read_in_full() -> None:
    gpu = facts("smi-core", files.smi_core()).gpus[3]
    assert gpu.model_dump() == {
        "line": 4,
        "index": 3,
        "uuid": files.UUIDS[3],
        "bus_id": files.BUSES[3],
        "serial": "156122100003",
        "name": "NVIDIA A800-SXM4-80GB",
        "driver_version": "550.90.07",
        "vbios_version": "92.00.A3.00.01",
        "inforom_image": "G506.0210.00.04",
        "persistence_mode": True,
        "mig_mode": False,
        "ecc_mode": True,
        "compute_mode": "Default",
    }


def test_load_is_read_in_full() -> None:
    gpu = facts("smi-perf", files.smi_perf()).gpus[2]
    assert gpu.model_dump() == {
        "line": 3,
        "index": 2,
        "pstate": "P0",
        "utilization_pct": 96.0,
        "memory_used_mib": 71204.0,
        "memory_total_mib": 81920.0,
        "temperature_c": 62.0,
        "memory_temperature_c": 66.0,
        "power_w": 390.0,
        "power_limit_w": 400.0,
        "power_max_w": 400.0,
        "sm_clock_mhz": 1395.0,
        "sm_clock_max_mhz": 1410.0,
        "memory_clock_mhz": 1593.0,
        "event_reasons": 4,
    }


def test_pcie_links_give_generation_and_width_now_and_at_most() -> None:
    gpu = facts("smi-pcie", files.smi_pcie(gen={1: "1"}, width={1: "8"})).gpus[1]
    assert (gpu.index, gpu.bus_id, gpu.line) == (1, files.BUSES[1], 2)
    assert (gpu.gen, gpu.gen_max, gpu.width, gpu.width_max) == (1, 4, 8, 16)


def test_ecc_counts_keep_their_columns_apart() -> None:
    gpu = facts("smi-ecc", files.smi_ecc({1: "1, 2, 3, 4, 5, 6"})).gpus[1]
    assert (gpu.corrected_volatile_dram, gpu.corrected_volatile_sram) == (1, 2)
    assert (gpu.uncorrected_volatile_dram, gpu.uncorrected_volatile_sram) == (3, 4)
    assert (gpu.uncorrected_aggregate_dram, gpu.uncorrected_aggregate_sram) == (5, 6)


@pytest.mark.parametrize(("yes", "no"), [("1", "0"), ("Yes", "No")])
def test_remapping_flags_read_alike_from_old_and_new_drivers(yes: str, no: str) -> None:
    found = facts("smi-remap", files.smi_remap({0: f"0, 0, {no}, {no}", 1: f"2, 3, {yes}, {no}"}))
    assert [(g.bus_id, g.pending, g.failure) for g in found.gpus[:2]] == [
        (files.BUSES[0], False, False),
        (files.BUSES[1], True, False),
    ]
    assert (found.gpus[1].correctable, found.gpus[1].uncorrectable) == (2, 3)


def test_a_remapping_row_without_its_last_column_is_odd_and_not_zero() -> None:
    found = facts("smi-remap", files.smi_remap({3: "0, 0, 0"}))
    assert len(found.gpus) == 3
    assert [o.line for o in found.odd] == [4]


def test_retired_pages_give_address_and_cause() -> None:
    text = f"{files.UUIDS[0]}, 0x0000000000012c3f, Double Bit ECC\n{files.UUIDS[1]}, [N/A], Single Bit ECC\n"
    found = facts("smi-retired", text)
    assert [(p.uuid, p.address, p.cause) for p in found.pages] == [
        (files.UUIDS[0], "0x0000000000012c3f", "Double Bit ECC"),
        (files.UUIDS[1], None, "Single Bit ECC"),
    ]
    assert isinstance(read("smi-retired", ""), Empty)


def test_fabric_states_are_kept_as_worded() -> None:
    found = facts("smi-fabric", "0, Completed, Success\n1, In Progress, N/A\n2, [N/A], [N/A]\n")
    assert [(g.index, g.state, g.status) for g in found.gpus] == [
        (0, "Completed", "Success"),
        (1, "In Progress", None),
        (2, None, None),
    ]


def test_a_recovery_no_gpu_tells_is_unsupported() -> None:
    found = read("smi-recovery", "0, [N/A]\n1, [Not Supported]\n")
    assert isinstance(found, NotAvailable)
    assert found.kind == "unsupported"


def test_older_names_in_a_header_mean_the_same() -> None:
    text = (
        "index, clocks.current.sm [MHz], clocks_throttle_reasons.active, enforced.power.limit [W]\n"
        "0, 1395 MHz, 0x0000000000000040, 400.00 W\n"
    )
    (gpu,) = facts("smi-perf", text).gpus
    assert (gpu.sm_clock_mhz, gpu.event_reasons, gpu.power_limit_w) == (1395.0, 64, 400.0)
    assert (gpu.utilization_pct, gpu.temperature_c, gpu.pstate) == (None, None, None)


@pytest.mark.parametrize("drop", [1, 5])
def test_rows_with_fewer_columns_than_asked_for_are_not_guessed(drop: int) -> None:
    rows = [row.split(", ") for row in files.smi_ecc().splitlines()]
    text = "".join(", ".join(row[:-drop]) + "\n" for row in rows)
    assert isinstance(read("smi-ecc", text), Unparsable)


def test_thousands_separators_never_shift_the_columns() -> None:
    found = facts("smi-ecc", files.smi_ecc({1: "1,204, 0, 0, 0, 0, 0"}))
    assert [g.index for g in found.gpus] == [0, 2, 3]
    assert [o.line for o in found.odd] == [2]


def test_a_number_torn_at_the_end_leaves_a_mark() -> None:
    one = files.smi_perf().splitlines()[0].replace("0x0000000000000004", "0x00000000000000")
    assert facts("smi-perf", one).odd
    assert facts("smi-perf", files.smi_perf()[:-5]).odd
    assert not facts("smi-perf", files.smi_perf()).odd


def test_a_gpu_lost_between_the_rows_is_odd() -> None:
    rows = files.smi_pcie().splitlines()
    rows[2] = "Unable to determine the device handle for GPU 0000:47:00.0: Unknown Error"
    found = facts("smi-pcie", "\n".join(rows) + "\n")
    assert [g.index for g in found.gpus] == [0, 1, 3]
    assert [o.line for o in found.odd] == [3]


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
