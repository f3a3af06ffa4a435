"""Findings as text, JSON, Markdown, JUnit, Nagios plugin output and CSV."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from xml.sax.saxutils import escape, quoteattr

from checks.findings import Finding, Status
from common.csvtext import csv_text
from common.safetext import safe, safe_line

MARKS: Mapping[Status, str] = {
    Status.SKIPPED: "-",
    Status.OK: "✓",
    Status.UNKNOWN: "?",
    Status.WARN: "!",
    Status.CRITICAL: "✗",
}
_COLOURS: Mapping[Status, str] = {
    Status.SKIPPED: "2",
    Status.OK: "32",
    Status.UNKNOWN: "35",
    Status.WARN: "33",
    Status.CRITICAL: "31",
}


def mark(status: Status, colour: bool) -> str:
    """Mark and word of a status, coloured only when asked."""
    text = f"{MARKS[status]} {status.word}"
    return f"\x1b[{_COLOURS[status]}m{text}\x1b[0m" if colour else text


def as_text(label: str, worst: Status, findings: list[Finding], colour: bool) -> str:
    """One line a finding, worst first; evidence below what is not ok."""
    lines = [f"{label}: {mark(worst, colour)}"]
    for finding in sorted(findings, key=lambda f: -f.status):
        where = finding.nodes or ", ".join(finding.entities[:3])
        lines.append(f"{mark(finding.status, colour)}  {finding.check}  {safe_line(where, limit=60)}".rstrip())
        lines.append(f"    {safe_line(finding.summary)}")
        if finding.status >= Status.UNKNOWN:
            if finding.entities:
                more = f" and {len(finding.entities) - 6} more" if len(finding.entities) > 6 else ""
                lines.append(f"    at: {safe_line(', '.join(finding.entities[:6]))}{more}")
            if finding.threshold:
                t = finding.threshold
                lines.append(f"    limit: {t.id} = {t.value} {t.unit} ({t.kind}; {t.source})")
            for e in finding.evidence[:3]:
                lines.append(f"    {e.node} {safe_line(e.command)} line {e.lines[0]} (round {e.round}):")
                lines.extend(f"      | {line}" for line in safe(e.text).split("\n")[:6])
    return "\n".join(lines)


def as_json(label: str, worst: Status, findings: list[Finding], colour: bool) -> str:
    """The `check` document of the contract."""
    document = {
        "schema": "rackside.check/1",
        "cluster": label,
        "status": worst.word,
        "findings": [f.model_dump(mode="json") for f in findings],
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def as_markdown(label: str, worst: Status, findings: list[Finding], colour: bool) -> str:
    """A table for a ticket."""
    rows = [f"# {label}: {worst.word}", "", "| status | check | nodes | summary |", "|---|---|---|---|"]
    for f in sorted(findings, key=lambda f: -f.status):
        cells = (f"{MARKS[f.status]} {f.status.word}", f"`{f.check}`", f.nodes, safe_line(f.summary))
        rows.append("| " + " | ".join(c.replace("|", "\\|").replace("<", "&lt;") for c in cells) + " |")
    return "\n".join(rows)


def as_junit(label: str, worst: Status, findings: list[Finding], colour: bool) -> str:
    """JUnit XML: a test case per finding, unknown as error, skipped as skipped."""
    bad = sum(f.status >= Status.WARN for f in findings)
    unknown = sum(f.status == Status.UNKNOWN for f in findings)
    skipped = sum(f.status == Status.SKIPPED for f in findings)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuite name={quoteattr(label)} tests="{len(findings)}" failures="{bad}" errors="{unknown}" '
        f'skipped="{skipped}">',
    ]
    tags = {Status.SKIPPED: "skipped", Status.UNKNOWN: "error", Status.WARN: "failure", Status.CRITICAL: "failure"}
    for f in findings:
        name = f"{f.nodes or 'cluster'}: {safe_line(f.summary)}"
        head = f"  <testcase classname={quoteattr(f.check)} name={quoteattr(name)}"
        if tag := tags.get(f.status):
            body = escape("\n".join(safe(e.text) for e in f.evidence))
            lines.append(f"{head}><{tag} message={quoteattr(safe_line(f.summary))}>{body}</{tag}></testcase>")
        else:
            lines.append(f"{head}/>")
    return "\n".join([*lines, "</testsuite>"])


def as_nagios(label: str, worst: Status, findings: list[Finding], colour: bool) -> str:
    """One status line, then a line for each finding that is not ok."""
    words = {0: "OK", 1: "OK", 2: "UNKNOWN", 3: "WARNING", 4: "CRITICAL"}
    bad = sorted((f for f in findings if f.status >= Status.UNKNOWN), key=lambda f: -f.status)
    count = {s: sum(f.status == s for f in findings) for s in Status}
    first = safe_line(bad[0].summary, limit=120) if bad else f"{count[Status.OK]} findings ok"
    performance = " ".join(f"{s.word}={n}" for s, n in count.items())
    head = f"RACKSIDE {words[worst]} - {first.replace('|', '/')} | {performance}"
    return "\n".join(
        [head, *(f"{words[f.status]}: {f.check} {f.nodes} {safe_line(f.summary).replace('|', '/')}" for f in bad)]
    )


def as_csv(label: str, worst: Status, findings: list[Finding], colour: bool) -> str:
    """One row a finding."""
    head = ("status", "check", "layer", "nodes", "entities", "summary", "faults", "threshold", "reason")
    rows = (
        (
            f.status.word,
            f.check,
            f.layer,
            f.nodes,
            " ".join(f.entities),
            f.summary,
            " ".join(f.faults),
            f.threshold.id if f.threshold else "",
            f.reason,
        )
        for f in findings
    )
    return csv_text(rows, head)


FORMATS: Mapping[str, Callable[[str, Status, list[Finding], bool], str]] = {
    "text": as_text,
    "json": as_json,
    "markdown": as_markdown,
    "junit": as_junit,
    "nagios": as_nagios,
    "csv": as_csv,
}
