"""`rackside worksheet`: values, plans, own sheets, formats and exit statuses, and nothing hostile in any of them."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.rackside.conftest import EVIL, SHEET
from tests.rackside.test_cli import run
from worksheets.documents import schema
from worksheets.engine import compute
from worksheets.library import Library

TEXT_FORMATS = ("text", "json", "csv", "markdown", "html")


def test_values_are_read_with_and_without_units(capsys: pytest.CaptureFixture[str]) -> None:
    args = ("worksheet", "training-time", "--set", "params_active=405e9", "--set", "mfu=41 %", "--format", "json")
    _, out, _ = run(capsys, *args, "--set", "plan.gpus_total=16_384", "--set", "nic_rate=50GB/s")
    told = json.loads(out)
    Draft202012Validator(schema()).validate(told)
    assert told["inputs"]["params_active"] == {"value": 405e9, "unit": "count", "origin": "user", "source": ""}
    assert told["inputs"]["mfu"]["value"] == pytest.approx(0.41)
    assert told["inputs"]["gpus"]["value"] == 16384
    same = compute("training-time", overrides={"params_active": 405e9, "mfu": 0.41, "plan.gpus_total": 16384})
    assert told["outputs"]["days"]["value"] == pytest.approx(same["days"] / 86400)


def test_an_input_of_the_plan_card_needs_no_prefix(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "worksheet", "checkpoint-interval", "--set", "gpus_total=8192", "--format", "json")[1]
    assert json.loads(out)["inputs"]["nodes"]["value"] == 1024


def test_the_order_of_values_does_not_matter(capsys: pytest.CaptureFixture[str]) -> None:
    price, currency = ("--set", "rent_gpu_h=150"), ("--set", "plan.currency=CNY")
    results = [
        run(capsys, "worksheet", "training-time", *first, *then, "--format", "json")[1]
        for first, then in ((price, currency), (currency, price))
    ]
    assert results[0] == results[1]
    assert json.loads(results[0])["inputs"]["rent_gpu_h"] == {
        "value": 150,
        "unit": "CNY/h",
        "origin": "user",
        "source": "",
    }


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), 64, "name a worksheet"),
        (("trainning-time",), 64, "did you mean `training-time`"),
        (("../library/tco",), 64, "no worksheet"),
        (("training-time", "--set", "mfu"), 64, "write INPUT=VALUE"),
        (("training-time", "--set", "mfu="), 64, "write INPUT=VALUE"),
        (("training-time", "--set", "mfuu=0.4"), 64, "did you mean `mfu`"),
        (("training-time", "--set", "days=3"), 64, "it is computed"),
        (("training-time", "--set", "nosuch.mfu=3"), 64, "no worksheet `nosuch`"),
        (("training-time", "--format", "xlsx"), 64, "-o FILE.xlsx"),
        (("training-time", "--set", "mfu=7"), 65, "mfu: 7 is outside the allowed range; 0.02 to 0.7"),
        (("training-time", "--set", "gpus=3.5"), 65, "gpus: 3.5 GPUs is not whole"),
        (("training-time", "--set", "gpus=nan"), 65, "`nan` is not a number"),
        (("training-time", "--set", "seq_len=4 GB"), 65, "seq_len: `4 GB` is in B"),
        (("training-time", "--set", "peak_flops=1979 TFLOP/s"), 65, "dense"),
        (("training-time", "--set", "fabric=token-ring"), 65, "not a choice"),
        (("training-time", "--plan", "/no/such/plan.yaml"), 65, "No such file"),
        (("--file", "/no/such/sheet.yaml"), 65, "No such file"),
        (("training-time", "-o", "/no/such/folder/x"), 74, "No such file"),
    ],
)
def test_what_cannot_be_is_one_line_that_names_field_value_and_what_is_allowed(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], code: int, said: str
) -> None:
    found, out, err = run(capsys, "worksheet", *arguments)
    assert (found, out) == (code, "")
    assert said in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("hours", "code", "state"), [(None, 3, "not-enough-input"), (1, 0, "ok"), (400, 1, "warn"), (1000, 2, "fail")]
)
def test_the_exit_status_is_the_state_of_the_sheet(
    capsys: pytest.CaptureFixture[str], sheet: Path, hours: int | None, code: int, state: str
) -> None:
    given = () if hours is None else ("--set", f"hours={hours}", "--set", "gpus=8")
    found, out, _ = run(capsys, "worksheet", "--file", str(sheet), *given, "--format", "json")
    told = json.loads(out)
    Draft202012Validator(schema()).validate(told)
    assert (found, told["state"]) == (code, state)
    assert run(capsys, "worksheet", "--file", str(sheet), *given)[0] == code


def test_text_shows_inputs_with_origin_results_advice_and_notes(
    capsys: pytest.CaptureFixture[str], sheet: Path
) -> None:
    args = ("--file", str(sheet), "--set", "hours=400", "--set", "plan.gpus_total=16")
    out = run(capsys, "worksheet", *args)[1]
    assert re.search(r"gpus +GPUs +16 GPUs +from plan.gpus_total", out)
    assert re.search(r"price +Price +2 USD/h +default, editable assumption, 2020-01", out)
    assert re.search(r"hours +Hours +400 h +typed", out)
    assert re.search(r"cost +Cost +12 800 USD", out)
    assert "Hidden" not in out
    assert "MY-2: 12 800 USD is too much" in out
    assert "the price of price is of 2020-01, older than six months" in out
    assert out.splitlines()[-1] == "✗ fail: does not work as it stands: MY-2"
    assert "\x1b" not in out


def test_what_is_missing_is_named_with_the_way_to_give_it(capsys: pytest.CaptureFixture[str], sheet: Path) -> None:
    out = run(capsys, "worksheet", "--file", str(sheet))[1]
    assert out.splitlines()[-1] == "? not-enough-input: not enough input: give my-sheet.hours (--set my-sheet.hours=…)"


def test_csv_holds_plain_numbers_and_every_line_of_the_document(
    capsys: pytest.CaptureFixture[str], sheet: Path
) -> None:
    args = ("worksheet", "--file", str(sheet), "--set", "hours=400", "--set", "gpus=8", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(run(capsys, *args)[1])))
    by_name = {row["name"]: row for row in rows}
    assert [row["kind"] for row in rows] == ["input"] * 3 + ["output", "advice", "note"]
    assert (float(by_name["cost"]["value"]), by_name["cost"]["unit"]) == (6400, "USD")
    assert by_name["cost"]["formula"] == "gpus * price * hours"
    assert by_name["price"]["origin"] == "default"


@pytest.mark.parametrize("format", TEXT_FORMATS)
@pytest.mark.parametrize("slug", Library().slugs())
def test_every_sheet_comes_in_every_format(capsys: pytest.CaptureFixture[str], slug: str, format: str) -> None:
    code, out, _ = run(capsys, "worksheet", slug, "--format", format)
    assert code in (0, 1, 2, 3)
    assert out.count("\n") > 10
    shown = [row.name for row in Library().sheet(slug).rows if row.show]
    # the name of every result stands in each of them
    assert [name for name in shown if name not in out] == []


def test_a_plan_gives_values_and_a_wrong_one_is_refused_at_its_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("plan: ours\ncard:\n  gpus_total: 2048\nsheets:\n  training-time: {mfu: 35 %}\n", encoding="utf-8")
    told = json.loads(run(capsys, "worksheet", "training-time", "--plan", str(plan), "--format", "json")[1])
    assert (told["inputs"]["gpus"]["value"], told["inputs"]["gpus"]["origin"]) == (2048, "user")
    assert told["inputs"]["mfu"]["value"] == pytest.approx(0.35)
    plan.write_text("plan: ours\ncard:\n  gpus_total: 2048\n  tp: 5000\n", encoding="utf-8")
    code, out, err = run(capsys, "worksheet", "training-time", "--plan", str(plan))
    assert (code, out) == (65, "")
    assert err == f"rackside: {plan}:4: tp: 5 000 is outside the allowed range; 1 to 1 024\n"


def test_a_sheet_of_the_config_folder_is_found_by_name_and_one_by_file_sees_its_neighbours(
    capsys: pytest.CaptureFixture[str], own_folder: Path, tmp_path: Path, sheet: Path
) -> None:
    (own_folder / "ours.yaml").write_text(SHEET.replace("my-sheet", "ours"), encoding="utf-8")
    assert run(capsys, "worksheet", "ours", "--set", "hours=1")[0] == 0
    over = SHEET.replace("sheet: my-sheet", "sheet: over").replace("gpus * price * hours", "my-sheet.cost * 2")
    (tmp_path / "over.yaml").write_text(over, encoding="utf-8")
    args = (
        "worksheet",
        "--file",
        str(tmp_path / "over.yaml"),
        "--set",
        "my-sheet.hours=1",
        "--set",
        "plan.gpus_total=8",
    )
    told = json.loads(run(capsys, *args, "--format", "json")[1])
    assert told["outputs"]["cost"]["value"] == 32


def test_a_file_that_is_no_sheet_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "thing.yaml"
    path.write_text("steps: []\n", encoding="utf-8")
    code, _, err = run(capsys, "worksheet", "--file", str(path))
    assert (code, "this is no worksheet" in err) == (65, True)
    path.write_text("sheet: other\n", encoding="utf-8")
    code, _, err = run(capsys, "worksheet", "--file", str(path))
    assert code == 65
    assert str(path) in err


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_html_page_is_balanced_needs_nothing_else_and_shows_how_numbers_came_about(
    capsys: pytest.CaptureFixture[str], sheet: Path
) -> None:
    args = ("worksheet", "--file", str(sheet), "--set", "hours=400", "--set", "gpus=8", "--format", "html")
    out = run(capsys, *args)[1]
    page = _Page()
    page.feed(out)
    assert page.open == []
    assert not page.seen & {"script", "a", "img", "link", "iframe"}
    assert not re.search(r"(src|href)=|url\(|@import", out)
    assert "default-src &#x27;none&#x27;" in out or "default-src 'none'" in out
    assert "<code>gpus * price * hours</code>" in out
    assert "= 8 GPUs * 2 USD/h * 400 h" in out


@pytest.mark.parametrize("format", TEXT_FORMATS)
def test_a_strangers_sheet_cannot_reach_the_terminal_a_browser_or_a_spreadsheet(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, format: str
) -> None:
    evil = json.dumps(EVIL)
    text = SHEET.replace("title: My sheet", f"title: {evil}").replace("question: How much?", f"question: {evil}")
    text = text.replace("label: Price", f"label: {evil}").replace('"{cost} is much"', evil).replace("Cost", "=cmd()")
    text = text.replace("kind: assumption", f"kind: assumption, source: {evil}")
    path = tmp_path / "my-sheet.yaml"
    path.write_text(text, encoding="utf-8")
    args = ("worksheet", "--file", str(path), "--set", "hours=400", "--set", "gpus=8", "--format", format)
    code, out, _ = run(capsys, *args)
    assert code == 1
    if format == "json":
        assert json.loads(out)["inputs"]["price"]["source"] == EVIL
    else:
        assert not re.search("[\x1b\u202e]", out)
    if format == "html":
        page = _Page()
        page.feed(out)
        assert not page.seen & {"script", "a"}
        assert page.open == []
    if format == "markdown":
        assert "<script>" not in out
        assert "**b**" not in out
        assert "[a](" not in out
        # a bar in a text would add a column
        assert {len(re.findall(r"(?<!\\)\|", row)) for row in out.splitlines() if row.startswith("| `")} == {5, 6}
    if format == "csv":
        cells = [cell for row in csv.reader(io.StringIO(out)) for cell in row]
        assert "'=cmd()" in cells
        assert not [cell for cell in cells if cell.startswith(("=", "+", "@"))]


def test_an_error_that_quotes_a_strangers_file_is_safe_to_show(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "my-sheet.yaml"
    path.write_text(f"{SHEET}{json.dumps(EVIL)}: 1\n", encoding="utf-8")
    code, _, err = run(capsys, "worksheet", "--file", str(path))
    assert (code, "unknown key" in err) == (65, True)
    assert not re.search("[\x1b\u202e]", err)


def test_a_workbook_is_written_and_says_what_in_it_is_not_live(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "tco.xlsx"
    code, out, err = run(capsys, "worksheet", "tco", "--format", "xlsx", "-o", str(file))
    assert (code in (0, 1), out) == (True, "")
    assert file.read_bytes()[:2] == b"PK"
    assert file.stat().st_mode & 0o777 == 0o600
    code, _, err = run(capsys, "worksheet", "checkpoint-interval", "--format", "xlsx", "-o", str(file))
    assert code == 0
    assert "no spreadsheet formula says it" in err


def test_a_text_of_several_lines_keeps_them(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"{name} (not ready" for name in ("Business", "Scale", "Architecture", "Cost", "Path")]
    text = run(capsys, "worksheet", "five-dimensions")[1].splitlines()
    assert all(any(line.startswith(" " * 8 + wanted) for line in text) for wanted in lines)
    assert run(capsys, "worksheet", "five-dimensions", "--format", "markdown")[1].count("<br>") == 5
    page = run(capsys, "worksheet", "five-dimensions", "--format", "html")[1]
    assert all(f"<br>{wanted}" in page for wanted in lines[1:])


def test_the_page_speaks_the_readers_language(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "--lang", "zh", "worksheet", "checkpoint-interval")[1]
    assert "最优间隔（Daly）" in out
    assert "输入" in out
    assert run(capsys, "--lang", "en", "worksheet", "checkpoint-interval")[0] == 0
