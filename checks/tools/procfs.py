"""Files of one process under `/proc`, and the pressure of a job's cgroup.

Environments hold secrets: of them only settings of the training stack are kept, and nothing is ever quoted.
"""

from __future__ import annotations

import re

from pydantic import BaseModel

from checks.outputs import Empty, Facts, OddLine, Outcome, Raw, Unparsable
from checks.tools.formats import cut_line, integer
from checks.tools.load import parse_psi
from common.redact import KEPT_ENVIRONMENT, may_be_kept


class Environment(Facts):
    """Settings of the training stack; everything else of the environment is dropped."""

    line: int
    values: dict[str, str]
    line_of: dict[str, int] = {}


def parse_proc_env(raw: Raw) -> Outcome:
    """`/proc/PID/environ`: `NAME=value` ended by NUL; lines are read too when NULs were turned into newlines."""
    text = raw.text
    nul = "\0" in text
    values: dict[str, str] = {}
    lines: dict[str, int] = {}
    seen = 0
    at = 1
    parts = text.split("\0") if nul else text.split("\n")
    for part in parts:
        name, sign, value = part.strip("\n").partition("=")
        if sign and re.fullmatch(r"[A-Za-z_][\w.()%-]*", name):
            seen += 1
            if name.startswith(KEPT_ENVIRONMENT) and may_be_kept(part.strip("\n").encode()):
                values[name], lines[name] = value, at
        at += part.count("\n") if nul else 1
    if not seen or seen < len([p for p in parts if p.strip()]) / 2:
        return Unparsable("not the environment of a process")
    # the kernel ends every entry with NUL: without one the last entry is cut
    cut = (nul and not text.endswith("\0")) or (not nul and not raw.complete)
    odd = (OddLine(line=len(raw.lines), text="the environment ends in the middle of an entry"),) if cut else ()
    if not values and not odd:
        return Empty("no settings of the training stack in the environment")
    return Environment(line=1, values=values, line_of=lines, odd=odd)


class Limit(BaseModel):
    """One resource limit; None is unlimited."""

    line: int
    name: str
    soft: int | None
    hard: int | None
    unit: str = ""


class Limits(Facts):
    """Limits of a process."""

    limits: tuple[Limit, ...]

    def get(self, name: str) -> Limit | None:
        """The limit `Max locked memory`, …; None when it was not printed."""
        return next((x for x in self.limits if x.name == name), None)


_LIMIT = re.compile(r"^(Max [a-z /-]+?)\s{2,}(unlimited|\d+)\s+(unlimited|\d+)(?:\s+(\w+))?\s*$")


def parse_proc_limits(raw: Raw) -> Outcome:
    """`/proc/PID/limits`: a heading, then `Max locked memory  unlimited  unlimited  bytes`."""
    rows: list[Limit] = []
    odd: list[OddLine] = []
    cut = [x.line for x in cut_line(raw)]
    for n, line in raw.numbered():
        if (match := _LIMIT.match(line)) and n not in cut:
            soft, hard = (None if match[k] == "unlimited" else int(match[k]) for k in (2, 3))
            rows.append(Limit(line=n, name=match[1], soft=soft, hard=hard, unit=match[4] or ""))
        elif rows:
            odd.append(raw.odd(n))
    if not rows:
        return raw.unparsable("not the limits of a process")
    if not any(r.name == "Max locked memory" for r in rows):
        odd.append(OddLine(line=len(raw.lines), text="ends before the limit of locked memory"))
    return Limits(limits=tuple(rows), odd=tuple(odd))


class ProcStatus(Facts):
    """State of a process; memory in KiB, `cpus_allowed` as a list such as `0-7,64-71`."""

    line: int
    name: str | None = None
    state: str | None = None
    pid: int | None = None
    threads: int | None = None
    rss_kib: int | None = None
    cpus_allowed: str | None = None
    cpus_line: int | None = None
    voluntary_switches: int | None = None
    involuntary_switches: int | None = None

    @property
    def cpu_count(self) -> int | None:
        """How many CPUs the process may run on."""
        if self.cpus_allowed is None:
            return None
        total = 0
        for part in self.cpus_allowed.split(","):
            first, dash, last = part.strip().partition("-")
            if not first.isdigit() or (dash and not last.isdigit()):
                return None
            total += int(last) - int(first) + 1 if dash else 1
        return total


def parse_proc_status(raw: Raw) -> Outcome:
    """`/proc/PID/status`: `Name:`, tab, value."""
    cells: dict[str, tuple[int, str]] = {}
    odd: list[OddLine] = []
    cut = [x.line for x in cut_line(raw)]  # half of a list of CPUs is a short list
    for n, line in raw.numbered():
        match = re.match(r"^([A-Za-z_][\w()-]*):\s*(.*)$", line)
        if match and n not in cut:
            cells.setdefault(match[1], (n, match[2].strip()))
        elif cells:
            odd.append(raw.odd(n))
    if "State" not in cells or not {"Name", "Pid", "Cpus_allowed_list"} & cells.keys():
        return raw.unparsable("not the status of a process")
    if "Cpus_allowed_list" not in cells:
        odd.append(OddLine(line=len(raw.lines), text="ends before Cpus_allowed_list"))

    def text(key: str) -> str | None:
        return cells[key][1] or None if key in cells else None

    def count(key: str) -> int | None:
        return integer(cells[key][1]) if key in cells else None

    return ProcStatus(
        line=cells["State"][0],
        name=text("Name"),
        state=(text("State") or "")[:1] or None,
        pid=count("Pid"),
        threads=count("Threads"),
        rss_kib=count("VmRSS"),
        cpus_allowed=text("Cpus_allowed_list"),
        cpus_line=cells["Cpus_allowed_list"][0] if "Cpus_allowed_list" in cells else None,
        voluntary_switches=count("voluntary_ctxt_switches"),
        involuntary_switches=count("nonvoluntary_ctxt_switches"),
        odd=tuple(odd),
    )


def parse_job_psi(raw: Raw) -> Outcome:
    """`cpu.pressure` and `io.pressure` of a job's cgroup."""
    return parse_psi(raw)


class Frame(BaseModel):
    """One frame of a stack, innermost first."""

    line: int
    function: str
    file: str


class Thread(BaseModel):
    """One thread of `py-spy dump`."""

    line: int
    name: str
    state: str
    frames: tuple[Frame, ...]


class Stacks(Facts):
    """Python stacks of a process."""

    line: int
    threads: tuple[Thread, ...]


def parse_py_spy(raw: Raw) -> Outcome:
    """`py-spy dump`: `Thread 81234 (active): "MainThread"`, then indented `function (file.py:12)`."""
    threads: list[tuple[int, str, str, list[Frame]]] = []
    odd: list[OddLine] = []
    for n, line in raw.numbered():
        if match := re.match(r'^Thread (?:0x)?[0-9A-Fa-f]+ \(([^)]*)\)(?:: "(.*)")?', line):
            threads.append((n, match[2] or "", match[1], []))
        elif threads and (match := re.match(r"^\s+(.+?) \((.+)\)$", line)):
            threads[-1][3].append(Frame(line=n, function=match[1], file=match[2]))
        elif threads and not re.match(r"^\s+(?:Arguments|Locals):|^\s{8,}\S", line):
            odd.append(raw.odd(n))
    if not threads:
        return raw.unparsable("no threads of py-spy")
    odd = odd or list(cut_line(raw))
    rows = tuple(Thread(line=n, name=name, state=state, frames=tuple(f)) for n, name, state, f in threads)
    return Stacks(line=rows[0].line, threads=rows, odd=tuple(odd))
