"""How long the screen stands still while a fleet answers: `python -m bench.lag [--nodes 256]`.

The real application, headless, walks a runbook over real servers; a task beside it asks to be woken every 10 ms and
notes how much later it was.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path

from bench.fleet import serving
from checks.clusters import Asking, open_live
from runbooks.requests import AskOperator
from tests.tui.pilot import press, settled
from tui.app import RacksideApp
from tui.screens.walk import WalkScreen

TICK_S, TARGET_MS, REPLIES = 0.01, 100, 40


async def _watch(late_ms: list[float], stop: asyncio.Event) -> None:
    while not stop.is_set():
        due = time.perf_counter() + TICK_S
        await asyncio.sleep(TICK_S)
        late_ms.append((time.perf_counter() - due) * 1000)


async def _walk(folder: Path, runbook: str, nodes: int) -> None:
    opened = open_live(
        str(folder / "cluster"), Asking(ssh_config=folder / "config", record=folder / "kept", window_s=0)
    )
    assert opened.live is not None
    opened.live.prepare()  # as `rackside --live` does before it takes the screen
    app = RacksideApp("fleet", (), runbook, journal_dir=folder / "journals", opened=opened)
    late_ms: list[float] = []
    stop = asyncio.Event()
    async with app.run_test(size=(120, 40)) as pilot:
        start = time.perf_counter()
        watcher = asyncio.create_task(_watch(late_ms, stop))
        await settled(pilot)
        for _ in range(REPLIES):
            assert isinstance(app.screen, WalkScreen)
            if app.screen.session.walk.finished:
                break
            await press(pilot, "d" if isinstance(app.screen.request, AskOperator) else "enter")
        took_s = time.perf_counter() - start
        stop.set()
        await watcher
        assert isinstance(app.screen, WalkScreen)
        opened_now = app.screen.session.opened
        assert opened_now is not None
        live = opened_now.live
        assert live is not None
        answered = nodes - len(live.failures)
    late_ms.sort()
    middle, most, worst = (late_ms[int(len(late_ms) * share)] for share in (0.5, 0.99, 0.999999))
    print(
        f"{answered} of {nodes} nodes answered in {took_s:.1f} s; the screen was late by {middle:.0f} ms (median), "
        f"{most:.0f} ms (99 %), {worst:.0f} ms (worst; target {TARGET_MS}: {'met' if worst < TARGET_MS else 'MISSED'})"
    )


def main() -> None:
    """One walk."""
    parser = argparse.ArgumentParser(prog="python -m bench.lag", description=__doc__)
    parser.add_argument("--nodes", type=int, default=256)
    parser.add_argument("--runbook", default="triage")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, serving(Path(name), args.nodes) as fleet:
        for node in fleet.nodes:
            # they stand for other machines, which do not take this one's processors
            os.setpriority(os.PRIO_PROCESS, fleet.pid(node), 19)
        asyncio.run(_walk(Path(name), args.runbook, args.nodes))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
