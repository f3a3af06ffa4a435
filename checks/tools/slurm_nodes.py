"""Nodes as Slurm sees them: `sinfo`, `sinfo -R`, `scontrol show node`; text, parsable and JSON.

gpu017|down*|Not responding|2026-03-04T02:10:05|slurm|0/0/128/128|gpu:a800:8|a800

PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST
train*       up   infinite     16  down* gpu[017-032]
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from checks.findings import Model
from checks.outputs import Empty, Facts, OddLine, Outcome, Raw, Unparsable
from checks.tools import slurm_text as slurm
from checks.tools.formats import find_line, integer, json_value
from checks.tools.slurm_events import parse_node_events


class SlurmNode(Model):
    """One row: a node, or a node set in one state. Memory in MiB; CPU counts are allocated, idle, other, total.

    `states` are lower-case words, flags included. `since` is when the reason was set.
    """

    line: int
    nodes: str | None = None
    states: tuple[str, ...] = ()
    partition: str | None = None
    count: int | None = None
    reason: str | None = None
    reason_line: int | None = None
    user: str | None = None
    since: datetime | None = None
    cpus: tuple[int, int, int, int] | None = None
    gres: str | None = None
    gpus: int | None = None
    gpus_used: int | None = None
    features: str | None = None
    memory_mib: int | None = None
    cpus_total: int | None = None
    boot_time: datetime | None = None
    slurmd_start: datetime | None = None
    version: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes, expanded."""
        return slurm.nodes_of(self.nodes)

    @property
    def down(self) -> bool:
        """True when the scheduler holds the node for lost."""
        return bool({"down", "not_responding", "no_respond", "error", "fail", "failing"} & set(self.states))

    @property
    def drained(self) -> bool:
        """True when the node takes no more jobs."""
        return bool({"drain", "drained", "draining"} & set(self.states))


class SlurmNodes(Facts):
    """Rows in the order printed; a node is listed once per partition by some commands. `not_found` were asked for."""

    rows: tuple[SlurmNode, ...]
    not_found: tuple[str, ...] = ()

    def of(self, node: str) -> SlurmNode | None:
        """The first row that holds the node."""
        return next((r for r in self.rows if node == r.nodes or node in r.names), None)


def parse_sinfo_N(raw: Raw) -> Outcome:
    """`sinfo -N -h -o '%N|%T|%E|%H|%u|%C|%G|%f'`, and the other forms of `sinfo`."""
    return _any(raw)


def parse_sinfo_R(raw: Raw) -> Outcome:
    """`sinfo -R`: nothing printed, or a heading alone, means that no node has a reason."""
    if raw.blank:
        return Empty("no node is down, drained or failing")
    return _any(raw)


def parse_snodes(raw: Raw) -> Outcome:
    """`scontrol show node`, in JSON or as `Key=Value`."""
    return _any(raw)


def _any(raw: Raw) -> Outcome:
    if any(re.match(r"\s*[{\[]", line) for line in raw.lines) and not any("NodeName=" in line for line in raw.lines):
        return _json(raw)
    if any(re.match(r"\s*NodeName=", line) for line in raw.lines):
        return _scontrol(raw)
    return _table(raw)


# ---- scontrol show node


def _scontrol(raw: Raw) -> Outcome:
    found, strays = slurm.records(raw.numbered(), "NodeName")
    missing: list[str] = []
    odd: list[OddLine] = []
    for n in strays:
        absent = re.match(r"Node (\S+) not found", raw.lines[n - 1].strip())
        if absent:
            missing.append(absent[1])
        elif n > found[0].line:
            odd.append(raw.odd(n))
    rows = []
    for record in found:
        row = _of_record(record)
        rows.append(row)
        if not row.states:
            odd.append(OddLine(line=record.last, text="the record ends before the node's state"))
    if not raw.complete:
        odd.append(raw.odd(len(raw.lines)))
    return SlurmNodes(rows=tuple(rows), not_found=tuple(missing), odd=tuple(odd))


def _of_record(record: slurm.Record) -> SlurmNode:
    reason, user, since = slurm.reason_of(record.values.get("Reason"))
    total, used = integer(record.values.get("CPUTot", "")), integer(record.values.get("CPUAlloc", ""))
    gpus = slurm.gpus(record.values.get("Gres")) or slurm.gpus(record.values.get("CfgTRES"))
    return SlurmNode(
        line=record.line_of.get("State", record.line),
        nodes=record.values["NodeName"] or None,
        states=slurm.node_states(record.values.get("State", "")),
        partition=record.get("Partitions"),
        reason=reason,
        reason_line=record.line_of.get("Reason"),
        user=user,
        since=since,
        cpus=(used, total - used, 0, total) if total is not None and used is not None else None,
        gres=record.get("Gres"),
        gpus=gpus,
        # an empty AllocTRES says that nothing is used
        gpus_used=(slurm.gpus(record.values["AllocTRES"]) or 0) if gpus and "AllocTRES" in record.values else None,
        features=record.get("ActiveFeatures", "Features"),
        memory_mib=integer(record.values.get("RealMemory", "")),
        cpus_total=total,
        boot_time=slurm.moment(record.values.get("BootTime")),
        slurmd_start=slurm.moment(record.values.get("SlurmdStartTime")),
        version=record.get("Version"),
    )


# ---- JSON of sinfo, scontrol and the REST service


def _json(raw: Raw) -> Outcome:
    found = json_value(raw)
    if isinstance(found, Unparsable):
        return found
    document, start = found
    items = document.get("nodes", document.get("sinfo")) if isinstance(document, dict) else None
    if not isinstance(items, list):
        return Unparsable("JSON without a list of nodes", start)
    rows: list[SlurmNode] = []
    odd: list[OddLine] = []
    at = start
    for item in items:
        row = _of_json(item, raw, at) if isinstance(item, dict) else None
        if row is None:
            odd.append(OddLine(line=at, text="an entry of `nodes` without a name or a state"))
            continue
        at = row.line
        rows.append(row)
    for error in slurm.words_of([e.get("description") or e for e in document.get("errors") or [] if e]):
        odd.append(OddLine(line=start, text=f"the answer carries an error: {error}"[:200]))
    if not rows and not odd:
        return Empty("no nodes")
    return SlurmNodes(rows=tuple(rows), odd=tuple(odd))


def _of_json(item: dict[str, Any], raw: Raw, at: int) -> SlurmNode | None:
    inner, sinfo = item.get("node"), item.get("nodes")
    state, flags = item.get("state"), item.get("state_flags")
    name = item.get("name") or item.get("hostname")
    if isinstance(inner, dict) and isinstance(sinfo, dict):
        # `sinfo --json` of 23.11 on: one entry per group of equal nodes
        state, name = inner.get("state"), ",".join(slurm.words_of(sinfo.get("nodes")))
    states = tuple(
        dict.fromkeys(
            w for text in (*slurm.words_of(state), *slurm.words_of(flags)) for w in slurm.node_states(text.lower())
        )
    )
    if not isinstance(name, str) or not name or not states:
        return None
    line = find_line(raw, f'"{name.split(",")[0]}"', start=at)
    reason = item.get("reason")
    reason = reason.get("description") if isinstance(reason, dict) else reason
    gres = item.get("gres")
    gres = gres.get("total") if isinstance(gres, dict) else gres
    used = item.get("gres_used")
    used = item["gres"].get("used") if isinstance(item.get("gres"), dict) else used
    reason = slurm.value(reason) if isinstance(reason, str) else None
    total, allocated = slurm.number_of(item.get("cpus")), slurm.number_of(item.get("alloc_cpus"))
    tres = item.get("tres_used")
    return SlurmNode(
        line=line,
        nodes=name,
        states=states,
        partition=",".join(slurm.words_of(item.get("partitions"))) or None,
        reason=reason,
        reason_line=find_line(raw, '"reason"', start=line) if reason else None,
        user=slurm.value(user) if isinstance(user := item.get("reason_set_by_user"), str) else None,
        since=slurm.epoch_of(item.get("reason_changed_at")),
        cpus=(
            (int(allocated), int(total - allocated), 0, int(total))
            if total is not None and allocated is not None
            else None
        ),
        gres=slurm.value(gres) if isinstance(gres, str) else None,
        gpus=slurm.gpus(gres if isinstance(gres, str) else None),
        gpus_used=slurm.gpus(used if isinstance(used, str) else None)
        or (slurm.gpus(tres) if isinstance(tres, str) else None),
        features=slurm.value(f) if isinstance(f := item.get("active_features"), str) else None,
        memory_mib=int(m) if (m := slurm.number_of(item.get("real_memory"))) is not None else None,
        cpus_total=int(total) if total is not None else None,
        boot_time=slurm.epoch_of(item.get("boot_time")),
        slurmd_start=slurm.epoch_of(item.get("slurmd_start_time")),
        version=slurm.value(v) if isinstance(v := item.get("version", item.get("slurmd_version")), str) else None,
    )


# ---- tables of sinfo

_HEADINGS = {
    "NODELIST": "nodes", "NODEHOST": "nodes", "HOSTNAMES": "nodes", "NODENAME": "nodes", "STATE": "state",
    "STATELONG": "state", "STATECOMPLETE": "state", "STATECOMPACT": "state", "REASON": "reason", "USER": "user",
    "TIMESTAMP": "since", "CPUSAIOT": "cpus", "NODESAIOT": "counts", "GRES": "gres", "GRESUSED": "used",
    "AVAILFEATURES": "features", "ACTIVEFEATURES": "features", "AVAILFE": "features", "PARTITION": "partition",
    "NODES": "count", "MEMORY": "memory", "CPUS": "cpu_count",
}  # fmt: skip
_IGNORED = {
    "AVAIL", "TIMELIMIT", "SCT", "TMPDISK", "WEIGHT", "ALLOCMEM", "FREEMEM", "CPULOAD", "ROOT", "OVERSUBS", "GROUPS",
    "JOBSIZE", "SOCKETS", "CORES", "THREADS", "DEFAULTTIME", "PRIO", "SIZE", "SHARE", "VERSION", "PRIOTIER",
    "PRIOJOBFACTOR", "PREEMPTMODE", "EXTRA", "COMMENT", "CLUSTER", "ALLOCNODES",
}  # fmt: skip
_FORM_N = ("nodes", "state", "reason", "since", "user", "cpus", "gres", "features")
_FORM_R = ("reason", "user", "since", "nodes")
_DATE = re.compile(r"^\w{3} \w{3} +\d+ \d\d:\d\d:\d\d \d{4}$")
_REASON_ROW = re.compile(
    r"^(?P<reason>.*?)\s+(?P<user>[\w.$-]+(?:\(\d+\))?)\s+(?P<since>\d{4}-\d\d-\d\dT\S+|\d{9,11}|Unknown)\s+"
    r"(?:(?P<state>\S+)\s+)?(?P<nodes>\S+)\s*$"
)


def _table(raw: Raw) -> Outcome:
    names: list[str] | None = None
    rows: list[SlurmNode] = []
    odd: list[OddLine] = []
    for n, line in raw.numbered():
        mark = slurm.separator(line)
        heads = [slurm.name_of(c) for c in (line.split(mark) if mark else line.split())]
        if _is_heading(heads):
            names = [h for h in heads if h or mark]
            continue
        row = _reason_row(n, line) if not mark and (names is None or "REASON" in names[:1]) else None
        row = row or _row(n, line, mark, names)
        if row is not None:
            rows.append(row)
        elif (rows or names) and not _DATE.match(line.strip()):
            odd.append(raw.odd(n))
    if not rows and names is not None and not odd:
        return Empty("a heading and no rows: no node is down, drained or failing")
    if not rows:
        return raw.unparsable("no rows of sinfo")
    if not raw.complete:
        odd.append(raw.odd(len(raw.lines)))
    return SlurmNodes(rows=tuple(rows), odd=tuple(odd))


def _is_heading(heads: list[str]) -> bool:
    known = [h for h in heads if h in _HEADINGS or h in _IGNORED]
    # a row may hold one word that is a heading by chance, never most of them
    return len(known) >= 2 and len(known) * 2 > len(heads) and bool({"NODELIST", "GRES"} & set(known) or len(known) > 3)


def _reason_row(n: int, line: str) -> SlurmNode | None:
    found = _REASON_ROW.match(line)
    if found is None or not slurm.nodes_of(found["nodes"]):
        return None
    states = slurm.node_states(found["state"]) if found["state"] else ()
    if found["state"] and not states:
        return None
    return _made(n, {k: v for k, v in found.groupdict().items() if v is not None}) if found["reason"].strip() else None


def _row(n: int, line: str, mark: str | None, names: list[str] | None) -> SlurmNode | None:
    if mark:
        cells = slurm.cells(line, mark, len(names) if names else 8)
        if names is not None and len(cells) == len(names):
            return _made(n, {_HEADINGS[h]: c for h, c in zip(names, cells, strict=True) if h in _HEADINGS})
        if len(cells) >= 8 and slurm.node_states(cells[1]):
            # a reason may hold the separator: two cells stand before it, five behind
            reason = "|".join(cells[2 : len(cells) - 5])
            return _made(n, dict(zip(_FORM_N, (*cells[:2], reason, *cells[-5:]), strict=True)))
        if len(cells) >= 4 and slurm.is_time(cells[-2]) and slurm.nodes_of(cells[-1]):
            return _made(n, dict(zip(_FORM_R, ("|".join(cells[:-3]), *cells[-3:]), strict=True)))
        return _guessed(n, cells)
    cells = line.split()
    if names is not None:
        if names[-1] == "REASON" and len(cells) >= len(names):
            cells = [*cells[: len(names) - 1], " ".join(cells[len(names) - 1 :])]
        if len(cells) == len(names):
            row = _made(n, {_HEADINGS[h]: c for h, c in zip(names, cells, strict=True) if h in _HEADINGS})
            return row if row and (row.names or row.states or "NODELIST" not in names) else None
        return None
    return _guessed(n, cells)


def _made(n: int, cells: dict[str, str]) -> SlurmNode | None:
    states = slurm.node_states(cells.get("state", ""))
    if cells.get("state") and not states:
        return None
    parts = [integer(x) for x in cells.get("cpus", "").split("/")]
    cpus = (parts[0], parts[1], parts[2], parts[3]) if len(parts) == 4 else None
    total = integer(cells.get("cpu_count", ""))
    reason = slurm.value(cells.get("reason"))
    return SlurmNode(
        line=n,
        nodes=slurm.value(cells.get("nodes")),
        states=states,
        partition=cells["partition"].rstrip("*") if "partition" in cells else None,
        count=integer(cells.get("count", "")),
        reason=reason,
        reason_line=n if reason else None,
        user=slurm.value(re.sub(r"\(\d+\)$", "", cells.get("user", ""))),
        since=slurm.moment(cells.get("since")),
        cpus=cpus if cpus and None not in cpus else None,
        gres=slurm.value(cells.get("gres")),
        gpus=slurm.gpus(cells.get("gres")),
        gpus_used=slurm.gpus(cells.get("used")),
        features=slurm.value(cells.get("features")),
        memory_mib=integer(cells.get("memory", "")),
        cpus_total=cpus[3] if cpus else total,
    )


def _guessed(n: int, cells: list[str]) -> SlurmNode | None:
    """A row of a format nobody announced: every cell is known by its shape, the order is free."""
    found: dict[str, str] = {}
    rest: list[str] = []
    for cell in cells:
        if "state" not in found and slurm.node_states(cell):
            found["state"] = cell
        elif re.fullmatch(r"\d+/\d+/\d+/\d+", cell):
            found["cpus"] = cell
        elif re.match(r"(?:gpu|shard|mps|gres|craynetwork)[:/]", cell):
            found["used" if "gres" in found else "gres"] = cell
        elif cell == "(null)":
            found.setdefault("gres", cell)
        else:
            rest.append(cell)
    if len(cells) == 2 and found.keys() & {"gres", "state"} and rest and rest[0].isdigit():
        # nodes counted per Gres, or per state
        return _made(n, {**found, "count": rest[0]})
    if "state" not in found:
        return None
    if len(cells) == 6 and cells[1] in ("up", "down", "drain", "inact") and cells[3].isdigit():
        return _made(n, {"partition": cells[0], "count": cells[3], "state": cells[4], "nodes": cells[5]})
    if len(cells) == 4 and cells[1].isdigit() and slurm.nodes_of(cells[0]):
        return _made(n, {"nodes": cells[0], "count": cells[1], "partition": cells[2], "state": cells[3]})
    nodes = [c for c in rest if slurm.nodes_of(c) and not c.isdigit() and not c.endswith("*")]
    return _made(n, {**found, "nodes": nodes[0]}) if nodes and nodes[0] == (rest[0] if rest else "") else None


__all__ = ["SlurmNode", "SlurmNodes", "parse_node_events", "parse_sinfo_N", "parse_sinfo_R", "parse_snodes"]
