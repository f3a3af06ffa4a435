"""Writes the pictures of the guide from a sample cluster: `make demo`."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
os.environ["TEXTUAL_ANIMATIONS"] = "none"

from textual.pilot import Pilot  # noqa: E402
from textual.worker import WorkerCancelled  # noqa: E402

from tui.app import RacksideApp  # noqa: E402
from tui.screens.evidence import EvidenceScreen  # noqa: E402
from tui.screens.walk import WalkScreen  # noqa: E402

SIZE = (100, 30)


async def _settled(pilot: Pilot[int]) -> None:
    for _ in range(3):
        with suppress(WorkerCancelled):
            await pilot.app.workers.wait_for_complete()
        await pilot.pause()


async def _press(pilot: Pilot[int], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await _settled(pilot)


def _save(pilot: Pilot[int], name: str) -> None:
    picture = pilot.app.export_screenshot(title="Rackside")
    # ids of the picture's styles are random; a picture changes only when the screen does
    picture = re.sub(r"terminal-\d+", "terminal", picture)
    (HERE / "images").mkdir(exist_ok=True)
    (HERE / "images" / f"{name}.svg").write_text(picture, encoding="utf-8")


async def main() -> None:
    """Home, then the founding case from the question to the nodes."""
    with tempfile.TemporaryDirectory() as name:
        async with RacksideApp(journal_dir=Path(name)).run_test(size=SIZE) as pilot:
            await _settled(pilot)
            _save(pilot, "home")
        app = RacksideApp("a800-roce-256", ["founding-case"], "training-slow", journal_dir=Path(name) / "walk")
        async with app.run_test(size=SIZE) as pilot:
            await _settled(pilot)
            while isinstance(app.screen, WalkScreen) and not app.screen.session.walk.finished:
                await _press(pilot, "d" if type(app.screen.request).__name__ == "AskOperator" else "enter")
            _save(pilot, "walk")
            await _press(pilot, "c")
            _save(pilot, "conclusion")
            while not isinstance(app.screen, EvidenceScreen):
                await _press(pilot, "down", "enter")
            _save(pilot, "evidence")
            await _press(pilot, "escape", "n")
            _save(pilot, "nodes")


if __name__ == "__main__":
    asyncio.run(main())
