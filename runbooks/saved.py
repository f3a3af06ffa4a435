"""What a journal keeps of a session, and back: the cluster, the runbooks, the replies."""

from __future__ import annotations

import base64
import contextlib
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from checks import clusters
from checks.clusters import Asking, Opened
from checks.findings import Finding
from common.errors import InputError, UsageError
from common.redact import redact_bytes
from common.yamlfile import nearest
from runbooks.engine import Answered, ChecksDone, NoteSeen, Reply, Skipped, Walk
from runbooks.journal import Event
from runbooks.model import DONT_KNOW, Runbook

SHARED_QUESTIONS = ("what-changed", "since-when", "which-job", "which-path", "one-or-all")
"""Questions with one id everywhere; an answer to one is fine even where a runbook does not ask it."""

MAX_KEPT_ATTACHMENT = 16 * 1024 * 1024


def plain(book: Runbook) -> dict[str, Any]:
    """A runbook as the journal keeps it."""
    return book.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def check_answers(books: Mapping[str, Runbook], answers: Mapping[str, str], *, strict: bool = False) -> None:
    """Checks answers given beforehand against the questions there are.

    Raises:
        UsageError: no such question, or none of its choices.
    """
    questions = {s.id: s.ask for book in books.values() for s in book.steps if s.ask is not None}
    for name, choice in answers.items():
        question = questions.get(name.split("/")[-1])
        if question is None:
            if name in SHARED_QUESTIONS and not strict:
                continue
            raise UsageError(f"no question `{name}` in {next(iter(books))}; {nearest(name, questions)}")
        if not (question.free or choice == DONT_KNOW or choice in question.choices):
            raise UsageError(f"`{choice}` is no answer to {name}; {nearest(choice, [*question.choices, DONT_KNOW])}")


def reference(opened: Opened) -> dict[str, Any]:
    """How to open the cluster again: shipped samples and their overlays by name, so that a journal survives a move."""
    folder = opened.folder.resolve()
    sample = folder.parent == clusters.SAMPLES.resolve()
    overlays = [o.resolve() for o in opened.overlays]
    extra = opened.store.extra_attachments if opened.store else []
    asking = opened.asking
    live = (
        {
            "ssh_config": str(asking.ssh_config.resolve()) if asking.ssh_config else None,
            "record": str(asking.record.resolve()) if asking.record else None,
            "window_s": asking.window_s,
        }
        if asking
        else None
    )
    return {
        **({"live": live} if live else {}),
        "folder": folder.name if sample else str(folder),
        "overlays": [o.name if o.parent == folder / "overlays" else str(o) for o in overlays],
        "attachments": [
            {"kind": kind, "label": label, "data": base64.b64encode(zlib.compress(_clean(data))).decode()}
            for kind, label, data in extra
            if len(data) <= MAX_KEPT_ATTACHMENT
        ],
    }


def _clean(data: bytes) -> bytes:
    return redact_bytes(data)


def reopen(head: Event, journal: Path, asking: Asking | None = None) -> Opened:
    """The cluster of a journal, opened again: replayed, or asked live as `asking` and the journal say.

    Raises:
        InputError: it is gone, or damaged.
    """
    try:
        if live := head.get("live"):
            opened = clusters.open_live(head["folder"], _asking_again(live, asking or Asking()))
        else:
            opened = clusters.open_cluster(head["folder"], head["overlays"])
        if opened.store is not None:
            for row in head.get("attachments", ()):
                data = zlib.decompress(base64.b64decode(row["data"]))
                opened.store.extra_attachments.append((row["kind"], row["label"], data))
    except UsageError as error:
        raise InputError(f"the cluster of this session is gone: {error}", file=journal, line=1) from None
    except (KeyError, TypeError, ValueError, zlib.error) as error:
        raise InputError(f"the start of the session is damaged: {error}", file=journal, line=1) from None
    return opened


def _asking_again(live: Mapping[str, Any], given: Asking) -> Asking:
    """As before, its recording continued; who is at the terminal now answers."""
    config, record = live["ssh_config"], live["record"]
    return replace(
        given,
        ssh_config=given.ssh_config or (Path(config) if config else None),
        record=given.record or (Path(record) if record else None),
        go_on=not given.record,
        window_s=float(live["window_s"]),
    )


def books_of(head: Event, file: Path) -> dict[str, Runbook]:
    """The runbooks a journal keeps.

    Raises:
        InputError: damaged.
    """
    try:
        return {name: Runbook.model_validate(data) for name, data in head["books"].items()}
    except (KeyError, AttributeError, TypeError, ValueError) as error:
        first = str(error).splitlines()[0]
        raise InputError(f"the runbook kept in the journal cannot be read: {first}", file=file, line=1) from None


def reply_of(event: Event) -> Reply | None:
    """The reply an event stands for; None where it stands for none."""
    match event["event"]:
        case "checks":
            return ChecksDone(tuple(Finding.model_validate(f) for f in event["findings"]))
        case "answer":
            return Answered(event["choice"])
        case "skip":
            return Skipped(event["reason"])
        case "seen":
            return NoteSeen()
    return None


def event_of(reply: Reply, step: str, at: str) -> dict[str, Any]:
    """The event that keeps a reply."""
    row: dict[str, Any] = {"at": at, "step": step}
    match reply:
        case ChecksDone(findings):
            return {"event": "checks", **row, "findings": [f.model_dump(mode="json") for f in findings]}
        case Answered(choice):
            return {"event": "answer", **row, "choice": choice}
        case Skipped(reason):
            return {"event": "skip", **row, "reason": reason}
    return {"event": "seen", **row}


def effective(walk: Walk, times: list[str]) -> list[dict[str, Any]]:
    """The events that lead to where a walk is, without what was undone."""
    steps = [walk.path[n].step for n in sorted(walk.replied)]
    with contextlib.suppress(IndexError):
        return [event_of(r, steps[i], times[i]) for i, r in enumerate(walk.replies)]
    return []
