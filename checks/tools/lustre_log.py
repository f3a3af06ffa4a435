"""Lustre's lines in the kernel log of a client.

2026-03-04T01:12:09+0000 gpu003 kernel: LustreError: lustre-OST0003-osc: This client was evicted by OST0003
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Literal

from checks.findings import Model
from checks.outputs import Empty, Facts, Outcome, Raw
from checks.tools.formats import log_lines

Kind = Literal["evicted", "lost", "restored", "waiting", "timeout", "error", "checksum"]

_KINDS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("evicted", re.compile(r"was evicted by|evicting (?:client|\S+ at admin)", re.I)),
    ("lost", re.compile(r"Connection to .* was lost|lost connection to", re.I)),
    ("restored", re.compile(r"Connection restored to|recovered", re.I)),
    ("waiting", re.compile(r"operations using this service will wait", re.I)),
    ("checksum", re.compile(r"BAD (?:WRITE|READ) CHECKSUM", re.I)),
    ("timeout", re.compile(r"timed? ?out|@@@ timeout|ptlrpc_expire_one_request", re.I)),
    ("error", re.compile(r"LustreError|rc = -(?:5|28|30|107|108|110|122)\b")),
)
_TARGET = re.compile(r"([\w-]+-(?:OST|MDT)[0-9a-f]{4})", re.I)
_CODE = re.compile(r"rc(?: =)? (-\d+)|error (-\d+)|failed: (-\d+)")


class LustreEvent(Model):
    """One event; `code` is the negative errno the line names."""

    line: int
    kind: Kind
    target: str | None = None
    code: int | None = None
    text: str
    at: datetime | None = None


class LustreLog(Facts):
    """Events in order."""

    events: tuple[LustreEvent, ...]


def parse_lustre_log(raw: Raw) -> Outcome:
    """Lines that begin with Lustre or LustreError."""
    lines = log_lines(raw)
    if not isinstance(lines, list):
        return lines
    own = [x for x in lines if "Lustre" in x.text]
    if not own:
        return Empty("no Lustre lines") if any(x.at for x in lines) else raw.unparsable("no Lustre log line")
    events = []
    for entry in own:
        kind = next((k for k, pattern in _KINDS if pattern.search(entry.text)), None)
        if kind is None:
            continue
        target, code = _TARGET.search(entry.text), _CODE.search(entry.text)
        number = int(next(g for g in code.groups() if g)) if code else None
        events.append(
            LustreEvent(
                line=entry.line,
                kind=kind,
                target=target[1] if target else None,
                code=number,
                text=entry.text[:300],
                at=entry.at,
            )
        )
    return LustreLog(events=tuple(events)) if events else Empty("no event among the Lustre lines")
