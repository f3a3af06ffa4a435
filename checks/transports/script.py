"""One script for many commands: what is sent to a node, and how its answer is taken apart.

The script goes to `sh -s` on standard input, so the login shell (bash, csh, fish) only ever sees `exec nice … sh -s`.
Frames with a random word mark where each command begins and ends, on standard output and on standard error alike; what
a banner or a noisy start-up file prints lies outside the frames and is dropped. Nothing is written on the node.
"""

from __future__ import annotations

import re
import secrets
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from checks.catalogue import Command

START = "exec nice -n 5 /bin/sh -s"
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


_FRAME = re.compile(rb"H \S* [\d.]*N? [\d.]*|B \d+|E \d+(?: \d* [\d.]*)?|Z")
_QUOTED = re.compile(r"'[^']*'")
_SYNTAX = re.compile(r"""[|&;<>()$`\n\\"'!#{}~]""")
_GLOB = re.compile(r"[*?[]")
_BUILTINS = frozenset({".", "cd", "command", "eval", "exec", "export", "set", "type", "ulimit", "umask"})


def _words(text: str, *, sudo: bool) -> str:
    """A command in the script: as it is when it is one program and its arguments, else in a shell of its own.

    Patterns of file names belong to the shell that may read the folders, which for root is not the script's.
    """
    bare = _QUOTED.sub("", text)
    first = text.split(maxsplit=1)[0]
    plain = not (_SYNTAX.search(bare) or first in _BUILTINS or "=" in first or (sudo and _GLOB.search(bare)))
    shell = text if plain else f"sh -c {shlex.quote(text)}"
    return f"sudo -n {shell}" if sudo else shell


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
        "$X sh -c 'while read -r L; do :; done; for i in 1 2 3 4 5; do pkill -KILL -s '$$' || break; sleep 0.1; done'"
        " <&5 >/dev/null 2>&1 4>&- &",
        "W=$!",
        "B=-; [ -r /proc/sys/kernel/random/boot_id ] && read B < /proc/sys/kernel/random/boot_id",
        "T=; command -v timeout >/dev/null 2>&1 && T=timeout",
        # one clock for all: `date` once, then what the kernel's uptime has grown, which costs no process
        CLOCK,
        f'printf \'\\n%s H %s %s %s\\n\' \'{mark}\' "$B" "$(date +%s.%N)" "$U"',
    ]
    for index, request in enumerate(requests):
        shell = _words(request.command.render(request.params), sudo=request.sudo)
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

    def after(self, first: int) -> Answers:
        """The same answers counted on from `first`: the script held only what was left to ask."""
        return replace(self, answers=tuple(replace(a, index=a.index + first) for a in self.answers)) if first else self

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
    errors = _frames(stderr, mark)
    head: tuple[bytes, bytes, bytes] | None = None
    before = stdout
    found: list[Answer] = []
    finished = False
    begin: tuple[int, int] | None = None
    for start, (kind, *fields), after in _marks(stdout, mark):
        if kind == b"H" and head is None and len(fields) == 3:
            head, before = (fields[0], fields[1].removesuffix(b"N"), fields[2]), stdout[:start]
        elif kind == b"B" and begin is None:
            begin = int(fields[0]), after
        elif kind == b"E" and begin is not None and int(fields[0]) == begin[0]:
            index, at = begin
            # an empty output shares its newline with the frame before it
            body = stdout[at : max(start - 1, at)]
            status = int(fields[1]) if fields[1] else 255
            clock_s, said = _clock(head, fields[2]), errors.get(index, b"")
            found.append(Answer(index, body[:cap], said, status, clock_s, capped=len(body) > cap))
            begin = None
        elif kind == b"Z":
            finished = True
    if begin is not None:
        index, at = begin
        body = stdout[at:]
        said = errors.get(index, b"")
        found.append(Answer(index, body[:cap], said, 255, None, complete=False, capped=len(body) > cap))
    boot = head[0].decode("ascii", "replace") if head else ""
    return Answers(
        answers=tuple(found),
        boot_id=boot if boot and boot != "-" else None,
        started=head is not None,
        finished=finished,
        before=before,
    )


def _marks(stream: bytes, mark: str) -> Iterator[tuple[int, list[bytes], int]]:
    """Whole frame lines: where they begin, their fields, and where the line after them begins.

    Found by the mark itself and not line by line: answers are long and frames are few.
    """
    word = b"%s " % mark.encode()
    at = 0
    while (start := stream.find(word, at)) >= 0:
        at = start + len(word)
        end = stream.find(b"\n", at)
        if end < 0:
            return
        if start == 0 or stream[start - 1] == 10:
            fields = stream[at:end].split(b" ")
            if _FRAME.fullmatch(stream, at, end):
                yield start, fields, end + 1


def _clock(head: tuple[bytes, bytes, bytes] | None, uptime: bytes) -> float | None:
    """The node's clock at an uptime: its date at the start plus what the uptime has grown."""
    if head is None or not head[1].strip(b"."):
        return None
    start = float(head[1])
    return start + float(uptime) - float(head[2]) if uptime and head[2] else start


def _frames(stderr: bytes, mark: str) -> dict[int, bytes]:
    frames: dict[int, bytes] = {}
    begin: tuple[int, int] | None = None
    for start, (kind, *fields), after in _marks(stderr, mark):
        if kind == b"B" and begin is None:
            begin = int(fields[0]), after
        elif kind == b"E" and begin is not None and int(fields[0]) == begin[0]:
            frames[begin[0]] = stderr[begin[1] : max(start - 1, begin[1])]
            begin = None
    if begin is not None:
        frames[begin[0]] = stderr[begin[1] :]
    return frames


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
