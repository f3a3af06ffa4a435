"""known_hosts as OpenSSH reads it: plain and hashed names, ports, patterns, `@revoked`, `@cert-authority`. Strict."""

from __future__ import annotations

import base64
import binascii
import fnmatch
import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True, slots=True)
class Entry:
    """One line: where it stands, the key type and blob, and the marker in front of it."""

    file: Path
    line: int
    marker: Literal["", "@revoked", "@cert-authority"]
    key_type: str
    key: bytes


Verdict = Literal["known", "unknown", "changed", "revoked"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the files say of a host's key; `entries` are the lines that speak of the host."""

    verdict: Verdict
    entries: tuple[Entry, ...]


def fingerprint(key: bytes) -> str:
    """`SHA256:…` as `ssh-keygen -l` prints it."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")


def host_name(host: str, port: int) -> str:
    """The name a host has in the file: `[host]:port` unless the port is 22."""
    return host if port == 22 else f"[{host}]:{port}"


class KnownHosts:
    """The files, parsed once for a whole fleet. Plain names are found by one look-up, hashed ones by their HMAC."""

    def __init__(self, files: Iterable[Path]) -> None:
        self._plain: dict[str, list[Entry]] = {}
        self._hashed: list[tuple[bytes, bytes, Entry]] = []
        self._patterns: list[tuple[list[str], Entry]] = []
        for file in dict.fromkeys(files):
            self._read(file)

    def _read(self, file: Path) -> None:
        try:
            lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return
        for number, line in enumerate(lines, 1):
            fields = line.split()
            if not fields or fields[0].startswith("#"):
                continue
            marker = fields.pop(0) if fields[0] in ("@revoked", "@cert-authority") else ""
            if len(fields) < 3:
                continue
            try:
                key = base64.b64decode(fields[2], validate=True)
            except (binascii.Error, ValueError):
                continue
            self._add(fields[0], Entry(file, number, marker, fields[1], key))  # type: ignore[arg-type]

    def _add(self, names: str, entry: Entry) -> None:
        if names.startswith("|1|"):
            try:
                _, _, salt, digest = names.split("|")
                self._hashed.append((base64.b64decode(salt), base64.b64decode(digest), entry))
            except (binascii.Error, ValueError):
                return
            return
        listed = names.lower().split(",")
        if any(set(n) & set("*?!") for n in listed):
            self._patterns.append((listed, entry))
        else:
            for name in listed:
                self._plain.setdefault(name, []).append(entry)

    def entries(self, names: Iterable[str]) -> list[Entry]:
        """Lines that speak of any of a host's names (`[host]:port`, its address)."""
        found: dict[Entry, None] = {}
        for name in (n.lower() for n in names):
            found.update(dict.fromkeys(self._plain.get(name, ())))
            for salt, digest, entry in self._hashed:
                if hmac.compare_digest(hmac.new(salt, name.encode(), hashlib.sha1).digest(), digest):
                    found[entry] = None
            for patterns, entry in self._patterns:
                if _matches(name, patterns):
                    found[entry] = None
        return list(found)

    def check(self, names: Iterable[str], key_type: str, key: bytes) -> Answer:
        """Whether a host may present this key."""
        entries = self.entries(names)
        if any(e.marker == "@revoked" and e.key == key for e in entries):
            return Answer("revoked", tuple(entries))
        plain = [e for e in entries if e.marker == ""]
        if any(e.key == key for e in plain):
            return Answer("known", tuple(entries))
        return Answer("changed" if any(e.key_type == key_type for e in plain) else "unknown", tuple(entries))

    def key_types(self, names: Iterable[str]) -> list[str]:
        """Key types known of a host, so that a server with several keys is asked for one we can check."""
        return list(dict.fromkeys(e.key_type for e in self.entries(names) if e.marker == ""))


def _matches(name: str, patterns: list[str]) -> bool:
    matched = False
    for pattern in patterns:
        negated = pattern.startswith("!")
        # brackets are literal in known_hosts, and a character class to fnmatch
        text = pattern.lstrip("!").replace("[", "[[]")
        if fnmatch.fnmatchcase(name, text):
            if negated:
                return False
            matched = True
    return matched
