"""How busy the node is: pressure (PSI), load average, `vmstat`, processes in uninterruptible sleep.

/proc/pressure/cpu:some avg10=1.23 avg60=0.98 avg300=0.87 total=123456789
"""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel

from checks.outputs import Facts, NotAvailable, OddLine, Outcome, Raw
from checks.tools.formats import cut_line, number, path_values


class Pressure(BaseModel):
    """Share of time in which some or all tasks waited, in percent; `total_us` since boot in microseconds."""

    line: int
    resource: str
    kind: str
    avg10: float
    avg60: float
    avg300: float
    total_us: int


class Psi(Facts):
    """Pressure stall information of `cpu`, `io` and `memory`."""

    rows: tuple[Pressure, ...]

    def row(self, resource: str, kind: str = "some") -> Pressure | None:
        """The line of a resource; None when it was not printed."""
        return next((r for r in self.rows if (r.resource, r.kind) == (resource, kind)), None)


_PSI = re.compile(r"^(some|full) avg10=(\d+\.\d\d) avg60=(\d+\.\d\d) avg300=(\d+\.\d\d) total=(\d+)$")


def parse_psi(raw: Raw) -> Outcome:
    """`grep -H . /proc/pressure/*` or the pressure files of a cgroup."""
    if not raw.blank and all(line.startswith("grep: ") for _, line in raw.numbered()):
        return NotAvailable("unsupported", "the kernel keeps no pressure information")
    values, odd = path_values(raw)
    rows: list[Pressure] = []
    other: list[OddLine] = []
    for v in values:
        match = _PSI.match(v.value)
        resource = v.path.rsplit("/", 1)[-1].removesuffix(".pressure")
        if not match or resource not in ("cpu", "io", "memory", "irq"):
            other.append(raw.odd(v.line))
            continue
        ten, sixty, three = (float(match[k]) for k in (2, 3, 4))
        rows.append(
            Pressure(
                line=v.line,
                resource=resource,
                kind=match[1],
                avg10=ten,
                avg60=sixty,
                avg300=three,
                total_us=int(match[5]),
            )
        )
    if not rows:
        return raw.unparsable("no pressure information")
    if not raw.complete and rows[-1].line == len(raw.lines):
        other.append(raw.odd(len(raw.lines)))
    return Psi(rows=tuple(rows), odd=(*odd, *other))


class LoadAvg(Facts):
    """Load averages over 1, 5 and 15 minutes. They count running tasks and those in uninterruptible sleep."""

    line: int
    load1: float
    load5: float
    load15: float
    running: int | None = None
    tasks: int | None = None


_LOADAVG = re.compile(r"^(\d+\.\d\d) (\d+\.\d\d) (\d+\.\d\d) (\d+)/(\d+) \d+$")
_UPTIME = re.compile(r"\bload averages?: (\d+[.,]\d\d),? (\d+[.,]\d\d),? (\d+[.,]\d\d)\s*$")


def parse_loadavg(raw: Raw) -> Outcome:
    """`/proc/loadavg`: `12.34 11.20 10.05 13/4321 98765`; the line of `uptime` is understood too."""
    for n, line in raw.numbered():
        match = _LOADAVG.match(line.strip()) or _UPTIME.search(line)
        if match:
            one, five, fifteen = (float(match[k].replace(",", ".")) for k in (1, 2, 3))
            full = match.re is _LOADAVG
            return LoadAvg(
                line=n,
                load1=one,
                load5=five,
                load15=fifteen,
                running=int(match[4]) if full else None,
                tasks=int(match[5]) if full else None,
                odd=tuple(raw.odd(k) for k, _ in raw.numbered() if k > n),
            )
    return raw.unparsable("no load average")


class VmRow(BaseModel):
    """One sample of `vmstat`: run queue, blocked tasks, swap in and out in KiB/s, CPU shares in percent."""

    line: int
    running: int | None = None
    blocked: int | None = None
    swapped_kib: int | None = None
    free_kib: int | None = None
    swap_in_kib_s: int | None = None
    swap_out_kib_s: int | None = None
    user_pct: int | None = None
    system_pct: int | None = None
    idle_pct: int | None = None
    iowait_pct: int | None = None
    steal_pct: int | None = None


class VmStat(Facts):
    """Samples of `vmstat`. The first row is the average since boot; `now` leaves it out when there are more."""

    rows: tuple[VmRow, ...]

    @property
    def now(self) -> tuple[VmRow, ...]:
        """The rows that show the present."""
        return self.rows[1:] or self.rows


_VMSTAT = {
    "r": "running",
    "b": "blocked",
    "swpd": "swapped_kib",
    "free": "free_kib",
    "si": "swap_in_kib_s",
    "so": "swap_out_kib_s",
    "us": "user_pct",
    "sy": "system_pct",
    "id": "idle_pct",
    "wa": "iowait_pct",
    "st": "steal_pct",
}


def parse_vmstat(raw: Raw) -> Outcome:
    """`vmstat -w -n 1 5`: a line of group titles, a line of names, then one row a second."""
    heads: list[str] = []
    rows: list[VmRow] = []
    odd: list[OddLine] = []
    for n, line in raw.numbered():
        cells = line.replace("|", " ").split()
        if {"si", "so", "wa"} <= set(cells):
            heads = cells
        elif heads and cells[0].startswith(("procs", "--procs")):
            continue
        elif heads and len(cells) >= len(heads) and all(re.fullmatch(r"\d+", c) for c in cells[: len(heads)]):
            values: dict[str, Any] = {_VMSTAT[h]: int(c) for h, c in zip(heads, cells, strict=False) if h in _VMSTAT}
            rows.append(VmRow(line=n, **values))
        elif heads:
            odd.append(raw.odd(n))
    odd = odd or list(cut_line(raw))
    return VmStat(rows=tuple(rows), odd=tuple(odd)) if rows else raw.unparsable("no samples of vmstat")


class Process(BaseModel):
    """A process in state D (uninterruptible) or Z (zombie). `age_s` counts from its start, not from the wait."""

    line: int
    state: str
    pid: int
    ppid: int | None
    age_s: int | None
    wchan: str | None
    name: str


class Processes(Facts):
    """How many processes there are, and those in state D or Z."""

    count: int
    line: int
    waiting: tuple[Process, ...]
    zombies: tuple[Process, ...]


_PS = re.compile(r"^\s*([A-Z])\S*\s+(\d+)\s+(\d+)\s+(\d+|-)\s+(\S+)\s+(\S.*)$")


def parse_ps_dstate(raw: Raw) -> Outcome:
    """`ps -eo state,pid,ppid,etimes,wchan:40,comm`: `D 81234 81200 7261 cl_sync_io_wait python`."""
    count = first = 0
    rows: list[Process] = []
    odd: list[OddLine] = []
    for n, line in raw.numbered():
        match = _PS.match(line)
        if match and match[1] in "DRSTtWXZIP":
            count += 1
            first = first or n
            if match[1] in "DZ":
                age = number(match[4])
                rows.append(
                    Process(
                        line=n,
                        state=match[1],
                        pid=int(match[2]),
                        ppid=int(match[3]),
                        age_s=None if age is None else int(age),
                        wchan=None if match[5] in ("-", "0") else match[5],
                        name=match[6].strip(),
                    )
                )
        elif re.match(r"^\s*S\s+PID\s+PPID", line):
            continue
        elif count:
            odd.append(raw.odd(n))
    if not count:
        return raw.unparsable("no process lines")
    odd = odd or list(cut_line(raw))
    return Processes(
        count=count,
        line=first,
        waiting=tuple(r for r in rows if r.state == "D"),
        zombies=tuple(r for r in rows if r.state == "Z"),
        odd=tuple(odd),
    )
