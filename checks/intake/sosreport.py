"""sosreports: `sos_commands/PLUGIN/COMMAND_WITH_UNDERSCORES` and copies of files, one tree a node."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath

from checks.intake import kernel_log, mapping
from checks.intake.archives import Entry
from checks.intake.kernel_log import Clock
from checks.intake.pieces import Capture, Found, Piece, date_of, node_name, zone_of

_MARKS = ("sos_commands", "sos_logs", "sos_reports")
_HOST_FILES = ("sos_commands/host/hostname", "hostname", "proc/sys/kernel/hostname", "etc/hostname")
_DATE_FILES = ("sos_commands/date/date_--utc", "sos_commands/date/date", "date")
_ZONE_FILES = ("sos_commands/systemd/timedatectl", "sos_commands/date/timedatectl", "sos_commands/ntp/timedatectl")
_NAMED_ROOT = re.compile(r"^sosreport-(?P<host>.+?)(?:-\d+)?-\d{4}-\d\d-\d\d-\w+$")
_PID = re.compile(r"Process ID\s*:\s*(\d+)")
_OWN = ("sos_commands/", "var/log/")
"""Folders in which a file that is not known is worth a word; the rest of a sosreport are settings of the host."""


def roots(entries: Iterable[Entry]) -> set[PurePosixPath]:
    """The folders that are sosreports."""
    found = set()
    for entry in entries:
        for depth, part in enumerate(entry.path.parts[:-1]):
            if part in _MARKS:
                found.add(PurePosixPath(*entry.path.parts[:depth]))
                break
    return found


def read(root: PurePosixPath, entries: Iterable[Entry], origin: str) -> Found:
    """What the sosreport below `root` says about its node; `entries` are those of the whole bundle."""
    files = {str(e.path.relative_to(root)): e for e in entries if e.path.is_relative_to(root)}
    named = _NAMED_ROOT.match(root.name or origin)
    node = next((n for f in _HOST_FILES if f in files and (n := node_name(_text(files[f])))), None)
    node = node or (node_name(named["host"]) if named else None) or "node"
    clock = _clock(files)
    capture = Capture(node, "sosreport", origin if root == PurePosixPath() else f"{origin}: {root}", clock.taken)
    used: set[str] = set()
    _tools(files, capture, used)
    _copies(files, capture, used)
    _logs(files, capture, clock, used)
    # logs that were not needed because a better one was there, and the files the header was read from, are known too
    known = used | {row.path for row in mapping.table().sosreport_logs} | {*_HOST_FILES, *_DATE_FILES, *_ZONE_FILES}
    found = Found([capture])
    copies = 0
    for path in sorted(files.keys() - known):
        if path.startswith(_OWN):
            found.unknown.append((f"{root}/{path}".removeprefix("./"), "no command of Rackside prints this"))
        else:
            copies += 1
    if copies:
        # a host has thousands of files; one line tells as much as all of them
        capture.notes.append(f"{copies} copies of the host's files hold nothing that a command of Rackside prints")
    return found


def _tools(files: Mapping[str, Entry], capture: Capture, used: set[str]) -> None:
    for row in mapping.table().sosreport:
        for path in [row.path] if "{" not in row.path else sorted(files):
            match = row.pattern.fullmatch(path)
            if not match or path not in files:
                continue
            values = mapping.parameters(row.command, match.groupdict())
            if values is None:
                continue
            used.add(path)
            data = files[path].read()
            if data.strip():
                capture.add(Piece(row.command, values, row.answer(data), path))


def _copies(files: Mapping[str, Entry], capture: Capture, used: set[str]) -> None:
    """Commands that print files, from the copies of these files."""
    wanted = {
        pid for p in capture.pieces if p.command == "smi-xml" for pid in _PID.findall(p.data.decode("utf-8", "replace"))
    }
    for command in mapping.file_commands():
        found: dict[tuple[str, ...], list[str]] = {}
        for pattern in command.patterns:
            for path in sorted(p for p in files if pattern.fullmatch(p)):
                groups = pattern.fullmatch(path).groupdict()  # type: ignore[union-attr]
                if "pid" in groups and groups["pid"] not in wanted:
                    # a host has thousands of processes; those on the GPUs are the job
                    used.add(path)
                    continue
                values = mapping.parameters(command.command, groups)
                if values is not None:
                    found.setdefault(values, []).append(path)
        for values, paths in found.items():
            used.update(paths)
            data = b"".join(_printed(files[path], path, named=command.named) for path in paths)
            if data.strip():
                capture.add(Piece(command.command, values, data, paths[0]))


def _printed(entry: Entry, path: str, *, named: bool) -> bytes:
    data = entry.read()
    if not named:
        return data
    prefix = f"/{path}:".encode()
    lines = [prefix + line for line in data.rstrip(b"\n").split(b"\n") if line]
    return b"".join(line + b"\n" for line in lines)


def _logs(files: Mapping[str, Entry], capture: Capture, clock: Clock, used: set[str]) -> None:
    notes: dict[str, str] = {}
    for row in mapping.table().sosreport_logs:
        if row.path not in files:
            continue
        used.add(row.path)
        data = files[row.path].read()
        for said in kernel_log.cut(data, clock, row.path, kernel_only=row.kernel_only, from_boot=row.boot):
            if isinstance(said, Piece):
                capture.add(said)
            else:
                notes.setdefault(said.rpartition(" ")[2], said)
    have = {p.command for p in capture.pieces}
    capture.notes += [text for command, text in notes.items() if command not in have]


def _clock(files: Mapping[str, Entry]) -> Clock:
    offset = None
    for name in _ZONE_FILES:
        if name in files and (zone := re.search(r"Time zone:.*?([+-]\d{4})\)", _text(files[name]))):
            offset = zone_of(zone[1])
    taken: datetime | None = None
    for name in _DATE_FILES:
        if taken is None and name in files:
            # the zone of `date` may be letters that mean several; when the file was written has no zone at all
            taken = date_of(_text(files[name]), offset) or files[name].changed
    if taken is None:
        changed = [e.changed for n, e in files.items() if n.startswith("sos_commands/") and e.changed]
        taken = max(changed, default=None)
    booted = None
    if "proc/stat" in files and (found := re.search(r"^btime (\d{9,11})$", _text(files["proc/stat"]), re.M)):
        booted = datetime.fromtimestamp(int(found[1]), UTC)
    elif "proc/uptime" in files and taken and (up := re.match(r"(\d{1,10}(?:\.\d+)?) ", _text(files["proc/uptime"]))):
        booted = taken - timedelta(seconds=float(up[1]))
    return Clock(taken, offset, booted)


def _text(entry: Entry) -> str:
    return entry.read().decode("utf-8", "replace")
