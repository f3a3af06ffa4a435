"""NFS on a client: per-mount operation counts, and the kernel's complaints.

device 10.20.0.5:/data mounted on /data with fstype nfs4 statvers=1.1
        opts:   rw,vers=4.2,rsize=1048576,proto=tcp,nconnect=8,timeo=600,retrans=2
        WRITE: 8000 8004 0 33554432000 1152000 120 88000 96000 0
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Literal

from checks.findings import Model
from checks.outputs import Empty, Facts, OddLine, Outcome, Raw
from checks.tools.formats import log_lines


class NfsOp(Model):
    """One kind of operation: counts since mount, times in ms summed over all of them."""

    line: int
    ops: int
    transmissions: int
    timeouts: int
    queue_ms: int
    rtt_ms: int
    execute_ms: int


class NfsMount(Model):
    """One NFS mount."""

    line: int
    server: str
    export: str
    target: str
    options: tuple[str, ...] = ()
    ops: dict[str, NfsOp] = {}

    @property
    def operations(self) -> int:
        """All operations."""
        return sum(o.ops for o in self.ops.values())

    @property
    def retransmissions(self) -> int:
        """Requests sent again."""
        return sum(max(0, o.transmissions - o.ops) for o in self.ops.values())


class MountStats(Facts):
    """`/proc/self/mountstats`; `others` counts mounts that are not NFS."""

    mounts: tuple[NfsMount, ...]
    others: int


_DEVICE = re.compile(r"^device (\S+) mounted on (\S+) with fstype (\S+)")
_OP = re.compile(r"^\s+([A-Z_]+):((?:\s+\d+){8,})\s*$")
_OPTIONS = re.compile(r"^\s+opts:\s+(\S+)")


def parse_nfs_mountstats(raw: Raw) -> Outcome:
    """NFS mounts with their operations."""
    mounts: list[NfsMount] = []
    others = 0
    current = False
    for n, line in raw.numbered():
        if found := _DEVICE.match(line.strip()):
            current = found[3].startswith("nfs")
            if current:
                server, _, export = found[1].partition(":")
                mounts.append(NfsMount(line=n, server=server, export=export, target=found[2]))
            else:
                others += 1
        elif current and (options := _OPTIONS.match(line)):
            mounts[-1] = mounts[-1].model_copy(update={"options": tuple(options[1].split(","))})
        elif current and (op := _OP.match(line)):
            v = [int(x) for x in op[2].split()]
            row = NfsOp(
                line=n, ops=v[0], transmissions=v[1], timeouts=v[2], queue_ms=v[5], rtt_ms=v[6], execute_ms=v[7]
            )
            mounts[-1] = mounts[-1].model_copy(update={"ops": {**mounts[-1].ops, op[1]: row}})
    if not mounts and not others:
        return raw.unparsable("no mount statistics")
    odd: tuple[OddLine, ...] = () if raw.complete else (raw.odd(len(raw.lines)),)
    return MountStats(mounts=tuple(mounts), others=others, odd=odd)


class NfsEvent(Model):
    """One complaint of the NFS client."""

    line: int
    kind: Literal["not-responding", "ok", "timed-out", "stale", "reclaim"]
    server: str | None = None
    text: str
    at: datetime | None = None


class NfsLog(Facts):
    """`nfs-log`."""

    events: tuple[NfsEvent, ...]


_SERVER = re.compile(r"nfs: server (\S+) (not responding|OK|timed out)?", re.I)


def parse_nfs_log(raw: Raw) -> Outcome:
    """`nfs: server … not responding`, `OK`, `timed out`, stale handles."""
    lines = log_lines(raw)
    if not isinstance(lines, list):
        return lines
    events: list[NfsEvent] = []
    for entry in lines:
        text = entry.text
        found = _SERVER.search(text)
        kind: str | None = None
        if found and "not responding" in text:
            kind = "timed-out" if "timed out" in text else "not-responding"
        elif found and re.search(r"\bOK\b", text):
            kind = "ok"
        elif found and "timed out" in text:
            kind = "timed-out"
        elif "stale" in text.lower():
            kind = "stale"
        elif "nfs4_reclaim" in text:
            kind = "reclaim"
        if kind:
            events.append(
                NfsEvent(line=entry.line, kind=kind, server=found[1] if found else None, text=text[:200], at=entry.at)
            )
    if events:
        return NfsLog(events=tuple(events))
    return Empty("no NFS complaint") if any(x.at for x in lines) else raw.unparsable("no NFS log line")
