"""What the walk needs now: progress of the checks, a question, a note to read, or the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from common.words import say
from tui import nodetext
from tui.widgets.columns import Columns
from tui.widgets.rows import Row, Rows

BAR = 20


def _height(text: Content, width: int) -> int:
    return len(text.wrap(width))


class Prompt(Vertical):
    """The lower part of the walk. It says what was chosen and decides nothing."""

    @dataclass
    class Chosen(Message):
        """A row was taken: a choice of the question, or what to do next."""

        choice: str

    @dataclass
    class Typed(Message):
        """A free answer."""

        text: str

    def compose(self) -> ComposeResult:
        """Text, choices, a line for free answers."""
        with VerticalScroll(id="text-scroll", can_focus=False):
            yield Static(id="text", markup=False)
        yield Rows(id="choices")
        yield Input(id="free", placeholder=say("walk.free"), compact=True)

    def on_mount(self) -> None:
        """Nothing is asked yet."""
        self.query_one(Input).cursor_blink = False
        self._show(Content(""), {})

    def _show(self, text: Content, choices: Mapping[str, str], *, free: bool = False) -> None:
        self.query_one("#text", Static).update(text)
        rows = self.query_one(Rows)
        rows.fill(
            [
                Row(name, Columns((Content(str(n)), 2), (nodetext.line(words), 0)))
                for n, (name, words) in enumerate(choices.items(), 1)
            ],
            choose=next(iter(choices), None),
        )
        rows.display = bool(choices)
        line = self.query_one(Input)
        line.value = ""
        line.display = free

    def running(self, title: str, why: str, done: int, total: int, check: str, nodes: str = "") -> None:
        """Checks at work; `nodes` says how asking a living cluster goes."""
        filled = BAR * done // total if total else 0
        bar = f"[{'#' * filled}{'.' * (BAR - filled)}]"
        parts = [nodetext.line(title, "bold"), Content(f"{bar} {say('running', done=done, total=total, check=check)}")]
        if nodes:
            parts.append(nodetext.block(nodes))
        if why:
            parts.append(nodetext.block(why, "$text-muted"))
        text = Content("\n").join(parts)
        if self.query_one(Rows).display:
            self._show(text, {})
            return
        shown = self.query_one("#text", Static)
        # it changes a few times a second: the screen is laid out anew only when it takes more lines, or fewer
        before, width = shown.content, max(1, shown.size.width)
        same = isinstance(before, Content) and _height(before, width) == _height(text, width)
        shown.update(text, layout=not same)

    def ask(self, text: str, why: str, choices: Mapping[str, str], free: bool) -> None:
        """A question."""
        parts = [nodetext.block(text, "bold")]
        if why:
            parts.append(nodetext.block(why, "$text-muted"))
        self._show(Content("\n").join(parts), choices, free=free)
        self.query_one(Rows).focus()

    def offer(self, title: str, text: str, choices: Mapping[str, str], *, style: str = "bold") -> None:
        """A note, a stop or the end, with what can be done next."""
        parts = [nodetext.block(title, style)] if title else []
        if text:
            parts.append(nodetext.block(text))
        self._show(Content("\n").join(parts), choices)
        self.query_one(Rows).focus()

    def pick(self, number: int) -> None:
        """Takes the numbered choice, if there is one."""
        rows = self.query_one(Rows)
        if rows.display and number <= len(rows.rows):
            self.post_message(self.Chosen(rows.rows[number - 1].key))

    @on(Rows.OptionSelected)
    def _selected(self, event: Rows.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Chosen(event.option_id or ""))

    @on(Input.Submitted)
    def _typed(self, event: Input.Submitted) -> None:
        event.stop()
        if event.value.strip():
            self.post_message(self.Typed(event.value.strip()))
