"""nvidia-smi's CSV: rows by field name, with or without a heading and units, whatever is missing in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from checks import catalogue
from checks.outputs import NotAvailable, OddLine, Raw, Unparsable
from checks.tools.formats import absent, integer, number

_QUERY = re.compile(r"--query-(?:gpu|remapped-rows|retired-pages|compute-apps)=([\w.,-]+)")
_UNIT = re.compile(r"\s*\[[^\]]*\]$")

# The same value under the names of older and newer drivers.
_ALIASES = {
    "clocks_throttle_reasons.active": "clocks_event_reasons.active",
    "gpu_bus_id": "pci.bus_id",
    "gpu_uuid": "uuid",
    "gpu_name": "name",
    "gpu_serial": "serial",
    "clocks.current.sm": "clocks.sm",
    "clocks.current.memory": "clocks.mem",
    "clocks.max.memory": "clocks.max.mem",
    "used_gpu_memory": "used_memory",
}

_FAILURES = re.compile(
    r"^(?:No devices were found|Unable to determine the device handle|NVIDIA-SMI has failed|Failed to initialize NVML|"
    r"Field \".*\" is not a valid field|No running processes found)",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Row:
    """One row: the cells by canonical field name, and its line."""

    line: int
    cells: dict[str, str]

    def text(self, name: str) -> str | None:
        """A word; None for `N/A`, `[Not Supported]` and their like."""
        value = self.cells.get(name, "")
        return None if absent(value) else value

    def number(self, name: str) -> float | None:
        """A number, with or without a unit behind it."""
        value = self.cells.get(name, "")
        return None if absent(value) else number(value)

    def integer(self, name: str) -> int | None:
        """A whole number, decimal or hexadecimal."""
        value = self.cells.get(name, "")
        return None if absent(value) else integer(value)

    def flag(self, name: str) -> bool | None:
        """Yes/No, Enabled/Disabled, Active/Not Active, 0/1."""
        value = self.cells.get(name, "").strip().lower()
        if value in ("yes", "enabled", "active", "1", "true", "pending"):
            return True
        return False if value in ("no", "disabled", "not active", "0", "false") else None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows that were understood, and lines that were not."""

    rows: tuple[Row, ...]
    odd: tuple[OddLine, ...]


def fields_of(command: str) -> tuple[str, ...]:
    """The fields a catalogue command asks for, in order."""
    found = _QUERY.search(catalogue.get(command).command)
    return tuple(_canonical(f) for f in found[1].split(",")) if found else ()


def _canonical(name: str) -> str:
    name = _UNIT.sub("", name.strip().lower())
    return _ALIASES.get(name, name)


def table(raw: Raw, command: str, *, key: str = "index") -> Table | Unparsable | NotAvailable:
    """The rows of a query. `key` is the field whose value must look right in every row (`index`, `uuid`, `pci.bus_id`).

    Lines before the first row (a login banner) are skipped; after it a line with too few cells is odd.
    """
    fields: Sequence[str] = fields_of(command)
    rows: list[Row] = []
    odd: list[OddLine] = []
    for n, line in raw.numbered():
        if found := _FAILURES.match(line.strip()):
            if rows:
                odd.append(raw.odd(n))
                continue
            if found.group(0).startswith("Field"):
                return NotAvailable("unsupported", line.strip()[:160])
            return NotAvailable("failed", line.strip()[:160])
        # nvidia-smi quotes nothing, and no value it prints holds a comma
        cells = [c.strip() for c in line.split(",")]
        names = [_canonical(c) for c in cells]
        if not rows and key in names and len(set(names) & set(fields)) >= min(2, len(fields)):
            fields = names
            continue
        if len(cells) == len(fields) and _fits(key, dict(zip(fields, cells, strict=True))):
            rows.append(Row(n, dict(zip(fields, cells, strict=True))))
        elif rows:
            odd.append(raw.odd(n))
    if not rows:
        return raw.unparsable(f"no row with the fields of {command}")
    if not raw.complete and rows[-1].line == len(raw.lines) and odd_last(rows):
        odd.append(raw.odd(rows[-1].line))
    return Table(tuple(rows), tuple(odd))


def odd_last(rows: Sequence[Row]) -> bool:
    """Whether the last row may be cut inside its last cell: it is shorter than its peers' are, or has none."""
    if len(rows) < 2:
        return True
    last = [list(r.cells.values())[-1] for r in rows]
    return len(last[-1]) < min(len(v) for v in last[:-1])


_KEYS = {
    "index": re.compile(r"^\d{1,3}$"),
    "uuid": re.compile(r"^(?:GPU|MIG)-[0-9a-fA-F-]+", re.I),
    "pci.bus_id": re.compile(r"^[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-9a-fA-F]$"),
}


def _fits(key: str, cells: dict[str, str]) -> bool:
    return bool(_KEYS[key].match(cells.get(key, "")))


def cells(rows: Sequence[Row]) -> Iterator[tuple[int, Row]]:
    """(GPU index, row): the row's own index, else its place."""
    for place, row in enumerate(rows):
        index = row.integer("index")
        yield (place if index is None else index), row
