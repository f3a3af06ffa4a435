"""`ip link`, `ip addr`, `ip route` as JSON and as text, three sysctls, and `ping` with the don't-fragment bit.

[{"ifindex":4,"ifname":"eth2","flags":["UP"],"mtu":9000,"operstate":"UP","stats64":{"rx":{"errors":0}}}]
4: eth2: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP mode DEFAULT group default qlen 1000
eth2    UP    b8:ce:f6:00:00:02 <BROADCAST,MULTICAST,UP,LOWER_UP>                            (brief form)
"""

from __future__ import annotations

import re
from typing import Any

from checks.findings import Model
from checks.outputs import Empty, Facts, OddLine, Outcome, Raw, Unparsable
from checks.tools.formats import cut_off, find_line, json_value

_HEAD = re.compile(r"^\s*(?:\d+:\s+)([^\s:@]+)(?:@\S+)?:\s+<([^>]*)>\s+mtu\s+(\d+)\b(.*)$")
_BRIEF = re.compile(r"^([\w.@:-]+)\s+(UP|DOWN|UNKNOWN|DORMANT|LOWERLAYERDOWN|NOTPRESENT|TESTING)\b\s*(.*)$")
_INET = re.compile(r"^\s+inet6?\s+(\S+)")
_SYSCTL = re.compile(r"^net\.ipv4\.conf\.(\S+?)\.(arp_ignore|arp_announce|rp_filter)\s*=\s*(-?\d+)\s*$")


class Link(Model):
    """One interface. Counts are totals since the interface exists."""

    line: int
    name: str
    mtu: int | None = None
    state: str | None = None
    flags: tuple[str, ...] = ()
    kind: str | None = None
    rx_errors: int | None = None
    rx_dropped: int | None = None
    tx_errors: int | None = None
    tx_dropped: int | None = None


class Links(Facts):
    """Interfaces of a node."""

    links: tuple[Link, ...]

    def of(self, name: str) -> Link | None:
        """The interface of that name."""
        return next((x for x in self.links if x.name == name), None)


class Address(Model):
    """Addresses of one interface, as `address/prefix length`."""

    line: int
    name: str
    state: str | None = None
    addresses: tuple[str, ...] = ()


class Addresses(Facts):
    """Addresses of a node."""

    interfaces: tuple[Address, ...]


class Route(Model):
    """One route."""

    line: int
    to: str
    interface: str | None = None
    via: str | None = None
    table: str | None = None
    source: str | None = None


class Routes(Facts):
    """Routes of a node, all tables."""

    routes: tuple[Route, ...]


class ArpSettings(Facts):
    """How a node with several addresses in one subnet answers ARP; None where not printed."""

    line: int
    arp_ignore: int | None = None
    arp_announce: int | None = None
    rp_filter: int | None = None


class Ping(Facts):
    """Answers to pings that must not be fragmented; `too_long` when the packet did not fit the MTU."""

    line: int
    sent: int
    received: int
    too_long: bool = False
    too_long_line: int | None = None


def parse_ip_link(raw: Raw) -> Outcome:
    """Interfaces with MTU, state and errors."""
    if raw.blank:
        return Empty("no interface")
    if _is_json(raw):
        rows = _json_rows(raw, "mtu")
        if isinstance(rows, Unparsable):
            return rows
        return Links(links=tuple(_json_link(row, raw) for row in rows))
    links: list[Link] = []
    odd: list[OddLine] = []
    cut = cut_off(raw)
    for n, line in raw.numbered():
        if n == cut:
            odd.append(raw.odd(n))
        elif found := _HEAD.match(line):
            state = re.search(r"\bstate (\w+)", found[4])
            links.append(
                Link(
                    line=n,
                    name=found[1],
                    flags=tuple(found[2].split(",")) if found[2] else (),
                    mtu=int(found[3]),
                    state=state[1] if state else None,
                )
            )
        elif found := _BRIEF.match(line):
            flags = re.search(r"<([^>]*)>", found[3])
            links.append(
                Link(
                    line=n,
                    name=found[1].split("@")[0],
                    state=found[2],
                    flags=tuple(flags[1].split(",")) if flags else (),
                )
            )
        elif links and (side := re.match(r"^\s+(RX|TX):\s+(.*)$", line)):
            if n < len(raw.lines):
                counts = dict(zip(side[2].split(), raw.lines[n].split(), strict=False))
                links[-1] = _with_counts(links[-1], side[1].lower(), counts)
        elif links and (kind := re.match(r"^\s+link/(\S+)", line)):
            links[-1] = links[-1].model_copy(update={"kind": kind[1]})
        elif links and not line[:1].isspace():
            odd.append(raw.odd(n))
    return Links(links=tuple(links), odd=tuple(odd)) if links else raw.unparsable("no interface in the output")


def parse_ip_addr(raw: Raw) -> Outcome:
    """Addresses per interface."""
    if raw.blank:
        return Empty("no interface")
    if _is_json(raw):
        rows = _json_rows(raw, "addr_info")
        if isinstance(rows, Unparsable):
            return rows
        return Addresses(interfaces=tuple(_json_address(row, raw) for row in rows))
    found: list[Address] = []
    odd: list[OddLine] = []
    cut = cut_off(raw)
    for n, line in raw.numbered():
        if n == cut:
            odd.append(raw.odd(n))
        elif head := _HEAD.match(line):
            state = re.search(r"\bstate (\w+)", head[4])
            found.append(Address(line=n, name=head[1], state=state[1] if state else None))
        elif brief := _BRIEF.match(line):
            found.append(
                Address(line=n, name=brief[1].split("@")[0], state=brief[2], addresses=tuple(brief[3].split()))
            )
        elif found and (inet := _INET.match(line)):
            found[-1] = found[-1].model_copy(update={"addresses": (*found[-1].addresses, inet[1])})
        elif found and not line[:1].isspace():
            odd.append(raw.odd(n))
    return Addresses(interfaces=tuple(found), odd=tuple(odd)) if found else raw.unparsable("no interface in the output")


def parse_ip_route(raw: Raw) -> Outcome:
    """Routes of all tables."""
    if raw.blank:
        return Empty("no route")
    if _is_json(raw):
        rows = _json_rows(raw, "dst")
        if isinstance(rows, Unparsable):
            return rows
        return Routes(
            routes=tuple(
                Route(
                    line=find_line(raw, f'"{row.get("dst")}"'),
                    to=str(row.get("dst")),
                    interface=_text(row.get("dev")),
                    via=_text(row.get("gateway")),
                    table=_text(row.get("table")),
                    source=_text(row.get("prefsrc")),
                )
                for row in rows
            )
        )
    routes: list[Route] = []
    odd: list[OddLine] = []
    kinds = {"local", "broadcast", "unreachable", "blackhole", "multicast", "anycast", "prohibit", "unicast"}
    for n, line in raw.numbered():
        words = line.split()
        if words[0] in kinds:
            words = words[1:]
        pairs = {w: words[i + 1] for i, w in enumerate(words[:-1]) if w in ("dev", "via", "table", "src")}
        if (
            words
            and re.match(r"^(?:default|[0-9a-fA-F.:]+(?:/\d+)?)$", words[0])
            and ("dev" in pairs or "via" in pairs)
        ):
            routes.append(
                Route(
                    line=n,
                    to=words[0],
                    interface=pairs.get("dev"),
                    via=pairs.get("via"),
                    table=pairs.get("table"),
                    source=pairs.get("src"),
                )
            )
        elif routes and not line[:1].isspace():
            odd.append(raw.odd(n))
    return Routes(routes=tuple(routes), odd=tuple(odd)) if routes else raw.unparsable("no route in the output")


def parse_arp_sysctl(raw: Raw) -> Outcome:
    """The three settings of `all`; settings of single interfaces are not looked at."""
    values: dict[str, int] = {}
    first = 0
    odd: list[OddLine] = []
    for n, line in raw.numbered():
        found = _SYSCTL.match(line.strip())
        if found and n != cut_off(raw):
            first = first or n
            if found[1] == "all":
                values[found[2]] = int(found[3])
        elif first:
            odd.append(raw.odd(n))
    if not values:
        return raw.unparsable("no ARP setting in the output")
    return ArpSettings(line=first, odd=tuple(odd), **values)


def parse_ping_df(raw: Raw) -> Outcome:
    """How many pings came back."""
    too_long = next((n for n, x in raw.numbered() if re.search(r"message too long|Frag needed|too big", x, re.I)), None)
    for n, line in raw.numbered():
        if found := re.search(r"(\d+) packets transmitted, (\d+) (?:packets )?received", line):
            return Ping(
                line=n,
                sent=int(found[1]),
                received=int(found[2]),
                too_long=too_long is not None,
                too_long_line=too_long,
            )
    if too_long:
        return Ping(line=too_long, sent=0, received=0, too_long=True, too_long_line=too_long)
    return raw.unparsable("no ping statistics")


def _is_json(raw: Raw) -> bool:
    return any(line.lstrip().startswith(("[{", "[")) for line in raw.lines)


def _json_rows(raw: Raw, key: str) -> list[dict[str, Any]] | Unparsable:
    """The objects of a JSON list; at least one must have the key, empty objects (filtered ones) are dropped."""
    found = json_value(raw)
    if isinstance(found, Unparsable):
        return found
    rows = [r for r in found[0] if isinstance(r, dict) and r] if isinstance(found[0], list) else []
    named = [r for r in rows if isinstance(r.get("ifname", r.get("dst")), str)]
    if len(named) != len(rows) or not any(key in r for r in rows):
        return raw.unparsable(f"JSON without a list of objects with `{key}`")
    return rows


def _json_link(row: dict[str, Any], raw: Raw) -> Link:
    stats = row.get("stats64") or row.get("stats") or {}
    link = Link(
        line=find_line(raw, f'"{row["ifname"]}"'),
        name=row["ifname"],
        mtu=_int(row.get("mtu")),
        state=_text(row.get("operstate")),
        flags=tuple(f for f in row.get("flags") or () if isinstance(f, str)),
        kind=_text(row.get("link_type")),
    )
    for side in ("rx", "tx"):
        if isinstance(stats, dict) and isinstance(stats.get(side), dict):
            link = _with_counts(link, side, stats[side])
    return link


def _json_address(row: dict[str, Any], raw: Raw) -> Address:
    infos = [a for a in row.get("addr_info") or () if isinstance(a, dict) and a.get("local")]
    return Address(
        line=find_line(raw, f'"{row["ifname"]}"'),
        name=row["ifname"],
        state=_text(row.get("operstate")),
        addresses=tuple(f"{a['local']}/{a.get('prefixlen', '')}" for a in infos),
    )


def _with_counts(link: Link, side: str, counts: dict[str, Any]) -> Link:
    def count(name: str) -> int | None:
        value = counts.get(name)
        return value if isinstance(value, int) else int(value) if isinstance(value, str) and value.isdigit() else None

    return link.model_copy(update={f"{side}_errors": count("errors"), f"{side}_dropped": count("dropped")})


def _int(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: object) -> str | None:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) and value != "" else None
