"""Every shipped sheet and table is clean, complete in two languages, and computes from its defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from worksheets import library, references
from worksheets.engine import Workbook
from worksheets.library import Library
from worksheets.lint import lint_sheet, lint_table
from worksheets.model import Input
from worksheets.values import NotEnoughError

SHEETS = sorted(library.FOLDER.glob("*.yaml"))
TABLES = sorted(p for p in references.FOLDER.glob("*.yaml") if p.stem != "sources")


@pytest.mark.parametrize("path", SHEETS, ids=lambda p: p.stem)
def test_a_shipped_sheet_has_no_problem(path: Path) -> None:
    assert [str(p) for p in lint_sheet(path)] == []


@pytest.mark.parametrize("path", TABLES, ids=lambda p: p.stem)
def test_a_shipped_table_has_no_problem(path: Path) -> None:
    assert [str(p) for p in lint_table(path)] == []


@pytest.mark.parametrize("path", SHEETS, ids=lambda p: p.stem)
def test_a_shipped_sheet_computes_or_says_what_it_needs(path: Path) -> None:
    result = Workbook(Library()).compute(path.stem)
    broken = {n: str(c.error) for n, c in result.rows.items() if c.error and not isinstance(c.error, NotEnoughError)}
    assert broken == {}


@pytest.mark.parametrize("path", SHEETS, ids=lambda p: p.stem)
def test_every_input_of_a_sheet_takes_both_ends_of_its_range(path: Path) -> None:
    book = Workbook(Library())
    for entry in book.library.sheet(path.stem).inputs:
        for end in entry.range or ():
            book.set(path.stem, entry.name, end)
            for cell in book.compute(path.stem).rows.values():
                assert cell.value is not None or cell.error is not None
        if isinstance(entry, Input) and entry.range:
            book.clear(path.stem, entry.name)


@pytest.mark.parametrize("path", SHEETS, ids=lambda p: p.stem)
def test_labels_titles_and_advice_are_there_in_chinese_too(path: Path) -> None:
    data: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    texts = [data["title"], data["question"]]
    texts += [group["title"] for group in data.get("groups", [])]
    texts += [entry["label"] for entry in (*data["inputs"], *data["rows"])]
    texts += [advice["text"] for advice in data.get("advice", [])]
    assert [t for t in texts if not (isinstance(t, dict) and t.get("zh") and t.get("en"))] == []
