"""Lustre's network on a node: `lnetctl net show -v`, `lnetctl stats show` (YAML).

net:
    - net type: o2ib
      local NI(s):
        - nid: 10.10.3.17@o2ib
          status: up
          interfaces:
              0: eth1
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from checks.findings import Model
from checks.outputs import Facts, Outcome, Raw
from checks.tools.formats import find_line, integer

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Nid(Model):
    """One local network interface of LNet. `health` is 1000 when all is well."""

    line: int
    net: str
    nid: str
    status: str | None = None
    interfaces: tuple[str, ...] = ()
    health: int | None = None
    credits: int | None = None


class Lnet(Facts):
    """`lnet`."""

    nids: tuple[Nid, ...]


def _document(raw: Raw, key: str) -> Any:
    text = raw.text
    start = re.search(rf"^{key}:", text, re.M)
    if not start:
        return None
    try:
        found = yaml.load(text[start.start() :].replace("\t", "    "), Loader=_Loader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return found.get(key) if isinstance(found, dict) else None


def parse_lnet(raw: Raw) -> Outcome:
    """Networks and their interfaces; the loopback network is left out."""
    nets = _document(raw, "net")
    if not isinstance(nets, list):
        return raw.unparsable("no LNet networks, or cut off")
    found: list[Nid] = []
    for net in nets:
        if not isinstance(net, dict) or net.get("net type") == "lo":
            continue
        locals_ = net.get("local NI(s)")
        for ni in locals_ if isinstance(locals_, list) else []:
            if not isinstance(ni, dict) or not ni.get("nid"):
                continue
            interfaces = ni.get("interfaces")
            health = ni.get("health stats")
            tunables = ni.get("tunables")
            found.append(
                Nid(
                    line=find_line(raw, f"nid: {ni['nid']}"),
                    net=str(net.get("net type")),
                    nid=str(ni["nid"]),
                    status=str(ni["status"]) if "status" in ni else None,
                    interfaces=tuple(str(v) for v in interfaces.values()) if isinstance(interfaces, dict) else (),
                    health=_number(health, "health value"),
                    credits=_number(tunables, "credits"),
                )
            )
    if not found:
        return raw.unparsable("LNet has no network but the loopback")
    odd = () if raw.complete else (raw.odd(len(raw.lines)),)
    return Lnet(nids=tuple(found), odd=odd)


def _number(values: Any, name: str) -> int | None:
    return integer(str(values[name])) if isinstance(values, dict) and name in values else None


class LnetStats(Facts):
    """`lnet-stats`: counts since load, by name."""

    values: dict[str, int]


def parse_lnet_stats(raw: Raw) -> Outcome:
    """`statistics:` with one count a line."""
    found = _document(raw, "statistics")
    if not isinstance(found, dict):
        return raw.unparsable("no LNet statistics")
    values = {str(k): v for k, v in found.items() if isinstance(v, int)}
    return LnetStats(values=values) if values else raw.unparsable("no LNet statistics")
