"""`nvidia-bug-report.log`: sections between lines of underscores, each a command or a file with what it printed.

____________________________________________

*** /proc/driver/nvidia/version
*** ls: -r--r--r-- 1 root root 0 2026-03-04 10:10:00.123456789 +0800 /proc/driver/nvidia/version
NVRM version: …
____________________________________________

/usr/bin/nvidia-smi --query

==============NVSMI LOG==============
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from checks.intake import kernel_log, mapping
from checks.intake.archives import Entry
from checks.intake.kernel_log import Clock
from checks.intake.pieces import Capture, Found, Piece, date_of, node_name, zone_of
from checks.tools.formats import timestamp

MARK = b"Start of NVIDIA bug report log file."
_LINE = re.compile(rb"^_{40,}[ \t]*\r?$", re.M)
_UNAME = re.compile(r"^uname: \S+ (\S+) ", re.M)
_LS = re.compile(r"^\*\*\* ls: \S+\s.*?(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.\d+)? ([+-]\d{4}) /proc/", re.M)
_TOOLS = rb"nvidia-smi|ibstat|ibnetdiscover|ibswitches|iblinkinfo"
_COMMAND = re.compile(rb"^(?:/[\w./-]+/)?((?:" + _TOOLS + rb")(?: [^\n]*)?)\r?$", re.M)
_FOLDER = re.compile(r"^/[\w./-]*/(?=[\w.-]+(?: |$))")
_LOGS = ("/var/log/messages", "/var/log/kern.log", "/var/log/syslog", "/var/log/dmesg")
_NOTHING = ("does not exist", "is not readable")


def is_one(head: bytes) -> bool:
    """True for the beginning of a bug report."""
    return MARK in head


def read(entry: Entry, origin: str) -> Found:
    """What a bug report says about its node."""
    data = entry.read()
    sections = list(_sections(data))
    head = data[:16_384].decode("utf-8", "replace")
    uname = _UNAME.search(head)
    node = (node_name(uname[1]) if uname else None) or "node"
    clock = _clock(head, data, entry.changed)
    capture = Capture(node, "bug-report", origin, clock.taken)
    found = Found([capture])
    for heading, body in sections:
        if not _known(heading, body, capture, clock):
            found.unknown.append((f"{origin}: {heading}", "no command of Rackside prints this"))
    have = {p.command for p in capture.pieces}
    capture.notes = [text for text in capture.notes if text.rpartition(" ")[2] not in have]
    return found


def _known(heading: str, body: bytes, capture: Capture, clock: Clock) -> bool:
    if any(heading.endswith(end) for end in _NOTHING) or heading.startswith(("Skipping: ", "Start of NVIDIA")):
        return True
    if heading == "dmesg:" or heading.startswith(_LOGS):
        for said in kernel_log.cut(body, clock, heading.rstrip(":"), kernel_only=heading == "dmesg:", from_boot=True):
            if isinstance(said, Piece):
                capture.add(said)
            else:
                capture.notes.append(said)
        return True
    for row in mapping.table().bug_report:
        if row.heading == heading:
            if body.strip():
                capture.add(Piece(row.command, (), row.answer(body), heading))
            return True
    path = heading.removeprefix("/")
    for command in mapping.file_commands():
        # one file of several is not the whole answer, but it is what `grep -H` printed of it
        if not command.named and len(command.patterns) == 1 and command.patterns[0].fullmatch(path):
            if body.strip() and "{" not in command.paths[0]:
                capture.add(Piece(command.command, (), body, heading))
            return True
    return False


def _sections(data: bytes) -> Iterator[tuple[str, bytes]]:
    """(heading, what was printed) of every section; a section of several commands gives several."""
    for part in _LINE.split(data):
        text = part.lstrip(b"\r\n")
        if not text.strip():
            continue
        first, _, rest = text.partition(b"\n")
        heading = first.decode("utf-8", "replace").strip()
        if heading.startswith("*** "):
            lines = rest.split(b"\n", 1)
            if lines[0].startswith(b"*** ls:"):
                rest = lines[1] if len(lines) > 1 else b""
            yield heading.removeprefix("*** "), _body(rest)
            continue
        starts = list(_COMMAND.finditer(text))
        if not starts or starts[0].start() > 0:
            yield _FOLDER.sub("", heading), _body(rest.removeprefix(b"\n"))
        for start, following in zip(starts, [*starts[1:], None], strict=False):
            body = text[start.end() : following.start() if following else len(text)]
            yield start[1].decode("utf-8", "replace").strip(), _body(body.lstrip(b"\r\n"))


def _body(data: bytes) -> bytes:
    """What was printed, without the blank lines that the report puts behind it."""
    kept = data.rstrip(b"\r\n ")
    return kept + b"\n" if kept else b""


def _clock(head: str, data: bytes, changed: datetime | None) -> Clock:
    stamp = _LS.search(data[:4_000_000].decode("utf-8", "replace"))
    offset = zone_of(stamp[2]) if stamp else None
    date = re.search(r"^Date: (.*)$", head, re.M)
    taken = date_of(date[1], offset) if date else None
    if taken is None and stamp and (at := timestamp(f"{stamp[1]} {stamp[2]}")):
        # files of /proc are as old as the moment they are looked at
        taken = at.astimezone(UTC)
    taken = taken or changed
    up = re.search(r"^\*\*\* /proc/uptime\n(?:\*\*\* ls:.*\n)?(\d{1,10}(?:\.\d+)?) ", data.decode("latin-1"), re.M)
    booted = taken - timedelta(seconds=float(up[1])) if up and taken else None
    return Clock(taken, offset, booted)
