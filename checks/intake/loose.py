"""Files that somebody collected by hand: one output each, the node in the name of the file or of its folder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import PurePosixPath

from checks import catalogue
from checks.intake import kernel_log
from checks.intake.archives import Entry
from checks.intake.kernel_log import Clock
from checks.intake.pieces import Capture, Found, Piece, common_root
from checks.intake.recognise import LOG, Known, recognise

SCHEDULER = "scheduler"
"""Stands for the host that Slurm or kubectl was asked on, where nothing names it."""
NODE = "node"
_QUIET = ("cluster.yaml", "round.yaml", "expected.yaml", "anonymised.yaml", "README", "README.md", "README.txt")


def read(entries: Sequence[Entry], origin: str, *, node: str | None = None) -> Found:
    """What single files say. `node` is the node of those that name none.

    Without it they belong to the only node the others name; where there are several they stay unknown.
    """
    found = Found()
    root = common_root(e.path for e in entries)
    known: list[tuple[Entry, Known, str | None]] = []
    for entry in entries:
        inside = entry.path.relative_to(root)
        # the folder that holds everything may be the node too
        guess = recognise(PurePosixPath(root.name, inside) if root.name else inside, entry.read())
        if guess.known is None:
            if entry.path.name not in _QUIET and not entry.path.name.startswith("."):
                found.unknown.append((str(entry.path), guess.why))
        elif guess.known.kind:
            label = "" if guess.known.kind == entry.path.stem else entry.path.stem
            found.attachments.append((guess.known.kind, label, entry.read()))
        else:
            known.append((entry, guess.known, guess.node))
    named = sorted({n for _, _, n in known if n})
    captures: dict[str, Capture] = {}
    for entry, what, own in known:
        name = own or _default(what, named, node)
        if name is None:
            found.unknown.append((str(entry.path), "of which node? name it NODE_FILE, or give --node"))
            continue
        capture = captures.setdefault(name, Capture(name, "files", origin))
        capture.taken = _earlier(capture.taken, entry.changed)
        _add(capture, entry, what)
    found.captures = [captures[name] for name in sorted(captures)]
    return found


def pieces(known: Known, data: bytes, origin: str, changed: datetime | None) -> Iterable[Piece | str]:
    """The outputs in one file, or sentences about what it cannot answer."""
    if known.command != LOG:
        return [Piece(known.command, known.params, data, origin)]
    text = data[:65536].decode("utf-8", "replace")
    # a file without other programs' lines is what dmesg prints
    only = " kernel: " not in text and " kernel[" not in text
    return kernel_log.cut(data, Clock(changed), origin, kernel_only=only)


def _add(capture: Capture, entry: Entry, what: Known) -> None:
    data = entry.read()
    if what.end != "txt" or what.sample > 1:
        # files of a recording keep their status, complaints and samples
        capture.extra.append((what.command, what.params, what.sample, what.end, data))
        return
    for said in pieces(what, data, str(entry.path), entry.changed):
        if isinstance(said, Piece):
            capture.add(said)
        else:
            capture.notes.append(said)


def _default(what: Known, named: Sequence[str], node: str | None) -> str | None:
    if what.command != LOG and catalogue.get(what.command).roles == ("scheduler",):
        return SCHEDULER
    if node:
        return node
    if len(named) > 1:
        return None
    return named[0] if named else NODE


def _earlier(one: datetime | None, other: datetime | None) -> datetime | None:
    return min((t for t in (one, other) if t), default=None)
