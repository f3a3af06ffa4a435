"""`rackside check`: runs checks without a tree."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from common.errors import UsageError
from rackside import cli, opening, output, status
from rackside.progress import narrator, nothing_reached

if TYPE_CHECKING:
    from checks.findings import Finding

LAYERS = ("network", "gpu", "host", "storage", "scheduling", "training-run")


def add(parser: argparse.ArgumentParser) -> None:
    """Options."""
    cli.cluster_options(parser)
    parser.add_argument("--layer", action="append", default=[], choices=LAYERS, help="only this layer (repeatable)")
    parser.add_argument("--check", action="append", default=[], metavar="ID", help="only this check (repeatable)")
    parser.add_argument("--nodes", metavar="SET", help="only these nodes, like gpu[001-008]")
    cli.format_options(parser, "text", "json", "markdown", "junit", "nagios", "csv")


def run(args: argparse.Namespace) -> int:
    """Runs the checks and gives the Nagios state of the worst finding."""
    from checks import rules
    from checks.findings import Status
    from checks.runner import Runner
    from common.yamlfile import nearest
    from rackside import findings_text

    for check in args.check:
        if rules.get(check) is None:
            raise UsageError(f"no check `{check}`; {nearest(check, (r.id for r in rules.every()))}")
    wanted = [*(f"{layer}.*" for layer in args.layer), *args.check] or [f"{layer}.*" for layer in LAYERS]
    found = opening.opened(args)
    assert found.store is not None
    runner = Runner(found.cluster, found.store, only=found.cluster.select(args.nodes))
    try:
        findings: list[Finding] = runner.run(wanted, on_progress=narrator(found))
    finally:
        found.close()
    worst = Status.fold(f.status for f in findings)
    render = findings_text.FORMATS[args.format]
    output.emit(render(found.label, worst, findings, output.colour_wanted(args.color)), args.output)
    nothing_reached(found)
    return status.OF_STATUS[worst.word]
