"""Secrets are found in every recording, real names in one that says it is anonymised."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from checks.anonymise import anonymise, left
from checks.clusters import SAMPLES
from common.errors import InputError

BALANCED = SAMPLES / "h100-cpu-balanced"


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """An anonymised sample and its map."""
    base = tmp_path_factory.mktemp("left")
    anonymise(BALANCED, base / "out", base / "map.json")
    return base / "out", base / "map.json"


def test_nothing_is_left_in_what_was_anonymised(clean: tuple[Path, Path]) -> None:
    folder, table = clean
    assert left.says_anonymised(folder)
    assert list(left.secrets(folder)) == []
    assert list(left.identifiers(folder)) == []
    assert list(left.identifiers(folder, table)) == []


def test_the_samples_hold_no_secret() -> None:
    for sample in sorted(p for p in SAMPLES.iterdir() if (p / "cluster.yaml").is_file()):
        assert list(left.secrets(sample)) == []


def test_a_secret_is_told_by_file_and_line_and_never_shown(tmp_path: Path) -> None:
    node = tmp_path / "gpu001"
    node.mkdir()
    (node / "cmdline.txt").write_text("quiet\nbmc_password=hunter22\n")
    (node / "proc-env@7.txt").write_bytes(b"NCCL_DEBUG=INFO\0ACME_LICENCE=hunter23\0")
    (node / "smi-list.stderr").write_text("sshpass -p hunter24 ssh x")
    found = sorted(left.secrets(tmp_path), key=lambda p: p.file)
    assert [(Path(p.file).name, p.line, p.severity) for p in found] == [
        ("cmdline.txt", 2, "error"),
        ("proc-env@7.txt", 1, "error"),
        ("smi-list.stderr", 1, "error"),
    ]
    assert "hunter" not in "".join(map(str, found))


def test_real_names_that_were_added_later_are_warned_of(clean: tuple[Path, Path], tmp_path: Path) -> None:
    folder, table = clean
    note = folder / "attachments" / "note.txt"
    note.parent.mkdir()
    note.write_text(
        "quiet\n/home/jdoe/run\nMar  4 02:10:00 falcon17 sshd[7]: Accepted publickey for jdoe from 192.0.2.7 port 1\n"
        "Serial Number: 1653022017777\nboot cd74e31f-a937-453d-9271-26cc2ec236e6\n"
    )
    try:
        told = [(p.line, p.severity, p.message) for p in left.identifiers(folder)]
        assert {m.rpartition(": ")[2] for _, _, m in told} == {
            *("jdoe", "falcon17", "1653022017777", "cd74e31f-a937-453d-9271-26cc2ec236e6")
        }
        assert {line for line, _, _ in told} == {2, 3, 4, 5}
        assert {severity for _, severity, _ in told} == {"warning"}
        old = json.loads(table.read_text())["names"]["ipv4"]
        address = next(a for a in old if a.startswith("10.20.") and "/" not in a)
        note.write_text(f"ping {address} of gpu001\n")
        said = " ".join(p.message for p in left.identifiers(folder, table))
        assert address in said
        assert "gpu001" in said
    finally:
        note.unlink()
        note.parent.rmdir()


def test_the_map_finds_every_node_of_a_recording_that_was_not_anonymised(clean: tuple[Path, Path]) -> None:
    said = "\n".join(p.message for p in left.identifiers(BALANCED, clean[1]))
    for node in ("gpu001", "gpu002", "gpu003", "gpu004"):
        assert node in said


@pytest.mark.parametrize("text", ["", "[]", '{"names": 3}', '{"names": {"host": []}}', "[" * 100_000])
def test_a_file_that_is_no_map_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "map.json").write_text(text)
    with pytest.raises(InputError, match="map"):
        list(left.identifiers(tmp_path, tmp_path / "map.json"))
