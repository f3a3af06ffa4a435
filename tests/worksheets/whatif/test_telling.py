"""Texts of what-if results: at most 80 columns in every language, and a number for whatever a bar shows."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.words import set_language
from tests.worksheets.whatif.sheets import SLUGS, book, row, rows_of, shipped
from worksheets.whatif import bars, telling
from worksheets.whatif.compare import compare
from worksheets.whatif.condition import conditions
from worksheets.whatif.goal import seek, turned
from worksheets.whatif.sample import sample
from worksheets.whatif.targets import Target
from worksheets.whatif.tornado import tornado
from worksheets.whatif.uncertain import uncertain


@pytest.fixture(params=["en", "zh"])
def language(request: pytest.FixtureRequest) -> Iterator[str]:
    set_language(request.param)
    yield request.param
    set_language("en")


def columns(line: str) -> int:
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in line)


@pytest.mark.parametrize("slug", SLUGS)
def test_on_every_sheet_no_line_is_wider_than_80_columns(slug: str, language: str) -> None:
    workbook, other = shipped(), shipped(card={"gpus_total": 512, "rent_gpu_h": 3, "nic_rate": 200})
    lines = telling.compare(compare(workbook, other, slug))
    targets = [Target(ref, workbook.library.entry(ref)) for ref in rows_of(workbook, slug)]
    able = [one for one in targets if workbook.cell(slug, one.entry).value is not None]
    if able and uncertain(workbook, *(one.ref for one in able)):
        lines += telling.sample(sample(workbook, able, 20))
    for target in able:
        value = workbook.cell(slug, target.entry).value
        if value is not None and isinstance(value.value, float) and uncertain(workbook, target.ref, others_pct=10):
            lines += telling.tornado(tornado(workbook, target, 10))
            break
    assert [line for line in lines if columns(line) > telling.COLUMNS] == []


def test_a_tornado_tells_both_ends_and_how_far_they_are_from_the_plan(tmp_path: Path) -> None:
    workbook = book(tmp_path)
    lines = telling.tornado(tornado(workbook, row(workbook, "linear.total")))
    assert lines[0] == "linear.total, Total: 14"
    assert lines[3] == "linear.b: -2 to 5"
    assert lines[4].endswith("  low 20 (+42.9 %), high 6 (-57.1 %)")
    assert lines[-1] == "without effect: linear.idle 0 to 2"
    broken = telling.tornado(tornado(workbook, row(workbook, "linear.wall")))
    assert any(line.startswith("  low: wall: divides by zero") for line in broken)


def test_a_sample_tells_quantiles_shares_chances_and_its_seed(tmp_path: Path) -> None:
    workbook = book(tmp_path)
    asked = conditions(workbook, "linear", "total <= 1000")
    targets = [row(workbook, f"linear.{name}") for name in ("total", "words", "root")]
    text = "\n".join(telling.sample(sample(workbook, targets, 100, 5, asked)))
    for part in ("P10 ", "P50 ", "P90 ", "mean ", "% some", "% much", "linear.total <= 1 000: 100 %", "seed 5"):
        assert part in text
    assert "of 100 draws have no answer, such as: root: `sqrt` of -" in text.replace("\n    ", " ")


def test_a_real_value_is_told_with_enough_digits_to_type_it_again(tmp_path: Path) -> None:
    workbook = book(tmp_path)
    found = seek(workbook, conditions(workbook, "linear", "total >= 20.1"), turned(workbook, "linear", "a"))
    assert telling.goal(found)[0].startswith("✓ linear.a = 4.033333: the smallest from 0 to 100")


def test_goals_tell_gaps_and_that_not_every_value_was_tried(tmp_path: Path) -> None:
    workbook = book(tmp_path)
    window = conditions(workbook, "linear", "total >= 14 and total <= 20")
    assert any("fails again" in line for line in telling.goal(seek(workbook, window, turned(workbook, "linear", "a"))))
    plan = shipped(card={"tokens_total": "300 B tokens"})
    wide = seek(plan, conditions(plan, "training-time", "days<=30"), turned(plan, "training-time", "gpus"))
    assert any("not every one" in line for line in telling.goal(wide))


@given(ends=st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3).map(sorted), width=st.integers(5, 60))
def test_a_bar_is_as_wide_as_asked_and_marks_the_plan_once(ends: list[float], width: int) -> None:
    low, base, high = ends
    bar = bars.span(low, high, base, low, high, width)
    assert len(bar) == width
    assert bar.count("│") == 1
    assert "·" not in bar or low == high


@given(value=st.floats(-100, 100), most=st.floats(100, 1000))
def test_what_takes_away_stands_left_of_the_middle(value: float, most: float) -> None:
    left, _, right = bars.amount(value, most).partition("│")
    assert len(left) == len(right) == (bars.WIDTH - 1) // 2
    assert ("█" in left, "█" in right) == (value < 0, value > 0)


@given(counts=st.lists(st.integers(0, 1000), max_size=40))
def test_a_heap_is_blank_only_where_nothing_was_met(counts: list[int]) -> None:
    heap = bars.heap(counts)
    assert [sign == " " for sign in heap] == [count == 0 for count in counts]
    assert not any(counts) or "█" in heap
