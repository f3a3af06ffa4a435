"""GPFS (Storage Scale) in its colon-separated `-Y` form: a heading row names the fields of the rows below it.

mmdiag:waiters:HEADER:version:reserved:reserved:threadId:threadAddr:threadName:waitStartTime:waitTime:…
mmdiag:waiters:0:1:::101445:…:RebuildWorkThread:…:64.3:monitored:…
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import unquote

from checks.findings import Model
from checks.outputs import Empty, Facts, Outcome, Raw
from checks.tools.formats import number


def rows(raw: Raw) -> Iterator[tuple[int, str, dict[str, str]]]:
    """(line, kind of row, fields)."""
    heads: dict[tuple[str, str], list[str]] = {}
    for n, line in raw.numbered():
        cells = line.strip().split(":")
        if len(cells) > 6 and cells[2] == "HEADER":
            heads[(cells[0], cells[1])] = cells
        elif (head := heads.get((cells[0], cells[1] if len(cells) > 1 else ""))) is not None:
            yield n, cells[1] or cells[0], {h: unquote(c) for h, c in zip(head[6:], cells[6:], strict=False) if h}


class Waiter(Model):
    """One waiting thread. `seconds` since it began to wait."""

    line: int
    thread: str
    seconds: float
    reason: str


class Waiters(Facts):
    """`gpfs-waiters`."""

    waiters: tuple[Waiter, ...]


def parse_gpfs_waiters(raw: Raw) -> Outcome:
    """Longest first as printed or not; every waiter with its time."""
    if not any(line.startswith("mmdiag:waiters:HEADER") for line in raw.lines):
        return raw.unparsable("no mmdiag waiters heading")
    found = []
    odd = []
    for n, _, row in rows(raw):
        seconds = number(row.get("waitTime", ""))
        if seconds is None:
            odd.append(raw.odd(n))
            continue
        reason = " ".join(row.get(k, "") for k in ("condVarReason", "auxReason") if row.get(k))
        found.append(Waiter(line=n, thread=row.get("threadName", ""), seconds=seconds, reason=reason.strip()))
    if not found and not odd:
        return Empty("nobody waits")
    return Waiters(waiters=tuple(found), odd=tuple(odd))


class Health(Model):
    """State of one component."""

    line: int
    component: str
    entity: str
    status: str


class HealthStates(Facts):
    """`gpfs-health`."""

    states: tuple[Health, ...]


def parse_gpfs_health(raw: Raw) -> Outcome:
    """`mmhealth node show -Y`."""
    if not any(line.startswith("mmhealth:State:HEADER") for line in raw.lines):
        return raw.unparsable("no mmhealth heading")
    found = [
        Health(line=n, component=r.get("component", ""), entity=r.get("entityname", ""), status=r.get("status", ""))
        for n, kind, r in rows(raw)
        if kind == "State"
    ]
    return HealthStates(states=tuple(found)) if found else Empty("nothing unhealthy")


class Disk(Model):
    """One disk that is not ready and up."""

    line: int
    name: str
    status: str
    availability: str


class Disks(Facts):
    """`gpfs-disks`."""

    disks: tuple[Disk, ...]


def parse_gpfs_disks(raw: Raw) -> Outcome:
    """`mmlsdisk -e -Y`: only disks with trouble."""
    if not any(line.startswith("mmlsdisk:") and ":HEADER:" in line for line in raw.lines):
        return raw.unparsable("no mmlsdisk heading")
    found = [
        Disk(line=n, name=r.get("nsdName", ""), status=r.get("status", ""), availability=r.get("availability", ""))
        for n, _, r in rows(raw)
    ]
    return Disks(disks=tuple(found)) if found else Empty("all disks ready and up")
