"""Sweeps: every point is what typing it gives, with the state of the sheet."""

from __future__ import annotations

from pathlib import Path

import pytest

from common.errors import InputError
from tests.worksheets.whatif.sheets import SLUGS, book, row, shipped
from worksheets.whatif.sweep import axis, sweep


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a=1:3:0.5", (1, 1.5, 2, 2.5, 3)),
        ("a=1:3:0.7", (1, 1.7, 2.4)),
        ("a=3:1:-1", (3, 2, 1)),
        ("a=5,2,5", (5, 2)),
        ("workers=2:10:4", (2, 6, 10)),
        ("strict=no,yes", (False, True)),
        ("plan.fabric=infiniband,roce", ("infiniband", "roce")),
        ("plan.nic_rate=100:400:100", (12.5e9, 25e9, 37.5e9, 50e9)),
        ("nic_rate=100:400:100 Gbit/s", (12.5e9, 25e9, 37.5e9, 50e9)),
        ("nic_rate=0.1 Tbit/s, 400", (12.5e9, 50e9)),
    ],
)
def test_values_are_written_as_a_range_or_a_list(tmp_path: Path, text: str, values: tuple[object, ...]) -> None:
    assert axis(book(tmp_path), "linear", text).values == pytest.approx(values)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a", "write INPUT=START:END:STEP"),
        ("a=", "write INPUT=START:END:STEP"),
        ("a=,", "names no value"),
        ("a=1:3:0", "never gets from its start"),
        ("a=1:3:-1", "never gets from its start"),
        ("a=0:100:0.001", "has 100001 values"),
        ("a=1,1000", "outside the allowed range"),
        ("workers=1:5:0.5", "is not whole"),
        ("strict=perhaps", "neither yes nor no"),
        ("plan.fabric=token-ring", "is not a choice"),
        ("total=1,2", "it is computed"),
        ("b=1 day", "is in s, this field is in count"),
    ],
)
def test_what_is_no_axis_says_why(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        axis(book(tmp_path), "linear", text)


def test_a_sweep_of_one_input_tells_what_moves_and_what_stays(tmp_path: Path) -> None:
    workbook = book(tmp_path)
    found = sweep(workbook, "linear", [axis(workbook, "linear", "b=-2:4:3")])
    assert [target.ref.name for target in found.rows] == ["total", "root", "big", "words"]
    assert [target.ref.name for target in found.alike] == ["crew", "wall", "wide", "path", "counted", "fits"]
    assert [point.outcomes[0].value for point in found.points] == [20, 14, 8]
    assert "`sqrt` of -2" in found.points[0].outcomes[1].why
    assert [(point.state, point.rules) for point in found.points] == [("fail", ("LIN-1",)), ("ok", ()), ("ok", ())]


def test_rows_that_are_asked_for_are_told_even_when_they_stay(tmp_path: Path) -> None:
    workbook = book(tmp_path)
    wanted = [row(workbook, "linear.crew"), row(workbook, "linear.path[2]"), row(workbook, "follower.twice")]
    found = sweep(workbook, "linear", [axis(workbook, "linear", "a=1,2")], wanted)
    assert [point.outcomes for point in found.points][1][0].value == 8
    assert [[o.value for o in point.outcomes] for point in found.points] == [[8, 2, 22], [8, 4, 28]]
    assert [target.key for target in found.alike] == ["linear.crew"]


def test_two_inputs_make_a_grid_in_which_the_last_runs_fastest(tmp_path: Path) -> None:
    workbook = book(tmp_path)
    axes = [axis(workbook, "linear", "a=1,2"), axis(workbook, "linear", "b=0,1,2")]
    found = sweep(workbook, "linear", axes, [row(workbook, "linear.total")])
    assert [point.values for point in found.points] == [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)]
    assert [point.outcomes[0].value for point in found.points] == [13, 11, 9, 16, 14, 12]


def test_too_many_points_and_too_many_inputs_are_refused(tmp_path: Path) -> None:
    workbook = book(tmp_path)
    a, b, c = (axis(workbook, "linear", text) for text in ("a=0:99:1", "b=-5:5:1", "c=1,2"))
    with pytest.raises(InputError, match="1100 points"):
        sweep(workbook, "linear", [a, b])
    for axes in ([], [a, b, c], [a, a]):
        with pytest.raises(InputError, match="one input, or two different ones"):
            sweep(workbook, "linear", axes)


@pytest.mark.parametrize("slug", SLUGS)
def test_every_point_of_every_sheet_is_what_typing_it_gives(slug: str) -> None:
    workbook = shipped()
    found = sweep(workbook, slug, [axis(workbook, slug, "plan.gpus_total=64,512")])
    for point in found.points:
        trial = shipped()
        trial.set("plan", "gpus_total", point.values[0])
        typed = trial.compute(slug)
        assert point.state == typed.state
        assert point.rules == tuple(said.rule for said in typed.advice)
        for target, told in zip(found.rows, point.outcomes, strict=True):
            value = typed.rows[target.ref.name].value
            assert told.value == (None if value is None else value.value)
