"""One script for many commands: what is sent to a node, and how its answer is taken apart.

The script goes to `sh -s` on standard input, so the login shell (bash, csh, fish) only ever sees `exec sh -s`. Frames
with a random word mark where each command begins and ends, on standard output and on standard error alike; whatever
a banner or a noisy start-up file prints lies outside the frames and is dropped. Nothing is written on the node.
"""

from __future__ import annotations

import re
import secrets
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace

from checks.catalogue import Command

START = "exec /bin/sh -s"
"""The command line for the far side; understood by every shell."""

PATH = (
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/mellanox/bin:/opt/mellanox/iproute2/sbin:"
    "/opt/nvidia/bin:/usr/lpp/mmfs/bin:/opt/slurm/bin"
)
CLOCK = "U=; [ -r /proc/uptime ] && read U V < /proc/uptime"
COMMAND_BYTES = 8 * 1024 * 1024
KILL_AFTER_S = 2


@dataclass(frozen=True, slots=True)
class Request:
    """One command for a node: a catalogue entry with validated parameters; `sudo` when it may be asked for root."""

    command: Command
    params: tuple[str, ...] = ()
    sample: int = 1
    sudo: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What one command printed. `clock_s` is the node's clock when it ended, seconds since the epoch.

    `complete` is false when the connection ended before the command did. `capped` says that output beyond
    `COMMAND_BYTES` was not read.
    """

    index: int
    stdout: bytes
    stderr: bytes
    status: int
    clock_s: float | None
    complete: bool = True
    capped: bool = False


def delimiter() -> str:
    """A word that no output can be expected to hold: 128 random bits, new for every script."""
    return f"=rackside={secrets.token_hex(16)}="


def build(requests: Sequence[Request], mark: str) -> bytes:
    """The script for some commands.

    All of it is one compound command, so the shell has read it whole before it runs. A watcher then waits on standard
    input: when the connection closes, it ends every process of the session, and nothing stays behind on the node.

    Raises:
        RefusedCommandError: one of them is shown only.
        ParameterError: a value is not of its type.
    """
    lines = [
        "{",
        f"PATH={PATH}:$PATH; export PATH",
        "LC_ALL=C LANG=C TERM=dumb SLURM_TIME_FORMAT=%s; export LC_ALL LANG TERM SLURM_TIME_FORMAT",
        "unset HISTFILE; exec 4>&1 5<&0",
        # in a session of its own, so that it outlives what it ends and catches a process that was just starting
        "X=; command -v setsid >/dev/null 2>&1 && X=setsid",
        "$X sh -c 'cat >/dev/null; for i in 1 2 3 4 5; do pkill -KILL -s '$$' || break; sleep 0.1; done'"
        " <&5 >/dev/null 2>&1 4>&- &",
        "W=$!",
        "B=-; [ -r /proc/sys/kernel/random/boot_id ] && read B < /proc/sys/kernel/random/boot_id",
        "command -v renice >/dev/null 2>&1 && renice -n 5 -p $$ >/dev/null 2>&1",
        "T=; command -v timeout >/dev/null 2>&1 && T=timeout",
        # one clock for all: `date` once, then what the kernel's uptime has grown, which costs no process
        CLOCK,
        f'printf \'\\n%s H %s %s %s\\n\' \'{mark}\' "$B" "$(date +%s.%N)" "$U"',
    ]
    for index, request in enumerate(requests):
        text = request.command.render(request.params)
        shell = f"sh -c {shlex.quote(text)}"
        if request.sudo:
            shell = f"sudo -n {shell}"
        limit = f"${{T:+$T -k {KILL_AFTER_S} {request.command.timeout_s}}}"
        asking = [
            f"printf '%s B {index}\\n' '{mark}'; printf '%s B {index}\\n' '{mark}' >&2",
            *(["sleep 1"] if request.sample > 1 else []),
            # nothing but the command itself and its `timeout`: every further process would be paid on every node
            f"{limit} {shell} 4>&- 5<&- </dev/null; S=$?",
            CLOCK,
            f"printf '\\n%s E {index} %s %s\\n' '{mark}' \"$S\" \"$U\"; printf '\\n%s E {index}\\n' '{mark}' >&2",
        ]
        if hang := request.command.hang_class:
            flag = f"HUNG_{hang}"
            asking.append(f'case "$S" in 124|137) {flag}=1;; esac')
            asking = [f'if [ -z "${flag}" ]; then', *asking, "fi"]
        lines += asking
    lines += [
        f"printf '%s Z\\n' '{mark}'; printf '%s Z\\n' '{mark}' >&2",
        "exec 4>&- 5<&-; kill -KILL -$W 2>/dev/null || kill $W 2>/dev/null; exit 0",
        "}",
    ]
    return ("\n".join(lines) + "\n").encode()


@dataclass(frozen=True, slots=True)
class Answers:
    """Everything a node answered. `started` is false when not even the first frame came."""

    answers: tuple[Answer, ...]
    boot_id: str | None
    started: bool
    finished: bool
    before: bytes

    def before_flood(self) -> tuple[Answers, int]:
        """What of a stream that was cut off for its size can be kept, and the first index that is to be asked again.

        The answer that was cut off counts if it was too large itself, or there would be no end to asking.
        """
        *whole, last = self.answers
        if last.complete:
            return self, last.index + 1
        if last.capped or not whole:
            return replace(self, answers=(*whole, replace(last, capped=True))), last.index + 1
        return replace(self, answers=tuple(whole)), last.index


def parse(stdout: bytes, stderr: bytes, mark: str, *, cap: int = COMMAND_BYTES) -> Answers:
    """The answers in what a node sent; a stream that ends early gives those that were complete and one that was not."""
    word = re.escape(mark.encode())
    head = re.search(rb"^" + word + rb" H (\S*) ([\d.]*)N? ([\d.]*)$", stdout, re.M)
    errors = _frames(stderr, word)
    found: list[Answer] = []
    begin = re.compile(rb"^" + word + rb" B (\d+)\n", re.M)
    position = 0
    while match := begin.search(stdout, position):
        index = int(match[1])
        end = re.compile(rb"\n" + word + rb" E " + match[1] + rb" (\d*) ([\d.]*)\n").search(stdout, match.end() - 1)
        said = errors.get(index, b"")
        if end is None:
            body = stdout[match.end() :]
            found.append(Answer(index, body[:cap], said, 255, None, complete=False, capped=len(body) > cap))
            break
        # an empty output shares its newline with the frame before it
        body = stdout[match.end() : max(end.start(), match.end())]
        capped = len(body) > cap
        status = int(end[1]) if end[1] else 255
        found.append(Answer(index, body[:cap], said, status, _clock(head, end[2]), capped=capped))
        position = end.end()
    boot = head[1].decode("ascii", "replace") if head else ""
    return Answers(
        answers=tuple(found),
        boot_id=boot if boot and boot != "-" else None,
        started=head is not None,
        finished=re.search(rb"^" + word + rb" Z$", stdout, re.M) is not None,
        before=stdout[: head.start()] if head else stdout,
    )


def _clock(head: re.Match[bytes] | None, uptime: bytes) -> float | None:
    """The node's clock at an uptime: its date at the start plus what the uptime has grown."""
    if head is None or not head[2].strip(b"."):
        return None
    start = float(head[2])
    return start + float(uptime) - float(head[3]) if uptime and head[3] else start


def _frames(stderr: bytes, word: bytes) -> dict[int, bytes]:
    frame = re.compile(rb"^" + word + rb" B (\d+)\n(.*?)(?:\n" + word + rb" E \1\n|\Z)", re.M | re.S)
    return {int(m[1]): m[2] for m in frame.finditer(stderr)}


class Flood:
    """Watches a stream for a command that prints more than `COMMAND_BYTES`; reading stops there.

    A bound on the far side would cost a process for every command on every node; here it costs a search of what is new.
    """

    def __init__(self, mark: bytes, *, cap: int = COMMAND_BYTES) -> None:
        self._mark, self._cap = mark, cap
        self._seen = self._from = 0

    def __call__(self, stream: bytearray) -> bool:
        """True once the command at the end of the stream has printed too much."""
        found = stream.rfind(self._mark, max(0, self._seen - len(self._mark)))
        if found >= 0:
            self._from = found
        self._seen = len(stream)
        return len(stream) - self._from > self._cap + len(self._mark) + 64
