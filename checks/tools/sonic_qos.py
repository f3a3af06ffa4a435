"""SONiC quality of service: PFC counters and watchdog, ECN profiles, buffers, maps, hash fields.

  Port Rx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7
---------  ------  ------  ------  ------  ------  ------  ------  ------
Ethernet0       0       0       0   1,204       0       0       0       0
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from checks.outputs import Empty, Facts, OddLine, Outcome, Raw
from checks.tools.formats import absent, integer
from checks.tools.sonic_config import parse_sw_hash as parse_sw_hash
from checks.tools.sonic_config import parse_sw_qos_json as parse_sw_qos_json
from checks.tools.sonic_tables import Block, Row, Table, blocks, count, pair, wanted


class PfcRow(Row):
    """Frames of one port per priority 0 to 7; None for N/A."""

    port: str
    frames: tuple[int | None, ...]


class PfcCounters(Facts):
    """`show pfc counters`: `rx` are frames received (the peer asks us to stop), `tx` frames sent."""

    rx: tuple[PfcRow, ...]
    tx: tuple[PfcRow, ...]

    def row(self, direction: str, port: str) -> PfcRow | None:
        """A port's row of one direction."""
        return next((r for r in getattr(self, direction) if r.port == port), None)


def _numbered(table: Table, prefix: str) -> list[str]:
    """The columns PFC0, PFC1, … of a table in order."""
    return [name for name in table.names if re.fullmatch(rf"{prefix}\d+", name)]


def parse_sw_pfc(raw: Raw) -> Outcome:
    """Two tables, received then sent; a missing second one is odd."""
    rx, odd = wanted(raw, "Port Rx", "PFC0")
    tx, _ = wanted(raw, "Port Tx", "PFC0")
    if not rx and not tx:
        return raw.unparsable("not `show pfc counters`: no table with Port Rx or Port Tx")
    if not rx or not tx:
        lost = "Rx" if not rx else "Tx"
        odd = (*odd, OddLine(line=len(raw.lines), text=f"the {lost} table is missing"))

    def rows(tables: list[Table], key: str) -> tuple[PfcRow, ...]:
        return tuple(
            PfcRow(line=n, port=cells[key], frames=tuple(count(cells[c]) for c in _numbered(t, "PFC")))
            for t in tables
            for n, cells in t.rows
        )

    return PfcCounters(rx=rows(rx, "Port Rx"), tx=rows(tx, "Port Tx"), odd=odd)


class PauseHistory(Row):
    """Pause received by one port on one priority, in milliseconds."""

    port: str
    priority: int
    transitions: int | None = None
    total_ms: float | None = None
    recent_ms: float | None = None


class PfcHistory(Facts):
    """`show pfc counters --history`."""

    rows: tuple[PauseHistory, ...]


def parse_sw_pfc_hist(raw: Raw) -> Outcome:
    """The history table; the time columns are headed MS or US, by release."""
    found, odd = wanted(raw, "Port", "Priority", "RX Pause Transitions")
    rows: list[PauseHistory] = []
    for table in found:
        total = next((c for c in table.names if c.startswith("Total RX Pause Time")), None)
        recent = next((c for c in table.names if re.match(r"Recent RX Pause Time (?:MS|US)$", c)), None)
        for n, cells in table.rows:
            priority = integer(cells["Priority"].removeprefix("PFC"))
            if priority is None:
                odd = (*odd, raw.odd(n))
                continue
            rows.append(
                PauseHistory(
                    line=n,
                    port=cells["Port"],
                    priority=priority,
                    transitions=count(cells["RX Pause Transitions"]),
                    total_ms=_ms(cells, total),
                    recent_ms=_ms(cells, recent),
                )
            )
    if not found:
        return raw.unparsable("not `show pfc counters --history`: no table with RX Pause Transitions")
    return PfcHistory(rows=tuple(rows), odd=odd) if rows or odd else Empty("no port keeps a pause history")


def _ms(cells: Mapping[str, str], column: str | None) -> float | None:
    value = count(cells[column]) if column else None
    return None if value is None or column is None else value / 1000 if column.endswith("US") else float(value)


class LosslessPort(Row):
    """Lossless priorities of one port; None where the switch prints N/A."""

    port: str
    priorities: tuple[int, ...] | None


class PfcPriorities(Facts):
    """`show pfc priority`."""

    ports: tuple[LosslessPort, ...]


def parse_sw_pfc_prio(raw: Raw) -> Outcome:
    """`Interface` against `Lossless priorities` (`3` or `3,4`)."""
    found, odd = wanted(raw, "Interface", "Lossless priorities")
    if not found:
        return raw.unparsable("not `show pfc priority`: no table with Lossless priorities")
    ports: list[LosslessPort] = []
    for n, cells in ((n, c) for t in found for n, c in t.rows):
        text = cells["Lossless priorities"]
        if not absent(text) and not re.fullmatch(r"[0-7](?:,\s*[0-7])*", text):
            odd = (*odd, raw.odd(n))
            continue
        ports.append(LosslessPort(line=n, port=cells["Interface"], priorities=_list(text)))
    return PfcPriorities(ports=tuple(ports), odd=odd) if ports or odd else Empty("no port has a QoS map")


def _list(text: str) -> tuple[int, ...] | None:
    return None if absent(text) else tuple(sorted(int(x) for x in re.findall(r"\d+", text)))


class WatchdogPort(Row):
    """The watchdog on one port; times in milliseconds."""

    port: str
    action: str | None = None
    detection_ms: int | None = None
    restoration_ms: int | None = None


class WatchdogConfig(Facts):
    """`show pfcwd config`."""

    ports: tuple[WatchdogPort, ...]
    polling_ms: int | None = None


def parse_sw_pfcwd_conf(raw: Raw) -> Outcome:
    """The polling interval, then one row a port."""
    found, odd = wanted(raw, "PORT", "ACTION", "DETECTION TIME", "RESTORATION TIME")
    if not found:
        return raw.unparsable("not `show pfcwd config`: no table with DETECTION TIME")
    ports = tuple(
        WatchdogPort(
            line=n,
            port=cells["PORT"],
            action=None if absent(cells["ACTION"]) else cells["ACTION"],
            detection_ms=count(cells["DETECTION TIME"]),
            restoration_ms=count(cells["RESTORATION TIME"]),
        )
        for t in found
        for n, cells in t.rows
    )
    polling = re.search(r"polling interval to (\d+)\s*ms", raw.text)
    if not ports and not odd:
        return Empty("no port is watched")
    return WatchdogConfig(ports=ports, polling_ms=int(polling[1]) if polling else None, odd=odd)


class WatchdogQueue(Row):
    """Storms of one queue since the counters were cleared, and packets the watchdog dropped."""

    port: str
    queue: int
    status: str | None = None
    detected: int | None = None
    restored: int | None = None
    tx_dropped: int | None = None
    rx_dropped: int | None = None


class WatchdogStats(Facts):
    """`show pfcwd stats`; queues without any event are left out by the switch."""

    queues: tuple[WatchdogQueue, ...]


def parse_sw_pfcwd(raw: Raw) -> Outcome:
    """Rows like `Ethernet0:3  stormed  1/0  100/300 …`; a heading without rows means no storm was ever seen."""
    found, odd = wanted(raw, "QUEUE", "STATUS", "STORM DETECTED/RESTORED")
    if not found:
        return raw.unparsable("not `show pfcwd stats`: no table with STORM DETECTED/RESTORED")
    queues: list[WatchdogQueue] = []
    for n, cells in ((n, c) for t in found for n, c in t.rows):
        port, colon, queue = cells["QUEUE"].rpartition(":")
        if not colon or not queue.isdigit():
            odd = (*odd, raw.odd(n))
            continue
        detected, restored = pair(cells["STORM DETECTED/RESTORED"])
        status = cells["STATUS"]
        queues.append(
            WatchdogQueue(
                line=n,
                port=port,
                queue=int(queue),
                status=None if absent(status) else status,
                detected=detected,
                restored=restored,
                tx_dropped=pair(cells.get("TX OK/DROP", ""))[1],
                rx_dropped=pair(cells.get("RX OK/DROP", ""))[1],
            )
        )
    return WatchdogStats(queues=tuple(queues), odd=odd)


class EcnProfile(Row):
    """One WRED profile. Thresholds in bytes, probability in %; `mode` says which colours are marked."""

    name: str
    fields: tuple[tuple[str, str], ...]

    def get(self, field: str) -> str | None:
        """A field as printed."""
        return dict(self.fields).get(field)

    @property
    def green_min(self) -> int | None:
        """Queue length from which packets are marked, bytes."""
        return count(self.get("green_min_threshold") or "")

    @property
    def green_max(self) -> int | None:
        """Queue length from which all are marked or dropped, bytes."""
        return count(self.get("green_max_threshold") or "")

    @property
    def probability_pct(self) -> int | None:
        """Marking probability at the upper threshold, %."""
        return count(self.get("green_drop_probability") or "")

    @property
    def mode(self) -> str | None:
        """`ecn_all`, `ecn_green`, `ecn_none` …"""
        return self.get("ecn")


class Ecn(Facts):
    """`show ecn`: profiles there are, whether or not a queue uses them."""

    profiles: tuple[EcnProfile, ...]


def parse_sw_ecn(raw: Raw) -> Outcome:
    """`Profile: NAME` blocks with thresholds."""
    found, odd = blocks(raw)
    profiles = [b for b in found if b.kind == "Profile"]
    if raw.blank:
        return Empty("no WRED profile is configured")
    if not profiles or any(b.kind != "Profile" for b in found) or not all(_is_wred(b) for b in profiles):
        return raw.unparsable("not `show ecn`: no Profile with WRED thresholds")
    return Ecn(profiles=tuple(EcnProfile(line=b.line, name=b.name, fields=b.fields) for b in profiles), odd=odd)


def _is_wred(block: Block) -> bool:
    return any(name == "ecn" or name.endswith("_threshold") or name.startswith("wred_") for name, _ in block.fields)


class Buffer(Row):
    """One pool or profile; sizes in bytes. `xoff` is the headroom, `dynamic_th` the exponent of alpha."""

    kind: str
    name: str
    size: int | None = None
    xon: int | None = None
    xoff: int | None = None
    dynamic_th: int | None = None
    pool: str | None = None


class Buffers(Facts):
    """`show buffer configuration`."""

    buffers: tuple[Buffer, ...]


def parse_sw_buffer(raw: Raw) -> Outcome:
    """`Pool:` and `Profile:` blocks."""
    found, odd = blocks(raw)
    if not found and re.search(r"^No buffer (?:pool|profile) information available", raw.text, re.M):
        return Empty("the switch shows no buffer configuration")
    if not found or any(_is_wred(b) for b in found):
        return raw.unparsable("not `show buffer configuration`: no Pool or Profile with sizes")
    buffers = [
        Buffer(
            line=b.line,
            kind=b.kind,
            name=b.name,
            pool=f.get("pool"),
            **{k: _signed(f.get(k)) for k in ("size", "xon", "xoff", "dynamic_th")},
        )
        for b in found
        for f in [dict(b.fields)]
    ]
    return Buffers(buffers=tuple(buffers), odd=odd)


def _signed(text: str | None) -> int | None:
    return None if text is None or absent(text) else integer(text)
