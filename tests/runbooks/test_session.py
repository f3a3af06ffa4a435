"""Sessions: journal, resume, fork, and what a crash leaves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from checks.clusters import Opened
from checks.findings import Evidence, Finding
from checks.runner import CancelledError, Runner
from common.errors import InputError, UsageError
from runbooks.engine import AskOperator, ReplyError, RunChecks
from runbooks.session import Session
from tests.runbooks.fakes import SIMPLE, finding, small_cluster

SECRET = "password=hunter2"


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    return small_cluster(tmp_path / "small")


@pytest.fixture
def runbook(tmp_path: Path) -> str:
    path = tmp_path / "simple.yaml"
    path.write_text(SIMPLE)
    return str(path)


@pytest.fixture(autouse=True)
def _checks_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks that need no rules: a link flaps, everything else is fine."""

    def run(self: Runner, patterns: tuple[str, ...], **more: object) -> list[Finding]:
        cancelled = more.get("cancelled")
        if callable(cancelled) and cancelled():
            raise CancelledError
        evidence = (Evidence(round=1, node="gpu1", command="link-log", lines=(1, 2), text=f"link down\n{SECRET}"),)
        bad = finding("network.link_flaps", "critical", "net-link-flap", nodes="gpu1", evidence=evidence)
        return [bad if p == "network.link_flaps" else finding(p, nodes="gpu1") for p in patterns]

    monkeypatch.setattr(Runner, "run", run)


def test_a_session_walks_headless_and_says_everything_in_its_document(opened: Opened, runbook: str) -> None:
    session = Session.start(opened, runbook)
    heard: list[str] = []
    document = session.drive(on_step=heard.append)
    assert heard == ["network: Network?", "gpu: GPUs?"]
    assert [p.step for p in document.path] == ["what-changed", "network", "gpu", "end"]
    assert document.path[0].answer == "dont-know"
    assert (document.verdict, document.cluster, document.source) == ("fault", "small", "replay")
    assert [c.fault for c in document.conclusions] == ["net-link-flap"]
    assert [c.layer for c in document.cleared] == ["gpu"]
    assert document.ended is not None
    assert all(p.at for p in document.path)


def test_the_journal_is_for_its_owner_and_holds_no_secrets(opened: Opened, runbook: str, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "j.jsonl"
    session = Session.start(opened, runbook, journal=path)
    session.note(f"called the network team, {SECRET}")
    session.drive()
    assert path.stat().st_mode & 0o777 == 0o600
    text = path.read_text()
    assert "hunter2" not in text
    assert "called the network team" in text
    assert [json.loads(line)["event"] for line in text.splitlines()] == [
        "start",
        "note",
        "answer",
        "checks",
        "checks",
        "end",
    ]


def test_an_existing_file_is_never_written_over(opened: Opened, runbook: str, tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    path.write_text("mine")
    with pytest.raises(UsageError, match="there already"):
        Session.start(opened, runbook, journal=path)
    assert path.read_text() == "mine"


def test_a_journal_cut_anywhere_in_its_last_event_resumes(opened: Opened, runbook: str, tmp_path: Path) -> None:
    whole = tmp_path / "whole.jsonl"
    session = Session.start(opened, runbook, answers={"what-changed": "upgrade"}, journal=whole)
    session.run_checks()
    session.close()
    data = whole.read_bytes()
    last = data[:-1].rindex(b"\n") + 1
    for cut in range(last, len(data) + 1):
        path = tmp_path / f"cut{cut}.jsonl"
        path.write_bytes(data[:cut])
        resumed = Session.resume(path)
        request = resumed.walk.request()
        assert isinstance(request, RunChecks)
        complete = cut >= len(data) - 1
        assert request.step == ("gpu" if complete else "network"), f"cut at {cut}"
        document = resumed.drive()
        resumed.close()
        assert document.verdict == "fault"
        # what was written afterwards is a whole journal again
        assert Session.read(path).path == document.path


def test_a_journal_damaged_in_the_middle_is_an_error_with_its_line(
    opened: Opened, runbook: str, tmp_path: Path
) -> None:
    path = tmp_path / "j.jsonl"
    session = Session.start(opened, runbook, journal=path)
    session.drive()
    session.close()
    lines = path.read_text().splitlines()
    lines[1] = lines[1][:10]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match=r"j\.jsonl:2"):
        Session.read(path)


@pytest.mark.parametrize(
    "text", ["", "\n", "{}\n", "not json\n", '{"event":"answer","at":"x"}\n', "[1]\n", "\x00\xff\n"]
)
def test_what_is_no_journal_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "j.jsonl"
    path.write_text(text)
    with pytest.raises(InputError):
        Session.read(path)
    with pytest.raises(InputError):
        Session.resume(path)
    assert path.read_text() == text


def test_a_journal_in_use_is_not_opened_twice(opened: Opened, runbook: str, tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    session = Session.start(opened, runbook, journal=path)
    with pytest.raises(InputError, match="in use"):
        Session.resume(path)
    session.close()
    Session.resume(path).close()


def test_going_back_is_kept_in_the_journal(opened: Opened, runbook: str, tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    session = Session.start(opened, runbook, journal=path)
    session.answer("upgrade")
    session.run_checks()
    assert session.back()
    session.answer("nothing")
    session.drive()
    assert [p.step for p in session.document().path] == ["what-changed", "gpu", "end"]
    read = Session.read(path)
    assert read == session.document()
    assert not Session.start(opened, runbook).back()


def test_a_fork_shares_the_way_up_to_the_question_and_goes_another(
    opened: Opened, runbook: str, tmp_path: Path
) -> None:
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    session = Session.start(opened, runbook, answers={"what-changed": "upgrade"}, journal=first)
    session.note("before")
    session.drive()
    session.close()
    before = first.read_bytes()
    fork = Session.fork(first, "what-changed", "nothing", journal=second)
    fork.drive()
    assert [p.step for p in fork.document().path] == ["what-changed", "gpu", "end"]
    assert fork.document().path[0].answer == "nothing"
    assert first.read_bytes() == before
    assert Session.read(second).path == fork.document().path


@pytest.mark.parametrize(("step", "answer"), [("network", "nothing"), ("what-changed", "maybe"), ("which-path", "/x")])
def test_a_fork_at_what_was_never_asked_is_refused(
    opened: Opened, runbook: str, tmp_path: Path, step: str, answer: str
) -> None:
    path = tmp_path / "j.jsonl"
    session = Session.start(opened, runbook, journal=path)
    session.drive()
    session.close()
    with pytest.raises(UsageError):
        Session.fork(path, step, answer)


def test_a_document_needs_no_cluster_but_a_resume_does(opened: Opened, runbook: str, tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    session = Session.start(opened, runbook, journal=path)
    session.answer("upgrade")
    session.close()
    opened.folder.rename(tmp_path / "moved")
    assert Session.read(path).verdict == "undecided"
    with pytest.raises(InputError, match="gone"):
        Session.resume(path)


def test_a_resumed_session_keeps_the_attachments_it_was_given(opened: Opened, runbook: str, tmp_path: Path) -> None:
    assert opened.replay is not None
    opened.replay.extra_attachments.append(("job-log", "rank0", f"step 1\n{SECRET}".encode()))
    path = tmp_path / "j.jsonl"
    Session.start(opened, runbook, journal=path).close()
    resumed = Session.resume(path)
    assert resumed.opened is not None
    assert resumed.opened.replay is not None
    assert resumed.opened.replay.attachment("job-log") == [("rank0", b"step 1\npassword=<redacted>")]


def test_a_cancelled_run_leaves_the_walk_where_it_was(opened: Opened, runbook: str) -> None:
    session = Session.start(opened, runbook, answers={"what-changed": "nothing"})
    with pytest.raises(CancelledError):
        session.run_checks(cancelled=lambda: True)
    assert isinstance(session.walk.request(), RunChecks)
    session.run_checks()
    assert session.walk.finished


def test_checks_are_not_run_when_a_question_is_open(opened: Opened, runbook: str) -> None:
    session = Session.start(opened, runbook)
    assert isinstance(session.walk.request(), AskOperator)
    with pytest.raises(ReplyError):
        session.run_checks()


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"what-chnaged": "upgrade"}, "did you mean `what-changed`"),
        ({"what-changed": "upgrad"}, "did you mean `upgrade`"),
    ],
)
def test_an_answer_that_fits_no_question_is_refused(
    opened: Opened, runbook: str, answers: dict[str, str], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        Session.start(opened, runbook, answers=answers)


def test_an_answer_to_a_shared_question_is_fine_where_it_is_not_asked(opened: Opened, runbook: str) -> None:
    Session.start(opened, runbook, answers={"which-job": "88123"}).drive()


def test_a_step_that_needs_an_attachment_is_unknown_without_it(opened: Opened, tmp_path: Path) -> None:
    path = tmp_path / "needs.yaml"
    path.write_text(
        "id: needs\ntitle: Needs\nstart: log\nsteps:\n"
        "  - {id: log, checks: [training-run.step_jitter], attachment: job-log, go: end, unknown: end}\n"
        "  - {id: end, stop: Done.}\n"
    )
    document = Session.start(opened, str(path)).drive()
    assert [(u.check, u.reason) for u in document.unknown] == [("training-run.step_jitter", "no job-log was attached")]
    assert document.verdict == "undecided"
    assert opened.replay is not None
    opened.replay.extra_attachments.append(("job-log", "", b"step 1"))
    assert Session.start(opened, str(path)).drive().verdict == "healthy"
