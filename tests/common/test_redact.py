"""Secrets go, facts stay, lines keep their numbers, hostile text costs no time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import catalogue
from checks.clusters import SAMPLES
from checks.interpret import interpret
from checks.outputs import Output
from checks.transports.layout import _FILE, split_stem
from common.redact import GONE, environment, foreign_environment, leaks, redact, redact_bytes
from tests import corpus

# put together here, so that no scanner of this repository takes them for real ones
HEX40 = "0123456789abcdef0123456789abcdef01234567"
WORD = "Zq8vT3xR5kLm9wYb2NcD7sFh"
JWT = "eyJ" + "hbGciOiJIUzI1NiJ9" + "." + "eyJzdWIiOiIxMjM0In0" + "." + "c2lnbmF0dXJl"
CRYPT = "$6$" + "saltsalt$" + WORD + "./"

SECRETS = [
    ("password=hunter22", "hunter22"),
    ('"password": "two words"', "two words"),
    (r"{\"db_password\": \"in a string\"}", "in a string"),
    ("DB_PASSWORD:  hunter22", "hunter22"),
    ("Server=db;Uid=app;Pwd=hunter22;", "hunter22"),
    ("AccountingStoragePass=hunter22", "hunter22"),
    ("API_TOKEN=abc123", "abc123"),
    ("export WANDB_API_KEY=" + HEX40, HEX40),
    ("wandb: using key " + HEX40, HEX40),
    ("wandb login " + HEX40, HEX40),
    ("AWS_SECRET_ACCESS_KEY=" + WORD, WORD),
    ("key id AKIA" + "ABCDEFGHIJKLMNOP used", "ABCDEFGHIJKLMNOP"),
    ("DefaultEndpointsProtocol=https;AccountKey=" + WORD + "==;x", WORD),
    ("https://x.blob.example/c?sv=1&sig=" + WORD, WORD),
    ("AIza" + "SyA1234567890abcdefghijklmnopqrstuv", "SyA1234567890"),
    ("pulling with hf_" + WORD, WORD),
    ("remote: ghp_" + WORD, WORD),
    ("github_pat_" + WORD, WORD),
    ("glpat-" + WORD, WORD),
    ("xoxb-" + "1234567890-" + WORD, WORD),
    ("https://hooks.slack.com/services/T000/B000/" + WORD, WORD),
    ("nvapi-" + WORD, WORD),
    ("sk-" + WORD, WORD),
    ("got " + JWT + " back", "hbGciOiJIUzI1NiJ9"),
    ("SLURM_JWT=" + JWT, "hbGciOiJIUzI1NiJ9"),
    ("Authorization: Bearer abc.def", "abc.def"),
    ("curl -H 'Authorization: Basic dTpw' http://h", "dTpw"),
    ("Cookie: sid=abc; theme=dark", "abc; theme"),
    ("set-cookie: sid=abc", "abc"),
    ("https://bob:pw@host.example/x", "bob:pw"),
    ("mount -o username=bob,password=hunter22 //s/x", "hunter22"),
    ("python train.py --api-key abc123 --lr 3e-4", "abc123"),
    ("train\0--token\0abc123\0--lr", "abc123"),
    ("sshpass -p hunter22 ssh h", "hunter22"),
    ("mysql -u root -phunter22 slurm", "hunter22"),
    ("ipmitool -I lanplus -H bmc -U admin -P hunter22 sel list", "hunter22"),
    ("curl -sk -u admin:hunter22 https://ufm", "hunter22"),
    ("ldapsearch -x -D cn=a -w hunter22", "hunter22"),
    ("snmpwalk -v2c -c comm1 sw01", "comm1"),
    ("snmpget -v3 -u u -a SHA -A authpw12 -X privpw12 sw01", "privpw12"),
    ("openssl rsa -passin pass:hunter22", "hunter22"),
    ("machine h login bob password hunter22", "hunter22"),
    ("snmp-server community comm1 ro", "comm1"),
    ("snmp-server host 192.0.2.1 version 2c comm1", "comm1"),
    ("rocommunity comm1 192.0.2.0/24", "comm1"),
    ("com2sec readers default comm1", "comm1"),
    ("snmp community: comm1", "comm1"),
    ('"SNMP_COMMUNITY": {\n  "comm1": {"TYPE": "RO"}}', "comm1"),
    ("SNMP_COMMUNITY|comm1", "comm1"),
    ("enable secret hunter22", "hunter22"),
    ("username admin privilege 15 password 7 0822455D0A16", "0822455D0A16"),
    ("username admin role network-admin secret sha512 " + CRYPT, WORD),
    ("neighbor 192.0.2.9 password 7 0822455D0A16", "0822455D0A16"),
    ("tacacs-server host 192.0.2.1 key 7 0822455D0A16", "0822455D0A16"),
    ("radius-server key hunter22", "hunter22"),
    ("key-string 7 0822455D0A16", "0822455D0A16"),
    ("ntp authentication-key 1 md5 hunter22", "hunter22"),
    ("snmp-server user u g v3 auth sha authpw12 priv aes privpw12", "authpw12"),
    ("snmp-server user u g v3 auth sha authpw12 priv aes-128 privpw12", "privpw12"),
    ("hashed-password: '" + CRYPT + "'", WORD),
    ("root:" + CRYPT + ":19000:0:99999:7:::", WORD),
    ('"passkey": "hunter22"', "hunter22"),
    ('{"auths": {"nvcr.example": {"auth": "dXNlcjpwdw=="}}}', "dXNlcjpwdw"),
    ('{"name": "DB_PASSWORD",\n "value": "hunter22"}', "hunter22"),
    ("- name: HF_TOKEN\n  value: abc123", "abc123"),
]


@pytest.mark.parametrize(("text", "secret"), SECRETS, ids=[t[:30] for t, _ in SECRETS])
def test_a_secret_goes_is_told_by_line_and_stays_away(text: str, secret: str) -> None:
    clean = redact(f"before\n{text}\nafter")
    assert secret not in clean
    assert GONE in clean
    assert clean.startswith("before\n")
    assert clean.endswith("\nafter")
    assert clean.count("\n") == text.count("\n") + 2
    found = list(leaks(f"before\n{text}\nafter"))
    assert found
    assert all(secret not in leak.kind for leak in found)
    assert {leak.line for leak in found} <= set(range(2, text.count("\n") + 3))
    assert redact(clean) == clean
    assert list(leaks(clean)) == []


FACTS = [
    "tokens_per_s=12345 tokens=3200 token: 17",
    "eos_token='</s>' max_token=4096",
    "AuthInfo = (null)\nAuthType = auth/munge",
    "PWD=/home/x\npassword_file=/etc/x\nmunge_key: /etc/munge/munge.key",
    "community: 65000:100",
    "password: ***\nsecret: ${SECRET}\ntoken=<none>",
    "sshd[1]: Failed password for root from 192.0.2.1 port 2 ssh2",
    "GPU-cd74e31f-a937-053d-9271-26cc2ec236e6 key frame 5 skipped",
    "rx_discards: 0  keys: 3\nserviceAccountToken: {",
    "PasswordAuthentication yes",
    "secretName: db\nsecretKeyRef:\n  key: password\n  name: db",
]


@pytest.mark.parametrize("text", FACTS)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert redact(text) == text


def test_a_private_key_goes_and_later_lines_keep_their_numbers() -> None:
    body = "\n".join([WORD * 2] * 5)
    for kind in ("RSA ", "OPENSSH ", "EC ", "ENCRYPTED ", ""):
        text = f"a\n-----BEGIN {kind}PRIVATE KEY-----\n{body}\nab==\n-----END {kind}PRIVATE KEY-----\nlast"
        clean = redact(text)
        assert WORD not in clean
        assert "ab==" not in clean
        assert clean.split("\n")[9] == "last"
        assert [leak.kind for leak in leaks(text)] == ["private key"]
        assert list(leaks(clean)) == []
    in_json = '{"private_key": "-----BEGIN PRIVATE KEY-----\\n' + WORD + '\\n-----END PRIVATE KEY-----\\n", "x": 1}'
    assert WORD not in redact(in_json)
    assert '"x": 1' in redact(in_json)


def test_of_a_key_that_was_cut_off_only_the_key_goes() -> None:
    text = f"-----BEGIN PRIVATE KEY-----\n{WORD}{WORD}\n{WORD}\nmlx5_0 port 1 ACTIVE\n"
    clean = redact(text)
    assert WORD not in clean
    assert "mlx5_0 port 1 ACTIVE" in clean


def test_of_an_environment_only_the_settings_of_the_training_stack_are_kept() -> None:
    data = b"HOME=/home/bob\0NCCL_DEBUG=INFO\0SLURM_JWT=x\0SLURM_JOB_ID=7\0ACME=q\0OMP_NUM_THREADS=16\0NCCL_TOKEN=x\0"
    assert environment(data) == b"NCCL_DEBUG=INFO\0SLURM_JOB_ID=7\0OMP_NUM_THREADS=16\0"
    assert environment(b"HOME=/x\nUCX_TLS=rc\n") == b"UCX_TLS=rc\n"
    assert environment(b"HOME=/x\0A=1\0") == b"RACKSIDE_DROPPED=2\0"
    assert environment(environment(b"HOME=/x\0A=1\0")) == b"RACKSIDE_DROPPED=2\0"
    assert environment(b"") == b""
    assert len(list(foreign_environment(data))) == 4
    assert list(foreign_environment(environment(data))) == []


def test_bytes_that_are_no_text_stay_as_they_are() -> None:
    data = bytes(range(256)) + b" password=hunter22 \xff\xfe"
    assert redact_bytes(bytes(range(256))) == bytes(range(256))
    clean = redact_bytes(data)
    assert b"hunter22" not in clean
    assert clean.endswith(b" \xff\xfe")


@given(st.text())
def test_redacting_twice_is_redacting_once_and_leaves_no_leak(text: str) -> None:
    clean = redact(text)
    assert redact(clean) == clean
    assert list(leaks(clean)) == []


@given(st.lists(st.sampled_from([t for t, _ in SECRETS] + FACTS + ["\n", " ", '"', "'", "\0", GONE]), max_size=6))
def test_secrets_side_by_side_all_go(parts: list[str]) -> None:
    clean = redact("\n".join(parts))
    assert all(secret not in clean for _, secret in SECRETS if len(secret) > 20)
    assert redact(clean) == clean


HOSTILE = [
    *("a", "password", 'password="', "token", "://a:", "ipmitool -", "snmpget -", "curl -u", "wandb ", "cookie:"),
    *("-----BEGIN PRIVATE KEY-----", "eyJaaaaaaaaa.", "name: token ", "username ", "tacacs ", '\\"', "\0", "a_", "$6$"),
    "eyJ" + "a" * 4000,
]


@pytest.mark.parametrize("piece", HOSTILE, ids=lambda p: repr(p)[:20])
def test_a_hostile_line_of_a_megabyte_takes_seconds_and_not_hours(piece: str) -> None:
    text = (piece * (1_000_000 // len(piece) + 1))[:1_000_000]
    started = time.process_time()
    redact(text)
    assert time.process_time() - started < 15


def _recorded() -> Iterator[Path]:
    return (p for p in sorted(SAMPLES.glob("*/**/*.txt")) if _FILE.match(p.name))


def test_the_facts_of_every_sample_are_those_of_its_redacted_text() -> None:
    """Of all files; where the text is unchanged the facts are the same by definition."""
    count = 0
    for path in _recorded():
        data = path.read_bytes()
        command, values = split_stem(path.name.removesuffix(".txt").partition("~")[0])
        clean = redact_bytes(environment(data) if command == "proc-env" else data)
        count += 1
        if clean != data:
            before = interpret(Output("n", command, values, 1, data, b"", 0, 1, None))
            assert interpret(Output("n", command, values, 1, clean, b"", 0, 1, None)) == before, path
    assert count > 2000
    assert catalogue.parser("proc-env") is not None


def test_recordings_from_the_field_hold_nothing_that_is_taken_for_a_secret() -> None:
    # the outputs were published; none of them is a secret, so whatever goes would be a fact
    changed = []
    for path in sorted(corpus.folder().glob("*/*.txt")):
        data = path.read_bytes()
        if redact_bytes(data) != data:
            changed.append(path.name)
    assert changed == []
