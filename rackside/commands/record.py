"""`rackside record`: collects a living cluster into a folder that replays."""

from __future__ import annotations

import argparse
import contextlib
import json
import tempfile
from pathlib import Path

from common.words import say
from rackside import cli, opening, output, status
from rackside.commands.check import LAYERS
from rackside.progress import narrator, nothing_reached


def add(parser: argparse.ArgumentParser) -> None:
    """Options."""
    parser.add_argument("-c", "--cluster", required=True, metavar="C", help="a cluster folder or a cluster.yaml")
    parser.add_argument("-o", "--output", required=True, metavar="FOLDER", help="a new folder for the recording")
    parser.add_argument("--rounds", type=int, default=2, metavar="N", help="passes over the cluster (default: 2)")
    parser.add_argument(
        "--interval", type=cli.seconds, default=60.0, metavar="S", help="seconds between them (default: 60)"
    )
    parser.add_argument("--layer", action="append", default=[], choices=LAYERS, help="only this layer (repeatable)")
    parser.add_argument(
        "--anonymise", action="store_true", help="write it without names and addresses; the map lies in FOLDER.map.json"
    )
    parser.add_argument(
        "--name", action="append", default=[], metavar="WORD", help="with --anonymise: a name only people know"
    )
    parser.add_argument("--nodes", metavar="SET", help="only these nodes, like gpu[001-008]")
    cli.live_options(parser, always=True)
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")


def run(args: argparse.Namespace) -> int:
    """0 when every node answered, 3 when some could not be asked."""
    from common.errors import UsageError

    if not 1 <= args.rounds <= 100:
        raise UsageError("--rounds: 1 to 100")
    if args.name and not args.anonymise:
        raise UsageError("--name is for --anonymise")
    with contextlib.ExitStack() as stack:
        folder = Path(args.output)
        if args.anonymise:
            # what names people lies in a private folder only as long as the recording takes
            private = stack.enter_context(
                tempfile.TemporaryDirectory(dir=folder.resolve().parent, prefix=".recording-")
            )
            folder = Path(private) / "recording"
        return _record(args, folder)


def _record(args: argparse.Namespace, folder: Path) -> int:
    from checks.anonymise import anonymise
    from checks.clusters import open_live
    from checks.nodesets import fold
    from checks.runner import Runner

    found = open_live(args.cluster, opening.asking(args, record=folder))
    live = found.live
    assert live is not None
    runner = Runner(found.cluster, live, only=found.cluster.select(args.nodes))
    wanted = [f"{layer}.*" for layer in args.layer or LAYERS]
    try:
        runner.sweep(wanted, rounds=args.rounds, on_progress=narrator(found))
    finally:
        found.close()
    nothing_reached(found)
    if args.anonymise:
        out = Path(args.output)
        anonymise(folder, out, out.with_name(f"{out.name}.map.json"), args.name)
    failed = fold(live.failures)
    if args.format == "json":
        document = {
            "schema": "rackside.record/1",
            "cluster": found.cluster.name,
            "folder": args.output,
            "rounds": args.rounds,
            "outputs": live.count,
            "failed": [{"nodes": node, "reason": why.reason} for node, why in sorted(live.failures.items())],
        }
        output.emit(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        output.emit(say("record.done", count=str(live.count), folder=args.output))
        if failed:
            output.emit(say("record.failed", nodes=failed))
    return status.UNDECIDED if failed else status.HEALTHY
