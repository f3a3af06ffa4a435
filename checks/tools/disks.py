"""Local disks and mounts: `df`, `findmnt`, `iostat`, `nvme`, `/proc/mdstat`, `stat -f`.

Filesystem     1024-blocks      Used Available Capacity Mounted on
/dev/nvme0n1p2   459850824 101234567 335184313      24% /
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from checks.outputs import Empty, Facts, NotAvailable, OddLine, Outcome, Raw, Unparsable
from checks.tools.formats import absent, cut_line, find_line, integer, json_value, number


class DfRow(BaseModel):
    """One file system of `df`: sizes in the header's blocks (KiB with -k) or inodes; None where df prints `-`."""

    line: int
    source: str
    size: int | None
    used: int | None
    available: int | None
    used_pct: float | None
    mount: str


class Df(Facts):
    """Local file systems. `unit_bytes` is the block size of the header, None for inodes."""

    rows: tuple[DfRow, ...]
    unit_bytes: int | None = None


_DF_HEAD = re.compile(
    r"^Filesystem\s+(?:Type\s+)?(\S+)\s+\S+\s+\S+\s+(?:Capacity|Use%|IUse%|%iused)\s+Mounted on\s*$", re.I
)
_DF_CELL = r"(-|\d[\d,.]*[KMGTP]?)"
_DF_ROW = re.compile(rf"^(\S.*?)\s+{_DF_CELL}\s+{_DF_CELL}\s+(-|-?\d[\d,.]*[KMGTP]?)\s+(-|\d+%)\s+(/.*)$")
_UNITS = {"K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4, "P": 1024**5}


def df_rows(raw: Raw) -> tuple[list[DfRow], tuple[OddLine, ...]]:
    """Rows of any `df`; a long device name may stand on a line of its own. Sizes with a letter become KiB."""
    rows: list[DfRow] = []
    odd: list[OddLine] = []
    seen = False
    waiting: tuple[int, str] | None = None
    for n, line in raw.numbered():
        text = line.rstrip()
        if _DF_HEAD.match(text):
            seen = True
            continue
        if not seen or text.startswith("df: "):
            continue
        whole = f"{waiting[1]} {text.strip()}" if waiting else text
        if [x for x in cut_line(raw) if x.line == n]:
            odd.append(raw.odd(n))  # the mount point may be cut: half of /local is /
            waiting = None
        elif match := _DF_ROW.match(whole):
            rows.append(_df_row(n, match))
            waiting = None
        elif waiting is None and re.fullmatch(r"\S{12,}", text) and n < len(raw.lines):
            waiting = (n, text)
        else:
            odd.append(raw.odd(waiting[0] if waiting else n))
            waiting = None
    if waiting:
        odd.append(raw.odd(waiting[0]))
    return rows, tuple(odd)


def _df_row(line: int, match: re.Match[str]) -> DfRow:
    size, used, available = (_blocks(match[k]) for k in (2, 3, 4))
    return DfRow(
        line=line,
        source=match[1].split("  ")[0],
        size=size,
        used=used,
        available=available,
        used_pct=number(match[5]),
        mount=match[6].strip(),
    )


def _blocks(text: str) -> int | None:
    if absent(text):
        return None
    if text[-1] in _UNITS:
        value = number(text[:-1])
        return None if value is None else int(value * _UNITS[text[-1]] / 1024)
    return integer(text)


def _df(raw: Raw, *, inodes: bool) -> Outcome:
    head = next((m for _, line in raw.numbered() if (m := _DF_HEAD.match(line.rstrip()))), None)
    rows, odd = df_rows(raw)
    if head is None or not rows:
        return raw.unparsable("no df table")
    if inodes is not ("inode" in head[1].lower()):
        return raw.unparsable("a df table of " + ("blocks, not inodes" if inodes else "inodes, not blocks"))
    size = number(head[1].replace("1K", "1024").replace("1M", "1048576"))
    return Df(rows=tuple(rows), unit_bytes=None if inodes else int(size or 1024), odd=odd)


def parse_df_local(raw: Raw) -> Outcome:
    """`df -P -k -l`."""
    return _df(raw, inodes=False)


def parse_df_inodes(raw: Raw) -> Outcome:
    """`df -P -i -l`; a file system without inode limit prints `-`."""
    return _df(raw, inodes=True)


class Mount(BaseModel):
    """One mount. `options` as listed; `read_only` from the first-level option `ro`."""

    line: int
    target: str
    source: str
    fstype: str
    options: tuple[str, ...]

    @property
    def read_only(self) -> bool:
        """True when mounted read-only (the option `errors=remount-ro` is not that)."""
        return "ro" in self.options or "read-only" in self.options


class Mounts(Facts):
    """Everything mounted, in the order of the output."""

    mounts: tuple[Mount, ...]


_PROC_MOUNT = re.compile(r"^(\S+) (/\S*) (\S+) (\S+) \d+ \d+$")
_MOUNT = re.compile(r"^(.+?) on (/.*?) type (\S+) \((.*)\)(?: \[.*\])?$")
_BSD_MOUNT = re.compile(r"^(.+?) on (/.*) \((\w+)(?:, (.*))?\)$")


def parse_findmnt(raw: Raw) -> Outcome:
    """`findmnt -J`, `/proc/mounts` or `mount`."""
    if any(re.match(r'^\s*\{?\s*"filesystems"', line) for line in raw.lines):
        return _findmnt_json(raw)
    rows: list[Mount] = []
    odd: list[OddLine] = []
    for n, line in raw.numbered():
        text = line.rstrip()
        if match := _PROC_MOUNT.match(text):
            source, target = (_octal(match[k]) for k in (1, 2))
            rows.append(Mount(line=n, target=target, source=source, fstype=match[3], options=_options(match[4])))
        elif match := _MOUNT.match(text) or _BSD_MOUNT.match(text):
            rows.append(
                Mount(line=n, target=match[2], source=match[1], fstype=match[3], options=_options(match[4] or ""))
            )
        elif rows:
            odd.append(raw.odd(n))
    return Mounts(mounts=tuple(rows), odd=tuple(odd)) if rows else raw.unparsable("no mounts")


def _octal(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), text)


def _options(text: str) -> tuple[str, ...]:
    return tuple(o.strip() for o in text.split(",") if o.strip())


def _findmnt_json(raw: Raw) -> Outcome:
    read = json_value(raw)
    if isinstance(read, Unparsable):
        return read
    rows: list[Mount] = []
    at = read[1] - 1
    stack = list(read[0].get("filesystems") or ())[::-1] if isinstance(read[0], dict) else []
    while stack:
        row = stack.pop()
        if not isinstance(row, dict) or not isinstance(row.get("target"), str):
            continue
        target = row["target"]
        at = next((n for n in range(at, len(raw.lines)) if f'"{target}"' in raw.lines[n]), at)
        rows.append(
            Mount(
                line=at + 1,
                target=target,
                source=str(row.get("source") or ""),
                fstype=str(row.get("fstype") or ""),
                options=_options(str(row.get("options") or "")),
            )
        )
        if isinstance(row.get("children"), list):
            stack.extend(row["children"][::-1])
    return Mounts(mounts=tuple(rows)) if rows else raw.unparsable("no file systems in the JSON of findmnt")


class DiskLoad(BaseModel):
    """One device in one sample. Waits in ms, load in percent, rates in KiB/s; None where the column is missing.

    In JSON a row spans the lines from `line` to `last_line`, that of its write wait.
    """

    line: int
    last_line: int | None = None
    sample: int
    device: str
    reads_s: float | None = None
    writes_s: float | None = None
    read_kib_s: float | None = None
    write_kib_s: float | None = None
    await_ms: float | None = None
    read_await_ms: float | None = None
    write_await_ms: float | None = None
    queue: float | None = None
    util_pct: float | None = None


class IoStat(Facts):
    """Load of the block devices; samples count from 1. `iowait_pct` of the last CPU report where there is one."""

    rows: tuple[DiskLoad, ...]
    iowait_pct: float | None = None


_IO_NAMES = {
    "r/s": "reads_s",
    "w/s": "writes_s",
    "rkB/s": "read_kib_s",
    "wkB/s": "write_kib_s",
    "rMB/s": "read_mib_s",
    "wMB/s": "write_mib_s",
    "await": "await_ms",
    "r_await": "read_await_ms",
    "w_await": "write_await_ms",
    "aqu-sz": "queue",
    "avgqu-sz": "queue",
    "%util": "util_pct",
    "util": "util_pct",
}


def parse_iostat(raw: Raw) -> Outcome:
    """`iostat -x -d -y -o JSON 1 3` or the text of any sysstat version."""
    if any(re.match(r'^\s*\{?\s*"sysstat"', line) for line in raw.lines):
        return _iostat_json(raw)
    rows: list[DiskLoad] = []
    odd: list[OddLine] = []
    heads: list[str] = []
    iowait: float | None = None
    cut = [x.line for x in cut_line(raw)]
    sample = 0
    cpu: list[str] = []
    for n, line in raw.numbered():
        cells = line.split()
        if cells[0].rstrip(":") == "Device" and "%util" in cells:
            heads, sample, cpu = cells[1:], sample + 1, []
        elif cells[0] == "avg-cpu:":
            cpu = cells[1:]
        elif cpu and len(cells) == len(cpu):
            iowait, cpu = number(dict(zip(cpu, cells, strict=True)).get("%iowait", "")), []
        elif n not in cut and heads and len(cells) == len(heads) + 1 and number(cells[-1]) is not None:
            rows.append(_io_row(n, sample, cells[0], dict(zip(heads, cells[1:], strict=True))))
        elif heads and not re.match(r"^\d\d[/:.-]\d\d[/:.-]\d\d", line):
            odd.append(raw.odd(n))
    return IoStat(rows=tuple(rows), iowait_pct=iowait, odd=tuple(odd)) if rows else raw.unparsable("no iostat -x table")


def _iostat_json(raw: Raw) -> Outcome:
    read = json_value(raw)
    if isinstance(read, Unparsable):
        return read
    rows: list[DiskLoad] = []
    at = read[1] - 1
    for sample, statistics in enumerate(_io_samples(read[0]), 1):
        for row in statistics:
            device = str(row.get("disk_device", ""))
            at = next((n for n in range(at, len(raw.lines)) if f'"{device}"' in raw.lines[n]), at)
            load = _io_row(at + 1, sample, device, {k: str(v) for k, v in row.items()})
            rows.append(load.model_copy(update={"last_line": find_line(raw, '"w_await"', start=at + 1)}))
            at = min(at + 1, len(raw.lines) - 1)
    return IoStat(rows=tuple(rows)) if rows else raw.unparsable("no disks in the JSON of iostat")


def _io_samples(value: Any) -> Iterator[list[dict[str, Any]]]:
    hosts = value.get("sysstat", {}).get("hosts", ()) if isinstance(value, dict) else ()
    for host in hosts:
        for statistics in host.get("statistics", ()) if isinstance(host, dict) else ():
            disks = statistics.get("disk", ()) if isinstance(statistics, dict) else ()
            yield [d for d in disks if isinstance(d, dict)]


def _io_row(line: int, sample: int, device: str, cells: dict[str, str]) -> DiskLoad:
    values = {_IO_NAMES[k]: number(v) for k, v in cells.items() if k in _IO_NAMES}
    for kind in ("read", "write"):
        mib = values.pop(f"{kind}_mib_s", None)
        if mib is not None:
            values[f"{kind}_kib_s"] = mib * 1024
    return DiskLoad(line=line, sample=sample, device=device, **values)


class Raid(BaseModel):
    """One md array. `state` shows a `U` for every member that works and `_` for one that does not."""

    line: int
    name: str
    active: bool
    level: str | None = None
    members: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    state: str | None = None
    state_line: int | None = None
    rebuilding: bool = False


class MdStat(Facts):
    """Software RAID arrays; none is normal."""

    arrays: tuple[Raid, ...]


def parse_mdstat(raw: Raw) -> Outcome:
    """`/proc/mdstat`: `md0 : active raid1 nvme1n1p1[1] nvme0n1p1[0]`, then `… blocks [2/2] [UU]`."""
    arrays: list[dict[str, Any]] = []
    odd: list[OddLine] = []
    seen = ended = False
    for n, line in raw.numbered():
        text = line.strip()
        if text.startswith("Personalities"):
            seen = True
        elif match := re.match(r"^(md\S+)\s*:\s*(active|inactive)\s*(.*)$", text):
            seen = True
            words = [w for w in match[3].split() if not w.startswith("(")]
            level = words.pop(0) if words and "[" not in words[0] else None
            members = tuple(w.split("[")[0] for w in words)
            failed = tuple(w.split("[")[0] for w in words if "(F)" in w)
            arrays.append(
                {"line": n, "name": match[1], "active": match[2] == "active", "level": level}
                | {"members": members, "failed": failed}
            )
        elif text.startswith("unused devices"):
            ended = True
        elif arrays and (match := re.search(r"\bblocks\b.*?(\[[U_]+\])?$", text)):
            if match[1]:
                arrays[-1].update(state=match[1].strip("[]"), state_line=n)
        elif arrays and re.search(r"recovery|resync|reshape|check\s*=", text):
            arrays[-1]["rebuilding"] = True
        elif seen and not text.startswith("bitmap:"):
            odd.append(raw.odd(n))
    if not seen:
        return raw.unparsable("not /proc/mdstat")
    if not ended:
        odd.append(OddLine(line=len(raw.lines), text="ends before the line of unused devices"))
    if not arrays and not odd:
        return Empty("no software RAID")
    return MdStat(arrays=tuple(Raid(**a) for a in arrays), odd=tuple(odd))


class MountProbe(Facts):
    """A mount that answered `stat -f`. Blocks of `block_bytes`, None where not printed."""

    line: int
    fstype: str | None = None
    block_bytes: int | None = None
    blocks: int | None = None
    available: int | None = None
    inodes: int | None = None
    inodes_free: int | None = None


def parse_mnt_probe(raw: Raw) -> Outcome:
    """`timeout 5 stat -f /lustre`; the exit status 124 (the mount hangs) is decided before."""
    text = "\n".join(raw.lines if raw.complete else raw.lines[:-1])  # half a number is no number
    head = next((n for n, line in raw.numbered() if re.match(r'^\s*File: "', line)), None)
    if head is None:
        if "No such file or directory" in text:
            return NotAvailable("failed", "no such path on the node")
        return raw.unparsable("not stat -f")
    fstype = re.search(r"\bType: (\S+)", text)
    block = re.search(r"^Block size: (\d+)", text, re.M)
    blocks = re.search(r"^Blocks: Total: (\d+)\s+Free: \d+\s+Available: (\d+)", text, re.M)
    inodes = re.search(r"^Inodes: Total: (\d+)\s+Free: (\d+)", text, re.M)
    odd = () if blocks and inodes else (OddLine(line=len(raw.lines), text="ends before blocks and inodes"),)
    return MountProbe(
        line=head,
        fstype=fstype[1] if fstype else None,
        block_bytes=int(block[1]) if block else None,
        blocks=int(blocks[1]) if blocks else None,
        available=int(blocks[2]) if blocks else None,
        inodes=int(inodes[1]) if inodes else None,
        inodes_free=int(inodes[2]) if inodes else None,
        odd=odd,
    )
