"""One import from its sources to the folder: which kind each bundle is, what it holds, what is written."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from checks import catalogue, params
from checks.intake import bug_report, gpu_report, loose, sosreport
from checks.intake.archives import Bundle, open_bundle
from checks.intake.pieces import Capture, Found, Piece, node_name
from checks.intake.recognise import LOG, Known, accepts, by_content
from checks.intake.unpacking import Limits
from checks.intake.write import Target, cluster_file, numbered
from checks.transports import layout
from common import yamlfile
from common.errors import InputError, UsageError


class Imported:
    """What an import did: outputs written, files nothing was found in, and what could not be said."""

    def __init__(self, target: Target, found: Found) -> None:
        self.written, self.attachments = target.written, target.attachments
        self.unknown = [*found.unknown, *target.left_out]
        self.notes = [f"{c.node}: {note}" for c in found.captures for note in c.notes]
        self.links = found.links


def take(
    sources: Sequence[Path],
    out: Path,
    *,
    node: str | None = None,
    round: str = "",
    taken: datetime | None = None,
    limits: Limits | None = None,
) -> Imported:
    """Writes support bundles into the cluster folder `out`.

    `node` is the node of files that name none; `round` is `new` or a number; `taken` is when, where the bundle errs.

    Raises:
        UsageError: a source is not there, or the round.
        InputError: a bundle cannot be read, or nothing in it was recognised.
        WriteError: the folder is something else, or cannot be written.
    """
    target = Target(out)
    first = target.begin(round)
    if node is not None:
        _checked(node)
    found = Found()
    spool = Path(tempfile.mkdtemp(prefix="rackside-import-"))
    try:
        for source in sources:
            if not source.exists():
                raise UsageError(f"{source}: no such file or folder")
            if out.resolve().is_relative_to(source.resolve()):
                raise UsageError(f"{out}: write into a folder outside of {source}")
            found.merge(read(open_bundle(source, spool, limits), node=node))
    finally:
        shutil.rmtree(spool, ignore_errors=True)
    return _write(found, target, first, taken, sources[0].name if sources else out.name)


def take_one(
    data: bytes,
    out: Path,
    *,
    node: str,
    command: str | None = None,
    round: str = "",
    taken: datetime | None = None,
) -> Imported:
    """Writes one pasted output; `command` is a command id with its parameters (`eth-stats@eth2`), else it is guessed.

    Raises:
        UsageError: no such command, or a text that fits none.
    """
    target = Target(out)
    first = target.begin(round)
    capture = Capture(_checked(node), "files", "standard input", taken)
    known = _named(command) if command else by_content(data).known
    if known is None:
        raise InputError(f"cannot tell what this is: {by_content(data).why}", fix="say which with --command")
    for said in loose.pieces(known, data, "standard input", taken):
        if isinstance(said, Piece):
            capture.add(said)
        else:
            capture.notes.append(said)
    if command and known.command != LOG and data.strip() and not accepts(known.command, known.params, data):
        capture.notes.append(f"its parser finds no facts in it: is it really the output of {known.command}?")
    return _write(Found([capture]), target, first, taken, out.name)


def read(bundle: Bundle, *, node: str | None = None) -> Found:
    """What a bundle holds: sosreports, bug reports, and the files that are neither."""
    found = Found(unknown=list(bundle.left_out), links=bundle.links)
    roots = sosreport.roots(bundle.entries)
    for root in sorted(roots):
        found.merge(sosreport.read(root, bundle.entries, bundle.name))
    rest = []
    for entry in bundle.entries:
        if bug_report.is_one(entry.head(4096)):
            report = bug_report.read(entry, str(entry.path))
            found.unknown = [u for u in found.unknown if not u[0].endswith(str(entry.path))]
            found.merge(report)
        elif not any(entry.path.is_relative_to(root) for root in roots):
            rest.append(entry)
    if rest:
        found.merge(loose.read(rest, bundle.name, node=node))
    return found


def _write(found: Found, target: Target, first: int, taken: datetime | None, name: str) -> Imported:
    captures = [c for c in found.captures if c.pieces or c.extra]
    if not captures and not found.attachments:
        raise InputError(
            f"nothing in it was recognised ({len(found.unknown)} files)",
            file=name,
            fix="name files like the commands (`rackside list commands`), or give one with - --command ID --node NODE",
        )
    for capture in captures:
        if taken is not None:
            capture.taken = taken
        for piece in [p for p in capture.pieces if p.command == "smi-xml"]:
            for derived in gpu_report.derive(piece):
                capture.add(derived)
    for capture, number in numbered(captures, first):
        target.capture(capture, number)
    for kind, label, data in found.attachments:
        target.attachment(kind, label, data)
    cluster_file(target, node_name(target.folder.resolve().name) or "imported")
    return Imported(target, found)


def _named(text: str) -> Known:
    command, values = layout.split_stem(text)
    entry = catalogue.table().get(command)
    if entry is None:
        if command in ("dmesg", "journal", "kernel-log"):
            return Known(LOG)
        raise UsageError(f"no command `{command}`; {yamlfile.nearest(command, catalogue.table())}")
    try:
        entry.check(values)
    except params.ParameterError as error:
        wanted = "@".join((command, *(f"<{p}>" for p in entry.params)))
        raise UsageError(f"--command {text}: {error}; write {wanted}") from None
    return Known(command, values)


def _checked(node: str) -> str:
    name = node_name(node)
    if name is None or name != node.strip():
        raise UsageError(f"--node {node}: not the name of one node")
    return name
