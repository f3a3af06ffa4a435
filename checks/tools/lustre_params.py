"""`lctl get_param` on a client: imports, tunables, RPC histograms, operation counts.

osc.lustre-OST0000-osc-ffff9c01.import=
import:
    name: lustre-OST0000-osc-ffff9c01
    target: lustre-OST0000_UUID
    state: FULL
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.findings import Model
from checks.outputs import Facts, OddLine, Outcome, Raw
from checks.tools.formats import integer, number

_HEAD = re.compile(r"^([a-z]+(?:\.[\w.@:+-]+)+)=(.*)$")
_TARGET = re.compile(r"([\w-]+-(?:OST|MDT)[0-9a-f]{4})", re.I)


def params(raw: Raw) -> Iterator[tuple[int, str, str, list[tuple[int, str]]]]:
    """(line, parameter, value on its line, lines below it) for every parameter."""
    current: tuple[int, str, str, list[tuple[int, str]]] | None = None
    for n, line in raw.numbered():
        if found := _HEAD.match(line.strip()):
            if current:
                yield current
            current = (n, found[1], found[2].strip(), [])
        elif current:
            current[3].append((n, line))
    if current:
        yield current


def target_of(parameter: str) -> str:
    """`lustre-OST0000` out of a parameter's name, or the name."""
    found = _TARGET.search(parameter)
    return found[1] if found else parameter


class Import(Model):
    """A client's connection to one target; `FULL` is healthy, `IDLE` is closed for lack of use."""

    line: int
    target: str
    state: str
    attempts: int | None = None
    nid: str | None = None
    inflight: int | None = None
    timeouts: int | None = None


class Imports(Facts):
    """`lctl-import`."""

    imports: tuple[Import, ...]


def parse_lctl_import(raw: Raw) -> Outcome:
    """One import per target."""
    found: list[Import] = []
    odd: list[OddLine] = []
    for line, name, _, below in params(raw):
        if not name.endswith(".import"):
            continue
        values = {k.strip(): (n, v.strip()) for n, text in below for k, c, v in [text.strip().partition(":")] if c}
        state = values.get("state")
        if state is None:
            odd.append(OddLine(line=line, text=f"{target_of(name)}: no state"))
            continue
        found.append(
            Import(
                line=state[0],
                target=values.get("target", (0, target_of(name)))[1].removesuffix("_UUID"),
                state=state[1],
                attempts=_value(values, "connection_attempts"),
                nid=values["current_connection"][1].strip('"') if "current_connection" in values else None,
                inflight=_value(values, "inflight"),
                timeouts=_value(values, "timeouts"),
            )
        )
    if not found:
        return raw.unparsable("no import state")
    return Imports(imports=tuple(found), odd=tuple(odd))


def _value(values: dict[str, tuple[int, str]], name: str) -> int | None:
    return integer(values[name][1]) if name in values else None


class Tunables(Facts):
    """Values of client tunables by parameter, with their lines."""

    values: dict[str, float]
    lines: dict[str, int]

    def all_of(self, name: str) -> dict[str, float]:
        """`max_rpcs_in_flight` and the like, by target."""
        return {target_of(k): v for k, v in self.values.items() if k.endswith(f".{name}")}


def parse_lctl_osc_tune(raw: Raw) -> Outcome:
    """One number a line."""
    values: dict[str, float] = {}
    lines: dict[str, int] = {}
    for line, name, value, _ in params(raw):
        if (amount := number(value)) is not None:
            values[name], lines[name] = amount, line
    if not any(k.startswith(("osc.", "llite.")) for k in values):
        return raw.unparsable("no client tunable")
    return Tunables(values=values, lines=lines)


class RpcHistogram(Model):
    """Writes of one OST: RPCs by how many were in flight, and by pages per RPC; shares in per cent."""

    line: int
    target: str
    in_flight: dict[int, float]
    pages: dict[int, float]


class RpcStats(Facts):
    """`lctl-rpc-stats`."""

    targets: tuple[RpcHistogram, ...]


_BUCKET = re.compile(r"^\s*(\d+)(K?):\s+\d+\s+\d+\s+\d+\s*\|\s*(\d+)\s+(\d+)\s+\d+\s*$")


def parse_lctl_rpc_stats(raw: Raw) -> Outcome:
    """Write columns of the histograms of each OST."""
    found: list[RpcHistogram] = []
    groups = list(params(raw))
    if not groups and "rpcs in flight" in raw.text:
        groups = [(1, "osc", "", list(raw.numbered()))]
    for line, name, _, below in groups:
        tables: dict[str, dict[int, float]] = {"pages": {}, "flight": {}}
        at: str | None = None
        for _, text in below:
            lower = text.lower()
            if lower.startswith("pages per rpc"):
                at = "pages"
            elif lower.startswith("rpcs in flight") and "rpcs" in lower[14:]:
                at = "flight"
            elif lower.startswith("offset"):
                at = None
            elif at and (bucket := _BUCKET.match(text)):
                size = int(bucket[1]) * (1024 if bucket[2] else 1)
                tables[at][size] = float(bucket[4])
        if tables["pages"] or tables["flight"]:
            found.append(
                RpcHistogram(line=line, target=target_of(name), in_flight=tables["flight"], pages=tables["pages"])
            )
    if not found:
        return raw.unparsable("no RPC histogram")
    return RpcStats(targets=tuple(found))


class Operation(Model):
    """How often an operation was done; `total` is the sum in its unit (bytes, microseconds)."""

    line: int
    count: int
    total: int | None = None


class ClientStats(Facts):
    """`llite.*.stats` since mount, by operation."""

    operations: dict[str, Operation]


_STAT = re.compile(r"^(\w+)\s+(\d+)\s+samples\s+\[(\w+)\](?:\s+(\d+)\s+(\d+)\s+(\d+))?")


def parse_lctl_llite_stats(raw: Raw) -> Outcome:
    """Operations of the (first) mount; of several mounts the counts are added."""
    found: dict[str, Operation] = {}
    for _, name, _, below in params(raw):
        if not name.startswith("llite."):
            continue
        for n, text in below:
            if m := _STAT.match(text.strip()):
                before = found.get(m[1])
                count = int(m[2]) + (before.count if before else 0)
                total = int(m[6]) + (before.total or 0 if before else 0) if m[6] else None
                found[m[1]] = Operation(line=before.line if before else n, count=count, total=total)
    if not found:
        return raw.unparsable("no llite statistics")
    return ClientStats(operations=found)
