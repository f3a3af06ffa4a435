"""`rackside list`: what there is."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

from common.errors import InputError
from common.safetext import safe_line
from rackside import cli, output, status

Row = dict[str, Any]


def add(parser: argparse.ArgumentParser) -> None:
    """Options."""
    parser.add_argument("what", choices=tuple(KINDS), help="what to list")
    cli.format_options(parser, "text", "json")


def run(args: argparse.Namespace) -> int:
    """Prints the table."""
    rows = KINDS[args.what]()
    if args.format == "json":
        text = json.dumps({"schema": "rackside.list/1", "what": args.what, "rows": rows}, indent=2, ensure_ascii=False)
    else:
        shown = [k for k in (rows[0] if rows else {}) if k not in HIDDEN]
        # command texts must be readable in full: they are what may reach a node
        width = None if args.what == "commands" else output.terminal_width()
        text = output.table([[_cell(r[k]) for k in shown] for r in rows], shown, width=width)
    output.emit(text, args.output)
    return status.HEALTHY


HIDDEN = frozenset({"why", "params", "source", "note"})


def _cell(value: Any) -> str:
    if isinstance(value, list | tuple):
        return safe_line(",".join(map(str, value)), limit=2000)
    return "" if value is None else safe_line(str(value), limit=2000)


def _clusters() -> list[Row]:
    from checks import clusters, inventory

    rows = []
    for name in clusters.samples():
        cluster = inventory.read(clusters.SAMPLES / name)
        overlays = clusters.overlays_of(clusters.SAMPLES / name)
        rows.append({"name": name, "overlays": overlays, "description": cluster.spec.description})
    return rows


def _runbooks() -> list[Row]:
    from runbooks import loader

    return [{"id": b.id, "title": b.title, "words": list(b.words)} for b in loader.shipped()]


def _checks() -> list[Row]:
    from checks import rules

    return [
        {
            "id": r.id,
            "scope": r.scope,
            "reads": [read.command for read in r.reads],
            "faults": list(r.faults),
            "title": r.title,
            "why": r.why,
        }
        for r in rules.every()
    ]


def _commands() -> list[Row]:
    from checks import catalogue

    return [
        {
            "id": c.id,
            "role": c.roles[0] if c.os is None else f"switch/{c.os}",
            "runs": "yes" if c.runnable else "shown only",
            "root": c.root,
            "cost": c.cost,
            "timeout_s": c.timeout_s,
            "parser": "yes" if catalogue.parser(c.id) else "no",
            "params": dict(c.params),
            "command": c.command,
        }
        for c in catalogue.table().values()
    ]


def _faults() -> list[Row]:
    from checks import faults

    return [{"id": f.id, "layer": f.layer, "severity": f.severity, "title": f.title} for f in faults.every().values()]


def _thresholds() -> list[Row]:
    from checks import thresholds

    return [
        {
            "id": t.id,
            "default": t.default,
            "unit": t.unit,
            "kind": t.kind,
            "override": "yes" if t.override else "no",
            "what": t.what,
            "source": t.source,
        }
        for t in thresholds.table().values()
    ]


def _worksheets() -> list[Row]:
    from worksheets.library import FOLDER, of_user

    rows, found = [], of_user()
    for slug in found.slugs():
        try:
            sheet = found.sheet(slug)
        except InputError as error:
            # one sheet of the user's that cannot be read must not hide the others
            output.narrate(f"rackside: {error}")
            continue
        whose = "shipped" if found.path(slug).parent == FOLDER else "yours"
        row = {"name": slug, "id": sheet.id, "title": str(sheet.title), "whose": whose}
        rows.append(row | {"question": str(sheet.question)})
    return sorted(rows, key=lambda row: str(row["id"]))


KINDS: dict[str, Callable[[], list[Row]]] = {
    "clusters": _clusters,
    "runbooks": _runbooks,
    "checks": _checks,
    "commands": _commands,
    "faults": _faults,
    "thresholds": _thresholds,
    "worksheets": _worksheets,
}
