"""The conclusion: cause, where, how sure, what to do by risk, how to confirm; what was cleared, what stayed unknown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from textual import on
from textual.content import Content
from textual.widget import Widget

from checks.findings import Finding
from common.safetext import safe
from common.words import say
from tui import keys, nodetext
from tui.screens.base import RackScreen
from tui.screens.nodes import NODES_WIDTH, finding_row
from tui.widgets.columns import Columns
from tui.widgets.rows import Row, Rows

if TYPE_CHECKING:
    from runbooks.documents import Conclusion, WalkDocument
    from runbooks.session import Session

LABEL_WIDTH = 13


class ConclusionScreen(RackScreen):
    """Everything the walk concludes, as rows that can be reached, opened and copied."""

    PLACE = "conclusion"
    CSS_PATH = "../styles/nodes.tcss"
    BINDINGS = [*keys.SCREENS["conclusion"]]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        self.copies: dict[str, str] = {}
        self.findings: dict[str, Finding] = {}

    def body(self) -> Iterable[Widget]:
        """The rows."""
        yield Rows(id="conclusion")

    def on_mount(self) -> None:
        """Starts at the verdict."""
        super().on_mount()
        self.query_one(Rows).fill(self._rows(self.session.document()))
        self.query_one(Rows).focus()

    def _rows(self, walk: WalkDocument) -> Iterator[Row]:
        verdict = say(f"verdict.{walk.verdict}")
        ended = "" if walk.ended else f"  {say('conclusion.not-ended')}"
        head = Content.assemble((verdict, "bold"), "  ", nodetext.line(f"{walk.title} - {walk.cluster}"), ended)
        yield Row("verdict", head)
        if walk.closing:
            yield Row("closing", nodetext.block(walk.closing))
        if not walk.conclusions:
            yield Row("none", Content(say(f"conclusion.none.{walk.verdict}")))
        for number, conclusion in enumerate(walk.conclusions):
            yield from self._conclusion(str(number), number, conclusion, walk)
        yield Row("", Content(f"\n{say('conclusion.cleared')}"))
        if not walk.cleared:
            yield Row("cleared:none", Content(f"  {say('conclusion.nothing-cleared')}"))
        for cleared in walk.cleared:
            text = say("conclusion.cleared-by", count=len(cleared.checks), checks=", ".join(cleared.checks))
            name = Content(f"✓ {say(f'layer.{cleared.layer}')}")
            yield Row(f"cleared:{cleared.layer}", Columns((name, LABEL_WIDTH), (nodetext.line(text), 0), indent=2))
        yield Row("", Content(f"\n{say('conclusion.unknown')}"))
        if not walk.unknown:
            yield Row("unknown:none", Content(f"  {say('conclusion.nothing-unknown')}"))
        grouped: dict[tuple[str, str], list[str]] = {}
        for unknown in walk.unknown:
            grouped.setdefault((unknown.nodes, unknown.reason), []).append(unknown.check)
        for number, ((nodes, reason), checks) in enumerate(grouped.items()):
            key = f"unknown:{number}"
            found = next((f for f in walk.findings if f.check == checks[0] and f.nodes == nodes), None)
            if found is not None:
                self.findings[key] = found
            text = f"{', '.join(dict.fromkeys(checks))}: {reason}"
            self.copies[key] = f"{nodes} {text}".strip()
            cells = (nodetext.line(nodes or say("conclusion.whole-cluster"), "bold"), NODES_WIDTH)
            yield Row(key, Columns((Content("?"), 1), cells, (nodetext.line(text, limit=2000), 0), indent=2))

    def _conclusion(self, name: str, number: int, c: Conclusion, walk: WalkDocument) -> Iterator[Row]:
        role = say(f"role.{c.role}")
        yield Row("", Content(f"\n{number + 1}. {role}"))
        mark = "?" if c.certainty == "hypothesis" else "✗"
        style = "bold $text-error" if c.certainty != "hypothesis" else "bold $text-warning"
        where = c.nodes or ", ".join(c.entities[:4])
        self.copies[f"cause:{name}"] = f"{c.title}: {where} ({say(f'certainty.{c.certainty}')}) [{c.fault}]"
        yield Row(f"cause:{name}", Columns((Content(mark), 1), (nodetext.line(c.title, style), 0)))
        yield self._info(name, "where", where or say("conclusion.whole-cluster"))
        if c.nodes and c.entities:
            more = f" +{len(c.entities) - 8}" if len(c.entities) > 8 else ""
            yield self._info(name, "at", ", ".join(c.entities[:8]) + more)
        sure = f"{say(f'certainty.{c.certainty}')}; {say(f'severity.{c.severity}')}; {c.fault}"
        yield self._info(name, "sure", sure)
        if c.caused_by:
            yield self._info(name, "effect-of", ", ".join(c.caused_by))
        named = [f for f in walk.findings if f.check in c.because and f.accuses and c.fault in f.faults]
        for index, finding in enumerate(named):
            key = f"because:{name}:{index}"
            self.findings[key] = finding
            yield Row(key, finding_row(finding, indent=2))
        if c.alternatives:
            yield self._info(name, "or", ", ".join(c.alternatives))
        for index, remedy in enumerate(c.remedy):
            key = f"remedy:{name}:{index}"
            parts = [nodetext.block(remedy.step)]
            if remedy.command:
                parts.append(nodetext.block(f"$ {remedy.command}", "bold"))
            if remedy.rollback:
                parts.append(nodetext.block(f"{say('conclusion.rollback')}: {remedy.rollback}"))
            if remedy.confirm:
                parts.append(nodetext.block(f"{say('conclusion.confirm')}: {remedy.confirm}"))
            self.copies[key] = remedy.command or remedy.step
            risk = Content.styled(say(f"risk.{remedy.risk}"), "bold")
            yield Row(key, Columns((risk, LABEL_WIDTH), (Content("\n").join(parts), 0), indent=2))
        if c.confirm:
            yield self._info(name, "confirm", c.confirm)

    def _info(self, name: str, what: str, text: str) -> Row:
        label = Content.styled(say(f"conclusion.{what}"), "$text-muted")
        key = f"{what}:{name}"
        self.copies[key] = text
        return Row(key, Columns((label, LABEL_WIDTH), (nodetext.line(text, limit=2000), 0), indent=2))

    @on(Rows.OptionSelected)
    def _selected(self, event: Rows.OptionSelected) -> None:
        self._open(event.option_id or "")

    def action_choose(self) -> None:
        """Evidence of the row."""
        self._open(self.query_one(Rows).chosen or "")

    def _open(self, key: str) -> None:
        finding = self.findings.get(key)
        if finding is None and key.startswith(("cause:", "where:", "sure:")):
            finding = self.findings.get(f"because:{key.split(':')[1]}:0")
        if finding is None:
            self.tell(say("conclusion.no-evidence-here"))
            return
        from tui.screens.evidence import EvidenceScreen

        opened = self.session.opened
        self.app.push_screen(EvidenceScreen(finding, opened.store if opened else None))

    def action_copy(self) -> None:
        """The command of a remedy, or the words of the row."""
        key = self.query_one(Rows).chosen or ""
        if text := self.copies.get(key):
            # copied text lands on a command line: no control characters, and no newline that would run it
            self.app.copy_to_clipboard(safe(text).strip())
            self.tell(say("copied.command" if key.startswith("remedy:") else "copied.text"))
        else:
            self.tell(say("copied.nothing"))

    def action_report(self) -> None:
        """The report."""
        from tui.screens.report import ReportScreen

        self.app.push_screen(ReportScreen(self.session))

    def action_worksheet(self) -> None:
        """The worksheet that sizes what a cause is about: that of the row, else the first there is."""
        from checks import faults

        known = (faults.get(c.fault) for c in self.session.document().conclusions)
        told = [fault.worksheet if fault else "" for fault in known]
        number = (self.query_one(Rows).chosen or "").split(":")[1:2]
        here = int(number[0]) if number and number[0].isdigit() else 0
        slug = (told[here] if here < len(told) else "") or next(filter(None, told), "")
        if slug:
            self.rack.show_worksheet(slug)
        else:
            self.tell(say("conclusion.no-worksheet"))

    def action_nodes(self) -> None:
        """Nodes by what the walk found."""
        from tui.screens.nodes import NodesScreen

        if self.session.opened is not None:
            self.app.push_screen(NodesScreen(self.session.opened, self.session.walk.findings))
