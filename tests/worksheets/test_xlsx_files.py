"""What a workbook is beside its numbers: safe, honest about what is not live, named, charted, readable elsewhere."""

from __future__ import annotations

import datetime
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import yaml

from common import words
from common.errors import WriteError
from tests.worksheets.spreadsheet import Book
from tests.worksheets.test_xlsx import SHARED, SLUGS, place, same
from worksheets.engine import Workbook, compute
from worksheets.exports import layout, tables
from worksheets.exports.fixed import Following
from worksheets.exports.xlsx import workbook_bytes, write_workbook
from worksheets.library import Library, Ref
from worksheets.plan import Plan
from worksheets.references import References

SHEET: dict[str, Any] = {
    "sheet": "own",
    "id": "X01",
    "title": "=1+1",
    "question": "@SUM(A1)",
    "functions": ["optimum"],
    "inputs": [
        {"name": "size", "label": "+cmd|' /C calc'!A0", "unit": "GB", "range": [1, 99], "spread": [2, 8], "default": 4},
        {"name": "price", "label": "-2+3", "unit": "currency/h", "range": [0, 100], "default": 3, "help": "=A1"},
        {"name": "asked", "label": "Asked for", "unit": "s", "range": [1, 100]},
        {"name": "gpu", "label": "GPU", "unit": "text", "default": "H100-SXM", "choices": "table accelerator"},
        {"name": "speed", "label": "Speed", "unit": "GB/s", "range": [1, 10000], "from": "accelerator.nvlink_bw"},
        {"name": "mtbf", "label": "MTBF", "unit": "h", "default": 10, "range": [1, 1000]},
    ],
    "rows": [
        {"name": "rate", "label": "=HYPERLINK(\"x\")", "unit": "GB/s", "formula": "size / asked"},
        {"name": "least", "label": "Least", "unit": "GB", "formula": "min(size.low, 3[GB])"},
        {"name": "peak", "label": "Peak", "unit": "GB/s", "formula": 'lookup("accelerator", gpu, "hbm_bw")'},
        {"name": "steps", "label": "Steps", "unit": "min", "formula": "mtbf * [1, 2, 4] / 60", "source": "[MLE]"},
        {"name": "band", "label": "Band", "unit": "min", "formula": "interval_band(1[min], mtbf, 1[%])"},
        {"name": "shortest", "label": "Shortest", "unit": "min", "formula": "at(band, 1)"},
        {"name": "cost", "label": "Cost", "unit": "currency", "formula": "price * 1[day] + sum(steps) * price"},
    ],
    "advice": [{"id": "=X", "when": "cost > 50[currency]", "severity": "warn", "text": '=cmd "{cost}" of {size.low}'}],
}  # fmt: skip


@pytest.fixture
def own(tmp_path: Path) -> Library:
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(SHEET, allow_unicode=True), encoding="utf-8")
    return Library((tmp_path,))


def opened(tmp_path: Path, engine: Workbook, *slugs: str) -> Book:
    write_workbook(tmp_path / "book.xlsx", engine, slugs)
    return Book(tmp_path / "book.xlsx")


def cell(book: Book, name: str, column: int = layout.VALUE, slug: str = "own") -> Any:
    return book[place(book, slug, name, column)]


def test_texts_that_begin_like_formulas_stay_texts(own: Library, tmp_path: Path) -> None:
    engine = Workbook(own, Plan(plan='=HYPERLINK("http://x")', note="@now"))
    write_workbook(tmp_path / "book.xlsx", engine, ["own"])
    loaded = openpyxl.load_workbook(tmp_path / "book.xlsx")
    begins = [c for sheet in loaded for row in sheet.iter_rows() for c in row if str(c.value)[:1] in tuple("=+-@")]
    texts = {c.value for c in begins if c.data_type == "s"}
    assert {"+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", '=HYPERLINK("x")', "=A1", "@now", "=X"} <= texts
    formulas = [str(c.value) for c in begins if c.data_type == "f"]
    # a text inside a formula stands between quotes
    assert not [f for f in formulas if "cmd" in re.sub(r'"(?:[^"]|"")*"', "", f) or "HYPERLINK" in f]


def test_a_missing_input_is_asked_for_and_all_follows_when_it_is_given(own: Library, tmp_path: Path) -> None:
    book = opened(tmp_path, Workbook(own), "own")
    assert book["own", layout.STATE_LINE + 1, layout.VALUE + 1] == "not-enough-input"
    assert cell(book, "rate") == "#N/A"
    book.set(place(book, "own", "asked", layout.VALUE), 8)
    assert cell(book, "rate") == pytest.approx(0.5)
    assert book["own", layout.STATE_LINE + 1, layout.VALUE + 1] == "warn"


def test_a_cleared_cell_takes_its_default_back_with_its_range_and_source(own: Library, tmp_path: Path) -> None:
    book = opened(tmp_path, Workbook(own), "own")
    where = place(book, "own", "size", layout.VALUE)
    assert (cell(book, "size", layout.LOW), cell(book, "least")) == (2.0, 2.0)
    book.set(where, 40)
    assert [cell(book, "size", column) for column in (layout.LOW, layout.ORIGIN)] == ["", "typed"]
    assert cell(book, "least") == 3.0
    book.set(where, None)
    assert [cell(book, "size", column) for column in (layout.LOW, layout.ORIGIN)] == [2.0, "default"]


def test_a_figure_changed_in_the_references_changes_what_was_looked_up(tmp_path: Path) -> None:
    (tmp_path / "reference").mkdir()
    table = {
        "table": "accelerator", "title": "mine", "source": "[MLE]", "date": "2026-09",
        "columns": {"bf16_flops": {"label": "BF16", "unit": "TFLOP/s"}},
        "rows": {"H100-SXM": {"label": "H100", "cells": {"bf16_flops": 900}}},
    }  # fmt: skip
    (tmp_path / "reference" / "accelerator.yaml").write_text(yaml.safe_dump(table), encoding="utf-8")
    overlaid = compute("training-time", library=Library((), References((tmp_path / "reference",))))
    book = opened(tmp_path, Workbook(SHARED), "training-time")
    (line,) = [key[1] for key, value in book.cells.items() if value == "accelerator/H100-SXM/bf16_flops"]
    book.set((layout.REFERENCES, line, tables.VALUE + 1), 900)
    for row in ("days", "days_low", "gpus_needed", "mfu_wallclock"):
        assert cell(book, row, layout.BASE, "training-time") == pytest.approx(overlaid[row], rel=1e-9)
    chosen = place(book, "plan", "accelerator", layout.VALUE)
    book.set(chosen, "L40S")
    assert cell(book, "peak_flops", slug="training-time") == pytest.approx(362.0)
    book.set((layout.REFERENCES, line, tables.SOURCE + 1), "[OWN]")
    book.set(chosen, None)
    assert cell(book, "peak_flops", layout.SOURCE, "training-time") == "[OWN]"


def test_a_figure_carries_its_source_and_date(tmp_path: Path) -> None:
    book = opened(tmp_path, Workbook(SHARED), "training-time")
    (line,) = [key[1] for key, value in book.cells.items() if value == "accelerator/H100-SXM/matmul_flops"]
    shown = [book[layout.REFERENCES, line, column + 1] for column in (tables.VALUE, tables.UNIT, tables.SOURCE)]
    assert shown == [795.0, "TFLOP/s", "[MLE]"]
    assert book[layout.REFERENCES, line, tables.DATE + 1] == "2026-08"
    codes = {value for (title, _, column), value in book.cells.items() if title == layout.SOURCES and column == 1}
    assert {"[MLE]", "[LL3]"} <= codes


def test_a_fixed_value_is_told_and_marked_once_it_is_out_of_date(own: Library, tmp_path: Path) -> None:
    (fixed,) = write_workbook(tmp_path / "book.xlsx", Workbook(own), ["own"])
    assert (fixed.key, fixed.functions) == ("own.band", ("interval_band",))
    book = Book(tmp_path / "book.xlsx")
    overview = [value for (title, _, _), value in book.cells.items() if title == layout.OVERVIEW]
    assert "own.band: interval_band" in overview
    notes = {
        str(value) for (title, _, column), value in book.cells.items() if title == "own" and column == layout.NOTE + 1
    }
    assert any("not live" in note and "interval_band" in note for note in notes)
    assert "does not follow own.mtbf" in str(cell(book, "shortest", layout.NOTE))
    banner = "own", layout.STATE_LINE + 1, layout.UNIT + 1
    assert book[banner] == ""
    book.set(place(book, "own", "mtbf", layout.VALUE), 11)
    assert "out of date" in book[banner]
    book.set(place(book, "own", "mtbf", layout.VALUE), 10)
    assert book[banner] == ""


def test_what_is_fixed_is_known_to_rest_on_its_inputs_alone(own: Library) -> None:
    following = Following(own)
    assert following.lost(Ref("own", "shortest")) == {"own.mtbf"}
    assert following.lost(Ref("own", "cost")) == frozenset()


def test_every_input_and_result_bears_a_name_that_is_no_cell(tmp_path: Path) -> None:
    book = opened(tmp_path, Workbook(SHARED), *SLUGS)
    tabs = layout.lay_out(Workbook(SHARED), SLUGS).items()
    wanted = {layout.defined_name(slug, name) for slug, tab in tabs for name in tab.lines if name not in tab.lists}
    assert wanted <= set(book.named)
    assert [name for name in wanted if not re.fullmatch(r"[a-z_]\w*\.[a-z]\w*", name)] == []
    assert {book.named[name][2] for name in wanted} == {layout.VALUE + 1}


def test_sheets_with_long_or_like_names_get_names_of_their_own() -> None:
    found = layout.titles(["references", "a" * 40, "a" * 33, "plan"])
    assert len({title.lower() for title in found.values()} | {"references"}) == 5
    assert max(len(title) for title in found.values()) <= 31


def test_a_file_that_cannot_be_written_is_named(own: Library, tmp_path: Path) -> None:
    with pytest.raises(WriteError, match="nowhere"):
        write_workbook(tmp_path / "nowhere" / "book.xlsx", Workbook(own), ["own"])
    assert list(tmp_path.glob("*.xlsx")) == []


def test_the_writer_loads_with_the_first_workbook_only() -> None:
    code = "import sys, worksheets.exports.xlsx; print('xlsxwriter' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_equal_plans_give_equal_files(own: Library) -> None:
    today = datetime.date(2026, 5, 1)
    first, second = (workbook_bytes(Workbook(own, today=today), ["own"])[0] for _ in range(2))
    assert first == second


def test_labels_and_headings_are_in_the_language_of_the_reader(tmp_path: Path) -> None:
    words.set_language("zh")
    try:
        book = opened(tmp_path, Workbook(Library()), "checkpoint-interval")
    finally:
        words.set_language("en")
    here = {value for (title, _, _), value in book.cells.items() if title == "checkpoint-interval"}
    assert {"标签", "单位", "来源", "故障率"} <= here
    assert "Label" not in here


def test_curves_sums_and_like_rows_are_charted_over_live_cells(tmp_path: Path) -> None:
    write_workbook(tmp_path / "book.xlsx", Workbook(SHARED), ["checkpoint-interval", "tco"])
    with zipfile.ZipFile(tmp_path / "book.xlsx") as file:
        drawn = [file.read(name).decode() for name in file.namelist() if name.startswith("xl/charts/chart")]
    curve = next(text for text in drawn if "scatterChart" in text)
    tab = layout.lay_out(Workbook(SHARED), ["checkpoint-interval"])["checkpoint-interval"]
    for name in ("curve_tau", "curve"):
        column, last = layout.letters(tab.lists[name].column), layout.FIRST_LINE + tab.lists[name].length
        assert f"${column}${layout.FIRST_LINE + 1}:${column}${last}" in curve
    stacked = next(text for text in drawn if 'grouping val="stacked"' in text and "tco" in text)
    costs = layout.lay_out(Workbook(SHARED), ["tco"])["tco"].lines
    assert all(f"$B${costs[name] + 1}" in stacked for name in ("cost_power", "cost_staff", "cost_depreciation"))


SOFFICE = shutil.which("soffice") or shutil.which("libreoffice")
ALWAYS = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load"><prop oor:name="OOXMLRecalcMode" oor:op="fuse">
<value>0</value></prop></item></oor:items>
"""


def recomputed(path: Path) -> Any:
    """The workbook after LibreOffice computed every formula of it anew."""
    profile = path.parent / "profile"
    (profile / "user").mkdir(parents=True)
    (profile / "user" / "registrymodifications.xcu").write_text(ALWAYS, encoding="utf-8")
    subprocess.run(
        [
            str(SOFFICE),
            f"-env:UserInstallation=file://{profile}",
            "--headless",
            "--convert-to",
            "xlsx:Calc MS Excel 2007 XML",
            "--outdir",
            str(path.parent / "out"),
            str(path),
        ],
        check=True,
        capture_output=True,
        timeout=300,
    )
    return openpyxl.load_workbook(path.parent / "out" / path.name, data_only=True)


@pytest.mark.slow
@pytest.mark.skipif(SOFFICE is None, reason="LibreOffice (soffice) is not on PATH")
@pytest.mark.parametrize("changes", [{}, {"plan.accelerator": "B200-SXM", "plan.gpus_total": 1024, "plan.tp": 4}])
def test_libreoffice_computes_what_the_workbook_says(changes: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    write_workbook(path, Workbook(SHARED), SLUGS)
    book, loaded = Book(path), openpyxl.load_workbook(path)
    for key, value in changes.items():
        title, row, column = book.named[key]
        book.set((title, row, column), value)
        loaded[title].cell(row, column).value = value
    loaded.save(path)
    found, wrong = recomputed(path), []
    for title, row, column in book.formulas():
        theirs, ours = found[title].cell(row, column).value, book[title, row, column]
        if not same(theirs, ours) and (theirs, ours) != (None, ""):
            wrong.append(f"{title} {row} {column}: {theirs}, but {ours}")
    assert "\n".join(wrong) == ""
