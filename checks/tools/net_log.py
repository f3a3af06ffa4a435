"""Kernel lines about network devices: links up and down, the health of mlx5, slots that limit PCIe.

2026-03-04T01:12:09+0000 gpu017 kernel: mlx5_core 0000:5e:00.0 eth3: Link down
2026-03-04T01:12:31+0000 gpu017 kernel: mlx5_core 0000:5e:00.0 eth3: Link up
[    8.387] mlx5_core 0000:43:00.0: 126.016 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x16 link at …
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Literal

from checks.findings import Model
from checks.outputs import Empty, Facts, Outcome, Raw
from checks.tools.formats import LogLine, cut_off, log_lines

_PCI = re.compile(r"\b([0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])\b")
_DOWN = re.compile(
    r"([\w.@-]+):? (?:NIC )?[Ll]ink (?:is )?[Dd]own|([\w.@-]+): [Ll]ost carrier|interface ([\w.-]+), disabling"
)
_UP = re.compile(r"([\w.@-]+):? (?:NIC )?[Ll]ink (?:is )?[Uu]p\b|([\w.@-]+): [Gg]ained carrier|link becomes ready")
_MODULE = re.compile(r"Port module event(?:\[error\])?: module (\d+), (.*)$")
_LIMITED = re.compile(
    r"(\d+(?:\.\d+)?) Gb/s available PCIe bandwidth, limited by (\d+(?:\.\d+)?) GT/s (?:PCIe )?x(\d+) link at (\S+?)\s*"
    r"\(capable of (\d+(?:\.\d+)?) Gb/s with (\d+(?:\.\d+)?) GT/s (?:PCIe )?x(\d+)"
)
_FATAL = re.compile(
    r"Will cause a leak of a command resource|reached miss count|unrecoverable hardware error|"
    r"firmware internal error|Fatal error|failed to allocate command entry|"
    r"(?:health|Health).{0,60}(?:compromised|critical)|device state error|probe of .* failed|failed to load",
)
_POWER = re.compile(r"insufficient power|Detected insufficient power", re.I)
_NOISE = re.compile(r"ACCESS_REG\(.*\).*failed|ACCESS_REG.*failed")
_LOGGY = re.compile(r"^\[\s*\d+\.\d+\]|mlx5_core |\bkernel:|systemd-networkd")

_FOREIGN = re.compile(r"NVRM|SXid|Lustre|LNet|\bnvme|EDAC|mce:|Hardware Error|oom-kill|Out of memory|slurm|mmfs")
"""What other filtered logs hold: a file full of it was put here by mistake."""

Kind = Literal["down", "up", "module", "fatal", "power", "noise", "limited", "other"]


class NetEvent(Model):
    """One line about a device. `device` is the interface, else the PCI address; `at` as printed, None when unknown."""

    line: int
    at: datetime | None
    kind: Kind
    device: str = ""
    pci: str = ""
    text: str


class NetLog(Facts):
    """Events of a log, in its order."""

    events: tuple[NetEvent, ...]

    def of(self, *kinds: Kind) -> list[NetEvent]:
        """Events of these kinds."""
        return [e for e in self.events if e.kind in kinds]


class PcieLimit(Model):
    """A device whose PCIe link is slower than it could be; bandwidths in Gbit/s, speeds in GT/s per lane."""

    line: int
    driver: str
    pci: str
    available_gbps: float
    speed_gts: float
    width: int
    bridge: str
    capable_gbps: float
    capable_speed_gts: float
    capable_width: int


class PcieLimits(Facts):
    """Devices the kernel found limited when it started them."""

    limits: tuple[PcieLimit, ...]


def parse_link_log(raw: Raw) -> Outcome:
    """Links up and down, module events, states of the NIC."""
    return _events(raw)


def parse_fw_nic_health_log(raw: Raw) -> Outcome:
    """What mlx5 said in this boot; `noise` are failed register reads, which harm nothing."""
    return _events(raw)


def parse_pcie_limited_log(raw: Raw) -> Outcome:
    """Devices with limited PCIe bandwidth."""
    found = _lines(raw)
    if not isinstance(found, list):
        return found
    limits: list[PcieLimit] = []
    odd = []
    for line in found:
        match, pci = _LIMITED.search(line.text), _PCI.search(line.text)
        if match and pci:
            driver = line.text[: pci.start()].split()
            limits.append(
                PcieLimit(
                    line=line.line,
                    driver=driver[-1] if driver else "",
                    pci=pci[1],
                    available_gbps=float(match[1]),
                    speed_gts=float(match[2]),
                    width=int(match[3]),
                    bridge=match[4],
                    capable_gbps=float(match[5]),
                    capable_speed_gts=float(match[6]),
                    capable_width=int(match[7]),
                )
            )
        elif "available PCIe bandwidth" in line.text and "limited by" in line.text:
            odd.append(raw.odd(line.line))
    if not limits and not odd:
        return Empty("no device with limited PCIe bandwidth")
    return PcieLimits(limits=tuple(limits), odd=tuple(odd))


def _events(raw: Raw) -> Outcome:
    found = _lines(raw)
    if not isinstance(found, list):
        return found
    events = tuple(event for line in found if (event := _event(line)) is not None)
    cut = cut_off(raw)
    odd = (raw.odd(cut),) if cut else ()
    return NetLog(events=events, odd=odd) if events or odd else Empty("no line about a network device")


def _lines(raw: Raw) -> list[LogLine] | Outcome:
    """The lines of a log; a text without a single log line is no log."""
    found = log_lines(raw)
    if isinstance(found, list) and not any(x.at or x.host or _LOGGY.search(raw.lines[x.line - 1]) for x in found):
        return raw.unparsable("no log lines")
    if isinstance(found, list) and all(_FOREIGN.search(x.text) for x in found):
        return raw.unparsable("a log of something else")
    return found


def _event(line: LogLine) -> NetEvent | None:
    text = line.text
    pci = _PCI.search(text)
    kind, device = _kind(text)
    if kind == "other" and "mlx5" not in text:
        return None
    address = pci[1] if pci else ""
    return NetEvent(line=line.line, at=line.at, kind=kind, device=device or address, pci=address, text=text)


def _kind(text: str) -> tuple[Kind, str]:
    if _NOISE.search(text):
        return "noise", ""
    if _POWER.search(text):
        return "power", ""
    if _LIMITED.search(text):
        return "limited", ""
    if _MODULE.search(text):
        return "module", ""
    if found := _DOWN.search(text):
        return "down", next((g for g in found.groups() if g), "")
    if found := _UP.search(text):
        return "up", next((g for g in found.groups() if g), "")
    return ("fatal", "") if _FATAL.search(text) else ("other", "")
