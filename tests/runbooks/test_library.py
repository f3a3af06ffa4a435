"""The shipped runbooks: sound, complete, in the binding order."""

from __future__ import annotations

import pytest

from checks import rules
from checks.findings import LAYERS
from common.words import set_language
from runbooks import lint, loader
from runbooks.engine import Walk
from tests.runbooks.fakes import drive

BOOKS = [book.id for book in loader.shipped()]


@pytest.mark.parametrize("name", BOOKS)
def test_a_shipped_runbook_has_no_problems(name: str) -> None:
    assert [str(p) for p in lint.lint_file(loader.LIBRARY / f"{name}.yaml")] == []


def test_the_root_comes_first_and_every_id_is_of_the_contract() -> None:
    assert BOOKS[0] == "triage"
    assert set(BOOKS) <= set(loader.ORDER)


def test_triage_looks_at_every_layer_network_first() -> None:
    steps = [s for s in loader.get("triage").steps if s.checks]
    assert [s.checks for s in steps] == [(f"{layer}.*",) for layer in LAYERS]


def test_a_slow_training_is_looked_at_in_the_binding_order() -> None:
    walk = Walk(loader.books("training-slow"), "training-slow", coverage={})
    steps = drive(walk)
    order = [
        "what-changed",
        "slow-when",
        "scope",
        "rdma",
        "lossless-class",
        "queues",
        "fill",
        "capacity",
        "thresholds",
        "reaction",
        "pauses",
        "links",
        "gpu",
        "host",
        "job",
        "end",
    ]
    assert steps == order


@pytest.mark.parametrize("name", BOOKS)
def test_every_question_and_title_speaks_chinese_too(name: str) -> None:
    english = loader.get(name)
    set_language("zh")
    try:
        chinese = loader.read(loader.LIBRARY / f"{name}.yaml")
    finally:
        set_language("en")
    if chinese.title == english.title:
        pytest.skip("the interface has no Chinese yet")
    for here, there in zip(english.steps, chinese.steps, strict=True):
        assert not here.title or here.title != there.title
        if here.ask is not None and there.ask is not None:
            assert here.ask.text != there.ask.text
            assert list(here.ask.choices) == list(there.ask.choices)


def test_shared_questions_have_the_choices_of_the_contract() -> None:
    wanted = {
        "what-changed": ["nothing", "upgrade", "maintenance", "new-nodes", "new-image", "config", "other"],
        "one-or-all": ["one", "some", "all"],
    }
    for book in loader.shipped():
        for step in book.steps:
            if step.ask is not None and step.id in wanted:
                assert list(step.ask.choices) == wanted[step.id], book.id


def test_every_registered_check_is_reached_by_some_runbook() -> None:
    asked = {c for book in loader.shipped() for s in book.steps for c in s.checks}
    assert [r.id for r in rules.every() if r.id not in asked and f"{r.layer}.*" not in asked] == []
