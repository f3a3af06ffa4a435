"""What Slurm is set to: `scontrol show config`, `show res`, `show topology`; and `sreport cluster Utilization`.

SlurmdTimeout           = 300 sec

SwitchName=leaf02 Level=0 LinkSpeed=1 Nodes=gpu[017-032]
"""

from __future__ import annotations

import re
from datetime import datetime

from checks.findings import Model
from checks.outputs import Empty, Facts, OddLine, Outcome, Raw
from checks.tools import slurm_text as slurm
from checks.tools.formats import cut_off, number


class Config(Facts):
    """`slurm.conf` in force; values as printed, with their unit (`300 sec`)."""

    line: int
    values: dict[str, str]
    line_of: dict[str, int]

    def seconds(self, key: str) -> float | None:
        """A time in seconds; None when the key is not there or has no number."""
        text = self.values.get(key, "")
        got = number(text)
        return None if got is None else got * 60 if " min" in text else got


def parse_sconfig(raw: Raw) -> Outcome:
    """`scontrol show config`: `Key = value`; sections of other configurations follow in the same form."""
    values: dict[str, str] = {}
    lines: dict[str, int] = {}
    odd: list[OddLine] = []
    for n, line in raw.numbered():
        if found := re.match(r"^\s*([A-Za-z][\w./\[\]-]*)\s*=\s?(.*)$", line):
            values.setdefault(found[1], found[2].strip())
            lines.setdefault(found[1], n)
        elif values and not re.match(r"^(?:.*[Cc]onfiguration.*:?|Slurmctld\(.*|Cgroup .*|.*:)$", line.strip()):
            odd.append(raw.odd(n))
    if not {"SlurmdTimeout", "SlurmctldTimeout", "ClusterName", "SLURM_VERSION", "AuthType"} & set(values):
        return raw.unparsable("not the configuration of Slurm")
    if "SlurmdTimeout" not in values:
        odd.append(OddLine(line=len(raw.lines), text="ends before SlurmdTimeout"))
    if (cut := cut_off(raw)) is not None:
        odd.append(raw.odd(cut))
    return Config(line=min(lines.values()), values=values, line_of=lines, odd=tuple(odd))


# ---- reservations, topology, utilisation


class Reservation(Model):
    """A reservation; `state` ACTIVE or INACTIVE."""

    line: int
    name: str
    start: datetime | None = None
    end: datetime | None = None
    nodes: str | None = None
    state: str | None = None
    flags: str | None = None


class Reservations(Facts):
    """All reservations."""

    reservations: tuple[Reservation, ...]


def parse_sres(raw: Raw) -> Outcome:
    """`scontrol show res`, on one line or many, and the table of `sinfo -T`."""
    if any("No reservations in the system" in line for line in raw.lines):
        return Empty("no reservations")
    found, strays = slurm.records(raw.numbered(), "ReservationName")
    if found:
        odd = [raw.odd(n) for n in strays if n > found[0].line]
        odd += [OddLine(line=r.last, text="the record ends early") for r in found if "EndTime" not in r.values]
        rows = [
            Reservation(
                line=r.line,
                name=r.values["ReservationName"],
                start=slurm.moment(r.values.get("StartTime")),
                end=slurm.moment(r.values.get("EndTime")),
                nodes=r.get("Nodes"),
                state=r.get("State"),
                flags=r.get("Flags"),
            )
            for r in found
        ]
        return Reservations(reservations=tuple(rows), odd=tuple(odd))
    rows = []
    for n, line in raw.numbered():
        cells = line.split()
        if len(cells) >= 5 and slurm.is_time(cells[2]) and slurm.is_time(cells[3]):
            nodes = cells[5] if len(cells) > 5 else None
            times = (slurm.moment(cells[2]), slurm.moment(cells[3]))
            rows.append(Reservation(line=n, name=cells[0], state=cells[1], start=times[0], end=times[1], nodes=nodes))
    if rows:
        return Reservations(reservations=tuple(rows))
    return Empty("no reservations") if raw.blank else raw.unparsable("no reservations of Slurm")


class Switch(Model):
    """One switch of the topology Slurm knows; leaves have `nodes`, spines `switches`. A block has level 0."""

    line: int
    name: str
    level: int
    nodes: str | None = None
    switches: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes below, expanded."""
        return slurm.nodes_of(self.nodes)


class Topology(Facts):
    """The tree or the blocks."""

    switches: tuple[Switch, ...]

    def leaf_of(self) -> dict[str, str]:
        """Leaf of each node."""
        return {node: s.name for s in self.switches if s.level == 0 for node in s.names}


def parse_stopo(raw: Raw) -> Outcome:
    """`scontrol show topology`: SwitchName or BlockName records; nothing without a topology plugin."""
    if raw.blank or any("No topology information" in line for line in raw.lines):
        return Empty("no topology is configured")
    rows: list[Switch] = []
    odd: list[OddLine] = []
    for n, line in raw.numbered():
        cell = dict(slurm.pairs(line.strip()))
        name = cell.get("SwitchName") or cell.get("BlockName")
        if name is None:
            if rows:
                odd.append(raw.odd(n))
            continue
        level = number(cell.get("Level", cell.get("BlockIndex", "")))
        rows.append(
            Switch(
                line=n,
                name=name,
                level=0 if "BlockName" in cell or level is None else int(level),
                nodes=slurm.value(cell.get("Nodes")),
                switches=slurm.value(cell.get("Switches")),
            )
        )
    return Topology(switches=tuple(rows), odd=tuple(odd)) if rows else raw.unparsable("no topology of Slurm")


class Utilisation(Facts):
    """Use of the cluster; in the unit of the report, percent with `-t percent`."""

    line: int
    cluster: str
    allocated: float
    down: float | None
    planned_down: float | None
    idle: float | None
    planned: float | None
    reported: float | None
    percent: bool


def parse_sreport_util(raw: Raw) -> Outcome:
    """`sreport cluster Utilization`: parsable cells, or a table whose cells may read `3536774(40.56%)`."""
    for n, line in raw.numbered():
        cells = [c.strip() for c in line.split("|")] if "|" in line else line.split()
        values = [number(c) for c in cells[1:7]]
        if len(cells) >= 7 and None not in values and not set(line) <= set("- "):
            shares = [re.search(r"\((\d+(?:\.\d+)?)%\)", c) for c in cells[1:7]]
            percent = all(shares) or all(c.endswith("%") for c in cells[1:7])
            got = [float(s[1]) if s else v for s, v in zip(shares, values, strict=True)]
            assert got[0] is not None
            return Utilisation(
                line=n,
                cluster=cells[0],
                allocated=got[0],
                down=got[1],
                planned_down=got[2],
                idle=got[3],
                planned=got[4],
                reported=got[5],
                percent=percent,
            )
    return raw.unparsable("no utilisation of a cluster")
