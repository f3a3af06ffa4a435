"""Settings and counts of network devices from sysfs.

/sys/class/net/eth2/carrier_changes:2
/sys/class/net/eth2/qos/trust:dscp
/sys/class/net/eth2/ecn/roce_np/enable/3:1
/sys/class/infiniband/mlx5_0/tc/1/traffic_class:Global tclass=106
"""

from __future__ import annotations

import re

from checks.findings import Model
from checks.outputs import Empty, Facts, NotAvailable, OddLine, Outcome, Raw, Unparsable
from checks.tools.formats import PathValue, cut_off, integer, path_values

_CARRIER = re.compile(r"/net/([^/]+)/carrier_(changes|up_count|down_count)$")
_TRUST = re.compile(r"/net/([^/]+)/qos/trust$")
_ECN = re.compile(r"/net/([^/]+)/ecn/roce_(np|rp)/(enable/([0-7])|cnp_dscp|cnp_802p_prio)$")
_TCLASS = re.compile(r"/infiniband/([^/]+)/tc/(\d+)/traffic_class$")
_GLOBAL = re.compile(r"(?:global\s+)?tclass\s*=\s*(\d+)|^(\d+)$", re.I)


class Carrier(Model):
    """How often the carrier of an interface changed since the driver loaded."""

    line: int
    interface: str
    changes: int | None = None
    up: int | None = None
    down: int | None = None


class Carriers(Facts):
    """Carrier changes of all interfaces."""

    interfaces: tuple[Carrier, ...]

    def of(self, interface: str) -> Carrier | None:
        """The row of one interface."""
        return next((c for c in self.interfaces if c.interface == interface), None)


class Trust(Model):
    """By what an interface classifies: `dscp` or `pcp`."""

    line: int
    interface: str
    trust: str


class Trusts(Facts):
    """Trust state of all interfaces that have one."""

    interfaces: tuple[Trust, ...]


class RoceEcn(Model):
    """Congestion control of one interface: per priority whether it notifies (np) and reacts (rp)."""

    line: int
    interface: str
    notifies: dict[int, bool]
    reacts: dict[int, bool]
    cnp_dscp: int | None = None
    cnp_priority: int | None = None
    lines: dict[str, int]


class RoceEcns(Facts):
    """Congestion control of all RoCE interfaces."""

    interfaces: tuple[RoceEcn, ...]

    def of(self, interface: str) -> RoceEcn | None:
        """The row of one interface."""
        return next((c for c in self.interfaces if c.interface == interface), None)


class TrafficClass(Model):
    """Traffic class forced on all RoCE of a device; its upper six bits are the DSCP."""

    line: int
    device: str
    tclass: int

    @property
    def dscp(self) -> int:
        """DSCP of the class."""
        return self.tclass >> 2


class TrafficClasses(Facts):
    """Forced traffic classes."""

    devices: tuple[TrafficClass, ...]


def parse_carrier(raw: Raw) -> Outcome:
    """Carrier changes per interface."""
    found = _read(raw, "interface with a carrier count")
    if not isinstance(found, tuple):
        return found
    values, odd = found
    groups: dict[str, dict[str, int]] = {}
    lines: dict[str, int] = {}
    strange = list(odd)
    for value in values:
        match = _CARRIER.search(value.path)
        count = integer(value.value)
        if match and count is not None:
            groups.setdefault(match[1], {})[match[2]] = count
            if match[2] == "changes" or match[1] not in lines:
                lines[match[1]] = value.line
        else:
            strange.append(raw.odd(value.line))
    if not groups:
        return raw.unparsable("no carrier count in the output")
    rows = tuple(
        Carrier(
            line=lines[name],
            interface=name,
            changes=got.get("changes"),
            up=got.get("up_count"),
            down=got.get("down_count"),
        )
        for name, got in groups.items()
    )
    return Carriers(interfaces=rows, odd=tuple(strange))


def parse_qos_trust(raw: Raw) -> Outcome:
    """Trust state per interface."""
    found = _read(raw, "interface with a trust state")
    if not isinstance(found, tuple):
        return found
    values, odd = found
    rows: list[Trust] = []
    strange = list(odd)
    for value in values:
        match = _TRUST.search(value.path)
        word = value.value.lower().split()[-1] if value.value else ""
        if match and word in ("dscp", "pcp"):
            rows.append(Trust(line=value.line, interface=match[1], trust=word))
        else:
            strange.append(raw.odd(value.line))
    return Trusts(interfaces=tuple(rows), odd=tuple(strange)) if rows else raw.unparsable("no trust state")


def parse_roce_ecn(raw: Raw) -> Outcome:
    """Congestion control switches per interface and priority."""
    found = _read(raw, "interface with RoCE congestion control")
    if not isinstance(found, tuple):
        return found
    values, odd = found
    groups: dict[str, dict[str, PathValue]] = {}
    strange = list(odd)
    for value in values:
        if (match := _ECN.search(value.path)) and integer(value.value) is not None:
            groups.setdefault(match[1], {})[f"{match[2]}/{match[3]}"] = value
        else:
            strange.append(raw.odd(value.line))
    if not groups:
        return raw.unparsable("no RoCE congestion control in the output")
    rows = tuple(
        RoceEcn(
            line=min(v.line for v in got.values()),
            interface=name,
            notifies=_enabled(got, "np/enable/"),
            reacts=_enabled(got, "rp/enable/"),
            cnp_dscp=integer(got["np/cnp_dscp"].value) if "np/cnp_dscp" in got else None,
            cnp_priority=integer(got["np/cnp_802p_prio"].value) if "np/cnp_802p_prio" in got else None,
            lines={key: v.line for key, v in got.items()},
        )
        for name, got in groups.items()
    )
    return RoceEcns(interfaces=rows, odd=tuple(strange))


def parse_roce_tclass(raw: Raw) -> Outcome:
    """Traffic class forced per RDMA device."""
    found = _read(raw, "forced traffic class")
    if not isinstance(found, tuple):
        return found
    values, odd = found
    rows: list[TrafficClass] = []
    strange = list(odd)
    for value in values:
        match = _TCLASS.search(value.path)
        number = _GLOBAL.search(value.value)
        if match and number:
            tclass = int(number[1] or number[2])
            rows.append(TrafficClass(line=value.line, device=match[1], tclass=tclass))
        else:
            strange.append(raw.odd(value.line))
    if not rows:
        return raw.unparsable("no traffic class in the output")
    return TrafficClasses(devices=tuple(rows), odd=tuple(strange))


def _enabled(got: dict[str, PathValue], prefix: str) -> dict[int, bool]:
    return {int(k.removeprefix(prefix)): integer(v.value) != 0 for k, v in got.items() if k.startswith(prefix)}


def _read(raw: Raw, what: str) -> tuple[list[PathValue], tuple[OddLine, ...]] | Empty | NotAvailable | Unparsable:
    if raw.blank:
        if "No such file" in raw.stderr:
            return NotAvailable("unsupported", f"no {what}: the driver does not offer it")
        return Empty(f"no {what}")
    values, odd = path_values(raw)
    if not values:
        return raw.unparsable("no sysfs paths in the output")
    cut = cut_off(raw)
    if cut and any(v.line == cut for v in values):
        odd = (*odd, raw.odd(cut))
    return [v for v in values if v.line != cut], odd
