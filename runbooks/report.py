"""The report of a walk, finished or not: plain text, Markdown, HTML and JSON, all from the same blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TypeAlias

from rich.cells import cell_len, split_text

from checks.findings import Evidence, Finding, Status
from common.page import page
from common.safetext import markdown as _md
from common.safetext import markdown_code as _md_code
from common.safetext import safe, safe_line
from common.words import say
from runbooks.documents import Conclusion, PathStep, WalkDocument

WIDTH = 80
QUOTED = 3
"""Pieces of evidence quoted per finding; the JSON has all."""
QUOTED_LINES = 6


@dataclass(frozen=True, slots=True)
class Heading:
    """Level 1 to 3."""

    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text."""

    text: str


@dataclass(frozen=True, slots=True)
class Item:
    """One line of a list; `depth` from 0."""

    text: str
    depth: int = 0
    code: str = ""


@dataclass(frozen=True, slots=True)
class Quote:
    """Lines of an output as they were."""

    caption: str
    lines: tuple[str, ...]


Block: TypeAlias = Heading | Paragraph | Item | Quote


def blocks(document: WalkDocument) -> list[Block]:
    """The report as blocks, safe to show."""
    return list(_blocks(document))


def headline(document: WalkDocument) -> str:
    """The verdict in one line."""
    if document.verdict == "fault":
        causes = [c for c in document.conclusions if c.role == "initiating" and c.certainty != "hypothesis"]
        first = causes[0] if causes else document.conclusions[0]
        where = first.nodes or ", ".join(first.entities[:3])
        more = f" (+{len(causes) - 1})" if len(causes) > 1 else ""
        return say("fault") + f": {safe_line(first.title)}" + (f" @ {safe_line(where)}" if where else "") + more
    if document.verdict == "healthy":
        return say("healthy") + ": " + say("everything that was looked at answered, and nothing is wrong")
    if document.ended is None:
        return say("undecided") + ": " + say("the walk is not finished")
    return say("undecided") + ": " + say("no cause proven, and not everything could be told")


def _blocks(document: WalkDocument) -> Iterator[Block]:
    yield Heading(1, f"{safe_line(document.title or document.runbook)} - {safe_line(document.cluster)}")
    yield Paragraph(headline(document))
    ended = document.ended or say("still going on")
    yield Item(f"{say('runbook')}: {safe_line(document.runbook)}")
    yield Item(f"{say('source')}: {document.source}")
    yield Item(f"{say('started')}: {document.started}, {say('ended')}: {ended}")
    if document.conclusions:
        yield Heading(2, say("Conclusions"))
        for conclusion in document.conclusions:
            yield from _conclusion(conclusion, document.findings)
    yield from _loose(document)
    for step in document.path:
        if step.text:
            yield Heading(2, safe_line(step.title) or say("Note of the runbook"))
            yield Paragraph(safe(step.text))
    yield from _rest(document)


def _conclusion(c: Conclusion, findings: Sequence[Finding]) -> Iterator[Block]:
    yield Heading(3, f"{safe_line(c.title)} [{c.fault}]")
    caused = f" ({say('brought about by')} {', '.join(c.caused_by)})" if c.caused_by else ""
    yield Item(f"{c.layer}, {c.severity}; {c.role}{caused}; {c.certainty}")
    if c.nodes:
        yield Item(f"{say('where')}: {safe_line(c.nodes)}")
    if c.entities:
        yield Item(f"{say('at')}: {_listed(c.entities)}")
    if c.at:
        yield Item(f"{say('seen')}: {safe_line(c.at)}")
    for finding in findings:
        if finding.check in c.because and c.fault in finding.faults and finding.accuses:
            yield from _finding(finding)
    if c.remedy:
        yield Item(f"{say('what to do, least risk first')}:")
        for remedy in c.remedy:
            yield Item(f"[{remedy.risk}] {safe_line(remedy.step)}", 1)
            if remedy.command:
                yield Item("", 2, code=safe_line(remedy.command))
            if remedy.rollback:
                yield Item(f"{say('way back')}: {safe_line(remedy.rollback)}", 2)
    if c.confirm:
        yield Item(f"{say('how to confirm')}: {safe_line(c.confirm)}")
    if c.alternatives:
        yield Item(f"{say('looks alike and is not ruled out')}: {', '.join(c.alternatives)}")


def _finding(finding: Finding) -> Iterator[Block]:
    where = f" {safe_line(finding.nodes)}" if finding.nodes else ""
    yield Item(f"{finding.check} {finding.status.word}{where}: {safe_line(finding.summary)}")
    values = [
        f"{safe_line(o.name)} = {safe_line(str(o.value))}{' ' + o.unit if o.unit else ''}"
        + (f" ({safe_line(o.nodes)})" if o.nodes else "")
        for o in finding.observed[:8]
    ]
    if values:
        yield Item("; ".join(values), 1)
    if finding.threshold:
        t = finding.threshold
        yield Item(f"{say('limit')}: {t.id} = {t.value} {t.unit} ({t.kind}; {safe_line(t.source)})", 1)
    for evidence in finding.evidence[:QUOTED]:
        yield _quote(evidence)


def _quote(e: Evidence) -> Quote:
    first, last = e.lines
    lines = safe(e.text).split("\n")
    shown = (*lines[:QUOTED_LINES], *(("…",) if len(lines) > QUOTED_LINES else ()))
    place = f"{first}" if first == last else f"{first}-{last}"
    return Quote(f"{safe_line(e.node)} {safe_line(e.command)}, {say('line')} {place}, {say('round')} {e.round}", shown)


def _loose(document: WalkDocument) -> Iterator[Block]:
    """What looked bad and belongs to no conclusion: shown, not accused."""
    concluded = {c.fault for c in document.conclusions}
    loose = [f for f in document.findings if f.status >= Status.WARN and not concluded.intersection(f.faults)]
    if loose:
        yield Heading(2, say("Also seen"))
        for finding in loose:
            yield from _finding(finding)


def _rest(document: WalkDocument) -> Iterator[Block]:
    yield Heading(2, say("Cleared"))
    for cleared in document.cleared:
        yield Item(f"{cleared.layer}: {', '.join(cleared.checks)}")
    if not document.cleared:
        yield Item(say("no layer could be cleared"))
    if document.unknown:
        yield Heading(2, say("Stayed unknown"))
        for unknown in document.unknown:
            where = f" {safe_line(unknown.nodes)}" if unknown.nodes else ""
            reason = safe_line(unknown.reason)
            missing = [m for m in unknown.missing if m not in reason]
            yield Item(f"{unknown.check}{where}: {reason}" + (f" ({', '.join(missing)})" if missing else ""))
    yield Heading(2, say("The way"))
    for step in document.path:
        yield Item(_step(step))
    if document.closing:
        yield Paragraph(safe(document.closing))
    if document.notes:
        yield Heading(2, say("Notes"))
        for note in document.notes:
            yield Item(f"{note.at} {safe_line(note.step)}: {safe_line(note.text)}")


def _step(step: PathStep) -> str:
    answer = f" = {safe_line(step.answer)}" if step.answer is not None else ""
    title = f" - {safe_line(step.title)}" if step.title else ""
    reason = f" ({safe_line(step.reason)})" if step.reason else ""
    concluded = f" => {', '.join(step.concluded)}" if step.concluded else ""
    return f"{step.at} {step.step}: {step.outcome}{answer}{reason}{title}{concluded}".strip()


def _listed(names: Sequence[str]) -> str:
    more = f" (+{len(names) - 12})" if len(names) > 12 else ""
    return safe_line(", ".join(names[:12])) + more


def as_json(document: WalkDocument) -> str:
    """The `walk` document of the contract."""
    return document.as_json()


def as_text(document: WalkDocument) -> str:
    """Plain text, at most 80 terminal cells wide."""
    lines: list[str] = []
    for block in blocks(document):
        match block:
            case Heading(level, text):
                lines += ["", *wrapped(text.upper() if level == 2 else text)] if level > 1 else wrapped(text)
            case Paragraph(text):
                lines += [line for part in text.split("\n") for line in wrapped(part)]
            case Item(text, depth, code):
                pad = "  " * depth
                lines += wrapped(code or text, f"{pad}{'$' if code else '-'} ", f"{pad}  ")
            case Quote(caption, quoted):
                lines += wrapped(caption, "    ", "    ")
                lines += [part for line in quoted for part in wrapped(line.expandtabs(4), "    | ", "    | ")]
    return "\n".join(lines) + "\n"


def wrapped(text: str, first: str = "", rest: str = "") -> list[str]:
    """The text broken at blanks so that no line is wider than 80 cells; longer words are cut where they must be."""
    lines: list[str] = []
    line, empty = first, True
    for word in re.split(r"(?<= )", text):
        while cell_len(line) + cell_len(word.rstrip(" ")) > WIDTH:
            if not empty:
                lines.append(line.rstrip(" "))
                line, empty = rest, True
                continue
            # a word wider than the line; at least one character goes, however wide
            head, word = split_text(word, max(WIDTH - cell_len(line), 2))
            lines.append(line + head)
            line = rest
        line, empty = line + word, False
    return [*lines, line.rstrip(" ")]


def as_markdown(document: WalkDocument) -> str:
    """Markdown for a ticket."""
    parts: list[str] = []
    for block in blocks(document):
        match block:
            case Heading(level, text):
                parts.append(f"\n{'#' * level} {_md(text)}\n")
            case Paragraph(text):
                parts.append("\n" + "\n".join(_md(line) for line in text.split("\n")) + "\n")
            case Item(text, depth, code):
                parts.append(f"{'  ' * depth}- {_md_code(code) if code else _md(text)}")
            case Quote(caption, lines):
                longest = max((len(m) for line in lines for m in re.findall(r"`+", line)), default=0)
                fence = "`" * max(3, longest + 1)
                body = "\n".join(f"  {line}" for line in lines)
                parts.append(f"\n  {_md(caption)}\n\n  {fence}text\n{body}\n  {fence}\n")
    return re.sub(r"\n{3,}(?=#)", "\n\n", "\n".join(parts)).strip() + "\n"


STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1c1c1c;"
    "background:#fff}pre{background:#f4f4f2;border:1px solid #ddd;padding:.5rem;overflow:auto}"
    "figcaption{font-size:13px;color:#555}figure{margin:.5rem 0 .5rem 1.5rem}h1{font-size:1.5rem}h2{font-size:1.2rem;"
    "border-bottom:1px solid #ccc}h3{font-size:1rem}ul{margin:.2rem 0}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#161616}pre{background:#222;border-color:#444}"
    "figcaption{color:#aaa}}"
)


def as_html(document: WalkDocument) -> str:
    """One HTML file that needs nothing else; every text escaped, no scripts."""
    parts: list[str] = []
    depth = -1
    for block in blocks(document):
        wanted = block.depth if isinstance(block, Item) else -1
        while depth > wanted:
            parts.append("</ul>")
            depth -= 1
        while depth < wanted:
            parts.append("<ul>")
            depth += 1
        match block:
            case Heading(level, text):
                parts.append(f"<h{level}>{escape(text)}</h{level}>")
            case Paragraph(text):
                parts.append("<p>" + escape(text).replace("\n", "<br>") + "</p>")
            case Item(text, _, code):
                parts.append(f"<li>{f'<code>{escape(code)}</code>' if code else escape(text)}</li>")
            case Quote(caption, lines):
                body = escape("\n".join(lines))
                parts.append(f"<figure><figcaption>{escape(caption)}</figcaption><pre>{body}</pre></figure>")
    parts.extend(["</ul>"] * (depth + 1))
    return page(f"{document.title or document.runbook} - {document.cluster}", STYLE, parts)
