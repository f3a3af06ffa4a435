"""Compressed streams read piece by piece, and never further than the limits allow."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from dataclasses import dataclass
from typing import BinaryIO, Literal

from common.errors import InputError

Kind = Literal["gz", "xz", "bz2", "zip", "tar", "plain"]

_MAGIC: tuple[tuple[Kind, bytes], ...] = (
    ("gz", b"\x1f\x8b"),
    ("xz", b"\xfd7zXZ\x00"),
    ("bz2", b"BZh"),
    ("zip", b"PK\x03\x04"),
)
HEAD = 512
"""Bytes from the beginning of a file that tell its kind."""
_XZ_MEMORY = 128 * 1024 * 1024
_XZ_PIECE = 64 * 1024
BROKEN = (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error)
"""What a damaged or cut-off stream raises."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a bundle may hold; sizes in bytes.

    `ratio` is how many times larger than its archive the content may be, once it is larger than `ratio_from`.
    """

    members: int = 200_000
    total: int = 8 * 1024**3
    file: int = 256 * 1024**2
    ratio: int = 400
    ratio_from: int = 128 * 1024**2
    depth: int = 4


class Budget:
    """What has been unpacked of one bundle so far, nested archives included."""

    def __init__(self, limits: Limits, name: str, packed: int) -> None:
        self.limits, self._name = limits, name
        self._most = limits.total
        if packed:
            self._most = min(limits.total, max(limits.ratio_from, packed * limits.ratio))
        self._bytes = self._members = 0

    def spend(self, count: int) -> None:
        """Counts unpacked bytes.

        Raises:
            InputError: they are more than a support bundle holds.
        """
        self._bytes += count
        if self._bytes > self._most:
            raise InputError(
                f"unpacks to more than {self._most >> 20} MiB, as a decompression bomb does",
                file=self._name,
                fix="nothing was written; unpack it yourself, look at it, and import the folder",
            )

    def member(self) -> None:
        """Counts a member.

        Raises:
            InputError: there are too many.
        """
        self._members += 1
        if self._members > self.limits.members:
            raise InputError(
                f"holds more than {self.limits.members} files",
                file=self._name,
                fix="nothing was written; import the folders of single nodes",
            )


class Counted(io.RawIOBase):
    """A stream that counts what is read from it against the budget."""

    def __init__(self, source: BinaryIO, budget: Budget) -> None:
        # piece by piece: what came before a damage would be lost with the rest of a long read
        self._read = getattr(source, "read1", source.read)
        self._budget = budget

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Reads at most as much as the buffer holds."""
        data = self._read(len(buffer))
        self._budget.spend(len(data))
        buffer[: len(data)] = data
        return len(data)


class _Xz(io.RawIOBase):
    """An xz file of one or more streams, with a cap on the memory that its dictionary may take."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._stream = lzma.LZMADecompressor(lzma.FORMAT_AUTO, memlimit=_XZ_MEMORY)
        self._next = b""

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Reads at most as much as the buffer holds."""
        while True:
            if self._stream.eof:
                self._next = (self._stream.unused_data or self._source.read(_XZ_PIECE)).lstrip(b"\0")
                if not self._next:
                    return 0
                self._stream = lzma.LZMADecompressor(lzma.FORMAT_AUTO, memlimit=_XZ_MEMORY)
            elif self._stream.needs_input and not self._next:
                self._next = self._source.read(_XZ_PIECE)
                if not self._next:
                    raise EOFError("the xz stream ends too early")
            piece, self._next = self._next, b""
            data = self._stream.decompress(piece, len(buffer))
            if data:
                buffer[: len(data)] = data
                return len(data)


def kind_of(head: bytes) -> Kind:
    """What a file is by its first bytes, whatever it is called."""
    for kind, magic in _MAGIC:
        if head.startswith(magic):
            return kind
    return "tar" if head[257:262] == b"ustar" else "plain"


def unpacked(source: BinaryIO, kind: Kind, budget: Budget) -> BinaryIO:
    """The content of a gz, xz or bz2 file as a stream that counts against the budget."""
    inner: BinaryIO
    if kind == "gz":
        inner = gzip.GzipFile(fileobj=source, mode="rb")  # type: ignore[assignment]
    elif kind == "xz":
        inner = io.BufferedReader(_Xz(source))
    else:
        inner = bz2.BZ2File(source, "rb")  # type: ignore[assignment]
    return io.BufferedReader(Counted(inner, budget), 64 * 1024)
