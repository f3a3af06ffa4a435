"""The folders of a recording: which files hold what for a node, by the look-up rules of the contract."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from checks import nodesets, params
from checks.inventory import Cluster
from common import yamlfile
from common.errors import InputError

UNREACHABLE = "UNREACHABLE.txt"
_ROUND = re.compile(r"^round-(\d+)$")
_FILE = re.compile(r"^(?P<stem>.+?)(?:~(?P<sample>\d+))?\.(?P<end>txt|status|stderr|absent)$")
MAX_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class FileKey:
    """One recorded command: file stem (`eth-stats@eth2`) and sample number."""

    stem: str
    sample: int


class Folder:
    """One folder of a round, for one node, a node set or a role. Lists itself once, on first use."""

    def __init__(self, path: Path, nodes: frozenset[str], *, role: bool) -> None:
        self.path, self.nodes, self.role = path, nodes, role

    @property
    def width(self) -> tuple[int, int]:
        """Sort key: smaller sets first, role folders last."""
        return (1 if self.role else 0, len(self.nodes))

    @cached_property
    def files(self) -> Mapping[FileKey, frozenset[str]]:
        """The endings (txt, status, stderr, absent) there are for each recorded command."""
        found: dict[FileKey, set[str]] = {}
        for name in self.names:
            if name != UNREACHABLE and (match := _FILE.match(name)):
                key = FileKey(match["stem"], int(match["sample"] or 1))
                found.setdefault(key, set()).add(match["end"])
        return {key: frozenset(ends) for key, ends in found.items()}

    @cached_property
    def by_command(self) -> Mapping[str, tuple[tuple[FileKey, tuple[str, ...]], ...]]:
        """Files with their parameter values, by command."""
        found: dict[str, list[tuple[FileKey, tuple[str, ...]]]] = {}
        for key in self.files:
            command, values = split_stem(key.stem)
            found.setdefault(command, []).append((key, values))
        return {command: tuple(keys) for command, keys in found.items()}

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of the regular files; links are left out, a recording may come from a stranger."""
        try:
            with os.scandir(self.path) as entries:
                return frozenset(e.name for e in entries if e.is_file(follow_symlinks=False))
        except OSError as error:
            raise InputError(error.strerror or "cannot be listed", file=self.path) from None

    @property
    def unreachable(self) -> bool:
        """True when the nodes of this folder could not be asked."""
        return UNREACHABLE in self.names


class Round:
    """One pass over the cluster."""

    def __init__(self, path: Path, cluster: Cluster | None, *, fallback_node: str = "node") -> None:
        self.path = path
        self._cluster = cluster
        self._fallback_node = fallback_node
        self._of_node: dict[str, list[Folder]] = {}

    @cached_property
    def folders(self) -> list[Folder]:
        """Folders of the round, narrowest first. Files lying loose belong to one node named after the recording."""
        found: list[Folder] = []
        roles = self._cluster.spec.roles if self._cluster else {}
        with os.scandir(self.path) as entries:
            listed = sorted(entries, key=lambda e: e.name)
        for entry in listed:
            if not entry.is_dir(follow_symlinks=False):
                continue
            if entry.name in roles or (self._cluster and entry.name == "storage-client"):
                members = self._cluster.nodes(entry.name) if self._cluster else ()
                found.append(Folder(Path(entry.path), frozenset(members), role=True))
                continue
            try:
                nodes = nodesets.expand(entry.name)
            except nodesets.NodeSetError:
                raise InputError(
                    f"folder name is not a node set or a role: {entry.name}",
                    file=self.path,
                    fix="name it like gpu[001-032], gpu017 or gpu-node",
                ) from None
            found.append(Folder(Path(entry.path), frozenset(nodes), role=False))
        if any(_FILE.match(e.name) for e in listed if e.is_file(follow_symlinks=False)):
            found.append(Folder(self.path, frozenset([self._fallback_node]), role=False))
        return sorted(found, key=lambda f: f.width)

    def of_node(self, node: str) -> list[Folder]:
        """The folders that speak for a node, narrowest first."""
        folders = self._of_node.get(node)
        if folders is None:
            folders = self._of_node[node] = [f for f in self.folders if node in f.nodes]
        return folders

    def nodes(self) -> Iterator[str]:
        """Every node a folder names (role folders name none of their own)."""
        return (n for folder in self.folders if not folder.role for n in sorted(folder.nodes))

    @cached_property
    def _manifest(self) -> Mapping[str, object]:
        path = self.path / "round.yaml"
        if not path.is_file():
            return {}
        data = yamlfile.parse(yamlfile.read_text(path), path)
        if not isinstance(data, dict):
            raise InputError("expected keys and values", file=path, line=1, fix="taken_at: 2026-03-04T02:10:00Z")
        unknown = sorted(set(data) - {"taken_at", "read_at", "note", "source"})
        if unknown:
            raise InputError(
                f"unknown key `{unknown[0]}`",
                file=path,
                line=yamlfile.line_of(yamlfile.read_text(path), (unknown[0],)),
                fix=yamlfile.nearest(unknown[0], ("taken_at", "read_at", "note", "source")),
            )
        return data

    @cached_property
    def taken_at(self) -> datetime | None:
        """When the round was taken; None when the recording does not say."""
        return self._time(self._manifest.get("taken_at"))

    def read_at(self, file: Path) -> datetime | None:
        """When one file was read, where it differs from the round."""
        times = self._manifest.get("read_at")
        if isinstance(times, dict) and (value := times.get(f"{file.parent.name}/{file.name}")) is not None:
            return self._time(value)
        return self.taken_at

    def _time(self, value: object) -> datetime | None:
        if value is None:
            return None
        if isinstance(value, datetime):
            return value if value.tzinfo else value.replace(tzinfo=UTC)
        try:
            parsed = datetime.fromisoformat(str(value))
        except ValueError:
            raise InputError(
                f"not a time: {value!r}", file=self.path / "round.yaml", fix="write 2026-03-04T02:10:00Z"
            ) from None
        return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def rounds(folder: Path, cluster: Cluster | None, *, fallback_node: str = "node") -> dict[int, Round]:
    """The rounds below a recordings folder; a folder without round folders is round 1."""
    numbered = {int(m[1]): p for p in sorted(folder.iterdir()) if p.is_dir() and (m := _ROUND.match(p.name))}
    if not numbered:
        return {1: Round(folder, cluster, fallback_node=fallback_node)}
    return {n: Round(numbered[n], cluster, fallback_node=fallback_node) for n in sorted(numbered)}


def split_stem(stem: str) -> tuple[str, tuple[str, ...]]:
    """Command id and parameter values of a file stem."""
    command, *values = stem.split("@")
    return command, tuple(params.decode(v) for v in values)
