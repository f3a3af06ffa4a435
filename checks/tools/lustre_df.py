"""Space and inodes per target (`lfs df`, `lfs df -i`), and quotas.

    UUID                   1K-blocks        Used   Available Use% Mounted on
    lustre-MDT0000_UUID  16106127360   966367641 14978698444   7% /lustre[MDT:0]
    lustre-OST0011_UUID 214748364800 …                       90% /lustre[OST:17] S
    OST0012             : inactive device

Letters behind a row: D degraded, R read-only, S out of space, I out of inodes, N no new objects.
"""

from __future__ import annotations

import re
from typing import Literal

from checks.findings import Model
from checks.outputs import Empty, Facts, OddLine, Outcome, Raw
from checks.tools.formats import number


class Target(Model):
    """One MDT or OST. `total`, `used`, `available` in KiB (or inodes); `used_pct` as printed, whole per cent."""

    line: int
    name: str
    kind: Literal["MDT", "OST"]
    index: int | None = None
    total: float | None = None
    used: float | None = None
    available: float | None = None
    used_pct: float | None = None
    flags: str = ""
    active: bool = True


class LustreDf(Facts):
    """All targets of one mount."""

    mount: str | None = None
    targets: tuple[Target, ...]

    def of(self, kind: str) -> tuple[Target, ...]:
        """Targets of one kind."""
        return tuple(t for t in self.targets if t.kind == kind)


_ROW = re.compile(
    r"^(\S+?)(?:_UUID)?\s+(\S+)\s+(\S+)\s+(\S+)\s+(\d+)%\s+(/\S*?)\[(MDT|OST):(\d+)\]\s*([A-Z]*)\s*\S*$", re.I
)
# "inactive device", or the error the target answered with: "Resource temporarily unavailable"
_INACTIVE = re.compile(r"^(\S*?(MDT|OST)([0-9a-f]{4})\S*)\s*:\s*[A-Za-z].*$", re.I)
_UNITS = {"K": 1.0, "M": 1024.0, "G": 1024.0**2, "T": 1024.0**3, "P": 1024.0**4, "E": 1024.0**5}


def parse_lfs_df(raw: Raw) -> Outcome:
    """Space per target, plain or with `-h`."""
    return _table(raw, inodes=False)


def parse_lfs_dfi(raw: Raw) -> Outcome:
    """Inodes per target."""
    return _table(raw, inodes=True)


def _table(raw: Raw, *, inodes: bool) -> Outcome:
    heading = next((line for _, line in raw.numbered() if line.startswith("UUID")), None)
    if heading is not None and ("inode" in heading.lower()) != inodes:
        return raw.unparsable("inodes instead of space" if not inodes else "space instead of inodes")
    targets: list[Target] = []
    odd: list[OddLine] = []
    mount: str | None = None
    summary = False
    for n, line in raw.numbered():
        text = line.rstrip()
        if found := _ROW.match(text):
            mount = mount or found[6]
            total, used, available = (_amount(found[k]) for k in (2, 3, 4))
            targets.append(
                Target(
                    line=n,
                    name=found[1].removesuffix("_UUID"),
                    kind=found[7].upper(),
                    index=int(found[8]),
                    total=total,
                    used=used,
                    available=available,
                    used_pct=float(found[5]),
                    flags=found[9],
                )
            )
        elif found := _INACTIVE.match(text.strip()):
            kind = found[2].upper()
            name = found[1].removesuffix("_UUID")
            targets.append(Target(line=n, name=name, kind=kind, index=int(found[3], 16), active=False))
        elif re.match(r"^filesystem[_ ]summary", text, re.I):
            summary = True
        elif targets and not text.startswith("UUID"):
            odd.append(raw.odd(n))
    if not targets:
        return raw.unparsable("no target of lfs df")
    if not summary:
        odd.append(OddLine(line=len(raw.lines), text="no summary line: the list may be cut off"))
    return LustreDf(mount=mount, targets=tuple(targets), odd=tuple(odd))


def _amount(text: str) -> float | None:
    value = number(text)
    unit = text.strip().rstrip("iB")[-1:].upper()
    return value * _UNITS[unit] if value is not None and unit in _UNITS else value


class Quota(Model):
    """Use and limits of one kind: KiB for blocks, a count for files; a limit of 0 is none."""

    line: int
    used: float
    soft: float
    hard: float
    exceeded: bool


class Quotas(Facts):
    """`lfs quota -q -u USER MOUNT`."""

    mount: str
    blocks: Quota
    files: Quota


# `[1234]` is a use that some target did not tell; `-h` prints 1.5T and `0k`; a long mount point takes its own line
_AMOUNT = r"\[?(\d[\d.]*[kKMGTPE]?)\]?"
_QUOTA = re.compile(
    rf"^\s*(/\S*)?\s+{_AMOUNT}(\*?)\s+{_AMOUNT}\s+{_AMOUNT}\s+\S+\s+{_AMOUNT}(\*?)\s+{_AMOUNT}\s+{_AMOUNT}\s+\S+\s*$"
)
_MOUNT = re.compile(r"^\s*(/\S*)\s*$")


def parse_lfs_quota(raw: Raw) -> Outcome:
    """The row of the mount; `*` marks an exceeded limit."""
    if raw.blank:
        return Empty("no quota")
    mount: str | None = None
    for n, line in raw.numbered():
        if alone := _MOUNT.match(line):
            mount = alone[1]
        elif m := _QUOTA.match(line):
            where = m[1] or mount
            if where is None:
                continue
            used, soft, hard, files, files_soft, files_hard = (_amount(m[k]) or 0.0 for k in (2, 4, 5, 6, 8, 9))
            untold = (OddLine(line=n, text="a target did not tell its use"),) if "[" in line else ()
            return Quotas(
                mount=where,
                blocks=Quota(line=n, used=used, soft=soft, hard=hard, exceeded=bool(m[3])),
                files=Quota(line=n, used=files, soft=files_soft, hard=files_hard, exceeded=bool(m[7])),
                odd=untold,
            )
    return raw.unparsable("no quota row")
