"""Fan-out with ClusterShell over real OpenSSH servers, straight and through a gateway."""

from __future__ import annotations

import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from checks.inventory import Cluster, ClusterFile
from checks.outputs import NodeEvent, NotAvailable, Output
from checks.plan import Wanted
from checks.transports.live import Live
from tests.checks.transports.sshd import Fleet, make_fleet
from tests.checks.transports.test_script import alive

NODES = "n[1-4]"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    folder = tmp_path_factory.mktemp("tree")
    made = make_fleet(folder)
    tools = folder / "bin"
    tools.mkdir()
    stub = tools / "nvidia-smi"
    stub.write_text(
        '#!/bin/sh\ncase "$RACK_NODE" in\n  hang) sleep 63.77 ;;\n'
        '  *) printf "row\\r\\n\\000\\377 no newline" ;;\nesac\n'
    )
    stub.chmod(stub.stat().st_mode | stat.S_IXUSR)
    path = f"{tools}:{Path(sys.executable).parent}:/usr/bin:/bin"
    try:
        for node in ("n1", "n2", "n3", "n4", "gw", "hang"):
            made.start(node, environment=f"PATH={path}")
        with (folder / "config").open("a") as file:
            file.write("Host gone\n  HostName 127.1.250.9\n  Port 9\n")
        yield made
    finally:
        made.stop()


def living(fleet: Fleet, nodes: str) -> Live:
    spec = {"name": "t", "roles": {"gpu-node": nodes}, "access": {"user": "root", "via": "clustershell"}}
    return Live(Cluster(ClusterFile.model_validate(spec)), ssh_config=fleet.folder / "config", connect_s=3)


def ask(live: Live, *commands: str) -> list[NodeEvent]:
    events: list[NodeEvent] = []
    live.collect([Wanted(n, c) for n in live.cluster.nodes() for c in commands], round=1, on_node=events.append)
    return events


def test_answers_come_byte_for_byte_and_the_failed_say_why(fleet: Fleet) -> None:
    live = living(fleet, f"{NODES},gone")
    events = ask(live, "smi-list", "boot")
    for node in ("n1", "n2", "n3", "n4"):
        found = live.get(node, "smi-list", (), 1, 1)
        assert isinstance(found, Output)
        assert found.stdout == b"row\r\n\x00\xff no newline"
        assert found.status == 0
        assert found.read_at is not None
    gone = live.get("gone", "boot", (), 1, 1)
    assert isinstance(gone, NotAvailable)
    assert gone.kind == "unreachable"
    assert "refused" in gone.reason
    assert {e.node for e in events if e.state == "answered"} == {"n1", "n2", "n3", "n4"}


def test_an_unknown_host_key_is_refused_and_never_accepted(fleet: Fleet, tmp_path: Path) -> None:
    (tmp_path / "known").write_text("")
    config = (fleet.folder / "config").read_text().replace(f"{fleet.folder}/known_hosts", f"{tmp_path}/known")
    (tmp_path / "config").write_text(config)
    spec = {"name": "t", "roles": {"gpu-node": "n1"}, "access": {"user": "root", "via": "clustershell"}}
    live = Live(Cluster(ClusterFile.model_validate(spec)), ssh_config=tmp_path / "config", connect_s=3)
    ask(live, "boot")
    found = live.get("n1", "boot", (), 1, 1)
    assert isinstance(found, NotAvailable)
    assert "Host key verification failed" in found.reason
    assert (tmp_path / "known").read_text() == ""


def test_cancelling_ends_what_runs_on_the_nodes(fleet: Fleet) -> None:
    live = living(fleet, "hang,n1")
    stop = threading.Event()
    threading.Timer(2.0, stop.set).start()
    began = time.monotonic()
    live.collect([Wanted(n, "smi-list") for n in ("hang", "n1")], round=1, cancelled=stop.is_set)
    assert time.monotonic() - began < 6
    deadline = time.monotonic() + 5
    while alive("sleep 63.77") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive("sleep 63.77")


def test_a_gateway_of_clustershells_own_topology_is_used(
    fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "clustershell"
    home.mkdir()
    here = socket.gethostname().partition(".")[0]
    (home / "topology.conf").write_text(f"[routes]\n{here}: gw\ngw: {NODES}\n")
    monkeypatch.setenv("CLUSTERSHELL_CFGDIR", str(home))
    # the gateway reaches the nodes with the same configuration
    monkeypatch.setenv("CLUSTERSHELL_GW_PYTHON_EXECUTABLE", sys.executable)
    seen = threading.Event()

    def watch() -> bool:
        shown = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
        if "ClusterShell.Gateway" in shown:
            seen.set()
        return False

    live = living(fleet, NODES)
    live.collect([Wanted(n, c) for n in live.cluster.nodes() for c in ("smi-list", "boot")], round=1, cancelled=watch)
    found = [live.get(f"n{k}", "smi-list", (), 1, 1) for k in range(1, 5)]
    assert [f.stdout for f in found if isinstance(f, Output)] == [b"row\r\n\x00\xff no newline"] * 4, live.failures
    assert seen.is_set(), "nobody saw the gateway at work"
