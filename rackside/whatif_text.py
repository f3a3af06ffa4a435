"""`rackside worksheet NAME` with a what-if question: its options, and the answer as text, JSON, CSV and Markdown."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.csvtext import csv_text
from common.errors import UsageError
from common.safetext import markdown, safe_line
from common.words import say
from rackside import chargeback_text, output, planning, status

if TYPE_CHECKING:
    from worksheets.engine import Workbook
    from worksheets.whatif.sweep import Axis, Point, Sweep
    from worksheets.whatif.targets import Target

FORMATS = ("text", "json", "csv", "markdown")
COLUMNS = 80
GRIDS = 3
"""Rows of which a sweep of two inputs shows a grid when nobody names some."""

REASONS = 5
"""Reasons for results that are missing, before a text only counts them."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a question: its document, its text, and the exit status."""

    document: Mapping[str, Any]
    lines: Sequence[str]
    status: int = status.HEALTHY


def options(parser: argparse.ArgumentParser) -> None:
    """The questions, and what goes with them."""
    group = parser.add_argument_group("what if")
    group.add_argument("--tornado", metavar="ROW", help="what sways a result: each input to its low and high end")
    group.add_argument(
        "--others", type=float, default=0.0, metavar="PCT", help="with --tornado: inputs without ends by so much, too"
    )
    group.add_argument("--sample", metavar="ROW,…", help="how sure results are: P10, P50, P90 over draws of all inputs")
    group.add_argument("--draws", type=int, metavar="N", help="default: 1000")
    group.add_argument("--seed", type=int, metavar="S", help="the same seed gives the same draws (default: 1)")
    group.add_argument(
        "--goal", metavar="'ROW<=VALUE'", help="with --by: what value meets it; with --sample: how likely it holds"
    )
    group.add_argument(
        "--by",
        metavar="INPUT",
        help="with --goal: the input to turn, or INPUT=LOW:HIGH or INPUT=LOW:HIGH:STEP; for chargeback: "
        + ", ".join(chargeback_text.BY),
    )
    group.add_argument("--pick", choices=("smallest", "largest"), help="which of the values that meet the goal")
    group.add_argument(
        "--sweep",
        action="append",
        default=[],
        metavar="INPUT=START:END:STEP",
        help="results over several values, or INPUT=A,B,C; twice for two inputs",
    )
    group.add_argument("--compare", metavar="PLAN.yaml", help="another plan beside this one, and what explains the gap")
    group.add_argument("--rows", metavar="ROW,…", help="with --sweep and --compare: these results alone")


def asked(args: argparse.Namespace) -> bool:
    """Whether there is a what-if question."""
    return any((args.tornado, args.sample, args.goal, args.sweep, args.compare))


def run(args: argparse.Namespace, book: Workbook, slug: str) -> tuple[str, int]:
    """The answer in the wanted format, and the exit status: 2 when no value meets the goal.

    Raises:
        UsageError: options that do not go together, or names of what there is not.
        InputError: a question without an answer.
    """
    if args.format not in FORMATS:
        raise UsageError(f"a what-if question has no format {args.format}; it has {', '.join(FORMATS)}")
    answer = _question(args)(args, book, slug)
    return _formatted(answer, args.format), answer.status


def _question(args: argparse.Namespace) -> Callable[[argparse.Namespace, Workbook, str], Answer]:
    names = {"tornado": _tornado, "sample": _sample, "goal": _goal, "sweep": _sweep, "compare": _compare}
    found = [name for name in names if getattr(args, name)]
    if found == ["sample", "goal"] and not args.by:
        found = ["sample"]
    if len(found) > 1:
        raise UsageError("ask one question at a time: " + " or ".join(f"--{name}" for name in found))
    if found == ["goal"] and not args.by:
        raise UsageError("--goal needs the input to turn: --by INPUT; or --sample ROW for how likely it holds")
    if found != ["goal"] and args.by:
        raise UsageError("--by goes with --goal")
    return names[found[0]]


def _tornado(args: argparse.Namespace, book: Workbook, slug: str) -> Answer:
    from worksheets.whatif import documents, telling
    from worksheets.whatif.tornado import tornado

    (target,) = _targets(book, slug, "--tornado", args.tornado, most=1)
    found = tornado(book, target, args.others)
    return Answer(documents.tornado(slug, found), telling.tornado(found))


def _sample(args: argparse.Namespace, book: Workbook, slug: str) -> Answer:
    from worksheets.whatif import documents, telling
    from worksheets.whatif.condition import conditions
    from worksheets.whatif.sample import DRAWS, SEED, sample

    targets = _targets(book, slug, "--sample", args.sample)
    with planning.named(f"--goal {args.goal}"):
        asked_ = conditions(book, slug, args.goal) if args.goal else ()
    draws, seed = (default if given is None else given for given, default in ((args.draws, DRAWS), (args.seed, SEED)))
    found = sample(book, targets, draws, seed, asked_)
    return Answer(documents.sample(slug, found), telling.sample(found))


def _goal(args: argparse.Namespace, book: Workbook, slug: str) -> Answer:
    from worksheets.whatif import documents, telling
    from worksheets.whatif.condition import conditions
    from worksheets.whatif.goal import seek, turned

    with planning.named(f"--goal {args.goal}"):
        wanted = conditions(book, slug, args.goal)
    with planning.named(f"--by {args.by}"):
        by = turned(book, slug, args.by)
    found = seek(book, wanted, by, args.pick)
    reached = status.HEALTHY if found.found else status.CRITICAL
    return Answer(documents.goal(slug, found), telling.goal(found), reached)


def _sweep(args: argparse.Namespace, book: Workbook, slug: str) -> Answer:
    from worksheets.whatif import documents
    from worksheets.whatif.sweep import axis, sweep

    axes = []
    for text in args.sweep:
        with planning.named(f"--sweep {text}"):
            axes.append(axis(book, slug, text))
    rows = _targets(book, slug, "--rows", args.rows)
    found = sweep(book, slug, axes, rows)
    return Answer(documents.sweep(slug, found), list(_swept(found, named=bool(rows))))


def _compare(args: argparse.Namespace, book: Workbook, slug: str) -> Answer:
    from worksheets.engine import Workbook
    from worksheets.lint import sound_plan
    from worksheets.whatif import documents, telling
    from worksheets.whatif.compare import compare

    path = Path(args.compare)
    other = Workbook(book.library, sound_plan(path, book.library), book.today)
    names = (Path(args.plan).name if args.plan else say("this plan"), path.name)
    found = compare(book, other, slug, _targets(book, slug, "--rows", args.rows), names)
    return Answer(documents.compare(slug, found), telling.compare(found))


def _targets(book: Workbook, slug: str, option: str, text: str | None, most: int = 50) -> list[Target]:
    from worksheets.whatif.targets import target

    names = [name for part in (text or "").split(",") if (name := part.strip())]
    if len(names) > most:
        raise UsageError(f"{option} takes {'one row' if most == 1 else f'at most {most} rows'}")
    found = []
    for name in names:
        with planning.named(f"{option} {name}"):
            found.append(target(book.library, slug, name))
    if text and not found:
        raise UsageError(f"{option} {text}: name a row")
    return found


def _swept(found: Sweep, named: bool) -> Iterator[str]:
    """One input: a line for each value. Two: a grid for each row, the second input to the right."""
    from worksheets.whatif.telling import wrapped

    yield safe_line(f"{found.sheet}: " + " x ".join(axis.ref.key for axis in found.axes))
    if len(found.axes) == 1:
        yield from _list(found, found.axes[0])
    else:
        shown = len(found.rows) if named else min(GRIDS, len(found.rows))
        for i in range(shown):
            yield from _grid(found, i)
        if more := [row.ref.name for row in found.rows[shown:]]:
            yield ""
            yield from wrapped(say("more with --rows: {names}", names=", ".join(more)), "")
    reasons = sorted({outcome.why for point in found.points for outcome in point.outcomes if outcome.why})
    for reason in reasons[:REASONS]:
        yield from wrapped(f"! {reason}", "")
    if len(reasons) > REASONS:
        yield say("and {count} more", count=len(reasons) - REASONS)
    if not found.rows:
        yield say("no row of the sheet moves")


def _list(found: Sweep, axis: Axis) -> Iterator[str]:
    from worksheets.exports.telling import MARKS

    values = [f"{MARKS[point.state]} {_shown(point.values[0], axis.unit)}" for point in found.points]
    columns = [
        (row.key.removeprefix(f"{found.sheet}."), [_shown(p.outcomes[i].value, found.units[i]) for p in found.points])
        for i, row in enumerate(found.rows)
    ]
    for block in _blocks((axis.ref.name, values), columns):
        yield ""
        yield from output.table(zip(*(cells for _, cells in block), strict=True), [h for h, _ in block]).splitlines()
    rules = [(value, ", ".join(point.rules)) for value, point in zip(values, found.points, strict=True) if point.rules]
    if rules:
        yield ""
        yield from (safe_line(f"{value}: {said}") for value, said in rules)


def _grid(found: Sweep, row: int) -> Iterator[str]:
    down, right = found.axes
    by_values: dict[tuple[Any, ...], Point] = {point.values: point for point in found.points}
    columns = [
        (
            f"{right.ref.name} {_shown(value, right.unit)}",
            [_shown(by_values[at, value].outcomes[row].value, found.units[row]) for at in down.values],
        )
        for value in right.values
    ]
    for block in _blocks((down.ref.name, [_shown(value, down.unit) for value in down.values]), columns):
        yield ""
        yield safe_line(found.rows[row].key)
        yield from output.table(zip(*(cells for _, cells in block), strict=True), [h for h, _ in block]).splitlines()


Column = tuple[str, list[str]]


def _blocks(first: Column, columns: Sequence[Column]) -> Iterator[list[Column]]:
    """The columns in as many tables as it takes to stay within 80, each with the first column."""
    block, width = [first], _width(first)
    for column in columns:
        if len(block) > 1 and width + 2 + _width(column) > COLUMNS:
            yield block
            block, width = [first], _width(first)
        block.append(column)
        width += 2 + _width(column)
    if len(block) > 1:
        yield block


def _width(column: Column) -> int:
    return max(len(cell) for cell in (column[0], *column[1]))


def _shown(value: Any, unit: str) -> str:
    from worksheets.values import show

    return "-" if value is None else safe_line(show(value, unit), limit=60)


def _formatted(answer: Answer, name: str) -> str:
    if name == "text":
        return "\n".join(answer.lines)
    if name == "json":
        return json.dumps(answer.document, indent=2, ensure_ascii=False, allow_nan=False)
    from worksheets.whatif.flat import table

    head, rows = table(answer.document)
    if name == "csv":
        return csv_text(rows, head)
    lines = ["| " + " | ".join(map(markdown, head)) + " |", "|---" * len(head) + "|"]
    lines += ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def _cell(cell: str | float) -> str:
    return markdown(safe_line(cell, limit=2000)) if isinstance(cell, str) else f"{cell:.6g}"
