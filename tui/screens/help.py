"""Keys of the screen one came from, of all others, and what marks and words mean."""

from __future__ import annotations

from collections.abc import Iterable

from rich.cells import cell_len
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from checks.findings import Status
from common.words import say
from tui import keys, nodetext
from tui.screens.base import RackScreen


class HelpScreen(RackScreen):
    """One page, the keys at hand first."""

    PLACE = "help"
    CSS_PATH = "../styles/report.tcss"
    BINDINGS = [*keys.SCREENS["help"]]

    def __init__(self, place: str) -> None:
        super().__init__()
        self._from = place

    def body(self) -> Iterable[Widget]:
        """The page."""
        yield VerticalScroll(Static(page(self._from), markup=False), id="page")

    def on_mount(self) -> None:
        """Ready to scroll."""
        super().on_mount()
        self.query_one("#page").focus()


def page(place: str) -> Content:
    """The help with the keys of `place` first."""
    order = [p for p in (place, "app", "lists") if p in keys.SCREENS]
    order += [p for p in keys.SCREENS if p not in order]
    parts: list[Content] = []
    for name in order:
        parts.append(Content.styled(say("help.keys", place=say(f"place.{name}")), "bold underline"))
        for binding in keys.SCREENS[name]:
            if binding.id in keys.REPEATED:
                continue
            key = keys.display(binding)
            pad = " " * max(1, 8 - cell_len(key))
            parts.append(Content.assemble("  ", (key, "bold $text-accent"), pad, say(str(binding.tooltip))))
        if name == place:
            parts += [Content(""), *_marks()]
        parts.append(Content(""))
    return Content("\n").join(parts)


def _marks() -> list[Content]:
    parts = [Content.styled(say("help.marks"), "bold underline")]
    for status in reversed(Status):
        mark = nodetext.status(status)
        pad = " " * max(1, 14 - mark.cell_length)
        parts.append(Content.assemble("  ", mark, pad, say(f"status.{status.word}.means")))
    parts.append(Content(""))
    parts.append(Content.styled(say("help.certainty"), "bold underline"))
    for word in ("established", "supported", "hypothesis"):
        parts.append(Content(f"  {say(f'certainty.{word}')}: {say(f'certainty.{word}.means')}"))
    return parts
