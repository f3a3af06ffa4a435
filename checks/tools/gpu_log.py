"""The GPU driver's lines in the kernel log: Xid, SXid of NVSwitches, initialisation failures.

2026-03-04T02:01:13+0000 gpu017 kernel: NVRM: Xid (PCI:0000:4e:00): 43, pid=88121, name=python3, Ch 00000008
2026-03-04T02:01:13+0000 gpu017 kernel: nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Fatal, Link 48 LTSSM Fault Up
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Literal

from checks.findings import Model
from checks.outputs import Empty, Facts, OddLine, Outcome, Raw
from checks.tools.formats import cut_off, log_lines

Kind = Literal["xid", "sxid", "fallen-off-bus", "init-failed", "reset-required", "gpu-poison"]


class GpuEvent(Model):
    """One event. `number` is the Xid or SXid; `device` the PCI address as the driver writes it; `at` as printed."""

    line: int
    kind: Kind
    number: int | None = None
    device: str | None = None
    pid: int | None = None
    process: str | None = None
    fatal: bool | None = None
    text: str
    at: datetime | None = None


class GpuLog(Facts):
    """Events in the order of the log. `others` counts lines of the driver that tell no event."""

    events: tuple[GpuEvent, ...]
    others: int = 0


_XID = re.compile(r"NVRM: Xid \((?:PCI:)?([\w:.]+)\): (\d+)(?:, (.*))?$")
_PID = re.compile(r"pid='?(\d+)'?")
_NAME = re.compile(r"name='?([^,']+?)'?(?:,|$)")
_SXID = re.compile(r"SXid \(PCI:([\w:.]+)\): (\d+), (.*)$")
_BUS = re.compile(r"NVRM: GPU ([\w:.]+): GPU has fallen off the bus")
_INIT = re.compile(r"NVRM: GPU ([\w:.]+): (?:RmInitAdapter failed|rm_init_adapter failed)", re.I)
_RESET = re.compile(r"NV_ERR_RESET_REQUIRED|Reset required")
_POISON = re.compile(r"amdgpu ([\w:.]+): .*(?:poison is consumed|bad pages \d+ reaches threshold)", re.I)
_DRIVER = re.compile(r"NVRM|nvidia|amdgpu|nvswitch", re.I)
_BEGUN = re.compile(r"NVRM: Xid|SXid \(")
_BARE = re.compile(r"S?Xid \([\w:.]+\): \d+$")
"""A number at the end of a cut-off line may lack digits: 7 of 79."""


def parse_xid_log(raw: Raw) -> Outcome:
    """Events of the log, whatever prefix the lines carry; lines of other programs are not counted."""
    lines = log_lines(raw)
    if not isinstance(lines, list):
        return lines
    events: list[GpuEvent] = []
    odd: list[OddLine] = []
    others = 0
    cut = cut_off(raw)
    for entry in lines:
        event = _event(entry.line, entry.text, entry.at)
        last = entry.line == cut
        if (event is None and _BEGUN.search(entry.text)) or (last and _BARE.search(entry.text)):
            odd.append(raw.odd(entry.line))
        elif event is not None:
            events.append(event)
        elif last and "NVRM" in entry.text:
            odd.append(raw.odd(entry.line))
        elif _DRIVER.search(entry.text):
            others += 1
    if not events and not odd and not others and not any(entry.at for entry in lines):
        return raw.unparsable("no log line of the GPU driver")
    if not events and not odd:
        return Empty(f"no Xid; {others} other lines of the driver" if others else "no Xid")
    return GpuLog(events=tuple(events), others=others, odd=tuple(odd))


def _event(line: int, text: str, at: datetime | None) -> GpuEvent | None:
    shown = text[:300]
    if found := _XID.search(text):
        rest = found[3] or ""
        pid, name = _PID.search(rest), _NAME.search(rest)
        return GpuEvent(
            line=line,
            kind="xid",
            number=int(found[2]),
            device=found[1],
            pid=int(pid[1]) if pid else None,
            process=name[1] if name and "unknown" not in name[1] else None,
            text=shown,
            at=at,
        )
    if found := _SXID.search(text):
        words = found[3].lower()
        fatal = False if words.startswith("non-fatal") else True if words.startswith("fatal") else None
        return GpuEvent(line=line, kind="sxid", number=int(found[2]), device=found[1], fatal=fatal, text=shown, at=at)
    for kind, pattern in (("fallen-off-bus", _BUS), ("init-failed", _INIT), ("gpu-poison", _POISON)):
        if found := pattern.search(text):
            return GpuEvent(line=line, kind=kind, device=found[1], text=shown, at=at)
    if "NVRM" in text and _RESET.search(text):
        return GpuEvent(line=line, kind="reset-required", text=shown, at=at)
    return None


class BootEntry(Model):
    """One boot known to the journal; `offset` is 0 for the running one, -1 for the one before."""

    line: int
    offset: int
    boot_id: str
    text: str


class Boots(Facts):
    """`journalctl --list-boots`."""

    boots: tuple[BootEntry, ...]


_BOOT = re.compile(r"^\s*(-?\d+)\s+([0-9a-f]{32})\s+(.*)$")


def parse_xid_boot(raw: Raw) -> Outcome:
    """The boots the journal holds; a heading line of newer systemd is skipped."""
    found = [(n, m) for n, line in raw.numbered() if (m := _BOOT.match(line))]
    if not found:
        return raw.unparsable("no boot entry")
    first = found[0][0]
    known = {n for n, _ in found}
    return Boots(
        boots=tuple(BootEntry(line=n, offset=int(m[1]), boot_id=m[2], text=m[3]) for n, m in found),
        odd=tuple(raw.odd(n) for n, _ in raw.numbered() if n > first and n not in known),
    )
