"""The one way in which text from machines and people reaches the screen: made safe, and never read as markup."""

from __future__ import annotations

from textual.content import Content

from checks.findings import Finding, Status
from common.safetext import safe, safe_line
from common.words import say

STYLES = {
    Status.SKIPPED: "$text-muted",
    Status.OK: "$text-success",
    Status.UNKNOWN: "$text-accent",
    Status.WARN: "$text-warning",
    Status.CRITICAL: "bold $text-error",
}


def line(text: str, style: str = "", *, limit: int = 400) -> Content:
    """One line, whatever the text held."""
    return Content.styled(safe_line(text, limit=limit), style)


def block(text: str, style: str = "") -> Content:
    """Several lines, each of bounded length."""
    return Content.styled(safe(text).replace("\t", "    "), style)


def status(value: Status) -> Content:
    """Mark and word of a status; the colour only repeats what they say."""
    return Content.styled(f"{value.mark} {say(f'status.{value.word}')}", STYLES[value])


def where(finding: Finding, *, shown: int = 3) -> str:
    """Nodes of a finding, or its entities where it names none."""
    if finding.nodes or not finding.entities:
        return finding.nodes
    more = len(finding.entities) - shown
    return ", ".join(finding.entities[:shown]) + (f" +{more}" if more > 0 else "")
