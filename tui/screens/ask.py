"""Small dialogs: one line of text, or some of a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from textual import on
from textual.app import ComposeResult
from textual.binding import ActiveBinding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Label, Static

from common.words import say
from tui import keys, nodetext
from tui.screens.base import said
from tui.widgets.rows import Row, Rows


class AskText(ModalScreen[str | None]):
    """One line of text; `check` says what is wrong with it, or nothing."""

    CSS_PATH = "../styles/ask.tcss"
    BINDINGS = [*keys.SCREENS["dialog"]]

    def __init__(self, title: str, *, value: str = "", check: Callable[[str], str] | None = None) -> None:
        super().__init__()
        self._title, self._value, self._check = title, value, check

    @property
    def active_bindings(self) -> dict[str, ActiveBinding]:
        """In the reader's language."""
        return {key: said(active) for key, active in super().active_bindings.items()}

    def compose(self) -> ComposeResult:
        """Title, line, what is wrong, keys."""
        with Vertical(id="dialog"):
            yield Label(self._title, markup=False)
            yield Input(self._value, id="text", select_on_focus=False)
            yield Static(id="wrong", markup=False)
            yield Label(say("dialog.keys"), id="hint", markup=False)

    def on_mount(self) -> None:
        """Ready to type."""
        line = self.query_one(Input)
        line.cursor_blink = False
        line.focus()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        wrong = self._check(event.value.strip()) if self._check else ""
        if wrong:
            self.query_one("#wrong", Static).update(nodetext.block(f"! {wrong}", "bold $text-error"))
            return
        self.dismiss(event.value.strip())

    def action_cancel(self) -> None:
        """Nothing was meant."""
        self.dismiss(None)


class PickSome(ModalScreen[tuple[str, ...] | None]):
    """Some of a list; space or Enter toggles, the last row accepts."""

    CSS_PATH = "../styles/ask.tcss"
    BINDINGS = [*keys.SCREENS["dialog"]]
    DONE = "=done"

    def __init__(self, title: str, names: Sequence[str], chosen: Sequence[str]) -> None:
        super().__init__()
        self._title, self._names, self._chosen = title, tuple(names), list(chosen)

    def compose(self) -> ComposeResult:
        """Title, list, keys."""
        with Vertical(id="dialog"):
            yield Label(self._title, markup=False)
            yield Rows(id="some")
            yield Label(say("dialog.pick-keys"), id="hint", markup=False)

    def on_mount(self) -> None:
        """First row chosen."""
        self._fill()
        self.query_one(Rows).focus()

    def _fill(self) -> None:
        rows = [Row(self.DONE, Content(say("dialog.done")))]
        for name in self._names:
            mark = "x" if name in self._chosen else " "
            rows.append(Row(f"+{name}", Content.assemble(f"[{mark}] ", nodetext.line(name))))
        self.query_one(Rows).fill(rows)

    @on(Rows.OptionSelected)
    def _selected(self, event: Rows.OptionSelected) -> None:
        event.stop()
        key = event.option_id or ""
        if key == self.DONE:
            self.dismiss(tuple(self._chosen))
            return
        name = key[1:]
        if name in self._chosen:
            self._chosen.remove(name)
        else:
            self._chosen.append(name)
        self._fill()

    def action_cancel(self) -> None:
        """Leaves things as they were."""
        self.dismiss(None)


class PickOne(ModalScreen[str | None]):
    """One of a list; `/` finds in it."""

    CSS_PATH = "../styles/ask.tcss"
    BINDINGS = [*keys.SCREENS["dialog"], *keys.SCREENS["pick"]]

    def __init__(self, title: str, names: Sequence[str], chosen: str) -> None:
        super().__init__()
        self._title, self._names, self._chosen = title, tuple(names), chosen

    def compose(self) -> ComposeResult:
        """Title, list, a line to find by, keys."""
        with Vertical(id="dialog"):
            yield Label(self._title, markup=False)
            yield Rows(id="some")
            yield Label(say("dialog.pick-one-keys"), id="hint", markup=False)

    def on_mount(self) -> None:
        """On the choice that stands."""
        rows = self.query_one(Rows)
        rows.fill([Row(f"+{name}", nodetext.line(name)) for name in self._names], choose=f"+{self._chosen}")
        rows.focus()

    @on(Rows.OptionSelected)
    def _selected(self, event: Rows.OptionSelected) -> None:
        event.stop()
        self.dismiss((event.option_id or "+")[1:])

    def action_find(self) -> None:
        """Asks what to look for."""

        def found(needle: str | None) -> None:
            if needle:
                self.query_one(Rows).find(needle)

        self.app.push_screen(AskText(say("search.title")), found)

    def action_cancel(self) -> None:
        """Leaves things as they were."""
        self.dismiss(None)


def free_file(path: str) -> str:
    """Why a new file cannot lie there, or nothing."""
    if not path:
        return say("report.save-empty")
    place = Path(path).expanduser()
    if place.exists():
        return say("report.save-exists", path=str(place))
    if not place.parent.is_dir():
        return say("report.save-no-folder", path=str(place.parent))
    return ""
