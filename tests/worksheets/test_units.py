"""Quantities as people type and read them; the unit table against an independent one."""

from __future__ import annotations

from typing import Any

import pint
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import InputError
from worksheets.quantities import parse, shown
from worksheets.units import spell, unit

MONEY = {"USD": 7.0, "CNY": 1.0}


@pytest.mark.parametrize(
    ("text", "wanted", "options", "expected"),
    [
        ("400Gbit/s", "GB/s", {}, 50e9),
        ("80 GiB", "GiB", {}, 80 * 2.0**30),
        ("1.2 M tokens", "tokens", {}, 1.2e6),
        ("15T tokens", "tokens", {}, 15e12),
        ("15e12", "tokens", {}, 15e12),
        ("70B", "count", {}, 70e9),
        ("2 万亿", "tokens", {}, 2e12),
        ("6 738 415 616", "count", {}, 6738415616.0),
        ("1,200.5", "count", {}, 1200.5),
        ("30 days", "s", {}, 30 * 86400.0),
        ("1 month", "h", {}, 730 * 3600.0),
        ("40 %", "fraction", {}, 0.4),
        ("0.4", "%", {}, 0.004),
        ("4 per 1000 node-days", "per 1000 node-days", {}, 4 / 1000 / 86400),
        ("0.7 CNY/kWh", "currency/kWh", {"rates": MONEY}, 0.7 / 3.6e6),
        ("2 USD/h", "currency/h", {"rates": MONEY}, 14 / 3600),
        ("0.3 M USD", "currency", {"rates": MONEY}, 2.1e6),
        ("900 GB/s two-way", "GB/s", {"ask": "ways"}, 450e9),
        ("450 GB/s one-way", "GB/s", {"ask": "ways"}, 450e9),
        ("900 GB/s (双向)", "GB/s", {"ask": "ways"}, 450e9),
        ("400 Gbit/s", "GB/s", {"ask": "ways"}, 50e9),
        ("1979 TFLOP/s sparse", "TFLOP/s", {"ask": "sparse"}, 989.5e12),
        ("989 TFLOPS dense", "TFLOP/s", {"ask": "sparse"}, 989e12),
        ("81559 MiB", "GiB", {"ask": "memory"}, 81559 * 2.0**20),
        ("50 GB/s per GPU", "GB/s", {"scope": "gpu"}, 50e9),
    ],
)
def test_a_quantity_is_read_in_base_units(text: str, wanted: str, options: dict[str, Any], expected: float) -> None:
    assert parse(text, unit(wanted), **options) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "wanted", "options", "says"),
    [
        ("900 GB/s", "GB/s", {"ask": "ways"}, "write `900 GB/s one-way` or `900 GB/s two-way`"),
        ("1979 TFLOP/s", "TFLOP/s", {"ask": "sparse"}, "dense"),
        ("80 GB", "GiB", {"ask": "memory"}, "is a label"),
        ("400 GB/s per node", "GB/s", {"scope": "gpu"}, "counts per gpu"),
        ("5 days", "GB/s", {}, "is in s, this field is in GB/s"),
        ("5 furlong", "m", {}, "unknown unit `furlong`"),
        ("nan", "s", {}, "not a number"),
        ("inf", "s", {}, "not a number"),
        ("1e999", "s", {}, "not a finite number"),
        ("", "s", {}, "not a number"),
        ("1,2", "count", {}, "not one number"),
        ("3 EUR", "currency", {"rates": MONEY}, "what one EUR is worth"),
        ("5 GB dense", "GB", {}, "does not take"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_fix(
    text: str, wanted: str, options: dict[str, Any], says: str
) -> None:
    with pytest.raises(InputError, match=says):
        parse(text, unit(wanted), **options)


@pytest.mark.parametrize(
    ("value", "name", "expected"),
    [
        (6738415616.0, "count", "6 738 415 616"),
        (3.143e23, "FLOP", "314.3 ZFLOP"),
        (0.345, "%", "34.5%"),
        (50e9, "Gbit/s", "400 Gbit/s"),
        (86400 * 33.9, "days", "33.9 days"),
        (15e12, "tokens", "15 T tokens"),
        (0.0, "s", "0 s"),
    ],
)
def test_a_value_is_shown_in_its_unit(value: float, name: str, expected: str) -> None:
    assert shown(value, unit(name)) == expected


@given(st.floats(1e-6, 1e15), st.sampled_from(["GB/s", "GiB", "days", "count", "%", "FLOP/token", "currency/kWh"]))
def test_what_is_written_with_a_unit_reads_back_as_the_same(value: float, name: str) -> None:
    assert parse(f"{value!r} {name}", unit(name)) == pytest.approx(value * unit(name).factor, rel=1e-12)


@pytest.mark.parametrize(
    "name",
    ["GB/s", "GiB", "Gbit/s", "Tbit/s", "kWh", "MWh", "day", "week", "us", "ms", "km", "MW", "tonne", "MB", "KiB", "h"],
)
def test_units_are_worth_what_an_independent_table_says(name: str) -> None:
    table: pint.UnitRegistry[float] = pint.UnitRegistry()
    base = {"B": "byte", "s": "second", "W": "watt", "m": "meter", "kg": "kilogram"}
    ours = unit(name)
    theirs = table.Quantity(1, name.replace("tonne", "metric_ton"))
    target = "*".join(f"{base[b]}**({e})" for b, e in ours.dimension.items())
    assert theirs.to(target).magnitude == pytest.approx(ours.factor, rel=1e-12)


def test_tokens_and_sequences_do_not_mix_but_counts_do() -> None:
    assert spell(unit("FLOP/token^2").dimension) == "FLOP/token^2"
    assert unit("GPUs").dimension == unit("layers").dimension == unit("%").dimension == {}
