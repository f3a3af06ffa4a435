"""What every screen has: the top line, the key line, a place for problems, and words in the reader's language."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from textual.app import ComposeResult
from textual.binding import ActiveBinding
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from common.words import say
from tui import keys, nodetext
from tui.widgets.lines import KeyLine, TopLine

if TYPE_CHECKING:
    from tui.app import RacksideApp


class RackScreen(Screen[None]):
    """A full screen between the two lines."""

    PLACE = ""

    @property
    def rack(self) -> RacksideApp:
        """The application, with its type."""
        return cast("RacksideApp", self.app)

    @property
    def active_bindings(self) -> dict[str, ActiveBinding]:
        """The bindings with their descriptions said; the application alone keeps the names of strings."""
        found = super().active_bindings
        for binding in keys.SCREENS.get(self.PLACE, ()):
            # a list's own Enter does the same as the screen's, and says less
            if binding.key == "enter" and (active := found.get("enter")) is not None and not active.binding.show:
                found["enter"] = ActiveBinding(self, binding, True, "")
        return {key: said(active) for key, active in found.items()}

    def compose(self) -> ComposeResult:
        """Top line, body, problem, keys."""
        yield TopLine(id="top")
        yield from self.body()
        yield Static(id="problem", markup=False)
        yield KeyLine(id="keys")

    def body(self) -> Iterable[Widget]:
        """Widgets of the screen."""
        return ()

    def place(self) -> str:
        """Where one is, for the top line."""
        return say(f"place.{self.PLACE}")

    def on_mount(self) -> None:
        """Shows the cluster from the first frame on."""
        self.show_top()

    def on_screen_resume(self) -> None:
        """Another screen may have opened another cluster."""
        self.show_top()

    def show_top(self) -> None:
        """Name of the cluster and source on the top line."""
        top = self.query_one(TopLine)
        top.cluster, top.source, top.place = self.rack.cluster_label, self.rack.source, self.place()

    def problem(self, text: str = "") -> None:
        """Shows what went wrong, on the screen it belongs to, until it is cleared."""
        shown = self.query_one("#problem", Static)
        shown.update(nodetext.block(f"! {text}", "bold $text-error") if text else "")
        shown.display = bool(text)

    def tell(self, text: str) -> None:
        """A short word that something was done."""
        self.notify(text, markup=False, timeout=4)

    def action_back(self) -> None:
        """To the screen below."""
        self.app.pop_screen()


def said(active: ActiveBinding) -> ActiveBinding:
    """A binding with description and tooltip in the reader's language."""
    binding = replace(
        active.binding, description=say(active.binding.description), tooltip=say(str(active.binding.tooltip or ""))
    )
    return ActiveBinding(active.node, binding, active.enabled, binding.tooltip)
