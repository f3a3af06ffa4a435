"""Switches with a command line of their own: netmiko against a stand-in CLI behind a real OpenSSH server."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from checks import catalogue
from checks.inventory import Cluster, ClusterFile
from checks.outputs import NotAvailable, Output
from checks.plan import Wanted
from checks.transports import switchcli
from checks.transports.live import Live
from checks.transports.script import COMMAND_BYTES
from checks.transports.sshconfig import SshConfig
from tests.checks.transports.sshd import Fleet, keygen, make_fleet

pytestmark = pytest.mark.skipif(not switchcli.installed(), reason="needs netmiko (the extra `switches`)")

# a prompt, a pager that has to be turned off, a privileged mode, and refusals
CLI = """\
import os, sys, time
os_, name, log = os.environ["RACK_OS"], os.environ["RACK_NODE"], open(os.environ["RACK_LOG"], "a")
PROMPT = {"eos": "{n}{m}", "nxos": "{n}{m} ", "onyx": "{n} [standalone: master] {m} "}[os_]
PAGER_OFF = {"eos": "terminal length 0", "nxos": "terminal length 0", "onyx": "no cli session paging enable"}[os_]
REFUSED = {
    "eos": "% Invalid input",
    "nxos": "                   ^\\n% Invalid command at '^' marker.",
    "onyx": '% Unrecognized command "x".\\n% Type "?" for help.',
}[os_]
mode, pager = "#" if os_ == "nxos" else ">", True
def hear(prompt):
    sys.stdout.write(prompt); sys.stdout.flush()
    line = sys.stdin.readline()
    if not line:
        sys.exit()
    log.write(line.strip() + "\\n"); log.flush()
    return line.strip()
while True:
    line = hear(PROMPT.format(n=name, m=mode))
    if line == "":
        continue
    if line == "terminal width 511":
        print("Width set to 511 columns." if os_ == "eos" else "")
    elif line == PAGER_OFF:
        pager = False
        print("Pagination disabled." if os_ == "eos" else "")
    elif line == "exit":
        break
    elif line == "enable":
        if name == "locked" and hear("Password: ") != "secret":
            print("% Bad secret")
        else:
            mode = "#"
    elif line == "show version | json":
        if name == "hang":
            time.sleep(15)
        if name == "bye":
            break
        if name == "flood":
            while True:
                print("x" * 1000)
        rows = ['{', *(f'  "line{n}": {n},' for n in range(60)), '  "log": "', '% Invalid input of yesterday"']
        rows[-2:-2] = ['  "more": 1,'] * 40
        print("--More--" if pager else "\\n".join([*rows, '  "version": "4.31.2F"', '}']))
    elif line == "show roce":
        print("--More--" if pager else "RoCE mode : lossless\\n" * 40)
    elif line.startswith("show priority-flow-control"):
        print("{}" if mode == "#" else "% Invalid input (privileged mode required)")
    else:
        print(REFUSED)
"""
SWITCHES = {"leaf1": "eos", "leaf2": "eos", "locked": "eos", "hang": "eos", "bye": "eos", "flood": "eos"}
OTHERS = {"nx1": "nxos", "ox1": "onyx"}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    folder = tmp_path_factory.mktemp("switches")
    made = make_fleet(folder)
    (folder / "cli.py").write_text(CLI)
    try:
        made.start("bastion")
        for node, os in {**SWITCHES, **OTHERS}.items():
            made.start(
                node,
                options=f"ForceCommand {sys.executable} -u {folder}/cli.py",
                environment=f"RACK_LOG={folder}/{node}.said RACK_OS={os}",
            )
        yield made
    finally:
        made.stop()


def living(fleet: Fleet, nodes: str, config: Path | None = None, os: str = "eos", **access: object) -> Live:
    given = {"user": "root", **access}
    spec = {"name": "t", "roles": {"switch-leaf": {"nodes": nodes, "os": os}}, "access": given}
    made = Cluster(ClusterFile.model_validate(spec))
    return Live(made, config=SshConfig(made.spec.access, user_config=config or fleet.folder / "config"), connect_s=10)


def ask(live: Live, *commands: str) -> dict[tuple[str, str], Output | NotAvailable]:
    wanted = [Wanted(n, c) for n in live.cluster.nodes() for c in commands]
    try:
        live.collect(wanted, round=1)
    finally:
        live.close()
    return {(w.node, w.command): live.get(w.node, w.command, (), 1, 1) for w in wanted}


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
    live = living(fleet, "leaf2")
    live.collect([Wanted("leaf2", "eos-version")], round=1)
    live.close()
    said = {line for path in fleet.folder.glob("*.said") for line in path.read_text().splitlines() if line}
    allowed = {c.command for c in catalogue.table().values() if c.os == "eos"}
    assert said - allowed <= {"terminal length 0", "terminal width 511", "enable"}
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
    assert "host key unknown: offered ssh-ed25519 SHA256:" in found.reason
    assert (tmp_path / "known").read_text() == ""


def test_a_command_that_hangs_is_given_up(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = catalogue.get("eos-version").model_copy(update={"timeout_s": 2})
    monkeypatch.setitem(catalogue.table(), "eos-version", quick)
    live = living(fleet, "hang")
    live.collect([Wanted("hang", "eos-version"), Wanted("hang", "eos-pfc")], round=1)
    live.close()
    found = live.get("hang", "eos-version", (), 1, 1)
    assert isinstance(found, Output)
    assert found.status == 124


@pytest.mark.parametrize(
    ("node", "os", "command", "other"),
    [
        ("nx1", "nxos", "nxos-version", Wanted("nx1", "nxos-pfc")),
        ("ox1", "onyx", "onyx-roce", Wanted("ox1", "onyx-roce-if", ("1/1",))),
    ],
)
def test_nxos_and_onyx_answer_whole_and_refuse_in_their_own_words(
    fleet: Fleet, node: str, os: str, command: str, other: Wanted
) -> None:
    live = living(fleet, node, os=os)
    live.collect([Wanted(node, command), other], round=1)
    live.close()
    whole = live.get(node, command, (), 1, 1)
    assert isinstance(whole, Output), whole
    assert whole.stdout.count(b"\n") >= 39
    assert b"More" not in whole.stdout
    assert b"[standalone" not in whole.stdout
    refused = live.get(node, other.command, other.params, 1, 1)
    assert isinstance(refused, Output)
    assert (refused.stdout, refused.status) == (b"", 1)
    assert b"% " in refused.stderr


def test_a_switch_that_wants_a_password_for_more_is_left_at_that(fleet: Fleet) -> None:
    answers = ask(living(fleet, "locked"), "eos-pfc", "eos-version")
    refused, version = answers["locked", "eos-pfc"], answers["locked", "eos-version"]
    assert isinstance(refused, Output)
    assert (refused.stdout, refused.status) == (b"", 1)
    assert isinstance(version, Output)
    assert version.status == 0
    assert "secret" not in (fleet.folder / "locked.said").read_text()


def test_a_session_that_ends_and_a_flood_cost_one_command_each(fleet: Fleet) -> None:
    began = time.monotonic()
    answers = ask(living(fleet, "bye,flood"), "eos-version")
    assert time.monotonic() - began < 15
    ended, flooded = answers["bye", "eos-version"], answers["flood", "eos-version"]
    assert isinstance(ended, Output)
    assert ended.status == 255
    assert b"ended the session" in ended.stderr
    assert isinstance(flooded, Output)
    assert len(flooded.stdout) == COMMAND_BYTES
    assert b"cut off" in flooded.stderr


def test_a_switch_is_reached_with_the_second_key_and_through_a_bastion(fleet: Fleet, tmp_path: Path) -> None:
    stranger = keygen(tmp_path / "stranger")
    text = (fleet.folder / "config").read_text()
    (tmp_path / "config").write_text(
        text.replace(f"  IdentityFile {fleet.key}\n", f"  IdentityFile {stranger}\n  IdentityFile {fleet.key}\n")
    )
    found = ask(living(fleet, "leaf1", tmp_path / "config", jump=["bastion"]), "eos-version")["leaf1", "eos-version"]
    assert isinstance(found, Output), found


def test_stopping_does_not_wait_for_a_switch(fleet: Fleet) -> None:
    live = living(fleet, "hang")
    stop = threading.Event()
    threading.Timer(1.5, stop.set).start()
    began = time.monotonic()
    live.collect([Wanted("hang", "eos-version")], round=1, cancelled=stop.is_set)
    live.close()
    assert time.monotonic() - began < 5
    assert not live.count


def test_without_netmiko_the_reason_names_the_extra(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switchcli, "installed", lambda: False)
    live = living(fleet, "leaf1")
    live.collect([Wanted("leaf1", "eos-version")], round=1)
    live.close()
    found = live.get("leaf1", "eos-version", (), 1, 1)
    assert isinstance(found, NotAvailable)
    assert "rackside[switches]" in found.reason
