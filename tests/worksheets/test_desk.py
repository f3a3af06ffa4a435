"""Working at a workbook: typing, taking back, saving and opening plans."""

from __future__ import annotations

from pathlib import Path

import pytest

from common.errors import InputError
from worksheets import plan as plans
from worksheets.desk import Desk
from worksheets.library import Library
from worksheets.plan import Given, Plan

SHEET = "checkpoint-interval"


@pytest.fixture
def desk() -> Desk:
    return Desk(Library())


def test_keys_of_one_change_are_undone_together(desk: Desk) -> None:
    before, cost = desk.compute(SHEET)["tau_young"], desk.compute(SHEET)["ckpt_cost"]
    desk.begin(SHEET, "ckpt_cost")
    for text in ("1", "12", "120"):
        desk.type(SHEET, "ckpt_cost", text)
    desk.end()
    assert desk.compute(SHEET)["tau_young"] == pytest.approx(before * (120 / cost) ** 0.5)
    assert desk.undo() == f"{SHEET}.ckpt_cost"
    assert desk.compute(SHEET)["tau_young"] == before
    assert desk.undo() == ""


def test_a_refused_value_keeps_the_last_good_one_and_says_what_is_allowed(desk: Desk) -> None:
    desk.set(SHEET, "ckpt_cost", "2 min")
    good = desk.compute(SHEET)["tau_young"]
    with pytest.raises(InputError) as refused:
        desk.set(SHEET, "ckpt_cost", "99999")
    assert "ckpt_cost" in str(refused.value)
    assert "99 999 s" in str(refused.value)
    assert "0.1 s to 7 200 s" in str(refused.value)
    assert desk.compute(SHEET)["tau_young"] == good


def test_a_change_that_was_not_meant_leaves_no_trace(desk: Desk) -> None:
    before = desk.compute(SHEET)["ckpt_cost"]
    desk.begin(SHEET, "ckpt_cost")
    desk.type(SHEET, "ckpt_cost", "300")
    desk.cancel()
    assert desk.compute(SHEET)["ckpt_cost"] == before
    assert not desk.changed
    assert desk.plan() == Plan()


def test_a_change_to_the_same_value_is_none(desk: Desk) -> None:
    before = desk.compute(SHEET)["ckpt_cost"]
    desk.set(SHEET, "ckpt_cost", "61")
    desk.set(SHEET, "ckpt_cost", "61")
    desk.undo()
    assert desk.compute(SHEET)["ckpt_cost"] == before


def test_a_saved_plan_opens_to_the_same_numbers(desk: Desk, tmp_path: Path) -> None:
    desk.set(SHEET, "ckpt_cost", "2 min")
    desk.set(SHEET, "ckpt_async", "no")
    desk.set("plan", "gpus_total", "1024")
    desk.save(tmp_path / "ours.yaml")
    assert not desk.changed
    other = Desk(Library())
    other.open(tmp_path / "ours.yaml")
    assert {n: c.text() for n, c in other.compute(SHEET).rows.items()} == {
        n: c.text() for n, c in desk.compute(SHEET).rows.items()
    }
    saved = plans.load(tmp_path / "ours.yaml")
    assert saved.plan == "ours"
    assert saved.card == {"gpus_total": 1024}
    assert saved.sheets[SHEET] == {"ckpt_cost": "2 min", "ckpt_async": "no"}


def test_what_a_plan_gives_is_taken_back_and_then_not_saved(tmp_path: Path) -> None:
    path = tmp_path / "ours.yaml"
    plans.save(Plan(sheets={SHEET: {"ckpt_cost": Given(value=90, low=80, high=100, source="log")}}), path)
    desk = Desk(Library())
    desk.open(path)
    assert desk.plan().sheets[SHEET]["ckpt_cost"] == Given(value=90, low=80, high=100, source="log")
    desk.set(SHEET, "ckpt_cost", "")
    assert desk.compute(SHEET)["ckpt_cost"] == Desk(Library()).compute(SHEET)["ckpt_cost"] != 90
    desk.save(path)
    assert plans.load(path).sheets == {}
    desk.undo()
    assert desk.compute(SHEET)["ckpt_cost"] == 90


def test_a_plan_that_cannot_be_changes_nothing(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("plan: bad\nsheets:\n  checkpoint-interval:\n    ckpt_cots: 3\n")
    desk.set(SHEET, "ckpt_cost", "70")
    with pytest.raises(InputError, match="ckpt_cots"):
        desk.open(path)
    assert desk.compute(SHEET)["ckpt_cost"] == 70
    assert desk.file is None


def test_what_a_cluster_tells_counts_below_what_was_typed(desk: Desk) -> None:
    desk.set("plan", "gpus_total", "512")
    told = {
        "plan.gpus_total": Given(value=256, source="cluster.yaml of ours"),
        "stripe-count.file_size": Given(value=500, source="cluster.yaml of ours"),
        "stripe-count.ost_count": Given(value=-3, source="lfs df of ours"),
    }
    problems = desk.measure("ours", told)
    assert len(problems) == 1
    assert "ost_count" in problems[0]
    assert desk.compute("plan")["gpus_total"] == 512
    assert desk.compute("stripe-count")["file_size"] == 500e9
    assert "file_size" not in str(desk.plan().sheets)
    other = {"plan.gpus_per_node": Given(value=4, source="cluster.yaml of theirs")}
    assert desk.measure("theirs", other) == ()
    assert desk.compute("plan")["gpus_per_node"] == 4
    assert set(desk.plan().measured) == {"plan.gpus_per_node"}
