"""What a command printed, and the four things a parser can make of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from common.safetext import safe_line, strip_ansi

Reason = Literal[
    "not-recorded", "not-asked", "unreachable", "timed-out", "denied", "absent", "unsupported", "failed", "no-window"
]


@dataclass(frozen=True, slots=True)
class Output:
    """Bytes of one command on one node, exactly as printed.

    `round` and `sample` count from 1. `read_at` is the node's clock where it is known. `status` is the exit status;
    124 and 137 mean timed out, 126 denied, 127 no such tool, 255 that SSH itself failed.
    """

    node: str
    command: str
    params: tuple[str, ...]
    round: int
    stdout: bytes
    stderr: bytes = b""
    status: int = 0
    sample: int = 1
    read_at: datetime | None = None

    @property
    def key(self) -> str:
        """Command and parameters as written in a recording's file name: `eth-stats@eth2`."""
        return "@".join((self.command, *self.params))


@dataclass(frozen=True, slots=True)
class NodeEvent:
    """Progress of one node while a living cluster is asked; `reason` says why it failed."""

    node: str
    state: Literal["asking", "answered", "failed"]
    reason: str = ""


class OddLine(BaseModel):
    """A line a parser did not understand: counted and shown, never guessed."""

    model_config = ConfigDict(frozen=True)

    line: int
    text: str


class Facts(BaseModel):
    """Base of everything a parser finds. Rows carry `line`, the 1-based line they were read from.

    `odd` lists lines inside the data that were not understood. With any odd line an `ok` over these facts becomes
    `unknown`: a cut-off or unfamiliar output proves nothing about what was cut off.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    odd: tuple[OddLine, ...] = ()


@dataclass(frozen=True, slots=True)
class Empty:
    """The command answered and had nothing to report (no Xid lines, no pending jobs)."""

    note: str = ""


@dataclass(frozen=True, slots=True)
class Unparsable:
    """There is text, and it is not what this parser can read. Quotes the first offending line."""

    reason: str
    line: int | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class NotAvailable:
    """There is no answer, and why."""

    kind: Reason
    reason: str


Outcome: TypeAlias = Facts | Empty | Unparsable | NotAvailable
Parser: TypeAlias = "Callable[[Raw], Outcome]"


@dataclass(frozen=True, slots=True)
class Raw:
    """Text handed to a parser: lines without escapes and carriage returns, numbered as in the recording.

    `complete` is false when the last line has no newline, as a cut-off output has. (Some tools never print the last
    newline; `lines` holds that last line in either case.)
    """

    lines: tuple[str, ...]
    complete: bool = True
    status: int = 0
    stderr: str = ""
    params: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str | bytes, *, status: int = 0, stderr: str | bytes = "", params: tuple[str, ...] = ()) -> Raw:
        """From text as recorded; bytes are decoded as UTF-8 with replacement."""
        whole = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        err = stderr.decode("utf-8", "replace") if isinstance(stderr, bytes) else stderr
        parts = [_clean(p) for p in whole.split("\n")]
        complete = parts[-1] == ""  # an escape that resets colours may follow the last newline
        if complete:
            parts.pop()
        return cls(tuple(parts), complete, status, err, params)

    @property
    def text(self) -> str:
        """All lines joined with newlines (for JSON and XML)."""
        return "\n".join(self.lines)

    @property
    def blank(self) -> bool:
        """True when nothing but white space was printed."""
        return not any(line.strip() for line in self.lines)

    def numbered(self) -> Iterator[tuple[int, str]]:
        """(line number from 1, line) for every line that is not blank."""
        return ((n, line) for n, line in enumerate(self.lines, 1) if line.strip())

    def odd(self, line: int, text: str | None = None) -> OddLine:
        """The record of a line that was not understood."""
        return OddLine(line=line, text=safe_line(self.lines[line - 1] if text is None else text, limit=200))

    def unparsable(self, reason: str) -> Unparsable:
        """The outcome for a text of the wrong shape, quoting its first non-blank line."""
        for n, line in self.numbered():
            return Unparsable(reason, n, safe_line(line, limit=200))
        return Unparsable(reason)


def _clean(line: str) -> str:
    return strip_ansi(line.rstrip("\r"))


# What shells and tools say instead of an answer. Matched against the whole of a short output or stderr.
_FAILURES: tuple[tuple[Reason, re.Pattern[str]], ...] = (
    ("absent", re.compile(r"command not found|: not found\b|is not recognized as", re.M)),
    ("absent", re.compile(r"couldn't find libnvidia-ml|NVML: (?:Library|Driver) Not (?:Found|Loaded)", re.I)),
    ("failed", re.compile(r"NVIDIA-SMI has failed|Failed to initialize NVML|Unable to determine the device handle")),
    (
        "denied",
        re.compile(
            r"permission denied|operation not permitted|must be root|a password is required|access denied|"
            r"not in the sudoers|requires root|insufficient permissions",
            re.I,
        ),
    ),
    (
        "unsupported",
        re.compile(
            r"operation not supported|not a valid field|inappropriate ioctl|no stats available|invalid option|"
            r"unrecognized option|unknown (?:command|option)|unsupported option|"
            r"not supported on this (?:system|device)",
            re.I,
        ),
    ),
    (
        "failed",
        re.compile(
            r"no such (?:device|host)|slurm_\w+: error|Unable to contact slurm controller|"
            r"connection (?:refused|timed out)|Communication connection failure|"
            r"Transport endpoint|Stale file handle|Input/output error",
            re.I,
        ),
    ),
)


def failure(text: str) -> NotAvailable | None:
    """What a short message says about why there is no answer; None when it does not read like a failure."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines or len(lines) > 6:
        return None
    for kind, pattern in _FAILURES:
        if found := pattern.search(text):
            line = next((x for x in lines if found.group(0).strip() in x), lines[0])
            return NotAvailable(kind, safe_line(line.strip(), limit=200))
    return None


def by_status(status: int, stderr: str) -> NotAvailable | None:
    """The outcome that an exit status alone decides."""
    said = safe_line(stderr.strip().split("\n")[0], limit=160)
    tail = f": {said}" if said else ""
    if status in (124, 137):
        return NotAvailable("timed-out", f"timed out (exit status {status}){tail}")
    if status == 126:
        return NotAvailable("denied", f"not allowed to run (exit status 126){tail}")
    if status == 127:
        return NotAvailable("absent", f"no such tool on the node (exit status 127){tail}")
    if status == 255:
        return NotAvailable("unreachable", f"SSH failed (exit status 255){tail}")
    return None
