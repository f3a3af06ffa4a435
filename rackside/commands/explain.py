"""`rackside explain`: what a check, fault, threshold, command, runbook or worksheet means, and where it comes from."""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Iterator
from typing import Any

from common.errors import UsageError
from common.safetext import safe_line
from rackside import cli, output, planning, status

WIDTH = 80
WORKSHEET = "worksheet:"
"""Before the name of a worksheet, which may be that of a runbook, too."""


def add(parser: argparse.ArgumentParser) -> None:
    """Options."""
    parser.add_argument(
        "id",
        metavar="ID",
        help="id of a check, fault, threshold, command or runbook, or worksheet:NAME, or worksheet:NAME.ROW",
    )
    planning.options(parser)
    cli.format_options(parser, "text", "json")


def run(args: argparse.Namespace) -> int:
    """Prints the explanation."""
    found = _worksheet(args) if args.id.startswith(WORKSHEET) else _find(args.id) or _worksheet(args)
    if found is None:
        from common.yamlfile import nearest

        raise UsageError(f"nothing is called `{args.id}`; {nearest(args.id, _all_ids())}")
    if args.format == "json":
        output.emit(json.dumps({"schema": "rackside.explain/1", **found}, indent=2, ensure_ascii=False), args.output)
    else:
        output.emit("\n".join(_text(found)), args.output)
    return status.HEALTHY


def _worksheet(args: argparse.Namespace) -> dict[str, Any] | None:
    """A worksheet, or a line of one with the numbers of `--set` and `--plan`; None when the id names no sheet."""
    slug, _, row = args.id.removeprefix(WORKSHEET).partition(".")
    if not args.id.startswith(WORKSHEET) and slug not in planning.library(args.file).slugs():
        return None
    from worksheets import explained

    book = planning.workbook(args, slug)
    return explained.line(book, slug, row) if row else explained.sheet(book, slug)


def _find(name: str) -> dict[str, Any] | None:
    from checks import catalogue, faults, rules, thresholds

    if "." in name and (rule := rules.get(name)):
        return {
            "kind": "check",
            "id": rule.id,
            "title": rule.title,
            "why": rule.why,
            "scope": rule.scope,
            "reads": [
                r.command + (" (two rounds)" if r.rounds == 2 else "") + (" (optional)" if r.optional else "")
                for r in rule.reads
            ],
            "thresholds": list(rule.thresholds),
            "faults": list(rule.faults),
        }
    if fault := faults.get(name):
        checks = [r.id for r in rules.every() if name in r.faults]
        return {"kind": "fault", **fault.model_dump(), "found by": checks}
    if threshold := thresholds.table().get(name):
        checks = [r.id for r in rules.every() if name in r.thresholds]
        return {"kind": "threshold", **threshold.model_dump(), "used by": checks}
    if command := catalogue.table().get(name):
        checks = [r.id for r in rules.every() if any(read.command == name for read in r.reads)]
        runs = "yes" if command.runnable else "no: shown in remedies only, never run"
        return {"kind": "command", **command.model_dump(), "runs": runs, "read by": checks}
    from runbooks import loader

    for book in loader.shipped():
        if book.id == name:
            steps = [f"{s.id}: {s.title or s.id}" for s in book.steps]
            return {"kind": "runbook", "id": book.id, "title": book.title, "words": list(book.words), "steps": steps}
    return None


def _all_ids() -> list[str]:
    from checks import catalogue, faults, rules, thresholds
    from runbooks import loader
    from worksheets.library import of_user

    return [
        *of_user().slugs(),
        *(r.id for r in rules.every()),
        *faults.every(),
        *thresholds.table(),
        *catalogue.table(),
        *(b.id for b in loader.shipped()),
    ]


def _text(found: dict[str, Any]) -> Iterator[str]:
    yield f"{found['kind']} {found['id']}"
    for key, value in found.items():
        if key in ("kind", "id") or value in (None, "", [], (), {}):
            continue
        label = key.replace("_", " ")
        if isinstance(value, list | tuple):
            yield f"  {label}:"
            for item in value:
                yield from _item(item)
        elif isinstance(value, dict):
            yield f"  {label}: " + ", ".join(f"{k} = {v}" for k, v in value.items())
        else:
            yield from _wrapped(f"{label}: {value}", "  ", "    ")


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    clean = safe_line(text, limit=4000)
    return textwrap.wrap(clean, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)


def _item(item: Any) -> Iterator[str]:
    if not isinstance(item, dict):
        yield from _wrapped(str(item), "    - ", "      ")
        return
    if "step" in item:
        yield from _wrapped(f"[{item['risk']}] {item['step']}", "    - ", "      ")
        return
    if "origin" in item:
        usual = f" ({item['usual']})" if item["usual"] else ""
        rest = "; ".join(text for text in (item["label"], item["origin"], item["source"], item["date"]) if text)
        yield from _wrapped(f"{item['name']} = {item['value']}{usual}: {rest}", "    - ", "      ")
        return
    yield f"    - {item.get('command_id') or item.get('command', '')} ({item.get('role', '')})"
    for key in ("command", "field", "healthy", "faulty", "read"):
        if item.get(key):
            yield from _wrapped(f"{key}: {item[key]}", "        ", "          ")
    if item.get("thresholds"):
        yield "        thresholds: " + ", ".join(item["thresholds"])
