"""The command line of the contract."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path
from xml.etree import ElementTree

import pytest
from jsonschema import Draft202012Validator

from checks.clusters import SAMPLES
from rackside import findings_text, output
from rackside.__main__ import main
from runbooks import documents

HEALTHY = "a800-roce-256"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    try:
        code = main([*arguments])
    except SystemExit as stop:
        code = int(stop.code or 0)
    out = capsys.readouterr()
    return code, out.out, out.err


def test_a_healthy_cluster_exits_0_and_says_what_it_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "walk", "triage", "-c", HEALTHY)
    assert code == 0
    for layer in ("network", "gpu", "host", "storage", "scheduling"):
        assert layer in out


def test_the_founding_case_is_concluded_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    overlay = str(SAMPLES / HEALTHY / "overlays" / "founding-case")
    code, out, _ = run(capsys, "walk", "training-slow", "-c", HEALTHY, "--overlay", overlay, "--format", "json")
    assert code == 2
    walk = json.loads(out)
    Draft202012Validator(documents.schema("walk")).validate(walk)
    concluded = {c["fault"]: c for c in walk["conclusions"]}
    assert concluded["net-ecn-threshold-mismatch"]["nodes"] == "leaf03"
    assert concluded["net-pfc-not-isolated"]["role"] in ("initiating", "contributing")
    assert "gpu" in {c["layer"] for c in walk["cleared"]}
    assert concluded["gpu-xid-43"]["role"] == "cascade"
    assert {c["fault"] for c in concluded.values() if c["role"] == "initiating"} == {
        "net-ecn-threshold-mismatch",
        "net-pfc-not-isolated",
    }


def test_the_checkpoint_stall_names_stripe_count_and_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "walk", "checkpoint-stall", "-c", "lustre-default-stripe", "--format", "json")
    assert code == 2
    walk = json.loads(out)
    assert [c["fault"] for c in walk["conclusions"] if c["certainty"] != "hypothesis"] == ["st-default-striping"]
    seen = {o["name"]: o["value"] for f in walk["findings"] if f["check"] == "storage.striping" for o in f["observed"]}
    assert seen["stripe_count"] == 4
    assert seen["recommended_stripe_count"] >= 8
    assert seen["seconds_saved"] > 0


def test_lost_nodes_are_a_network_event_and_not_to_be_drained(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "walk", "nodes-lost", "-c", "heartbeat-loss", "--format", "json")
    assert code == 2
    concluded = {c["fault"]: c for c in json.loads(out)["conclusions"]}
    assert "net-switch-maintenance" in concluded["sc-heartbeat-kill"]["caused_by"]
    assert concluded["sc-heartbeat-kill"]["nodes"] == "gpu[017-032]"
    steps = " ".join(r["step"] for r in concluded["sc-heartbeat-kill"]["remedy"])
    assert "do not" in steps.lower()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("walk", "triage"), 64, "name a runbook and a cluster"),
        (("walk", "no-such", "-c", HEALTHY), 64, "no runbook `no-such`"),
        (("walk", "triage", "-c", "nowhere"), 64, "no cluster `nowhere`"),
        (("walk", "triage", "-c", HEALTHY, "--nodes", "gpu[99"), 65, "not a node set"),
        (("walk", "triage", "-c", HEALTHY, "--nodes", "gpu999"), 65, "no such node"),
        (("walk", "triage", "-c", HEALTHY, "--answer", "x"), 64, "write STEP=CHOICE"),
        (("check", "-c", HEALTHY, "--check", "network.ecn_threshold"), 64, "did you mean `network.ecn_thresholds`"),
        (("check", "-c", HEALTHY, "--attach", "poem=x"), 64, "write KIND=FILE"),
        (("explain", "net-link-flop"), 64, "did you mean `net-link-flap`"),
        (("list", "everything"), 64, "invalid choice"),
        (("frobnicate",), 64, "invalid choice"),
        (("lint", "/no/such/path"), 64, "no such file"),
        (("report", "/no/such/journal"), 65, "No such file"),
        (("diff", HEALTHY, f"{HEALTHY}@9"), 64, "has no round 9"),
    ],
)
def test_wrong_usage_is_one_clear_line_and_no_traceback(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], code: int, said: str
) -> None:
    status, out, err = run(capsys, *arguments)
    assert status == code
    assert said in err
    assert "Traceback" not in err
    assert out == ""


@pytest.mark.parametrize("what", ["clusters", "runbooks", "checks", "commands", "faults", "thresholds", "worksheets"])
def test_list_prints_a_table_and_json(capsys: pytest.CaptureFixture[str], what: str) -> None:
    code, out, _ = run(capsys, "list", what)
    assert code == 0
    rows = json.loads(run(capsys, "list", what, "--format", "json")[1])["rows"]
    assert rows
    assert str(next(iter(rows[0].values()))) in out


def test_list_commands_shows_every_text_that_may_reach_a_node(capsys: pytest.CaptureFixture[str]) -> None:
    from checks import catalogue

    out = run(capsys, "list", "commands")[1]
    for command in catalogue.table().values():
        assert command.command in out


@pytest.mark.parametrize("name", ["network.ecn_thresholds", "net-link-flap", "ost-full", "smi-perf", "triage"])
def test_explain_knows_checks_faults_thresholds_commands_and_runbooks(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    code, out, _ = run(capsys, "explain", name)
    assert code == 0
    assert name in out
    assert len(out) > 200


def test_check_formats_agree(capsys: pytest.CaptureFixture[str]) -> None:
    args = ("check", "-c", HEALTHY, "--layer", "gpu", "--format")
    code, out, _ = run(capsys, *args, "json")
    assert code == 0
    document = json.loads(out)
    Draft202012Validator(documents.schema("check")).validate(document)
    count = len(document["findings"])
    assert len(ElementTree.fromstring(run(capsys, *args, "junit")[1])) == count
    assert len(list(csv.reader(io.StringIO(run(capsys, *args, "csv")[1])))) == count + 1
    assert run(capsys, *args, "nagios")[1].startswith("RACKSIDE OK")
    assert run(capsys, *args, "markdown")[1].count("`gpu.") == count
    assert set(findings_text.FORMATS) == {"text", "json", "markdown", "junit", "nagios", "csv"}


def test_diff_of_two_rounds_shows_counters_and_no_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "diff", f"{HEALTHY}@1", f"{HEALTHY}@2", "--format", "json")
    assert code == 1
    commands = {c["command"].split("@")[0] for c in json.loads(out)["changes"]}
    assert "ib-hwcounters" in commands
    assert not commands & {"sw-ecn", "smi-core", "nic-fw", "lfs-getstripe"}


def test_diff_of_a_recording_with_itself_is_empty(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "diff", HEALTHY, HEALTHY)[0] == 0


def test_output_files_are_private_and_written_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "out.json"
    assert run(capsys, "list", "runbooks", "--format", "json", "-o", str(file))[0] == 0
    assert json.loads(file.read_text())
    assert file.stat().st_mode & 0o777 == 0o600
    assert run(capsys, "list", "runbooks", "-o", str(tmp_path / "no" / "out"))[0] == 74


def test_lint_accepts_what_is_shipped(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "lint", str(SAMPLES / HEALTHY))
    assert (code, "0 problems" in out) == (0, True), out


def test_without_a_terminal_the_same_walk_runs_in_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "-c", HEALTHY, "--overlay", "founding-case", "--runbook", "training-slow")
    assert code == 2
    assert "net-ecn-threshold-mismatch" in out
    assert "plain text" in err


def test_a_walk_survives_in_its_journal_and_can_go_another_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = tmp_path / "j.jsonl"
    args = ("walk", "training-slow", "-c", HEALTHY, "--answer", "what-changed=upgrade", "--journal", str(journal))
    assert run(capsys, *args)[0] == 0
    assert journal.stat().st_mode & 0o777 == 0o600
    code, out, _ = run(capsys, "report", str(journal))
    assert code == 0
    assert "upgrade" in out
    fork = ("walk", "--fork", str(journal), "--answer", "what-changed=nothing", "--format", "json")
    code, out, _ = run(capsys, *fork)
    assert code == 0
    answered = {s["step"]: s.get("answer") for s in json.loads(out)["path"]}
    assert answered["what-changed"] == "nothing"


def test_colour_only_when_asked_or_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "TERM", "xterm")
    assert output.colour_wanted("always")
    assert not output.colour_wanted("never")
    monkeypatch.setitem(os.environ, "NO_COLOR", "1")
    assert not output.colour_wanted("auto")


def test_tables_align_by_terminal_cells() -> None:
    lines = output.table([["慢", "x"], ["slow", "y"]], ("a", "b")).split("\n")
    assert lines[2] == "慢    x"
    assert lines[3] == "slow  y"
