"""The two shapes SONiC prints: tables under a line of dashes, and `Name: x` blocks of two columns.

    IFACE    STATE    FEC_CORR
---------  -------  ----------
Ethernet0        U      81,004

Profile: AZURE_LOSSLESS
-------------------  -------
green_min_threshold  1048576
-------------------  -------
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict

from checks.outputs import OddLine, Raw
from checks.tools.formats import absent, columns, integer, number

_RULE = re.compile(r"^\s*-{2,}(?:\s+-{2,})*\s*$")
_HARMLESS = re.compile(
    r"^(?:Total (?:entries displayed|pools|profiles)\b|For namespace|Namespace\b|Last cached time|\S+ Last cached time|"
    r"The rates are calculated|Capability codes|Changed polling interval|BIG_RED_SWITCH)"
)


class Row(BaseModel):
    """A row with the line it was read from."""

    model_config = ConfigDict(frozen=True)

    line: int


@dataclass
class Table:
    """One table: `names` of the columns, and its rows as (line, cells); `title` is the line before the heading."""

    names: list[str]
    head_line: int
    title: str = ""
    rows: list[tuple[int, dict[str, str]]] = field(default_factory=list)

    def has(self, *names: str) -> bool:
        """True when the table has all these columns."""
        return all(name in self.names for name in names)


def tables(raw: Raw) -> tuple[list[Table], tuple[OddLine, ...]]:
    """Every table of the output, and the lines after the first one that belong to none.

    What stands before the first table (a login banner) is left out.
    """
    found: list[Table] = []
    odd: list[OddLine] = []
    lines = raw.lines
    i = 0
    while i < len(lines):
        text = lines[i]
        following = lines[i + 1] if i + 1 < len(lines) else ""
        if text.strip() and not _RULE.match(text) and _RULE.match(following) and _fits(text, following):
            table, i = _table(raw, i, odd)
            found.append(table)
            continue
        titled = following.strip() and i + 2 < len(lines) and _RULE.match(lines[i + 2])
        if found and text.strip() and not (_RULE.match(text) or _HARMLESS.match(text.strip()) or titled):
            odd.append(raw.odd(i + 1))
        i += 1
    return found, tuple(odd)


def _fits(head: str, rule: str) -> bool:
    """A heading has a name above every group of dashes."""
    return all(head[start:end].strip() for _, start, end in columns(rule))


def _table(raw: Raw, at: int, odd: list[OddLine]) -> tuple[Table, int]:
    head, rule = raw.lines[at], raw.lines[at + 1]
    # the first column takes what stands left of its dashes: some outputs are shifted by a blank
    cuts = [("", 0, end) if k == 0 else (name, start, end) for k, (name, start, end) in enumerate(columns(rule))]
    title = raw.lines[at - 1].strip() if at else ""
    table = Table([head[start:end].strip() for _, start, end in cuts], at + 1, "" if _RULE.match(title) else title)
    gaps = [range(len(rule[:start].rstrip()), start) for _, start, _ in cuts[1:]]
    i = at + 2
    while i < len(raw.lines):
        line = raw.lines[i]
        if not line.strip() or _RULE.match(line):
            break
        if _HARMLESS.match(line.strip()):
            i += 1
            continue
        cells = _cells(line, cuts, gaps)
        cut_off = i + 1 == len(raw.lines) and not raw.complete and len(line.rstrip()) < len(rule.rstrip())
        if cells is None or cut_off or not cells[0]:
            odd.append(raw.odd(i + 1))
        else:
            table.rows.append((i + 1, dict(zip(table.names, cells, strict=True))))
        i += 1
    if i < len(raw.lines) and _RULE.match(raw.lines[i]):
        i += 1
    return table, i


def _cells(line: str, cuts: list[tuple[str, int, int | None]], gaps: Iterable[range]) -> list[str] | None:
    if all(not line[gap.start : gap.stop].strip() for gap in gaps):
        return [line[start:end].strip() for _, start, end in cuts]
    # columns that do not line up (a pasted output): only when the words are as many as the columns
    for words in (re.split(r"\s{2,}", line.strip()), line.split()):
        if len(words) == len(cuts):
            return words
    return None


def wanted(raw: Raw, *names: str) -> tuple[list[Table], tuple[OddLine, ...]]:
    """The tables with all these columns; an empty list when the output is another command's."""
    found, odd = tables(raw)
    return [t for t in found if t.has(*names)], odd


@dataclass(frozen=True)
class Block:
    """One `Kind: name` block of two columns: `fields` as (name, value)."""

    line: int
    kind: str
    name: str
    fields: tuple[tuple[str, str], ...]


_BLOCK = re.compile(r"^(Profile|Pool|Lossless traffic pattern)(?:\s+for namespace\s+\S+)?\s*:\s*(\S*)\s*$")
_FIELD = re.compile(r"^(\S+)(?:\s+(\S.*?))?\s*$")


def blocks(raw: Raw) -> tuple[list[Block], tuple[OddLine, ...]]:
    """The blocks of `show ecn` and `show buffer configuration`; a block without its closing dashes is odd."""
    found: list[Block] = []
    odd: list[OddLine] = []
    current: tuple[int, str, str] | None = None
    fields: list[tuple[str, str]] = []
    rules = 0
    for n, line in raw.numbered():
        if head := _BLOCK.match(line.strip()):
            if current and rules < 2:
                odd.append(raw.odd(current[0]))
            current, fields, rules = (n, head[1], head[2]), [], 0
        elif _RULE.match(line):
            rules += 1
            if rules == 2 and current:
                found.append(Block(*current, tuple(fields)))
        elif current and rules == 1 and (pair := _FIELD.match(line)):
            fields.append((pair[1], (pair[2] or "").strip()))
        elif current and not _HARMLESS.match(line.strip()):
            odd.append(raw.odd(n))
    if current and rules < 2:
        odd.append(raw.odd(current[0], "the last block is cut off"))
        if fields:
            fields.pop()
        found.append(Block(*current, tuple(fields)))
    return found, tuple(odd)


def count(text: str) -> int | None:
    """A counter cell: `1,234`, or None for `N/A`."""
    return None if absent(text) else integer(text)


def pair(text: str) -> tuple[int | None, int | None]:
    """A cell like `2/1`."""
    first, slash, last = text.partition("/")
    return (count(first), count(last)) if slash and not absent(text) else (None, None)


_UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_RATE = re.compile(r"^([\d.,]+)\s*([KMGT]?)i?B/s$")


def bytes_per_s(text: str) -> float | None:
    """A rate cell like `59.14 KB/s` in bytes per second."""
    found = _RATE.match(text.strip())
    value = number(found[1]) if found else None
    return value * _UNITS[found[2]] if found and value is not None else None


def gbps(text: str) -> float | None:
    """A speed cell (`200G`, `1000M`) in Gbit/s."""
    value = number(text)
    unit = text.strip()[-1:].upper()
    if value is None or absent(text) or unit not in ("G", "M", "T"):
        return None
    return value * {"M": 1e-3, "G": 1.0, "T": 1e3}[unit]
