"""SONiC queues and priority groups: packets, ECN marks, peaks, drops. Text tables and, in newer releases, JSON.

For namespace :
     Port    TxQ    Counter/pkts    Counter/bytes    Drop/pkts    Drop/bytes
---------  -----  --------------  ---------------  -----------  ------------
Ethernet0    UC3          81,204       84,451,160            0             0

{"Ethernet0": {"time": "2026-03-04T02:30:00.1", "UC3": {"totalpacket": "81204", "totalbytes": "84451160",
               "droppacket": "0", "dropbytes": "0"}}}
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from checks.outputs import Empty, Facts, NotAvailable, OddLine, Outcome, Raw, Unparsable
from checks.tools.formats import absent, json_value
from checks.tools.sonic_tables import Row, count, wanted

_QUEUE = re.compile(r"^(?:UC|MC|ALL|VOQ)\d+$")


class Queue(Row):
    """One egress queue: `queue` is UC3, MC10 …; counts since they were cleared."""

    port: str
    queue: str
    packets: int | None = None
    bytes: int | None = None
    dropped_packets: int | None = None
    dropped_bytes: int | None = None


class Queues(Facts):
    """`show queue counters`. With --nonzero a queue that is not there counted nothing."""

    queues: tuple[Queue, ...]


class MarkedQueue(Row):
    """ECN marks and WRED drops of one egress queue."""

    port: str
    queue: str
    wred_dropped_packets: int | None = None
    marked_packets: int | None = None
    marked_bytes: int | None = None


class MarkedQueues(Facts):
    """`show queue wredcounters`."""

    queues: tuple[MarkedQueue, ...]


def parse_sw_queue(raw: Raw) -> Outcome:
    """Tables per port, or JSON."""
    found, odd = wanted(raw, "Port", "TxQ", "Counter/pkts", "Drop/pkts")
    if found:
        queues = tuple(
            Queue(
                line=n,
                port=c["Port"],
                queue=c["TxQ"],
                packets=count(c["Counter/pkts"]),
                bytes=count(c.get("Counter/bytes", "")),
                dropped_packets=count(c["Drop/pkts"]),
                dropped_bytes=count(c.get("Drop/bytes", "")),
            )
            for t in found
            for n, c in t.rows
        )
        return Queues(queues=queues, odd=odd)
    got = _json(raw, "totalpacket")
    if not isinstance(got, list):
        return got
    names = ("totalpacket", "totalbytes", "droppacket", "dropbytes")
    return Queues(
        queues=tuple(
            Queue(line=n, port=port, queue=queue, packets=a, bytes=b, dropped_packets=c, dropped_bytes=d)
            for n, port, queue, value in got
            for a, b, c, d in [[_cell(value.get(name)) for name in names]]
        )
    )


def parse_sw_wred(raw: Raw) -> Outcome:
    """As the queue counters; without WRED counters in the release every cell is N/A."""
    found, odd = wanted(raw, "Port", "TxQ", "EcnMarked/pkts")
    if found:
        queues = tuple(
            MarkedQueue(
                line=n,
                port=c["Port"],
                queue=c["TxQ"],
                wred_dropped_packets=count(c.get("WredDrp/pkts", "")),
                marked_packets=count(c["EcnMarked/pkts"]),
                marked_bytes=count(c.get("EcnMarked/bytes", "")),
            )
            for t in found
            for n, c in t.rows
        )
        return MarkedQueues(queues=queues, odd=odd)
    got = _json(raw, "ecnmarkedpacket")
    if not isinstance(got, list):
        return got
    names = ("wreddroppacket", "ecnmarkedpacket", "ecnmarkedbytes")
    return MarkedQueues(
        queues=tuple(
            MarkedQueue(line=n, port=port, queue=queue, wred_dropped_packets=a, marked_packets=b, marked_bytes=c)
            for n, port, queue, value in got
            for a, b, c in [[_cell(value.get(name)) for name in names]]
        )
    )


def _cell(value: Any) -> int | None:
    return count(str(value)) if isinstance(value, str | int) and not isinstance(value, bool) else None


def _json(raw: Raw, field: str) -> list[tuple[int, str, str, dict[str, Any]]] | Outcome:
    """(line, port, queue, fields) of the JSON form; `field` names what this command counts."""
    if raw.blank:
        return Empty("no queue has counted anything")
    got = json_value(raw)
    if isinstance(got, Unparsable):
        return got
    value, start = got
    if not isinstance(value, dict):
        return raw.unparsable("not queue counters: no JSON object of ports")
    keyed = _key_lines(raw, start)
    rows: list[tuple[int, str, str, dict[str, Any]]] = []
    for port, queues in value.items():
        if not isinstance(queues, dict) or not re.match(r"^[\w|-]*Ethernet|^[\w-]+\|", port):
            return raw.unparsable("not queue counters: an entry is not a port")
        for queue, fields in queues.items():
            if not isinstance(fields, dict):
                continue
            if not _QUEUE.match(queue) or field not in {k.lower() for k in fields}:
                return raw.unparsable(f"not these queue counters: no {field} in {queue}")
            lowered = {k.lower(): v for k, v in fields.items()}
            rows.append((keyed.get((port, queue), start), port, queue, lowered))
    if not value:
        return Empty("no queue has counted anything")
    return rows


def _key_lines(raw: Raw, start: int) -> dict[tuple[str, str], int]:
    """Line of each queue under its port."""
    found: dict[tuple[str, str], int] = {}
    port = ""
    for n, key in _keys(raw, start):
        if _QUEUE.match(key):
            found.setdefault((port, key), n)
        elif "Ethernet" in key:
            port = key
    return found


def _keys(raw: Raw, start: int) -> Iterator[tuple[int, str]]:
    for n, line in enumerate(raw.lines[start - 1 :], start):
        for key in re.findall(r'"([^"\\]+)"\s*:', line):
            yield n, key


class PerPort(Row):
    """One port and a value per queue or priority group, from 0 on; None for N/A."""

    port: str
    values: tuple[int | None, ...]


class QueuePeaks(Facts):
    """Highest egress occupancy per unicast queue since the last clear, bytes."""

    ports: tuple[PerPort, ...]


class HeadroomPeaks(Facts):
    """Highest headroom occupancy per priority group since the last clear, bytes."""

    ports: tuple[PerPort, ...]


class GroupDrops(Facts):
    """Packets dropped per priority group since the counters were cleared."""

    ports: tuple[PerPort, ...]


def parse_sw_queue_wm(raw: Raw) -> Outcome:
    """`Egress shared pool occupancy per unicast queue:` and its table."""
    got = _per_port(raw, "UC", "unicast queue", "show queue watermark unicast")
    return QueuePeaks(ports=got[0], odd=got[1]) if isinstance(got, tuple) else got


def parse_sw_pg_wm(raw: Raw) -> Outcome:
    """`Ingress headroom per PG:` and its table."""
    got = _per_port(raw, "PG", "headroom", "show priority-group watermark headroom")
    return HeadroomPeaks(ports=got[0], odd=got[1]) if isinstance(got, tuple) else got


def parse_sw_pg_drop(raw: Raw) -> Outcome:
    """`Ingress PG dropped packets:` and its table."""
    got = _per_port(raw, "PG", "dropped packets", "show priority-group drop counters")
    return GroupDrops(ports=got[0], odd=got[1]) if isinstance(got, tuple) else got


def _per_port(
    raw: Raw, prefix: str, title: str, command: str
) -> tuple[tuple[PerPort, ...], tuple[OddLine, ...]] | Outcome:
    """Rows of the table whose title names what it shows: the tables themselves look alike."""
    if re.search(r"^Warning: PG counters are disabled", raw.text, re.M):
        return NotAvailable("unsupported", "PG drop counters are not polled on this switch")
    found, odd = wanted(raw, "Port", f"{prefix}0")
    found = [t for t in found if title in t.title]
    if not found:
        return raw.unparsable(f"not `{command}`: no table titled {title}")
    rows: list[PerPort] = []
    for table in found:
        names = [name for name in table.names if re.fullmatch(rf"{prefix}\d+", name)]
        rows.extend(PerPort(line=n, port=c["Port"], values=tuple(count(c[x]) for x in names)) for n, c in table.rows)
    ports = tuple(r for r in rows if not absent(r.port))
    return (ports, odd) if ports or odd else Empty("no ports")
