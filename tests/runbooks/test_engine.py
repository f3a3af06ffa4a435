"""The walk as a state machine."""

from __future__ import annotations

import pytest

from runbooks.engine import (
    Answered,
    AskOperator,
    ChecksDone,
    Finished,
    NoteSeen,
    ReplyError,
    RunChecks,
    ShowNote,
    Skipped,
)
from tests.runbooks.fakes import SIMPLE, book, drive, finding, walk


def test_every_question_takes_dont_know_as_its_last_choice() -> None:
    request = walk(book(SIMPLE)).request()
    assert isinstance(request, AskOperator)
    assert list(request.choices) == ["nothing", "upgrade", "dont-know"]


def test_an_answer_decides_the_way_and_stands_in_the_path() -> None:
    w = walk(book(SIMPLE))
    assert drive(w, {"what-changed": "nothing"}) == ["what-changed", "gpu", "end"]
    assert w.path[0].answer == "nothing"
    assert w.request() == Finished("Done.")


def test_dont_know_takes_the_unknown_branch() -> None:
    assert drive(walk(book(SIMPLE))) == ["what-changed", "network", "gpu", "end"]


def test_a_skipped_question_counts_as_dont_know_with_its_reason() -> None:
    w = walk(book(SIMPLE))
    w.reply(Skipped("nobody there"))
    assert (w.path[0].answer, w.path[0].reason) == ("dont-know", "nobody there")
    assert isinstance(w.request(), RunChecks)


def test_an_answer_that_is_no_choice_is_refused_and_changes_nothing() -> None:
    w = walk(book(SIMPLE))
    with pytest.raises(ReplyError, match="no answer to what-changed"):
        w.reply(Answered("maybe"))
    assert w.path == ()
    assert isinstance(w.request(), AskOperator)


def test_a_reply_of_the_wrong_kind_is_refused() -> None:
    with pytest.raises(ReplyError, match="ChecksDone is no reply to AskOperator"):
        walk(book(SIMPLE)).reply(ChecksDone(()))


def test_an_unknown_check_leads_to_the_unknown_branch_when_nothing_else_matched() -> None:
    w = walk(book(SIMPLE))
    steps = drive(w, None, finding("network.link_flaps", "unknown", reason="timed out", missing=("carrier",)))
    assert steps == ["what-changed", "network", "blind", "gpu", "end"]
    assert [(u.check, u.reason, u.missing) for u in w.unknown] == [("network.link_flaps", "timed out", ("carrier",))]
    assert w.verdict == "undecided"


def test_a_matching_outcome_wins_over_the_unknown_branch() -> None:
    w = walk(book(SIMPLE))
    steps = drive(w, None, finding("network.link_flaps", "unknown"), finding("network.pause_share", "warn"))
    assert steps == ["what-changed", "network", "note", "gpu", "end"]


def test_a_check_that_answers_nothing_is_unknown_never_ok() -> None:
    w = walk(book(SIMPLE), answers={"what-changed": "upgrade"})
    w.reply(ChecksDone((finding("network.pause_share"),)))
    assert isinstance(w.request(), ShowNote)
    assert [u.check for u in w.unknown] == ["network.link_flaps"]


def test_skipped_checks_stay_unknown_and_clear_nothing() -> None:
    w = walk(book(SIMPLE), answers={"what-changed": "nothing"})
    w.reply(Skipped("no access"))
    assert {(u.check, u.reason) for u in w.unknown} == {("gpu.xid", "no access"), ("gpu.ecc", "no access")}
    assert w.cleared == ()
    assert w.verdict == "undecided"


def test_all_faults_of_a_step_are_concluded_and_the_walk_goes_on() -> None:
    w = walk(book(SIMPLE))
    steps = drive(
        w,
        None,
        finding("network.link_flaps", "critical", "net-link-flap"),
        finding("network.pause_share", "warn", "net-ecn-mark-rate-high", certainty="hypothesis"),
        finding("gpu.ecc", "critical", "gpu-dbe"),
    )
    assert steps == ["what-changed", "network", "note", "gpu", "end"]
    assert {c.fault for c in w.conclusions} == {"net-link-flap", "net-ecn-mark-rate-high", "gpu-dbe"}
    assert w.path[1].concluded == ("net-link-flap", "net-ecn-mark-rate-high")


def test_an_ok_finding_that_names_a_fault_concludes_nothing() -> None:
    w = walk(book(SIMPLE))
    drive(w, None, finding("network.link_flaps", "ok", "net-link-flap"))
    assert w.conclusions == ()
    assert w.verdict == "healthy"


def test_back_undoes_the_last_decision_and_what_followed() -> None:
    w = walk(book(SIMPLE))
    drive(w, {"what-changed": "upgrade"}, finding("network.link_flaps", "critical", "net-link-flap"))
    assert w.verdict == "fault"
    assert w.back()
    assert isinstance(w.request(), AskOperator)
    assert w.conclusions == ()
    assert w.findings == ()
    assert not w.back()


def test_answers_known_beforehand_are_not_asked() -> None:
    w = walk(book(SIMPLE), answers={"what-changed": "nothing"})
    assert isinstance(w.request(), RunChecks)
    assert w.path[0].answer == "nothing"


def test_another_runbook_runs_inside_and_returns() -> None:
    outer = book("""
id: outer
title: Outer
start: what-changed
steps:
  - {id: what-changed, ask: {text: "What?", choices: {nothing: n, upgrade: u}}, go: inner, unknown: inner}
  - {id: inner, run: simple, go: end, unknown: unsure}
  - {id: unsure, note: unsure, go: end}
  - {id: end, stop: Outer done.}
""")
    w = walk(outer, book(SIMPLE))
    steps = drive(w, {"what-changed": "nothing"})
    # the question has one id everywhere and is asked once
    assert steps == ["what-changed", "simple/what-changed", "simple/gpu", "simple/end", "inner", "end"]
    assert w.request() == Finished("Outer done.")
    unsure = drive(walk(outer, book(SIMPLE)), {"what-changed": "nothing"}, finding("gpu.xid", "unknown"))
    assert unsure[-3:] == ["inner", "unsure", "end"]


def test_a_runbook_that_goes_in_a_circle_ends() -> None:
    w = walk(
        book("""
id: circle
title: Circle
start: a
steps:
  - {id: a, note: a, go: b}
  - {id: b, note: b, go: a}
""")
    )
    w.reply(NoteSeen())
    w.reply(NoteSeen())
    assert w.finished


def test_the_same_replies_lead_to_the_same_place() -> None:
    first = walk(book(SIMPLE))
    drive(first, {"what-changed": "upgrade"}, finding("gpu.xid", "warn", "gpu-xid-43"))
    second = walk(book(SIMPLE))
    for reply in first.replies:
        second.reply(reply)
    assert (second.path, second.conclusions, second.verdict) == (first.path, first.conclusions, first.verdict)


def test_an_unfinished_walk_is_never_healthy() -> None:
    w = walk(book(SIMPLE), answers={"what-changed": "upgrade"})
    w.reply(ChecksDone((finding("network.link_flaps"), finding("network.pause_share"))))
    assert w.verdict == "undecided"


def test_an_answer_alone_concludes_only_a_hypothesis() -> None:
    w = walk(
        book("""
id: asked
title: Asked
start: q
steps:
  - id: q
    ask: {text: "Does it follow the node?", choices: {node: yes it does}}
    outcomes:
      - {when: {answer: node}, conclude: tr-straggler, go: end}
    go: end
    unknown: end
  - {id: end, stop: ""}
""")
    )
    drive(w, {"q": "node"})
    assert [(c.fault, c.certainty, c.because) for c in w.conclusions] == [("tr-straggler", "hypothesis", ())]
    assert w.verdict == "undecided"
