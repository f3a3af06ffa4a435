"""Shapes that several tools share: `path:value` lines of `grep -H`, journal lines, odd numbers, plain-text tables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from checks.outputs import Empty, NotAvailable, OddLine, Outcome, Raw, Unparsable
from common.safetext import safe_line

_ABSENT = re.compile(
    r"^\[?\s*(?:n/?a|not supported|not available|unknown error|gpu requires reset|insufficient permissions|"
    r"requested functionality has been deprecated|err!?|none|null|unknown|-+|not applicable)\s*!?\]?$",
    re.I,
)
# a comma that separates no thousands is a decimal comma of another language: no number rather than a wrong one
_NUMBER = re.compile(r"^[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?!\d|,\d)(?:\.\d+(?!\d|,\d))?(?:[eE][+-]?\d+)?")


def absent(text: str) -> bool:
    """True for the many ways tools say "no value": `N/A`, `[Not Supported]`, `[Unknown Error]`, `ERR!`, `-`, empty."""
    text = text.strip()
    return not text or bool(_ABSENT.match(text))


def number(text: str) -> float | None:
    """The number a text starts with (thousands separators and a unit behind it allowed); None when it has none."""
    found = _NUMBER.match(text.strip())
    return float(found.group(0).replace(",", "")) if found else None


_HEXADECIMAL = re.compile(r"^0[xX][0-9A-Fa-f]+\b")


def integer(text: str) -> int | None:
    """As `number`, for whole numbers; decimal, or hexadecimal with 0x."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        return int(text)
    if hexadecimal := _HEXADECIMAL.match(text):
        return int(hexadecimal.group(0), 16)
    found = _NUMBER.match(text)
    if not found:
        return None
    digits = found.group(0).replace(",", "")
    return int(digits) if digits.lstrip("+-").isdigit() else int(float(digits))


@dataclass(frozen=True, slots=True)
class PathValue:
    """One line of `grep -H . /sys/...`: the path and what the file says."""

    line: int
    path: str
    value: str


_GREP_NOISE = re.compile(r"^grep: ")


def path_values(raw: Raw) -> tuple[list[PathValue], tuple[OddLine, ...]]:
    """Lines of `grep -H .`; grep's own complaints are dropped, other lines without a path after the first are odd.

    Lines before the first path (a login banner) are ignored.
    """
    found: list[PathValue] = []
    odd: list[OddLine] = []
    for n, line in raw.numbered():
        text = line.strip()
        path, colon, value = text.partition(":")
        if text.startswith("/") and colon and " " not in path:
            found.append(PathValue(n, path, value.strip()))
        elif found and not _GREP_NOISE.match(text):
            odd.append(raw.odd(n))
    return found, tuple(odd)


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of a kernel or service log. `at` is the time as printed where it could be read, else None."""

    line: int
    at: datetime | None
    host: str
    text: str


_ISO = re.compile(r"^(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?\s?(?:Z|[+-]\d\d:?\d\d)?)\s+(.*)$")
_SYSLOG = re.compile(r"^((?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\s+\d+\s+\d\d:\d\d:\d\d)\s+(\S+)\s+(.*)$")
_CTIME = re.compile(r"^\[\w{3}\s+(\w{3}\s+\d+\s+\d\d:\d\d:\d\d\s+\d{4})\]\s*(.*)$")
_UPTIME = re.compile(r"^\[\s*\d+\.\d+\]\s*(.*)$")
_LEVEL = re.compile(r"^(?:<\d+>|\w+\s*:\w+\s*:\s*)")
_HOSTED = re.compile(r"^([A-Za-z0-9][\w.-]*)\s+((?:kernel|[\w./@-]+)(?:\[\d+\])?:\s.*)$")
_SOURCE = re.compile(r"^(?:kernel|[\w./@-]+\[\d+\]):\s?")
_JOURNAL_MARKS = ("-- No entries", "-- Logs begin", "-- Journal begins", "-- Boot ", "-- Reboot", "-- cursor")
_JOURNAL_HINT = re.compile(r"not seeing messages|No journal files were (?:opened|found)|insufficient permissions", re.I)


def log_lines(raw: Raw) -> list[LogLine] | Outcome:
    """Lines of a log in any common form (journal short-iso, dmesg plain, -T or iso, syslog), with their time.

    Returns an outcome instead when there is nothing to read: `Empty` for `-- No entries --`, `NotAvailable` when the
    account may not see the journal (an empty answer then proves nothing).
    """
    if _JOURNAL_HINT.search(raw.stderr) or any(_JOURNAL_HINT.search(x) for x in raw.lines[:5]):
        return NotAvailable("denied", "the account may not read the whole journal")
    found: list[LogLine] = []
    for n, line in raw.numbered():
        if line.startswith(_JOURNAL_MARKS):
            continue
        found.append(_log_line(n, line))
    return found or Empty("no matching log lines")


def _log_line(n: int, line: str) -> LogLine:
    rest = _LEVEL.sub("", line)
    at: datetime | None = None
    host = ""
    if found := _ISO.match(rest):
        at = timestamp(found.group(1))
        rest = _LEVEL.sub("", found.group(2))
    elif found := _CTIME.match(rest):
        at = _strptime(" ".join(found.group(1).split()), "%b %d %H:%M:%S %Y")
        rest = found.group(2)
    elif found := _SYSLOG.match(rest):
        host, rest = found.group(2), found.group(3)
    if found := _HOSTED.match(rest):
        host, rest = found.group(1), found.group(2)
    rest = _SOURCE.sub("", rest)
    if found := _UPTIME.match(rest):
        rest = found.group(1)
    return LogLine(n, at, host, rest.strip())


def timestamp(text: str) -> datetime | None:
    """An ISO time as tools print it (`2026-03-04T02:10:00+0000`, with a comma or blank); None when it is none."""
    text = text.strip().replace(",", ".").replace(" ", "T", 1).replace(" ", "")
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _strptime(text: str, form: str) -> datetime | None:
    try:
        return datetime.strptime(text, form)
    except ValueError:
        return None


def json_value(raw: Raw) -> tuple[Any, int] | Unparsable:
    """(value, line where it starts) of the first JSON document in the output; text before it (a banner) is skipped.

    A cut-off document is `Unparsable` with the line where it ends.
    """
    text = raw.text
    starts = [m.start() for m in re.finditer(r"^[ \t]*[\[{]", text, re.M)]
    problem: json.JSONDecodeError | None = None
    for start in starts[:20]:
        try:
            value, _ = json.JSONDecoder().raw_decode(text[start:].lstrip())
        except json.JSONDecodeError as error:
            problem = problem or error
            if error.lineno > 1:
                # no banner but a document that ends too early: what lies inside it is not the whole answer
                break
            continue
        except RecursionError:
            return Unparsable("JSON is nested too deeply")
        return value, text.count("\n", 0, start) + 1
    if problem is None:
        return raw.unparsable("no JSON in the output")
    line = min(len(raw.lines), text.count("\n", 0, starts[0]) + problem.lineno)
    return Unparsable(
        f"JSON ends too early or is broken: {problem.msg}", line, safe_line(raw.lines[line - 1], limit=200)
    )


def find_line(raw: Raw, *words: str, start: int = 1) -> int:
    """Line from `start` on that holds all the words; `start` itself when there is none (JSON on one line)."""
    first, *others = words
    for n, line in enumerate(raw.lines[start - 1 :], start):
        if first in line and (not others or all(word in line for word in others)):
            return n
    return start


def cut_off(raw: Raw) -> int | None:
    """The last line where it has no newline and so may be cut in the middle of a number; else None."""
    return len(raw.lines) if raw.lines and not raw.complete else None


def cut_line(raw: Raw) -> tuple[OddLine, ...]:
    """The odd line of an output that ends without a newline; empty when it is complete."""
    last = cut_off(raw)
    return () if last is None else (raw.odd(last),)


def columns(header: str) -> list[tuple[str, int, int | None]]:
    """(name, start, end) of the columns of a table whose second line is a row of dashes under each column."""
    spans = [(m.start(), m.end()) for m in re.finditer(r"-+", header)]
    return [("", start, spans[i + 1][0] if i + 1 < len(spans) else None) for i, (start, _) in enumerate(spans)]


def dashed_table(raw: Raw, *, first: int = 0) -> Iterator[tuple[int, dict[str, str]]]:
    """(line, {heading: cell}) of the rows of the first table at or after line index `first`.

    The shape is a heading line, a line of dashes in groups, then rows up to a blank line or the end (SONiC's `show`
    commands print it). Cells are cut by the dash groups; a continuation row has empty leading cells.
    """
    for i in range(max(first, 1), len(raw.lines)):
        rule = raw.lines[i]
        if re.fullmatch(r"\s*-[\s-]*", rule) and rule.count("-") >= 2:
            cuts = columns(rule)
            head = raw.lines[i - 1]
            names = [head[start:end].strip() for _, start, end in cuts]
            for n in range(i + 1, len(raw.lines)):
                line = raw.lines[n]
                if not line.strip():
                    return
                yield n + 1, {names[k]: line[s:e].strip() for k, (_, s, e) in enumerate(cuts)}
            return


__all__ = [
    "LogLine",
    "PathValue",
    "absent",
    "columns",
    "cut_line",
    "cut_off",
    "dashed_table",
    "find_line",
    "integer",
    "json_value",
    "log_lines",
    "number",
    "path_values",
    "timestamp",
]
