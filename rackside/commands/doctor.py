"""`rackside doctor`: can the nodes be reached, logged in to, read."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from common.errors import UsageError
from common.safetext import safe_line
from common.words import say
from rackside import cli, opening, output, status
from rackside.progress import nothing_reached

if TYPE_CHECKING:
    from checks.doctor import Health


def add(parser: argparse.ArgumentParser) -> None:
    """Options."""
    parser.add_argument("-c", "--cluster", required=True, metavar="C", help="a cluster folder or a cluster.yaml")
    parser.add_argument("--nodes", metavar="SET", help="only these nodes, like gpu[001-008]")
    cli.live_options(parser, always=True)
    cli.format_options(parser, "text", "json")


def run(args: argparse.Namespace) -> int:
    """0 when all is well, 1 with a warning, 3 when a node could not be asked."""
    from checks import doctor
    from checks.clusters import open_live
    from checks.findings import Status

    found = open_live(args.cluster, opening.asking(args))
    live = found.live
    assert live is not None
    nodes = found.cluster.select(args.nodes)
    if args.nodes and not nodes:
        raise UsageError(f"no such nodes: {args.nodes}")
    try:
        rows = doctor.examine(found.cluster, live, nodes=nodes)
    finally:
        found.close()
    worst = Status.fold(r.status for r in rows)
    if args.format == "json":
        document = {
            "schema": "rackside.doctor/1",
            "cluster": found.cluster.name,
            "status": worst.word,
            "nodes": [{**r.model_dump(mode="json"), "status": r.status.word} for r in rows],
        }
        text = json.dumps(document, indent=2, ensure_ascii=False)
    else:
        text = "\n".join(line for row in rows for line in _lines(row))
    output.emit(text, args.output)
    nothing_reached(found)
    return status.OF_STATUS[worst.word]


def _lines(row: Health) -> list[str]:
    lines = [f"{row.status.mark} {row.nodes}: {safe_line(row.reason) if row.reason else say('doctor.well')}"]
    if row.sudo is not None:
        lines.append(f"    sudo: {say('doctor.yes' if row.sudo else 'doctor.no')}")
    if row.missing:
        lines.append(f"    {say('doctor.missing')}: {', '.join(row.missing)}")
    if row.absent:
        lines.append(f"    {say('doctor.absent')}: {', '.join(row.absent)}")
    if row.versions:
        lines.append("    " + "; ".join(safe_line(f"{tool}: {said}") for tool, said in row.versions.items()))
    if row.clock_offset_s is not None:
        lines.append(f"    {say('doctor.clock')}: {row.clock_offset_s:+.3f} s")
    return lines
