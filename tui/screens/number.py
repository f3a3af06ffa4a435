"""How a number of a worksheet came about: formula, the same with its numbers, what stands behind it, and sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rich.cells import cell_len
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from common.safetext import safe, safe_line
from common.words import say
from tui import keys, nodetext
from tui.screens.base import RackScreen
from worksheets import explained
from worksheets.desk import Desk

LABEL_WIDTH = 18


class NumberScreen(RackScreen):
    """One page about one number."""

    PLACE = "number"
    CSS_PATH = "../styles/report.tcss"
    BINDINGS = [*keys.SCREENS["number"]]

    def __init__(self, desk: Desk, slug: str, name: str) -> None:
        super().__init__()
        self._told = explained.line(desk.book, slug, name)

    def body(self) -> Iterable[Widget]:
        """The page."""
        yield VerticalScroll(Static(Content("\n").join(_page(self._told)), markup=False), id="page")

    def on_mount(self) -> None:
        """Ready to scroll."""
        super().on_mount()
        self.query_one("#page").focus()

    def action_copy(self) -> None:
        """The page as text."""
        self.app.copy_to_clipboard(safe(Content("\n").join(_page(self._told)).plain))
        self.tell(say("copied.text"))


def _page(told: dict[str, Any]) -> Iterator[Content]:
    yield nodetext.line(f"{told['title']}  ({told['id']})", "bold")
    shown = told["value"] if told["value"] is not None else told["error"]
    usual = f"  ({told['usual']})" if told["usual"] else ""
    yield nodetext.block(f"{shown}{usual}", "bold $text-accent")
    yield Content("")
    for name in ("formula", "with numbers", "origin", "range", "choices", "kind of figure", "source", "date", "help"):
        if (value := told.get(name)) not in (None, "", []):
            yield _labelled(name, ", ".join(map(str, value)) if isinstance(value, list) else str(value))
    if told["from"]:
        yield Content("")
        yield _title("from")
    for behind in told["from"]:
        usual = f" ({behind['usual']})" if behind["usual"] else ""
        where = ", ".join(text for text in (behind["origin"], behind["source"], behind["date"]) if text)
        yield Content.assemble(
            "  ",
            nodetext.line(behind["name"], "bold"),
            nodetext.line(f"  {behind['label']}: {behind['value']}{usual}"),
            (f"  {safe_line(where)}" if where else "", "$text-muted"),
        )
    for name in ("sources", "notes, and who says otherwise"):
        if told[name]:
            yield Content("")
            yield _title(name)
            yield from (nodetext.line(f"  {line}", limit=2000) for line in told[name])
    yield Content("")
    for name in ("assumptions nobody looked at", "age of the oldest price"):
        if value := told.get(name):
            yield _labelled(name, str(value))
    if told["used by"]:
        yield _labelled("used by", ", ".join(told["used by"]))


def _title(name: str) -> Content:
    return Content.styled(say(f"number.{name}"), "bold underline")


def _labelled(name: str, text: str) -> Content:
    label = say(f"number.{name}")
    pad = " " * max(1, LABEL_WIDTH - cell_len(label))
    return Content.assemble((label, "$text-muted"), pad, nodetext.line(text, limit=2000))
