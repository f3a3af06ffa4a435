"""What lint says about a runbook: line, message, fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from checks import rules
from runbooks import lint
from runbooks.model import Runbook

GOOD = """\
id: good
title: Good
start: ask
steps:
  - id: ask
    ask: {text: Well, choices: {fine: fine, bad: bad}}
    outcomes:
      - when: {answer: bad}
        go: look
    go: end
    unknown: look
  - id: look
    checks: ["network.*"]
    outcomes:
      - conclude: any
    go: end
    unknown: end
  - id: end
    stop: Done.
"""


@pytest.fixture(autouse=True)
def _one_check(monkeypatch: pytest.MonkeyPatch) -> None:
    made = rules.Rule(
        id="network.link_flaps",
        title="",
        why="",
        layer="network",
        scope="node",
        reads=(),
        thresholds=(),
        faults=("net-link-flap",),
        applies=None,
        function=lambda view: (),
    )
    monkeypatch.setattr(rules, "_rules", {made.id: made})
    monkeypatch.setattr(rules, "load", lambda layer: None)


def problems(tmp_path: Path, text: str) -> list[tuple[int | None, str, str]]:
    path = tmp_path / "r.yaml"
    path.write_text(text)
    return [(p.line, p.message, p.fix) for p in lint.lint_file(path)]


def test_a_good_runbook_has_no_problems(tmp_path: Path) -> None:
    assert problems(tmp_path, GOOD) == []


@pytest.mark.parametrize(
    ("old", "new", "line", "message", "fix"),
    [
        ("    unknown: look\n", "", 5, "`ask` has no unknown branch", "unknown: STEP"),
        (
            "        go: look\n",
            "        go: loook\n",
            9,
            "`ask` goes to `loook`, which is no step",
            "did you mean `look`?",
        ),
        ("    unknown: look\n", "    unknown: nowhere\n", 11, "which is no step", "valid here"),
        ("    go: end\n    unknown: look", "    unknown: look", 7, "its outcomes have no otherwise", "- go: STEP"),
        ("answer: bad", "answer: badd", 8, "`badd` is no choice of `ask`", "did you mean `bad`?"),
        ("answer: bad", "answer: bad, step: look", 8, "`look` is no question", "ask"),
        ('"network.*"', '"netwrk.*"', 13, "unknown layer in `netwrk.*`", "did you mean `network`?"),
        ('"network.*"', "network.link_flap", 13, "unknown check `network.link_flap`", "`network.link_flaps`"),
        (
            "- conclude: any",
            "- fault: net-link-flop",
            15,
            "unknown fault `net-link-flop`",
            "did you mean `net-link-flap`?",
        ),
        ("- conclude: any", "- fault: gpu-dbe", 15, "no check of `look` can name `gpu-dbe`", "add the check"),
        (
            "- conclude: any",
            "- {when: {check: network.link_flps, is: ok}, go: end}",
            15,
            "unknown check `network.link_flps`",
            "`network.link_flaps`",
        ),
        (
            "- conclude: any",
            "- {when: {any: [{not: {fault: net-link-flop}}]}, go: end}",
            15,
            "unknown fault `net-link-flop`",
            "did you mean",
        ),
        ("      - conclude: any", "      - go: end\n      - conclude: any", 16, "after the otherwise", "to the end"),
        ("    stop: Done.", "    stop: Done.\n    go: look", 18, "nothing can follow it", "remove"),
        (
            "    stop: Done.",
            "    run: no-such\n    go: end\n    unknown: end",
            19,
            "unknown runbook `no-such`",
            "valid",
        ),
        (
            "        go: look\n    go: end\n    unknown: look",
            "        go: end\n    go: end\n    unknown: end",
            12,
            "no step leads to `look`",
            "lead to it",
        ),
        (
            "    go: end\n    unknown: end\n",
            "    go: ask\n    unknown: end\n",
            12,
            "circle: ask -> look -> ask",
            "forward",
        ),
    ],
)
def test_each_mistake_has_its_line_and_its_fix(
    tmp_path: Path, old: str, new: str, line: int, message: str, fix: str
) -> None:
    assert old in GOOD
    found = problems(tmp_path, GOOD.replace(old, new, 1))
    assert any(at == line and message in said and fix in how for at, said, how in found), found


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("start: ask", "start: aks", 3, "is no step"),
        ("- id: look", "- id: ask", 4, "two steps are called `ask`"),
        ("    stop: Done.", "    stop: Done.\n    note: x", 18, "exactly one of"),
        ("title: Good", "titel: Good", 2, "unknown key `titel`"),
        ("id: good", "id: good\nid: good", 2, "given twice"),
        ("    stop: Done.", "    stop: [", 20, "not valid YAML"),
    ],
)
def test_what_cannot_be_read_says_where(tmp_path: Path, old: str, new: str, line: int, message: str) -> None:
    found = problems(tmp_path, GOOD.replace(old, new, 1))
    assert len(found) == 1
    assert message in found[0][1]
    assert found[0][0] == line


def test_a_choice_that_yaml_reads_as_a_truth_value_is_refused(tmp_path: Path) -> None:
    found = problems(tmp_path, GOOD.replace("choices: {fine: fine,", "choices: {no: fine,"))
    assert len(found) == 1


def test_the_model_reads_texts_in_several_languages() -> None:
    made = Runbook.model_validate(
        {
            "id": "x",
            "title": {"en": "Slow", "zh": "慢"},
            "words": {"en": ["slow", "down"], "zh": ["慢"]},
            "start": "a",
            "steps": [{"id": "a", "stop": {"en": "End", "zh": "完"}}],
        }
    )
    assert (made.title, made.words, made.steps[0].stop) == ("Slow", ("slow", "down"), "End")
