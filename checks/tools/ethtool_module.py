"""`ethtool -m`: what the optic or cable says about itself, SFP, QSFP and CMIS alike.

Identifier                                : 0x18 (QSFP-DD Double Density 8X Pluggable Transceiver)
Module temperature                        : 46.31 degrees C / 115.36 degrees F
Rcvr signal avg optical power(Channel 1)  : 0.9120 mW / -0.40 dBm
Laser rx power low alarm                  : Off
"""

from __future__ import annotations

import re

from checks.outputs import Facts, OddLine, Outcome, Raw
from checks.tools.formats import cut_off, number

_ROW = re.compile(r"^\s*(\S.*?)\s*:\s?(.*)$")
_DBM = re.compile(r"(-?(?:\d+\.\d+|\d+|inf))\s*dBm", re.I)
_LIMIT = re.compile(r"(alarm|warning) threshold")
DARK_DBM = -40.0
"""What a module shows for no light at all."""


class EthModule(Facts):
    """An optic or cable: temperatures in degrees Celsius, powers in dBm per lane.

    `alarms` are the module's own flags that are on. A copper cable measures nothing: then there are no powers.
    """

    line: int
    identifier: str | None = None
    connector: str | None = None
    vendor: str | None = None
    part: str | None = None
    copper_length_m: float | None = None
    temperature_c: float | None = None
    temperature_line: int | None = None
    voltage_v: float | None = None
    rx_power_dbm: tuple[float, ...] = ()
    tx_power_dbm: tuple[float, ...] = ()
    bias_ma: tuple[float, ...] = ()
    temperature_high_warning_c: float | None = None
    rx_low_warning_dbm: float | None = None
    rx_low_alarm_dbm: float | None = None
    alarms: tuple[str, ...] = ()
    alarm_lines: tuple[int, ...] = ()


def parse_eth_module(raw: Raw) -> Outcome:
    """Identity, diagnostics, limits and alarm flags of the module."""
    texts: dict[str, tuple[int, str]] = {}
    powers: dict[str, list[float]] = {"rx": [], "tx": [], "bias": []}
    alarms: list[tuple[str, int]] = []
    odd: list[OddLine] = []
    first = 0
    for n, line in raw.numbered():
        found = _ROW.match(line)
        if not found or n == cut_off(raw):
            if first:
                odd.append(raw.odd(n))
            continue
        key, value = found[1].lower(), found[2].strip()
        if not first:
            # a banner may stand before; the identifier comes first
            if key != "identifier":
                continue
            first = n
        texts.setdefault(key, (n, value))
        if _LIMIT.search(key):
            continue
        if value.lower().startswith("on") and re.search(r"alarm|warning|los|lol|fault", key) and "implement" not in key:
            alarms.append((found[1], n))
        elif re.search(r"^(?:receiver signal|rcvr signal|rx power)", key) and (power := _dbm(value)) is not None:
            powers["rx"].append(power)
        elif re.search(r"^(?:laser output power|laser tx power|transmit avg optical|tx power)", key):
            if (power := _dbm(value)) is not None:
                powers["tx"].append(power)
        elif re.search(r"^laser (?:tx )?bias current", key) and (current := number(value)) is not None:
            powers["bias"].append(current)
    if not first:
        return raw.unparsable("no module identifier")

    def text(key: str) -> str | None:
        return texts.get(key, (0, ""))[1] or None

    def value_of(*keys: str) -> float | None:
        return next((v for k in keys if k in texts and (v := number(texts[k][1])) is not None), None)

    low = [texts[k][1] for k in ("laser rx power low warning threshold",) if k in texts]
    alarm = [texts[k][1] for k in ("laser rx power low alarm threshold",) if k in texts]
    return EthModule(
        line=first,
        identifier=_name(text("identifier")),
        connector=_name(text("connector")),
        vendor=text("vendor name"),
        part=text("vendor pn"),
        copper_length_m=value_of("length (copper)", "length (copper or active cable)"),
        temperature_c=value_of("module temperature"),
        temperature_line=texts.get("module temperature", (None, ""))[0],
        voltage_v=value_of("module voltage"),
        rx_power_dbm=tuple(powers["rx"]),
        tx_power_dbm=tuple(powers["tx"]),
        bias_ma=tuple(powers["bias"]),
        temperature_high_warning_c=value_of("module temperature high warning threshold"),
        rx_low_warning_dbm=_dbm(low[0]) if low else None,
        rx_low_alarm_dbm=_dbm(alarm[0]) if alarm else None,
        alarms=tuple(name for name, _ in alarms),
        alarm_lines=tuple(n for _, n in alarms),
        odd=tuple(odd),
    )


def _dbm(value: str) -> float | None:
    found = _DBM.search(value)
    if not found:
        return None
    return DARK_DBM if "inf" in found[1].lower() else float(found[1])


def _name(value: str | None) -> str | None:
    """`0x03 (SFP)` as `SFP`."""
    if value is None:
        return None
    found = re.match(r"^0x[0-9a-fA-F]+\s*\((.*)\)$", value)
    return found[1] if found else value
