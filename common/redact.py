"""Secrets removed from text before it is stored, shown in a report or written to a journal.

What is recognised lies in `secrets`; here is how it is taken out, and how it is found without being told.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from common.secrets import KINDS, NO_SECRET, PEM_BEGIN, PEM_BODY, PEM_REACH

GONE = "<redacted>"

KEPT_ENVIRONMENT = (
    *("NCCL_", "TORCH_NCCL_", "CUDA_", "OMP_", "UCX_", "SLURM_", "GLOO_", "NVSHMEM_", "PYTORCH_CUDA_ALLOC_CONF"),
    *("NVIDIA_VISIBLE_DEVICES", "KMP_AFFINITY", "MKL_NUM_THREADS"),
)
"""What may be kept of the environment of a process; everything else may be a secret under any name."""

_DROPPED = "RACKSIDE_DROPPED"
"""Stands for an environment of which nothing may be kept: it was read, and it held no settings."""

_SECRET_NAME = re.compile(r"JWT|TOKEN|SECRET|PASSW|PASSPHRASE|CRED|API_?KEY|AUTH|MUNGE", re.I)


class Leak(NamedTuple):
    """A secret in a text: its line, counted from 1, and what sort of secret; never the secret itself."""

    line: int
    kind: str


def redact(text: str) -> str:
    """The text with passwords, tokens, keys, communities and credentials in URLs replaced; lines keep their numbers."""
    low = text.lower()
    if PEM_BEGIN.search(text):
        text = _without_keys(text)
    for kind in KINDS:
        if not kind.guards or any(guard in low for guard in kind.guards):
            text = kind.pattern.sub(_replaced, text)
    return text


def redact_bytes(data: bytes) -> bytes:
    """Bytes without secrets; unchanged to the byte, UTF-8 or not, when there were none."""
    return redact(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def environment(data: bytes) -> bytes:
    """`/proc/PID/environ` cut down to what may be kept: settings of the training stack that are no secrets."""
    end = b"\0" if b"\0" in data else b"\n"
    entries = [entry for entry in data.split(end) if b"=" in entry]
    kept = [entry for entry in entries if may_be_kept(entry)]
    if not kept:
        return b"%s=%d%s" % (_DROPPED.encode(), len(entries), end) if entries else b""
    return end.join(kept) + (end if data.endswith(end) else b"")


def foreign_environment(data: bytes) -> Iterator[Leak]:
    """Entries of an environment that `environment` would drop."""
    for number, entry in enumerate(re.split(rb"[\0\n]", data), 1):
        if b"=" in entry and not may_be_kept(entry):
            # NULs are no line ends: an environment is one line
            yield Leak(1 if b"\0" in data else number, "environment variable")


def leaks(text: str) -> Iterator[Leak]:
    """Secrets that `redact` would take out, in the order of the text, at most one for each line."""
    low = text.lower()
    found = [(start, "private key") for start, end in _keys(text) if text[start:end].strip() != GONE]
    for kind in KINDS:
        if not kind.guards or any(guard in low for guard in kind.guards):
            found += [(m.start("s"), kind.name) for m in kind.pattern.finditer(text) if not _innocent(m)]
    line, at, told = 1, 0, 0
    for start, name in sorted(found):
        line += text.count("\n", at, start)
        at = start
        if line != told:
            told = line
            yield Leak(line, name)


def may_be_kept(entry: bytes) -> bool:
    """True for `NAME=value` of an environment that is a setting of the training stack and, by its name, no secret."""
    name = entry.partition(b"=")[0].decode("utf-8", "replace")
    return name == _DROPPED or (name.startswith(KEPT_ENVIRONMENT) and not _SECRET_NAME.search(name))


def _innocent(match: re.Match[str]) -> bool:
    value = match["s"].strip()
    return value == GONE or NO_SECRET.fullmatch(value) is not None


def _replaced(match: re.Match[str]) -> str:
    if _innocent(match):
        return match[0]
    start, end = match.span("s")
    whole = match.start()
    return f"{match[0][: start - whole]}{GONE}{match[0][end - whole :]}"


def _keys(text: str) -> Iterator[tuple[int, int]]:
    """Where the bodies of private keys lie, without the lines that begin and end them."""
    at = 0
    while begin := PEM_BEGIN.search(text, at):
        at = text.find("-----END", begin.end(), begin.end() + PEM_REACH)
        if at < 0:
            # cut off: take what still looks like a key, and leave what was printed after it
            body = PEM_BODY.match(text, begin.end())
            at = body.end() if body else begin.end()
        yield begin.end(), at


def _without_keys(text: str) -> str:
    pieces, at = [], 0
    for start, end in _keys(text):
        lines = text.count("\n", start, end)
        pieces += [text[at:start], f"\n{GONE}" + "\n" * (lines - 1) if lines else GONE]
        at = end
    return "".join([*pieces, text[at:]])
