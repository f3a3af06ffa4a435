"""Wall time of whole processes, alternated so that both sides meet the same machine."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass

RUNS = 11


@dataclass(frozen=True)
class Ratio:
    """Medians in seconds of two commands, and the median of the pairwise ratios."""

    name: str
    ours_s: float
    theirs_s: float
    ratio: float
    target: float

    def __str__(self) -> str:
        verdict = "met" if self.ratio < self.target else "MISSED"
        return (
            f"{self.name}: {self.ours_s * 1000:.0f} ms against {self.theirs_s * 1000:.0f} ms, "
            f"ratio {self.ratio:.2f} (target below {self.target:g}: {verdict})"
        )


def once(command: Sequence[str]) -> float:
    """Seconds one process takes; its output is dropped, its exit status is not judged."""
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, check=False)
    return time.perf_counter() - start


def against(name: str, ours: Sequence[str], theirs: Sequence[str], target: float, *, runs: int = RUNS) -> Ratio:
    """Alternates two commands and compares their medians; one warm-up each is thrown away."""
    once(ours), once(theirs)
    pairs = [(once(ours), once(theirs)) for _ in range(runs)]
    return Ratio(
        name,
        statistics.median(a for a, _ in pairs),
        statistics.median(b for _, b in pairs),
        statistics.median(a / b for a, b in pairs),
        target,
    )


def peak_memory_mb(command: Sequence[str]) -> float:
    """Peak resident memory of a process in MB (10^6 bytes)."""
    pid = os.posix_spawn(
        command[0],
        list(command),
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ],
    )
    _, _, usage = os.wait4(pid, 0)
    assert isinstance(usage, resource.struct_rusage)
    return usage.ru_maxrss * 1024 / 1e6
