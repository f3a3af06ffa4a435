"""The shipped runbooks: sound, complete, in the binding order."""

from __future__ import annotations

import pytest

from checks import rules
from checks.findings import LAYERS
from common import yamlfile
from runbooks import lint, loader
from runbooks.engine import Walk
from tests.runbooks.fakes import drive, finding

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


@pytest.mark.parametrize(
    ("cards", "said"), [("ok", "GPUs and links are healthy"), ("unknown", "is not known yet"), (None, "")]
)
def test_lost_nodes_end_with_what_to_tell_the_users_and_never_more_than_was_seen(cards: str | None, said: str) -> None:
    walk = Walk(loader.books("nodes-lost"), "nodes-lost", coverage={})
    found = [finding("gpu.xid", "warn", "gpu-xid-45")]
    if cards is not None:
        found += [finding("scheduling.mass_event", "critical", "sc-heartbeat-kill"), finding("gpu.answers", cards)]
    drive(walk, None, *found)
    texts = [p.text for p in walk.path if p.text]
    assert len(texts) == (1 if said else 0)
    assert all(said in t and "not drain" in " ".join(t.split()) for t in texts)


def test_a_checkpoint_on_few_targets_shows_the_arithmetic() -> None:
    walk = Walk(loader.books("checkpoint-stall"), "checkpoint-stall", coverage={})
    drive(walk, None, finding("storage.striping", "warn", "st-default-striping"))
    assert any("120 GB over 4 targets of 1 GB/s is 30 s" in (p.text or "") for p in walk.path)
    assert [c.layer for c in walk.cleared] == ["network", "training-run"]


def test_one_odd_node_leads_to_the_straggler_tree_and_back_to_the_network() -> None:
    walk = Walk(loader.books("training-slow"), "training-slow", coverage={})
    narrow = finding("network.nic_pcie", "critical", "net-nic-pcie-downgrade", nodes="gpu007")
    slow = finding("network.pause_sender", "critical", "net-slow-receiver", nodes="gpu007")
    steps = drive(walk, None, narrow, slow, finding("gpu.*"))
    assert steps.index("straggler/compare") < steps.index("straggler") < steps.index("rdma") < steps.index("gpu")
    assert [(c.fault, c.role) for c in walk.conclusions] == [
        ("net-nic-pcie-downgrade", "initiating"),
        ("net-slow-receiver", "cascade"),
    ]


def test_on_infiniband_the_roce_steps_are_left_out() -> None:
    walk = Walk(loader.books("training-slow"), "training-slow", coverage={})
    skipped = [finding(f"network.{c}", "skipped") for c in ("lossless_class", "pfc_priority")]
    steps = drive(walk, None, *skipped)
    assert "infiniband" in steps
    assert "queues" not in steps


@pytest.mark.parametrize("name", BOOKS)
def test_every_title_and_question_speaks_chinese_too(name: str) -> None:
    path = loader.LIBRARY / f"{name}.yaml"
    data = yamlfile.parse(yamlfile.read_text(path), path)
    texts = [data["title"], data["words"], *(s["title"] for s in data["steps"] if "title" in s)]
    for step in data["steps"]:
        texts += [step[key] for key in ("note", "stop") if key in step]
        if "ask" in step:
            texts += [step["ask"]["text"], *step["ask"].get("choices", {}).values()]
    assert [t for t in texts if not (isinstance(t, dict) and t.get("en") and t.get("zh"))] == []


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
