"""The JSON document of a computed sheet."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from worksheets.documents import document, schema
from worksheets.engine import Workbook, compute
from worksheets.library import Library
from worksheets.plan import Given, Plan


def test_a_document_holds_plain_numbers_in_the_stated_unit_and_no_intermediate_rows() -> None:
    told = json.loads(json.dumps(document(compute("training-time", overrides={"mfu": "41 %"}))))
    assert (told["schema"], told["worksheet"]) == ("rackside.worksheet/1", "training-time")
    assert told["inputs"]["mfu"] == {"value": 0.41, "unit": "fraction", "origin": "user", "source": ""}
    assert told["inputs"]["goodput"]["low"] == 0.8
    assert told["inputs"]["peak_flops"]["origin"] == "reference"
    assert told["outputs"]["days"]["unit"] == "days"
    assert told["outputs"]["days"]["formula"] == "gpu_hours / gpus"
    assert "slowed" not in told["outputs"]
    assert {a["rule"] for a in told["advice"]} >= {"TRN-3"}


def test_a_row_with_words_says_them_beside_its_value() -> None:
    told = document(compute("growth", overrides={"feed_kw": 500}))["outputs"]["first_limit"]
    assert (told["value"], told["text"]) == ("feed", "the feed of 500 kW")


def test_a_row_without_a_value_says_why_in_the_document() -> None:
    told = document(compute("training-time", overrides={"plan.accelerator": "custom"}))
    assert told["state"] == "not-enough-input"
    assert told["outputs"]["days"]["value"] is None
    assert "training-time.peak_flops" in told["outputs"]["days"]["error"]


def test_the_shipped_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize("accelerator", ["H100-SXM", "custom"])
@pytest.mark.parametrize("slug", Library().slugs())
def test_every_sheet_gives_a_document_of_the_schema_with_and_without_values(slug: str, accelerator: str) -> None:
    told = document(compute(slug, overrides={"plan.accelerator": accelerator}))
    Draft202012Validator(schema()).validate(json.loads(json.dumps(told)))


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "rackside.worksheet/2"},
        {"state": "perfect"},
        {"outputs": {"days": {"value": None, "unit": "days", "formula": "1[day]"}}},
        {"inputs": {"mfu": {"value": 0.4, "unit": "fraction"}}},
        {"more": 1},
    ],
)
def test_the_schema_refuses_what_the_contract_does_not_say(change: dict[str, object]) -> None:
    told = document(compute("training-time")) | change
    assert not Draft202012Validator(schema()).is_valid(json.loads(json.dumps(told)))


def test_an_input_taken_from_the_plan_has_the_origin_it_has_there() -> None:
    measured = {"plan.nic_rate": Given(value=200, source="ethtool on gpu001")}
    workbook = Workbook(plan=Plan(card={"nics_per_node": 4}, measured=measured))
    told = document(workbook.compute("node-balance"))["inputs"]
    origins = {name: told[name]["origin"] for name in ("gpus_per_node", "nics_per_node", "nic_rate")}
    assert origins == {"gpus_per_node": "default", "nics_per_node": "user", "nic_rate": "recording"}
