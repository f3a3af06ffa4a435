"""`lldpcli show neighbors`: which switch and port each interface is cabled to; json, json0, keyvalue and plain.

    {"lldp":{"interface":[{"eth2":{"chassis":{"leaf01":{…}},"port":{"id":{"type":"local","value":"etp1"},
     "descr":"Ethernet0"}}}]}}

With one neighbour `interface` may be an object instead of a list. json0 wraps every value in a list.
"""

from __future__ import annotations

import re
from typing import Any

from checks.findings import Model
from checks.outputs import Empty, Facts, Outcome, Raw, Unparsable
from checks.tools.formats import find_line, json_value

_PORT_NAME = re.compile(r"^(?:Ethernet|Eth|swp|et-|xe-|ge-|hu|fourhundredgig|hundredgig)[\w/:.-]*\d", re.I)
_KEYVALUE = re.compile(r"^lldp\.([\w@-]+(?:\.\d+)?)\.(chassis|port)\.([\w.-]+)=(.*)$")


class Neighbour(Model):
    """What stands at the other end of one interface. `port_id` as announced, `descr` its description."""

    line: int
    interface: str
    switch: str | None = None
    chassis_id: str | None = None
    port_id: str | None = None
    descr: str | None = None

    @property
    def port(self) -> str | None:
        """The switch port by the name the switch itself uses: SONiC announces an alias and describes the name."""
        for name in (self.descr, self.port_id):
            if name and _PORT_NAME.match(name):
                return name
        return self.port_id or self.descr


class Neighbours(Facts):
    """Neighbours of all interfaces."""

    neighbours: tuple[Neighbour, ...]

    def of(self, interface: str) -> Neighbour | None:
        """The neighbour of one interface; None without or with more than one (a hub lies between)."""
        found = [n for n in self.neighbours if n.interface == interface]
        return found[0] if len(found) == 1 else None


def parse_lldp(raw: Raw) -> Outcome:
    """Neighbours per interface."""
    if raw.blank:
        return Empty("no LLDP neighbour")
    if any(line.lstrip().startswith("{") for line in raw.lines):
        found = json_value(raw)
        if isinstance(found, Unparsable):
            return found
        return _json(found[0], raw)
    if any(_KEYVALUE.match(line) for line in raw.lines):
        return _keyvalue(raw)
    return _plain(raw)


def _json(value: Any, raw: Raw) -> Outcome:
    root = value.get("lldp") if isinstance(value, dict) else None
    if isinstance(root, list):
        root = {"interface": [i for part in root if isinstance(part, dict) for i in _listed(part.get("interface"))]}
    if not isinstance(root, dict):
        return raw.unparsable("JSON without `lldp`")
    rows: list[Neighbour] = []
    for entry in _listed(root.get("interface")):
        if not isinstance(entry, dict):
            return raw.unparsable("an LLDP interface is not an object")
        if isinstance(entry.get("name"), str) and ("chassis" in entry or "port" in entry):
            rows.append(_neighbour(entry["name"], entry, raw))
            continue
        for name, body in entry.items():
            # one interface with several neighbours holds a list of them
            rows.extend(_neighbour(name, one, raw) for one in _listed(body) if isinstance(one, dict))
    return Neighbours(neighbours=tuple(rows)) if rows else Empty("no LLDP neighbour")


def _neighbour(interface: str, body: dict[str, Any], raw: Raw) -> Neighbour:
    chassis, port = _first(body.get("chassis")), _first(body.get("port"))
    switch = _string(chassis.get("name"))
    if not ({"id", "name", "descr"} & set(chassis)) and len(chassis) == 1:
        switch, inner = next(iter(chassis.items()))
        chassis = _first(inner)
    return Neighbour(
        line=find_line(raw, f'"{interface}"'),
        interface=interface,
        switch=switch,
        chassis_id=_string(chassis.get("id")),
        port_id=_string(port.get("id")),
        descr=_string(port.get("descr")),
    )


def _keyvalue(raw: Raw) -> Outcome:
    groups: dict[str, dict[str, str]] = {}
    lines: dict[str, int] = {}
    for n, line in raw.numbered():
        if found := _KEYVALUE.match(line):
            groups.setdefault(found[1], {})[f"{found[2]}.{found[3]}"] = found[4]
            lines.setdefault(found[1], n)
    rows = tuple(
        Neighbour(
            line=lines[name],
            interface=name,
            switch=got.get("chassis.name"),
            chassis_id=got.get("chassis.mac") or got.get("chassis.local"),
            port_id=got.get("port.ifname") or got.get("port.local") or got.get("port.mac"),
            descr=got.get("port.descr"),
        )
        for name, got in groups.items()
    )
    return Neighbours(neighbours=rows)


def _plain(raw: Raw) -> Outcome:
    rows: list[Neighbour] = []
    titled = any("LLDP neighbors" in line for line in raw.lines)
    for n, line in raw.numbered():
        key, colon, value = (part.strip() for part in line.partition(":"))
        if key == "Interface" and colon:
            rows.append(Neighbour(line=n, interface=value.split(",")[0]))
        elif rows and key in ("SysName", "PortID", "PortDescr", "ChassisID"):
            name = {"SysName": "switch", "PortID": "port_id", "PortDescr": "descr", "ChassisID": "chassis_id"}[key]
            words = value.split(maxsplit=1)
            typed = key in ("PortID", "ChassisID") and len(words) == 2
            rows[-1] = rows[-1].model_copy(update={name: words[1] if typed else value or None})
    known = tuple(r for r in rows if r.switch or r.chassis_id or r.port_id)
    if known:
        return Neighbours(neighbours=known)
    return Empty("no LLDP neighbour") if titled else raw.unparsable("no LLDP neighbours")


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _first(value: Any) -> dict[str, Any]:
    value = value[0] if isinstance(value, list) and value else value
    return value if isinstance(value, dict) else {}


def _string(value: Any) -> str | None:
    """`x`, `{"value": x}` or a list of either."""
    value = value[0] if isinstance(value, list) and value else value
    if isinstance(value, dict):
        value = value.get("value")
    return value if isinstance(value, str) and value else None
