"""PCI devices as the bus shows them, whatever a driver says.

0000:07:00.0 3D controller [0302]: NVIDIA Corporation GA100 [A800 SXM4 80GB] [10de:20bd] (rev a1)
"""

from __future__ import annotations

import re

from checks.findings import Model
from checks.outputs import Empty, Facts, OddLine, Outcome, Raw

_DEVICE = re.compile(r"^((?:[0-9a-f]{4,}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\s+(.*)$", re.I)
_CLASS = re.compile(r"^(.*?)(?: \[([0-9a-f]{4})\])?: (.*)$")
_NVIDIA = "10de"
_IDS = re.compile(r"\[([0-9a-f]{4}):([0-9a-f]{4})\]")


class PciDevice(Model):
    """One device. `answers` is false where the bus shows `rev ff`: the device no longer responds."""

    line: int
    address: str
    kind: str
    vendor: str | None = None
    device: str | None = None
    text: str
    answers: bool = True

    @property
    def gpu(self) -> bool:
        """True for a GPU (display or 3D controller), false for bridges, NVSwitches and the display of a BMC."""
        if self.vendor not in (None, _NVIDIA):
            return False
        return "3d controller" in self.kind.lower() or "vga" in self.kind.lower() or "display" in self.kind.lower()


class PciDevices(Facts):
    """`lspci -Dnn -d 10de:`."""

    devices: tuple[PciDevice, ...]


def parse_lspci_gpu(raw: Raw) -> Outcome:
    """Devices of the vendor asked for; nothing printed means the bus has none."""
    if raw.blank:
        return Empty("the bus shows no device of this vendor")
    devices: list[PciDevice] = []
    odd: list[OddLine] = []
    for n, line in raw.numbered():
        found = _DEVICE.match(line.strip())
        parts = _CLASS.match(found[2]) if found else None
        if found and parts:
            ids = _IDS.search(parts[3])
            devices.append(
                PciDevice(
                    line=n,
                    address=found[1].lower(),
                    kind=parts[1],
                    vendor=ids[1] if ids else None,
                    device=ids[2] if ids else None,
                    text=parts[3][:200],
                    answers="(rev ff)" not in line,
                )
            )
        elif devices and not line.startswith(("\t", " ")):
            odd.append(raw.odd(n))
    if not devices:
        return raw.unparsable("no PCI device")
    return PciDevices(devices=tuple(devices), odd=tuple(odd))
