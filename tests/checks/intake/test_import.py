"""`rackside import`: bundles of customers become folders that replay, and nothing that was not understood is hidden."""

from __future__ import annotations

import gzip
import io
import json
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from checks.clusters import open_cluster
from checks.outputs import Facts, NotAvailable, Output
from checks.view import View
from tests.checks.intake.bundles import tar, written
from tests.checks.intake.texts import bug_report, sosreport
from tests.rackside.test_cli import run

XID = "[  100.000000] NVRM: Xid (PCI:0000:3b:00): 79, pid=4242, name=python, GPU has fallen off the bus.\n"
UNKNOWN = ("sos_commands/mine/new-tool", "etc/odd.conf")


def told(capsys: pytest.CaptureFixture[str], out: Path, *sources: str, status: int | None = None) -> dict[str, Any]:
    code, text, error = run(capsys, "import", *sources, "-o", str(out), "--format", "json")
    assert code == status if status is not None else code in (0, 1), error
    found: dict[str, Any] = json.loads(text)
    return found


def output(folder: Path, node: str, command: str, params: tuple[str, ...] = ()) -> Output:
    replay = open_cluster(str(folder)).replay
    assert replay is not None
    found = replay.get(node, command, params, replay.rounds[-1], 1)
    assert not isinstance(found, NotAvailable), found
    return found


def test_a_sosreport_becomes_a_folder_whose_facts_can_be_read(tmp_path: Path, capsys: Any) -> None:
    source = written(tmp_path / "sos.tar.xz", tar(sosreport("gpu07")))
    found = told(capsys, tmp_path / "ticket", str(source))
    commands = {row["command"] for row in found["nodes"]["gpu07"]}
    assert {"eth-stats", "mem-info", "boot"} <= commands
    assert all(row["from"] for row in found["nodes"]["gpu07"])
    opened = open_cluster(str(tmp_path / "ticket"))
    assert opened.replay is not None
    reading = View(opened.cluster, opened.replay).newest("eth-stats", "gpu07", Facts, ("eth2",))
    assert reading is not None
    assert not isinstance(reading, NotAvailable)
    assert b"rx_discards_phy: 0" in output(tmp_path / "ticket", "gpu07", "eth-stats", ("eth2",)).stdout


def test_files_nobody_knows_are_listed_with_the_reason_and_change_the_exit_status(tmp_path: Path, capsys: Any) -> None:
    files = sosreport("gpu07") | {f"sosreport-gpu07-2026-03-04-abcdefg/{p}": b"?" for p in UNKNOWN}
    source = written(tmp_path / "sos.tar.gz", tar(files, mode="w:gz"))
    found = told(capsys, tmp_path / "ticket", str(source), status=1)
    assert all(row["reason"] for row in found["not_recognised"])
    assert any(row["file"].endswith(UNKNOWN[0]) for row in found["not_recognised"])
    assert any("copies of the host's files" in note for note in found["notes"])


def test_sosreports_of_several_nodes_share_one_cluster(tmp_path: Path, capsys: Any) -> None:
    sources = [str(written(tmp_path / f"{n}.tar.xz", tar(sosreport(n)))) for n in ("gpu07", "gpu08")]
    found = told(capsys, tmp_path / "ticket", *sources)
    assert set(found["nodes"]) == {"gpu07", "gpu08"}
    assert set(open_cluster(str(tmp_path / "ticket")).cluster.nodes()) == {"gpu07", "gpu08"}


def test_an_unpacked_sosreport_reads_as_the_packed_one(tmp_path: Path, capsys: Any) -> None:
    files = sosreport("gpu07")
    for name, text in files.items():
        path = tmp_path / "unpacked" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    packed = told(capsys, tmp_path / "one", str(written(tmp_path / "sos.tar.xz", tar(files))))
    loose = told(capsys, tmp_path / "two", str(tmp_path / "unpacked"))
    named = [{row["command"] for row in found["nodes"]["gpu07"]} for found in (packed, loose)]
    assert named[0] == named[1]


def test_a_bug_report_of_the_driver_gives_the_cards_and_the_log(tmp_path: Path, capsys: Any) -> None:
    text = bug_report("gpu09", dmesg=XID)
    source = written(tmp_path / "nvidia-bug-report.log.gz", gzip.compress(text.encode()))
    found = told(capsys, tmp_path / "ticket", str(source))
    commands = {row["command"] for row in found["nodes"]["gpu09"]}
    assert "mem-info" in commands
    assert any(command.startswith("smi-") for command in commands)


def test_a_bug_report_that_was_cut_off_gives_what_it_holds(tmp_path: Path, capsys: Any) -> None:
    whole = gzip.compress(bug_report("gpu09").encode())
    source = written(tmp_path / "nvidia-bug-report.log.gz", whole[: len(whole) * 2 // 3])
    code, text, error = run(capsys, "import", str(source), "-o", str(tmp_path / "ticket"), "--format", "json")
    assert "Traceback" not in error
    if code in (0, 1):
        assert json.loads(text)["nodes"]
    else:
        assert (code, bool(error.strip())) == (65, True)


def paste(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", type("In", (), {"buffer": io.BytesIO(data)})())


def test_one_pasted_output_is_added_to_a_folder(tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    paste(monkeypatch, b"NIC statistics:\n     rx_discards_phy: 17\n")
    args = ("import", "-", "--command", "eth-stats@eth2", "--node", "gpu07", "-o", str(tmp_path / "ticket"))
    assert run(capsys, *args)[0] == 0
    assert b"17" in output(tmp_path / "ticket", "gpu07", "eth-stats", ("eth2",)).stdout
    paste(monkeypatch, b"NIC statistics:\n     rx_discards_phy: 99\n")
    assert run(capsys, *args, "--round", "new")[0] == 0
    opened = open_cluster(str(tmp_path / "ticket"))
    assert opened.replay is not None
    assert len(opened.replay.rounds) == 2


@pytest.mark.parametrize(
    ("data", "more", "why"),
    [
        (b"x", (), "--node"),
        (b"x", ("--node", "../etc"), "node"),
        (b"x", ("--node", "gpu07", "--command", "no-such"), "no-such"),
        (b" \n", ("--node", "gpu07", "--command", "boot"), "nothing there"),
        (b"x", ("--node", "gpu07", "--command", "boot", "--taken-at", "noon"), "write it like"),
    ],
)
def test_a_paste_that_cannot_be_placed_says_why(
    data: bytes, more: tuple[str, ...], why: str, tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    paste(monkeypatch, data)
    code, _, error = run(capsys, "import", "-", "-o", str(tmp_path / "ticket"), *more)
    assert code in (64, 65)
    assert why in error
    assert "Traceback" not in error


def test_secrets_are_taken_out_and_files_are_private(tmp_path: Path, capsys: Any) -> None:
    line = "BOOT_IMAGE=/vmlinuz root=/dev/sda1 rd.password=hunter2hunter2 iommu=pt\n"
    source = written(tmp_path / "sos.tar.xz", tar(sosreport("gpu07", proc__cmdline=line)))
    told(capsys, tmp_path / "ticket", str(source))
    for path in (tmp_path / "ticket").rglob("*"):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode & 0o077 == 0, f"{path} is {mode:o}"
        assert path.is_dir() or b"hunter2" not in path.read_bytes()


def test_a_file_that_is_no_bundle_says_so_and_leaves_nothing(tmp_path: Path, capsys: Any) -> None:
    source = written(tmp_path / "cat.jpg", b"\xff\xd8\xff\xe0 not an output")
    code, _, error = run(capsys, "import", str(source), "-o", str(tmp_path / "ticket"))
    assert code == 65
    assert "recognised" in error
    assert not list((tmp_path / "ticket").rglob("*.txt"))


def test_the_folder_replays_in_a_walk(tmp_path: Path, capsys: Any) -> None:
    source = written(tmp_path / "sos.tar.xz", tar(sosreport("gpu07")))
    told(capsys, tmp_path / "ticket", str(source))
    code, text, error = run(capsys, "walk", "triage", "-c", str(tmp_path / "ticket"), "--format", "json")
    assert code in (0, 1, 2, 3), error
    assert json.loads(text)["schema"].startswith("rackside.walk/")
