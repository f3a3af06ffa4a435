"""The evidence of a finding: the raw output at the line, the limit with its source, and why it matters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from textual import on, work
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from checks.findings import Evidence, Finding
from common.safetext import safe, safe_line
from common.words import say
from tui import keys, nodetext
from tui.messages import OutputRead
from tui.screens.ask import AskText
from tui.screens.base import RackScreen
from tui.widgets.output import OutputView
from tui.widgets.rows import Row, Rows

if TYPE_CHECKING:
    from checks.view import Store

SHOWN_VALUES = 12


class EvidenceScreen(RackScreen):
    """One finding, its numbers, and the outputs they were read from."""

    PLACE = "evidence"
    CSS_PATH = "../styles/evidence.tcss"
    BINDINGS = [*keys.SCREENS["evidence"]]

    def __init__(self, finding: Finding, store: Store | None) -> None:
        super().__init__()
        self.finding, self.store = finding, store
        self.at = 0

    def body(self) -> Iterable[Widget]:
        """What was found; the outputs; the one at hand."""
        yield Container(
            VerticalScroll(Static(about(self.finding), id="about", markup=False), id="about-scroll"),
            Rows(id="outputs"),
            id="side",
        )
        yield Container(Static(id="output-title", classes="title", markup=False), OutputView(id="output"), id="main")

    def on_mount(self) -> None:
        """Opens the first output."""
        super().on_mount()
        evidence = self.finding.evidence
        outputs = self.query_one("#outputs", Rows)
        outputs.fill(Row(str(i), nodetext.line(label(e))) for i, e in enumerate(evidence))
        outputs.display = len(evidence) > 1
        (outputs if len(evidence) > 1 else self.query_one(OutputView)).focus()
        if evidence:
            self._open(0)
        else:
            self.query_one("#output-title", Static).update(Content(say("evidence.none")))
            missing = ", ".join(self.finding.missing)
            text = [say("evidence.missing", commands=missing)] if missing else []
            self.query_one(OutputView).show([*text, *([self.finding.reason] if self.finding.reason else [])])

    @on(Rows.OptionHighlighted)
    def _highlighted(self, event: Rows.OptionHighlighted) -> None:
        self._open(int(event.option_id or 0))

    @on(Rows.OptionSelected)
    def _selected(self, event: Rows.OptionSelected) -> None:
        self.query_one(OutputView).focus()

    def _open(self, index: int) -> None:
        self.at = index
        self.query_one("#output-title", Static).update(nodetext.line(label(self.finding.evidence[index])))
        self._read(index)

    @work(thread=True, group="output", exclusive=True, exit_on_error=False)
    def _read(self, index: int) -> None:
        lines, why = read(self.store, self.finding.evidence[index])
        self.post_message(OutputRead(index, lines, why))

    @on(OutputRead)
    def _show(self, event: OutputRead) -> None:
        if event.index != self.at:
            return
        evidence = self.finding.evidence[event.index]
        view = self.query_one(OutputView)
        if event.lines:
            self.problem()
            view.show(event.lines, evidence.lines)
        else:
            # the quoted lines are still there when the output is not
            self.problem(event.why)
            view.show(evidence.text.split("\n"))

    def action_search(self) -> None:
        """Asks what to look for."""

        def found(needle: str | None) -> None:
            if needle and not self.query_one(OutputView).find(needle):
                self.tell(say("search.nothing", text=safe_line(needle)))

        self.app.push_screen(AskText(say("search.title")), found)

    def action_next_match(self) -> None:
        """Searches on."""
        self.query_one(OutputView).again()

    def action_previous_match(self) -> None:
        """Searches back."""
        self.query_one(OutputView).again(backwards=True)

    def action_to_line(self) -> None:
        """Back to the line of the evidence."""
        if self.finding.evidence:
            self.query_one(OutputView).to_line(self.finding.evidence[self.at].lines[0])

    def action_copy(self) -> None:
        """The quoted lines with where they come from."""
        if not self.finding.evidence:
            return
        evidence = self.finding.evidence[self.at]
        self.app.copy_to_clipboard(f"{safe_line(label(evidence))}\n{safe(evidence.text)}\n")
        self.tell(say("copied.lines"))


def label(evidence: Evidence) -> str:
    """Node, command, lines and round of a piece of evidence."""
    first, last = evidence.lines
    lines = str(first) if first == last else f"{first}-{last}"
    return say("evidence.label", node=evidence.node, command=evidence.command, lines=lines, round=evidence.round)


def about(finding: Finding) -> Content:
    """Everything a finding says apart from the output."""
    from checks import rules

    rule = rules.get(finding.check)
    parts: list[Content] = [
        Content.assemble(nodetext.status(finding.status), "  ", nodetext.line(finding.check, "bold")),
        nodetext.block(finding.summary, "bold"),
    ]
    if place := nodetext.where(finding, shown=8):
        parts.append(_row("evidence.where", place))
    if finding.nodes and finding.entities:
        more = len(finding.entities) - 8
        parts.append(_row("evidence.at", ", ".join(finding.entities[:8]) + (f" +{more}" if more > 0 else "")))
    for o in finding.observed[:SHOWN_VALUES]:
        value = f"{o.name} = {say('value.unknown') if o.value is None else o.value} {o.unit}".rstrip()
        parts.append(_row("evidence.seen", f"{value}  ({o.nodes})" if o.nodes else value))
    if (more := len(finding.observed) - SHOWN_VALUES) > 0:
        parts.append(_row("evidence.seen", say("more", count=more)))
    if t := finding.threshold:
        parts.append(_row("evidence.limit", f"{t.id} = {t.value} {t.unit}".rstrip()))
        parts.append(_row("evidence.source", f"{t.kind}: {t.source}" if t.kind else t.source))
    if finding.status.word in ("warn", "critical"):
        parts.append(_row("evidence.certainty", say(f"certainty.{finding.certainty}")))
    if finding.reason and finding.reason not in finding.summary:
        parts.append(_row("evidence.reason", finding.reason))
    if rule is not None:
        parts.append(_row("evidence.asks", rule.title))
        parts.append(_row("evidence.why", rule.why))
    return Content("\n").join(parts)


def _row(name: str, text: str) -> Content:
    return Content.assemble((f"{say(name)}: ", "$text-muted"), nodetext.line(text, limit=2000))


def read(store: Store | None, evidence: Evidence) -> tuple[list[str], str]:
    """The lines of the output a piece of evidence was read from, or why there are none."""
    if store is None:
        return [], say("evidence.not-kept")
    command, *params = evidence.command.split("@")
    try:
        first: list[str] = []
        for sample in range(1, max(1, store.samples(evidence.node, command, tuple(params), evidence.round)) + 1):
            found = store.get(evidence.node, command, tuple(params), evidence.round, sample)
            if (data := getattr(found, "stdout", None)) is None:
                continue
            lines = _lines(data)
            if _quoted(lines, evidence):
                return lines, ""
            first = first or lines
        if not first:
            for name, data in store.attachment(command):
                if name in ("", *params) or not params:
                    return _lines(data), ""
        return first, "" if first else say("evidence.gone")
    except (OSError, ValueError) as error:
        return [], str(error)


def _lines(data: bytes) -> list[str]:
    lines = data.decode("utf-8", "replace").split("\n")
    return lines[:-1] if lines and not lines[-1] else lines


def _quoted(lines: list[str], evidence: Evidence) -> bool:
    # evidence does not name the sample inside a round; the quoted words do
    first = evidence.lines[0]
    if first > len(lines):
        return False
    return safe_line(lines[first - 1].rstrip("\r"))[:80] == evidence.text.split("\n")[0][:80]
