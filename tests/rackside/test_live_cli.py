"""Commands that ask living nodes: real SSH servers on loopback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from checks.transports.layout import UNREACHABLE
from tests.checks.transports.sshd import Fleet, make_fleet
from tests.rackside.test_cli import run

CLUSTER = """\
version: 1
name: small
roles: {gpu-node: "gpu[1-3]"}
access: {user: root}
"""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    folder = tmp_path_factory.mktemp("cli")
    made = make_fleet(folder)
    try:
        made.start("gpu1")
        made.start("gpu2")
        # the third is a stranger: its key is not in known_hosts
        known = (folder / "known_hosts").read_text()
        made.start("gpu3")
        (folder / "known_hosts").write_text(known)
        (folder / "cluster").mkdir()
        (folder / "cluster" / "cluster.yaml").write_text(CLUSTER)
        (folder / "down").mkdir()
        (folder / "down" / "cluster.yaml").write_text(CLUSTER.replace("gpu[1-3]", "gone[1-2]"))
        with (folder / "config").open("a") as file:
            file.write("Host gone1 gone2\n  HostName 127.1.250.1\n  Port 9\n")
        yield made
    finally:
        made.stop()


def live(fleet: Fleet, cluster: str = "cluster") -> tuple[str, ...]:
    return ("-c", str(fleet.folder / cluster), "--ssh-config", str(fleet.folder / "config"))


def test_doctor_says_of_each_node_what_keeps_it_from_being_read(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(capsys, "doctor", *live(fleet), "--format", "json")
    found = json.loads(out)
    assert code == 1
    rows = {row["nodes"]: row for row in found["nodes"]}
    stranger = rows["gpu3"]
    assert stranger["status"] == "unknown"
    assert "SHA256:" in stranger["reason"]
    assert "ssh-keyscan" in stranger["reason"]
    (others,) = [row for nodes, row in rows.items() if nodes != "gpu3"]
    assert others["nodes"] == "gpu[1-2]"
    assert "nvidia-smi" in others["missing"]
    assert abs(others["clock_offset_s"]) < 2


def test_record_writes_a_folder_that_replays_and_names_who_did_not_answer(
    fleet: Fleet, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = tmp_path / "kept"
    code, out, err = run(capsys, "record", *live(fleet), "-o", str(folder), "--rounds", "2", "--interval", "0")
    assert code == 3
    assert "gpu3" in out
    assert "host key unknown" in err
    assert (folder / "recordings" / "round-2" / "gpu3" / UNREACHABLE).is_file()
    code, out, _ = run(capsys, "check", "-c", str(folder), "--check", "host.restarted", "--format", "json")
    findings = {f["nodes"]: f["status"] for f in json.loads(out)["findings"]}
    assert findings == {"gpu[1-2]": "ok", "gpu3": "unknown"}
    code, _, err = run(capsys, "record", *live(fleet), "-o", str(folder))
    assert code == 74
    assert "not empty" in err


def test_a_recording_can_be_written_without_names(
    fleet: Fleet, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = tmp_path / "kept"
    code, _, _ = run(
        capsys, "record", *live(fleet), "-o", str(folder), "--interval", "0", "--anonymise", "--name", "small"
    )
    assert code == 3
    texts = "".join(p.read_text(errors="replace") + str(p) for p in folder.rglob("*") if p.is_file())
    assert "gpu1" not in texts
    assert (tmp_path / "kept.map.json").stat().st_mode & 0o077 == 0
    assert {p.name for p in tmp_path.iterdir()} == {"kept", "kept.map.json"}
    code, _, _ = run(capsys, "check", "-c", str(folder), "--check", "host.restarted")
    assert code == 3


def test_nothing_reached_is_said_with_its_own_status(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "check", *live(fleet, "down"), "--live", "--no-record", "--check", "host.restarted")
    assert code == 69
    assert "none of 2 nodes answered" in err
    assert "gone" in out


def test_options_that_do_not_go_together_are_refused(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "walk", "triage", "-c", "a800-roce-256", "--record", "x")
    assert code == 64
    assert "--live" in err
    code, _, err = run(capsys, "walk", "triage", *live(fleet), "--live", "--overlay", "founding-case")
    assert code == 64
    assert "overlay" in err


def test_a_walk_killed_while_it_asks_goes_on_from_its_journal(
    fleet: Fleet, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    journal, kept = tmp_path / "walk.jsonl", tmp_path / "kept"
    arguments = ("walk", "triage", *live(fleet), "--live", "--interval", "60")
    process = subprocess.Popen(
        [sys.executable, "-m", "rackside", *arguments, "--journal", str(journal), "--record", str(kept)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ},
    )
    deadline = time.monotonic() + 30
    while not list(kept.rglob("boot.txt")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert list(kept.rglob("boot.txt"))
    # the journal keeps the window; the test does not want to wait for it
    journal.write_text(journal.read_text().replace('"window_s":60.0', '"window_s":0.0'))
    code, out, _ = run(capsys, "walk", "--resume", str(journal), "--format", "json")
    walk = json.loads(out)
    assert code == 3
    assert (walk["source"], walk["verdict"]) == ("live", "undecided")
    assert "gpu3" in {u["nodes"] for u in walk["unknown"]}
    assert {p.name for p in (kept / "recordings").iterdir()} >= {"round-1", "round-2"}
