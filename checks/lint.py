"""Checks a cluster folder: its file, its recordings, what is odd and how to fix it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from checks import catalogue, nodesets
from checks.clusters import Opened, is_recording, open_cluster
from checks.findings import Model
from checks.transports.layout import Folder, Round, rounds, split_stem
from common.errors import InputError


class Problem(Model):
    """One thing to put right. `severity` is error when the folder is not what the contract says."""

    file: str
    line: int | None = None
    severity: Literal["error", "warning", "note"] = "error"
    message: str
    fix: str = ""

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where}: {self.severity}: {self.message}" + (f"; {self.fix}" if self.fix else "")

    @classmethod
    def of(cls, error: InputError, file: Path) -> Problem:
        """From an error that stopped reading."""
        return cls(file=str(error.file or file), line=error.line, message=error.message, fix=error.fix or "")


def lint_cluster(folder: Path) -> list[Problem]:
    """Every problem of a cluster folder, errors first."""
    try:
        opened = open_cluster(str(folder))
    except InputError as error:
        return [Problem.of(error, folder)]
    found: list[Problem] = []
    if opened.replay is not None:
        base = folder / "recordings" if (folder / "recordings").is_dir() else folder
        places = [base, *(p for p in sorted((folder / "overlays").glob("*")) if p.is_dir())]
        for place in places:
            try:
                for layer in rounds(place, opened.cluster).values():
                    found.extend(_round(layer, opened))
            except InputError as error:
                found.append(Problem.of(error, place))
        found.extend(
            Problem(file=str(p), severity="note", message="not a recorded command; kept and left out")
            for p in opened.replay.unknown_files()
        )
    order = {"error": 0, "warning": 1, "note": 2}
    return sorted(found, key=lambda p: (order[p.severity], p.file))


def _round(layer: Round, opened: Opened) -> Iterator[Problem]:
    cluster = opened.cluster
    known = set(cluster.nodes())
    for folder in layer.folders:
        strangers = sorted(folder.nodes - known)
        if strangers and not cluster.inferred:
            yield Problem(
                file=str(folder.path),
                severity="warning",
                message=f"the cluster file does not name {nodesets.fold(strangers)}",
                fix="add the nodes to a role in cluster.yaml, or rename the folder",
            )
        yield from _files(folder)
    yield from _ties(layer.folders)
    try:
        _ = layer.taken_at
    except InputError as error:
        yield Problem.of(error, layer.path)
    if layer.taken_at is None and not cluster.inferred:
        yield Problem(
            file=str(layer.path),
            severity="warning",
            message="no taken_at: rates over this round stay unknown",
            fix="write `taken_at: 2026-03-04T02:10:00Z` into round.yaml",
        )


def _files(folder: Folder) -> Iterator[Problem]:
    for key in folder.files:
        command, values = split_stem(key.stem)
        entry = catalogue.table().get(command)
        if entry is not None and len(values) != len(entry.params):
            wanted = ", ".join(entry.params) or "none"
            yield Problem(
                file=str(folder.path / f"{key.stem}.txt"),
                message=f"{command} takes {len(entry.params)} parameter(s) ({wanted}), the name has {len(values)}",
                fix=f"name it {command}" + "".join(f"@{p.upper()}" for p in entry.params) + ".txt",
            )
        status = folder.path / f"{key.stem}.status"
        if status.exists() and not status.read_text(encoding="ascii", errors="replace").strip().lstrip("-").isdigit():
            yield Problem(file=str(status), line=1, message="not an exit status", fix="a plain integer")


def _ties(folders: list[Folder]) -> Iterator[Problem]:
    """Two sets of equal width that hold the same file for one node: which one wins would be chance."""
    for i, a in enumerate(folders):
        for b in folders[i + 1 :]:
            if a.width != b.width:
                continue
            shared_nodes = a.nodes & b.nodes
            shared_files = set(a.files) & set(b.files) if shared_nodes else set()
            for key in sorted(shared_files, key=lambda k: k.stem):
                yield Problem(
                    file=str(a.path / f"{key.stem}.txt"),
                    message=f"{b.path.name} holds the same file for {nodesets.fold(shared_nodes)}",
                    fix="keep it in one folder, or in a smaller set",
                )


def is_cluster(path: Path) -> bool:
    """True for a folder that reads as a cluster."""
    if path.is_file():
        return path.name in ("cluster.yaml", "cluster.yml")
    return (path / "cluster.yaml").is_file() or is_recording(path)
