"""The journal of a session: append-only JSON lines, each on disk before the next thing happens.

    {"event":"start","at":"2026-03-04T02:31:05Z","schema":"rackside.journal/1","runbook":"triage",…}
    {"event":"checks","at":"2026-03-04T02:31:06Z","step":"network","findings":[…]}
    {"event":"answer","at":"2026-03-04T02:31:40Z","step":"what-changed","choice":"upgrade"}

A last line cut off by a crash is dropped on reading; anything else that is not a line of a journal is an error.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from common.errors import InputError, UsageError, WriteError
from common.redact import redact

SCHEMA = "rackside.journal/1"
MAX_BYTES = 512 * 1024 * 1024

Event: TypeAlias = dict[str, Any]
EventKind: TypeAlias = Literal["start", "checks", "answer", "seen", "skip", "back", "again", "note", "end"]
KINDS: tuple[EventKind, ...] = ("start", "checks", "answer", "seen", "skip", "back", "again", "note", "end")


def read(path: Path) -> list[Event]:
    """The events of a journal, without a cut last line.

    Raises:
        InputError: unreadable, no journal, or damaged before its end.
    """
    return _parsed(path)[0]


def _parsed(path: Path) -> tuple[list[Event], int]:
    """The events, and how many bytes of the file they take."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"larger than {MAX_BYTES} bytes", file=path, fix="is this really a journal?")
        data = path.read_bytes()
    except OSError as error:
        raise InputError(error.strerror or "cannot be read", file=path) from None
    events: list[Event] = []
    good = 0
    lines = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            good += len(line) + 1
            continue
        event = _event(line)
        if event is None:
            if number == len(lines):
                break
            raise InputError("not a line of a journal", file=path, line=number, fix="restore the file from a copy")
        events.append(event)
        good += len(line) + 1
    if not events or events[0]["event"] != "start" or events[0].get("schema") != SCHEMA:
        raise InputError("not a journal of a session", file=path, line=1)
    return events, min(good, len(data))


def _event(line: bytes) -> Event | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and found.get("event") in KINDS else None


class Journal:
    """An open journal. One program at a time writes it."""

    def __init__(self, path: Path, handle: int) -> None:
        self.path, self._handle = path, handle

    @classmethod
    def create(cls, path: Path) -> Journal:
        """A new journal, readable by its owner only.

        Raises:
            UsageError: the file is there already.
            WriteError: it cannot be written.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            raise UsageError(f"{path} is there already; resume it, or name another file") from None
        except OSError as error:
            raise WriteError(f"{path}: {error.strerror}") from None
        return cls(path, _locked(handle, path))

    @classmethod
    def reopen(cls, path: Path) -> tuple[Journal, list[Event]]:
        """A journal to go on with, and its events; a cut last line is removed from the file.

        Raises:
            InputError: no journal, damaged, or in use.
            WriteError: it cannot be written.
        """
        try:
            handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        except FileNotFoundError:
            raise InputError("no such journal", file=path) from None
        except OSError as error:
            raise WriteError(f"{path}: {error.strerror}") from None
        _locked(handle, path)
        try:
            events, good = _parsed(path)
            os.ftruncate(handle, good)
            if good and os.pread(handle, 1, good - 1) != b"\n":
                os.write(handle, b"\n")
        except BaseException:
            os.close(handle)
            raise
        return cls(path, handle), events

    def write(self, event: EventKind, at: str, **values: Any) -> None:
        """Appends one event; it is on the disk when this returns.

        Raises:
            WriteError: the disk is full, or the file is gone.
        """
        row = {"event": event, "at": at, **_redacted(values)}
        data = (json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n").encode("utf-8", "replace")
        try:
            while data:
                data = data[os.write(self._handle, data) :]
            os.fsync(self._handle)
        except OSError as error:
            raise WriteError(f"{self.path}: {error.strerror}") from None

    def close(self) -> None:
        """Gives the file back."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def _locked(handle: int, path: Path) -> int:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise InputError("in use by another session", file=path) from None
    except OSError:
        # some network file systems have no locks; a journal without one is better than none
        pass
    return handle


def _redacted(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {key: _redacted(v) for key, v in value.items()}
    if isinstance(value, Sequence):
        return [_redacted(v) for v in value]
    return value
