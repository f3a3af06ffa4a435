"""Many draws at once give what typing each draw gives, on every sheet and for everything a sheet may say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from common.errors import InputError
from tests.worksheets.whatif.sheets import LIBRARY, SLUGS, book, rows_of, shipped
from worksheets import fields
from worksheets.engine import Workbook
from worksheets.library import PARTS, Ref
from worksheets.model import Input
from worksheets.values import Value
from worksheets.whatif.draws import Draws
from worksheets.whatif.targets import put
from worksheets.whatif.uncertain import triangular, uncertain

SAMPLES = 6


def wide(run: Draws, name: str) -> Any:
    sheet, _, row = name.partition(".")
    return run.wide(Ref(sheet, row))


def told(outcome: Value | InputError | None) -> Any:
    """The value, or that there is none."""
    return outcome.value if isinstance(outcome, Value) else None


def equal(one: Any, other: Any) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return one == pytest.approx(other, rel=1e-9)
    return type(one) is type(other) and bool(one == other)


def differences(workbook: Workbook, changed: dict[str, Any], refs: list[Ref]) -> dict[str, Any]:
    """The rows that are not the same in the draws as when every draw is typed by itself."""
    run, found = Draws(workbook, changed), {}
    for draw in range(run.size):
        trial = workbook.copy()
        for key, values in changed.items():
            sheet, _, name = key.partition(".")
            put(trial, Ref(sheet, name), trial.settable(key), float(values[draw]))
        for ref in refs:
            typed = told(trial.cell(ref.sheet, trial.library.entry(ref)).value)
            if not equal(typed, drawn := told(run.outcome(ref, draw))):
                found[ref.key] = (typed, drawn)
    return found


def tells_of_inputs(workbook: Workbook) -> set[str]:
    """Rows that tell what a number rests on, and all that hangs on them: trying a value is not giving one."""
    found: set[str] = set()
    grew = True
    refs = [Ref(slug, e.name) for slug in SLUGS for e in (*LIBRARY.sheet(slug).inputs, *LIBRARY.sheet(slug).rows)]
    while grew:
        more = {
            ref.key
            for ref in refs
            for need in workbook.needs(ref)
            if need.part in set(PARTS) - {"low", "high"} or need.key in found
        }
        grew, found = not more <= found, found | more
    return found


@pytest.mark.parametrize("slug", SLUGS)
def test_every_sheet_gives_in_every_draw_what_typing_it_gives(slug: str) -> None:
    workbook = shipped()
    refs = rows_of(workbook, slug)
    inputs = uncertain(workbook, *refs, others_pct=20)
    if not inputs:
        pytest.skip("nothing in this sheet has a range")
    changed = {one.ref.key: triangular(one, SAMPLES, seed=3) for one in inputs}
    apart = tells_of_inputs(workbook)
    assert differences(workbook, changed, [ref for ref in refs if ref.key not in apart]) == {}


@pytest.mark.parametrize(
    "card", [{"currency": "CNY"}, {"currency": "EUR", "eur_per_usd": {"value": 0.9, "low": 0.8, "high": 1}}]
)
def test_draws_over_all_sheets_together_hold_in_other_currencies_too(card: dict[str, Any]) -> None:
    workbook = shipped(card=card)
    apart = tells_of_inputs(workbook)
    refs = [ref for ref in rows_of(workbook, *SLUGS) if ref.key not in apart]
    inputs = uncertain(workbook, *refs)
    assert any(one.ref.key == "plan.eur_per_usd" for one in inputs) is (card["currency"] == "EUR")
    changed = {one.ref.key: triangular(one, 3, seed=5) for one in inputs}
    assert differences(workbook, changed, refs) == {}


CHANGES = {
    "a": {"linear.a": [1.0, 1.2, 2.0, 3.0, 50.0]},
    "a and b": {"linear.a": [1.0, 1.2, 2.0, 9.0], "linear.b": [-9.0, 0.0, 4.5, 9.0]},
    "how long a list is": {"follower.steps": [1.0, 2.0, 3.0, 9.0], "linear.a": [1.0, 2.0, 2.0, 0.0]},
    "an input that has no value": {"follower.open": [0.0, 5.0, 10.0], "linear.a": [1.0, 2.0, 3.0]},
    "a whole number": {"linear.workers": [1.0, 5.0, 6.0]},
    "an exchange rate": {"plan.cny_per_usd": [6.0, 7.0, 8.0], "linear.workers": [1.0, 5.0, 6.0]},
}


@pytest.mark.parametrize("given", [{}, {"price": "3 USD"}, {"price": 3, "a": 4, "steps": 3}], ids=str)
@pytest.mark.parametrize("changed", CHANGES.values(), ids=CHANGES)
def test_everything_a_sheet_may_say_is_the_same_typed_and_drawn(
    tmp_path: Path, changed: dict[str, list[float]], given: dict[str, Any]
) -> None:
    workbook = book(tmp_path, card={"currency": "CNY"}, sheets={"follower": given})
    refs = [ref for ref in rows_of(workbook, "linear", "follower") if ref.name != "counted"]
    entries = workbook.library.sheet("follower").inputs
    refs += [Ref("follower", entry.name) for entry in entries]
    assert differences(workbook, {key: np.array(values) for key, values in changed.items()}, refs) == {}


def test_only_what_hangs_on_a_drawn_input_is_computed_again(tmp_path: Path) -> None:
    workbook = book(tmp_path)
    run = Draws(workbook, {"linear.workers": np.array([1.0, 2.0])})
    varying = [ref.key for ref in rows_of(workbook, "linear", "follower") if run.varies(ref)]
    assert varying == ["linear.crew", "linear.fits", "follower.paid"]
    assert wide(run, "linear.total").tolist() == [14, 14]
    assert [item.tolist() for item in wide(run, "linear.path")] == [[2, 2], [4, 4], [8, 8]]


def test_trying_a_value_is_not_giving_one(tmp_path: Path) -> None:
    workbook = book(tmp_path)
    run = Draws(workbook, {"linear.a": np.array([1.0, 2.0])})
    assert wide(run, "linear.counted").tolist() == [0, 0]


def test_a_list_whose_length_is_drawn_is_no_array_and_says_so(tmp_path: Path) -> None:
    run = Draws(book(tmp_path), {"follower.steps": np.array([2.0, 3.0])})
    with pytest.raises(InputError, match=r"follower\.growth is a list whose length changes"):
        run.array(Ref("follower", "growth"))
    assert wide(run, "follower.grown").tolist() == [6, 14]
    last = wide(run, "follower.last")
    assert np.isnan(last).tolist() == [True, False]


def test_a_given_value_follows_no_link_in_the_draws(tmp_path: Path) -> None:
    workbook = book(tmp_path, sheets={"follower": {"a": 4}})
    run = Draws(workbook, {"linear.a": np.array([1.0, 2.0])})
    assert not run.varies(Ref("follower", "ends"))


def test_every_followed_input_of_the_sheets_is_left_to_its_origin() -> None:
    workbook = shipped()
    for slug in SLUGS:
        for one in uncertain(workbook, *rows_of(workbook, slug), others_pct=10):
            assert isinstance(one.entry, Input)
            cell = workbook.cell(one.ref.sheet, one.entry)
            assert cell.value is not None
            assert not fields.followed(one.entry, cell.value)
            assert one.low <= one.value <= one.high
