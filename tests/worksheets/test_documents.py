"""The JSON document of a computed sheet."""

from __future__ import annotations

import json

from worksheets.documents import document
from worksheets.engine import compute


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


def test_a_row_without_a_value_says_why_in_the_document() -> None:
    told = document(compute("training-time", overrides={"plan.accelerator": "custom"}))
    assert told["state"] == "not-enough-input"
    assert told["outputs"]["days"]["value"] is None
    assert "training-time.peak_flops" in told["outputs"]["days"]["error"]
