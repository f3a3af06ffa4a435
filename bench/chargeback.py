"""A year of accounting of a large site: `python -m bench.chargeback [--rows 5000000]`, beside a plain loop over csv."""

from __future__ import annotations

import argparse
import csv
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from datetime import datetime, timedelta
from pathlib import Path

TARGET_S, TARGET_MB = 20, 2000


def write(path: Path, rows: int) -> None:
    """Allocations of 900 users over a year, from none to 64 cards."""
    chance, begin = random.Random(1), datetime(2025, 1, 1)
    with path.open("w") as file:
        for job in range(rows):
            start = begin + timedelta(seconds=chance.randrange(31_536_000))
            elapsed, cards = chance.randrange(60, 80_000), chance.choice((0, 1, 2, 4, 8, 8, 64))
            gres = f"gres/gpu:h100={cards},gres/gpu={cards}," if cards else ""
            state = chance.choice(("COMPLETED", "FAILED", "NODE_FAIL", "CANCELLED by 1000", "TIMEOUT"))
            file.write(
                f"{job}|main|u{chance.randrange(900)}|a{chance.randrange(80)}|p{chance.randrange(5)}|normal|{state}|"
                f"{start.isoformat()}|{(start + timedelta(seconds=elapsed)).isoformat()}|{elapsed}|"
                f"{max(1, cards // 8)}|"
                f"billing={cards * 8 + 4},cpu={cards * 8 + 4},{gres}mem={cards * 100 + 4}G,node={max(1, cards // 8)}\n"
            )


def loop(path: Path) -> float:
    """The same hours the plain way, without merging, months or window."""
    hours: dict[str, float] = defaultdict(float)
    cards = re.compile(r"(?:^|,)gres/gpu=(\d+)")
    with path.open(newline="") as file:
        for row in csv.reader(file, delimiter="|", quoting=csv.QUOTE_NONE):
            if match := cards.search(row[11]):
                hours[row[3]] += int(match[1]) * int(row[9]) / 3600
    return sum(hours.values())


def main() -> None:
    """Writes the file, reckons it both ways."""
    parser = argparse.ArgumentParser(prog="python -m bench.chargeback", description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "sacct.txt"
        write(path, rows)
        line = [sys.executable, "-m", "rackside", "worksheet", "chargeback", "--sacct", str(path), "--rate", "2.5"]
        start = time.perf_counter()
        subprocess.run([*line, "--timezone", "Europe/Berlin"], check=True, stdout=subprocess.DEVNULL)
        ours_s = time.perf_counter() - start
        peak_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e6
        start = time.perf_counter()
        loop(path)
        theirs_s = time.perf_counter() - start
    met = "met" if ours_s < TARGET_S and peak_mb < TARGET_MB else "MISSED"
    print(
        f"{rows:,} rows: {ours_s:.1f} s and {peak_mb:,.0f} MB (target {TARGET_S} s, {TARGET_MB:,} MB: {met}); "
        f"a loop over csv {theirs_s:.1f} s, ratio {ours_s / theirs_s:.2f}"
    )


if __name__ == "__main__":
    main()
