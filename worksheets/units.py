"""The units of the worksheets as one small table: what each is worth in base units, and its dimension.

Base units are bytes, seconds, FLOP, watts, metres, kilograms, tokens and the plan's currency. Counts of things (GPUs,
nodes, layers, parameters, sequences) carry no dimension; tokens do, so that per token and per sequence never mix.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from common.errors import InputError

Dimension = Mapping[str, Fraction]
"""Exponent of each base unit; empty for a pure number."""

BASES = ("B", "s", "FLOP", "W", "currency", "token", "m", "kg")
TEXT, BOOL = "text", "bool"
CURRENCIES = ("USD", "CNY", "EUR")

_DECIMAL = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18, "Z": 1e21, "Y": 1e24}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50}
_COUNTS = [
    "1",
    "count",
    "x",
    "ratio",
    "fraction",
    "GPU",
    "GPUs",
    "gpu",
    "card",
    "cards",
    "node",
    "nodes",
    "layer",
    "layers",
    "head",
    "heads",
    "param",
    "params",
    "parameter",
    "parameters",
    "sequence",
    "sequences",
    "seq",
    "rank",
    "ranks",
    "port",
    "ports",
    "switch",
    "switches",
    "link",
    "links",
    "rack",
    "racks",
    "U",
    "request",
    "requests",
    "sample",
    "samples",
    "file",
    "files",
    "stripe",
    "stripes",
    "core",
    "cores",
    "step",
    "steps",
    "event",
    "events",
    "worker",
    "workers",
    "FTE",
    "drive",
    "drives",
]


def _table() -> dict[str, tuple[float, str, int]]:
    """Symbol to (worth in base units, base unit, exponent)."""
    table: dict[str, tuple[float, str, int]] = dict.fromkeys(_COUNTS, (1.0, "", 0))
    table |= {"%": (0.01, "", 0), "percent": (0.01, "", 0)}
    for names, base in ((("B", "byte", "bytes"), "B"), (("token", "tokens", "tok"), "token")):
        table |= dict.fromkeys(names, (1.0, base, 1))
    for prefix, worth in _DECIMAL.items():
        table[prefix + "B"] = (worth, "B", 1)
        for name in ("bit", "b"):
            table[prefix + name] = (worth / 8, "B", 1)
        table[prefix + "bps"] = (worth / 8, "B/s", 1)
        table[prefix + "FLOP"] = (worth, "FLOP", 1)
        table[prefix + "FLOPS"] = table[prefix + "FLOP/s"] = (worth, "FLOP/s", 1)
        table[prefix + "W"] = (worth, "W", 1)
        table[prefix + "Wh"] = (worth * 3600, "W*s", 1)
        table[prefix + "Hz"] = (worth, "s", -1)
        table[prefix + "token"] = table[prefix + "tokens"] = (worth, "token", 1)
    table["KB"] = table["kB"]
    table |= {prefix + "B": (worth, "B", 1) for prefix, worth in _BINARY.items()}
    table |= {prefix + "token": (worth, "token", 1) for prefix, worth in _BINARY.items()}
    table |= {prefix + "tokens": (worth, "token", 1) for prefix, worth in _BINARY.items()}
    table |= {"bit": (0.125, "B", 1), "bits": (0.125, "B", 1), "bps": (0.125, "B/s", 1)}
    table |= {"FLOP": (1.0, "FLOP", 1), "FLOPS": (1.0, "FLOP/s", 1), "PFLOP-day": (86400e15, "FLOP", 1)}
    table |= {"W": (1.0, "W", 1), "Wh": (3600.0, "W*s", 1), "J": (1.0, "W*s", 1), "kJ": (1e3, "W*s", 1)}
    table |= {"Hz": (1.0, "s", -1), "rps": (1.0, "s", -1), "qps": (1.0, "s", -1)}
    for worth, words in (
        (1.0, "s sec second seconds"),
        (1e-3, "ms"),
        (1e-6, "us µs μs"),
        (1e-9, "ns"),
        (60.0, "min minute minutes"),
        (3600.0, "h hour hours GPU-h GPU-hour GPU-hours card-hour card-hours"),
        (86400.0, "d day days node-day node-days"),
        (604800.0, "week weeks"),
        (730 * 3600.0, "month months"),
        (8760 * 3600.0, "yr year years"),
    ):
        table |= dict.fromkeys(words.split(), (worth, "s", 1))
    table |= {"m": (1.0, "m", 1), "mm": (1e-3, "m", 1), "cm": (1e-2, "m", 1), "km": (1e3, "m", 1)}
    table |= {"kg": (1.0, "kg", 1), "g": (1e-3, "kg", 1), "tonne": (1e3, "kg", 1), "tonnes": (1e3, "kg", 1)}
    table |= dict.fromkeys(("currency", *CURRENCIES), (1.0, "currency", 1))
    return table


TABLE = _table()
_OF_BASE: dict[str, Dimension] = {
    "": {},
    "B/s": {"B": Fraction(1), "s": Fraction(-1)},
    "FLOP/s": {"FLOP": Fraction(1), "s": Fraction(-1)},
    "W*s": {"W": Fraction(1), "s": Fraction(1)},
}


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit as written, what one of it is worth in base units, and its dimension."""

    text: str
    factor: float
    dimension: Dimension

    def __str__(self) -> str:
        return self.text


def multiply(a: Dimension, b: Dimension, power: Fraction = Fraction(1)) -> dict[str, Fraction]:
    """The dimension of a * b^power."""
    total = {base: a.get(base, Fraction(0)) + power * b.get(base, Fraction(0)) for base in {**a, **b}}
    return {base: exponent for base, exponent in total.items() if exponent}


def spell(dimension: Dimension) -> str:
    """A dimension in base units: `FLOP/token`, `B/s`, `1`."""
    over = [_power(base, dimension[base]) for base in BASES if dimension.get(base, 0) > 0]
    under = [_power(base, -dimension[base]) for base in BASES if dimension.get(base, 0) < 0]
    return ("*".join(over) or "1") + "".join(f"/{u}" for u in under)


def _power(base: str, exponent: Fraction) -> str:
    return base if exponent == 1 else f"{base}^{exponent}"


@cache
def unit(text: str) -> Unit:
    """A unit expression such as `GB/s`, `currency/kWh`, `FLOP/token^2` or `per 1000 node-days`.

    Raises:
        InputError: an unknown unit, with the nearest known one.
    """
    words = re.sub(r"(^|\s)per\s+", "/", text.strip()).replace("·", "*").replace("**", "^")
    if words in TABLE:
        return _symbol(text, words)
    factor, dimension, sign = 1.0, dict[str, Fraction](), 1
    parts = re.findall(r"[*/]|[^*/\s]+", words)
    if not parts or parts[-1] in "*/":
        raise InputError(f"`{text}` is not a unit", fix="write for example GB/s, days, % or currency/kWh")
    for part in parts:
        if part in "*/":
            sign = 1 if part == "*" else -1
            continue
        name, _, power = part.partition("^")
        if power and not re.fullmatch(r"-?\d", power):
            raise InputError(f"`{text}` is not a unit", fix="a power is a whole number: FLOP/token^2")
        exponent = sign * int(power or 1)
        one = Unit(name, float(name), {}) if re.fullmatch(r"\d+(\.\d+)?(e\d+)?", name) else _symbol(text, name)
        factor *= one.factor**exponent
        dimension = multiply(dimension, one.dimension, Fraction(exponent))
    return Unit(text, factor, dimension)


def _symbol(text: str, symbol: str) -> Unit:
    try:
        worth, base, exponent = TABLE[symbol]
    except KeyError:
        where = f" in `{text}`" if symbol != text else ""
        raise InputError(f"unknown unit `{symbol}`{where}", fix=_hint(symbol)) from None
    dimension = _OF_BASE[base] if base in _OF_BASE else {base: Fraction(exponent)}
    return Unit(text, worth, dimension)


def _hint(symbol: str) -> str:
    import difflib

    close = difflib.get_close_matches(symbol, TABLE, n=3, cutoff=0.6)
    return "did you mean " + ", ".join(f"`{c}`" for c in close) if close else "write for example GB/s, GiB, days, %"


def is_plain(text: str) -> bool:
    """True for text and yes/no, which have no dimension at all."""
    return text in (TEXT, BOOL)
