"""Finding a worksheet from a question."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from common import words
from worksheets import finding
from worksheets.library import Library


@pytest.fixture(scope="module")
def shelf() -> list[finding.Entry]:
    return finding.entries(Library())


@pytest.fixture
def chinese() -> Iterator[None]:
    words.set_language("zh")
    yield
    words.set_language("en")


@pytest.mark.parametrize(
    ("query", "slug"),
    [
        ("how often should I save?", "checkpoint-interval"),
        ("how many spare nodes", "spares"),
        ("lustre striping", "stripe-count"),
        ("oversubscr", "fabric"),
        ("what does a GPU-hour cost", "tco"),
        ("W09", "checkpoint-interval"),
        ("GPUs wait for data", "storage-tiers"),
        ("racks and electricity", "power-cooling"),
    ],
)
def test_a_question_in_plain_words_leads_to_its_sheet(shelf: list[finding.Entry], query: str, slug: str) -> None:
    assert finding.ranked(shelf, query)[0].slug == slug


def test_a_question_about_fitting_names_a_sheet_that_reckons_memory(shelf: list[finding.Entry]) -> None:
    first = [entry.slug for entry in finding.ranked(shelf, "will 70B fit")][:3]
    assert {"serving", "training-memory", "inference-memory"} & set(first)


def test_nothing_typed_shows_all_and_nonsense_none(shelf: list[finding.Entry]) -> None:
    assert len(finding.ranked(shelf, "")) == len(Library().slugs())
    assert finding.ranked(shelf, "the of") == finding.ranked(shelf, "")
    assert finding.ranked(shelf, "xyzzy") == []


def test_chinese_questions_lead_to_their_sheet(chinese: None) -> None:
    # a library says its texts in the language it was read in
    shelf = finding.entries(Library())
    assert finding.ranked(shelf, "多久保存一次")[0].slug == "checkpoint-interval"
    assert finding.ranked(shelf, "lustre 条带")[0].slug == "stripe-count"
    assert finding.ranked(shelf, "spare nodes")[0].slug == "spares"


def test_words_people_use_name_sheets_that_exist() -> None:
    assert set(finding._asked()) <= set(Library().slugs())


def test_a_broken_sheet_of_the_user_is_listed_with_its_fault(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("sheet: mine\n")
    mine = next(entry for entry in finding.entries(Library((tmp_path,))) if entry.slug == "mine")
    assert "mine.yaml" in mine.problem
