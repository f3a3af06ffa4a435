"""The tornado: exact for a linear result, widest first, through linked sheets, the same as typing the ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from common.errors import InputError
from tests.worksheets.whatif.sheets import SLUGS, book, row, rows_of, shipped
from worksheets.library import Ref
from worksheets.whatif.targets import Target, put
from worksheets.whatif.tornado import tornado
from worksheets.whatif.uncertain import uncertain


def test_of_a_linear_result_every_end_and_every_swing_is_exact(tmp_path: Path) -> None:
    workbook = book(tmp_path)
    found = tornado(workbook, row(workbook, "linear.total"))
    assert (found.base, found.unit) == (14, "count")
    told = {bar.input.ref.name: (bar.at_low.result, bar.at_high.result, bar.swing) for bar in found.bars}
    assert told == {"b": (20, 6, 14), "a": (11, 17, 6)}
    assert [bar.input.ref.name for bar in found.bars] == ["b", "a"]
    assert [one.ref.name for one in found.still] == ["idle"]


def test_inputs_of_other_sheets_move_a_result_and_what_follows_them_moves_along(tmp_path: Path) -> None:
    workbook = book(tmp_path)
    found = tornado(workbook, row(workbook, "follower.twice"))
    assert {bar.input.ref.key: bar.swing for bar in found.bars} == {"linear.a": 12, "linear.b": 28}
    paid = tornado(workbook, row(workbook, "follower.paid"))
    assert {bar.input.ref.key: bar.swing for bar in paid.bars} == {"follower.price": 120, "linear.workers": 160}
    assert paid.unit == "USD"


def test_a_result_that_cannot_be_computed_at_an_end_stands_first_and_tells_why(tmp_path: Path) -> None:
    workbook = book(tmp_path)
    (bar,) = tornado(workbook, row(workbook, "linear.wall")).bars
    assert bar.broken
    assert bar.at_low.result is None
    assert "divides by zero" in bar.at_low.why
    assert bar.at_high.result == 0.5
    (low,) = tornado(workbook, row(workbook, "linear.root")).bars
    assert "`sqrt` of -2" in low.at_low.why
    assert low.swing == 5**0.5 - 1


def test_others_are_taken_up_and_down_by_a_percentage_within_what_is_allowed(tmp_path: Path) -> None:
    workbook = book(tmp_path, sheets={"linear": {"c": 80}})
    found = tornado(workbook, row(workbook, "linear.total"), others_pct=50)
    c = next(bar for bar in found.bars if bar.input.ref.name == "c")
    assert c.input.assumed
    assert (c.input.low, c.input.high) == (40, 100)
    assert c.swing == 60
    assert not any(bar.input.assumed for bar in found.bars if bar is not c)


def test_a_typed_value_counts_as_known(tmp_path: Path) -> None:
    workbook = book(tmp_path)
    workbook.set("linear", "b", 3)
    assert [bar.input.ref.name for bar in tornado(workbook, row(workbook, "linear.total")).bars] == ["a"]


@pytest.mark.parametrize("slug", SLUGS)
def test_on_every_sheet_bars_are_ordered_and_their_ends_are_what_typing_them_gives(slug: str) -> None:
    workbook = shipped()
    for ref in rows_of(workbook, slug):
        target = Target(ref, workbook.library.entry(ref))
        value = workbook.cell(slug, target.entry).value
        if value is not None and isinstance(value.value, float) and uncertain(workbook, ref):
            break
    else:
        pytest.skip("nothing in this sheet has a range")
    found = tornado(workbook, target)
    assert [bar.swing for bar in found.bars if not bar.broken] == sorted(
        (bar.swing for bar in found.bars if not bar.broken), reverse=True
    )
    for bar in found.bars:
        trial = workbook.copy()
        put(trial, bar.input.ref, bar.input.entry, bar.input.high)
        if bar.at_high.result is None:
            assert bar.at_high.why
        else:
            assert bar.at_high.result == target.number(trial)
    assert workbook.cell(slug, target.entry).value == value


@pytest.mark.parametrize(
    ("name", "pct", "why"),
    [
        ("linear.words", 0, "is no number"),
        ("linear.big", 0, "is no number"),
        ("linear.path", 0, r"name an item, such as linear.path\[1\]"),
        ("linear.nothing", 0, "no such row `linear.nothing`"),
        ("nothing.total", 0, "no worksheet `nothing`"),
        ("Linear Total", 0, "names no row"),
        ("linear.total", 200, "take 0 to 100"),
        ("follower.needs_open", 0, "needs follower.open"),
        ("plan.nodes", 0, "has a low and a high end"),
    ],
)
def test_what_has_no_tornado_says_why(tmp_path: Path, name: str, pct: float, why: str) -> None:
    workbook = book(tmp_path)
    with pytest.raises(InputError, match=why):
        tornado(workbook, row(workbook, name), pct)


def test_an_item_of_a_list_has_a_tornado(tmp_path: Path) -> None:
    workbook = book(tmp_path)
    (bar,) = tornado(workbook, row(workbook, "linear.path[3]")).bars
    assert (bar.input.ref, bar.swing) == (Ref("linear", "a"), 8)
