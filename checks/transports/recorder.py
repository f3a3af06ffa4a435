"""Writes what nodes answer into a recording that replays to the same verdict: crash-safe, private, redacted."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from checks import catalogue
from checks.inventory import Cluster
from checks.outputs import NodeEvent, Output
from checks.transports.layout import UNREACHABLE
from common.errors import WriteError
from common.redact import environment, redact, redact_bytes


class Recorder:
    """A cluster folder being written. Every file appears whole or not at all, so a killed recording is a valid one.

    Files are readable by their owner only; secrets are taken out before anything is written. With `go_on` a recording
    that was cut off is continued: what it holds stays, and new rounds follow the old ones.
    """

    def __init__(self, folder: Path, cluster: Cluster, *, go_on: bool = False) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._rounds: set[int] = set()
        self._made: set[Path] = set()
        self._failed: set[Path] = set()
        self._before = _last_round(folder / "recordings") if go_on else 0
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if any(folder.iterdir()) and not go_on:
                raise WriteError(f"{folder}: not empty; a recording starts in a new folder")
        except OSError as error:
            raise WriteError(f"{folder}: {error.strerror}") from None
        source = cluster.folder / "cluster.yaml" if cluster.folder else None
        if source and source.is_file() and not (folder / "cluster.yaml").exists():
            self._file(folder / "cluster.yaml", redact(source.read_text(encoding="utf-8")).encode())

    def outputs(self, outputs: Sequence[Output]) -> None:
        """Keeps what one node answered in one step; called from the threads that ask."""
        times: dict[int, list[str]] = {}
        for output in outputs:
            name = self._output(output)
            if output.read_at is not None:
                at = output.read_at.isoformat().replace("+00:00", "Z")
                line = f"  {json.dumps(f'{output.node}/{name}.txt')}: {json.dumps(at)}\n"
                times.setdefault(output.round, []).append(line)
        for round, lines in times.items():
            self._append(self._round(round) / "round.yaml", "".join(lines))

    def _output(self, output: Output) -> str:
        entry = catalogue.get(output.command)
        name = entry.stem(output.params) + (f"~{output.sample}" if output.sample > 1 else "")
        node = self._folder(self._round(output.round) / output.node)
        if node in self._failed:
            # asked again it answered: it is not unreachable any more
            self._failed.discard(node)
            (node / UNREACHABLE).unlink(missing_ok=True)
        self._file(node / f"{name}.txt", cleaned(output.command, output.stdout))
        if output.status:
            self._file(node / f"{name}.status", f"{output.status}\n".encode())
        if output.stderr.strip():
            self._file(node / f"{name}.stderr", cleaned("", output.stderr))
        return name

    def node(self, event: NodeEvent, round: int) -> None:
        """Keeps that a node could not be asked."""
        if event.state == "failed":
            node = self._folder(self._round(round) / event.node)
            self._failed.add(node)
            self._file(node / UNREACHABLE, cleaned("", event.reason.encode() + b"\n"))

    def _round(self, number: int) -> Path:
        folder = self.folder / "recordings" / f"round-{self._before + number}"
        with self._lock:
            if number not in self._rounds:
                self._rounds.add(number)
                self._folder(folder)
                now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
                self._file(folder / "round.yaml", f"taken_at: {now}\nread_at:\n".encode())
        return folder

    def _folder(self, path: Path) -> Path:
        if path in self._made:
            return path
        try:
            # made one by one: with `parents` only the last would be private
            for part in [*reversed(path.parents), path]:
                if part.is_relative_to(self.folder):
                    part.mkdir(exist_ok=True, mode=0o700)
        except OSError as error:
            raise WriteError(f"{path}: {error.strerror}") from None
        self._made.add(path)
        return path

    def _file(self, path: Path, data: bytes) -> None:
        try:
            # a node's files are written by one thread at a time, in a folder that nobody else may enter
            name = f"{path.parent}/.{path.name}"
            handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with open(handle, "wb", buffering=0) as stream:
                while data:
                    data = data[stream.write(data) :]
            os.replace(name, path)
        except OSError as error:
            raise WriteError(f"{path}: {error.strerror}") from None

    def _append(self, path: Path, lines: str) -> None:
        with self._lock:
            try:
                # one write: a kill cannot leave half a line
                handle = os.open(path, os.O_WRONLY | os.O_APPEND)
                try:
                    os.write(handle, lines.encode())
                finally:
                    os.close(handle)
            except OSError as error:
                raise WriteError(f"{path}: {error.strerror}") from None


def _last_round(recordings: Path) -> int:
    numbers = (p.name.removeprefix("round-") for p in recordings.glob("round-*"))
    return max((int(n) for n in numbers if n.isdigit()), default=0)


def cleaned(command: str, data: bytes) -> bytes:
    """Bytes without secrets; unchanged to the byte when there were none."""
    return redact_bytes(environment(data) if command == "proc-env" else data)
