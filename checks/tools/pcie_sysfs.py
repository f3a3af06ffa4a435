"""PCIe link state and error counters from `/sys/bus/pci/devices`, one `path:value` a line.

/sys/bus/pci/devices/0000:17:00.0/current_link_speed:32.0 GT/s PCIe
/sys/bus/pci/devices/0000:17:00.0/aer_dev_correctable:RxErr 0
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from checks.outputs import Empty, Facts, OddLine, Outcome, Raw
from checks.tools.formats import number

_PATH = re.compile(r"^/sys/.*/([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])/(\w+):(.*)$")


class PcieLink(BaseModel):
    """Link of one device, by PCI address. Speeds in GT/s, widths in lanes; None where the kernel says Unknown."""

    line: int
    device: str
    speed_gts: float | None = None
    max_speed_gts: float | None = None
    width: int | None = None
    max_width: int | None = None


class PcieLinks(Facts):
    """Links of all PCIe devices."""

    links: tuple[PcieLink, ...]


_FIELDS = {
    "current_link_speed": "speed_gts",
    "max_link_speed": "max_speed_gts",
    "current_link_width": "width",
    "max_link_width": "max_width",
}


def parse_pcie_gpu_sys(raw: Raw) -> Outcome:
    """Current and greatest speed and width of every link."""
    rows: dict[str, dict[str, Any]] = {}
    odd: list[OddLine] = []
    for n, device, name, value in _lines(raw, odd):
        field = _FIELDS.get(name)
        if field is None:
            odd.append(raw.odd(n))
            continue
        row = rows.setdefault(device, {"line": n, "device": device})
        found = number(value)
        if "width" in field:
            # 0 and 255 stand for a link that is down or not known
            row[field] = None if found in (None, 0, 255) else int(found or 0)
        elif found is not None and "GT/s" not in value:
            odd.append(raw.odd(n))
        else:
            row[field] = found
    if not rows:
        return raw.unparsable("no PCIe links")
    return PcieLinks(links=tuple(PcieLink(**row) for row in rows.values()), odd=tuple(odd))


class AerCount(BaseModel):
    """One error counter of a device since boot; `severity` is correctable, nonfatal or fatal."""

    line: int
    device: str
    severity: str
    name: str
    count: int


class Aer(Facts):
    """Counters that are not 0, and how many devices report."""

    line: int
    devices: int
    counts: tuple[AerCount, ...]


def parse_pcie_aer(raw: Raw) -> Outcome:
    """`aer_dev_correctable:RxErr 0`, one line an error name and one `TOTAL_ERR_COR` a file."""
    if not raw.blank and all(line.startswith("grep: ") for _, line in raw.numbered()):
        return Empty("no device keeps PCIe error counters")
    devices: set[str] = set()
    counts: list[AerCount] = []
    odd: list[OddLine] = []
    first = 0
    for n, device, name, value in _lines(raw, odd):
        match = re.match(r"^(\w+) (\d+)$", value.strip())
        if not name.startswith("aer_dev_") or not match:
            odd.append(raw.odd(n))
            continue
        first = first or n
        devices.add(device)
        if int(match[2]) and not match[1].startswith("TOTAL_"):
            severity = name.removeprefix("aer_dev_")
            counts.append(AerCount(line=n, device=device, severity=severity, name=match[1], count=int(match[2])))
    if not devices:
        return raw.unparsable("no PCIe error counters")
    if not raw.complete:
        odd.append(raw.odd(len(raw.lines)))
    return Aer(line=first, devices=len(devices), counts=tuple(counts), odd=tuple(odd))


def _lines(raw: Raw, odd: list[OddLine]) -> Iterator[tuple[int, str, str, str]]:
    """(line, PCI address, file, value): the address holds colons, so the general `path:value` reader cannot be used."""
    seen = False
    for n, line in raw.numbered():
        if match := _PATH.match(line.strip()):
            seen = True
            yield n, match[1].lower(), match[2], match[3].strip()
        elif seen and not line.startswith("grep: "):
            odd.append(raw.odd(n))
