"""`rackside worksheet`: computes a sizing or cost worksheet."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from common.errors import UsageError
from rackside import chargeback_text, cli, output, planning, status, whatif_text

if TYPE_CHECKING:
    from worksheets.engine import Result, Workbook

OF_STATE = {
    "ok": status.HEALTHY,
    "info": status.HEALTHY,
    "warn": status.WARNING,
    "fail": status.CRITICAL,
    "not-enough-input": status.UNDECIDED,
}


def add(parser: argparse.ArgumentParser) -> None:
    """Options."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="a worksheet; `rackside list worksheets` names them")
    planning.options(parser)
    whatif_text.options(parser)
    chargeback_text.options(parser)
    cli.format_options(parser, "text", "json", "csv", "markdown", "html", "xlsx")


def run(args: argparse.Namespace) -> int:
    """Prints the sheet; the exit status is its state: 0 ok, 1 warn, 2 fail, 3 not enough input.

    Of a what-if question it is 0, or 2 when no value meets the goal.
    """
    if args.name == chargeback_text.SLUG:
        if whatif_text.asked(args):
            raise UsageError("chargeback answers no what-if questions")
        text, state = chargeback_text.run(args)
        output.emit(text, args.output)
        return OF_STATE[state]
    slug = _slug(args)
    if whatif_text.asked(args) or args.by:
        text, found = whatif_text.run(args, planning.workbook(args, slug), slug)
        output.emit(text, args.output)
        return found
    if args.format == "xlsx" and not args.output:
        raise UsageError("a workbook is no text for a terminal; say where it goes: -o FILE.xlsx")
    book = planning.workbook(args, slug)
    result = book.compute(slug)
    if args.format == "xlsx":
        from worksheets.exports.xlsx import write_workbook

        for fixed in write_workbook(Path(args.output), book, [slug]):
            output.narrate(f"{fixed.key} keeps the value of this export; no spreadsheet formula says it")
    else:
        colour = not args.output and output.colour_wanted(args.color)
        output.emit(_renderer(args.format)(book, result, colour), args.output)
    return OF_STATE[result.state]


def _renderer(name: str) -> Callable[[Workbook, Result, bool], str]:
    if name == "html":
        from rackside.worksheet_html import as_html

        return as_html
    from rackside.worksheet_text import FORMATS

    return FORMATS[name]


def _slug(args: argparse.Namespace) -> str:
    if args.name:
        return str(args.name)
    if args.file:
        return Path(args.file).stem
    raise UsageError("name a worksheet (`rackside list worksheets` shows them), or a file of your own with --file")
