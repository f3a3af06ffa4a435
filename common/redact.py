"""Secrets removed from text before it is stored, shown in a report or written to a journal."""

from __future__ import annotations

import re

GONE = "<redacted>"

_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.S), GONE),
    (re.compile(r"(\b[a-z][a-z0-9+.-]*://)[^/\s:@]+:[^/\s@]+@", re.I), rf"\1{GONE}@"),
    (
        re.compile(
            r"""(\b[\w.-]*(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|credential|community)"""
            r"""[\w.-]*["']?\s*[=:]\s*)(?:"[^"]*"|'[^']*'|[^\s,;"']+)""",
            re.I,
        ),
        rf"\1{GONE}",
    ),
    (re.compile(r"\b(authorization:\s*(?:bearer|basic)\s+)\S+", re.I), rf"\1{GONE}"),
    (re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{30,}\b|\bhf_[A-Za-z0-9]{30,}\b"), GONE),
)


def redact(text: str) -> str:
    """The text with passwords, tokens, keys, communities and credentials in URLs replaced."""
    for pattern, instead in _PATTERNS:
        text = pattern.sub(instead, text)
    return text
