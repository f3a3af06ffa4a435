"""`rdma link show` and `rdma statistic show`, as JSON and as text.

[{"ifindex":0,"ifname":"mlx5_0","port":1,"state":"ACTIVE","physical_state":"LINK_UP","netdev":"eth2"}]
link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eth2
link mlx5_0/1: state ACTIVE physical_state LINK_UP netdev eth2        (older iproute2)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from checks.findings import Model
from checks.outputs import Empty, Facts, OddLine, Outcome, Raw, Unparsable
from checks.tools.formats import cut_off, find_line, json_value
from checks.tools.ib_sysfs import Counters, PortCounters

_LINK = re.compile(r"^(?:\d+/\d+:\s*)?link\s+([\w.-]+)/(\d+|-):?\s+(.*)$|^\d+/\d+:\s+([\w.-]+)/(\d+):\s+(.*)$")


class RdmaLink(Model):
    """One RDMA port; `netdev` is None where it has no network device (plain InfiniBand)."""

    line: int
    device: str
    port: int
    state: str | None = None
    physical_state: str | None = None
    netdev: str | None = None


class RdmaLinks(Facts):
    """RDMA ports of a node."""

    links: tuple[RdmaLink, ...]

    def of(self, name: str) -> RdmaLink | None:
        """The link with this RDMA device or network device."""
        return next((x for x in self.links if name in (x.device, x.netdev)), None)


def parse_rdma_link(raw: Raw) -> Outcome:
    """RDMA ports with their state and network device."""
    if raw.blank:
        return Empty("no RDMA link")
    if (rows := _json_rows(raw)) is not None:
        if isinstance(rows, Unparsable):
            return rows
        links = []
        for row in rows:
            name, port = _identity(row)
            if name is None:
                return raw.unparsable("JSON without RDMA links")
            if "state" not in row and "physical_state" not in row:
                return raw.unparsable("JSON without the state of RDMA links")
            links.append(
                RdmaLink(
                    line=find_line(raw, f'"{name}"'),
                    device=name,
                    port=port,
                    state=_text(row.get("state")),
                    physical_state=_text(row.get("physical_state")),
                    netdev=_text(row.get("netdev")),
                )
            )
        return RdmaLinks(links=tuple(links))
    found: list[RdmaLink] = []
    odd: list[OddLine] = []
    for n, device, port, words in _text_rows(raw, odd):
        pairs = dict(zip(words[::2], words[1::2], strict=False)) if "state" in words[::2] else _pairs(words)
        if "state" not in pairs or (n == cut_off(raw) and "netdev" not in pairs):
            odd.append(raw.odd(n))
            continue
        if n == cut_off(raw):
            odd.append(raw.odd(n))
        found.append(
            RdmaLink(
                line=n,
                device=device,
                port=port,
                state=pairs["state"],
                physical_state=pairs.get("physical_state"),
                netdev=pairs.get("netdev"),
            )
        )
    return RdmaLinks(links=tuple(found), odd=tuple(odd)) if found else raw.unparsable("no RDMA link in the output")


def parse_rdma_stat(raw: Raw) -> Outcome:
    """Hardware counters per RDMA port, named as in `hw_counters`."""
    if raw.blank:
        return Empty("no RDMA link")
    if (rows := _json_rows(raw)) is not None:
        if isinstance(rows, Unparsable):
            return rows
        ports = []
        for row in rows:
            name, port = _identity(row)
            if name is None or "port" not in row:
                return raw.unparsable("JSON without RDMA links")
            line = find_line(raw, f'"{name}"')
            counters = {
                k: v
                for k, v in row.items()
                if isinstance(v, int) and not isinstance(v, bool) and k not in ("ifindex", "port", "netdev_index")
            }
            lines = {k: find_line(raw, f'"{k}"', start=line) for k in counters}
            ports.append(PortCounters(line=line, device=name, port=port, counters=counters, lines=lines))
        if not any(p.counters for p in ports):
            return raw.unparsable("JSON without RDMA counters")
        return Counters(ports=tuple(ports))
    found: list[PortCounters] = []
    odd: list[OddLine] = []
    for n, device, port, words in _text_rows(raw, odd):
        cut = n == cut_off(raw)
        pairs = dict(zip(words[::2], words[1::2], strict=False))
        counters = {k: int(v) for k, v in pairs.items() if re.fullmatch(r"\d+", v)}
        if len(counters) < len(words) / 2 or cut:
            odd.append(raw.odd(n))
        if cut and counters:
            counters.popitem()
        if counters:
            lines = dict.fromkeys(counters, n)
            found.append(PortCounters(line=n, device=device, port=port, counters=counters, lines=lines))
    return Counters(ports=tuple(found), odd=tuple(odd)) if found else raw.unparsable("no RDMA counters in the output")


def _json_rows(raw: Raw) -> list[dict[str, Any]] | Unparsable | None:
    first = next((line.strip() for _, line in raw.numbered()), "")
    if not any(line.lstrip().startswith("[") for line in raw.lines) or first.startswith("link "):
        return None
    found = json_value(raw)
    if isinstance(found, Unparsable):
        return found
    rows = found[0]
    if not isinstance(rows, list) or not all(isinstance(r, dict) for r in rows):
        return raw.unparsable("JSON without a list of RDMA links")
    return [r for r in rows if r]


def _identity(row: dict[str, Any]) -> tuple[str | None, int]:
    name = row.get("ifname")
    port = row.get("port", 1)
    return (name if isinstance(name, str) and name else None), port if isinstance(port, int) else 1


def _text_rows(raw: Raw, odd: list[OddLine]) -> Iterator[tuple[int, str, int, list[str]]]:
    """(line, device, port, words) of the links; lines after the first that are none and not indented are odd."""
    seen = False
    for n, line in raw.numbered():
        if found := _LINK.match(line.strip()):
            seen = True
            device, port, rest = found.group(1, 2, 3) if found[1] else found.group(4, 5, 6)
            yield n, device, int(port) if port.isdigit() else 1, rest.split()
        elif seen and not line[:1].isspace():
            odd.append(raw.odd(n))


def _pairs(words: list[str]) -> dict[str, str]:
    """Values of known keys, wherever they stand."""
    known = ("state", "physical_state", "netdev")
    return {w: words[i + 1] for i, w in enumerate(words[:-1]) if w in known}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
