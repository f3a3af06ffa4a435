"""What there is to choose from on the home screen; read in a worker, after the first frame."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from common.errors import RacksideError
from common.words import pick, say
from tui.messages import ClusterRow, RunbookRow, SessionRow, ShelvesRead

RECENT = 20
TAIL_BYTES = 4096


def read(journal_dir: Path) -> ShelvesRead:
    """Sample clusters, runbooks and recent sessions; what cannot be read is named instead of missing."""
    problems: list[str] = []
    return ShelvesRead(
        list(_clusters(problems)), list(_runbooks(problems)), list(_sessions(journal_dir)), tuple(problems)
    )


def _clusters(problems: list[str]) -> Iterator[ClusterRow]:
    from checks import clusters
    from common import yamlfile

    for name in clusters.samples():
        folder = clusters.SAMPLES / name
        try:
            data = yamlfile.parse(yamlfile.read_text(folder / "cluster.yaml"), folder / "cluster.yaml")
            text = pick(data.get("description", "")) if isinstance(data, dict) else ""
        except RacksideError as error:
            problems.append(str(error))
            continue
        yield ClusterRow(name, str(text), tuple(clusters.overlays_of(folder)))


def _runbooks(problems: list[str]) -> Iterator[RunbookRow]:
    from runbooks import loader

    for name in loader.names():
        try:
            book = loader.get(name)
        except RacksideError as error:
            problems.append(str(error))
            continue
        yield RunbookRow(book.id, book.title, book.words)


def _sessions(journal_dir: Path) -> Iterator[SessionRow]:
    """Newest first. Only the first and the last lines are read: a journal may be large."""
    try:
        found = sorted(journal_dir.glob("*.jsonl"), key=lambda p: p.stat().st_mtime, reverse=True)
    except OSError:
        return
    for path in found[:RECENT]:
        try:
            with path.open("rb") as handle:
                head = json.loads(handle.readline())
                size = handle.seek(0, 2)
                handle.seek(max(0, size - TAIL_BYTES))
                tail = handle.read()
            title = pick(head["books"][head["runbook"]]["title"])
            yield SessionRow(path, str(title), str(head["cluster"]), str(head["at"]), _state(tail))
        except (OSError, ValueError, KeyError, TypeError):
            # no journal; the folder may hold other files
            continue


def _state(tail: bytes) -> str:
    for line in reversed(tail.splitlines()):
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict) and event.get("event") == "end":
            return say(f"verdict.{event.get('verdict')}")
        if isinstance(event, dict) and event.get("event") != "note":
            break
    return say("home.unfinished")
