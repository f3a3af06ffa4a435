"""Prints every measurement of the offline walk with its target.

The first paint is compared with two other Textual applications where their virtual environments are named:
`pip install posting`, and `pip install harlequin==2.1.2 'duckdb<1.3'` (later ones of both do not fit together).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench import paint, timing

SAMPLE = "a800-roce-256"
MEMORY_MB = 150
PAINT_RATIO = 0.5
PEERS = {"posting": "Collection", "harlequin": "Data Catalog"}
"""What each shows when it has drawn itself."""


def main() -> None:
    """Runs all."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    for peer in PEERS:
        parser.add_argument(f"--{peer}", type=Path, metavar="VENV", help=f"virtual environment with {peer}")
    args = vars(parser.parse_args())
    python = sys.executable
    rackside = str(Path(python).with_name("rackside"))
    print(timing.against("rackside --version", [rackside, "--version"], [python, "-c", "pass"], 3, runs=31))
    triage = [rackside, "walk", "triage", "-c", SAMPLE, "--format", "json"]
    print(timing.against("headless triage of 256 GPUs", triage, [python, "-c", "import pydantic, yaml"], 12))
    sheet = [rackside, "worksheet", "training-time", "--format", "json"]
    print(timing.against("one worksheet", sheet, [python, "-c", "import pydantic, yaml"], 3, runs=31))
    peak = timing.peak_memory_mb(triage)
    print(f"its peak memory: {peak:.0f} MB (target below {MEMORY_MB}: {'met' if peak < MEMORY_MB else 'MISSED'})")
    named = {peer: args[peer] for peer in PEERS if args[peer]}
    if not named:
        print("first paint: left out, no peer named")
        return
    ours = paint.first_paint_s([rackside], until="What is wrong?")
    times = {p: paint.first_paint_s([str(venv / "bin" / p)], until=PEERS[p]) for p, venv in named.items()}
    for peer, theirs in times.items():
        print(f"first paint: {ours * 1000:.0f} ms against {peer} {theirs * 1000:.0f} ms, ratio {ours / theirs:.2f}")
    best = ours / min(times.values())
    print(f"against the faster: {best:.2f} (target below {PAINT_RATIO}: {'met' if best < PAINT_RATIO else 'MISSED'})")


if __name__ == "__main__":
    main()
