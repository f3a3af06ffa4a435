"""A kernel log of a bundle cut into what the log commands of the catalogue would have printed.

The patterns are those of the commands: `journalctl -k … --since '-24h' -g 'NVRM: (Xid|GPU)|…'`. A log that reaches back
far enough and has no matching line answers `-- No entries --`; one that does not proves nothing and gives no answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from functools import cache

from checks import catalogue
from checks.intake.pieces import Piece
from checks.tools.formats import timestamp

_COMMAND = re.compile(r"^journalctl -k (?P<options>.*)-g '(?P<pattern>[^']+)'$")
_SINCE = re.compile(r"--since '-(\d+)h'")
_KERNEL = re.compile(r"\bkernel(?:\[\d+\])?: ")
_BOOT = re.compile(r"\bLinux version \d|^-- (?:Boot [0-9a-f]|Reboot)")
_UPTIME = re.compile(r"(?:^|kernel: )(?:<\d+>)?\[\s*(\d+\.\d+)\]")
_CTIME = re.compile(r"^\[\w{3}\s+(\w{3}\s+\d+\s+\d\d:\d\d:\d\d\s+\d{4})\]")
_SYSLOG = re.compile(r"^(?:<\d+>)?([A-Z][a-z]{2}\s+\d+\s+\d\d:\d\d:\d\d)\s")
_ISO = re.compile(r"^(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?\s?(?:Z|[+-]\d\d:?\d\d)?)")
_SLACK = timedelta(hours=14)
"""How far a clock may be off when the zone of a log is not known."""
NO_ENTRIES = b"-- No entries --\n"
_MOST_LINES = 5000


@dataclass(frozen=True, slots=True)
class Clock:
    """What a bundle says about time: when it was taken, the zone of its logs, when the kernel was started."""

    taken: datetime | None = None
    offset: timedelta | None = None
    booted: datetime | None = None


@dataclass(frozen=True, slots=True)
class LogCommand:
    """A catalogue command that greps the kernel log; `hours` is None where it looks at the whole boot."""

    command: str
    pattern: re.Pattern[str]
    hours: int | None


@cache
def commands() -> tuple[LogCommand, ...]:
    """The commands, by their text in the catalogue."""
    found = []
    for entry in catalogue.table().values():
        if match := _COMMAND.match(entry.command):
            since = _SINCE.search(match["options"])
            # journalctl ignores case when the pattern is all lower case
            flags = re.I if match["pattern"] == match["pattern"].lower() else 0
            hours = int(since[1]) if since else None
            found.append(LogCommand(entry.id, re.compile(match["pattern"], flags), hours))
    return tuple(found)


def looks_like(text: str) -> bool:
    """True for a text that is mostly lines of a kernel log or a journal."""
    lines = [line for line in text.splitlines()[:60] if line.strip()]
    stamped = sum(bool(_ISO.match(x) or _CTIME.match(x) or _SYSLOG.match(x) or _UPTIME.search(x)) for x in lines)
    return stamped >= max(1, round(len(lines) * 0.6)) and any(
        _KERNEL.search(x) or _CTIME.match(x) or re.match(r"\s*\[\s*\d+\.\d+\]", x) for x in lines
    )


def cut(
    data: bytes, clock: Clock, origin: str, *, kernel_only: bool = False, from_boot: bool = False
) -> Iterator[Piece | str]:
    """The outputs of the log commands, or a sentence for each that the log cannot answer.

    `kernel_only` is a log without other programs' lines; `from_boot` one that the tool began at the boot.
    """
    every = ((line, line.decode("utf-8", "replace")) for line in data.splitlines(keepends=True))
    lines = [(line, text) for line, text in every if kernel_only or _KERNEL.search(text) or _BOOT.search(text)]
    if not lines:
        return
    times = [_time(text, clock) for _, text in lines]
    starts = [n for n, (_, text) in enumerate(lines) if _BOOT.search(text)]
    boot = starts[-1] if starts else 0
    # a ring buffer that wrapped does not begin at the boot although dmesg printed all of it
    whole = bool(starts) or (from_boot and not kernel_only)
    for command in commands():
        first, complete = boot, whole
        if command.hours is not None:
            first, complete = _since(times, command.hours, clock, starts, whole)
        kept = [line for line, text in lines[first:] if command.pattern.search(text) and not text.startswith("-- ")]
        if kept:
            body = b"".join(kept[-_MOST_LINES:])
            yield Piece(command.command, (), body if body.endswith(b"\n") else body + b"\n", origin)
        elif complete:
            yield Piece(command.command, (), NO_ENTRIES, origin, status=1)
        else:
            reach = f"{command.hours} hours" if command.hours else "the boot"
            yield f"{origin} does not reach back to {reach}: nothing said about {command.command}"


def _since(times: list[datetime | None], hours: int, clock: Clock, starts: list[int], whole: bool) -> tuple[int, bool]:
    """The first line within so many hours of the bundle, and whether the log holds all of them."""
    if clock.taken is None:
        return 0, False
    begin = clock.taken - timedelta(hours=hours) - (timedelta() if clock.offset is not None else _SLACK)
    first = next((n for n, at in enumerate(times) if at is not None and at >= begin), None)
    known = [at for at in times if at is not None]
    if not known:
        # without times every line of this boot may be a young one
        return (starts[-1] if starts else 0), False
    reaches = known[0] <= begin or bool(starts and whole and clock.booted and clock.booted >= begin)
    return (len(times) if first is None else first), reaches


def _time(text: str, clock: Clock) -> datetime | None:
    if found := _ISO.match(text):
        return _aware(timestamp(found[1]), clock)
    if found := _CTIME.match(text):
        return _aware(_strptime(found[1], "%b %d %H:%M:%S %Y"), clock)
    if (found := _SYSLOG.match(text)) and clock.taken:
        at = _aware(_strptime(f"{found[1]} {clock.taken.year}", "%b %d %H:%M:%S %Y"), clock)
        # the year is not printed: December in a bundle of January was the year before
        if at and at > clock.taken + timedelta(days=2):
            at = _aware(_strptime(f"{found[1]} {clock.taken.year - 1}", "%b %d %H:%M:%S %Y"), clock)
        return at
    if (found := _UPTIME.search(text)) and clock.booted:
        return clock.booted + timedelta(seconds=min(float(found[1]), 1e9))
    return None


def _aware(at: datetime | None, clock: Clock) -> datetime | None:
    if at is None or at.tzinfo:
        return at.astimezone(UTC) if at else None
    return at.replace(tzinfo=timezone(clock.offset or timedelta())).astimezone(UTC)


def _strptime(text: str, form: str) -> datetime | None:
    try:
        return datetime.strptime(" ".join(text.split()), form)
    except ValueError:
        return None
