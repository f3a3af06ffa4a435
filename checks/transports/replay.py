"""A recording as a transport: answers from disk exactly what was printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from checks import catalogue
from checks.inventory import Cluster
from checks.outputs import NotAvailable, Output
from checks.transports import layout
from checks.transports.layout import FileKey, Folder, Round
from common.errors import InputError
from common.safetext import safe_line

NOT_RECORDED = NotAvailable("not-recorded", "not recorded")


class Replay:
    """Store over the recordings of a cluster folder, with overlays laid over them (the last one given wins)."""

    def __init__(
        self,
        cluster: Cluster,
        recordings: Path,
        overlays: Sequence[Path] = (),
        *,
        attachments: Path | None = None,
        fallback_node: str = "node",
    ) -> None:
        self.cluster = cluster
        self._base = layout.rounds(recordings, cluster, fallback_node=fallback_node)
        self._overlays = [self._overlay(path) for path in reversed(overlays)]
        self._attachments = [p for p in (attachments, *(o / "attachments" for o in overlays)) if p and p.is_dir()]
        self._bytes: dict[Path, bytes] = {}
        self._keys: dict[tuple[str, tuple[str, ...], int], FileKey] = {}
        self._loaded: dict[tuple[int, FileKey], tuple[bytes, bytes, int, datetime | None]] = {}
        self.extra_attachments: list[tuple[str, str, bytes]] = []

    def _overlay(self, path: Path) -> dict[int, Round]:
        rounds = layout.rounds(path, self.cluster)
        numbered = any(r.path != path for r in rounds.values())
        if numbered:
            return rounds
        # an overlay without rounds speaks for all of them
        return dict.fromkeys(self._base, rounds[1])

    @property
    def rounds(self) -> Sequence[int]:
        """Rounds recorded, oldest first."""
        return tuple(self._base)

    def taken_at(self, round: int) -> datetime | None:
        """When the round was taken."""
        found = self._base.get(round)
        return found.taken_at if found else None

    def get(self, node: str, command: str, params: tuple[str, ...], round: int, sample: int) -> Output | NotAvailable:
        """One output as recorded, or why there is none."""
        what = (command, params, round)
        key = self._key(command, params, sample)
        for overlay in self._overlays:
            if (layer := overlay.get(round)) is not None:
                found = self._in(layer, node, key, what)
                if found is not None:
                    return found
        base = self._base.get(round)
        found = self._in(base, node, key, what) if base else None
        return found or NOT_RECORDED

    def _key(self, command: str, params: tuple[str, ...], sample: int) -> FileKey:
        key = self._keys.get((command, params, sample))
        if key is None:
            entry = catalogue.table().get(command)
            stem = entry.stem(params) if entry and len(params) == len(entry.params) else command
            key = self._keys[(command, params, sample)] = FileKey(stem, sample)
        return key

    def _in(
        self, layer: Round, node: str, key: FileKey, what: tuple[str, tuple[str, ...], int]
    ) -> Output | NotAvailable | None:
        for folder in layer.of_node(node):
            ends = folder.files.get(key)
            if ends:
                if "absent" in ends and "txt" not in ends:
                    return NOT_RECORDED
                return self._output(layer, folder, node, key, ends, what)
            if folder.unreachable:
                said = safe_line(self._read(folder.path / layout.UNREACHABLE).decode("utf-8", "replace").strip())
                return NotAvailable("unreachable", f"could not be asked: {said}" if said else "could not be asked")
        return None

    def _output(
        self,
        layer: Round,
        folder: Folder,
        node: str,
        key: FileKey,
        ends: frozenset[str],
        what: tuple[str, tuple[str, ...], int],
    ) -> Output:
        command, params, round_number = what
        # nodes that share a folder share what lies in it
        loaded = self._loaded.get((id(folder), key))
        if loaded is None:
            name = key.stem if key.sample == 1 else f"{key.stem}~{key.sample}"
            file = folder.path / f"{name}.txt"
            loaded = self._loaded[(id(folder), key)] = (
                self._read(file) if "txt" in ends else b"",
                self._read(folder.path / f"{name}.stderr") if "stderr" in ends else b"",
                self._status(folder.path / f"{name}.status") if "status" in ends else 0,
                self._when(layer, round_number, file),
            )
        stdout, stderr, status, read_at = loaded
        return Output(node, command, params, round_number, stdout, stderr, status, key.sample, read_at)

    def _when(self, layer: Round, round_number: int, file: Path) -> datetime | None:
        return layer.read_at(file) or self.taken_at(round_number)

    def _status(self, file: Path) -> int:
        text = self._read(file).decode("ascii", "replace").strip()
        try:
            return int(text)
        except ValueError:
            raise InputError(
                f"not an exit status: {safe_line(text)!r}", file=file, line=1, fix="a plain integer"
            ) from None

    def _read(self, file: Path) -> bytes:
        data = self._bytes.get(file)
        if data is None:
            try:
                with file.open("rb") as handle:
                    data = handle.read(layout.MAX_BYTES)
            except OSError as error:
                raise InputError(error.strerror or "cannot be read", file=file) from None
            self._bytes[file] = data
        return data

    def _layers(self, round: int | None = None) -> list[Round]:
        every = [*self._overlays, self._base]
        return [layer for rounds in every for number, layer in rounds.items() if round in (None, number)]

    def params(self, node: str, command: str) -> Sequence[tuple[str, ...]]:
        """Parameter values recorded for a command on a node, in name order."""
        return sorted({values for _, values in self._recorded(node, command) if values})

    def samples(self, node: str, command: str, params: tuple[str, ...], round: int) -> int:
        """How many samples of a command a round holds for the node."""
        stem = self._key(command, params, 1).stem
        return max((key.sample for key, _ in self._recorded(node, command, round) if key.stem == stem), default=0)

    def _recorded(self, node: str, command: str, round: int | None = None) -> Iterator[tuple[FileKey, tuple[str, ...]]]:
        for layer in self._layers(round):
            for folder in layer.of_node(node):
                yield from folder.by_command.get(command, ())

    def attachment(self, kind: str) -> Sequence[tuple[str, bytes]]:
        """(label, text) of the attachments of a kind."""
        found = [
            (p.name.removesuffix(".txt").partition("@")[2], self._read(p))
            for folder in self._attachments
            for p in sorted(folder.iterdir())
            if p.is_file() and not p.is_symlink() and p.name.removesuffix(".txt").partition("@")[0] == kind
        ]
        return [*found, *((label, data) for k, label, data in self.extra_attachments if k == kind)]

    def unknown_files(self) -> list[Path]:
        """Files that are no recorded command, in the base recording: noted, not refused."""
        return [
            folder.path / name
            for layer in self._base.values()
            for folder in layer.folders
            for name in sorted(folder.names)
            if name not in (layout.UNREACHABLE, "round.yaml", "cluster.yaml", "expected.yaml", "anonymised.yaml")
            and not _known(name)
        ]


def _known(name: str) -> bool:
    match = layout._FILE.match(name)
    return bool(match) and layout.split_stem(match["stem"])[0] in catalogue.table() if match else False
