"""The way in: which cluster, what is wrong, or a session to go on with."""

from __future__ import annotations

from collections.abc import Iterable

from textual import on, work
from textual.containers import Container
from textual.content import Content
from textual.events import DescendantFocus
from textual.widget import Widget
from textual.widgets import Input, Label
from textual.worker import Worker, WorkerState

from common.words import say
from tui import keys, nodetext
from tui.messages import ClusterRow, RunbookRow, ShelvesRead
from tui.screens.ask import AskText, PickSome
from tui.screens.base import RackScreen
from tui.widgets.columns import Columns
from tui.widgets.rows import Row, Rows

WORDS_SHOWN = 4
OTHER = "=path"


class HomeScreen(RackScreen):
    """Three lists; Tab goes through them, Enter takes."""

    PLACE = "home"
    BINDINGS = [*keys.SCREENS["home"]]

    def __init__(self) -> None:
        super().__init__()
        self.shelves = ShelvesRead()

    def body(self) -> Iterable[Widget]:
        """Clusters, complaints, sessions."""
        yield Container(
            Container(
                Label(say("home.clusters"), classes="title", markup=False),
                Rows(id="clusters"),
                Label(say("home.sessions"), id="sessions-title", classes="title", markup=False),
                Rows(id="sessions"),
                id="left",
            ),
            Container(
                Label(say("home.complaints"), classes="title", markup=False),
                Input(id="filter", placeholder=say("home.filter"), compact=True),
                Rows(id="complaints"),
                id="right",
            ),
            id="home",
        )

    def on_mount(self) -> None:
        """Paints first, then reads."""
        super().on_mount()
        line = self.query_one(Input)
        line.cursor_blink = False
        line.display = False
        self._sessions_shown(False)
        for rows in self.query(Rows):
            rows.loading = rows.id != "sessions"
        self.call_after_refresh(self._read)

    def on_screen_resume(self) -> None:
        """A walk may have ended, another begun."""
        super().on_screen_resume()
        if self.shelves.clusters:
            self._read()

    @work(thread=True, group="shelves", exclusive=True, exit_on_error=False)
    def _read(self) -> None:
        from tui import shelves

        self.post_message(shelves.read(self.rack.journal_dir))

    @on(Worker.StateChanged)
    def _failed(self, event: Worker.StateChanged) -> None:
        if event.state == WorkerState.ERROR and event.worker.group == "shelves":
            self.problem(str(event.worker.error))
            for rows in self.query(Rows):
                rows.loading = False

    @on(ShelvesRead)
    def _fill(self, event: ShelvesRead) -> None:
        first = not self.shelves.clusters
        self.shelves = event
        for rows in self.query(Rows):
            rows.loading = False
        self.fill_clusters()
        self._fill_complaints()
        self._fill_sessions()
        if event.problems:
            self.problem("\n".join(event.problems[:3]))
        if first:
            chosen = bool(self.rack.cluster_label)
            self.query_one("#complaints" if chosen else "#clusters", Rows).focus()

    def fill_clusters(self) -> None:
        """The clusters, the one that is open marked."""
        opened = self.rack.cluster_name
        rows = [_cluster_row(c, c.name == opened, self.rack.overlays) for c in self.shelves.clusters]
        if opened and all(c.name != opened for c in self.shelves.clusters):
            rows.insert(0, _cluster_row(ClusterRow(opened, ""), True, self.rack.overlays))
        rows.append(Row(OTHER, Content.assemble("  ", say("home.other-path"))))
        self.query_one("#clusters", Rows).fill(rows)

    def _fill_complaints(self) -> None:
        needle = self.query_one(Input).value.strip().casefold()
        wide = self.has_class("-wide")
        rows = [_complaint_row(b, wide) for b in self.shelves.runbooks if all(w in _found(b) for w in needle.split())]
        if not rows:
            none = say("home.no-complaint", text=needle) if needle else say("home.no-runbooks")
            rows = [Row("", nodetext.line(none))]
        self.query_one("#complaints", Rows).fill(rows)

    def _fill_sessions(self) -> None:
        rows = [
            Row(
                str(s.journal),
                Columns(
                    (nodetext.line(s.started[5:16].replace("T", " ")), 11),
                    (nodetext.line(s.state), 11),
                    (nodetext.line(f"{s.title} - {s.cluster}"), 0),
                ),
            )
            for s in self.shelves.sessions
        ]
        self._sessions_shown(bool(rows))
        self.query_one("#sessions", Rows).fill(rows)

    def on_resize(self) -> None:
        """The words people use are shown where there is room for them."""
        self.call_after_refresh(self._fill_complaints)

    def _sessions_shown(self, shown: bool) -> None:
        self.query_one("#sessions").display = shown
        self.query_one("#sessions-title").display = shown

    # choosing

    @on(Rows.OptionSelected)
    def _selected(self, event: Rows.OptionSelected) -> None:
        self._choose(str(event.option_list.id), event.option_id or "")

    def action_choose(self) -> None:
        """Takes the highlighted row of the list at hand."""
        if isinstance(self.focused, Rows):
            self._choose(str(self.focused.id), self.focused.chosen or "")

    def _choose(self, where: str, key: str) -> None:
        self.problem()
        match where:
            case "clusters" if key == OTHER:
                self.action_path()
            case "clusters":
                self.rack.open_cluster(key)
            case "complaints" if key:
                self.rack.start_walk(key, cluster=self._cluster())
            case "sessions" if key:
                self.rack.resume_walk(key)

    def _cluster(self) -> str:
        """The cluster to walk on when none is open yet: the highlighted one."""
        chosen = self.query_one("#clusters", Rows).chosen or ""
        return "" if chosen == OTHER else chosen

    def cluster_opened(self) -> None:
        """Marks it and goes on to the complaints."""
        self.show_top()
        self.fill_clusters()
        self.query_one("#complaints", Rows).focus()

    def action_path(self) -> None:
        """Asks for a folder."""

        def typed(path: str | None) -> None:
            if path:
                self.rack.open_cluster(path)

        self.app.push_screen(AskText(say("home.path"), check=_is_cluster), typed)

    def action_overlays(self) -> None:
        """Faults to lay over the highlighted cluster."""
        name = self.rack.cluster_name or self._cluster()
        known = next((c.overlays for c in self.shelves.clusters if c.name == name), ())
        if not known:
            self.problem(say("home.no-overlays", cluster=name or "-"))
            return

        def picked(overlays: tuple[str, ...] | None) -> None:
            if overlays is not None:
                self.rack.open_cluster(name, overlays)

        self.app.push_screen(PickSome(say("home.overlays", cluster=name), known, self.rack.overlays), picked)

    def action_nodes(self) -> None:
        """The nodes of the open or highlighted cluster."""
        self.rack.show_nodes(cluster=self._cluster())

    def action_worksheets(self) -> None:
        """Sheets of sizing and cost."""
        self.rack.show_worksheets()

    def action_ask_live(self) -> None:
        """Opens the highlighted cluster to ask its nodes over SSH."""
        if name := self._cluster():
            self.rack.ask_live(name)

    # filtering

    def action_search(self) -> None:
        """Shows the filter line."""
        line = self.query_one(Input)
        line.display = True
        line.focus()

    @on(Input.Changed, "#filter")
    def _typed(self) -> None:
        self._fill_complaints()

    @on(Input.Submitted, "#filter")
    def _submitted(self) -> None:
        self.query_one("#complaints", Rows).focus()

    @on(DescendantFocus)
    def _focused(self, event: DescendantFocus) -> None:
        line = self.query_one(Input)
        if event.widget is not line and not line.value:
            line.display = False


def _is_cluster(path: str) -> str:
    from pathlib import Path

    if not path:
        return say("home.path-empty")
    place = Path(path).expanduser()
    return "" if place.exists() else say("home.path-missing", path=str(place))


def _cluster_row(cluster: ClusterRow, opened: bool, overlays: tuple[str, ...]) -> Row:
    mark = "*" if opened else " "
    text = nodetext.line(cluster.description)
    if opened and overlays:
        text = Content.assemble(nodetext.line(" + ".join(overlays), "bold"), "  ", text)
    return Row(cluster.name, Columns((Content(mark), 1), (nodetext.line(cluster.name, "bold"), 24), (text, 0)))


def _complaint_row(book: RunbookRow, wide: bool) -> Row:
    if not wide:
        return Row(book.id, nodetext.line(book.title, "bold"))
    words = ", ".join(book.words[:WORDS_SHOWN])
    shown = Columns((nodetext.line(book.title, "bold"), 34), (nodetext.line(words, "$text-muted"), 0))
    return Row(book.id, shown)


def _found(book: RunbookRow) -> str:
    return " ".join((book.id, book.title, *book.words)).casefold()
