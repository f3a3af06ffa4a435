"""The framed script, run by real shells."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time

import pytest

from checks import catalogue
from checks.catalogue import Command, RefusedCommandError
from checks.params import ParameterError
from checks.transports import script
from checks.transports.script import Request


def command(text: str, *, timeout_s: int = 5) -> Command:
    """A command of the test's own; only the catalogue's reach a node."""
    base = catalogue.get("loadavg").model_dump()
    return Command(**{**base, "id": "test", "command": text, "timeout_s": timeout_s})


def run(*texts: str, shell: str = "sh", cap: int = script.COMMAND_BYTES, timeout_s: int = 5) -> script.Answers:
    mark = script.delimiter()
    body = script.build([Request(command(t, timeout_s=timeout_s)) for t in texts], mark)
    stdout, stderr = feed(body, shell)
    return script.parse(stdout, stderr, mark, cap=cap)


def feed(body: bytes, shell: str = "sh") -> tuple[bytes, bytes]:
    """Runs a script as sshd would: in a session of its own, standard input open until it ends."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([shell, "-s"], start_new_session=True, **pipes) as process:  # type: ignore[call-overload]
        assert process.stdin
        process.stdin.write(body)
        process.stdin.flush()
        found: list[bytes] = [b"", b""]
        readers = [
            threading.Thread(target=lambda i=i, s=s: found.__setitem__(i, s.read()))  # type: ignore[misc]
            for i, s in enumerate((process.stdout, process.stderr))
        ]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(30)
        process.stdin.close()
    return found[0], found[1]


@pytest.mark.parametrize("shell", ["sh", "bash", "dash", "ksh", "busybox"])
def test_each_command_has_its_own_bytes_status_errors_and_clock(shell: str) -> None:
    if shutil.which(shell) is None or shell == "busybox":
        pytest.skip(f"no {shell} here")
    answers = run("printf 'a\\nb'", "printf ''", "echo out; echo err >&2; exit 3", "printf 'x\\n\\n'", shell=shell)
    assert answers.started
    assert answers.finished
    assert [a.stdout for a in answers.answers] == [b"a\nb", b"", b"out\n", b"x\n\n"]
    assert [a.status for a in answers.answers] == [0, 0, 3, 0]
    assert answers.answers[2].stderr == b"err\n"
    assert answers.answers[0].stderr == b""
    assert all(a.clock_s and a.clock_s > 1e9 for a in answers.answers)
    assert answers.boot_id
    assert len(answers.boot_id) == 36


def test_binary_output_arrives_byte_for_byte() -> None:
    data = bytes(range(256)) * 20
    (answer,) = run("printf '" + "".join(f"\\{b:03o}" for b in data) + "'").answers
    assert answer.stdout == data


def test_a_command_that_hangs_is_ended_on_the_far_side_and_the_next_still_runs() -> None:
    answers = run("sleep 60", "echo next", timeout_s=1).answers
    assert answers[0].status in (124, 137)
    assert answers[1].stdout == b"next\n"


def test_more_than_the_cap_is_cut_and_told() -> None:
    answers = run("yes | head -c 5000000", "echo next", cap=1000).answers
    assert answers[0].capped
    assert len(answers[0].stdout) == 1000
    assert answers[1].stdout == b"next\n"
    assert not answers[1].capped


def test_a_flood_is_seen_while_it_is_read_and_a_new_command_counts_anew() -> None:
    mark = b"=rackside=0=="
    flood = script.Flood(mark, cap=1000)
    stream = bytearray(b"banner\n" + mark + b" B 0\n")
    for _ in range(9):
        stream += b"x" * 100
        assert not flood(stream)
    stream += b"\n" + mark[:5]
    assert not flood(stream)
    stream += mark[5:] + b" E 0 0 1\n" + mark + b" B 1\n" + b"y" * 900
    assert not flood(stream)
    stream += b"y" * 400
    assert flood(stream)


def test_a_command_gets_a_shell_of_its_own_only_when_it_needs_one() -> None:
    def line(text: str, sudo: bool = False) -> str:
        body = script.build([Request(command(text), sudo=sudo)], "m").decode()
        return next(part for part in body.splitlines() if part.startswith("${T"))

    assert "} grep -H . '/a (b)' /sys/*/x 4>&-" in line("grep -H . '/a (b)' /sys/*/x")
    assert "} sudo -n dmesg 4>&-" in line("dmesg", sudo=True)
    for text in ("a | b", "a; b", "a > b", 'a "$b"', "A=1 b", "command -v a", "a &&\nb", "~/a"):
        assert "} sh -c '" in line(text)
    assert "} sudo -n sh -c '" in line("cat /proc/*/io", sudo=True)


def test_a_missing_tool_and_a_denied_one_keep_their_status() -> None:
    answers = run("no-such-tool-here", "/etc/passwd").answers
    assert answers[0].status == 127
    assert b"no-such-tool-here" in answers[0].stderr
    assert answers[1].status == 126


def test_noise_before_the_first_frame_is_dropped() -> None:
    mark = script.delimiter()
    body = script.build([Request(command("echo hello"))], mark)
    answers = script.parse(*feed(b"echo noise; echo noise >&2\n" + body), mark)
    assert answers.answers[0].stdout == b"hello\n"
    assert answers.answers[0].stderr == b""
    assert answers.before.startswith(b"noise")


def test_a_stream_cut_anywhere_gives_what_was_whole_and_marks_the_rest() -> None:
    mark = script.delimiter()
    body = script.build([Request(command("echo one")), Request(command("echo two"))], mark)
    stdout, stderr = feed(body)
    for cut in range(len(stdout)):
        answers = script.parse(stdout[:cut], stderr, mark)
        assert not answers.finished or cut >= len(stdout) - 1
        for answer in answers.answers:
            if answer.complete:
                assert answer.stdout in (b"one\n", b"two\n")
                assert answer.status == 0
            else:
                assert answer.status == 255


def test_a_forced_command_never_starts_the_frames() -> None:
    answers = script.parse(b"This account is restricted to rsync.\n", b"", script.delimiter())
    assert not answers.started
    assert answers.answers == ()


def test_standard_input_of_a_command_is_empty() -> None:
    assert run("cat", "echo next").answers[1].stdout == b"next\n"


def test_nothing_outside_the_catalogues_rules_can_be_built() -> None:
    with pytest.raises(RefusedCommandError):
        script.build([Request(catalogue.get("dcgm-diag3"))], "m")
    with pytest.raises(ParameterError):
        script.build([Request(catalogue.get("eth-stats"), ("eth0; reboot",))], "m")


def test_when_the_connection_closes_nothing_stays_behind() -> None:
    sleep = f"sleep {os.getpid()}.4711"
    body = script.build([Request(command(sleep, timeout_s=60))], script.delimiter())
    with subprocess.Popen(
        ["sh", "-s"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(body)
        process.stdin.flush()
        while b" B 0" not in process.stdout.readline():
            pass
        process.stdin.close()
        process.wait(10)
    deadline = time.monotonic() + 5
    while alive(sleep) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not alive(sleep)


def alive(text: str) -> bool:
    shown = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return any(line.strip() == text for line in shown.splitlines())
