"""Real SSH servers whose tools answer with what a healthy sample cluster recorded."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.asked import ASKED
from checks import catalogue
from checks.clusters import open_cluster
from checks.outputs import NotAvailable
from tests.checks.transports.sshd import Fleet, make_fleet

SAMPLE, NODE = "h100-cpu-balanced", "gpu001"

_RING = (
    "packets",
    "bytes",
    "csum_none",
    "csum_complete",
    "xdp_drop",
    "recover",
    "wqe_err",
    "cache_full",
    "buff_alloc_err",
)
_RINGS = "".join(
    f"     {way}{ring}_{what}: {ring * 7919 + number}\n"
    for ring in range(64)
    for number, (way, what) in enumerate((way, what) for way in ("rx", "tx") for what in _RING)
).encode()


def texts() -> list[str]:
    """The command lines of `ASKED`."""
    return [catalogue.get(command).render(params) for command, params in ASKED]


@contextmanager
def serving(folder: Path, count: int, *, delay_s: float = 0) -> Iterator[Fleet]:
    """`count` nodes; every tool takes `delay_s` more than it needs."""
    replay = open_cluster(SAMPLE).replay
    assert replay is not None
    fleet = make_fleet(folder)
    tools = folder / "bin"
    tools.mkdir()
    cases: dict[str, list[str]] = {}
    for (command, params), text in zip(ASKED, texts(), strict=True):
        output = replay.get(NODE, command, params, 1, 1)
        if isinstance(output, NotAvailable):
            raise LookupError(f"{SAMPLE} has no {command}")
        if text.startswith(("cat ", "grep ")):
            continue  # the machine's own files answer
        words = text.split()
        file = folder / f"{command}-{'-'.join(params) or 'out'}"
        # mlx5 prints some 40 counters for each of its 64 rings besides; the sample leaves them out
        rings = _RINGS if command == "eth-stats" else b""
        file.write_bytes(output.stdout + rings)
        cases.setdefault(words[0], []).append(f"'{' '.join(words[1:])}') exec cat {file} ;;")
    for tool, lines in cases.items():
        path = tools / tool
        pause = f"sleep {delay_s}\n" if delay_s else ""
        path.write_text("#!/bin/sh\n" + pause + 'case "$*" in\n' + "\n".join(lines) + "\nesac\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    (folder / "cluster").mkdir()
    (folder / "cluster" / "cluster.yaml").write_text(
        f"version: 1\nname: fleet\nroles: {{gpu-node: {{nodes: 'n[0001-{count:04d}]', expect: {{gpus: 8}}}}}}\n"
        "access: {user: root}\n"
    )
    try:
        for number in range(1, count + 1):
            fleet.start(f"n{number:04d}", environment=f"PATH={tools}:/usr/bin:/bin")
        (folder / "script").write_text("\n".join(texts()) + "\n")
        (folder / "hosts").write_text("".join(f"{node}\n" for node in fleet.nodes))
        yield fleet
    finally:
        fleet.stop()
