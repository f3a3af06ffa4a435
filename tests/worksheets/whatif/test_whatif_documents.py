"""What-if results as JSON: of the shipped schema, in plain numbers of the stated units."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from tests.worksheets.whatif.sheets import SLUGS, book, row, rows_of, shipped
from worksheets.engine import Workbook
from worksheets.whatif import documents
from worksheets.whatif.compare import compare
from worksheets.whatif.condition import conditions
from worksheets.whatif.goal import seek, turned
from worksheets.whatif.sample import sample
from worksheets.whatif.sweep import axis, sweep
from worksheets.whatif.targets import Target
from worksheets.whatif.tornado import tornado
from worksheets.whatif.uncertain import uncertain


def valid(told: dict[str, Any]) -> dict[str, Any]:
    """The document after a way through JSON, which the schema accepts."""
    there: dict[str, Any] = json.loads(json.dumps(told, allow_nan=False))
    Draft202012Validator(documents.schema()).validate(there)
    return there


def goal(workbook: Workbook, slug: str, text: str, by: str) -> dict[str, Any]:
    return documents.goal(slug, seek(workbook, conditions(workbook, slug, text), turned(workbook, slug, by)))


def test_the_shipped_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(documents.schema())


def test_a_tornado_tells_bars_in_the_unit_of_the_result_and_inputs_in_theirs() -> None:
    workbook = shipped(card={"tokens_total": "300 B tokens", "gpus_total": 256})
    told = valid(documents.tornado("training-time", tornado(workbook, row(workbook, "training-time.days"))))
    assert (told["kind"], told["row"], told["unit"]) == ("tornado", "training-time.days", "days")
    bars = {bar["input"]: bar for bar in told["bars"]}
    assert (bars["training-time.mfu"]["low"], bars["training-time.mfu"]["high"]) == (0.3, 0.5)
    assert bars["training-time.extra_work"]["high"] == 10
    assert bars["training-time.mfu"]["at_low"]["value"] == pytest.approx(told["value"] * 0.4 / 0.3)


def test_ends_and_draws_without_a_result_tell_why(tmp_path: Path) -> None:
    workbook = book(tmp_path)
    told = valid(documents.tornado("linear", tornado(workbook, row(workbook, "linear.wall"))))
    assert told["bars"][0]["at_low"]["value"] is None
    assert "divides by zero" in told["bars"][0]["at_low"]["error"]
    asked = conditions(workbook, "linear", "total <= 20 and not big")
    targets = [row(workbook, f"linear.{name}") for name in ("root", "words", "big", "path")]
    told = valid(documents.sample("linear", sample(workbook, targets, 100, conditions=asked)))
    assert [line["row"] for line in told["rows"]][3:] == ["linear.path[1]", "linear.path[2]", "linear.path[3]"]
    assert "sqrt" in told["rows"][0]["error"]
    assert told["rows"][1]["shares"].keys() == {"some", "much", "little"}
    assert [chance["condition"] for chance in told["chances"]] == ["linear.total <= 20", "linear.big == no"]


def test_goals_tell_what_was_found_and_what_was_not() -> None:
    workbook = shipped(card={"tokens_total": "300 B tokens"})
    told = valid(goal(workbook, "training-time", "days<=30 and cost_run < 1 M USD", "gpus"))
    assert told["found"]["holds"] is True
    assert told["beside"]["value"] == told["found"]["value"] - 1
    assert told["found"]["results"]["training-time.days"]["value"] <= 30
    assert told["units"] == {"training-time.days": "days", "training-time.cost_run": "USD"}
    told = valid(goal(workbook, "training-time", "days<=1", "mfu"))
    assert (told["found"], told["nearest"]["value"], told["stops"]) == (None, 0.7, "high")


@pytest.mark.parametrize("texts", [["a=1,2,3"], ["a=1:3:1", "b=-2,5"], ["strict=yes,no", "plan.fabric=roce"]])
def test_sweeps_of_one_and_two_inputs(tmp_path: Path, texts: list[str]) -> None:
    workbook = book(tmp_path)
    told = valid(documents.sweep("linear", sweep(workbook, "linear", [axis(workbook, "linear", t) for t in texts])))
    assert len(told["axes"]) == len(texts)
    assert all(len(point["results"]) == len(told["rows"]) for point in told["points"])


@pytest.mark.parametrize("slug", SLUGS)
def test_every_sheet_gives_documents_of_the_schema(slug: str) -> None:
    workbook, other = shipped(), shipped(card={"gpus_total": 512, "currency": "CNY", "precision": "fp8"})
    valid(documents.compare(slug, compare(workbook, other, slug)))
    valid(documents.sweep(slug, sweep(workbook, slug, [axis(workbook, slug, "plan.gpus_total=64,100")])))
    targets = [Target(ref, workbook.library.entry(ref)) for ref in rows_of(workbook, slug)]
    able = [one for one in targets if workbook.cell(slug, one.entry).value is not None]
    if able and uncertain(workbook, *(one.ref for one in able)):
        valid(documents.sample(slug, sample(workbook, able, 20)))


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "rackside.whatif/2"},
        {"kind": "sample"},
        {"bars": [{"input": "linear.a"}]},
        {"value": None},
        {"more": 1},
    ],
)
def test_the_schema_refuses_other_documents(tmp_path: Path, change: dict[str, Any]) -> None:
    workbook = book(tmp_path)
    told = documents.tornado("linear", tornado(workbook, row(workbook, "linear.total")))
    with pytest.raises(ValidationError):
        valid(told | change)
