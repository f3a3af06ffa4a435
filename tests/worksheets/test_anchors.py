"""Published results that the sheets must reproduce; each file of anchors/ belongs to the sheet of its name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from worksheets import references
from worksheets.engine import compute
from worksheets.library import Library
from worksheets.plan import Given
from worksheets.values import plain

FOLDER = Path(__file__).parent / "anchors"
FILES: dict[str, dict[str, Any]] = {
    path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.yaml"))
}
ANCHORS = [
    pytest.param(sheet, anchor, id=f"{sheet} {anchor['id']}")
    for sheet, file in FILES.items()
    for anchor in file["anchors"]
]
RULES = [
    pytest.param(sheet, case, id=f"{sheet} {case['rule']}")
    for sheet, file in FILES.items()
    for case in file.get("advice", [])
]


@pytest.mark.parametrize(("sheet", "anchor"), ANCHORS)
def test_a_sheet_reproduces_the_published_result(sheet: str, anchor: dict[str, Any]) -> None:
    result = compute(sheet, overrides=anchor["set"])
    got = result[anchor["output"]]
    row = result.rows[anchor["output"]].entry
    if isinstance(anchor["published"], str | bool):
        assert got == anchor["published"]
    else:
        assert plain(got, row.unit) == pytest.approx(anchor["published"], rel=anchor["tolerance"], abs=0)


@pytest.mark.parametrize(("sheet", "anchor"), ANCHORS)
def test_an_anchor_says_where_it_was_published(sheet: str, anchor: dict[str, Any]) -> None:
    assert anchor["source"]
    assert set(re.findall(r"\[([^\]]+)\]", anchor["source"])) <= set(references.sources())


@pytest.mark.parametrize(("sheet", "case"), RULES)
def test_a_rule_speaks_when_its_condition_holds_and_not_otherwise(sheet: str, case: dict[str, Any]) -> None:
    for wanted, inputs in ((True, case["fires"]), (False, case["rests"])):
        given = {name: Given(**value) if isinstance(value, dict) else value for name, value in inputs.items()}
        result = compute(sheet, overrides=given)
        assert (case["rule"] in {said.rule for said in result.advice}) is wanted
        assert not [c for c in result.inputs.values() if c.error]


@pytest.mark.parametrize("sheet", sorted(FILES))
def test_a_sheet_whose_rules_have_cases_leaves_none_out(sheet: str) -> None:
    tested = {case["rule"] for case in FILES[sheet].get("advice", [])}
    assert tested in (set(), {rule.id for rule in Library().sheet(sheet).advice})
