"""Switches with a command line of their own: netmiko against a stand-in CLI behind a real OpenSSH server."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from checks.inventory import Cluster, ClusterFile
from checks.outputs import NotAvailable, Output
from checks.plan import Wanted
from checks.transports import switchcli
from checks.transports.live import Live
from checks.transports.sshconfig import SshConfig
from tests.checks.transports.sshd import Fleet, make_fleet

pytestmark = pytest.mark.skipif(not switchcli.installed(), reason="needs netmiko (the extra `switches`)")

# a prompt, a pager that has to be turned off, a privileged mode, and refusals
CLI = """\
import os, sys, time
mode, pager, log = ">", True, open(os.environ["RACK_LOG"], "a")
name = os.environ["RACK_NODE"]
while True:
    sys.stdout.write(f"{name}{mode}"); sys.stdout.flush()
    line = sys.stdin.readline()
    if not line:
        break
    line = line.strip()
    log.write(line + "\\n"); log.flush()
    if line == "":
        continue
    if line == "terminal width 511":
        print("Width set to 511 columns.")
    elif line == "terminal length 0":
        pager = False
        print("Pagination disabled.")
    elif line == "exit":
        break
    elif line == "enable":
        mode = "#"
    elif line == "show version | json":
        if name == "hang":
            time.sleep(30)
        rows = ['{', *(f'  "line{n}": {n},' for n in range(60)), '  "version": "4.31.2F"', '}']
        print("--More--" if pager else "\\n".join(rows))
    elif line.startswith("show priority-flow-control"):
        print("{}" if mode == "#" else "% Invalid input (privileged mode required)")
    else:
        print("% Invalid input")
"""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    folder = tmp_path_factory.mktemp("switches")
    made = make_fleet(folder)
    (folder / "cli.py").write_text(CLI)
    try:
        for node in ("leaf1", "leaf2", "hang"):
            made.start(
                node,
                options=f"ForceCommand {sys.executable} -u {folder}/cli.py",
                environment=f"RACK_LOG={folder}/{node}.said",
            )
        yield made
    finally:
        made.stop()


def living(fleet: Fleet, nodes: str, config: Path | None = None) -> Live:
    spec = {"name": "t", "roles": {"switch-leaf": {"nodes": nodes, "os": "eos"}}, "access": {"user": "root"}}
    made = Cluster(ClusterFile.model_validate(spec))
    return Live(made, config=SshConfig(made.spec.access, user_config=config or fleet.folder / "config"), connect_s=10)


def test_a_switch_answers_whole_and_a_refusal_is_no_answer(fleet: Fleet) -> None:
    live = living(fleet, "leaf[1-2]")
    try:
        wanted = [Wanted(n, c) for n in ("leaf1", "leaf2") for c in ("eos-version", "eos-pfc", "eos-err")]
        live.collect(wanted, round=1)
        version = live.get("leaf1", "eos-version", (), 1, 1)
        assert isinstance(version, Output), version
        assert version.stdout.count(b"\n") >= 60
        assert b'"version": "4.31.2F"' in version.stdout
        assert b"More" not in version.stdout
        # privileged mode is asked for where a command needs it, and then it answers
        pfc = live.get("leaf2", "eos-pfc", (), 1, 1)
        assert isinstance(pfc, Output)
        assert pfc.stdout.strip() == b"{}"
        refused = live.get("leaf1", "eos-err", (), 1, 1)
        assert isinstance(refused, Output)
        assert (refused.stdout, refused.status) == (b"", 1)
        assert b"Invalid input" in refused.stderr
    finally:
        live.close()


def test_only_texts_of_the_catalogue_and_the_pager_are_ever_sent(fleet: Fleet) -> None:
    from checks import catalogue

    live = living(fleet, "leaf2")
    live.collect([Wanted("leaf2", "eos-version")], round=1)
    live.close()
    said = {line for path in fleet.folder.glob("*.said") for line in path.read_text().splitlines() if line}
    allowed = {c.command for c in catalogue.table().values() if c.os == "eos"}
    assert said - allowed <= {"terminal length 0", "terminal width 511", "enable", "exit"}
    assert said & allowed


def test_a_switch_whose_key_is_unknown_is_refused(fleet: Fleet, tmp_path: Path) -> None:
    (tmp_path / "known").write_text("")
    text = (fleet.folder / "config").read_text().replace(f"{fleet.folder}/known_hosts", f"{tmp_path}/known")
    (tmp_path / "config").write_text(text)
    live = living(fleet, "leaf1", tmp_path / "config")
    live.collect([Wanted("leaf1", "eos-version")], round=1)
    live.close()
    found = live.get("leaf1", "eos-version", (), 1, 1)
    assert isinstance(found, NotAvailable)
    assert found.kind == "unreachable"
    assert "known_hosts" in found.reason or "key" in found.reason.lower()
    assert (tmp_path / "known").read_text() == ""


def test_a_command_that_hangs_is_given_up(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    from checks import catalogue

    quick = catalogue.get("eos-version").model_copy(update={"timeout_s": 2})
    monkeypatch.setitem(catalogue.table(), "eos-version", quick)  # type: ignore[arg-type]
    live = living(fleet, "hang")
    live.collect([Wanted("hang", "eos-version"), Wanted("hang", "eos-pfc")], round=1)
    live.close()
    found = live.get("hang", "eos-version", (), 1, 1)
    assert isinstance(found, Output)
    assert found.status == 124


def test_without_netmiko_the_reason_names_the_extra(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switchcli, "installed", lambda: False)
    live = living(fleet, "leaf1")
    live.collect([Wanted("leaf1", "eos-version")], round=1)
    live.close()
    found = live.get("leaf1", "eos-version", (), 1, 1)
    assert isinstance(found, NotAvailable)
    assert "rackside[switches]" in found.reason
