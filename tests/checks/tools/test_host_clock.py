"""Clocks and boots: chrony in its versions and forms, systemd, the epoch, and what is half told."""

from __future__ import annotations

import pytest

from checks.outputs import NotAvailable, Unparsable
from tests.checks.tools.host_texts import facts, read, recorded

CSV = (
    "0A00000A,10.0.0.10,3,1772591367.204518232,0.000018431,0.000012902,0.000024517,"
    "-11.482,0.001,0.018,0.000214531,0.000389120,64.4,Normal\n"
)
TEXT = (
    "Reference ID    : 0A00000A (ntp1.example)\nStratum         : 3\n"
    "Ref time (UTC)  : Wed Mar 04 02:29:27 2026\nSystem time     : 0.700018431 seconds fast of NTP time\n"
    "Last offset     : +0.000012902 seconds\nRMS offset      : 0.000024517 seconds\n"
    "Frequency       : 11.482 ppm slow\nResidual freq   : +0.001 ppm\nSkew            : 0.018 ppm\n"
    "Root delay      : 0.000214531 seconds\nRoot dispersion : 0.000389120 seconds\n"
    "Update interval : 64.4 seconds\nLeap status     : Normal\n"
)


def test_chrony_as_csv_gives_every_value_and_what_is_still_to_add_means_behind() -> None:
    found = facts("time-chrony", CSV)
    assert (found.reference, found.stratum, found.offset_s, found.leap) == ("10.0.0.10", 3, -0.000018431, "Normal")
    assert (found.last_offset_s, found.rms_offset_s, found.frequency_ppm) == (0.000012902, 0.000024517, -11.482)
    assert (found.root_delay_s, found.root_dispersion_s, found.synchronised) == (0.000214531, 0.00038912, True)


@pytest.mark.parametrize(("word", "offset"), [("fast", 0.700018431), ("slow", -0.700018431)])
def test_chrony_as_text_tells_the_side_in_a_word(word: str, offset: float) -> None:
    found = facts("time-chrony", TEXT.replace(" fast ", f" {word} "))
    assert (found.offset_s, found.stratum, found.reference, found.leap) == (offset, 3, "ntp1.example", "Normal")
    assert (found.offset_line, found.leap_line, found.odd) == (4, 13, ())


def test_chrony_before_it_told_the_address_has_a_column_less() -> None:
    found = facts("time-chrony", CSV.replace("10.0.0.10,", ""))
    assert (found.reference, found.stratum, found.offset_s, found.leap) == (None, 3, -0.000018431, "Normal")
    assert found.odd == ()


def test_a_line_without_its_last_column_is_not_the_older_form_and_no_skew_of_years() -> None:
    found = facts("time-chrony", CSV[: CSV.index(",Normal")])
    assert (found.stratum, found.offset_s, found.leap, found.synchronised) == (3, -0.000018431, None, None)
    assert found.odd


@pytest.mark.parametrize("half", ["Norm", "Not sync", "", "N/A", "0"])
def test_half_a_leap_status_says_nothing(half: str) -> None:
    for text in (CSV.replace("Normal", half), TEXT.replace("Normal", half)):
        found = facts("time-chrony", text)
        assert found.synchronised is None
        assert found.odd


def test_a_clock_that_follows_nothing_says_so() -> None:
    text = "00000000,,0,0.000000000,0.000000000,0,0,0.000,0.000,0.000,1.000,1.000,0.0,Not synchronised\n"
    found = facts("time-chrony", text)
    assert (found.reference, found.stratum, found.synchronised, found.odd) == (None, 0, False, ())


@pytest.mark.parametrize("value", ["N/A", "-", "", "0,000018431"])
def test_an_offset_that_is_no_number_is_none_and_never_zero(value: str) -> None:
    if "," not in value:
        assert facts("time-chrony", CSV.replace("0.000018431", value)).offset_s is None
    assert facts("time-chrony", TEXT.replace("0.700018431", value or "?")).offset_s is None


def test_a_daemon_that_does_not_run_gives_no_answer() -> None:
    found = read("time-chrony", "506 Cannot talk to daemon\n", 1)
    assert isinstance(found, NotAvailable)
    assert found.kind == "failed"


@pytest.mark.parametrize(
    ("text", "synchronised", "active"),
    [
        ("Timezone=Etc/UTC\nLocalRTC=no\nCanNTP=yes\nNTP=yes\nNTPSynchronized=yes\n", True, True),
        ("Timezone=Etc/UTC\nLocalRTC=no\nCanNTP=yes\nNTP=no\nNTPSynchronized=no\n", False, False),
        (
            "               Local time: Wed 2026-03-04 02:30:00 UTC\n           Universal time: Wed 2026-03-04 02:30\n"
            "                Time zone: Etc/UTC (UTC, +0000)\nSystem clock synchronized: no\n"
            "              NTP service: active\n          RTC in local TZ: no\n",
            False,
            True,
        ),
        ("Time zone: Etc/UTC (UTC, +0000)\nSystem clock synchronized: yes\nNTP service: n/a\n", True, None),
        ("Time zone: Etc/UTC (UTC, +0000)\nSystem clock synchronized: unknown\n", None, None),
    ],
)
def test_systemd_tells_whether_the_clock_is_synchronised(
    text: str, synchronised: bool | None, active: bool | None
) -> None:
    found = facts("time-ctl", text)
    assert (found.synchronised, found.ntp_active, found.timezone) == (synchronised, active, "Etc/UTC")


def test_systemd_that_ends_before_the_state_is_doubted() -> None:
    found = facts("time-ctl", "Timezone=Etc/UTC\nLocalRTC=no\n")
    assert found.synchronised is None
    assert [o.text for o in found.odd] == ["ends before the synchronisation state"]


def test_the_epoch_is_read_to_the_nanosecond_as_far_as_a_number_can() -> None:
    assert facts("epoch", "1772591400.125235854\n").seconds == pytest.approx(1772591400.125235854)
    assert facts("epoch", "1772591400.N\n").seconds == 1772591400.0  # date without nanoseconds
    assert facts("epoch", "1772591400\n").seconds == 1772591400.0


def test_a_clock_that_lost_its_battery_is_read_and_stands_near_1970() -> None:
    assert facts("epoch", "86412.000345001\n").seconds == pytest.approx(86412.0, abs=0.001)


def test_half_an_epoch_is_no_time() -> None:
    assert isinstance(read("epoch", "177259140"), Unparsable)
    assert facts("epoch", "1772591400.12").odd
    assert isinstance(read("epoch", "1772591400,125\n"), Unparsable)


def test_a_boot_has_its_id_and_the_time_since() -> None:
    found = facts("boot", "5F1B4A3E-0c9a-4a57-8d5e-0d6f0b0e2a11\n864000.10 1000.00\n")
    assert (found.boot_id, found.uptime_s) == ("5f1b4a3e-0c9a-4a57-8d5e-0d6f0b0e2a11", 864000.1)
    assert (found.line, found.uptime_line) == (1, 2)


@pytest.mark.parametrize("second", ["", "cat: /proc/uptime: Permission\n", "864000,10 1000,00\n"])
def test_a_boot_without_its_time_has_none_and_is_doubted(second: str) -> None:
    found = facts("boot", "5f1b4a3e-0c9a-4a57-8d5e-0d6f0b0e2a11\n" + second)
    assert found.uptime_s is None
    assert found.odd


def test_a_time_without_a_boot_id_is_no_answer() -> None:
    assert isinstance(read("boot", "864000.10 1000.00\n"), Unparsable)
    assert isinstance(read("boot", recorded("epoch")), Unparsable)
