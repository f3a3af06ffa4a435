"""What only a person at the terminal can answer: passphrases of keys, a jump host's questions. Nothing is kept."""

from __future__ import annotations

import getpass
import sys
import threading
from pathlib import Path

from common.safetext import safe_line

_one_at_a_time = threading.Lock()


def passphrase(path: Path) -> str | None:
    """The passphrase of a private key; None where nobody can be asked or nothing is typed."""
    if not sys.stdin.isatty():
        return None
    with _one_at_a_time:
        try:
            return getpass.getpass(f"passphrase for {path}: ") or None
        except (EOFError, KeyboardInterrupt):
            return None


def interactive(title: str, instructions: str, prompts: list[tuple[str, bool]]) -> list[str]:
    """Answers to a server's questions; its text is shown as data, never as escapes."""
    if not sys.stdin.isatty():
        return ["" for _ in prompts]
    with _one_at_a_time:
        for text in (title, instructions):
            if text.strip():
                sys.stderr.write(f"{safe_line(text.strip())}\n")
        return [_answer(safe_line(text), echo) for text, echo in prompts]


def _answer(prompt: str, echo: bool) -> str:
    if not echo:
        return getpass.getpass(f"{prompt} ")
    sys.stderr.write(f"{prompt} ")
    sys.stderr.flush()
    return sys.stdin.readline().rstrip("\n")
