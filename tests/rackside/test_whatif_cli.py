"""`rackside worksheet NAME` with a what-if question: every question in every format, and what cannot be asked."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.rackside.conftest import EVIL
from tests.rackside.test_cli import run
from worksheets.whatif.documents import schema

RUN = ("worksheet", "training-time", "--set", "tokens_total=300e9")
QUESTIONS = {
    "tornado": ("--tornado", "days"),
    "tornado with others": ("--tornado", "growth.cost_sum[5]", "--others", "10"),
    "sample": ("--sample", "days,growth.first_limit,growth.gpus", "--draws", "200", "--seed", "7"),
    "chance": ("--sample", "days", "--goal", "days<=20 and cost_run < 300k USD"),
    "goal": ("--goal", "days<=30", "--by", "gpus=8:4096:8"),
    "goal that is not met": ("--goal", "days<=1", "--by", "mfu"),
    "sweep": ("--sweep", "gpus=64:512:64"),
    "sweep of two": ("--sweep", "gpus=64,128", "--sweep", "plan.accelerator=H100-SXM,A100-SXM-80", "--rows", "days"),
}


@pytest.fixture
def plan(tmp_path: Path) -> str:
    path = tmp_path / "theirs.yaml"
    path.write_text("plan: theirs\ncard: {gpus_total: 1024, tokens_total: 1 T tokens, rent_gpu_h: 1.5}\n")
    return str(path)


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_every_question_is_answered_in_every_format(
    capsys: pytest.CaptureFixture[str], question: tuple[str, ...]
) -> None:
    status, text, _ = run(capsys, *RUN, *question)
    assert status == (2 if "days<=1" in question else 0)
    assert max(len(line) for line in text.splitlines()) <= 80
    told = json.loads(run(capsys, *RUN, *question, "--format", "json")[1])
    Draft202012Validator(schema()).validate(told)
    head, *rows = csv.reader(io.StringIO(run(capsys, *RUN, *question, "--format", "csv")[1]))
    assert rows
    assert all(len(row) == len(head) for row in rows)
    lines = run(capsys, *RUN, *question, "--format", "markdown")[1].splitlines()
    assert len(lines) == len(rows) + 2
    assert all(line.startswith("|") and line.endswith("|") for line in lines)


def test_two_plans_stand_side_by_side_with_what_explains_the_gap(capsys: pytest.CaptureFixture[str], plan: str) -> None:
    status, text, _ = run(capsys, *RUN, "--compare", plan, "--rows", "days,cost_run")
    assert status == 0
    assert "training-time: this plan / theirs.yaml" in text
    assert "plan.gpus_total: 256 GPUs / 1 024 GPUs" in text
    assert max(len(line) for line in text.splitlines()) <= 80
    told = json.loads(run(capsys, *RUN, "--compare", plan, "--rows", "days,cost_run", "--format", "json")[1])
    Draft202012Validator(schema()).validate(told)
    days = next(line for line in told["rows"] if line["row"] == "training-time.days")
    assert days["plans"][1]["value"] - days["plans"][0]["value"] == pytest.approx(days["gap"])
    assert sum(share["amount"] for share in days["shares"]) == pytest.approx(days["gap"])
    rows = list(csv.DictReader(io.StringIO(run(capsys, *RUN, "--compare", plan, "--format", "csv")[1])))
    assert {row["kind"] for row in rows} == {"input", "row"}


def test_bars_have_their_numbers_beside_them(capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, *RUN, "--tornado", "days")[1]
    assert "training-time.mfu: 0.3 to 0.5\n" in text
    assert "low 24.3 days (+33.3 %), high 14.58 days (-20 %)" in text
    assert text.index("training-time.mfu") < text.index("training-time.goodput")
    told = run(capsys, *RUN, "--sample", "days", "--draws", "100")[1]
    assert "P10 " in told
    assert "P90 " in told
    assert "100 draws, seed 1" in told


def test_a_goal_says_what_it_found_what_fails_beside_it_and_where_it_stops(
    capsys: pytest.CaptureFixture[str],
) -> None:
    met = run(capsys, *RUN, "--goal", "days<=30", "--by", "gpus=8:4096:8")[1]
    assert met.startswith("✓ training-time.gpus = 160 GPUs: the smallest from 8 to 4 096 GPUs")
    assert "152 GPUs: training-time.days 30.69 days: fails" in met
    status, missed, _ = run(capsys, *RUN, "--goal", "days<=1", "--by", "mfu")
    assert status == 2
    assert "it stops at the high end; nearest: 0.7: training-time.days 10.41 days" in missed
    everywhere = run(capsys, *RUN, "--goal", "days<=900", "--by", "gpus=64:512", "--pick", "largest")[1]
    assert "512 GPUs: the largest" in everywhere
    assert "holds at the high end of the range already" in everywhere


def test_the_same_seed_gives_the_same_text(capsys: pytest.CaptureFixture[str]) -> None:
    question = (*RUN, "--sample", "days", "--draws", "50", "--seed")
    assert run(capsys, *question, "3") == run(capsys, *question, "3")
    assert run(capsys, *question, "3")[1] != run(capsys, *question, "4")[1]


def test_an_answer_goes_into_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "tornado.json"
    assert run(capsys, *RUN, "--tornado", "days", "--format", "json", "-o", str(file))[0] == 0
    assert json.loads(file.read_text())["kind"] == "tornado"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--tornado", "dayz"), 64, "--tornado dayz: no such row `dayz`; did you mean `days`"),
        (("--tornado", "days,days_low"), 64, "--tornado takes one row"),
        (("--tornado", "days", "--sample", "days"), 64, "ask one question at a time: --tornado or --sample"),
        (("--tornado", "days", "--goal", "days<=3"), 64, "ask one question at a time"),
        (("--tornado", "days", "--format", "html"), 64, "no format html"),
        (("--tornado", "days", "--others", "500"), 65, "take 0 to 100"),
        (("--sample", "nosuch.days"), 64, "no worksheet `nosuch`"),
        (("--sample", ","), 64, "name a row"),
        (("--sample", "days", "--draws", "1"), 65, "take 10 to"),
        (("--sample", "days", "--goal", "dayz<=3"), 64, "--goal dayz<=3: no such row"),
        (("--goal", "days<=30"), 64, "--goal needs the input to turn: --by INPUT"),
        (("--goal", "days<=30", "--by", "gpuz"), 64, "--by gpuz: no such input `gpuz`; did you mean `gpus`"),
        (("--goal", "days<=30", "--by", "rent_gpu_h"), 65, "does not move training-time.days"),
        (("--by", "gpus"), 64, "--by goes with --goal"),
        (("--sweep", "gpus"), 64, "--sweep gpus: `gpus`: write INPUT=START:END:STEP"),
        (("--sweep", "gpus=1,2", "--sweep", "mfu=0.3,0.4", "--sweep", "goodput=0.9,1"), 65, "two different ones"),
        (("--sweep", "gpus=1,2", "--rows", "dayz"), 64, "--rows dayz: no such row"),
        (("--compare", "/no/such/plan.yaml"), 65, "No such file"),
        (("--set", "mfu=1.5", "--tornado", "days"), 65, "outside the allowed range"),
    ],
)
def test_what_cannot_be_asked_is_one_line_that_says_why(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], code: int, said: str
) -> None:
    status, out, error = run(capsys, *RUN, *arguments)
    assert (status, out) == (code, "")
    assert said in error
    assert error.count("\n") <= 1


def test_chargeback_answers_no_what_if_questions(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "worksheet", "chargeback", "--tornado", "days")[0] == 64


def test_nothing_hostile_in_a_plan_or_a_sheet_reaches_the_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    sheet = tmp_path / "theirs.yaml"
    label = json.dumps(EVIL)
    sheet.write_text(
        f"sheet: theirs\nid: W98\ntitle: {label}\nquestion: {label}\ninputs:\n"
        f"  - {{name: a, label: {label}, default: 2, spread: [1, 3], range: [0, 9], source: {label}}}\n"
        f"  - {{name: kind, label: {label}, unit: text, default: {label}}}\nrows:\n"
        f"  - {{name: b, label: {label}, formula: a * 2}}\n  - {{name: c, label: {label}, unit: text, formula: kind}}\n"
    )
    other = tmp_path / "plan.txt"
    other.write_text(f"plan: other\nsheets: {{theirs: {{a: 3, kind: {json.dumps(EVIL + '!')}}}}}\n")
    head = ("worksheet", "theirs", "--file", str(sheet))
    questions = (
        ("--tornado", "b"),
        ("--sample", "b,c"),
        ("--goal", "b>=3", "--by", "a"),
        ("--sweep", "a=1,2", "--rows", "b,c"),
        ("--compare", str(other)),
    )
    for question in questions:
        for form in ("text", "csv", "markdown"):
            status, out, _ = run(capsys, *head, *question, "--format", form)
            assert status == 0
            assert "\x1b" not in out
            assert "\u202e" not in out
            assert not {sign for sign in out if sign < " " and sign != "\n"}
