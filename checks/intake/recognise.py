"""Single files recognised by their name, else by their content; what fits several commands is never guessed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath

from checks import catalogue
from checks.intake import kernel_log, mapping
from checks.intake.pieces import node_name
from checks.interpret import interpret
from checks.outputs import Facts, Output, Unparsable
from checks.transports import layout

_HEAD = 64 * 1024
_ENDINGS = (".txt", ".log", ".out", ".xml", ".json", ".csv", ".stdout", ".md")
_WORDS = re.compile(r"[a-z0-9]+")
_FOLDERS = frozenset(
    [
        *("logs", "log", "data", "dumps", "dump", "output", "outputs", "files", "tmp", "home", "root", "var"),
        *("attachments", "recordings", "overlays", "bundle", "ticket", "sos_commands"),
    ]
)
LOG = "kernel log"
"""Stands for a log that answers several commands at once."""


@dataclass(frozen=True, slots=True)
class Known:
    """What a file is: a command with its parameters, a kernel log, or an attachment of a kind."""

    command: str = ""
    params: tuple[str, ...] = ()
    sample: int = 1
    end: str = "txt"
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Guess:
    """What was found for a file: what it is, the node its name tells, or why it stays unknown."""

    known: Known | None
    node: str | None = None
    why: str = ""


def recognise(path: PurePosixPath, data: bytes) -> Guess:
    """What a loose file is."""
    node = _folder_node(path)
    if exact := _exact(path.name):
        return Guess(exact, node)
    words, spans = _words(path.name)
    for size in range(len(words), 0, -1):
        for start in range(len(words) - size + 1):
            # a name stands at one end; the node, a date or a number at the other
            if start > 0 and start + size < len(words):
                continue
            known = _named(" ".join(words[start : start + size]), data)
            if known is None:
                continue
            rest = path.name[: spans[start][0]] if start else _stem(path.name)[spans[start + size - 1][1] :]
            return Guess(known, _name_node(rest) or node)
    found = by_content(data)
    named = _name_node(_stem(path.name))
    return Guess(found.known, node or named if found.known else node, found.why)


def by_content(data: bytes, only: Sequence[str] = ()) -> Guess:
    """What a text is by itself: exactly one command may fit."""
    text = data[:_HEAD].decode("utf-8", "replace").replace("\r\n", "\n")
    if b"\0" in data[:8192]:
        return Guess(None, why="not text")
    if not text.strip():
        return Guess(None, why="empty")
    if not only and kernel_log.looks_like(text):
        return Guess(Known(LOG))
    found: dict[str, Known] = {}
    for signature in mapping.table().signatures:
        if (only and signature.command not in only) or signature.command in found:
            continue
        match = signature.pattern.search(text)
        if not match:
            continue
        values = mapping.parameters(signature.command, match.groupdict())
        if values is None:
            entry = catalogue.get(signature.command)
            return Guess(None, why=f"an output of {signature.command}, but not of which {', '.join(entry.params)}")
        if accepts(signature.command, values, data):
            found[signature.command] = Known(signature.command, values)
    if len(found) == 1:
        return Guess(next(iter(found.values())))
    if found:
        return Guess(None, why=f"could be any of {', '.join(sorted(found))}")
    return Guess(None, why="no command of Rackside prints this")


def accepts(command: str, values: tuple[str, ...], data: bytes) -> bool:
    """True when the parser of the command finds facts in the text."""
    return isinstance(interpret(Output("", command, values, 1, data)), Facts)


def _exact(name: str) -> Known | None:
    """A name of a recording: `eth-stats@eth2.txt`, `smi-perf~2.status`; other endings count as text."""
    match = layout._FILE.match(name)
    stem = match["stem"] if match else _stem(name)
    command, values = layout.split_stem(stem)
    entry = catalogue.table().get(command)
    if entry is None or len(values) != len(entry.params) or (match and match["end"] == "absent"):
        return None
    return Known(command, values, int(match["sample"] or 1) if match else 1, match["end"] if match else "txt")


@cache
def _names() -> dict[str, tuple[tuple[str, ...], str]]:
    """Names by their words: the commands they may hold, or the kind of attachment."""
    table = mapping.table()
    found: dict[str, tuple[tuple[str, ...], str]] = {}
    for entry in catalogue.table().values():
        if not entry.params:
            found[" ".join(_WORDS.findall(entry.id.lower()))] = ((entry.id,), "")
    found |= {row.words: (row.commands, "") for row in table.names}
    found |= {row.words: ((), row.kind) for row in table.attachment_names}
    found |= dict.fromkeys(table.log_names, ((LOG,), ""))
    return found


def _named(words: str, data: bytes) -> Known | None:
    row = _names().get(words)
    if row is None:
        return None
    commands, kind = row
    if kind:
        return Known(kind=kind)
    if commands == (LOG,):
        return Known(LOG) if kernel_log.looks_like(data[:_HEAD].decode("utf-8", "replace")) else None
    if len(commands) > 1:
        return by_content(data, commands).known
    entry = catalogue.get(commands[0])
    if entry.params:
        return by_content(data, commands).known
    outcome = interpret(Output("", commands[0], (), 1, data))
    # "no such command" under the name of a command is its answer; the text of something else is not
    return None if isinstance(outcome, Unparsable) else Known(commands[0])


def _stem(name: str) -> str:
    lower = name.lower()
    return next((name[: -len(end)] for end in _ENDINGS if lower.endswith(end)), name)


def _words(name: str) -> tuple[list[str], list[tuple[int, int]]]:
    found = list(_WORDS.finditer(_stem(name).lower()))
    return [m[0] for m in found], [m.span() for m in found]


def _name_node(text: str) -> str | None:
    """A node in what is left of a file name: letters and a number, such as `gpu07_`."""
    for part in re.split(r"[_@+ ]|(?<!\d)\.|\.(?!\d)|--", text.strip("_-. @")):
        if re.search(r"[A-Za-z]", part) and re.search(r"\d", part) and (name := node_name(part.strip("-."))):
            return name
    return None


def _folder_node(path: PurePosixPath) -> str | None:
    """The innermost folder that can be a node."""
    for part in reversed(path.parts[:-1]):
        if part.lower() not in _FOLDERS and not re.fullmatch(r"round-\d+|[\d._-]+", part) and node_name(part):
            return node_name(part)
    return None
