"""Addresses replaced under a secret so that what they say about each other stays: subnets, pairs, vendors, ports.

The mapping keeps prefixes, as Crypto-PAn does: two addresses share as many leading bits after it as before it. Special
ranges map onto themselves (private stays private), and the last byte stays, so hosts keep their order in a subnet,
links of two hosts stay links, and network and broadcast addresses stay what they are.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

_LAST_BYTE = 8

_KEPT_V4 = tuple(
    map(IPv4Network, ("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "192.0.2.0/24", "224.0.0.0/4", "240.0.0.0/4"))
)
_CLOSED_V4 = (*_KEPT_V4, *map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")))
_MAPPED_V6 = tuple(map(IPv6Network, ("2000::/3", "fc00::/7", "fe80::/10")))
_V4_IN_V6 = IPv6Network("::ffff:0:0/96")


def _starts(networks: Iterable[IPv4Network | IPv6Network]) -> frozenset[tuple[int, int]]:
    """(length, value) of every leading part of these networks, at which no bit may be turned."""
    found = set()
    for network in networks:
        value, size = int(network.network_address), network.max_prefixlen
        found |= {(n, value >> (size - n)) for n in range(network.prefixlen)}
    return frozenset(found)


_STARTS_V4 = _starts(_CLOSED_V4)
_STARTS_V6 = _starts(_MAPPED_V6)


class Addresses:
    """IPv4, IPv6, MAC addresses and GUIDs under one secret."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._turned = lru_cache(maxsize=1 << 16)(self._turn)

    def ipv4(self, address: IPv4Address, length: int = 32) -> IPv4Address:
        """The address; of one written as a network (`10.20.0.0/16`) only the first `length` bits are mapped."""
        if any(address in network for network in _KEPT_V4):
            return address
        value = int(address)
        keep = 32 - length if length < 32 - _LAST_BYTE and not value & ((1 << (32 - length)) - 1) else _LAST_BYTE
        return IPv4Address(self._bits("4", value, 32, keep, _STARTS_V4))

    def ipv6(self, address: IPv6Address, length: int = 128) -> IPv6Address:
        """The address: its subnet keeps prefixes, an interface id made of a MAC follows that MAC."""
        value = int(address)
        if address in _V4_IN_V6:
            return IPv6Address(value >> 32 << 32 | int(self.ipv4(IPv4Address(value & 0xFFFFFFFF))))
        if not any(address in network for network in _MAPPED_V6):
            return address
        low = value & ((1 << 64) - 1)
        keep = 128 - length if length < 64 and not low else 64
        high = self._bits("6", value, 128, max(keep, 64), _STARTS_V6) >> 64
        # link-local addresses and InfiniBand GIDs have no subnet to hide
        high = value >> 64 if value >> 64 in (0xFE80 << 48, 0xFE80 << 48 | 1) else high
        return IPv6Address(high << 64 | self.interface_id(low))

    def interface_id(self, value: int) -> int:
        """The low half of an IPv6 address or GID, 64 bits; small numbers a person chose stay."""
        if value >> 16 == 0:
            return value
        if value >> 24 & 0xFFFF == 0xFFFE:
            mac = (value >> 40 ^ 0x020000) << 24 | value & 0xFFFFFF
            mac = self.mac(mac)
            return (mac >> 24 ^ 0x020000) << 40 | 0xFFFE << 24 | mac & 0xFFFFFF
        return self.guid(value)

    def mac(self, value: int) -> int:
        """A MAC, 48 bits: the vendor and the last byte stay (ports of one card stay neighbours); groups stay."""
        if value in (0, (1 << 48) - 1) or value >> 40 & 1:
            return value
        # who made its own address has no vendor to keep
        first = 8 if value >> 41 & 1 else 24
        return self._bits("m", value, 48, _LAST_BYTE, frozenset(), first)

    def guid(self, value: int) -> int:
        """A GUID or WWN, 64 bits; one made of a MAC (`vendor 0300 rest`) follows that MAC."""
        if value in (0, (1 << 64) - 1):
            return value
        if value >> 56 & 3:
            # no vendor's: a group, or one made up by a driver
            return self._bits("g", value, 64, _LAST_BYTE, frozenset(), 8)
        middle = value >> 24 & 0xFFFF
        mac = self.mac((value >> 40) << 24 | value & 0xFFFFFF)
        return (value >> 40) << 40 | middle << 24 | mac & 0xFFFFFF

    def _bits(
        self, kind: str, value: int, size: int, keep: int, starts: frozenset[tuple[int, int]], first: int = 0
    ) -> int:
        """`value` with bits `first` to `size - keep` turned or not, each by what stands before it."""
        found = 0
        for n in range(size - keep):
            before = value >> (size - n)
            if n >= first and (n, before) not in starts and self._turned(kind, n, before):
                found |= 1 << (size - 1 - n)
        return value ^ found

    def _turn(self, kind: str, n: int, before: int) -> bool:
        return bool(hmac.digest(self._secret, f"{kind}{n}:{before:x}".encode(), "sha256")[0] & 1)
