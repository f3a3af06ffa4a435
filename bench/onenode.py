"""One node asked for twelve things by one person, by round-trip time: `python -m bench.onenode`.

Rackside's time is from an unconnected start to judged and recorded, within a running process, as paramiko's is; `ssh`
is a process anyway.
"""

from __future__ import annotations

import argparse
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import paramiko

from bench.asked import ASKED
from bench.fleet import serving, texts
from checks import catalogue, judge, rules
from checks.clusters import Asking, open_live
from checks.outputs import Facts
from checks.plan import Wanted
from checks.view import View

NODE = "n0001"
TARGETS = {(2, "stock paramiko, a connection a command"): 0.05, (2, "ssh host sh"): 0.4}
ROUND_TRIPS = 14


def main() -> None:
    """Every way at every round-trip time."""
    parser = argparse.ArgumentParser(prog="python -m bench.onenode", description=__doc__)
    parser.add_argument("--rtt-ms", type=float, nargs="+", default=[0, 2, 50])
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    print("| round trip ms | way | median ms | ours / it | target |\n|--:|--|--:|--:|--|")
    bare_s = 0.0
    with tempfile.TemporaryDirectory() as name, serving(Path(name), 1) as fleet:
        for rtt_ms in args.rtt_ms:
            with delayed(Path(name), fleet.nodes[NODE], fleet.port, rtt_ms) as config:
                found = {
                    way: statistics.median(timed(ask) for _ in range(args.runs))
                    for way, ask in ways(Path(name), config).items()
                }
            ours = found["rackside"]
            for way, took_s in found.items():
                target = TARGETS.get((rtt_ms, way))
                met = "" if target is None else f"{target:g} ({'met' if ours / took_s <= target else 'MISSED'})"
                print(f"| {rtt_ms:g} | {way} | {took_s * 1000:.0f} | {ours / took_s:.3f} | {met} |")
            bare_s = bare_s or (ours if not rtt_ms else 0)
            if bare_s and rtt_ms >= 50:
                trips = (ours - bare_s) * 1000 / rtt_ms
                print(f"round trips of rackside: {trips:.1f} (target {ROUND_TRIPS})")


def timed(ask: Callable[[], object]) -> float:
    """Seconds one call takes."""
    start = time.perf_counter()
    ask()
    return time.perf_counter() - start


def ways(folder: Path, config: Path) -> dict[str, Callable[[], object]]:
    """Each asks the node for all of it once."""
    catalogue.table()
    return {
        "rackside": lambda: _rackside(folder, config),
        "ssh host sh": lambda: _ssh(folder, config),
        "stock paramiko, channels in turn": lambda: _paramiko(config, each=False),
        "stock paramiko, a connection a command": lambda: _paramiko(config, each=True),
    }


def _rackside(folder: Path, config: Path) -> None:
    kept = folder / "kept"
    opened = open_live(str(folder / "cluster"), Asking(ssh_config=config, record=kept))
    assert opened.live is not None
    opened.live.collect([Wanted(NODE, command, params) for command, params in ASKED], round=1)
    view = View(opened.cluster, opened.live)
    for command, params in ASKED:
        view.newest(command, NODE, Facts, params)
    for check in ("gpu.answers", "gpu.ecc", "gpu.drift"):
        rule = rules.get(check)
        assert rule is not None
        judge.judge(rule, view)
    failed = opened.live.failures
    opened.close()
    shutil.rmtree(kept)
    if failed:
        raise RuntimeError(f"not answered: {failed}")


def _ssh(folder: Path, config: Path) -> None:
    with (folder / "script").open() as script:
        subprocess.run(
            ["ssh", "-F", str(config), "-o", "BatchMode=yes", "-l", "root", NODE, "sh", "-s"],
            stdin=script,
            stdout=subprocess.DEVNULL,
            check=True,
        )


def _paramiko(config: Path, *, each: bool) -> None:
    host = paramiko.SSHConfig.from_path(str(config)).lookup(NODE)

    def connect() -> paramiko.SSHClient:
        client = paramiko.SSHClient()
        client.load_host_keys(host["userknownhostsfile"])
        client.connect(
            host["hostname"],
            int(host["port"]),
            "root",
            key_filename=host["identityfile"],
            allow_agent=False,
            look_for_keys=False,
        )
        return client

    client = None
    for text in texts():
        client = client or connect()
        _, out, _ = client.exec_command(text)
        out.read()
        if each:
            client.close()
            client = None
    if client:
        client.close()


@contextmanager
def delayed(folder: Path, address: str, port: int, rtt_ms: float) -> Iterator[Path]:
    """An ssh configuration in which the node is `rtt_ms` away."""
    plain = folder / "config"
    if not rtt_ms:
        yield plain
        return
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        near = probe.getsockname()[1]
    line = [sys.executable, "-m", "bench.delay", str(near), f"{address}:{port}", str(rtt_ms)]
    forwarder = subprocess.Popen(line, stdout=subprocess.PIPE)
    try:
        assert forwarder.stdout is not None
        forwarder.stdout.readline()
        known = folder / "known_hosts"
        key = next(text.split()[1:] for text in known.read_text().splitlines() if text.startswith(f"[{address}]"))
        with known.open("a") as file:
            file.write(f"[127.0.0.1]:{near} {' '.join(key)}\n")
        config = folder / f"config-{rtt_ms:g}"
        text = plain.read_text().replace(f"HostName {address}", "HostName 127.0.0.1")
        config.write_text(text.replace(f"Port {port}", f"Port {near}"))
        yield config
    finally:
        forwarder.terminate()
        forwarder.wait()


if __name__ == "__main__":
    main()
