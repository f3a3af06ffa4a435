"""The one-page verdict refuses to be ready while a dimension rests on one figure, on assumptions, or on no words."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from common.words import language, set_language
from worksheets import behind
from worksheets.engine import Workbook
from worksheets.library import Library
from worksheets.plan import Plan

DIMENSIONS = ("business", "scale", "architecture", "cost", "path")
KEYS = r"[a-z-]+\.[a-z0-9_]+"
GIVEN = {"gpus_total": 512, "gpus_per_node": 8, "tp": 8}


def book(**card: object) -> Workbook:
    return Workbook(Library(), Plan.model_validate({"card": card}))


@pytest.fixture(autouse=True)
def _all_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(behind, "NAMED", 1000)


def confirm(workbook: Workbook) -> int:
    """Gives every assumption that the page names, to the value it has; returns how many."""
    count = 0
    while True:
        rows = workbook.compute("five-dimensions").rows
        texts = [rows[f"{dimension}_state"].text() for dimension in DIMENSIONS]
        keys = {key for text in texts for key in re.findall(KEYS, text)}
        if not keys:
            return count
        for key in sorted(keys):
            sheet, _, name = key.partition(".")
            value = workbook.compute(sheet).inputs[name].value
            assert value is not None
            workbook.set(sheet, name, value.plain())
            count += 1


def test_an_untouched_plan_is_not_ready_in_any_dimension() -> None:
    result = book().compute("five-dimensions")
    assert (result.state, result["ready_count"], result["verdict"]) == ("fail", 0, "open")
    assert {result[f"{d}_state"] for d in DIMENSIONS} == {"single"}


def test_given_figures_leave_the_assumptions_and_say_which() -> None:
    result = book(**GIVEN).compute("five-dimensions")
    assert result["cost_state"] == "assumed"
    assert {"plan.rent_gpu_h", "tco.capex_storage"} <= set(re.findall(KEYS, result.rows["cost_state"].text()))
    assert "buy-or-rent.residual" not in result.rows["cost_state"].text()
    assert result["verdict"] == "open"


def test_one_given_figure_is_not_enough() -> None:
    assert book(gpus_total=512).compute("five-dimensions")["scale_state"] == "single"
    assert book(gpus_total=512, tp=4).compute("five-dimensions")["architecture_state"] != "single"


def test_the_page_is_ready_only_with_figures_confirmed_assumptions_and_sentences() -> None:
    workbook = book(**GIVEN)
    assert confirm(workbook) > 15
    result = workbook.compute("five-dimensions")
    assert {result[f"{d}_state"] for d in DIMENSIONS} == {"silent"}
    assert result["verdict"] == "open"
    for dimension in DIMENSIONS:
        workbook.set("five-dimensions", f"{dimension}_note", f"Our word on {dimension}.")
    result = workbook.compute("five-dimensions")
    assert (result["ready_count"], result["verdict"], result.state) == (5, "ready", "ok")
    page = result.rows["page"].text()
    assert page.endswith("Verdict: ready to decide.")
    assert all(f"Our word on {dimension}." in page for dimension in DIMENSIONS)
    workbook.clear("tco", "fte_cost")
    assert workbook.compute("five-dimensions")["verdict"] == "open"


def test_a_cluster_that_only_trains_needs_no_figures_of_serving() -> None:
    workbook = book(**GIVEN)
    workbook.set("five-dimensions", "purpose", "train")
    result = workbook.compute("five-dimensions")
    assert "token-cost" not in result["business_assumed"]
    assert "requests" not in result.rows["business"].text()
    workbook.set("five-dimensions", "purpose", "infer")
    result = workbook.compute("five-dimensions")
    assert "power-cooling.pue" in result["business_assumed"]
    assert "training-time.extra_work" not in result["business_assumed"]


def test_the_page_holds_the_figures_of_the_other_sheets() -> None:
    workbook = book(**GIVEN)
    page = workbook.compute("five-dimensions").rows["page"].text()
    hour = workbook.compute("tco").rows["gpu_hour_effective"].text()
    assert f"A GPU-hour that works costs {hour}" in page
    assert workbook.compute("training-time").rows["days"].text() in page
    assert len(page.splitlines()) == 6
    assert "{" not in page


@pytest.fixture
def _chinese() -> Iterator[None]:
    before = language()
    set_language("zh")
    yield
    set_language(before)


@pytest.mark.usefixtures("_chinese")
def test_the_page_is_there_in_chinese() -> None:
    page = book(**GIVEN).compute("five-dimensions").rows["page"].text()
    assert page.startswith("业务（未就绪")
    assert "结论：尚不能决策" in page
