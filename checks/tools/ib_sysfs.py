"""RDMA devices as sysfs shows them: port state, counters, PCIe link, firmware.

    /sys/class/infiniband/mlx5_0/ports/1/state:4: ACTIVE
    /sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error:0
    /sys/class/infiniband/mlx5_0/device/current_link_speed:16.0 GT/s PCIe

Values may hold colons. `port_rcv_data` and `port_xmit_data` count units of 4 bytes; the classic error counters of
InfiniBand stop at 255 or 65535.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.findings import Model
from checks.outputs import Empty, Facts, NotAvailable, OddLine, Outcome, Raw, Unparsable
from checks.tools.formats import PathValue, absent, cut_off, integer, number, path_values

_DEVICE = re.compile(r"/infiniband/([^/]+)/(.+)$")
_PORT = re.compile(r"ports/(\d+)/(.+)$")

NO_SUCH_WIDTH = (0, 63, 255)
"""Link widths that sysfs shows for a device that no longer answers."""


class PortCounters(Model):
    """Counters of one RDMA port; `lines` says where each was read."""

    line: int
    device: str
    port: int
    counters: dict[str, int]
    lines: dict[str, int]


class Counters(Facts):
    """Counters of all RDMA ports of a node."""

    ports: tuple[PortCounters, ...]

    def of(self, device: str) -> PortCounters | None:
        """The counters of a device's first port."""
        return next((p for p in self.ports if p.device == device), None)


class IbPort(Model):
    """State of one RDMA port: `state` ACTIVE, INIT, ARMED or DOWN; `rate_gbps` as negotiated."""

    line: int
    device: str
    port: int
    state: str | None = None
    phys_state: str | None = None
    rate_gbps: float | None = None
    link_layer: str | None = None
    sm_lid: int | None = None
    lines: dict[str, int]


class IbPorts(Facts):
    """States of all RDMA ports of a node."""

    ports: tuple[IbPort, ...]


class NicLink(Model):
    """PCIe link of one RDMA device; speeds in GT/s per lane, `max_*` is what the card can do."""

    line: int
    device: str
    speed_gts: float | None = None
    width: int | None = None
    max_speed_gts: float | None = None
    max_width: int | None = None
    numa_node: int | None = None
    lines: dict[str, int]


class NicLinks(Facts):
    """PCIe links of all RDMA devices of a node."""

    devices: tuple[NicLink, ...]


class NicFirmware(Model):
    """Firmware and board of one RDMA device."""

    line: int
    device: str
    firmware: str | None = None
    board: str | None = None
    hca_type: str | None = None


class NicFirmwares(Facts):
    """Firmware of all RDMA devices of a node."""

    devices: tuple[NicFirmware, ...]


def parse_ib_port(raw: Raw) -> Outcome:
    """State, rate and link layer per port."""
    found = _read(raw)
    if not isinstance(found, tuple):
        return found
    rows, odd = found
    wanted = {"state", "phys_state", "rate", "link_layer", "sm_lid"}
    groups: dict[tuple[str, int], dict[str, PathValue]] = {}
    for device, rest, value in rows:
        if (port := _PORT.match(rest)) and port[2] in wanted:
            groups.setdefault((device, int(port[1])), {})[port[2]] = value
    if not groups:
        return raw.unparsable("no RDMA port in the output")
    ports = tuple(
        IbPort(
            line=min(v.line for v in got.values()),
            device=device,
            port=port,
            state=_word(got.get("state")),
            phys_state=_word(got.get("phys_state")),
            rate_gbps=number(got["rate"].value) if "rate" in got else None,
            link_layer=_word(got.get("link_layer")),
            sm_lid=integer(got["sm_lid"].value) if "sm_lid" in got else None,
            lines={name: v.line for name, v in got.items()},
        )
        for (device, port), got in groups.items()
    )
    return IbPorts(ports=ports, odd=odd)


def parse_ib_counters(raw: Raw) -> Outcome:
    """Port counters (`counters/*`)."""
    return _counters(raw, "counters/")


def parse_ib_hwcounters(raw: Raw) -> Outcome:
    """Transport and congestion counters (`hw_counters/*`)."""
    return _counters(raw, "hw_counters/")


def parse_nic_pcie(raw: Raw) -> Outcome:
    """PCIe speed and width per device."""
    found = _read(raw)
    if not isinstance(found, tuple):
        return found
    rows, odd = found
    groups: dict[str, dict[str, PathValue]] = {}
    for device, rest, value in rows:
        if rest.startswith("device/"):
            groups.setdefault(device, {})[rest.removeprefix("device/")] = value
    if not any("current_link_speed" in got or "current_link_width" in got for got in groups.values()):
        return raw.unparsable("no PCIe link of an RDMA device in the output")
    devices = tuple(
        NicLink(
            line=min(v.line for v in got.values()),
            device=device,
            speed_gts=_speed(got.get("current_link_speed")),
            width=_width(got.get("current_link_width")),
            max_speed_gts=_speed(got.get("max_link_speed")),
            max_width=_width(got.get("max_link_width")),
            numa_node=_numa(got.get("numa_node")),
            lines={name: v.line for name, v in got.items()},
        )
        for device, got in groups.items()
    )
    return NicLinks(devices=devices, odd=odd)


def parse_nic_fw(raw: Raw) -> Outcome:
    """Firmware version, board id and type per device."""
    found = _read(raw)
    if not isinstance(found, tuple):
        return found
    rows, odd = found
    groups: dict[str, dict[str, PathValue]] = {}
    for device, rest, value in rows:
        if rest in ("fw_ver", "board_id", "hca_type"):
            groups.setdefault(device, {})[rest] = value
    if not groups:
        return raw.unparsable("no firmware of an RDMA device in the output")
    devices = tuple(
        NicFirmware(
            line=(got.get("fw_ver") or next(iter(got.values()))).line,
            device=device,
            firmware=_word(got.get("fw_ver")),
            board=_word(got.get("board_id")),
            hca_type=_word(got.get("hca_type")),
        )
        for device, got in groups.items()
    )
    return NicFirmwares(devices=devices, odd=odd)


def _counters(raw: Raw, folder: str) -> Outcome:
    found = _read(raw)
    if not isinstance(found, tuple):
        return found
    rows, odd = found
    ports: dict[tuple[str, int], tuple[dict[str, int], dict[str, int]]] = {}
    strange: list[OddLine] = []
    for device, rest, value in rows:
        port = _PORT.match(rest)
        if not port or not port[2].startswith(folder):
            continue
        counters, lines = ports.setdefault((device, int(port[1])), ({}, {}))
        name = port[2].removeprefix(folder)
        if re.fullmatch(r"\d+", value.value):
            counters[name] = int(value.value)
            lines[name] = value.line
        elif not absent(value.value):
            strange.append(raw.odd(value.line))
    if not any(counters for counters, _ in ports.values()):
        return raw.unparsable(f"no {folder}* of an RDMA port in the output")
    rows_found = tuple(
        PortCounters(line=min(lines.values()), device=device, port=port, counters=counters, lines=lines)
        for (device, port), (counters, lines) in ports.items()
        if counters
    )
    return Counters(ports=rows_found, odd=(*odd, *strange))


def _read(raw: Raw) -> tuple[list[tuple[str, str, PathValue]], tuple[OddLine, ...]] | Empty | NotAvailable | Unparsable:
    """((device, path below it, value), …) and the lines not understood."""
    if raw.blank:
        if "No such file" in raw.stderr:
            return NotAvailable("unsupported", "no RDMA device shows this in sysfs")
        return Empty("no RDMA device")
    values, odd = path_values(raw)
    cut = cut_off(raw)
    strange = list(odd)
    if cut and any(v.line == cut for v in values):
        strange.append(raw.odd(cut))
    rows = list(_rows([v for v in values if v.line != cut]))
    if not rows:
        return raw.unparsable("no path of an RDMA device in the output")
    strange.extend(raw.odd(v.line) for v in values if v.line != cut and not _DEVICE.search(v.path))
    return rows, tuple(strange)


def _rows(values: list[PathValue]) -> Iterator[tuple[str, str, PathValue]]:
    for value in values:
        if found := _DEVICE.search(value.path):
            yield found[1], found[2], value


def _word(value: PathValue | None) -> str | None:
    """`4: ACTIVE` as `ACTIVE`; other values as they are."""
    if value is None or absent(value.value):
        return None
    return re.sub(r"^\d+:\s*", "", value.value)


def _speed(value: PathValue | None) -> float | None:
    return number(value.value) if value else None


def _width(value: PathValue | None) -> int | None:
    found = integer(value.value.lstrip("xX")) if value else None
    return None if found in NO_SUCH_WIDTH else found


def _numa(value: PathValue | None) -> int | None:
    found = integer(value.value) if value else None
    return None if found is None or found < 0 else found
