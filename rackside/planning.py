"""From command-line options to a workbook: which sheet, over which plan, with which values."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from common.errors import InputError, UsageError
from common.yamlfile import nearest

if TYPE_CHECKING:
    from worksheets.engine import Workbook
    from worksheets.library import Library, Ref
    from worksheets.plan import Plan


def options(parser: argparse.ArgumentParser) -> None:
    """`--set`, `--plan`, `--from` and `--file`."""
    group = parser.add_argument_group("worksheets")
    group.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="INPUT=VALUE",
        help="give an input of the sheet or of the plan card a value, with or without unit: nic_rate=400Gbit/s; "
        "SHEET.INPUT for another sheet (repeatable)",
    )
    group.add_argument("--plan", metavar="FILE", help="the plan to reckon with: cluster, run, prices, measured values")
    group.add_argument(
        "--from",
        dest="cluster",
        metavar="C",
        help="take from a cluster what its file and its recording tell: a sample, a cluster folder or a cluster.yaml",
    )
    group.add_argument("--file", metavar="SHEET.yaml", help="a sheet of your own; sheets beside it are found, too")


def library(file: str | None) -> Library:
    """The shipped sheets, the user's, and one file with its neighbours.

    Raises:
        InputError: the file is no sheet.
    """
    from worksheets.library import kind, of_user

    if file is None:
        return of_user()
    path = Path(file)
    if kind(path) != "sheet":
        from common import yamlfile

        yamlfile.read_text(path)
        raise InputError("this is no worksheet", file=path, fix="a worksheet has `sheet: NAME` at its top")
    return of_user(path)


def workbook(args: argparse.Namespace, slug: str) -> Workbook:
    """The workbook of the options; names in `--set` without a sheet are those of sheet `slug`, then of the plan card.

    Raises:
        UsageError: no such sheet or input, or no value.
        InputError: a plan that cannot be read, or a value that cannot be.
    """
    from worksheets.engine import Workbook
    from worksheets.plan import CARD, Plan

    found = library(args.file)
    known(found, slug)
    plan = Plan.model_construct() if args.plan is None else _sound(Path(args.plan), found)
    book = Workbook(found, plan) if args.cluster is None else _with_cluster(found, plan, args.cluster)
    wanted = [_wanted(found, slug, text) for text in args.set]
    # in whatever order they are given: ranges of prices hang on the plan's currency
    for ref, value in sorted(wanted, key=lambda w: w[0].sheet != CARD):
        book.set(ref.sheet, ref.name, value)
    return book


def _sound(path: Path, found: Library) -> Plan:
    from worksheets.lint import sound_plan

    return sound_plan(path, found)


def _with_cluster(found: Library, plan: Plan, cluster: str) -> Workbook:
    """The workbook of a plan with what a cluster tells; what the plan gives counts before it."""
    from checks.clusters import open_cluster
    from rackside.measured import measured
    from worksheets.engine import Workbook

    told = measured(open_cluster(cluster), found.references.table("accelerator").rows)
    book = Workbook(found, plan.model_copy(update={"measured": {**plan.measured, **told}}))
    for key, given in told.items():
        if error := book.cell(key.partition(".")[0], book.settable(key)).error:
            raise InputError(f"{given.source}: {error.message}", fix=error.fix)
    return book


def known(found: Library, slug: str) -> None:
    """Refuses a sheet that there is not.

    Raises:
        UsageError: with the nearest name.
    """
    if slug not in (slugs := found.slugs()):
        raise UsageError(f"no worksheet `{slug}`; {nearest(slug, slugs)}")


def _wanted(found: Library, slug: str, text: str) -> tuple[Ref, str]:
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not name or not value:
        raise UsageError(f"--set {text}: write INPUT=VALUE, such as nic_rate=400Gbit/s")
    from worksheets.whatif.targets import turnable

    with named(f"--set {name}"):
        return turnable(found, slug, name)[0], value


@contextmanager
def named(option: str) -> Iterator[None]:
    """Says which option it was that names what there is not; a fault in a file stays one of the file.

    Raises:
        UsageError: with the option, and the nearest name.
    """
    try:
        yield
    except InputError as error:
        if error.file is not None:
            raise
        raise UsageError(f"{option}: {error}") from None
