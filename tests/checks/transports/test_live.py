"""The living cluster as a store, over real OpenSSH servers whose tools are stubs: good nodes, and bad nights."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from checks.inventory import Access, Cluster, ClusterFile
from checks.outputs import NodeEvent, NotAvailable, Output
from checks.plan import Wanted
from checks.transports.keys import Keys
from checks.transports.live import Live
from checks.transports.recorder import Recorder
from checks.transports.sshconfig import SshConfig
from tests.checks.transports.sshd import Fleet, keygen, make_fleet
from tests.checks.transports.test_script import alive

STUBS = {
    # what a tool does is chosen by the node it runs on
    "nvidia-smi": """case "$RACK_NODE" in
  hang) sleep 61.77 ;;
  flood) exec cat /dev/zero ;;
  binary) printf '\\000\\001\\377' ;;
  detach) (setsid sleep 62.77 >/dev/null 2>&1 &) ; echo "GPU 0: X (UUID: GPU-1)" ;;
  cut) echo "GPU 0: X (UUID: GPU-1)"; kill -KILL "$(ps -o ppid= -p "$(ps -o sid= -p $$ | tr -d ' ')" | tr -d ' ')" ;;
  denied) echo "Permission denied" >&2; exit 126 ;;
  *) echo "GPU 0: X (UUID: GPU-1)" ;;
esac
""",
}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    folder = tmp_path_factory.mktemp("live")
    made = make_fleet(folder)
    tools = folder / "bin"
    tools.mkdir()
    for name, body in STUBS.items():
        path = tools / name
        path.write_text(f"#!/bin/sh\n{body}")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    path = f"PATH={tools}:/usr/bin:/bin"
    try:
        for node in ("good", "hang", "flood", "binary", "detach", "cut", "denied", "bastion", "inner"):
            made.start(node, environment=path)
        made.start("forced", options="ForceCommand echo only backups here")
        made.start("slow", options="MaxStartups 1:100:1", environment=path)
        yield made
    finally:
        made.stop()


def cluster(nodes: str, **access: object) -> Cluster:
    spec = {"name": "t", "roles": {"gpu-node": nodes}, "access": {"user": "root", **access}}
    return Cluster(ClusterFile.model_validate(spec))


def living(
    fleet: Fleet, nodes: str, *, recorder: Recorder | None = None, connect_s: float = 3, **access: object
) -> Live:
    made = cluster(nodes, **access)
    config = SshConfig(Access(**made.spec.access.model_dump()), user_config=fleet.folder / "config")
    return Live(made, config=config, connect_s=connect_s, recorder=recorder)


def ask(live: Live, *commands: str, round: int = 1) -> list[NodeEvent]:
    events: list[NodeEvent] = []
    live.collect([Wanted(n, c) for n in live.cluster.nodes() for c in commands], round=round, on_node=events.append)
    return events


def got(live: Live, node: str, command: str = "smi-list", round: int = 1) -> Output | NotAvailable:
    return live.get(node, command, (), round, 1)


def test_every_node_answers_or_says_why_and_the_rest_is_not_held_up(fleet: Fleet) -> None:
    live = living(fleet, "good,forced,binary,denied")
    try:
        ask(live, "smi-list", "boot")
        good = got(live, "good")
        assert isinstance(good, Output)
        assert good.stdout == b"GPU 0: X (UUID: GPU-1)\n"
        assert good.read_at is not None
        binary = got(live, "binary")
        assert isinstance(binary, Output)
        assert binary.stdout == b"\x00\x01\xff"
        denied = got(live, "denied")
        assert isinstance(denied, Output)
        assert (denied.status, denied.stderr.strip()) == (126, b"Permission denied")
        forced = got(live, "forced")
        assert isinstance(forced, NotAvailable)
        assert "only backups here" in forced.reason
        assert abs(live.clock_offsets_s["good"]) < 2
    finally:
        live.close()


def test_a_class_of_commands_that_hung_is_not_asked_again_on_that_node(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    from checks import catalogue

    quick = catalogue.get("smi-list").model_copy(update={"timeout_s": 1})
    monkeypatch.setitem(catalogue.table(), "smi-list", quick)  # type: ignore[arg-type]
    live = living(fleet, "good,hang")
    try:
        ask(live, "smi-list", "boot")
        hung = got(live, "hang")
        assert isinstance(hung, Output)
        assert hung.status in (124, 137)
        assert isinstance(got(live, "hang", "boot"), Output)
        began = time.monotonic()
        ask(live, "smi-core", round=2)
        assert time.monotonic() - began < 5
        again = got(live, "hang", "smi-core", 2)
        assert isinstance(again, NotAvailable)
        assert "hung" in again.reason
        assert isinstance(got(live, "good", "smi-core", 2), Output)
        assert not alive("sleep 61.77")
    finally:
        live.close()


def test_a_flood_is_cut_and_says_so(fleet: Fleet) -> None:
    live = living(fleet, "flood")
    try:
        ask(live, "smi-list")
        flood = got(live, "flood")
        assert isinstance(flood, Output)
        assert b"larger than Rackside reads" in flood.stderr
        assert len(flood.stdout) < 64 * 1024 * 1024
    finally:
        live.close()


def test_a_program_that_detaches_does_not_outlive_the_connection(fleet: Fleet) -> None:
    live = living(fleet, "detach")
    ask(live, "smi-list")
    assert isinstance(got(live, "detach"), Output)
    live.close()
    # what starts a session of its own is out of any watcher's reach; the node's administrator sees it in `ps`
    subprocess.run(["pkill", "-f", "sleep 62.77"], check=False)


def test_a_connection_that_ends_in_the_middle_leaves_what_was_whole(fleet: Fleet) -> None:
    live = living(fleet, "cut")
    try:
        ask(live, "boot", "smi-list")
        assert isinstance(got(live, "cut", "boot"), Output)
        cut = got(live, "cut")
        assert isinstance(cut, NotAvailable) or b"connection ended" in cut.stderr
        # the next step connects anew
        ask(live, "boot", round=2)
        assert isinstance(got(live, "cut", "boot", 2), Output)
    finally:
        live.close()


def test_two_jumps_are_taken_one_after_the_other(fleet: Fleet) -> None:
    live = living(fleet, "inner", jump=("good", "bastion"))
    try:
        ask(live, "boot")
        assert isinstance(got(live, "inner", "boot"), Output)
        assert set(live.connections.names) == {"inner", "jump good", "jump bastion"}
    finally:
        live.close()


def test_a_black_hole_a_silent_server_and_a_closed_port_cost_the_deadline_and_hold_nobody_up(
    fleet: Fleet, tmp_path: Path
) -> None:
    with socket.socket() as silent:
        silent.bind(("127.1.200.1", 0))
        silent.listen()
        config = (fleet.folder / "config").read_text()
        # a full backlog drops packets without a word: the nearest thing to a black hole that loopback has
        config += f"Host mute\n  HostName 127.1.200.1\n  Port {silent.getsockname()[1]}\n"
        config += "Host closed\n  HostName 127.1.200.2\n  Port 9\n"
        config += "Host nowhere\n  HostName no-such-host.invalid\n"
        path = tmp_path / "config"
        path.write_text(config)
        made = cluster("good,mute,closed,nowhere")
        live = Live(made, config=SshConfig(made.spec.access, user_config=path), connect_s=2)
        when: dict[str, float] = {}
        began = time.monotonic()

        def note(event: NodeEvent) -> None:
            when.setdefault(f"{event.node} {event.state}", time.monotonic() - began)

        try:
            live.collect([Wanted(n, "boot") for n in made.nodes()], round=1, on_node=note)
            took = time.monotonic() - began
        finally:
            live.close()
        assert took < 2 * 1.1 + 3  # room for a busy machine
        assert when["good answered"] < when["mute failed"]
        assert {n: w.kind for n, w in live.failures.items()} == {
            "mute": "unreachable",
            "closed": "unreachable",
            "nowhere": "unreachable",
        }


def test_cancelling_returns_at_once_and_ends_what_runs_on_the_nodes(fleet: Fleet) -> None:
    live = living(fleet, "hang,good")
    stop = threading.Event()
    timer = threading.Timer(1.5, stop.set)
    timer.start()
    began = time.monotonic()
    live.collect([Wanted(n, "smi-list") for n in ("hang", "good")], round=1, cancelled=stop.is_set)
    assert time.monotonic() - began < 4
    deadline = time.monotonic() + 5
    while alive("sleep 61.77") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive("sleep 61.77")
    assert isinstance(got(live, "good"), Output)
    # what was interrupted counts as not asked: it can be asked again
    assert [w.node for w in live.unasked([Wanted("hang", "smi-list"), Wanted("good", "smi-list")], round=1)] == ["hang"]
    live.close()


def test_a_recording_that_was_killed_half_way_is_valid_and_goes_on(fleet: Fleet, tmp_path: Path) -> None:
    made = cluster("good")
    first = living(fleet, "good", recorder=Recorder(tmp_path / "kept", made))
    ask(first, "boot")
    first.close()
    second = living(fleet, "good", recorder=Recorder(tmp_path / "kept", made, go_on=True))
    ask(second, "boot")
    second.close()
    rounds = sorted(p.name for p in (tmp_path / "kept" / "recordings").iterdir())
    assert rounds == ["round-1", "round-2"]
    assert all((p.stat().st_mode & 0o077) == 0 for p in (tmp_path / "kept").rglob("*"))


def test_sudo_that_asks_for_a_password_is_unknown_and_needs_root(fleet: Fleet) -> None:
    live = living(fleet, "good", sudo=True)
    stub = fleet.folder / "bin" / "sudo"
    stub.write_text("#!/bin/sh\necho 'sudo: a password is required' >&2\nexit 1\n")
    stub.chmod(0o755)
    try:
        ask(live, "lnet")
        said = got(live, "good", "lnet")
        assert isinstance(said, Output)
        from checks.interpret import interpret

        outcome = interpret(said)
        assert isinstance(outcome, NotAvailable)
        assert outcome.kind == "denied"
    finally:
        stub.unlink()
        live.close()


def test_a_key_that_only_the_agent_holds_is_used_and_its_passphrase_never_asked(fleet: Fleet, tmp_path: Path) -> None:
    key = keygen(tmp_path / "locked", phrase="secret")
    plain = keygen(tmp_path / "plain")
    with (fleet.folder / "authorized_keys").open("a") as file:
        file.write(plain.with_name("plain.pub").read_text())
    agent = subprocess.run(["ssh-agent", "-s"], capture_output=True, text=True, check=True).stdout
    path = agent.split("SSH_AUTH_SOCK=")[1].split(";")[0]
    pid = int(agent.split("SSH_AGENT_PID=")[1].split(";")[0])
    try:
        subprocess.run(["ssh-add", "-q", str(plain)], env={**os.environ, "SSH_AUTH_SOCK": path}, check=True)
        config = tmp_path / "config"
        config.write_text(
            f"Host good\n  HostName {fleet.nodes['good']}\n  Port {fleet.port}\n  IdentityFile {key}\n"
            f"  IdentityAgent {path}\n  UserKnownHostsFile {fleet.folder}/known_hosts\n"
        )
        asked: list[Path] = []
        made = cluster("good")
        live = Live(
            made,
            config=SshConfig(made.spec.access, user_config=config),
            keys=Keys(lambda p: asked.append(p)),  # type: ignore[func-returns-value]
        )
        ask(live, "boot")
        live.close()
        assert isinstance(got(live, "good", "boot"), Output)
    finally:
        os.kill(pid, 15)


def test_log_ins_that_the_server_drops_are_tried_again(fleet: Fleet) -> None:
    held = socket.create_connection((fleet.nodes["slow"], fleet.port))
    threading.Timer(0.6, held.close).start()
    live = living(fleet, "slow", connect_s=8)
    try:
        ask(live, "boot")
        assert isinstance(got(live, "slow", "boot"), Output)
    finally:
        live.close()


def test_nodes_that_are_gone_wait_beside_the_pool_and_not_in_it(fleet: Fleet, tmp_path: Path) -> None:
    hole = socket.socket()
    hole.bind(("127.1.200.3", 0))
    hole.listen(0)
    # with its queue full the kernel drops whoever knocks, as a host that is switched off does
    knocking = [socket.socket() for _ in range(3)]
    for one in knocking:
        one.setblocking(False)
        one.connect_ex(hole.getsockname())
    try:
        path = tmp_path / "config"
        path.write_text(
            (fleet.folder / "config").read_text()
            + f"Host gone*\n  HostName 127.1.200.3\n  Port {hole.getsockname()[1]}\n"
        )
        made = cluster("gone[01-40],good,inner,binary")
        live = Live(made, config=SshConfig(made.spec.access, user_config=path), connect_s=3, pool=2)
        began = time.monotonic()
        answered: dict[str, float] = {}

        def note(event: NodeEvent) -> None:
            if event.state == "answered":
                answered[event.node] = time.monotonic() - began

        live.collect([Wanted(n, "boot") for n in sorted(made.nodes())], round=1, on_node=note)
        took = time.monotonic() - began
        live.close()
        assert set(answered) == {"good", "inner", "binary"}
        assert max(answered.values()) < 3
        assert took < 3 * 1.1 + 1
        assert len(live.failures) == 40
    finally:
        for one in (*knocking, hole):
            one.close()
