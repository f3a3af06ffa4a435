"""Every sample cluster and overlay, with what is expected there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from checks.clusters import SAMPLES, Opened, open_cluster, overlays_of, samples
from runbooks import expected, loader
from runbooks.documents import WalkDocument
from runbooks.session import Session


@dataclass(frozen=True)
class Place:
    """A sample cluster, or one overlay on it."""

    cluster: str
    overlay: str | None = None

    @property
    def folder(self) -> Path:
        """Where its expected.yaml lies."""
        base = SAMPLES / self.cluster
        return base / "overlays" / self.overlay if self.overlay else base

    @property
    def name(self) -> str:
        """Name for test ids."""
        return f"{self.cluster}+{self.overlay}" if self.overlay else self.cluster

    def open(self) -> Opened:
        """The cluster with the overlay laid over it."""
        return open_cluster(self.cluster, [self.overlay] if self.overlay else [])

    def cases(self) -> tuple[expected.Case, ...]:
        """What is expected here."""
        return expected.read(self.folder / "expected.yaml").cases


def places() -> Iterator[Place]:
    """All of them, bases first."""
    for cluster in samples():
        yield Place(cluster)
        for overlay in overlays_of(SAMPLES / cluster):
            yield Place(cluster, overlay)


def runbook_ids() -> list[str]:
    """The shipped runbooks."""
    return [book.id for book in loader.shipped()]


@cache
def walk(place: Place, runbook: str, answers: tuple[tuple[str, str], ...] = ()) -> WalkDocument:
    """One headless walk; questions without an answer count as don't know."""
    session = Session.start(place.open(), runbook, answers=dict(answers))
    session.drive()
    return session.document()
