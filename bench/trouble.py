"""A fleet that is slow, hangs or is partly gone, and how much of the healthy time that costs.

`python -m bench.trouble [--nodes 256]` runs, in turn: the fleet as it is; a tool that takes a second on every node;
13 nodes whose server accepts and says nothing; a tenth of the nodes on addresses nobody answers on.
"""

from __future__ import annotations

import argparse
import json
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.fleet import serving
from checks.transports import ssh
from tests.checks.transports.sshd import Fleet

CONNECT_S = ssh.CONNECT_S


def ask(folder: Path, *commands: str) -> dict[str, Any]:
    """One step over the fleet in a process of its own."""
    line = [sys.executable, "-m", "bench.ours", str(folder), "1", *commands]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    """All cases."""
    parser = argparse.ArgumentParser(prog="python -m bench.trouble", description=__doc__)
    parser.add_argument("--nodes", type=int, default=256)
    count = parser.parse_args().nodes
    with tempfile.TemporaryDirectory() as name, serving(Path(name), count) as fleet:
        folder = Path(name)
        ask(folder)
        healthy_s = _median(folder)
        print(f"{count} healthy nodes, 12 commands: {healthy_s:.1f} s")
        gone = [node for number, node in enumerate(fleet.nodes) if number % 10 == 0]
        holes = _black_hole(folder, fleet, gone)
        _tell(f"{len(gone)} black-holed", ask(folder), CONNECT_S + 0.2 * healthy_s)
        for hole in holes:
            hole.close()
    with tempfile.TemporaryDirectory() as name, serving(Path(name), count) as fleet:
        for node in list(fleet.nodes)[-13:]:
            fleet.hang(node)
        _tell("13 silent servers", ask(Path(name)), 1.1 * CONNECT_S + healthy_s)
    with tempfile.TemporaryDirectory() as name, serving(Path(name), count, delay_s=1):
        ask(Path(name), "lldp")
        took_s = _median(Path(name), "lldp")
        print(f"one command that takes 1 s: {took_s:.1f} s (target 5 s: {'met' if took_s <= 5 else 'MISSED'})")


def _median(folder: Path, *commands: str) -> float:
    return float(sorted(ask(folder, *commands)["steps_s"][0] for _ in range(3))[1])


def _tell(name: str, told: dict[str, Any], target_s: float) -> None:
    took_s = told["steps_s"][0]
    print(
        f"{name}: {took_s:.1f} s with {CONNECT_S:g} s to connect (target {target_s:.1f} s: "
        f"{'met' if took_s <= target_s else 'MISSED'}); {told['failed']} failed, "
        f"the last healthy answer came after {told['last_s']:.1f} s"
    )


def _black_hole(folder: Path, fleet: Fleet, gone: list[str]) -> list[socket.socket]:
    """A full backlog drops packets without a word: the nearest thing to a black hole that loopback has."""
    config = folder / "config"
    text, held = config.read_text(), []
    for number, node in enumerate(gone):
        address = f"127.1.250.{number + 1}"
        hole, caller = socket.socket(), socket.socket()
        hole.bind((address, fleet.port))
        hole.listen(0)
        caller.connect((address, fleet.port))
        held += [hole, caller]
        text = text.replace(f"HostName {fleet.nodes[node]}\n", f"HostName {address}\n")
    config.write_text(text)
    return held


if __name__ == "__main__":
    main()
