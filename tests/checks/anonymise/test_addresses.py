"""Mapped addresses keep what they say about each other and nothing else."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.anonymise.addresses import Addresses

MAP = Addresses(b"a secret of this test")
V4 = st.integers(0, (1 << 32) - 1).map(IPv4Address)
V6 = st.integers(0, (1 << 128) - 1).map(IPv6Address)


def _shared(a: int, b: int, size: int) -> int:
    return size - (a ^ b).bit_length()


@given(V4, V4)
def test_two_ipv4_addresses_share_the_same_prefix_before_and_after(a: IPv4Address, b: IPv4Address) -> None:
    assert _shared(int(MAP.ipv4(a)), int(MAP.ipv4(b)), 32) == _shared(int(a), int(b), 32)


@given(V4)
def test_special_ranges_stay_what_they_are_and_the_last_byte_stays(a: IPv4Address) -> None:
    mapped = MAP.ipv4(a)
    for name in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "127.0.0.0/8", "224.0.0.0/4"):
        assert (a in IPv4Network(name)) == (mapped in IPv4Network(name))
    assert int(a) & 255 == int(mapped) & 255


@pytest.mark.parametrize("text", ["0.0.0.0", "127.0.0.1", "169.254.1.2", "224.0.0.5", "255.255.254.0", "0.0.0.255"])
def test_loopback_link_local_multicast_and_masks_are_untouched(text: str) -> None:
    assert str(MAP.ipv4(IPv4Address(text))) == text


def test_a_network_is_mapped_as_the_network_of_its_hosts() -> None:
    for length in (8, 12, 16, 20, 24):
        network = IPv4Network(("10.20.0.0", length), strict=False)
        mapped = IPv4Network((MAP.ipv4(network.network_address, length), length))
        assert all(MAP.ipv4(network[n]) in mapped for n in (1, 200, network.num_addresses - 1))


@given(V6, V6)
def test_ipv6_subnets_keep_their_prefixes(a: IPv6Address, b: IPv6Address) -> None:
    for name in ("2000::/3", "fc00::/7"):
        base = int(IPv6Network(name).network_address)
        size = IPv6Network(name).prefixlen
        one, other = (IPv6Address(base | int(x) & ((1 << (128 - size)) - 1)) for x in (a, b))
        mapped, second = MAP.ipv6(one), MAP.ipv6(other)
        assert mapped in IPv6Network(name)
        assert min(64, _shared(int(mapped), int(second), 128)) == min(64, _shared(int(one), int(other), 128))


@pytest.mark.parametrize("text", ["::", "::1", "ff02::1", "fe80::1", "1::2"])
def test_other_ipv6_addresses_are_untouched(text: str) -> None:
    assert str(MAP.ipv6(IPv6Address(text))) == text


def test_interface_ids_and_guids_follow_their_mac_and_gids_their_ipv4() -> None:
    mac = 0xB8CEF6123456
    mapped = MAP.mac(mac)
    assert mapped >> 24 == 0xB8CEF6
    assert mapped & 0xFF == 0x56
    rest = mapped & 0xFFFFFF
    assert MAP.guid(0xB8CEF60300123456) == 0xB8CEF60300 << 24 | rest
    assert int(MAP.ipv6(IPv6Address("fe80::bace:f6ff:fe12:3456"))) & ((1 << 64) - 1) == 0xBACEF6FFFE << 24 | rest
    gid = MAP.ipv6(IPv6Address("::ffff:10.20.0.1"))
    assert gid.ipv4_mapped == MAP.ipv4(IPv4Address("10.20.0.1"))


@pytest.mark.parametrize("value", [0, 0xFFFFFFFFFFFF, 0x01005E000001, 0x333300000001, 0x0180C200000E])
def test_group_and_empty_macs_are_untouched(value: int) -> None:
    assert MAP.mac(value) == value


@given(st.integers(0, (1 << 48) - 1), st.integers(0, (1 << 48) - 1))
def test_different_macs_stay_different(a: int, b: int) -> None:
    assert (MAP.mac(a) == MAP.mac(b)) == (a == b)


@given(st.integers(0, (1 << 64) - 1), st.integers(0, (1 << 64) - 1))
def test_different_guids_stay_different(a: int, b: int) -> None:
    assert (MAP.guid(a) == MAP.guid(b)) == (a == b)


def test_another_secret_gives_other_addresses() -> None:
    other = Addresses(b"another secret")
    hosts = [IPv4Address(f"10.{n}.{n}.1") for n in range(64)]
    assert sum(MAP.ipv4(h) != other.ipv4(h) for h in hosts) > 50
