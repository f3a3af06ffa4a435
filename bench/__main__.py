"""Prints every measurement of the offline walk with its target.

`--peers VENV` names a virtual environment that has posting and harlequin (`pip install posting harlequin`); without it
the first-paint comparison is left out and said so.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench import paint, timing

SAMPLE = "a800-roce-256"
MEMORY_MB = 150


def main() -> None:
    """Runs all."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--peers", type=Path, help="virtual environment with posting and harlequin")
    args = parser.parse_args()
    python = sys.executable
    rackside = str(Path(python).with_name("rackside"))
    print(timing.against("rackside --version", [rackside, "--version"], [python, "-c", "pass"], 3, runs=31))
    triage = [rackside, "walk", "triage", "-c", SAMPLE, "--format", "json"]
    print(timing.against("headless triage of 256 GPUs", triage, [python, "-c", "import pydantic, yaml"], 12))
    peak = timing.peak_memory_mb(triage)
    print(f"its peak memory: {peak:.0f} MB (target below {MEMORY_MB}: {'met' if peak < MEMORY_MB else 'MISSED'})")
    if args.peers is None:
        print("first paint: left out, no --peers given")
        return
    ours = paint.first_paint_s([rackside], until="Rackside")
    for peer, shows in (("posting", "Collection"), ("harlequin", "Data Catalog")):
        theirs = paint.first_paint_s([str(args.peers / "bin" / peer)], until=shows)
        print(
            f"first paint against {peer}: {ours * 1000:.0f} against {theirs * 1000:.0f} ms, ratio {ours / theirs:.2f}"
        )


if __name__ == "__main__":
    main()
