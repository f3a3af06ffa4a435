"""SONiC ports: status, counters over ten seconds, FEC, neighbours, optics.

  Interface    Lanes    Speed    MTU    FEC    Alias    Vlan    Oper    Admin    Type    Asym PFC
-----------  -------  -------  -----  -----  -------  ------  ------  -------  ------  ----------
  Ethernet0  0,1,2,3     200G   9100     rs     etp1  routed      up       up  QSFP56         off
"""

from __future__ import annotations

import re

from checks.outputs import Empty, Facts, OddLine, Outcome, Raw
from checks.tools.formats import absent, integer, number
from checks.tools.sonic_tables import Row, bytes_per_s, count, gbps, wanted


class Port(Row):
    """One port. `oper` and `admin` are up or down; None where the switch prints N/A."""

    name: str
    speed_gbps: float | None = None
    mtu: int | None = None
    fec: str | None = None
    alias: str | None = None
    oper: str | None = None
    admin: str | None = None
    type: str | None = None


class IfStatus(Facts):
    """`show interfaces status`."""

    ports: tuple[Port, ...]

    def port(self, name: str) -> Port | None:
        """A port by name."""
        return next((p for p in self.ports if p.name == name), None)

    @property
    def physical(self) -> tuple[Port, ...]:
        """Ports with a cage: no port channels, VLANs or loopbacks."""
        return tuple(p for p in self.ports if p.name.startswith("Ethernet"))


def _word(cell: str | None) -> str | None:
    return None if cell is None or absent(cell) else cell


def parse_sw_if_status(raw: Raw) -> Outcome:
    """The port table; older releases lack the FEC column, and the type may hold blanks."""
    found, odd = wanted(raw, "Interface", "Speed", "MTU", "Oper", "Admin")
    if not found:
        return raw.unparsable("not `show interfaces status`: no table with Interface, Speed, Oper and Admin")
    ports = tuple(
        Port(
            line=n,
            name=row["Interface"],
            speed_gbps=gbps(row["Speed"]),
            mtu=count(row["MTU"]),
            fec=_word(row.get("FEC")),
            alias=_word(row.get("Alias")),
            oper=_word(row["Oper"]),
            admin=_word(row["Admin"]),
            type=_word(row.get("Type")),
        )
        for t in found
        for n, row in t.rows
    )
    return IfStatus(ports=ports, odd=odd) if ports or odd else Empty("no ports")


class PortCounters(Row):
    """Counts of one port over the period, rates in bytes/s, use in % of line rate."""

    name: str
    state: str | None = None
    rx_ok: int | None = None
    rx_bytes_per_s: float | None = None
    rx_util_pct: float | None = None
    rx_err: int | None = None
    rx_drp: int | None = None
    tx_ok: int | None = None
    tx_bytes_per_s: float | None = None
    tx_util_pct: float | None = None
    tx_err: int | None = None
    tx_drp: int | None = None


class Counters(Facts):
    """`show interfaces counters -p 10`: differences over the period, so one round suffices for a rate."""

    ports: tuple[PortCounters, ...]


def _percent(cell: str | None) -> float | None:
    return None if cell is None or absent(cell) else number(cell)


def parse_sw_counters(raw: Raw) -> Outcome:
    """The counter table with units that vary per row (B/s, KB/s, MB/s)."""
    found, odd = wanted(raw, "IFACE", "RX_OK", "RX_ERR", "TX_OK", "TX_ERR")
    if not found:
        return raw.unparsable("not `show interfaces counters`: no table with IFACE, RX_OK and TX_OK")
    ports = tuple(
        PortCounters(
            line=n,
            name=row["IFACE"],
            state=_word(row.get("STATE")),
            rx_ok=count(row["RX_OK"]),
            rx_bytes_per_s=bytes_per_s(row.get("RX_BPS", "")),
            rx_util_pct=_percent(row.get("RX_UTIL")),
            rx_err=count(row["RX_ERR"]),
            rx_drp=count(row.get("RX_DRP", "")),
            tx_ok=count(row["TX_OK"]),
            tx_bytes_per_s=bytes_per_s(row.get("TX_BPS", "")),
            tx_util_pct=_percent(row.get("TX_UTIL")),
            tx_err=count(row["TX_ERR"]),
            tx_drp=count(row.get("TX_DRP", "")),
        )
        for t in found
        for n, row in t.rows
    )
    return Counters(ports=ports, odd=odd) if ports or odd else Empty("no ports")


class PortFec(Row):
    """Codewords of one port since the counters were cleared; bit error rates as fractions."""

    name: str
    state: str | None = None
    corrected: int | None = None
    uncorrectable: int | None = None
    symbol_errors: int | None = None
    pre_ber: float | None = None
    post_ber: float | None = None


class FecStats(Facts):
    """`show interfaces counters fec-stats`."""

    ports: tuple[PortFec, ...]

    def port(self, name: str) -> PortFec | None:
        """A port by name."""
        return next((p for p in self.ports if p.name == name), None)


def parse_sw_fec(raw: Raw) -> Outcome:
    """The FEC table; BER columns came later than the counts."""
    found, odd = wanted(raw, "IFACE", "FEC_CORR", "FEC_UNCORR")
    if not found:
        return raw.unparsable("not `fec-stats`: no table with FEC_CORR and FEC_UNCORR")
    ports = tuple(
        PortFec(
            line=n,
            name=row["IFACE"],
            state=_word(row.get("STATE")),
            corrected=count(row["FEC_CORR"]),
            uncorrectable=count(row["FEC_UNCORR"]),
            symbol_errors=count(row.get("FEC_SYMBOL_ERR", "")),
            pre_ber=_percent(row.get("FEC_PRE_BER")),
            post_ber=_percent(row.get("FEC_POST_BER")),
        )
        for t in found
        for n, row in t.rows
    )
    return FecStats(ports=ports, odd=odd) if ports or odd else Empty("no ports")


class SwitchNeighbour(Row):
    """What one port is cabled to."""

    port: str
    device: str
    remote_port: str = ""
    capability: str = ""
    description: str = ""


class SwitchNeighbours(Facts):
    """`show lldp table`. `stated` is the number of entries the switch says it shows."""

    neighbours: tuple[SwitchNeighbour, ...]
    stated: int | None = None


def parse_sw_lldp(raw: Raw) -> Outcome:
    """The neighbour table; fewer rows than the footer states make the output doubtful."""
    found, odd = wanted(raw, "LocalPort", "RemoteDevice")
    if not found:
        return raw.unparsable("not `show lldp table`: no table with LocalPort and RemoteDevice")
    rows = tuple(
        SwitchNeighbour(
            line=n,
            port=row["LocalPort"],
            device=row["RemoteDevice"],
            remote_port=row.get("RemotePortID", ""),
            capability=row.get("Capability", ""),
            description=row.get("RemotePortDescr", ""),
        )
        for t in found
        for n, row in t.rows
    )
    stated = next((integer(x.split(":")[1]) for x in raw.lines if x.startswith("Total entries displayed:")), None)
    if stated is None or stated != len(rows):
        missing = "the footer with the number of entries is missing"
        why = missing if stated is None else f"{stated} entries stated, {len(rows)} read"
        odd = (*odd, OddLine(line=len(raw.lines), text=why))
    return SwitchNeighbours(neighbours=rows, stated=stated, odd=odd)


class Optic(Row):
    """One transceiver. Power in dBm (minus infinity reads as None), temperature in Celsius, voltage in volts."""

    port: str
    present: bool
    identifier: str | None = None
    vendor: str | None = None
    part: str | None = None
    serial: str | None = None
    temperature_c: float | None = None
    voltage_v: float | None = None
    rx_dbm: tuple[float | None, ...] = ()
    tx_dbm: tuple[float | None, ...] = ()
    tx_bias_ma: tuple[float | None, ...] = ()
    rx_low_warning_dbm: float | None = None
    rx_low_alarm_dbm: float | None = None
    temperature_high_warning_c: float | None = None
    temperature_high_alarm_c: float | None = None


class Optics(Facts):
    """`show interfaces transceiver eeprom -d`."""

    optics: tuple[Optic, ...]


_OPTIC = re.compile(r"^(Ethernet[\w/-]+):\s*(SFP (?:EEPROM )?(?:is )?(?:not )?(?:applicable|detected).*)$", re.I)
_LINE = re.compile(r"^\s+([\w()/ .:%+-]+?)\s*:\s*(.*?)\s*$")
_LANE = re.compile(r"^(RX|TX)\d+(Power|Bias)$")
_OPTIC_WORDS = {"Identifier": "identifier", "Vendor Name": "vendor", "Vendor PN": "part", "Vendor SN": "serial"}
_OPTIC_NUMBERS = {
    "Temperature": "temperature_c",
    "Vcc": "voltage_v",
    "RxPowerLowWarning": "rx_low_warning_dbm",
    "RxPowerLowAlarm": "rx_low_alarm_dbm",
    "TempHighWarning": "temperature_high_warning_c",
    "TempHighAlarm": "temperature_high_alarm_c",
}


def parse_sw_xcvr(raw: Raw) -> Outcome:
    """Indented `name : value` lines under `EthernetN: SFP EEPROM detected`; unknown names are left out."""
    found: list[Optic] = []
    facts: dict[str, object] = {}
    lanes: dict[str, list[float | None]] = {}

    def close() -> None:
        if facts:
            more = {name: tuple(values) for name, values in lanes.items()}
            found.append(Optic.model_validate({**facts, **more}))

    odd: list[OddLine] = []
    for n, line in raw.numbered():
        if head := _OPTIC.match(line.strip()):
            close()
            facts, lanes = {"line": n, "port": head[1], "present": "not " not in head[2].lower()}, {}
            continue
        if not facts:
            continue
        cut_off = n == len(raw.lines) and not raw.complete
        match = _LINE.match(line)
        if cut_off or (match is None and not line[:1].isspace()):
            odd.append(raw.odd(n))
            continue
        if match is None:
            continue
        name, value = match[1], match[2]
        if lane := _LANE.match(name):
            key = {"RXPower": "rx_dbm", "TXPower": "tx_dbm", "TXBias": "tx_bias_ma"}.get(lane[1] + lane[2])
            if key:
                lanes.setdefault(key, []).append(number(value))
        elif name in _OPTIC_WORDS:
            facts[_OPTIC_WORDS[name]] = _word(value)
        elif name in _OPTIC_NUMBERS:
            facts[_OPTIC_NUMBERS[name]] = number(value)
    close()
    if not found:
        return raw.unparsable("not `show interfaces transceiver eeprom`: no port with an EEPROM line")
    return Optics(optics=tuple(found), odd=tuple(odd))
