"""What a number rests on: assumptions that nobody gave, and the oldest price, through links between sheets."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from worksheets.engine import Workbook
from worksheets.library import Library
from worksheets.lint import lint_sheet
from worksheets.plan import Given, Plan

TODAY = datetime.date(2026, 6, 1)
SHEETS = {
    "costs": """
sheet: costs
id: W98
title: Costs
question: What?
inputs:
  - {name: price, label: Price, unit: currency, default: 5, range: [0, 10], kind: assumption, date: 2026-01-01}
  - {name: years, label: Years, unit: yr, default: 4, range: [1, 10], kind: assumption}
  - {name: gpus, label: GPUs, default: 8, range: [1, 10], kind: fact}
rows:
  - {name: yearly, label: Yearly, unit: currency/yr, formula: price * gpus / years}
""",
    "summary": """
sheet: summary
id: W99
title: Summary
question: What?
inputs:
  - {name: years, label: Years, unit: yr, default: 3, range: [1, 10], kind: assumption, from: costs.years}
rows:
  - {name: twice, label: Twice, unit: currency, formula: costs.yearly * years}
  - {name: open, label: Open, unit: text, formula: twice.untouched}
  - {name: counted, label: Counted, formula: twice.given}
  - {name: old, label: Old, unit: bool, formula: "twice.price_age > 183[day]"}
advice:
  - {id: SUM-1, when: twice.untouched != "", severity: warn, text: "assumed: {twice.untouched}; {twice.price_age}"}
""",
}


def book(folder: Path, today: datetime.date = TODAY, **plan: Any) -> Workbook:
    for name, text in SHEETS.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return Workbook(Library((folder,)), Plan.model_validate(plan), today)


def test_a_number_names_the_assumptions_behind_it_until_somebody_gives_them(tmp_path: Path) -> None:
    workbook = book(tmp_path)
    result = workbook.compute("summary")
    assert result["open"] == "costs.price, costs.years"
    assert result.advice[0].text == "assumed: costs.price, costs.years; 151 days"
    workbook.set("costs", "years", 4)
    assert workbook.compute("summary")["open"] == "costs.price"
    workbook.set("costs", "price", "5 USD")
    assert workbook.compute("summary")["open"] == ""
    assert workbook.compute("summary").advice == ()
    workbook.clear("costs", "years")
    assert workbook.compute("summary")["open"] == "costs.years"


def test_a_table_cell_is_an_assumption_of_the_sheet_alone_that_looks_it_up(tmp_path: Path) -> None:
    line = "{name: fee, label: F, unit: currency/h, range: [0, 9], kind: assumption, date: 2026-01, from: %s}"
    head = "sheet: {0}\nid: W90\ntitle: T\nquestion: Q\ninputs:\n  - {1}\nrows:\n  - {{{2}}}\n"
    ours = line % "price.h100-reserved.per_hour"
    theirs = line % "ours.fee"
    row = "name: open, label: O, unit: text, formula: fee.untouched"
    (tmp_path / "ours.yaml").write_text(head.format("ours", ours, row), encoding="utf-8")
    (tmp_path / "theirs.yaml").write_text(head.format("theirs", theirs, row), encoding="utf-8")
    assert Workbook(Library((tmp_path,))).compute("theirs")["open"] == "ours.fee"


def test_a_typed_value_hides_what_it_replaces(tmp_path: Path) -> None:
    workbook = book(tmp_path)
    workbook.set("costs", "years", 4)
    workbook.set("summary", "years", 2)
    assert workbook.compute("summary")["open"] == "costs.price"


def test_a_measured_value_is_no_assumption(tmp_path: Path) -> None:
    measured = {"costs.years": Given(value=5, source="the books")}
    assert book(tmp_path, measured=measured).compute("summary")["open"] == "costs.price"


def test_what_was_typed_planned_or_measured_is_counted_once(tmp_path: Path) -> None:
    measured = {"costs.years": Given(value=5, source="the books")}
    workbook = book(tmp_path, measured=measured, sheets={"costs": {"gpus": 4}})
    assert workbook.compute("summary")["counted"] == 2
    workbook.set("costs", "price", 3)
    assert workbook.compute("summary")["counted"] == 3
    workbook.clear("costs", "price")
    assert workbook.compute("summary")["counted"] == 2


def test_an_exchange_rate_counts_only_in_a_plan_of_its_currency(tmp_path: Path) -> None:
    found = book(tmp_path, card={"currency": "CNY"}).compute("summary")["open"]
    assert found == "costs.price, costs.years, plan.cny_per_usd"
    given = book(tmp_path, card={"currency": "CNY", "cny_per_usd": 7.2}).compute("summary")["open"]
    assert given == "costs.price, costs.years"


@pytest.mark.parametrize(("today", "old"), [(datetime.date(2026, 7, 1), False), (datetime.date(2026, 8, 1), True)])
def test_the_oldest_price_behind_a_number_ages(tmp_path: Path, today: datetime.date, old: bool) -> None:
    assert book(tmp_path, today).compute("summary")["old"] is old


def test_a_price_given_anew_is_as_old_as_its_own_date(tmp_path: Path) -> None:
    workbook = book(tmp_path, datetime.date(2027, 1, 1))
    workbook.set("costs", "price", Given(value="4 USD", date="2026-12-20"))
    assert workbook.compute("summary")["old"] is False


def test_many_assumptions_are_named_in_part_and_counted(tmp_path: Path) -> None:
    inputs = "\n".join(
        f"  - {{name: a{i}, label: A, default: 1, range: [0, 2], kind: assumption}}" for i in range(1, 9)
    )
    total = " + ".join(f"a{i}" for i in range(1, 9))
    (tmp_path / "many.yaml").write_text(
        f"sheet: many\nid: W97\ntitle: Many\nquestion: What?\ninputs:\n{inputs}\nrows:\n"
        f"  - {{name: total, label: T, formula: {total}}}\n"
        "  - {name: open, label: O, unit: text, formula: total.untouched}\n",
        encoding="utf-8",
    )
    found = Workbook(Library((tmp_path,)), today=TODAY).compute("many")["open"]
    assert found == "many.a1, many.a2, many.a3, many.a4, many.a5, many.a6 and 2 more"


def test_what_a_number_rests_on_has_a_kind_that_the_lint_knows(tmp_path: Path) -> None:
    book(tmp_path)
    path = tmp_path / "summary.yaml"
    assert lint_sheet(path) == []
    path.write_text(SHEETS["summary"].replace('twice.untouched != ""', "twice.untouched > 1"), encoding="utf-8")
    assert any("compares" in str(problem) for problem in lint_sheet(path))


OLD = datetime.date(2026, 8, 1)


def test_an_old_price_of_another_sheet_is_noted_by_its_full_name(tmp_path: Path) -> None:
    workbook = book(tmp_path, OLD)
    assert workbook.compute("costs").notes == ("the price of price is of 2026-01-01, older than six months",)
    assert workbook.compute("summary").notes == ("the price of costs.price is of 2026-01-01, older than six months",)
    workbook.set("costs", "price", "4 USD")
    assert workbook.compute("summary").notes == ()


def test_an_old_price_that_is_handed_on_is_noted_once(tmp_path: Path) -> None:
    book(tmp_path)
    text = """
sheet: {0}
id: W90
title: T
question: Q
inputs:
  - {{name: cost, label: C, unit: currency, range: [0, 10], kind: assumption, from: {1}}}
rows:
  - {{name: total, label: T, unit: currency, formula: cost + costs.price}}
"""
    (tmp_path / "middle.yaml").write_text(text.format("middle", "costs.price"), encoding="utf-8")
    (tmp_path / "last.yaml").write_text(text.format("last", "middle.cost"), encoding="utf-8")
    notes = Workbook(Library((tmp_path,)), today=OLD).compute("last").notes
    assert notes == ("the price of cost is of 2026-01-01, older than six months",)


def test_a_price_with_an_old_date_of_its_own_is_noted_when_it_stands_in_the_plan(tmp_path: Path) -> None:
    given = {"costs": {"price": Given(value=4, date="2025-01", source="an offer")}}
    notes = book(tmp_path, TODAY, sheets=given).compute("summary").notes
    assert notes == ("the price of costs.price is of 2025-01, older than six months",)
