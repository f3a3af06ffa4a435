"""`rackside anonymise`: writes a recording again so that it names neither the site nor its people."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from common.words import say
from rackside import output, status


def add(parser: argparse.ArgumentParser) -> None:
    """Options."""
    parser.add_argument("folder", metavar="FOLDER", help="the recording: a cluster folder, or files of a ticket")
    parser.add_argument("-o", "--output", required=True, metavar="OUT", help="a new folder for the anonymised one")
    parser.add_argument(
        "--map", metavar="FILE", help="where to write which name was which, outside of both (default: OUT.map.json)"
    )
    parser.add_argument(
        "--name",
        action="append",
        default=[],
        metavar="WORD",
        help="a name of the site, the customer or a project: replaced inside other words, too (repeatable)",
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")


def run(args: argparse.Namespace) -> int:
    """0 when everything was written, 1 when files had to be left out."""
    from checks.anonymise import anonymise
    from checks.clusters import locate

    out = Path(args.output)
    map_file = Path(args.map) if args.map else out.with_name(f"{out.name}.map.json")
    report = anonymise(locate(args.folder), out, map_file, args.name)
    if args.format == "json":
        document = {
            "schema": "rackside.anonymise/1",
            "folder": args.output,
            "map": str(map_file),
            "files": report.files,
            "left_out": [{"file": file, "reason": reason} for file, reason in report.left_out],
            "replaced": report.replaced,
        }
        output.emit(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        from common.safetext import safe_line

        what = ", ".join(f"{count} {kind}" for kind, count in report.replaced.items())
        lines = [say("anonymise.done", count=str(report.files), folder=args.output)]
        lines += [say("anonymise.replaced", what=what)] if what else []
        lines += [say("anonymise.left-out", file=safe_line(file), why=reason) for file, reason in report.left_out]
        output.emit("\n".join([*lines, say("anonymise.map", file=str(map_file))]))
    return status.WARNING if report.left_out else status.HEALTHY
