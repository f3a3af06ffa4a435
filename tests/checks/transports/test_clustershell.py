"""Fan-out with ClusterShell over real OpenSSH servers, straight and through a gateway."""

from __future__ import annotations

import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from checks.inventory import Access, Cluster, ClusterFile
from checks.outputs import NodeEvent, NotAvailable, Output
from checks.plan import Wanted
from checks.transports import clustershell
from checks.transports.asker import Task
from checks.transports.live import Live
from checks.transports.script import COMMAND_BYTES
from checks.transports.sshconfig import SshConfig
from common.errors import InputError
from tests.checks.transports.sshd import Fleet, make_fleet
from tests.checks.transports.test_local import gone
from tests.checks.transports.test_script import alive

NODES = "n[1-4]"
Routes = Callable[..., None]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    folder = tmp_path_factory.mktemp("tree")
    made = make_fleet(folder)
    tools = folder / "bin"
    tools.mkdir()
    stub = tools / "nvidia-smi"
    stub.write_text(
        '#!/bin/sh\ncase "$RACK_NODE" in\n  hang) sleep 63.77 ;;\n'
        '  flood) case "$1" in -L) head -c 9000 /dev/zero ;; *) echo ok ;; esac ;;\n'
        # long enough for the gateways to be seen at work
        '  *) sleep 0.5; printf "row\\r\\n\\000\\377 no newline" ;;\nesac\n'
    )
    stub.chmod(stub.stat().st_mode | stat.S_IXUSR)
    path = f"{tools}:{Path(sys.executable).parent}:/usr/bin:/bin"
    try:
        for node in ("n1", "n2", "n3", "n4", "gw", "gw2", "hang", "flood"):
            made.start(node, environment=f"PATH={path}")
        made.start("mute", options="ForceCommand sleep 15")
        made.start("closed", options="ForceCommand exit 3")
        made.start("said", options=f'ForceCommand echo "$SSH_ORIGINAL_COMMAND" >> {folder}/said.command')
        made.start("stuck")
        made.hang("stuck")
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
    failed = live.get("gone", "boot", (), 1, 1)
    assert isinstance(failed, NotAvailable)
    assert failed.kind == "unreachable"
    assert "refused" in failed.reason
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
    assert gone("sleep 63.77")


@pytest.fixture
def routes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Routes:
    monkeypatch.setenv("CLUSTERSHELL_CFGDIR", str(tmp_path))
    # the gateway reaches the nodes with the same configuration
    monkeypatch.setenv("CLUSTERSHELL_GW_PYTHON_EXECUTABLE", sys.executable)
    here = socket.gethostname().partition(".")[0]

    def write(gateway: str, nodes: str, start: str = here) -> None:
        (tmp_path / "topology.conf").write_text(f"[routes]\n{start}: {gateway}\n{gateway}: {nodes}\n")

    return write


def gateways() -> list[int]:
    shown = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
    # the process itself, neither the ssh nor the shell that started it
    return [
        int(x.split()[0]) for x in shown.splitlines() if re.match(r"\s*\d+ \S*python\S* -m ClusterShell.Gateway", x)
    ]


def test_a_gateway_of_clustershells_own_topology_is_used(fleet: Fleet, routes: Routes) -> None:
    routes("gw", NODES)
    seen = threading.Event()

    def watch() -> bool:
        if gateways():
            seen.set()
        return False

    live = living(fleet, NODES)
    live.collect([Wanted(n, c) for n in live.cluster.nodes() for c in ("smi-list", "boot")], round=1, cancelled=watch)
    found = [live.get(f"n{k}", "smi-list", (), 1, 1) for k in range(1, 5)]
    assert [f.stdout for f in found if isinstance(f, Output)] == [b"row\r\n\x00\xff no newline"] * 4, live.failures
    assert seen.is_set(), "nobody saw the gateway at work"


@pytest.mark.parametrize("gateway", ["closed", "stuck", "gone"])
def test_a_dead_gateway_costs_its_own_nodes_and_no_others(fleet: Fleet, routes: Routes, gateway: str) -> None:
    routes(gateway, "n[1-2]")
    live = living(fleet, NODES)
    began = time.monotonic()
    ask(live, "smi-list")
    assert time.monotonic() - began < 8
    assert isinstance(live.get("n3", "smi-list", (), 1, 1), Output)
    assert set(live.failures) == {"n1", "n2"}
    assert f"no gateway to it answers: {gateway}" in live.failures["n1"].reason


def test_another_gateway_to_the_same_nodes_takes_over(fleet: Fleet, routes: Routes) -> None:
    routes("closed,gw", NODES)
    live = living(fleet, NODES)
    ask(live, "smi-list")
    assert not live.failures
    assert all(isinstance(live.get(f"n{k}", "smi-list", (), 1, 1), Output) for k in range(1, 5))


def test_gateways_share_their_nodes(fleet: Fleet, routes: Routes) -> None:
    routes("gw,gw2", NODES)
    most: list[int] = [0]

    def watch() -> bool:
        most[0] = max(most[0], len(gateways()))
        return False

    live = living(fleet, NODES)
    live.collect([Wanted(n, "smi-list") for n in live.cluster.nodes()], round=1, cancelled=watch)
    assert live.count == 4
    assert most[0] >= 2


def test_a_gateway_that_dies_at_work_fails_its_nodes_and_leaves_nothing_behind(fleet: Fleet, routes: Routes) -> None:
    routes("gw", "hang")

    def kill() -> bool:
        if alive("sleep 63.77"):
            for pid in gateways():
                os.kill(pid, signal.SIGKILL)
        return False

    live = living(fleet, "hang,n3")
    live.collect([Wanted(n, "smi-list") for n in ("hang", "n3")], round=1, cancelled=kill)
    assert isinstance(live.get("n3", "smi-list", (), 1, 1), Output)
    assert set(live.failures) == {"hang"}
    assert gone("sleep 63.77")


def test_cancelling_reaches_through_a_gateway(fleet: Fleet, routes: Routes) -> None:
    routes("gw", "hang")
    live = living(fleet, "hang")
    live.collect([Wanted("hang", "smi-list")], round=1, cancelled=lambda: alive("sleep 63.77"))
    assert gone("sleep 63.77")
    assert not live.failures


def test_a_topology_that_does_not_start_here_is_told_with_its_file(fleet: Fleet, routes: Routes) -> None:
    routes("gw", NODES, start="elsewhere")
    live = living(fleet, NODES)
    with pytest.raises(InputError, match=r"topology\.conf: gateways cannot be followed"):
        ask(live, "boot")
    # asked again once it is put right
    assert len(live.unasked([Wanted("n1", "boot")], round=1)) == 1


def test_a_node_that_never_answers_is_given_up_in_time(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Task, "limit_s", 1.0)
    live = living(fleet, "mute,stuck,n1")
    began = time.monotonic()
    ask(live, "boot")
    assert time.monotonic() - began < 8
    assert isinstance(live.get("n1", "boot", (), 1, 1), Output)
    assert set(live.failures) == {"mute", "stuck"}


def test_a_flood_is_cut_off_and_what_follows_it_is_still_asked(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clustershell, "STREAM_BYTES", 4000)
    monkeypatch.setattr(clustershell, "START", clustershell.START.replace(str(2 * COMMAND_BYTES), "4000"))
    live = living(fleet, "flood")
    began = time.monotonic()
    events = ask(live, "boot", "smi-list", "smi-core", "smi-perf")
    assert time.monotonic() - began < 8
    assert [e.state for e in events].count("answered") == 1
    found = live.get("flood", "smi-list", (), 1, 1)
    assert isinstance(found, Output)
    assert b"cut off" in found.stderr
    for command in ("boot", "smi-core", "smi-perf"):
        after = live.get("flood", command, (), 1, 1)
        assert isinstance(after, Output), command
        assert after.status == 0


def test_a_switch_with_a_command_line_of_its_own_gets_no_script(fleet: Fleet) -> None:
    access = {"user": "root", "via": "clustershell"}
    roles = {"gpu-node": "n1", "switch-leaf": {"nodes": "said", "os": "eos"}}
    spec = ClusterFile.model_validate({"name": "t", "roles": roles, "access": access})
    config = fleet.folder / "config"
    live = Live(Cluster(spec), config=SshConfig(spec.access, user_config=config), ssh_config=config, connect_s=3)
    live.collect([Wanted("n1", "boot"), Wanted("said", "eos-version")], round=1)
    live.close()
    assert isinstance(live.get("n1", "boot", (), 1, 1), Output)
    assert set(live.failures) == {"said"}
    assert "/bin/sh" not in (fleet.folder / "said.log").read_text()
    assert "sh -s" not in (fleet.folder / "said.command").read_text()


def test_what_the_engineer_wrote_wins_over_the_cluster_file_except_for_safety(tmp_path: Path) -> None:
    own = tmp_path / "my config"
    own.write_text(
        "Host gpu1\n  User me\n  Port 2222\n  ProxyJump none\n  ConnectTimeout 7\n"
        "Host *\n  StrictHostKeyChecking no\n  UpdateHostKeys yes\n  ControlMaster auto\n"
    )
    access = Access(user="oncall", port=2022, jump=("ops@bastion:2200",))
    made = tmp_path / "made"
    made.write_text(clustershell.configuration(access, own, 3))

    def of(host: str) -> dict[str, str]:
        shown = subprocess.run(["ssh", "-G", "-F", str(made), host], capture_output=True, text=True, check=True).stdout
        return dict(line.split(" ", 1) for line in shown.splitlines() if " " in line)

    for host in ("gpu1", "gpu2", "bastion"):
        found = of(host)
        assert (found["stricthostkeychecking"], found["batchmode"]) in (("true", "yes"), ("yes", "yes"))
        assert (found["updatehostkeys"], found["controlmaster"]) == ("false", "false")
    one, two, jump = of("gpu1"), of("gpu2"), of("bastion")
    assert (one["user"], one["port"], one["connecttimeout"], one.get("proxyjump")) == ("me", "2222", "7", None)
    assert (two["user"], two["port"], two["connecttimeout"]) == ("oncall", "2022", "3")
    assert two["proxyjump"] == "ops@bastion:2200"
    # the cluster file speaks of nodes, not of the host on the way
    assert (jump["port"], jump.get("proxyjump")) == ("22", None)


def test_a_node_behind_a_bastion_is_reached_through_it(fleet: Fleet) -> None:
    spec = {"name": "t", "roles": {"gpu-node": "n1"}, "access": {"user": "root", "via": "clustershell", "jump": ["gw"]}}
    live = Live(Cluster(ClusterFile.model_validate(spec)), ssh_config=fleet.folder / "config", connect_s=3)
    ask(live, "boot")
    assert isinstance(live.get("n1", "boot", (), 1, 1), Output), live.failures
