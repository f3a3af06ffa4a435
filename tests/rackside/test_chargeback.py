"""`rackside worksheet chargeback`: formats, exit statuses and messages."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.rackside.conftest import EVIL
from tests.rackside.test_cli import run

ROW = "{job}|main|{user}|nlp|train|normal|COMPLETED|2026-11-10T00:00:00|2026-11-10T10:00:00|36000|1|gres/gpu:h100=8\n"


@pytest.fixture
def sacct(tmp_path: Path) -> str:
    path = tmp_path / "sacct.txt"
    path.write_text(ROW.format(job=1, user="ann") + ROW.format(job=2, user=EVIL.replace("|", "").replace("\n", "")))
    return str(path)


def test_every_format_tells_the_same_hours(sacct: str, capsys: pytest.CaptureFixture[str]) -> None:
    args = ("worksheet", "chargeback", "--sacct", sacct, "--rate", "h100=2.5", "--by", "user")
    code, text, _ = run(capsys, *args)
    assert code == 0
    assert "160.0 card-hours, cost 400.00" in text
    assert "\x1b]" not in text
    told = json.loads(run(capsys, *args, "--format", "json")[1])
    assert (told["schema"], told["state"]) == ("rackside.chargeback/1", "info")
    assert sum(line["card_hours"] for line in told["table"]) == pytest.approx(160)
    assert told["outputs"]["cost"]["value"] == pytest.approx(400)
    rows = list(csv.reader(io.StringIO(run(capsys, *args, "--format", "csv")[1])))
    assert rows[0] == ["user", "card_hours", "cost", "share_pct", "jobs"]
    assert sum(float(row[1]) for row in rows[1:]) == pytest.approx(160)
    assert "| ann | 80.0 | 200.00 | 50.0 % | 1 |" in run(capsys, *args, "--format", "markdown")[1]


def test_no_price_is_a_warning_and_nothing_tracked_a_failure(
    sacct: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys, "worksheet", "chargeback", "--sacct", sacct)[0] == 1
    (tmp_path / "cpu.txt").write_text(ROW.format(job=1, user="ann").replace("gres/gpu:h100=8", "cpu=8"))
    code, text, _ = run(capsys, "worksheet", "chargeback", "--sacct", str(tmp_path / "cpu.txt"), "--rate", "1")
    assert code == 2
    assert "AccountingStorageTRES" in text


@pytest.mark.parametrize(
    ("more", "status", "why"),
    [
        (("--window", "yesterday"), 64, "write it as"),
        (("--rate", "h100=cheap"), 64, "a price of a card-hour"),
        (("--rate=-1",), 64, "a price of a card-hour"),
        (("--set", "gpus=8"), 64, "--rate"),
        (("--format", "html"), 64, "no format html"),
        (("--sreport", "/no/such/file"), 65, "/no/such/file"),
        (("--timezone", "Mars"), 65, "unknown time zone"),
    ],
)
def test_what_cannot_be_says_so(
    sacct: str, more: tuple[str, ...], status: int, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, error = run(capsys, "worksheet", "chargeback", "--sacct", sacct, *more)
    assert (code, why in error) == (status, True), error


def test_without_accounting_it_asks_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, error = run(capsys, "worksheet", "chargeback")
    assert code == 64
    assert "--sacct" in error
