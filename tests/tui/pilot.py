"""Drives the application by keyboard and reads what is on the screen."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from textual.pilot import Pilot
from textual.worker import WorkerCancelled

from tui.app import RacksideApp

SMALL, WIDE = (80, 24), (120, 40)


def screen_text(app: RacksideApp) -> str:
    """The characters on the screen, without colours."""
    strips = app.screen._compositor.render_strips()
    return "\n".join(strip.text.rstrip() for strip in strips) + "\n"


async def settled(pilot: Pilot[int]) -> None:
    """Waits until workers have ended and the screen is painted."""
    for _ in range(3):
        with suppress(WorkerCancelled):
            await pilot.app.workers.wait_for_complete()
        await pilot.pause()


async def press(pilot: Pilot[int], *keys: str) -> str:
    """Presses keys one after another, waiting after each; gives the screen."""
    for key in keys:
        await pilot.press(key)
        await settled(pilot)
    assert isinstance(pilot.app, RacksideApp)
    return screen_text(pilot.app)


async def write(pilot: Pilot[int], text: str) -> str:
    """Types a text and Enter."""
    return await press(
        pilot, *("slash" if c == "/" else "minus" if c == "-" else "space" if c == " " else c for c in text), "enter"
    )


@asynccontextmanager
async def running(
    journals: Path,
    cluster: str | None = None,
    overlays: Sequence[str] = (),
    runbook: str | None = None,
    *,
    resume: Path | None = None,
    size: tuple[int, int] = SMALL,
) -> AsyncIterator[Pilot[int]]:
    """The application, ready for keys."""
    app = RacksideApp(cluster, overlays, runbook, resume, journal_dir=journals)
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        yield pilot
