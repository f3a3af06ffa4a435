"""The two lines that are always there: where one is and what the cluster is; and the keys that do something now."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from textual.content import Content
from textual.reactive import reactive
from textual.screen import Screen
from textual.widget import Widget

from common.safetext import safe_line
from common.words import say
from tui import keys

ALWAYS = ("back", "help")
"""Keys that are shown however narrow the line is."""
ORDER = {str(b.id): n for n, b in enumerate(b for bindings in keys.SCREENS.values() for b in bindings)}


class TopLine(Widget):
    """Name, cluster with overlays, replay or live, and the place; long cluster names are cut in the middle."""

    DEFAULT_CSS = "TopLine { height: 1; background: $panel; color: $foreground; }"
    cluster: reactive[str] = reactive("")
    source: reactive[str] = reactive("")
    place: reactive[str] = reactive("")

    def render(self) -> Content:
        """One line."""
        width = max(1, self.size.width)
        source = f" {say(f'source.{self.source}')} " if self.source else ""
        place = safe_line(self.place)
        head = " Rackside  "
        cluster = safe_line(self.cluster) if self.cluster else say("top.no-cluster")
        room = width - cell_len(head) - cell_len(source) - 2
        if cell_len(cluster) + cell_len(place) + 2 > room:
            place = _middle(place, max(8, room - cell_len(cluster) - 2))
            cluster = _middle(cluster, max(8, room - cell_len(place) - 2))
        left = Content.assemble((head, "bold"), cluster, "  ", (source, "reverse bold") if source else "")
        gap = max(1, width - left.cell_length - cell_len(place) - 1)
        return Content.assemble(left, " " * gap, place)


class KeyLine(Widget):
    """The keys of the screen; those that do not fit are left to the help, which always fits."""

    DEFAULT_CSS = "KeyLine { height: 1; dock: bottom; background: $panel; color: $foreground; }"

    def on_mount(self) -> None:
        """Follows the bindings."""
        self.screen.bindings_updated_signal.subscribe(self, self._changed)

    def _changed(self, screen: Screen[object]) -> None:
        self.refresh()

    def render(self) -> Content:
        """One line."""
        active = [a for a in self.screen.active_bindings.values() if a.binding.show and a.enabled]
        active.sort(key=lambda a: (a.binding.id == "help", ORDER.get(a.binding.id or "", len(ORDER))))
        shown = [(keys.display(a.binding), a.binding.description, a.binding.id in ALWAYS) for a in active]
        return key_line(shown, self.size.width)


def key_line(shown: Sequence[tuple[str, str, bool]], width: int) -> Content:
    """(key, word, always) as one line of at most `width` cells."""
    parts: list[Content] = []
    last = [Content.assemble((f" {key}", "bold $text-accent"), f" {word} ") for key, word, always in shown if always]
    room = width - sum(part.cell_length for part in last)
    for key, word, always in shown:
        part = Content.assemble((f" {key}", "bold $text-accent"), f" {word} ")
        if always or part.cell_length > room:
            continue
        parts.append(part)
        room -= part.cell_length
    return Content.assemble(*parts, *last)


def _middle(text: str, width: int) -> str:
    """The text in at most `width` cells, its middle left out."""
    if cell_len(text) <= width:
        return text
    half = (width - 1) // 2
    tail = text[::-1]
    while cell_len(tail) > width - 1 - half:
        tail = tail[:-1]
    return f"{set_cell_size(text, half).rstrip()}…{tail[::-1]}"
