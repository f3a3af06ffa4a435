"""Time from starting a program in tmux to the first screen that shows a given text."""

from __future__ import annotations

import shlex
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence

RUNS = 7
TIMEOUT_S = 30


def first_paint_s(command: Sequence[str], *, until: str, runs: int = RUNS) -> float:
    """Median seconds until `until` is on the screen, 120x40; the first run warms up and is thrown away."""
    return statistics.median([_once(command, until) for _ in range(runs + 1)][1:])


def _once(command: Sequence[str], until: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        tmux = ["tmux", "-S", f"{folder}/socket", "-f", "/dev/null"]
        start = time.perf_counter()
        text = f"HOME={folder} exec {shlex.join(command)}"
        subprocess.run([*tmux, "new-session", "-d", "-x", "120", "-y", "40", text], check=True)
        try:
            while time.perf_counter() - start < TIMEOUT_S:
                shown = subprocess.run(
                    [*tmux, "capture-pane", "-p"], capture_output=True, text=True, check=False
                ).stdout
                if until in shown:
                    return time.perf_counter() - start
                time.sleep(0.005)
            raise TimeoutError(f"{command[0]} never showed {until!r}")
        finally:
            subprocess.run([*tmux, "kill-server"], check=False, capture_output=True)
