"""Everything there is to do, by name: complaints, clusters, places, sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider

from common.safetext import safe_line
from common.words import say

if TYPE_CHECKING:
    from tui.app import RacksideApp

Entry = tuple[str, str, Callable[[], object]]


class RacksideCommands(Provider):
    """Entries of the command palette; node names are left to the search of the nodes view."""

    def _entries(self) -> Iterator[Entry]:
        app = cast("RacksideApp", self.app)
        yield say("palette.nodes"), say("key.nodes.tip"), app.show_nodes
        yield say("palette.home"), say("palette.home.tip"), app.go_home
        yield say("palette.worksheets"), say("key.worksheets.tip"), app.show_worksheets
        shelves = app.home.shelves
        for book in shelves.runbooks:
            words = safe_line(", ".join(book.words))
            yield say("palette.walk", title=safe_line(book.title)), words, partial(app.start_walk, book.id)
        for cluster in shelves.clusters:
            tip = safe_line(cluster.description)
            yield say("palette.cluster", name=safe_line(cluster.name)), tip, partial(app.open_cluster, cluster.name)
        for session in shelves.sessions[:5]:
            title = say("palette.resume", title=safe_line(session.title), cluster=safe_line(session.cluster))
            yield title, session.started, partial(app.resume_walk, str(session.journal))

    async def discover(self) -> Hits:
        """Shown before anything is typed."""
        for title, tip, act in self._entries():
            yield DiscoveryHit(title, act, help=tip)

    async def search(self, query: str) -> Hits:
        """Fuzzy matches over titles and the words people use."""
        matcher = self.matcher(query)
        for title, tip, act in self._entries():
            score = max(matcher.match(title), matcher.match(tip) * 0.8)
            if score > 0:
                yield Hit(score, matcher.highlight(title), act, help=tip)
