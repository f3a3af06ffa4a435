"""Published results that the sheets must reproduce; each file of anchors/ belongs to the sheet of its name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from worksheets import references
from worksheets.engine import compute
from worksheets.values import plain

FOLDER = Path(__file__).parent / "anchors"
ANCHORS = [
    pytest.param(path.stem, anchor, id=f"{path.stem} {anchor['id']}")
    for path in sorted(FOLDER.glob("*.yaml"))
    for anchor in yaml.safe_load(path.read_text(encoding="utf-8"))["anchors"]
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
