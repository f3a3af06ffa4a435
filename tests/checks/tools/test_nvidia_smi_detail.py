"""nvidia-smi's full reports as text and as XML: paths, odd values, cut-off and hostile documents."""

from __future__ import annotations

from typing import Any

import pytest

from checks.interpret import interpret
from checks.outputs import Facts, NotAvailable, Outcome, Output, Unparsable

TEXT = """
==============NVSMI LOG==============

Timestamp                                 : Wed Mar  4 02:10:00 2026
Driver Version                            : 550.90.07
CUDA Version                              : 12.4

Attached GPUs                             : 2
GPU 00000000:07:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    Performance State                     : P0
    Clocks Event Reasons
        Idle                              : Not Active
        SW Power Cap                      : Active
        HW Slowdown                       : Not Active
            HW Thermal Slowdown           : Not Active
            HW Power Brake Slowdown       : Not Active
    Temperature
        GPU Current Temp                  : 63 C
        GPU T.Limit Temp                  : 24 C
        Memory Current Temp               : N/A
    Power Readings
        Power Draw                        : 688.10 W

GPU 00000000:0F:00.0
    Clocks Event Reasons
        HW Slowdown                       : Active
            HW Thermal Slowdown           : Active
    Temperature
        GPU Current Temp                  : [Unknown Error]
"""
XML = """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
\t<timestamp>Wed Mar  4 02:10:00 2026</timestamp>
\t<driver_version>550.90.07</driver_version>
\t<attached_gpus>1</attached_gpus>
\t<gpu id="00000000:07:00.0">
\t\t<product_name>NVIDIA H100 80GB HBM3</product_name>
\t\t<ecc_errors><aggregate><sram_threshold_exceeded>No</sram_threshold_exceeded></aggregate></ecc_errors>
\t\t<fan_speed>N/A</fan_speed>
\t\t<temperature><gpu_temp>63 C</gpu_temp></temperature>
\t\t<clocks_event_reasons><clocks_event_reason_sw_power_cap>Active</clocks_event_reason_sw_power_cap></clocks_event_reasons>
\t</gpu>
</nvidia_smi_log>
"""


def read(command: str, text: str) -> Outcome:
    return interpret(Output("gpu1", command, (), 1, text.encode()))


def facts(command: str, text: str) -> Any:
    found = read(command, text)
    assert isinstance(found, Facts), found
    return found


def test_a_text_report_becomes_paths_with_lines() -> None:
    found = facts("smi-tlimit", TEXT)
    assert (found.driver_version, found.attached, found.odd) == ("550.90.07", 2, ())
    assert [(g.bus_id, g.line) for g in found.gpus] == [("00000000:07:00.0", 9), ("00000000:0F:00.0", 25)]
    gpu = found.gpus[0]
    assert gpu.text("product name") == "NVIDIA H100 80GB HBM3"
    assert gpu.number("temperature/gpu t.limit temp") == 24.0
    assert gpu.number("power readings/power draw") == 688.1
    assert gpu.lines["temperature/gpu t.limit temp"] == 20


def test_flags_below_a_flag_keep_its_path() -> None:
    first, second = facts("smi-tlimit", TEXT).gpus
    assert first.flag("clocks event reasons/sw power cap") is True
    assert first.flag("clocks event reasons/hw slowdown/hw thermal slowdown") is False
    assert second.flag("clocks event reasons/hw slowdown/hw thermal slowdown") is True


@pytest.mark.parametrize("odd", ["N/A", "[N/A]", "[Not Supported]", "[Unknown Error]", "ERR!", "Unknown Error"])
def test_a_value_that_is_not_told_is_none_and_never_zero_or_false(odd: str) -> None:
    text = TEXT.replace("63 C", odd).replace("SW Power Cap                      : Active", f"SW Power Cap : {odd}")
    gpu = facts("smi-tlimit", text).gpus[0]
    assert gpu.number("temperature/gpu current temp") is None
    assert gpu.text("temperature/gpu current temp") is None
    assert gpu.flag("clocks event reasons/sw power cap") is None
    assert gpu.number("no such path") is None


def test_the_first_of_several_names_that_is_there_counts() -> None:
    gpu = facts("smi-tlimit", TEXT.replace("Clocks Event Reasons", "Clocks Throttle Reasons")).gpus[0]
    assert gpu.flag("clocks event reasons/sw power cap", "clocks throttle reasons/sw power cap") is True


def test_a_report_with_fewer_gpus_than_attached_is_odd() -> None:
    cut = facts("smi-tlimit", TEXT[: TEXT.index("GPU 00000000:0F")])
    assert cut.odd[0].text == "1 of 2 GPUs in the report"


def test_a_report_cut_in_a_line_is_odd() -> None:
    assert facts("smi-tlimit", TEXT[:-8]).odd


@pytest.mark.parametrize(
    "dress",
    [lambda t: t.replace("\n", "\r\n"), lambda t: f"\x1b[1m{t}\x1b[0m\n", lambda t: f"Authorised use only\n{t}"],
    ids=["crlf", "colours", "banner"],
)
@pytest.mark.parametrize(("command", "text"), [("smi-tlimit", TEXT), ("smi-xml", XML)])
def test_dress_around_a_report_does_not_matter(command: str, text: str, dress: Any) -> None:
    plain, dressed = facts(command, text), facts(command, dress(text))
    assert [g.values for g in dressed.gpus] == [g.values for g in plain.gpus]
    assert dressed.driver_version == "550.90.07"


def test_an_xml_report_becomes_paths() -> None:
    found = facts("smi-xml", XML)
    assert (found.driver_version, found.attached, found.odd) == ("550.90.07", 1, ())
    (gpu,) = found.gpus
    assert (gpu.bus_id, gpu.line) == ("00000000:07:00.0", 7)
    assert gpu.number("temperature/gpu_temp") == 63.0
    assert gpu.flag("ecc_errors/aggregate/sram_threshold_exceeded") is False
    assert gpu.flag("clocks_event_reasons/clocks_event_reason_sw_power_cap") is True
    assert gpu.text("fan_speed") is None


def test_either_command_reads_either_form() -> None:
    assert [g.bus_id for g in facts("smi-tlimit", XML).gpus] == ["00000000:07:00.0"]
    assert len(facts("smi-xml", TEXT).gpus) == 2


def test_a_cut_off_xml_says_where_it_ends() -> None:
    found = read("smi-xml", XML[: XML.index("\t</gpu>")])
    assert isinstance(found, Unparsable)
    assert found.line is not None
    assert found.line >= 12


def test_an_xml_report_with_fewer_gpus_than_attached_is_odd() -> None:
    assert facts("smi-xml", XML.replace("<attached_gpus>1<", "<attached_gpus>8<")).odd[0].text.startswith("1 of 8")


def test_entities_in_a_document_are_not_expanded() -> None:
    bomb = XML.replace("<nvidia_smi_log>", '<nvidia_smi_log><!DOCTYPE x [<!ENTITY a "aaaa">]>', 1)
    assert isinstance(read("smi-xml", bomb), Unparsable)
    assert isinstance(read("smi-xml", XML.replace("63 C", "&a;")), Unparsable)


@pytest.mark.parametrize("command", ["smi-tlimit", "smi-xml"])
@pytest.mark.parametrize(
    "text", ["NVIDIA-SMI has failed because it could not talk to the driver.\n", "<html></html>\n", ""]
)
def test_what_is_no_report_is_no_answer(command: str, text: str) -> None:
    assert isinstance(read(command, text), Unparsable | NotAvailable)
