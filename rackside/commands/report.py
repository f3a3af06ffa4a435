"""`rackside report`: the incident report of a session, from its journal."""

from __future__ import annotations

import argparse
from pathlib import Path

from rackside import cli, output, status


def add(parser: argparse.ArgumentParser) -> None:
    """Options."""
    parser.add_argument("journal", metavar="JOURNAL", help="the journal of a session")
    cli.format_options(parser, "markdown", "text", "json", "html")


def run(args: argparse.Namespace) -> int:
    """Renders what the journal holds, finished or not."""
    from runbooks import report
    from runbooks.session import Session

    document = Session.read(Path(args.journal))
    render = {
        "markdown": report.as_markdown,
        "text": report.as_text,
        "json": report.as_json,
        "html": report.as_html,
    }[args.format]
    output.emit(render(document), args.output)
    return status.HEALTHY
