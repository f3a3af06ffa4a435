"""A line to type a value in: up and down take the value and go on, Escape leaves it as it was."""

from __future__ import annotations

from dataclasses import dataclass

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Label

from tui import keys, nodetext


class ValueInput(Input):
    """The line itself."""

    BINDINGS = [*keys.SCREENS["edit"]]

    def action_take(self, step: int) -> None:
        """Takes the value and goes on."""
        self.post_message(EditLine.Taken(self.value, step))

    def action_leave(self) -> None:
        """Leaves things as they were."""
        self.post_message(EditLine.Left())


class EditLine(Horizontal):
    """Name, unit and value. It says what was typed and decides nothing."""

    @dataclass
    class Typed(Message):
        """Another key: the text as it stands."""

        text: str

    @dataclass
    class Taken(Message):
        """The text is meant; `step` rows on."""

        text: str
        step: int

    class Left(Message):
        """It was not meant."""

    def compose(self) -> ComposeResult:
        """Name and line."""
        yield Label(id="edit-name", markup=False)
        yield ValueInput(id="edit", compact=True, select_on_focus=False)

    def on_mount(self) -> None:
        """Not there before it is wanted."""
        self.query_one(Input).cursor_blink = False
        self.display = False

    def ask(self, name: str, text: str, *, typed: bool = False) -> None:
        """Shows the line; a text that somebody began to type is not replaced by the next key."""
        self.query_one(Label).update(nodetext.line(name))
        line = self.query_one(Input)
        with self.prevent(Input.Changed):
            line.value = text
        self.display = True
        line.focus()
        if typed:
            line.cursor_position = len(text)
            self.post_message(self.Typed(text))
        else:
            line.action_select_all()

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.display:
            self.post_message(self.Typed(event.value))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Taken(event.value, 1))
