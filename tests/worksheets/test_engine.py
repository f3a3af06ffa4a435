"""The workbook: where values come from, what is computed again, what is refused, and how it explains itself."""

from __future__ import annotations

import datetime
import subprocess
import sys
import time
from pathlib import Path

import pytest

from common.errors import InputError
from worksheets import plan as plans
from worksheets.engine import Workbook, compute
from worksheets.library import Library
from worksheets.lint import lint_sheet, lint_table
from worksheets.plan import Given, Plan
from worksheets.references import References

TODAY = datetime.date(2026, 6, 1)


def book(**card: object) -> Workbook:
    return Workbook(Library(), Plan.model_validate({"card": card}), TODAY)


def test_values_come_from_user_before_plan_before_measurement_before_table_before_default() -> None:
    plan = Plan(measured={"training-time.mfu": Given(value="41 %", low=0.39, high=0.43, source="run of May")})
    measured = Workbook(Library(), plan, TODAY)
    mfu = measured.compute("training-time").inputs["mfu"].value
    assert mfu is not None
    assert (mfu.text(), mfu.low, mfu.high, mfu.origin, mfu.source) == ("0.41", 0.39, 0.43, "measured", "run of May")
    measured.set("training-time", "mfu", 0.38)
    mfu = measured.compute("training-time").inputs["mfu"].value
    assert mfu is not None
    assert (mfu.value, mfu.origin) == (0.38, "user")
    measured.clear("training-time", "mfu")
    assert measured.compute("training-time").inputs["mfu"].text() == "0.41"
    inputs = book(gpus_total=512).compute("training-time").inputs
    origins = {n: c.value.origin for n, c in inputs.items() if c.value}
    assert (origins["gpus"], origins["peak_flops"], origins["mfu"], origins["flop_per_token"]) == (
        "plan", "table", "default", "computed")  # fmt: skip


def test_a_changed_input_recomputes_only_what_depends_on_it() -> None:
    workbook = book()
    workbook.compute("training-time")
    before = workbook.computed
    workbook.set("training-time", "rent_gpu_h", "3 USD/h")
    assert workbook.compute("training-time").rows["cost_run"].text().endswith("USD")
    assert workbook.computed - before == 2


@pytest.mark.slow
def test_a_keystroke_costs_less_than_a_frame() -> None:
    workbook = book()
    workbook.compute("training-time")
    times = []
    for gpus in range(512, 1024, 64):
        started = time.perf_counter()
        workbook.set("plan", "gpus_total", gpus)
        workbook.compute("training-time")
        times.append(time.perf_counter() - started)
    assert min(times) < 0.016


def test_an_incremental_result_equals_one_from_scratch() -> None:
    workbook = book()
    for model, gpus in (("GPT-3", 1024), ("DeepSeek-V3", 2048), ("Llama-3-8B", 64)):
        workbook.set("plan", "model", model)
        workbook.set("plan", "gpus_total", gpus)
        fresh = book(model=model, gpus_total=gpus).compute("training-time")
        again = workbook.compute("training-time")
        assert {n: c.value.value for n, c in again.rows.items() if c.value} == {
            n: c.value.value for n, c in fresh.rows.items() if c.value
        }


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("mfu", 0.9, "mfu: 0.9 is outside the allowed range; 0.02 to 0.7"),
        ("gpus", 0, "gpus: 0 GPUs is outside"),
        ("gpus", 8.5, "is not whole"),
        ("gpus", -8, "outside"),
        ("mfu", float("nan"), "not a number"),
        ("peak_flops", "989 TFLOP/s", "dense figure"),
        ("peak_flops", "5 GB dense", "is in B, this field is in TFLOP/s"),
        ("fabric", "rocee", "did you mean `roce`"),
        ("days", 3, "is computed and cannot be set"),
        ("mfuu", 3, "did you mean `mfu`"),
    ],
)
def test_a_value_that_cannot_be_is_refused_and_the_old_one_stays(name: str, value: object, says: str) -> None:
    workbook = book()
    before = workbook.compute("training-time")["days"]
    with pytest.raises(InputError, match=says):
        workbook.set("training-time", name, value)
    assert workbook.compute("training-time")["days"] == before


def test_a_range_that_somebody_gives_reaches_the_low_and_high_rows() -> None:
    workbook = book()
    workbook.set("training-time", "mfu", Given(value=0.4, low=0.4, high=0.4))
    narrow = workbook.compute("training-time")
    workbook.set("training-time", "mfu", Given(value=0.4, low=0.2, high=0.6))
    wide = workbook.compute("training-time")
    assert wide["days"] == narrow["days"]
    assert wide["days_low"] < narrow["days_low"] < narrow["days_high"] < wide["days_high"]


def test_a_number_explains_itself_down_to_its_inputs() -> None:
    told = book().explain("training-time", "cost_run")
    assert told.formula == "gpu_hours * rent_gpu_h"
    assert told.filled.endswith("GPU-hours * 2.5 USD/h")
    assert {c.name for c in told.inputs} == {"gpu_hours", "rent_gpu_h"}
    peak = book().compute("training-time").inputs["peak_flops"].value
    assert peak is not None
    assert (peak.source, peak.date) == ("[MLE][AIC]", "2026-08")


def test_a_custom_accelerator_asks_for_what_the_table_would_have_known() -> None:
    result = book(accelerator="custom").compute("training-time")
    assert result.state == "not-enough-input"
    assert result.missing == ("training-time.peak_flops",)
    assert result.rows["flop_total"].value is not None


def test_advice_holds_its_numbers_and_decides_the_state() -> None:
    result = book(tp=3).compute("plan")
    assert result.state == "fail"
    assert [(a.rule, a.inputs) for a in result.advice] == [("PLN-1", ("tp", "pp", "cp", "gpus_total"))]
    assert "= 3 GPUs does not divide 256 GPUs" in result.advice[0].text


def test_a_plan_in_another_currency_converts_what_was_in_dollars_and_nothing_else() -> None:
    dollars, yuan = book().compute("training-time"), book(currency="CNY", cny_per_usd=7).compute("training-time")
    assert yuan["cost_run"] == pytest.approx(7 * dollars["cost_run"])
    assert yuan["energy"] == dollars["energy"]
    assert yuan.rows["cost_run"].text().endswith("CNY")
    priced = book(currency="CNY", cny_per_usd=7)
    priced.set("training-time", "rent_gpu_h", "20 CNY/h")
    assert priced.compute("training-time")["rent_gpu_h"] == pytest.approx(20 / 3600)


def test_a_price_older_than_six_months_is_mentioned() -> None:
    assert book().compute("training-time").notes == ()
    old = Workbook(Library(), Plan(), datetime.date(2027, 1, 1)).compute("training-time")
    assert old.notes == ("the price of rent_gpu_h is of 2026-05, older than six months",)


def test_a_plan_is_saved_and_read_back_as_it_was(tmp_path: Path) -> None:
    plan = Plan.model_validate(
        {
            "plan": "pilot",
            "card": {"tp": 4, "gpus_total": 64},
            "sheets": {"training-time": {"mfu": {"value": 0.4, "low": 0.3, "high": 0.5}}},
            "measured": {"training-time.goodput": {"value": 0.93, "source": "May", "date": "2026-05"}},
        }
    )
    plans.save(plan, tmp_path / "plan.yaml")
    assert plans.load(tmp_path / "plan.yaml") == plan
    assert plans.dump(plans.load(tmp_path / "plan.yaml")) == plans.dump(plan)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("card: {tpp: 4}", "did you mean `tp`"),
        ("sheets: {training-tim: {mfu: 1}}", "did you mean `training-time`"),
        ("measured: {training-time.mfu: {value: 0.4}}", "needs a source"),
    ],
)
def test_a_plan_that_names_what_is_not_there_is_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "plan.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=says):
        Workbook(Library(), plans.load(tmp_path / "plan.yaml"))


SHEET = """
sheet: mine
id: W99
title: Mine
question: What?
inputs:
  - {name: size, label: Size, unit: GB, default: 5, range: [0, 10]}
  - {name: divisor, label: Divisor, default: 1, range: [0, 10]}
rows:
  - {name: part, label: Part, unit: GB, formula: size / divisor}
  - {name: other, label: Other, unit: GB, formula: 2 * size}
"""


def mine(folder: Path, text: str) -> list[str]:
    path = folder / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return [str(p).removeprefix(f"{path}:") for p in lint_sheet(path)]


def test_a_zero_divisor_names_the_row_and_leaves_the_others_alone(tmp_path: Path) -> None:
    assert mine(tmp_path, SHEET) == []
    result = compute("mine", overrides={"divisor": 0}, library=Library((tmp_path,)))
    assert str(result.rows["part"].error) == "part: divides by zero at 6"
    assert result["other"] == 10e9
    assert result.state == "fail"


TWICE = "formula: 2 * size"
LINKED = "from: nowhere.x, range: [0, 10]}\n  - {name: divisor"


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (TWICE, "formula: 2 * sizes", "11: error: other: sheet mine has no `sizes`; did you mean `size`?"),
        (TWICE, "formula: 2 + size", "11: error: other: adds 1 and B at 3"),
        (f"unit: GB, {TWICE}", TWICE, "11: error: other: the formula gives B, the row says count"),
        ("formula: size / divisor", "formula: size", "8: error: input `divisor` is used by no row or rule"),
        (TWICE, f"source: '[XYZ]', {TWICE}", "11: error: source [XYZ] is not in sources.yaml"),
        ("range: [0, 10]}\n  - {name: divisor", LINKED, "7: error: size: no worksheet `nowhere`"),
        ("default: 5", "default: 50", "must lie in the range"),
        (TWICE, "formula: 2 *", "11: error: `rows.1.formula`: formula ends too early"),
        ("unit: GB, default", "unit: furlong, default", "unknown unit `furlong`"),
        ("sheet: mine", "sheet: yours", "`sheet: yours` in a file named mine.yaml"),
    ],
)
def test_lint_says_what_is_wrong_and_where(tmp_path: Path, before: str, after: str, says: str) -> None:
    found = mine(tmp_path, SHEET.replace(before, after))
    assert any(says in problem for problem in found), found


def test_rows_that_need_each_other_are_a_circle(tmp_path: Path) -> None:
    text = SHEET.replace("formula: size / divisor", "formula: other / divisor").replace("2 * size}", "part + size}")
    assert any("mine.part and mine.other depend on each other" in p for p in mine(tmp_path, text))


WORDED = """
  - name: said
    label: Said
    unit: text
    formula: if(size > 3[GB], "big", "small")
    words: &words {big: "more than {size}", small: "at most {size}"}
  - {name: all, label: All, unit: text, formula: "if([1[GB], 9[GB]] > size, 'big', 'small')", words: *words}
"""


def test_words_hold_numbers_and_go_through_lists(tmp_path: Path) -> None:
    assert mine(tmp_path, SHEET.rstrip() + WORDED) == []
    workbook = Workbook(Library((tmp_path,)))
    result = workbook.compute("mine")
    assert (result["said"], result.rows["said"].text()) == ("big", "more than 5 GB")
    assert result.rows["all"].text() == "at most 5 GB, more than 5 GB"
    workbook.set("mine", "size", 2)
    assert workbook.compute("mine").rows["said"].text() == "at most 2 GB"
    wrong = WORDED.replace("more than {size}", "more than {sizes}")
    assert any("did you mean `size`" in problem for problem in mine(tmp_path, SHEET.rstrip() + wrong))


def test_a_users_table_lies_over_the_shipped_one_with_its_own_source(tmp_path: Path) -> None:
    (tmp_path / "price.yaml").write_text(
        "table: price\ntitle: Ours\nsource: our contract\ndate: 2026-06-01\ncolumns: {}\nrows: {}\n", encoding="utf-8"
    )
    assert lint_table(tmp_path / "price.yaml") == []
    (tmp_path / "accelerator.yaml").write_text(
        "table: accelerator\ntitle: Ours\nsource: lab\ndate: 2026-06\n"
        "columns: {bf16_flops: {label: BF16, unit: TFLOP/s}}\n"
        "rows:\n  H100-SXM: {label: H100, cells: {bf16_flops: 900}}\n  X1: {label: X1, cells: {bf16_flops: 100}}\n",
        encoding="utf-8",
    )
    tables = References((tmp_path,))
    ours, shipped = tables.cell("accelerator", "H100-SXM", "bf16_flops"), tables.cell("accelerator", "H100-SXM", "tdp")
    assert ours is not None
    assert shipped is not None
    assert (ours.value, ours.source, ours.date) == (900e12, "lab", "2026-06")
    assert shipped.source == "[MLE][AIC]"
    workbook = Workbook(Library((), tables), Plan.model_validate({"card": {"accelerator": "X1"}}), TODAY)
    assert workbook.compute("training-time")["peak_flops"] == 100e12


def test_computing_a_sheet_loads_neither_numpy_nor_pint_nor_the_screen() -> None:
    code = "import sys\nfrom worksheets.engine import compute\ncompute('training-time')\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {"numpy", "pint", "textual", "rich", "checks", "runbooks", "paramiko"}
