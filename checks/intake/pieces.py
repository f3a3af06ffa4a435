"""What an import is made of: outputs of commands on nodes, and the files that none was found in."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from pathlib import PurePosixPath

_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9-]{1,63})*")
_DATE = re.compile(
    r"\b(?:(?P<m1>[A-Z][a-z]{2})\s+(?P<d1>\d{1,2})|(?P<d2>\d{1,2})\.?\s+(?P<m2>[A-Z][a-z]{2}))\b\D{0,3}"
    r"(?:(?P<y1>\d{4})\D{1,3})?(?P<h>\d{1,2}):(?P<mi>\d\d):(?P<s>\d\d)"
    r"(?:\s+(?P<half>[AP]M))?(?:\s+(?P<zone>[+-]\d{2,4}|[A-Z]{1,5}))?(?:\s+(?P<y2>\d{4}))?"
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True, slots=True)
class Piece:
    """The output of one command. `origin` is the file of the bundle; `derived` says which output it was read off."""

    command: str
    params: tuple[str, ...]
    data: bytes
    origin: str
    status: int = 0
    derived: str = ""


@dataclass
class Capture:
    """What one bundle says about one node. `kind` is sosreport, bug-report or files.

    `extra` are files of a recording beside the outputs: (command, parameters, sample, ending, content).
    """

    node: str
    kind: str
    origin: str
    taken: datetime | None = None
    pieces: list[Piece] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    extra: list[tuple[str, tuple[str, ...], int, str, bytes]] = field(default_factory=list)

    def add(self, piece: Piece) -> None:
        """Adds an output unless there is one of the same command already."""
        if not any((p.command, p.params) == (piece.command, piece.params) for p in self.pieces):
            self.pieces.append(piece)


@dataclass
class Found:
    """Everything that was found in one bundle. `unknown` are files that no command is known to print, with a reason."""

    captures: list[Capture] = field(default_factory=list)
    attachments: list[tuple[str, str, bytes]] = field(default_factory=list)
    unknown: list[tuple[str, str]] = field(default_factory=list)
    links: int = 0

    def merge(self, other: Found) -> None:
        """Takes over what another bundle holds."""
        self.captures += other.captures
        self.attachments += other.attachments
        self.unknown += other.unknown
        self.links += other.links


def node_name(text: str) -> str | None:
    """A host name without its domain; None when the text is none."""
    words = text.split()
    if not words or not _HOST.fullmatch(words[0]) or len(words[0]) > 253:
        return None
    # an address is no name with a domain
    return words[0] if re.fullmatch(r"[\d.]+", words[0]) else words[0].partition(".")[0]


def date_of(text: str, offset: timedelta | None = None) -> datetime | None:
    """The time in the output of `date`, in most languages' order; `offset` is the zone where only letters name it."""
    found = _DATE.search(text)
    if not found:
        return None
    month, day = found["m1"] or found["m2"], found["d1"] or found["d2"]
    year, hour = found["y1"] or found["y2"], int(found["h"])
    if month not in _MONTHS or not year:
        return None
    if found["half"]:
        hour = hour % 12 + (12 if found["half"] == "PM" else 0)
    zone = zone_of(found["zone"] or "")
    if zone is None:
        zone = offset
    if zone is None:
        return None
    try:
        clock = (hour, int(found["mi"]), int(found["s"]))
        local = datetime(int(year), _MONTHS.index(month) + 1, int(day), *clock, tzinfo=timezone(zone))
        return local.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def zone_of(text: str) -> timedelta | None:
    """`UTC`, `Z`, `+0800`, `+08`; None for letters that mean several zones, such as CST."""
    if text in ("UTC", "GMT", "Z"):
        return timedelta()
    match = re.fullmatch(r"([+-])(\d\d):?(\d\d)?", text)
    if not match or int(match[2]) > 14:
        return None
    size = timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
    return -size if match[1] == "-" else size


def common_root(paths: Iterable[PurePosixPath]) -> PurePosixPath:
    """The deepest folder that holds all paths."""
    parts = [path.parts[:-1] for path in paths]
    shared: list[str] = []
    for step in zip(*parts, strict=False):
        if len(set(step)) > 1:
            break
        shared.append(step[0])
    return PurePosixPath(*shared)
