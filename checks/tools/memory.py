"""Host memory: `/proc/meminfo`, `numastat -m`, EDAC counters, `/dev/shm`.

MemTotal:       792561496 kB          Node 0          Node 1           Total
MemAvailable:   601234567 kB          MemTotal  396280.75  396280.75  792561.50
"""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel

from checks.outputs import Empty, Facts, OddLine, Outcome, Raw
from checks.tools.disks import df_rows
from checks.tools.formats import cut_line, integer, path_values

_KIB_PER_GIB = 1024 * 1024


class MemInfo(Facts):
    """Memory of the node in KiB, as `/proc/meminfo` has it; `line_of` maps its names to lines."""

    line: int
    total_kib: int | None = None
    free_kib: int | None = None
    available_kib: int | None = None
    cached_kib: int | None = None
    swap_total_kib: int | None = None
    swap_free_kib: int | None = None
    shmem_kib: int | None = None
    hugepages_total: int | None = None
    hugepage_kib: int | None = None
    line_of: dict[str, int] = {}

    @property
    def total_gib(self) -> float | None:
        """Memory the kernel manages, in GiB (a few per cent below what is plugged in)."""
        return None if self.total_kib is None else self.total_kib / _KIB_PER_GIB

    @property
    def available_pct(self) -> float | None:
        """Share of memory that new work can have without swapping."""
        if self.available_kib is None or not self.total_kib:
            return None
        return 100 * self.available_kib / self.total_kib

    @property
    def swap_used_kib(self) -> int | None:
        """Swap in use."""
        if self.swap_total_kib is None or self.swap_free_kib is None:
            return None
        return self.swap_total_kib - self.swap_free_kib


_MEMINFO = {
    "MemTotal": "total_kib",
    "MemFree": "free_kib",
    "MemAvailable": "available_kib",
    "Cached": "cached_kib",
    "SwapTotal": "swap_total_kib",
    "SwapFree": "swap_free_kib",
    "Shmem": "shmem_kib",
    "HugePages_Total": "hugepages_total",
    "Hugepagesize": "hugepage_kib",
}
_MEMINFO_LINE = re.compile(r"^([A-Za-z][\w()]*):\s+(\d+)(?: kB)?$")


def parse_mem_info(raw: Raw) -> Outcome:
    """`/proc/meminfo`: `Name:  number kB`, one a line."""
    found: dict[str, int] = {}
    lines: dict[str, int] = {}
    odd: list[OddLine] = []
    for n, line in raw.numbered():
        match = _MEMINFO_LINE.match(line.strip())
        # a size without its unit is a line cut off in the middle of the number
        cut = (
            match and match[1] in _MEMINFO and not match[1].startswith("HugePages") and not line.strip().endswith("kB")
        )
        if match and not cut:
            if field := _MEMINFO.get(match[1]):
                found.setdefault(field, int(match[2]))
                lines.setdefault(match[1], n)
        elif found:
            odd.append(raw.odd(n))
    if "total_kib" not in found:
        return raw.unparsable("not /proc/meminfo: no MemTotal")
    for name in ("MemAvailable", "SwapTotal", "SwapFree"):
        if name not in lines:
            odd.append(OddLine(line=len(raw.lines), text=f"no line {name}"))
            break
    odd = odd or list(cut_line(raw))
    return MemInfo(line=lines["MemTotal"], line_of=lines, odd=tuple(odd), **found)


class NumaRow(BaseModel):
    """One row of `numastat -m`; MiB per node in node order."""

    line: int
    name: str
    nodes_mib: tuple[float, ...]
    total_mib: float | None = None


class NumaStat(Facts):
    """Memory per NUMA node."""

    nodes: tuple[int, ...]
    rows: tuple[NumaRow, ...]


def parse_numastat(raw: Raw) -> Outcome:
    """`numastat -m`: blocks of columns `Node 0 … Total`, repeated when the lines would be too wide."""
    nodes: list[int] = []
    here: list[int] = []
    has_total = False
    cells: dict[str, dict[int, float]] = {}
    lines: dict[str, int] = {}
    totals: dict[str, float] = {}
    odd: list[OddLine] = []
    for n, line in raw.numbered():
        text = line.strip()
        if heads := re.findall(r"\bNode (\d+)", text):
            here = [int(h) for h in heads]
            nodes += [h for h in here if h not in nodes]
            has_total = text.endswith("Total")
        elif re.fullmatch(r"[-\s]+", text) or text.startswith("Per-node system memory usage") or text == "Total":
            has_total = has_total or text == "Total"
            here = [] if text == "Total" else here
        elif match := re.match(r"^([A-Za-z]\w*(?:\([^)]*\))?)((?:\s+-?\d+\.\d\d)+)$", text):
            values = [float(v) for v in match[2].split()]
            if len(values) != len(here) + has_total:
                odd.append(raw.odd(n))
                continue
            lines.setdefault(match[1], n)
            cells.setdefault(match[1], {}).update(zip(here, values, strict=False))
            if has_total:
                totals[match[1]] = values[-1]
        elif nodes:
            odd.append(raw.odd(n))
    rows = tuple(
        NumaRow(line=lines[k], name=k, nodes_mib=tuple(v[i] for i in nodes), total_mib=totals.get(k))
        for k, v in cells.items()
        if all(i in v for i in nodes)
    )
    if not rows:
        return raw.unparsable("not numastat -m")
    odd = odd or list(cut_line(raw))
    return NumaStat(nodes=tuple(nodes), rows=rows, odd=tuple(odd))


class MemoryController(BaseModel):
    """EDAC counts since boot of one memory controller; None where the file is missing."""

    line: int
    name: str
    corrected: int | None = None
    uncorrected: int | None = None
    uncorrected_line: int | None = None


class Edac(Facts):
    """Corrected and uncorrected memory errors of every controller."""

    controllers: tuple[MemoryController, ...]


def parse_mce_edac(raw: Raw) -> Outcome:
    """`/sys/devices/system/edac/mc/mc0/ce_count:0`, `…/ue_count:0`; no controllers without an EDAC driver."""
    if not raw.blank and all(line.startswith("grep: ") for _, line in raw.numbered()):
        return Empty("no EDAC driver is loaded")
    values, odd = path_values(raw)
    cut = [x.line for x in cut_line(raw)]
    found: dict[str, dict[str, Any]] = {}
    other: list[OddLine] = []
    for v in values:
        match = re.search(r"/(mc\d+)/(?:.*/)?(ce|ue)_count$", v.path)
        count = integer(v.value)
        if not match or count is None or v.line in cut:
            other.append(raw.odd(v.line))
            continue
        row = found.setdefault(match[1], {"line": v.line, "name": match[1]})
        if match[2] == "ce":
            row["corrected"] = count
        else:
            row.update(uncorrected=count, uncorrected_line=v.line)
    if not found:
        return raw.unparsable("no EDAC counters")
    rows = tuple(MemoryController(**row) for row in found.values())
    if half := [r for r in rows if r.corrected is None or r.uncorrected is None]:
        other.append(raw.odd(half[0].line))
    return Edac(controllers=rows, odd=(*odd, *other))


class Shm(Facts):
    """Shared memory file system, sizes in KiB."""

    line: int
    size_kib: int
    used_kib: int
    available_kib: int
    mount: str


def parse_shm(raw: Raw) -> Outcome:
    """`df -P -k /dev/shm`."""
    rows, odd = df_rows(raw)
    row = next((r for r in rows if r.mount.endswith("shm")), None)
    if row is None or row.size is None or row.used is None or row.available is None:
        return raw.unparsable("no line for /dev/shm")
    return Shm(
        line=row.line, size_kib=row.size, used_kib=row.used, available_kib=row.available, mount=row.mount, odd=odd
    )
