"""`rackside worksheet chargeback`: its options, and the bill as text, JSON, CSV and Markdown."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.csvtext import csv_text
from common.errors import UsageError
from common.safetext import markdown, safe
from rackside import output

if TYPE_CHECKING:
    from worksheets.chargeback.model import Bill, RateCard, Terms, Window

SLUG = "chargeback"
TOP = 10
BY = ("account", "user", "partition", "month", "card")


def options(parser: argparse.ArgumentParser) -> None:
    """What only chargeback takes."""
    group = parser.add_argument_group("chargeback (accounting of Slurm)")
    group.add_argument("--sacct", metavar="FILE", help="text of sacct -a -X -P -T; - for standard input")
    group.add_argument("--sreport", metavar="FILE", help="text of sreport -P cluster Utilization, to check against")
    group.add_argument("--rate", action="append", default=[], metavar="[CARD=]PRICE", help="a card-hour's price")
    group.add_argument("--window", metavar="START..END", help="dates or times as sacct prints them, END not included")
    group.add_argument("--timezone", metavar="ZONE", help="the cluster's, such as Europe/Berlin")
    group.add_argument("--cards", type=int, default=0, metavar="N", help="cards the cluster has, to tell what was idle")
    group.add_argument("--spread-idle", action="store_true", help="share the cost of idle cards out by use")
    group.add_argument("--weights", metavar="TRES=W,…", help="TRESBillingWeights of slurm.conf: bill Slurm's own units")
    group.add_argument("--max-tres", action="store_true", help="with --weights: as PriorityFlags=MAX_TRES reckons them")
    group.add_argument("--credit", metavar="STATE,…", help="states that are not charged (default NODE_FAIL,BOOT_FAIL)")


def run(args: argparse.Namespace) -> tuple[str, str]:
    """The bill in the wanted format, and its state.

    Raises:
        UsageError: options that cannot be.
        InputError: texts that cannot be billed from.
    """
    from worksheets.chargeback.bill import bill

    if not args.sacct:
        raise UsageError("chargeback reads accounting: --sacct FILE, or - for standard input")
    if args.set or args.plan or args.file:
        raise UsageError("chargeback reckons from accounting alone; prices come with --rate")
    with tempfile.TemporaryDirectory() as folder:
        made = bill(_file(args.sacct, Path(folder)), _rates(args.rate), _terms(args))
    if args.format not in FORMATS:
        raise UsageError(f"chargeback has no format {args.format}; it has {', '.join(FORMATS)}")
    return FORMATS[args.format](made), made.state


def _terms(args: argparse.Namespace) -> Terms:
    from worksheets.chargeback.billing import weights
    from worksheets.chargeback.model import CREDITED, Terms

    if args.max_tres and not args.weights:
        raise UsageError("--max-tres says how to reckon --weights; give these too")
    return Terms(
        by=_by(args.by),
        window=_window(args.window),
        timezone=args.timezone,
        capacity_cards=args.cards,
        spread_idle=args.spread_idle,
        report=_text(args.sreport) if args.sreport else None,
        credited=tuple(args.credit.split(",")) if args.credit else CREDITED,
        weights=weights(args.weights) if args.weights else None,
        max_tres=args.max_tres,
    )


def _by(name: str | None) -> str:
    # other sheets have an option of this name, so that argparse cannot check the choices
    if name is not None and name not in BY:
        raise UsageError(f"--by {name}: a bill is by {', '.join(BY)}")
    return name or BY[0]


def _file(name: str, folder: Path) -> Path:
    if name != "-":
        return Path(name)
    import shutil

    path = folder / "sacct"
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return path


def _text(name: str) -> str:
    from common.yamlfile import read_text

    return read_text(Path(name))


def _rates(given: list[str]) -> RateCard:
    from worksheets.chargeback.model import RateCard

    rates, other = {}, 0.0
    for text in given:
        card, _, price = text.rpartition("=")
        try:
            number = float(price)
        except ValueError:
            number = -1
        if not 0 <= number < 1e6:
            raise UsageError(f"--rate {text}: a price of a card-hour is a number of 0 or more, as in h100=2.5 or 2.5")
        if card:
            rates[card.lower()] = number
        else:
            other = number
    return RateCard(rates, other)


def _window(text: str | None) -> Window | None:
    from worksheets.chargeback.model import Window

    if text is None:
        return None
    start, _, end = text.partition("..")
    try:
        return Window(*(datetime.fromisoformat(part).replace(tzinfo=None) for part in (start, end)))
    except ValueError:
        raise UsageError(f"--window {text}: write it as 2026-11-01..2026-12-01") from None


def _snake(unit: str) -> str:
    return unit.replace("-", "_")


def _head(made: Bill) -> tuple[str, ...]:
    return (made.by, _snake(made.unit), "cost", "share_pct", "jobs")


def _rows(made: Bill) -> list[tuple[str, float, float, float, int]]:
    return [(line.name, line.hours, line.cost, line.share * 100, line.jobs) for line in made.lines]


def _shown(made: Bill) -> list[tuple[str, str, str, str, str]]:
    return [
        (safe(name), f"{hours:,.1f}", f"{cost:,.2f}", f"{share:.1f} %", f"{jobs:,}")
        for name, hours, cost, share, jobs in _rows(made)
    ]


def _totals(made: Bill) -> list[tuple[str, str]]:
    told = [
        ("charged", f"{made.charged:,.1f} {made.unit}, cost {made.cost:,.2f}"),
        ("credited", f"{made.credited:,.1f} {made.unit} of failed nodes, {made.credit:,.2f} not charged"),
        ("unattributed", f"{made.unattributed:,.1f} {made.unit} without user or account"),
        ("jobs", f"{made.jobs:,} billed, {made.jobs_without_gpu:,} without cards"),
        ("lines", f"{made.rows:,} read, {made.rows_merged:,} merged, {made.rows_not_understood:,} not understood"),
    ]
    if made.idle_card_hours is not None:
        told.append(("idle", f"{made.idle_card_hours:,.1f} card-hours, worth {made.idle_cost or 0:,.2f}"))
    if made.reconcile_diff_pct is not None:
        told.append(("against sreport", f"{made.reconcile_diff_pct:+.2f} %"))
    return told


def _as_text(made: Bill) -> str:
    from worksheets.exports.telling import MARKS

    rows = _shown(made)
    most = len(rows) if made.by == "month" else TOP
    lines = ["W18 chargeback", "", output.table(rows[:most], (made.by, made.unit, "cost", "share", "jobs"))]
    if len(rows) > most:
        lines.append(f"… and {len(rows) - most} more; --format csv has them all")
    lines += ["", output.table(_totals(made)), ""]
    lines += [f"{MARKS[note.severity]} {note.rule}: {safe(note.text)}" for note in made.notes]
    return "\n".join(lines).rstrip()


def _as_csv(made: Bill) -> str:
    return csv_text(_rows(made), _head(made))


def _as_markdown(made: Bill) -> str:
    lines = [
        f"# Chargeback by {made.by}",
        "",
        f"| {made.by} | {made.unit} | cost | share | jobs |",
        "|---|--:|--:|--:|--:|",
    ]
    lines += ["| " + " | ".join(map(markdown, row)) + " |" for row in _shown(made)]
    lines += ["", *(f"- {name}: {text}" for name, text in _totals(made))]
    lines += [f"- {note.rule} ({note.severity}): {markdown(note.text)}" for note in made.notes]
    return "\n".join(lines)


def _as_json(made: Bill) -> str:
    def amount(value: float | None, unit: str) -> dict[str, Any]:
        return {"value": value, "unit": unit}

    return json.dumps(
        {
            "schema": "rackside.chargeback/1",
            "worksheet": SLUG,
            "state": made.state,
            "inputs": {"by": {"value": made.by, "unit": "text", "origin": "user", "source": ""}},
            "outputs": {
                _snake(made.unit): amount(made.hours, made.unit),
                "charged": amount(made.charged, made.unit),
                "cost": amount(made.cost, "currency"),
                "credited": amount(made.credited, made.unit),
                "unattributed": amount(made.unattributed, made.unit),
                "idle_card_hours": amount(made.idle_card_hours, "card-hours"),
                "reconcile_diff": amount(made.reconcile_diff_pct, "%"),
            },
            "table": [dict(zip(_head(made), row, strict=True)) for row in _rows(made)],
            "advice": [{"rule": n.rule, "severity": n.severity, "text": n.text, "inputs": []} for n in made.notes],
            "notes": [f"{made.rows_not_understood} of {made.rows} lines not understood"],
        },
        ensure_ascii=False,
        indent=1,
    )


FORMATS = {"text": _as_text, "json": _as_json, "csv": _as_csv, "markdown": _as_markdown}
