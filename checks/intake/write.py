"""Writes what was found into a cluster folder: private, atomically, secrets taken out first."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from checks import catalogue, nodesets
from checks.intake.loose import SCHEDULER
from checks.intake.pieces import Capture, Piece
from checks.interpret import interpret
from checks.inventory import SWITCHES
from checks.outputs import Empty, Facts, Output
from checks.transports.recorder import cleaned
from common import yamlfile
from common.errors import InputError, UsageError, WriteError
from common.files import write_atomically

_LABEL = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True)
class Written:
    """One output in the folder. `reading` says what its parser makes of it: facts, empty, or why not."""

    round: int
    node: str
    file: str
    command: str
    origin: str
    reading: str
    derived: str = ""


@dataclass
class Target:
    """The folder that is written, and what was written so far."""

    folder: Path
    written: list[Written] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    attachments: list[str] = field(default_factory=list)
    _made: set[Path] = field(default_factory=set)

    @property
    def recordings(self) -> Path:
        """Where the rounds lie."""
        return self.folder / "recordings"

    def begin(self, wanted: str) -> int:
        """The first round to write into: 1 in a new folder; else `new` or a number, by default the newest there is.

        Raises:
            WriteError: the folder holds something that is no cluster.
            UsageError: there is no such round.
        """
        try:
            if not self.folder.exists() or not any(self.folder.iterdir()):
                return 1
            numbers = sorted(
                int(p.name.removeprefix("round-"))
                for p in (self.recordings.iterdir() if self.recordings.is_dir() else ())
                if re.fullmatch(r"round-\d+", p.name)
            )
        except OSError as error:
            raise WriteError(f"{self.folder}: {error.strerror}") from None
        if not numbers:
            raise WriteError(f"{self.folder}: not empty, and no cluster folder; write into a new folder")
        if wanted == "new":
            return numbers[-1] + 1
        number = int(wanted) if wanted.isdigit() else numbers[-1]
        if not 1 <= number <= numbers[-1] + 1:
            raise UsageError(f"--round {wanted}: the folder has {', '.join(map(str, numbers))}; or `new`")
        return number

    def capture(self, capture: Capture, number: int) -> None:
        """Writes what one bundle says about one node; what is there already stays."""
        folder = self.recordings / f"round-{number}"
        node = folder / capture.node
        times: list[str] = []
        for piece in capture.pieces:
            name = catalogue.get(piece.command).stem(piece.params)
            if (node / f"{name}.txt").exists():
                self.left_out.append((f"{capture.node}: {piece.origin}", f"{name}.txt is there already"))
                continue
            self.file(node / f"{name}.txt", cleaned(piece.command, piece.data))
            if piece.status:
                self.file(node / f"{name}.status", f"{piece.status}\n".encode())
            times.append(f"{capture.node}/{name}.txt")
            reading = _reading(capture.node, piece)
            self.written.append(
                Written(number, capture.node, f"{name}.txt", piece.command, piece.origin, reading, piece.derived)
            )
        for command, values, sample, end, data in capture.extra:
            name = catalogue.get(command).stem(values) + (f"~{sample}" if sample > 1 else "")
            if not (node / f"{name}.{end}").exists():
                self.file(node / f"{name}.{end}", cleaned(command if end == "txt" else "", data))
        if times:
            self._round(folder, capture, times)

    def _derived(self) -> str:
        """A word on the outputs that no tool printed in this form."""
        told = sorted({f"{w.command} from {w.derived}" for w in self.written if w.derived})
        return f"read off a longer report: {', '.join(told)}" if told else ""

    def attachment(self, kind: str, label: str, data: bytes) -> None:
        """Keeps a file that belongs to no node, under a name that is free."""
        base = f"{kind}@{_LABEL.sub('-', label).strip('-.') or 'file'}" if label else kind
        name, count = f"{base}.txt", 1
        while (self.folder / "attachments" / name).exists():
            count += 1
            name = f"{base}-{count}.txt" if label else f"{base}@{count}.txt"
        self.file(self.folder / "attachments" / name, cleaned("", data))
        self.attachments.append(name)

    def file(self, path: Path, data: bytes) -> None:
        """Writes one file, its folders private."""
        try:
            # made one by one: with `parents` only the last would be private
            for part in [*reversed(path.parent.parents), path.parent]:
                if part not in self._made and (part == self.folder or part.is_relative_to(self.folder)):
                    part.mkdir(exist_ok=True, mode=0o700, parents=part == self.folder)
                    self._made.add(part)
        except OSError as error:
            raise WriteError(f"{path.parent}: {error.strerror}") from None
        write_atomically(path, data)

    def _round(self, folder: Path, capture: Capture, names: Iterable[str]) -> None:
        manifest: dict[str, Any] = {}
        path = folder / "round.yaml"
        if path.is_file():
            found = yamlfile.parse(yamlfile.read_text(path), path)
            if not isinstance(found, dict):
                raise InputError("expected keys and values", file=path, line=1, fix="taken_at: 2026-03-04T02:10:00Z")
            manifest = found
        at = _stamp(capture.taken)
        taken = manifest.setdefault("taken_at", at) if at else manifest.get("taken_at")
        taken = _stamp(taken) if isinstance(taken, datetime) else taken
        times = dict(manifest.get("read_at") or {})
        if at and taken != at:
            times |= dict.fromkeys(names, at)
        lines = [f"taken_at: {taken}\n"] if taken else ["# the bundles do not say when they were taken\n"]
        if times:
            lines.append("read_at:\n")
            lines += [f"  {json.dumps(name)}: {json.dumps(_text(at))}\n" for name, at in sorted(times.items())]
        sources = str(manifest.get("source") or "")
        origin = f"{capture.kind} {capture.origin}"
        if origin not in sources.split("; "):
            sources = f"{sources}; {origin}" if sources else origin
        lines.append(f"source: {json.dumps(sources, ensure_ascii=False)}\n")
        if note := str(manifest.get("note") or "") or self._derived():
            lines.append(f"note: {json.dumps(note, ensure_ascii=False)}\n")
        self.file(path, "".join(lines).encode("utf-8", "backslashreplace"))


def cluster_file(target: Target, name: str) -> None:
    """Writes `cluster.yaml` with what the recordings tell; an existing one is a person's and stays."""
    path = target.folder / "cluster.yaml"
    if path.exists() or not target.written:
        return
    by_node: dict[str, set[str]] = {}
    for output in target.written:
        by_node.setdefault(output.node, set()).add(output.command)
    roles: dict[str, list[str]] = {}
    systems: dict[str, str] = {}
    for node, commands in by_node.items():
        for role, system in _roles(commands):
            roles.setdefault(role, []).append(node)
            if system:
                systems[role] = system
    lines = [
        "# Written by `rackside import` from what the bundles hold. Everything below is a guess: correct it, and add",
        "# what you know (expectations, racks, fabric, storage); the sample clusters show the keys.",
        "version: 1",
        f"name: {json.dumps(name)}",
        "roles:",
    ]
    for role in sorted(roles):
        nodes = json.dumps(nodesets.fold(roles[role]))
        lines.append(f"  # guessed: {_WHY.get(role, 'only hosts of this role print what was found here')}")
        if role in SWITCHES:
            lines.append(f"  {role}: {{nodes: {nodes}, os: {systems.get(role, 'sonic')}}}")
        else:
            lines.append(f"  {role}: {nodes}")
    if SCHEDULER in by_node:
        lines.append(f"# `{SCHEDULER}` stands for the host the scheduler was asked on: nothing told its name")
    target.file(path, ("\n".join(lines) + "\n").encode())


_WHY = {
    "gpu-node": "a GPU, its driver or nothing else shows on these nodes",
    "scheduler": "they answered for Slurm or Kubernetes",
    "login": "hosts without GPUs that belong to no other role",
    "storage-client": "they mount Lustre, GPFS or NFS and show no GPU",
    "switch-leaf": "switches; move spines to switch-spine",
}


def _roles(commands: set[str]) -> list[tuple[str, str | None]]:
    """Roles of a node by the commands recorded for it, with the operating system of a switch."""
    entries = [catalogue.get(c) for c in commands]
    found: list[tuple[str, str | None]] = []
    if switch := next((e for e in entries if e.os), None):
        return [("switch-leaf", switch.os)]
    gpu = any(e.id.startswith(("smi-", "fm-", "dcgm")) or e.id in ("drv-version",) for e in entries)
    if gpu or "lspci-gpu" in commands:
        found.append(("gpu-node", None))
    for role in ("scheduler", "storage-server", "fabric-manager"):
        if any(e.roles == (role,) for e in entries):
            found.append((role, None))
    if not found:
        # a host whose outputs every host prints: the contract takes it for a GPU node
        found.append(("gpu-node", None))
    return found


def _reading(node: str, piece: Piece) -> str:
    outcome = interpret(Output(node, piece.command, piece.params, 1, piece.data, b"", piece.status))
    if isinstance(outcome, Facts):
        return "facts" if not outcome.odd else "facts, with lines not understood"
    return "empty" if isinstance(outcome, Empty) else f"unreadable: {outcome.reason}"


def _stamp(at: datetime | None) -> str | None:
    if at is None:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _text(at: object) -> str:
    return _stamp(at) or "" if isinstance(at, datetime) else str(at)


def numbered(captures: Sequence[Capture], first: int) -> list[tuple[Capture, int]]:
    """Captures with their rounds: the second sosreport of a node is a second round, in the order of time."""
    count: dict[tuple[str, str], int] = {}
    found = []
    far = datetime.max.replace(tzinfo=UTC)
    for capture in sorted(captures, key=lambda c: c.taken or far):
        key = (capture.node, capture.kind)
        count[key] = count.get(key, 0) + 1
        found.append((capture, first + count[key] - 1))
    return found


def by_node(written: Iterable[Written]) -> Mapping[str, list[Written]]:
    """Outputs by node, in order."""
    found: dict[str, list[Written]] = {}
    for output in sorted(written, key=lambda w: (w.node, w.round, w.file)):
        found.setdefault(output.node, []).append(output)
    return found
