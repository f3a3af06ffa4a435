"""A fleet asked from processes of their own: what threads would have brought, and no process left over."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from checks.outputs import NotAvailable, Output
from checks.plan import Wanted
from checks.transports import live as living_module
from checks.transports.live import Live
from checks.transports.workers import ENDED, Workers
from tests.checks.transports.sshd import Fleet, make_fleet
from tests.checks.transports.test_live import STUBS, ask, got, living
from tests.checks.transports.test_script import alive

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux alone")
NODES = "good,binary,denied,forced,hang"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    folder = tmp_path_factory.mktemp("workers")
    made = make_fleet(folder)
    (folder / "bin").mkdir()
    tool = folder / "bin" / "nvidia-smi"
    tool.write_text("#!/bin/sh\n" + STUBS["nvidia-smi"].replace("61.77", "63.77"))
    tool.chmod(0o755)
    path = f"PATH={folder}/bin:/usr/bin:/bin"
    try:
        for node in ("good", "binary", "denied", "hang", "flood"):
            made.start(node, environment=path)
        made.start("forced", options="ForceCommand echo only backups here")
        yield made
    finally:
        made.stop()


@pytest.fixture
def forking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes for however few nodes, and whatever threads the test runner has."""
    monkeypatch.setattr(living_module, "PROCESSES_FROM", 1)
    monkeypatch.setattr(threading, "active_count", lambda: 1)


def pids(live: Live) -> list[int]:
    assert isinstance(live._asking, Workers)
    return [worker.pid for worker in live._asking._workers]


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.usefixtures("forking")
def test_processes_bring_what_threads_would_have_brought(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    forked = living(fleet, "good,binary,denied,forced")
    events = ask(forked, "smi-list", "boot")
    monkeypatch.setattr(living_module, "PROCESSES_FROM", 1000)
    threads = living(fleet, "good,binary,denied,forced")
    ask(threads, "smi-list", "boot")
    both = (forked, threads)
    processes = pids(forked)
    try:
        for node in ("good", "binary", "denied"):
            one, other = (got(live, node) for live in both)
            assert isinstance(one, Output)
            assert isinstance(other, Output)
            assert (one.stdout, one.stderr, one.status) == (other.stdout, other.stderr, other.status)
        assert got(forked, "forced") == got(threads, "forced")
        assert isinstance(got(forked, "forced"), NotAvailable)
        assert {(e.node, e.state) for e in events} == {
            *((n, "asking") for n in ("good", "binary", "denied", "forced")),
            *((n, "answered") for n in ("good", "binary", "denied")),
            ("forced", "failed"),
        }
        ask(forked, "smi-list", round=2)
        assert isinstance(got(forked, "good", round=2), Output)
    finally:
        for live in both:
            live.close()
    assert all(gone(pid) for pid in processes)


@pytest.mark.usefixtures("forking")
def test_a_flood_is_cut_and_what_was_to_follow_it_is_asked_again(fleet: Fleet) -> None:
    live = living(fleet, "flood,good")
    try:
        ask(live, "smi-list", "boot")
        flood = got(live, "flood")
        assert isinstance(flood, Output)
        assert b"larger than Rackside reads" in flood.stderr
        assert isinstance(got(live, "flood", "boot"), Output)
    finally:
        live.close()


@pytest.mark.usefixtures("forking")
def test_cancelling_returns_at_once_and_the_next_step_is_not_confused_by_what_comes_late(fleet: Fleet) -> None:
    live = living(fleet, "good,hang")
    began = time.monotonic()
    try:
        live.collect(
            [Wanted(n, "smi-list") for n in ("good", "hang")],
            round=1,
            cancelled=lambda: time.monotonic() - began > 2,
        )
        assert time.monotonic() - began < 4
        assert isinstance(got(live, "hang"), NotAvailable)
        for _ in range(50):
            if not alive("sleep 63.77"):
                break
            time.sleep(0.1)
        assert not alive("sleep 63.77")
        ask(live, "boot", round=2)
        assert isinstance(got(live, "hang", "boot", 2), Output)
        assert not live.failures
    finally:
        live.close()


@pytest.mark.usefixtures("forking")
def test_a_process_that_was_killed_costs_its_own_nodes_alone_and_they_say_why(fleet: Fleet) -> None:
    live = living(fleet, "binary,good")
    try:
        ask(live, "boot")
        os.kill(pids(live)[1], signal.SIGKILL)
        ask(live, "smi-list")
        assert isinstance(got(live, "binary"), Output)
        lost = got(live, "good")
        assert isinstance(lost, NotAvailable)
        assert ENDED.reason in lost.reason
    finally:
        live.close()


@pytest.mark.usefixtures("forking")
def test_a_fault_in_a_process_is_raised_here(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    from checks.transports import script

    def broken(*_: object) -> bytes:
        raise ZeroDivisionError("of the script")

    monkeypatch.setattr(script, "build", broken)
    live = living(fleet, "good")
    try:
        with pytest.raises(RuntimeError, match="of the script"):
            ask(live, "boot")
    finally:
        live.close()


def test_processes_end_with_the_one_they_came_from_and_nothing_stays_on_the_nodes(fleet: Fleet, tmp_path: Path) -> None:
    program = f"""
import threading
from pathlib import Path
from checks.transports import live as module
module.PROCESSES_FROM = 1
from tests.checks.transports.sshd import Fleet
from tests.checks.transports.test_live import living
from checks.plan import Wanted
fleet = Fleet(folder=Path({str(fleet.folder)!r}), port={fleet.port}, key=Path({str(fleet.key)!r}))
live = living(fleet, "hang,good")
live.prepare()
print(*(w.pid for w in live._asking._workers), flush=True)
live.collect([Wanted(n, "smi-list") for n in ("hang", "good")], round=1)
"""
    started = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    try:
        assert started.stdout is not None
        processes = [int(pid) for pid in started.stdout.readline().split()]
        assert len(processes) == 2
        for _ in range(100):
            if alive("sleep 63.77"):
                break
            time.sleep(0.1)
        assert alive("sleep 63.77")
    finally:
        started.kill()
        started.wait()
        started.stdout.close()
    for _ in range(100):
        if all(gone(pid) for pid in processes) and not alive("sleep 63.77"):
            break
        time.sleep(0.1)
    assert all(gone(pid) for pid in processes)
    assert not alive("sleep 63.77")


def test_no_processes_are_forked_for_few_nodes_or_beside_other_threads(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = living(fleet, "good")
    few.prepare()
    assert not isinstance(few._asking, Workers)
    monkeypatch.setattr(living_module, "PROCESSES_FROM", 1)
    monkeypatch.setattr(threading, "active_count", lambda: 2)
    many = living(fleet, "good")
    many.prepare()
    assert not isinstance(many._asking, Workers)
