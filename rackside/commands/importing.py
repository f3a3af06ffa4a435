"""`rackside import`: turns support bundles of customers into a cluster folder that replays."""

from __future__ import annotations

import argparse
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from common.words import say
from rackside import output, status

if TYPE_CHECKING:
    from checks.intake.take import Imported

MAX_PASTED_BYTES = 64 * 1024 * 1024
SHOWN = 20


def add(parser: argparse.ArgumentParser) -> None:
    """Options."""
    parser.add_argument(
        "sources",
        nargs="+",
        metavar="FILE",
        help="a sosreport, an nvidia-bug-report.log.gz, an archive or folder of outputs (several at once); "
        "- for one output on standard input",
    )
    parser.add_argument("-o", "--output", required=True, metavar="FOLDER", help="a new or existing cluster folder")
    parser.add_argument("--node", metavar="NODE", help="the node of outputs that name none")
    parser.add_argument(
        "--command", metavar="ID", help="with -: the command whose output it is, such as smi-xml or eth-stats@eth2"
    )
    parser.add_argument(
        "--round",
        default="",
        metavar="N",
        help="in an existing folder: the round to add to, or `new` (default: the newest round)",
    )
    parser.add_argument(
        "--taken-at", metavar="TIME", help="when it was collected, such as 2026-03-04T02:10:00Z (default: as it says)"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")


def run(args: argparse.Namespace) -> int:
    """0 when everything was recognised, 1 when files are left that were not."""
    from checks.intake.take import take, take_one
    from common.errors import UsageError

    if args.round and args.round != "new" and not args.round.isdigit():
        raise UsageError(f"--round {args.round}: a number, or `new`")
    out, taken = Path(args.output).expanduser(), _time(args.taken_at)
    if args.sources == ["-"]:
        if not args.node:
            raise UsageError("- needs --node NODE: an output does not say where it was printed")
        done = take_one(_pasted(), out, node=args.node, command=args.command, round=args.round, taken=taken)
    elif args.command or "-" in args.sources:
        raise UsageError("--command is for one output on standard input: rackside import - --command ID --node NODE")
    else:
        sources = [Path(s).expanduser() for s in args.sources]
        done = take(sources, out, node=args.node, round=args.round, taken=taken)
    output.emit(_json(args.output, done) if args.format == "json" else _text(args.output, done))
    return status.WARNING if done.unknown else status.HEALTHY


def _pasted() -> bytes:
    from common.errors import UsageError

    data = sys.stdin.buffer.read(MAX_PASTED_BYTES + 1)
    if len(data) > MAX_PASTED_BYTES:
        raise UsageError(f"standard input: more than {MAX_PASTED_BYTES >> 20} MiB; import it as a file")
    if not data.strip():
        raise UsageError("standard input: nothing there; pipe or paste the output and end it with Ctrl-D")
    return data


def _time(text: str | None) -> datetime | None:
    from common.errors import UsageError

    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--taken-at {text}: write it like 2026-03-04T02:10:00Z") from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _json(folder: str, done: Imported) -> str:
    from checks.intake.write import by_node

    document = {
        "schema": "rackside.import/1",
        "folder": folder,
        "nodes": {
            node: [
                {
                    "round": w.round,
                    "file": w.file,
                    "command": w.command,
                    "from": w.origin,
                    "reading": w.reading,
                    "derived_from": w.derived or None,
                }
                for w in outputs
            ]
            for node, outputs in by_node(done.written).items()
        },
        "attachments": done.attachments,
        "not_recognised": [{"file": file, "reason": why} for file, why in done.unknown],
        "notes": done.notes,
        "links_left_out": done.links,
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def _text(folder: str, done: Imported) -> str:
    from checks.intake.write import by_node
    from common.safetext import safe_line

    lines = []
    for node, outputs in by_node(done.written).items():
        lines.append(say("import.node", node=node, count=str(len(outputs))))
        rows = [
            (f"  {w.command}" if w.round == 1 else f"  {w.command} (round {w.round})", safe_line(w.origin), w.reading)
            for w in outputs
        ]
        lines.append(output.table(rows))
    if done.attachments:
        lines.append(say("import.attachments", files=", ".join(done.attachments)))
    lines += [safe_line(note) for note in done.notes]
    if done.unknown:
        lines.append(say("import.unknown", count=str(len(done.unknown))))
        lines += [f"  {safe_line(file)}: {safe_line(why)}" for file, why in done.unknown[:SHOWN]]
        if len(done.unknown) > SHOWN:
            lines.append(say("import.more", count=str(len(done.unknown) - SHOWN)))
    lines.append(say("import.done", count=str(len(done.written)), folder=folder))
    return "\n".join(lines)
