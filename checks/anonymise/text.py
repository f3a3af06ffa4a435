"""Rewrites text: every identifier in one pass, so that nothing new is ever mistaken for something old."""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Callable, Iterable
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from checks import nodesets
from checks.anonymise.addresses import Addresses
from checks.anonymise.learn import learn
from checks.anonymise.names import Names
from common.redact import environment, redact

_X = "[0-9A-Fa-f]"
_END = r"(?![0-9A-Za-z])"
_SHAPES = (
    rf"(?P<uuid>{_X}{{8}}-{_X}{{4}}-{_X}{{4}}-{_X}{{4}}-{_X}{{12}}){_END}",
    rf"(?P<hex32>{_X}{{32}}){_END}",
    rf"(?P<octets>{_X}{{2}}(?::{_X}{{2}}){{5,19}})(?![0-9A-Za-z:])",
    rf"(?P<dashed>{_X}{{2}}(?:-{_X}{{2}}){{5}})(?![0-9A-Za-z-])",
    rf"(?P<dotted>{_X}{{4}}\.{_X}{{4}}\.{_X}{{4}})(?![0-9A-Za-z.])",
    rf"(?P<guid>0x{_X}{{16}}){_END}",
    rf"(?P<named>(?:[SH]|SW|CA|eui|naa)[-.]{_X}{{16}}){_END}",
    rf"(?P<words>{_X}{{4}}(?::{_X}{{4}}){{3}})(?![0-9A-Za-z:])",
    rf"(?P<ipv6>(?:{_X}{{1,4}}:|::)(?:{_X}{{0,4}}:){{0,7}}(?:{_X}{{1,4}}|(?:\d{{1,3}}\.){{3}}\d{{1,3}})?(?<=[0-9A-Fa-f:])"
    r"(?P<len6>/\d{1,3})?)(?![0-9A-Za-z])",
    r"(?P<ipv4>(?<!\.)\d{1,3}(?:\.\d{1,3}){3}(?![0-9A-Za-z]|\.\d)(?P<len4>/\d{1,2}(?!\d))?)",
    rf"(?P<refid>(?<=Reference ID    : ){_X}{{8}}(?= \()|{_X}{{8}}(?=,[^,\n]{{1,80}},\d{{1,2}},\d{{9,11}}\.))",
    r"(?P<mgc>MGC\d{1,3}(?:\.\d{1,3}){3})(?=@)",
    r"(?P<ipname>(?:ip|ec2)(?:-\d{1,3}){4})(?![0-9A-Za-z-])",
)
_VERSION = re.compile(r"(?:version|firmware|fw_ver|bios|driver|release|revision|inforom|linux)\W{0,24}$", re.I)
_RANGE = re.compile(r"(?:\d{1,3}\.){3}\d{1,3}-$")


class Anonymiser:
    """One mapping under one secret: learns names, then rewrites texts, names and node sets.

    What is learnt later is not known earlier: whoever has all the files shows them all to `learn` first.
    """

    def __init__(self, extra_names: Iterable[str] = (), secret: bytes | None = None) -> None:
        self._secret = secret or secrets.token_bytes(32)
        self.names = Names()
        self.addresses = Addresses(self._secret)
        self.seen: dict[str, dict[str, str]] = {}
        for name in extra_names:
            self.names.add(name)
        self._patterns = lru_cache(maxsize=256)(self._compile)

    def learn(self, text: str, command: str = "") -> None:
        """Takes note of the names one output shows."""
        learn(self.names, text, command)

    def data(self, data: bytes, command: str = "") -> bytes:
        """Bytes of an output without secrets and identifiers."""
        clean = environment(data) if command == "proc-env" else data
        return self.text(clean.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def text(self, text: str) -> str:
        """Text without secrets and identifiers."""
        text = redact(text)
        known = self.names.literals(text)
        pattern = self._patterns(tuple(sorted(known, key=lambda k: (-len(k), k))), self.names.version)
        pieces, at = [], 0
        for match in pattern.finditer(text):
            start, end = match.span()
            new = self._new(match, known)
            if new is None or new == match[0]:
                continue
            pieces += [self._given(text[at:start]), new]
            at = end
        return "".join([*pieces, self._given(text[at:])])

    def node(self, name: str) -> str:
        """The new name of a node; of one named by its address, the new address."""
        return self.text(name)

    def node_set(self, nodes: str) -> str:
        """The new names of a node set, folded."""
        if not re.fullmatch(r"(?=.*\[)[\d.,\[\]-]{3,200}", nodes):
            return self.text(nodes)
        # sets of addresses
        try:
            return nodesets.fold(self.node(n) for n in nodesets.expand(nodes))
        except nodesets.NodeSetError:
            return self.text(nodes)

    def uuid(self, old: str) -> str:
        """Another UUID for the same thing: of version 8, which no tool generates, so that it is known for a new one."""
        digits = old.replace("-", "").lower()
        new = list(hmac.digest(self._secret, f"u{digits}".encode(), "sha256").hex()[:32])
        new[12], new[16] = "8", "89ab"[int(new[16], 16) % 4]
        written = iter("".join(new).upper() if any(c.isupper() for c in old) else "".join(new))
        return "".join("-" if c == "-" else next(written) for c in old)

    def _compile(self, literals: tuple[str, ...], version: int) -> re.Pattern[str]:
        parts = [*_SHAPES]
        if hosts := self.names.host_pattern():
            parts.append(rf"(?P<host>{hosts}){_END}")
        if literals:
            parts.append(rf"(?P<literal>{'|'.join(map(re.escape, literals))}){_END}")
        return re.compile(r"(?<![0-9A-Za-z])(?:" + "|".join(parts) + ")")

    def _new(self, match: re.Match[str], known: dict[str, str]) -> str | None:
        for kind in reversed(match.groupdict()):
            if match[kind] is not None and not kind.startswith("len"):
                break
        old = match[0]
        if kind == "host":
            return self.names.host(old)
        if kind == "literal":
            return known[old]
        shapes: dict[str, Callable[[], str | None]] = {
            "uuid": lambda: old if len(set(old)) < 4 else self.uuid(old),
            "hex32": lambda: self._hex32(old),
            "octets": lambda: self._octets(old, ":"),
            "dashed": lambda: self._octets(old, "-"),
            "dotted": lambda: self._grouped(old, ".", 12, self.addresses.mac) if re.search("[a-fA-F]", old) else None,
            "guid": lambda: old[:2] + self._hex(old[2:], self._guid) if old.lower() in self.names.guids else None,
            # Lustre names the client of a management server by its address
            "mgc": lambda: f"MGC{self.addresses.ipv4(IPv4Address(old[3:]))}",
            "named": lambda: old[:-16] + self._hex(old[-16:], self._guid),
            "words": lambda: self._grouped(old, ":", 16, self._guid),
            "ipv6": lambda: self._ipv6(old),
            "ipv4": lambda: self._ipv4(old, match),
            # chronyd names a source by its address in hex
            "refid": lambda: self._hex(old, lambda v: int(self.addresses.ipv4(IPv4Address(v)))),
            "ipname": lambda: self._address_name(old),
        }
        new = shapes[kind]()
        if new is not None and new != old:
            self.seen.setdefault({"hex32": "uuid", "octets": "mac", "dashed": "mac"}.get(kind, kind), {})[old] = new
        return new

    def _guid(self, value: int) -> int:
        # masks, counters and addresses in memory are written like GUIDs
        return value if value >> 40 in (0, 0xFFFFFF) or value >> 48 in (0, 0xFFFF) else self.addresses.guid(value)

    def _hex32(self, old: str) -> str | None:
        if old.lower().startswith("fe80" + "0" * 12):
            return old[:16] + self._hex(old[16:], self._guid)
        # a mask or a counter has few different digits, a random number has many
        return self.uuid(old) if len(set(old.lower())) >= 8 else None

    def _octets(self, old: str, sign: str) -> str | None:
        count = old.count(sign) + 1
        if count == 6:
            return self._grouped(old, sign, 12, self.addresses.mac)
        if count in (8, 16, 20):
            # a GUID; GIDs and IPoIB addresses end in one
            head = old[: -(8 * 3 - 1)]
            return head + self._grouped(old[len(head) :], sign, 16, self._guid)
        return None

    def _grouped(self, old: str, sign: str, digits: int, change: Callable[[int], int]) -> str:
        plain = old.replace(sign, "")
        new = iter(self._hex(plain, change))
        return "".join(sign if c == sign else next(new) for c in old)

    def _hex(self, old: str, change: Callable[[int], int]) -> str:
        new = f"{change(int(old, 16)):0{len(old)}x}"
        return new.upper() if any(c.isupper() for c in old) else new

    def _ipv4(self, old: str, match: re.Match[str]) -> str | None:
        before = match.string[max(0, match.start() - 48) : match.start()]
        address, _, length = old.partition("/")
        line = before[before.rfind("\n") + 1 :]
        # versions of four parts look like addresses
        if _VERSION.search(line) or (line.endswith("-") and not _RANGE.search(line)):
            return None
        try:
            new = str(self.addresses.ipv4(IPv4Address(address), int(length or 32)))
        except AddressValueError:
            return None
        return f"{new}/{length}" if length else new

    def _ipv6(self, old: str) -> str | None:
        text, _, length = old.partition("/")
        tail = ":" if text.endswith(":") and not text.endswith("::") else ""
        try:
            address = IPv6Address(text[: len(text) - len(tail)])
        except AddressValueError:
            return None
        new = self.addresses.ipv6(address, min(128, int(length or 128)))
        if new == address:
            return None
        if "." in text:
            written = f"::ffff:{new.ipv4_mapped}" if text.startswith("::") else str(new)
        elif len(text) - len(tail) == 39:
            written = new.exploded
        else:
            written = str(new)
        written = written.upper() if any(c.isupper() for c in text) else written
        return written + tail + (f"/{length}" if length else "")

    def _address_name(self, old: str) -> str | None:
        head, *octets = old.split("-")
        try:
            new = self.addresses.ipv4(IPv4Address(".".join(octets)))
        except AddressValueError:
            return None
        return f"{head}-{str(new).replace('.', '-')}"

    def _given(self, text: str) -> str:
        known = self.names.given.get("name")
        if not known:
            return text
        lower = {old.lower(): new for old, new in known.items()}
        longest = sorted(lower, key=lambda k: (-len(k), k))
        return re.sub("|".join(map(re.escape, longest)), lambda m: lower[m[0].lower()], text, flags=re.I)
