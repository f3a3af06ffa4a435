"""One step of twelve commands over many real SSH servers, Rackside beside its peers, in one run.

`python -m bench.fanout --nodes 64 --peers VENV` where the environment has asyncssh, parallel-ssh, ClusterShell and
ansible-core; `pdsh` and `ssh` are the system's. Rackside's time includes parsing, judging and recording; the peers
throw the bytes away. Client and servers share one machine, so only ratios mean something.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.fleet import serving, texts

RUNS = 5


@dataclass
class Way:
    """One way of asking a fleet, and what it took: wall and client CPU in seconds."""

    name: str
    command: Sequence[str]
    stdin: str | None = None
    runs: int = RUNS
    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)

    def once(self) -> str:
        """Runs it; what it printed."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        with open(self.stdin) if self.stdin else open("/dev/null") as stdin:
            done = subprocess.run(self.command, stdin=stdin, capture_output=True, text=True, check=False)
        self.wall_s.append(time.perf_counter() - start)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.cpu_s.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        if done.returncode:
            sys.stderr.write(f"{self.name}: exit status {done.returncode}: {done.stderr[-300:]}\n")
        return done.stdout


def ways(folder: Path, peers: Path | None) -> list[Way]:
    """Rackside first; those that are not installed are left out, and said to be."""
    config, hosts, script = folder / "config", folder / "hosts", folder / "script"
    options = f"-F {config} -o BatchMode=yes -o LogLevel=ERROR -l root"
    found = [Way("rackside", [sys.executable, "-m", "bench.ours", str(folder)])]
    if peers:
        python, clush = str(peers / "bin" / "python"), str(peers / "bin" / "clush")
        found.append(Way("asyncssh, one script", [python, "bench/peer_asyncssh.py", str(folder)]))
        pssh = [python, "bench/peer_pssh.py", str(folder)]
        found.append(Way("parallel-ssh, one script (no host keys checked)", pssh, runs=3))
        names = hosts.read_text().split()
        nodes = f"n[{names[0][1:]}-{names[-1][1:]}]"
        clustered = [clush, "-q", "-f", "64", "-w", nodes, "-o", options]
        found.append(Way("clush, one script", [*clustered, "sh -s"], stdin=str(script), runs=3))
        each = "; ".join(f"{' '.join(map(_quoted, clustered))} {_quoted(t)} </dev/null" for t in texts())
        found.append(Way("clush, a call a command", ["sh", "-c", f"{{ {each}; }} >/dev/null 2>&1; true"], runs=1))
        inventory = folder / "inventory"
        inventory.write_text("\n".join(names) + "\n")
        ansible = [str(peers / "bin" / "ansible"), "all", "-i", str(inventory), "-f", "64", "-m", "raw"]
        found.append(Way("ansible raw", [*ansible, f"--ssh-common-args={options}", "-a", "; ".join(texts())], runs=1))
    xargs = f"xargs -P64 -I@ sh -c 'ssh {options} @ sh -s < {script}' < {hosts} >/dev/null"
    found.append(Way("ssh host sh", ["sh", "-c", xargs], runs=3))
    if shutil.which("pdsh"):
        line = "; ".join(texts())
        pdsh = ["env", f"PDSH_SSH_ARGS_APPEND={options}", "pdsh", "-R", "ssh", "-f", "64", "-w", f"^{hosts}", line]
        found.append(Way("pdsh", pdsh, runs=1))
    return found


def _quoted(text: str) -> str:
    import shlex

    return shlex.quote(text)


def table(found: list[Way], targets: dict[str, float]) -> str:
    """Medians, and ours as a ratio of theirs."""
    ours, rows = found[0], []
    for way in found:
        wall, cpu = statistics.median(way.wall_s), statistics.median(way.cpu_s)
        ratio = statistics.median(ours.wall_s) / wall
        cpu_ratio = statistics.median(ours.cpu_s) / cpu
        target = targets.get(way.name)
        verdict = "" if target is None else f"{target:g} ({'met' if ratio <= target else 'MISSED'})"
        rows.append(
            f"| {way.name} | {wall:.2f} | {cpu:.2f} | {ratio:.2f} | {cpu_ratio:.2f} | {verdict} | {len(way.wall_s)} |"
        )
    head = (
        "| way | wall s | client CPU s | ours / it, wall | ours / it, CPU | target wall | runs |\n"
        "|---|--:|--:|--:|--:|--|--:|"
    )
    return "\n".join([head, *rows])


TARGETS = {"asyncssh, one script": 1.25, "clush, one script": 0.35, "clush, a call a command": 0.05}


def main() -> None:
    """Starts the servers, alternates the ways, prints the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.fanout", description=__doc__)
    parser.add_argument("--nodes", type=int, default=64)
    parser.add_argument("--peers", type=Path, metavar="VENV")
    parser.add_argument("--only", action="append", default=[], help="only these ways (repeatable)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, serving(Path(name), args.nodes):
        folder = Path(name)
        found = [w for w in ways(folder, args.peers) if not args.only or w.name in ("rackside", *args.only)]
        found[0].once()  # warms the servers
        found[0].wall_s.clear()
        found[0].cpu_s.clear()
        told = ""
        for run in range(RUNS):
            for way in found:
                if run < way.runs:
                    said = way.once()
                    told = said if way.name == "rackside" else told
        print(f"{args.nodes} nodes, {json.loads(told)['outputs'] // args.nodes} commands each")
        print(table(found, TARGETS))
        print(
            f"peak memory of rackside: {json.loads(told)['peak_mb']:.0f} MB, failed nodes: {json.loads(told)['failed']}"
        )
        _second_step(folder)


def _second_step(folder: Path) -> None:
    two: Callable[[], str] = Way("two steps", [sys.executable, "-m", "bench.ours", str(folder), "2"]).once
    first, second = json.loads(two())["steps_s"]
    print(f"second step over open connections: {second:.2f} s, {second / first:.2f} of the first (target 0.25)")


if __name__ == "__main__":
    main()
