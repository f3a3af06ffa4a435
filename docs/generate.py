"""Writes the reference pages from the registries: `python docs/generate.py`; a test holds them fresh."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from worksheets.model import Input

HERE = Path(__file__).parent
if str(HERE.parent) not in sys.path:
    sys.path.insert(0, str(HERE.parent))

from checks import catalogue, faults, rules, thresholds  # noqa: E402
from checks.findings import LAYERS  # noqa: E402

REFERENCE = HERE / "reference"
NOTICE = "<!-- written by docs/generate.py; change the data, not this page -->"


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    def row(cells: Sequence[object]) -> str:
        texts = (str(c).replace("|", "\\|").replace("\n", " ").replace("<", "&lt;") for c in cells)
        return "| " + " | ".join(texts) + " |"

    return [row(head), "|" + "---|" * len(head), *(row(r) for r in rows)]


def commands() -> list[str]:
    """Every command text that may ever reach a node, and those that never do."""
    lines = ["# Commands", "", NOTICE, ""]
    lines += [
        "Nothing outside this catalogue ever reaches a node. Parameters in braces are validated by type before they "
        "come near a command line. Entries marked *shown only* appear in remedies for humans; Rackside refuses to run "
        "them.",
        "",
    ]
    groups: dict[str, list[catalogue.Command]] = {}
    for command in catalogue.table().values():
        name = f"{command.roles[0]}" + (f" ({command.os})" if command.os else "")
        groups.setdefault(name, []).append(command)
    for name, entries in groups.items():
        lines += [f"## {name}", ""]
        rows = (
            (
                f"`{c.id}`",
                f"`{c.command}`",
                ", ".join(f"{k}: {v}" for k, v in c.params.items()) or "-",
                c.root,
                c.cost if c.runnable else f"**shown only** ({c.cost})",
                c.timeout_s,
                c.fanout,
                c.since,
            )
            for c in entries
        )
        head = ("id", "command", "parameters", "root", "cost", "timeout s", "nodes at once", "since")
        lines += [*_table(head, rows), ""]
    return lines


def checks() -> list[str]:
    """Every check with what it reads, its limits and the faults it can name."""
    lines = ["# Checks", "", NOTICE, ""]
    for layer in LAYERS:
        found = rules.of_layer(layer)
        lines += [f"## {layer} ({len(found)})", ""]
        for r in found:
            reads = ", ".join(
                f"`{x.command}`"
                + (" twice" if x.rounds == 2 else f" x{x.samples}" if x.samples > 1 else "")
                + (" (optional)" if x.optional else "")
                for x in r.reads
            )
            lines += [f"### {r.id}", "", f"{r.title}. {r.why}", ""]
            lines += [f"- scope: {r.scope}", f"- reads: {reads or 'attachments'}"]
            if r.thresholds:
                lines.append("- limits: " + ", ".join(f"`{t}`" for t in r.thresholds))
            if r.faults:
                lines.append("- faults: " + ", ".join(f"`{f}`" for f in r.faults))
            lines.append("")
    return lines


def fault_pages() -> list[str]:
    """The fault catalogue in short; `rackside explain ID` gives all of it."""
    lines = ["# Faults", "", NOTICE, ""]
    found_by: dict[str, list[str]] = {}
    for r in rules.every():
        for f in r.faults:
            found_by.setdefault(f, []).append(r.id)
    for layer in LAYERS:
        entries = faults.of_layer(layer).values()
        lines += [f"## {layer} ({len(entries)})", ""]
        rows = (
            (f"`{f.id}`", f.severity, f.title, ", ".join(f"`{c}`" for c in found_by.get(f.id, [])) or "not yet checked")
            for f in entries
        )
        lines += [*_table(("id", "severity", "fault", "found by"), rows), ""]
    return lines


def threshold_pages() -> list[str]:
    """Every limit with its kind and source."""
    lines = ["# Thresholds", "", NOTICE, ""]
    sections: dict[str, list[thresholds.Threshold]] = {}
    for t in thresholds.table().values():
        sections.setdefault(t.section, []).append(t)
    for section, entries in sections.items():
        lines += [f"## {section}", ""]
        rows = (
            (f"`{t.id}`", t.what, t.default, t.unit, t.kind, t.source, "yes" if t.override else "no") for t in entries
        )
        lines += [*_table(("id", "what", "default", "unit", "kind", "source", "a cluster may change it"), rows), ""]
    return lines


def runbook_pages() -> list[str]:
    """Every shipped runbook, step by step."""
    from runbooks import loader

    lines = ["# Runbooks", "", NOTICE, ""]
    for book in loader.shipped():
        lines += [f"## {book.id}: {book.title}", "", "What the on-call says: " + ", ".join(book.words) + ".", ""]
        for step in book.steps:
            asked = ", ".join(f"`{c}`" for c in getattr(step, "checks", ()) or ())
            lines.append(f"- **{step.id}** {step.title or ''}" + (f" ({asked})" if asked else ""))
        lines.append("")
    return lines


def worksheet_pages() -> list[str]:
    """Every shipped worksheet: what to give, what comes out by which formula, and what it says about it."""
    from worksheets.library import FOLDER, Library

    library = Library()
    sheets = sorted((library.sheet(p.stem) for p in FOLDER.glob("*.yaml")), key=lambda sheet: sheet.id)
    lines = ["# Worksheets", "", NOTICE, ""]
    lines += [
        "Defaults and ranges are in the unit beside them, money in USD. `rackside explain worksheet:NAME.ROW` shows a "
        "formula with its numbers, where each comes from, and its date.",
        "",
        *_table(("id", "name", "question"), ((s.id, f"[`{s.sheet}`](#{s.sheet})", s.question) for s in sheets)),
    ]
    for sheet in sheets:
        lines += ["", f"## {sheet.sheet}", "", f"{sheet.title}. {sheet.question}", ""]
        inputs = (
            (f"`{e.name}`", e.label, e.unit, _default(e), _range(e), _link(e), e.source or "-") for e in sheet.inputs
        )
        lines += _table(("input", "what", "unit", "default", "allowed", "taken from", "source"), inputs)
        rows = ((f"`{r.name}`", r.label, r.unit, f"`{r.formula}`", r.source or "-") for r in sheet.rows if r.show)
        lines += ["", *_table(("result", "what", "unit", "formula", "source"), rows)]
        if sheet.advice:
            rules = ((a.id, a.severity, f"`{a.when}`", a.text, a.source or "-") for a in sheet.advice)
            lines += ["", *_table(("rule", "severity", "when", "says", "source"), rules)]
    return lines


def _link(entry: Input) -> str:
    return f"`{entry.from_}`" if entry.from_ else "-"


def _default(entry: Input) -> str:
    value = entry.default
    text = "-" if value in (None, "") else f"{value:.12g}" if isinstance(value, int | float) else str(value)
    if isinstance(value, bool):
        text = "yes" if value else "no"
    return text + (f" ({entry.spread[0]:.12g} to {entry.spread[1]:.12g})" if entry.spread else "")


def _range(entry: Input) -> str:
    if entry.range:
        return f"{entry.range[0]:.12g} to {entry.range[1]:.12g}"
    return entry.choices if isinstance(entry.choices, str) else ", ".join(entry.choices) or "-"


def key_page() -> list[str]:
    """Every key of the terminal application."""
    from tui import keys

    return ["# Keys", "", NOTICE, "", *_table(("where", "key", "does"), keys.reference()), ""]


PAGES = {
    "commands.md": commands,
    "checks.md": checks,
    "faults.md": fault_pages,
    "thresholds.md": threshold_pages,
    "runbooks.md": runbook_pages,
    "worksheets.md": worksheet_pages,
    "keys.md": key_page,
}


def main() -> None:
    """Writes every page."""
    REFERENCE.mkdir(exist_ok=True)
    for name, make in PAGES.items():
        (REFERENCE / name).write_text("\n".join(make()).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
