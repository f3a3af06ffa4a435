"""This machine as a node."""

from __future__ import annotations

import os
import socket
import threading
import time

from checks.inventory import Cluster, ClusterFile
from checks.outputs import NotAvailable, Output
from checks.plan import Wanted
from checks.transports import script
from checks.transports.live import Live
from checks.transports.local import LocalConnection
from checks.transports.script import Request
from tests.checks.transports.test_script import alive, command


def cluster(nodes: str, via: str) -> Cluster:
    return Cluster(ClusterFile.model_validate({"name": "t", "roles": {"gpu-node": nodes}, "access": {"via": via}}))


def ask(connection: LocalConnection, *texts: str, within_s: float = 10, timeout_s: int = 5) -> script.Answers:
    mark = script.delimiter()
    body = script.build([Request(command(t, timeout_s=timeout_s)) for t in texts], mark)
    out, err, _ = connection.run(script.START, body, f"{mark} Z\n".encode(), deadline=time.monotonic() + within_s)
    return script.parse(out, err, mark)


def gone(text: str) -> bool:
    """Waits a moment for a process to end."""
    deadline = time.monotonic() + 5
    while alive(text) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not alive(text)


def test_commands_run_here_with_bytes_status_and_errors() -> None:
    answers = ask(LocalConnection(), "printf '\\000\\377'", "echo bad >&2; exit 7")
    assert answers.finished
    assert [(a.stdout, a.status) for a in answers.answers] == [(b"\x00\xff", 0), (b"", 7)]
    assert answers.answers[1].stderr == b"bad\n"


def test_the_deadline_ends_the_whole_session() -> None:
    sleep = f"sleep {os.getpid()}.4711"
    began = time.monotonic()
    answers = ask(LocalConnection(), "echo first", sleep, within_s=1, timeout_s=60)
    assert time.monotonic() - began < 4
    assert [a.stdout for a in answers.answers][:1] == [b"first\n"]
    assert not answers.finished
    assert gone(sleep)


def test_closing_ends_what_runs() -> None:
    sleep = f"sleep {os.getpid()}.4712"
    connection = LocalConnection()
    asking = threading.Thread(target=lambda: ask(connection, sleep, timeout_s=60, within_s=60))
    asking.start()
    deadline = time.monotonic() + 5
    while not alive(sleep) and time.monotonic() < deadline:
        time.sleep(0.02)
    connection.close()
    asking.join(5)
    assert not asking.is_alive()
    assert gone(sleep)


def test_a_cluster_of_one_is_asked_here_and_another_machine_is_not_taken_for_it() -> None:
    live = Live(cluster("anything", "local"))
    live.collect([Wanted("anything", "boot")], round=1)
    live.close()
    assert isinstance(live.get("anything", "boot", (), 1, 1), Output)
    two = Live(cluster(f"{socket.gethostname()},elsewhere", "local"))
    two.collect([Wanted(n, "boot") for n in two.cluster.nodes()], round=1)
    two.close()
    assert isinstance(two.get(socket.gethostname(), "boot", (), 1, 1), Output)
    other = two.get("elsewhere", "boot", (), 1, 1)
    assert isinstance(other, NotAvailable)
    assert "this machine only" in other.reason
