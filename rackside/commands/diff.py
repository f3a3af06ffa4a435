"""`rackside diff`: compares the facts of two recordings, or of two rounds."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

from common.errors import NothingReachedError, UsageError
from rackside import cli, output, status

_AT_ROUND = re.compile(r"^(?P<cluster>.+)@(?P<round>\d+)$")


def add(parser: argparse.ArgumentParser) -> None:
    """Options."""
    parser.add_argument("a", metavar="A", help="a cluster, CLUSTER@ROUND for one round, or the path of a round folder")
    parser.add_argument("b", metavar="B", help="the same; A and B may be two rounds of one cluster")
    parser.add_argument("--command", action="append", default=[], metavar="ID", help="only this command (repeatable)")
    cli.format_options(parser, "text", "json")


def run(args: argparse.Namespace) -> int:
    """0 when the facts are equal, 1 when some differ."""
    from checks import catalogue, compare
    from common.safetext import safe_line
    from common.yamlfile import nearest

    for command in args.command:
        if command not in catalogue.table():
            raise UsageError(f"no command `{command}`; {nearest(command, catalogue.table())}")
    a, b = _side(args.a), _side(args.b)
    changes = [c for c in compare.differences(a, b) if not args.command or c.command.split("@")[0] in args.command]
    if args.format == "json":
        document = {
            "schema": "rackside.diff/1",
            "a": a.label,
            "b": b.label,
            "changes": [c.model_dump() for c in changes],
        }
        text = json.dumps(document, indent=2, ensure_ascii=False)
    else:
        lines = [f"{a.label} -> {b.label}: {len(changes)} facts differ"]
        for c in changes:
            what = f"{c.command} {c.field}".strip()
            lines.append(f"{c.nodes}: {safe_line(what)}: {safe_line(c.before or '-')} -> {safe_line(c.after or '-')}")
        text = "\n".join(lines)
    output.emit(text, args.output)
    return status.WARNING if changes else status.HEALTHY


def _side(name: str):  # type: ignore[no-untyped-def]
    from checks.clusters import open_cluster
    from checks.compare import Side

    number: int | None = None
    cluster = name
    path = Path(name)
    if (match := _AT_ROUND.match(name)) and not path.exists():
        cluster, number = match["cluster"], int(match["round"])
    elif path.is_dir() and (found := re.fullmatch(r"round-(\d+)", path.resolve().name)):
        number = int(found[1])
        parent = path.resolve().parent
        cluster = str(parent.parent if parent.name == "recordings" else parent)
    opened = open_cluster(cluster)
    if opened.replay is None:
        raise NothingReachedError(f"{cluster} has no recordings to compare")
    if number is not None and number not in opened.replay.rounds:
        rounds = ", ".join(map(str, opened.replay.rounds))
        raise UsageError(f"{cluster} has no round {number}; it has {rounds}")
    return Side(name, opened.cluster, opened.replay, number)
