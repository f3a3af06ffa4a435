"""The SSH transport against real OpenSSH servers on loopback."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from checks.inventory import Access
from checks.transports import script, ssh
from checks.transports.keys import Keys
from checks.transports.knownhosts import KnownHosts
from checks.transports.script import Request
from checks.transports.ssh import Connection, SshError
from checks.transports.sshconfig import SshConfig
from tests.checks.transports.sshd import Fleet, keygen, make_fleet
from tests.checks.transports.test_script import alive, command


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    made = make_fleet(tmp_path_factory.mktemp("fleet"))
    try:
        for node in ("gpu1", "gpu2", "bastion"):
            made.start(node)
        made.start("forced", options="ForceCommand echo only backups here")
        made.start("hung")
        made.hang("hung")
        yield made
    finally:
        made.stop()


def connect(
    fleet: Fleet, node: str, *, known: Path | None = None, keys: Keys | None = None, within_s: float = 5, **more: object
) -> Connection:
    config = SshConfig(Access(user="root", **more), user_config=fleet.folder / "config")  # type: ignore[arg-type]
    target = config.target(node)
    through = None
    for hop in target.jumps:
        through = ssh.connect(
            config.target(hop, jump=True), KnownHosts(target.known_hosts), keys or Keys(), deadline=time.monotonic() + 5
        )
    hosts = KnownHosts([known] if known else target.known_hosts)
    return ssh.connect(target, hosts, keys or Keys(), deadline=time.monotonic() + within_s, through=through)


def ask(connection: Connection, *texts: str, within_s: float = 10, timeout_s: int = 5) -> script.Answers:
    mark = script.delimiter()
    body = script.build([Request(command(t, timeout_s=timeout_s)) for t in texts], mark)
    done = f"{mark} Z\n".encode()
    out, err, _ = connection.run(script.START, body, done, deadline=time.monotonic() + within_s)
    return script.parse(out, err, mark)


def test_many_commands_travel_in_one_round_trip_with_all_their_parts(fleet: Fleet) -> None:
    connection = connect(fleet, "gpu1")
    try:
        answers = ask(connection, "echo $RACK_NODE", "echo bad >&2; exit 7", "printf '\\000\\377'", "echo again")
        assert answers.finished
        assert [a.stdout for a in answers.answers] == [b"gpu1\n", b"", b"\x00\xff", b"again\n"]
        assert answers.answers[1].status == 7
        assert answers.answers[1].stderr == b"bad\n"
        assert ask(connection, "echo second step").answers[0].stdout == b"second step\n"
    finally:
        connection.close()


def test_a_node_behind_a_bastion_is_reached_through_it(fleet: Fleet) -> None:
    connection = connect(fleet, "gpu2", jump=("bastion",))
    try:
        assert ask(connection, "echo $RACK_NODE").answers[0].stdout == b"gpu2\n"
    finally:
        connection.close()


def test_closing_ends_what_runs_on_the_node(fleet: Fleet) -> None:
    connection = connect(fleet, "gpu1")
    sleep = f"sleep {os.getpid()}.8123"
    asking = threading.Thread(target=lambda: ask(connection, sleep, timeout_s=60))
    asking.start()
    deadline = time.monotonic() + 5
    while not alive(sleep) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert alive(sleep)
    connection.close()
    asking.join(5)
    assert not asking.is_alive()
    while alive(sleep) and time.monotonic() < deadline + 5:
        time.sleep(0.02)
    assert not alive(sleep)


def test_a_forced_command_gives_no_frames_and_no_answer(fleet: Fleet) -> None:
    connection = connect(fleet, "forced")
    try:
        answers = ask(connection, "echo hello")
        assert not answers.started
        assert b"only backups here" in answers.before
    finally:
        connection.close()


def failure(fleet: Fleet, node: str, **more: object) -> tuple[str, str]:
    with pytest.raises(SshError) as raised:
        connect(fleet, node, **more)  # type: ignore[arg-type]
    return raised.value.why.kind, raised.value.why.reason


def test_an_unknown_host_key_is_refused_with_its_fingerprint(fleet: Fleet, tmp_path: Path) -> None:
    empty = tmp_path / "known_hosts"
    empty.write_text("")
    kind, reason = failure(fleet, "gpu1", known=empty)
    assert kind == "denied"
    assert "host key unknown" in reason
    assert "SHA256:" in reason


def test_a_changed_host_key_shows_both_fingerprints_and_the_line(fleet: Fleet, tmp_path: Path) -> None:
    other = keygen(tmp_path / "other").with_suffix(".pub").read_text().split()[:2]
    known = tmp_path / "known_hosts"
    known.write_text(f"# comment\n[{fleet.nodes['gpu1']}]:{fleet.port} {' '.join(other)}\n")
    kind, reason = failure(fleet, "gpu1", known=known)
    assert kind == "denied"
    assert "host key changed" in reason
    assert reason.count("SHA256:") == 2
    assert "known_hosts:2" in reason


def test_hashed_and_revoked_entries_are_understood(fleet: Fleet, tmp_path: Path) -> None:
    hashed = tmp_path / "known_hosts"
    hashed.write_text((fleet.folder / "known_hosts").read_text())
    subprocess.run(["ssh-keygen", "-H", "-f", str(hashed)], check=True, capture_output=True)
    assert "|1|" in hashed.read_text()
    connect(fleet, "gpu1", known=hashed).close()
    revoked = tmp_path / "revoked"
    line = next(x for x in (fleet.folder / "known_hosts").read_text().splitlines() if fleet.nodes["gpu1"] in x)
    revoked.write_text(f"{line}\n@revoked {line}\n")
    assert "revoked" in failure(fleet, "gpu1", known=revoked)[1]


def test_a_wrong_key_names_the_account_and_what_was_tried(fleet: Fleet, tmp_path: Path) -> None:
    stranger = keygen(tmp_path / "stranger")
    config = tmp_path / "config"
    text = (fleet.folder / "config").read_text().replace(str(fleet.key), str(stranger))
    config.write_text(text)
    target = SshConfig(Access(user="root"), user_config=config).target("gpu1")
    with pytest.raises(SshError, match="log-in as root refused: 1 keys refused"):
        ssh.connect(target, KnownHosts(target.known_hosts), Keys(), deadline=time.monotonic() + 5)


def test_a_key_with_a_passphrase_is_asked_for_once_and_works(fleet: Fleet, tmp_path: Path) -> None:
    locked = keygen(tmp_path / "locked", phrase="correct horse")
    with (fleet.folder / "authorized_keys").open("a") as file:
        file.write(locked.with_suffix(".pub").read_text())
    config = tmp_path / "config"
    config.write_text((fleet.folder / "config").read_text().replace(str(fleet.key), str(locked)))
    asked: list[Path] = []

    def phrase(path: Path) -> str:
        asked.append(path)
        return "correct horse"

    keys = Keys(phrase)
    for node in ("gpu1", "gpu2"):
        target = SshConfig(Access(user="root"), user_config=config).target(node)
        ssh.connect(target, KnownHosts(target.known_hosts), keys, deadline=time.monotonic() + 5).close()
    assert asked == [locked]
    target = SshConfig(Access(user="root"), user_config=config).target("gpu1")
    with pytest.raises(SshError, match="needs a passphrase"):
        ssh.connect(target, KnownHosts(target.known_hosts), Keys(), deadline=time.monotonic() + 5)


def test_a_hung_server_costs_the_deadline_and_no_more(fleet: Fleet) -> None:
    start = time.monotonic()
    kind, _ = failure(fleet, "hung", within_s=1.0)
    assert kind == "timed-out"
    assert time.monotonic() - start < 2.5


def test_a_closed_port_is_told_at_once(fleet: Fleet, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("Host gone\n  HostName 127.1.9.9\n  Port 9\n")
    target = SshConfig(Access(user="root"), user_config=config).target("gone")
    with pytest.raises(SshError, match="Connection refused"):
        ssh.connect(target, KnownHosts([]), Keys(), deadline=time.monotonic() + 5)


def test_configuration_is_read_with_includes_and_what_cannot_be_honoured_is_named(tmp_path: Path) -> None:
    (tmp_path / "extra").write_text("Host gpu*\n  User ops\n  ProxyJump b1,b2\n")
    config = tmp_path / "config"
    config.write_text(f"Include {tmp_path}/extra\nHost gpu7\n  Port 2022\nHost token\n  PKCS11Provider /usr/lib/x.so\n")
    loaded = SshConfig(Access(), user_config=config)
    target = loaded.target("gpu7")
    assert (target.user, target.port, target.jumps) == ("ops", 2022, ("b1", "b2"))
    with pytest.raises(Exception, match="pkcs11provider cannot be honoured"):
        loaded.target("token")


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa", "rsa"])
def test_keys_of_every_kind_and_certificates_of_an_authority_log_in(
    tmp_path_factory: pytest.TempPathFactory, kind: str
) -> None:
    folder = tmp_path_factory.mktemp(f"cert-{kind}")
    made = make_fleet(folder)
    authority = keygen(folder / "authority")
    try:
        # this server knows no key of anybody, only the authority that signs them
        (folder / "nobody").write_text("")
        made.start(
            "signed", options=f"TrustedUserCAKeys {authority}.pub\nAuthorizedKeysFile {folder}/nobody", environment=""
        )
        key = keygen(folder / "mine", kind=kind)
        config = (folder / "config").read_text().replace(f"IdentityFile {made.key}", f"IdentityFile {key}")
        (folder / "config").write_text(config)
        with pytest.raises(SshError):
            connect(made, "signed")
        subprocess.run(
            ["ssh-keygen", "-q", "-s", str(authority), "-I", "oncall", "-n", "root", f"{key}.pub"], check=True
        )
        connection = connect(made, "signed")
        try:
            assert ask(connection, "echo $RACK_NODE").answers[0].stdout == b"signed\n"
        finally:
            connection.close()
    finally:
        made.stop()
