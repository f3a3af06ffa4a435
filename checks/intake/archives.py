"""Bundles opened safely: regular files only, under names of our own, within limits, nothing followed, nothing executed.

What is unpacked lies in a private folder under running numbers: the names in an archive are only ever looked at.
"""

from __future__ import annotations

import os
import stat
import tarfile
import zipfile
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from checks.intake.unpacking import BROKEN, HEAD, Budget, Counted, Limits, kind_of, unpacked
from common.errors import InputError
from common.safetext import safe_line

_PIECE = 256 * 1024
_LONGEST_HEADER = 1024 * 1024
_ENDINGS = (".tar", ".tgz", ".tbz", ".tbz2", ".txz", ".gz", ".xz", ".bz2", ".zip")


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a bundle: its path there, where its content lies, and when it was last changed."""

    path: PurePosixPath
    file: Path
    size: int
    changed: datetime | None = None

    def head(self, size: int = HEAD) -> bytes:
        """The first bytes."""
        with _open(self.file) as stream:
            return stream.read(size)

    def read(self) -> bytes:
        """The whole content; files are never larger than the limits allow."""
        with _open(self.file) as stream:
            return stream.read()


@dataclass
class Bundle:
    """The files of one bundle, and what was left out of it and why."""

    name: str
    entries: list[Entry] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    links: int = 0


def open_bundle(source: Path, spool: Path, limits: Limits | None = None) -> Bundle:
    """Every regular file of an archive, a compressed file, a plain file or a folder, archives inside it opened too.

    `spool` is a private folder for what is unpacked.

    Raises:
        InputError: it cannot be read, is damaged, or holds more than a support bundle does.
    """
    limits = limits or Limits()
    bundle = Bundle(source.name)
    # a link that a person names is theirs to follow
    source = source.resolve()
    opener = _Opener(bundle, spool, Budget(limits, str(source), 0 if source.is_dir() else _size(source)))
    if source.is_dir():
        opener.folder(source)
    else:
        opener.file(source, PurePosixPath(source.name), _time(source.stat().st_mtime), 0)
    return bundle


class _Opener:
    def __init__(self, bundle: Bundle, spool: Path, budget: Budget) -> None:
        self._bundle, self._spool, self._budget = bundle, spool, budget
        self._count = len(list(spool.iterdir()))

    def folder(self, root: Path) -> None:
        """Takes the files below a folder; links are not followed."""
        for place, folders, names in os.walk(root):
            kept = sorted(f for f in folders if not Path(place, f).is_symlink())
            self._bundle.links += len(folders) - len(kept)
            folders[:] = kept
            for name in sorted(names):
                path = Path(place, name)
                inside = PurePosixPath(path.relative_to(root).as_posix())
                self._budget.member()
                try:
                    status = path.lstat()
                except OSError as error:
                    self._leave(inside, error.strerror or "cannot be read")
                    continue
                if stat.S_ISLNK(status.st_mode):
                    self._bundle.links += 1
                elif not stat.S_ISREG(status.st_mode):
                    self._leave(inside, "not a regular file")
                elif not os.access(path, os.R_OK):
                    self._leave(inside, "no permission to read it")
                else:
                    self.file(path, inside, _time(status.st_mtime), 1)

    def file(self, path: Path, inside: PurePosixPath, changed: datetime | None, depth: int) -> None:
        """Takes a file, or what is inside it when it is an archive."""
        with _open(path) as stream:
            head = stream.read(HEAD)
            kind = kind_of(head)
            stream.seek(0)
            if kind == "plain":
                size = _size(path)
                if size > self._budget.limits.file:
                    self._leave(inside, f"larger than {self._budget.limits.file >> 20} MiB")
                else:
                    self._bundle.entries.append(Entry(inside, path, size, changed))
                return
            if depth > self._budget.limits.depth:
                self._leave(inside, "archives nested too deeply")
                return
            try:
                if kind == "tar":
                    self._tar(Counted(stream, self._budget), inside, depth)
                elif kind == "zip":
                    self._zip(stream, inside, depth)
                else:
                    self._compressed(unpacked(stream, kind, self._budget), inside, changed, depth)
            except (tarfile.TarError, zipfile.BadZipFile, NotImplementedError, RuntimeError, *BROKEN) as error:
                why = f"damaged or cut off: {safe_line(str(error), limit=80)}"
                if depth == 0 and not self._bundle.entries:
                    raise InputError(why, file=path, fix="ask for the bundle again") from None
                # what came before the damage is still worth reading
                self._leave(inside, why)

    def _compressed(self, stream: BinaryIO, inside: PurePosixPath, changed: datetime | None, depth: int) -> None:
        head = stream.peek(HEAD)[:HEAD]  # type: ignore[attr-defined]
        if kind_of(head) == "tar":
            self._tar(stream, inside, depth)
            return
        self._keep(stream, _without_ending(inside), changed, depth)

    def _tar(self, stream: object, inside: PurePosixPath, depth: int) -> None:
        with tarfile.open(fileobj=stream, mode="r|", tarinfo=_Header) as archive:  # type: ignore[call-overload]
            for member in archive:
                self._budget.member()
                path = PurePosixPath(member.name)
                if not _inside(member.name):
                    self._leave(path, "its path leads out of the archive")
                elif member.issym() or member.islnk():
                    self._bundle.links += 1
                elif member.isdir():
                    continue
                elif not member.isreg() or member.issparse():
                    self._leave(path, "not a regular file")
                elif (content := archive.extractfile(member)) is not None:
                    within = path if depth == 0 else inside.parent / path
                    self._keep(content, within, _time(member.mtime), depth)

    def _zip(self, stream: BinaryIO, inside: PurePosixPath, depth: int) -> None:
        with zipfile.ZipFile(stream) as archive:
            for member in archive.infolist():
                self._budget.member()
                path = PurePosixPath(member.filename)
                mode = member.external_attr >> 16
                if not _inside(member.filename):
                    self._leave(path, "its path leads out of the archive")
                elif stat.S_ISLNK(mode):
                    self._bundle.links += 1
                elif member.is_dir():
                    continue
                elif stat.S_IFMT(mode) not in (0, stat.S_IFREG):
                    self._leave(path, "not a regular file")
                elif member.flag_bits & 1:
                    self._leave(path, "encrypted")
                else:
                    within = path if depth == 0 else inside.parent / path
                    with archive.open(member) as content:
                        # the time of a zip is local to whoever packed it: no time at all
                        self._keep(Counted(content, self._budget), within, None, depth)  # type: ignore[arg-type]

    def _keep(self, content: BinaryIO, inside: PurePosixPath, changed: datetime | None, depth: int) -> None:
        """Writes a member under a running number, then looks whether it is an archive itself."""
        self._count += 1
        target = self._spool / str(self._count)
        size, most = 0, self._budget.limits.file
        nested = inside.name.lower().endswith(_ENDINGS)
        handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as out:
            while piece := content.read(_PIECE):
                size += len(piece)
                if size > most and not nested:
                    break
                out.write(piece)
        if size > most and not nested:
            target.unlink()
            self._leave(inside, f"larger than {most >> 20} MiB")
        else:
            self.file(target, inside, changed, depth + 1)

    def _leave(self, path: PurePosixPath, why: str) -> None:
        self._bundle.left_out.append((safe_line(str(path), limit=200), why))


class _Header(tarfile.TarInfo):
    """A header whose long names and extensions stay small: tarfile reads them into memory as a whole."""

    @classmethod
    def frombuf(cls, buf, encoding, errors):  # type: ignore[no-untyped-def]
        """Reads a header block."""
        found = super().frombuf(buf, encoding, errors)
        if found.type in b"xgXLK" and found.size > _LONGEST_HEADER:
            raise tarfile.ReadError("a header larger than any real one")
        return found


def _inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and "\\" not in name and "\0" not in name


def _without_ending(path: PurePosixPath) -> PurePosixPath:
    return path.with_suffix("") if path.suffix.lower() in (".gz", ".xz", ".bz2") else path


def _open(path: Path) -> BinaryIO:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise InputError(error.strerror or "cannot be read", file=path) from None
    return os.fdopen(handle, "rb")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise InputError(error.strerror or "cannot be read", file=path) from None


def _time(seconds: float) -> datetime | None:
    try:
        return datetime.fromtimestamp(seconds, UTC) if seconds > 0 else None
    except (OverflowError, OSError, ValueError):
        return None
