"""`rackside explain` of worksheets and their lines, and what `rackside list` and `rackside lint` say of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.rackside.conftest import EVIL, SHEET
from tests.rackside.test_cli import run
from worksheets import explained, library, references
from worksheets.engine import Workbook
from worksheets.library import Library


def test_explain_shows_how_a_result_came_about(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "explain", "worksheet:checkpoint-interval.tau_young", "--set", "ckpt_cost=2 min")
    assert code == 0
    text = " ".join(out.split())
    assert "formula: sqrt(2 * ckpt_cost * mtbf)" in text
    assert "with numbers: sqrt(2 * 120 s * 187.5 h)" in text
    assert "checkpoint-interval.ckpt_cost = 120 s: Time the job stops for one checkpoint; typed" in text
    assert "[YOUNG] J. W. Young, CACM 17 (1974)" in text
    assert "used by: - tau_daly" in text


def test_explain_tells_date_range_age_and_who_disagrees_of_an_input(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, own_folder: Path
) -> None:
    (own_folder / "reference").mkdir()
    (own_folder / "reference" / "price.yaml").write_text(
        "table: price\ntitle: Ours\nsource: our books\ndate: 2020-02\ncolumns:\n"
        "  amount: {label: price, unit: currency}\nrows:\n"
        "  h100-server: {label: ours, note: the vendor says half, cells: {amount: 250000}}\n",
        encoding="utf-8",
    )
    told = json.loads(run(capsys, "explain", "worksheet:tco.capex_node", "--format", "json")[1])
    assert (told["value"], told["date"], told["source"]) == ("250 000 USD", "2020-02", "our books")
    assert told["range"] == "0 to 100000000 USD"
    assert told["origin"] == "from price.h100-server.amount"
    assert told["notes, and who says otherwise"] == ["capex_node: the vendor says half"]
    assert int(told["age of the oldest price"].split()[0]) > 2000
    assert told["from"] == []
    in_cny = ("explain", "worksheet:tco.capex_node", "--set", "currency=CNY", "--format", "json")
    assert [cell["name"] for cell in json.loads(run(capsys, *in_cny)[1])["from"]] == ["plan.cny_per_usd"]


def test_explain_knows_a_sheet_and_its_lines_without_the_prefix(capsys: pytest.CaptureFixture[str]) -> None:
    assert "CKP-2 (fail) when ckpt_cost > mtbf / 10" in run(capsys, "explain", "checkpoint-interval")[1]
    assert "worksheet result checkpoint-interval.goodput" in run(capsys, "explain", "checkpoint-interval.goodput")[1]
    assert run(capsys, "explain", "worksheet:tco")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("worksheet:tcoo",), "no worksheet `tcoo`; did you mean `tco`"),
        (("worksheet:tco.capexx",), "did you mean `capex`"),
        (("checkpoint-intervall",), "did you mean `checkpoint-interval`"),
    ],
)
def test_explain_of_what_there_is_not_names_the_nearest(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    code, out, err = run(capsys, "explain", *arguments)
    assert (code, out) == (64, "")
    assert said in err


def test_explain_of_a_strangers_sheet_is_safe_to_show(capsys: pytest.CaptureFixture[str], sheet: Path) -> None:
    sheet.write_text(SHEET.replace("label: Price", f"label: {json.dumps(EVIL)}"), encoding="utf-8")
    for name in ("my-sheet", "my-sheet.price", "my-sheet.cost"):
        code, out, _ = run(capsys, "explain", f"worksheet:{name}", "--file", str(sheet))
        assert code == 0
        assert not re.search("[\x1b\u202e]", out)


@pytest.mark.parametrize("slug", Library().slugs())
def test_every_line_of_every_sheet_can_be_explained(slug: str) -> None:
    book = Workbook()
    found = book.library.sheet(slug)
    for entry in (*found.inputs, *found.rows):
        told = explained.line(book, slug, entry.name)
        assert told["value"] is not None or told["error"]
        assert json.dumps(told)


def test_list_names_shipped_sheets_and_ones_own_and_survives_a_broken_one(
    capsys: pytest.CaptureFixture[str], own_folder: Path
) -> None:
    text = SHEET.replace("my-sheet", "ours").replace("My sheet", json.dumps(EVIL))
    (own_folder / "ours.yaml").write_text(text, encoding="utf-8")
    (own_folder / "broken.yaml").write_text("sheet: broken\n", encoding="utf-8")
    code, out, err = run(capsys, "list", "worksheets", "--format", "json")
    rows = {row["name"]: row for row in json.loads(out)["rows"]}
    assert code == 0
    assert (rows["ours"]["whose"], rows["tco"]["whose"], rows["tco"]["id"]) == ("yours", "shipped", "W14")
    assert rows.keys() == {*Library().slugs(), "ours"}
    assert "broken.yaml" in err
    assert not re.search("[\x1b\u202e]", run(capsys, "list", "worksheets")[1])


def test_lint_finds_the_line_at_fault_in_sheets_tables_and_plans(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = tmp_path / "ours"
    folder.mkdir()
    (folder / "my-sheet.yaml").write_text(SHEET.replace("gpus * price * hours", "gpus * prices"), encoding="utf-8")
    (folder / "plan.yaml").write_text("plan: ours\ncard:\n  tp: 5000\nsheets: {tco: {years: 5}}\n", encoding="utf-8")
    (folder / "price.yaml").write_text(
        "table: price\ntitle: T\nsource: '[NOPE]'\ncolumns: {a: {label: A}}\nrows:\n  x: {label: X, cells: {a: 1}}\n",
        encoding="utf-8",
    )
    code, out, _ = run(capsys, "lint", str(folder))
    assert code == 65
    assert re.search(r"my-sheet.yaml:11: error: cost: .*did you mean `price`", out)
    assert "plan.yaml:3: error: tp: 5 000 is outside the allowed range; 1 to 1 024" in out
    assert "price.yaml:6: error: row `x` has no date" in out
    assert out.splitlines()[-1].startswith("3 looked at")
    told = json.loads(run(capsys, "lint", str(folder), "--format", "json")[1])
    assert {Path(p["file"]).name for p in told["problems"]} == {"my-sheet.yaml", "plan.yaml", "price.yaml"}


def test_lint_accepts_every_shipped_sheet_and_table(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "lint", str(library.FOLDER), str(references.FOLDER))
    assert (code, "0 problems" in out) == (0, True), out


def test_lint_of_a_plan_knows_the_users_own_sheets(
    capsys: pytest.CaptureFixture[str], own_folder: Path, tmp_path: Path
) -> None:
    (own_folder / "my-sheet.yaml").write_text(SHEET, encoding="utf-8")
    plan = tmp_path / "ours.yaml"
    plan.write_text("sheets: {my-sheet: {hours: 5}}\n", encoding="utf-8")
    assert run(capsys, "lint", str(plan))[0] == 0
