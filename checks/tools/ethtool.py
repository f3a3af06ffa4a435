"""`ethtool` in its forms: link, counters (-S), FEC, driver (-i), pause (-a), rings (-g).

    Settings for eth2:
            Speed: 200000Mb/s
            Link detected: yes
    NIC statistics:
         rx_prio3_pause_duration: 412
    FEC parameters for eth2:
    Active FEC encoding: RS

Error lines (`Cannot get …`, `netlink error: …`) may stand before or among the settings.
"""

from __future__ import annotations

import re

from checks.outputs import Facts, OddLine, Outcome, Raw
from checks.tools.ethtool_module import parse_eth_module as parse_eth_module
from checks.tools.formats import absent, cut_off, integer, number

_ERROR = re.compile(r"^(?:Cannot get|Cannot|netlink error|ethtool:|sudo:)", re.I)
_STAT = re.compile(r"^\s*(\S.*?)\s*:\s*(-?\d+)\s*$")
_STAT_NAME = re.compile(r"^(?:\[\w+\]:? ?)?[A-Za-z0-9_.\-]+$")


class EthLink(Facts):
    """Link of an interface. `link` is None where ethtool may not or does not say."""

    line: int
    interface: str
    speed_gbps: float | None = None
    speed_line: int | None = None
    duplex: str | None = None
    lanes: int | None = None
    port: str | None = None
    autoneg: bool | None = None
    link: bool | None = None
    link_line: int | None = None


class EthStats(Facts):
    """Counters of an interface by name; `lines` says where each was read."""

    counters: dict[str, int]
    lines: dict[str, int]


class EthFec(Facts):
    """FEC of an interface: `active` is the encoding in use, None when not reported."""

    line: int
    interface: str
    configured: tuple[str, ...] = ()
    active: str | None = None
    active_line: int | None = None


class EthDriver(Facts):
    """Driver and firmware behind an interface."""

    line: int
    driver: str
    version: str | None = None
    firmware: str | None = None
    psid: str | None = None
    bus: str | None = None


class EthPause(Facts):
    """Global (not per priority) flow control of an interface."""

    line: int
    interface: str
    autoneg: bool | None = None
    rx: bool | None = None
    tx: bool | None = None


class EthRing(Facts):
    """Ring sizes of an interface, in descriptors."""

    line: int
    interface: str
    rx_max: int | None = None
    tx_max: int | None = None
    rx: int | None = None
    tx: int | None = None


def parse_eth_link(raw: Raw) -> Outcome:
    """Speed, duplex and whether a link is detected."""
    start = _start(raw, r"^\s*Settings for (\S+?):\s*$")
    if start is None:
        return raw.unparsable("no `Settings for` line")
    line, interface = start
    values, odd = _values(raw, line)
    hidden = any(x.startswith("Cannot get link status") for x in raw.lines)
    detected = values.get("link detected", (0, ""))
    link = None if hidden else _yes(detected[1])
    speed_line, speed = values.get("speed", (0, ""))
    if not values:
        return raw.unparsable("no settings after the first line")
    mbps = number(speed)
    return EthLink(
        line=line,
        interface=interface,
        speed_gbps=mbps / 1000 if mbps and re.search(r"mb/s", speed, re.I) else None,
        speed_line=speed_line or None,
        duplex=_known(values, "duplex"),
        lanes=integer(values.get("lanes", (0, ""))[1]),
        port=_known(values, "port"),
        autoneg=_yes(values.get("auto-negotiation", (0, ""))[1]),
        link=link,
        link_line=detected[0] or None,
        odd=odd,
    )


def parse_eth_stats(raw: Raw) -> Outcome:
    """All counters by name; without the heading only when the lines look like interface counters."""
    counters: dict[str, int] = {}
    lines: dict[str, int] = {}
    odd: list[OddLine] = []
    start = _start(raw, r"^\s*(NIC statistics):\s*$")
    first = start[0] if start else 0
    cut = cut_off(raw)
    for n in range(first + 1, len(raw.lines) + 1):
        line = raw.lines[n - 1]
        found = _STAT.match(line)
        if found and n != cut:
            if found[1] not in counters:
                counters[found[1]] = int(found[2])
                lines[found[1]] = n
        elif line.strip() and not _ERROR.match(line) and (counters or start):
            odd.append(raw.odd(n))
    if not counters:
        return raw.unparsable("no counters")
    if not start:
        named = sum(1 for name in counters if _STAT_NAME.match(name))
        traffic = any(re.search(r"(?:^|[_\W])[rt]x(?:$|[_\W\d])", name) for name in counters)
        if not traffic or named < 0.8 * (len(counters) + len(odd)) or any(n in counters for n in ("RX", "TX")):
            return raw.unparsable("no `NIC statistics:` line, and the lines are no interface counters")
    return EthStats(counters=counters, lines=lines, odd=tuple(odd))


def parse_eth_fec(raw: Raw) -> Outcome:
    """Configured and active FEC."""
    start = _start(raw, r"^\s*FEC parameters for (\S+?):\s*$")
    if start is None:
        return raw.unparsable("no `FEC parameters for` line")
    line, interface = start
    values, odd = _values(raw, line)
    configured: tuple[str, ...] = ()
    active, active_line = None, None
    for key, (n, value) in values.items():
        if key.startswith(("configured fec encoding", "supported/configured fec encoding")):
            configured = tuple(value.split())
        elif key.startswith("active fec encoding"):
            active_line = n
            active = None if absent(value) and value.lower() != "none" else value
            if value.lower() == "not reported":
                active = None
    if active_line is None and not configured:
        return raw.unparsable("no FEC encodings after the first line")
    return EthFec(
        line=line, interface=interface, configured=configured, active=active, active_line=active_line, odd=odd
    )


def parse_eth_driver(raw: Raw) -> Outcome:
    """Driver, firmware and bus address."""
    start = _start(raw, r"^\s*driver:\s*(\S+)\s*$")
    if start is None:
        return raw.unparsable("no `driver:` line")
    line, driver = start
    values, odd = _values(raw, line)
    if not values:
        return raw.unparsable("nothing after the driver")
    firmware = _known(values, "firmware-version")
    psid = re.search(r"\(([A-Z]{2,4}_?[0-9A-Z]{6,})\)", firmware or "")
    if psid and firmware:
        firmware = firmware[: psid.start()].strip()
    return EthDriver(
        line=line,
        driver=driver,
        version=_known(values, "version"),
        firmware=firmware,
        psid=psid[1] if psid else None,
        bus=_known(values, "bus-info"),
        odd=odd,
    )


def parse_eth_pause(raw: Raw) -> Outcome:
    """Global pause, received and sent."""
    start = _start(raw, r"^\s*Pause parameters for (\S+?):\s*$")
    if start is None:
        return raw.unparsable("no `Pause parameters for` line")
    values, odd = _values(raw, start[0])
    if "rx" not in values and "tx" not in values:
        return raw.unparsable("no pause parameters after the first line")
    autoneg = values.get("autonegotiate", (0, ""))[1]
    rx, tx = values.get("rx", (0, ""))[1], values.get("tx", (0, ""))[1]
    return EthPause(line=start[0], interface=start[1], autoneg=_yes(autoneg), rx=_yes(rx), tx=_yes(tx), odd=odd)


def parse_eth_ring(raw: Raw) -> Outcome:
    """Ring sizes, largest and current."""
    start = _start(raw, r"^\s*Ring parameters for (\S+?):\s*$")
    if start is None:
        return raw.unparsable("no `Ring parameters for` line")
    current = next((n for n, x in raw.numbered() if x.strip().lower().startswith("current hardware settings")), None)
    most, odd = _values(raw, start[0], current)
    now, more = _values(raw, current) if current else ({}, ())
    if "rx" not in most and "rx" not in now:
        return raw.unparsable("no ring sizes after the first line")

    def size(values: dict[str, tuple[int, str]], key: str) -> int | None:
        return integer(values.get(key, (0, ""))[1])

    return EthRing(
        line=start[0],
        interface=start[1],
        rx_max=size(most, "rx"),
        tx_max=size(most, "tx"),
        rx=size(now, "rx"),
        tx=size(now, "tx"),
        odd=(*odd, *more),
    )


def _start(raw: Raw, pattern: str) -> tuple[int, str] | None:
    """(line, captured text) of the first line that opens the output; a banner before it is skipped."""
    for n, line in raw.numbered():
        if found := re.match(pattern, line):
            return n, found[1]
    return None


def _values(raw: Raw, after: int, before: int | None = None) -> tuple[dict[str, tuple[int, str]], tuple[OddLine, ...]]:
    """{key in lower case: (line, value)} of the lines between; indented lines without a key continue the one above."""
    values: dict[str, tuple[int, str]] = {}
    odd: list[OddLine] = []
    cut = cut_off(raw)
    for n in range(after + 1, before or len(raw.lines) + 1):
        line = raw.lines[n - 1]
        if not line.strip() or _ERROR.match(line):
            continue
        key, colon, value = line.strip().partition(":")
        whole = n != cut or value.strip().lower() in ("yes", "no", "on", "off", "n/a", "full", "half")
        if colon and whole:
            values.setdefault(key.strip().lower(), (n, value.strip()))
        elif not line[:1].isspace() or not whole:
            odd.append(raw.odd(n))
    return values, tuple(odd)


def _known(values: dict[str, tuple[int, str]], key: str) -> str | None:
    value = values.get(key, (0, ""))[1]
    return None if absent(value) or value.lower().startswith("unknown!") else value


def _yes(value: str) -> bool | None:
    """`yes`, `on`, `no (No cable)`; None for anything else."""
    word = value.lower().split()[0] if value.split() else ""
    return {"yes": True, "on": True, "no": False, "off": False}.get(word)
