"""Quality of service on the host side: `mlnx_qos`, `dcb pfc`, `cma_roce_tos`, `show_gids`.

Priority trust state: dscp
dscp2prio mapping:
        prio:3 dscp:31,30,29,28,27,26,25,24,
PFC configuration:
        priority    0   1   2   3   4   5   6   7
        enabled     0   0   0   1   0   0   0   0
{"pfc_cap":8,"macsec_bypass":false,"delay":0,"prio_pfc":{"0":false,…,"3":true}}
"""

from __future__ import annotations

import re
from typing import Any

from checks.findings import Model
from checks.outputs import Empty, Facts, OddLine, Outcome, Raw, Unparsable
from checks.tools.formats import cut_off, find_line, json_value

_DSCP = re.compile(r"^prio:\s*([0-7])\s+dscp:\s*([\d,\s]*)$")
_TC = re.compile(r"^tc:\s*(\d+)\s+ratelimit:\s*(.*?),\s*tsa:\s*(\w+)(?:,\s*bw:\s*(\d+)%)?")
_PRIORITY = re.compile(r"^priority:\s*([0-7])\b")
_GID = re.compile(r"^(\S+)\s+(\d+)\s+(\d+)\s+([0-9a-fA-F:]{15,39})\s+(?:(\d+\.\d+\.\d+\.\d+)\s+)?[vV]([12])\b\s*(\S+)?")


class NicQos(Facts):
    """What a NIC does with priorities. `pfc` holds the priorities with PFC on; None when they were not printed."""

    line: int
    trust: str | None = None
    trust_line: int | None = None
    pfc: frozenset[int] | None = None
    pfc_line: int | None = None
    dscp_to_priority: dict[int, int] = {}
    tc_of_priority: dict[int, int] = {}
    buffers_bytes: tuple[int, ...] = ()
    dcbx: str | None = None


class DcbPfc(Facts):
    """Priorities on which an interface uses PFC."""

    line: int
    pfc: frozenset[int]
    willing: bool | None = None


class RoceTos(Facts):
    """Type of service forced on RDMA-CM connections; 0 when none is forced."""

    line: int
    tos: int


class Gid(Model):
    """One entry of a GID table; `version` 1 or 2 of RoCE."""

    line: int
    device: str
    port: int
    index: int
    gid: str
    ipv4: str | None = None
    version: int
    netdev: str | None = None


class Gids(Facts):
    """The GID tables of a node."""

    gids: tuple[Gid, ...]


def parse_qos_mlnx(raw: Raw) -> Outcome:
    """Trust state, PFC priorities and maps of `mlnx_qos -i`."""
    values: dict[str, Any] = {}
    dscp: dict[int, int] = {}
    tcs: dict[int, int] = {}
    odd: list[OddLine] = []
    first = 0
    tc: int | None = None
    priorities: list[int] = []
    cut = cut_off(raw)
    for n, line in raw.numbered():
        text = line.strip()
        known = True
        if n == cut and not re.match(r"priority:\s*\d$", text):
            known = False
        elif found := re.match(r"^DCBX mode:\s*(.*)$", text):
            values["dcbx"] = found[1]
        elif found := re.match(r"^Priority trust state:\s*(\S+)", text):
            values.update(trust=found[1].lower(), trust_line=n)
        elif found := _DSCP.match(text):
            dscp.update({int(d): int(found[1]) for d in re.findall(r"\d+", found[2])})
        elif found := re.match(r"^Receive buffer size \(bytes\):\s*([\d,]+)", text):
            values["buffers_bytes"] = tuple(int(b) for b in found[1].split(",") if b)
        elif re.match(r"^priority\s+0\b", text):
            priorities = [int(p) for p in text.split()[1:] if p.isdigit()]
        elif re.match(r"^enabled\s+[01]\b", text) and len(text.split()) == len(priorities) + 1:
            on = [p for p, v in zip(priorities, text.split()[1:], strict=True) if v == "1"]
            values.update(pfc=frozenset(on), pfc_line=n)
        elif found := _TC.match(text):
            tc = int(found[1])
        elif (found := _PRIORITY.match(text)) and tc is not None:
            tcs[int(found[1])] = tc
        else:
            known = bool(re.match(r"^(?:dscp2prio mapping|PFC configuration|buffer\s|Cable len|[Dd]efault prio)", text))
        if known:
            first = first or n
        elif first:
            odd.append(raw.odd(n))
    if not ({"trust", "pfc"} & set(values)):
        return raw.unparsable("neither a trust state nor PFC priorities")
    return NicQos(line=first, dscp_to_priority=dscp, tc_of_priority=tcs, odd=tuple(odd), **values)


def parse_qos_dcb(raw: Raw) -> Outcome:
    """PFC priorities of `dcb pfc show`, JSON or text (`prio-pfc 0:off 1:off …`)."""
    if any(line.lstrip().startswith("{") for line in raw.lines):
        found = json_value(raw)
        if isinstance(found, Unparsable):
            return found
        value = found[0]
        table = value.get("prio_pfc", value.get("prio-pfc")) if isinstance(value, dict) else None
        if isinstance(table, list):
            table = {str(i): v for i, v in enumerate(table)}
        if not isinstance(table, dict) or not table:
            return raw.unparsable("JSON without `prio_pfc`")
        if any(not str(k).isdigit() or v not in (True, False, 0, 1, "on", "off") for k, v in table.items()):
            return raw.unparsable("`prio_pfc` has values other than on and off")
        on = frozenset(int(k) for k, v in table.items() if v in (True, 1, "on"))
        return DcbPfc(line=find_line(raw, "pfc"), pfc=on)
    for n, line in raw.numbered():
        pairs = re.findall(r"\b([0-7]):(on|off)\b", line)
        if "prio-pfc" in line and pairs:
            odd = (raw.odd(n),) if len(pairs) < 8 else ()
            return DcbPfc(line=n, pfc=frozenset(int(p) for p, v in pairs if v == "on"), odd=odd)
    return raw.unparsable("no `prio-pfc`")


def parse_roce_tos(raw: Raw) -> Outcome:
    """The number `cma_roce_tos` prints."""
    for n, line in raw.numbered():
        if re.fullmatch(r"\d{1,3}", line.strip()):
            return RoceTos(line=n, tos=int(line))
    return raw.unparsable("no type of service")


def parse_gids(raw: Raw) -> Outcome:
    """GID tables of `show_gids` (tabs between the columns)."""
    if raw.blank:
        return Empty("no GID")
    head = next((n for n, x in raw.numbered() if re.match(r"^DEV\s+PORT\s+INDEX", x)), None)
    if head is None:
        return raw.unparsable("no heading of a GID table")
    gids: list[Gid] = []
    odd: list[OddLine] = []
    told: int | None = None
    for n in range(head + 1, len(raw.lines) + 1):
        line = raw.lines[n - 1]
        if found := _GID.match(line):
            gids.append(
                Gid(
                    line=n,
                    device=found[1],
                    port=int(found[2]),
                    index=int(found[3]),
                    gid=found[4],
                    ipv4=found[5],
                    version=int(found[6]),
                    netdev=found[7],
                )
            )
        elif count := re.match(r"^n_gids_found=(\d+)", line):
            told = int(count[1])
        elif line.strip() and not re.match(r"^[-\s]+$", line):
            odd.append(raw.odd(n))
    if not gids:
        return Empty("no GID") if told == 0 else raw.unparsable("no GID after the heading")
    if told != len(gids):
        odd.append(raw.odd(len(raw.lines)))
    return Gids(gids=tuple(gids), odd=tuple(odd))
