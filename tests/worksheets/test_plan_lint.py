"""Plan files are checked as a whole: every problem with its line, prices in the currency of the plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from worksheets.lint import lint_plan


def problems(folder: Path, text: str) -> list[tuple[int | None, str]]:
    path = folder / "my-plan.yaml"
    path.write_text(text, encoding="utf-8")
    return [(p.line, f"{p.message}; {p.fix}") for p in lint_plan(path)]


def test_a_plan_without_fault_has_no_problem(tmp_path: Path) -> None:
    text = "plan: ours\ncard: {gpus_total: 2048, nic_rate: 200 Gbit/s}\nsheets: {training-time: {mfu: 38 %}}\n"
    assert problems(tmp_path, text) == []


def test_all_problems_are_told_by_line_with_the_allowed_range(tmp_path: Path) -> None:
    text = """plan: ours
sheets:
  training-time:
    mfu: 7
    days: 3
  trainning-time: {mfu: 0.4}
card:
  gpus_totl: 3
measured:
  training-time.goodput: {value: 3, source: the journal}
"""
    found = problems(tmp_path, text)
    assert [line for line, _ in found] == [4, 5, 6, 8, 10]
    assert found[0][1] == "mfu: 7 is outside the allowed range; 0.02 to 0.7"
    assert "is computed" in found[1][1]
    assert "did you mean `training-time`" in found[2][1]
    assert "did you mean `gpus_total`" in found[3][1]
    assert "goodput: 3" in found[4][1]


@pytest.mark.parametrize(("currency", "lines"), [("CNY", []), ("USD", [2])])
def test_a_price_is_held_against_its_range_in_the_currency_of_the_plan(
    tmp_path: Path, currency: str, lines: list[int]
) -> None:
    found = problems(tmp_path, f"card:\n  rent_gpu_h: 200\n  currency: {currency}\n")
    assert [line for line, _ in found] == lines


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("card: [1]\n", "card"),
        ("crad: {}\n", "unknown key `crad`"),
        ("measured: {training-time.mfu: {value: 0.3}}\n", "needs a source"),
        ("plan: [\n", "not valid YAML"),
    ],
)
def test_a_file_that_is_no_plan_is_one_problem(tmp_path: Path, text: str, said: str) -> None:
    ((_, message),) = problems(tmp_path, text)
    assert said in message
