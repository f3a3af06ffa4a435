"""`rackside anonymise`, and `rackside lint` on what it wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from checks.clusters import SAMPLES
from rackside.__main__ import main

SAMPLE = "h100-cpu-starved"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    try:
        code = main([*arguments])
    except SystemExit as stop:
        code = int(stop.code or 0)
    out = capsys.readouterr()
    return code, out.out, out.err


def test_an_anonymised_recording_walks_to_the_same_fault_and_lints_clean(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    code, text, _ = run(capsys, "anonymise", SAMPLE, "-o", str(out))
    assert code == 0
    assert str(out) in text
    assert "4 " in text
    table = tmp_path / "out.map.json"
    assert table.stat().st_mode & 0o777 == 0o600
    code, text, _ = run(capsys, "walk", "dataloader-starved", "-c", str(out), "--format", "json")
    walk = json.loads(text)
    assert code == 2
    assert {c["fault"]: c["nodes"] for c in walk["conclusions"]}["host-undersized"] == "node[001-004]"
    assert "gpu001" not in text
    assert run(capsys, "lint", str(out))[0] == 0
    assert run(capsys, "lint", "--map", str(table), str(out))[0] == 0
    code, text, _ = run(capsys, "lint", "--anonymised", str(SAMPLES / SAMPLE), "--format", "json")
    assert code == 1
    assert any("gpu00" in p["message"] for p in json.loads(text)["problems"])


def test_a_handful_of_files_can_be_anonymised_and_linted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    node = tmp_path / "ticket" / "acme017"
    node.mkdir(parents=True)
    (node / "smi-list.txt").write_text("GPU 0: NVIDIA A800 (UUID: GPU-cd74e31f-a937-453d-9271-26cc2ec236e6)\n")
    (node / "smi-list.stderr").write_text("token=abc123 for acme017 of AcmeCorp\n")
    (node / "core.txt").write_bytes(b"\0\1\2")
    code, text, _ = run(capsys, "lint", str(tmp_path / "ticket"))
    assert code == 65
    assert "smi-list.stderr:1: error: holds a secret (token)" in text
    assert "abc123" not in text
    code, text, _ = run(
        capsys,
        *("anonymise", str(tmp_path / "ticket"), "-o", str(tmp_path / "out"), "--map", str(tmp_path / "who.json")),
        *("--name", "acmecorp", "--format", "json"),
    )
    document = json.loads(text)
    assert code == 1
    assert document["schema"] == "rackside.anonymise/1"
    assert document["left_out"] == [{"file": "acme017/core.txt", "reason": "not text"}]
    assert (tmp_path / "out" / "host017" / "smi-list.stderr").read_text() == "token=<redacted> for host017 of name1\n"
    assert run(capsys, "lint", str(tmp_path / "out"))[0] == 0


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("anonymise", "/no/such/folder", "-o", "{out}"), 64, "no cluster"),
        (("anonymise", SAMPLE), 64, "-o"),
        (("anonymise", SAMPLE, "-o", "{out}", "--name", "gpu"), 64, "too general"),
        (("anonymise", SAMPLE, "-o", "{out}", "--map", "{out}/map.json"), 64, "outside"),
        (("anonymise", SAMPLE, "-o", "{full}"), 74, "not empty"),
        (("lint", SAMPLE, "--map", "/no/such/map"), 64, "no such file"),
        (("lint", str(SAMPLES / SAMPLE), "--map", "/no/such/map"), 65, "/no/such/map"),
    ],
)
def test_mistakes_are_told_with_the_status_of_the_contract(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], code: int, said: str
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    given = [a.format(out=tmp_path / "out", full=tmp_path / "full") for a in arguments]
    found, _, err = run(capsys, *given)
    assert found == code
    assert said in err
    assert "Traceback" not in err
