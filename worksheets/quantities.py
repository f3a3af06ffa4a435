"""Quantities as people write and read them: `400Gbit/s`, `80 GiB`, `1.2 M tokens`, `0.6 CNY/kWh`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Literal

from common.errors import InputError
from worksheets.units import CURRENCIES, Unit, spell, unit

Ask = Literal["ways", "sparse", "memory"]
"""What a field must be told beside the number, because data sheets print it either way."""
Scope = Literal["gpu", "node", "cluster"]

_NUMBER = re.compile(r"\s*([-+]?(?:\d[\d_ ,]*\d|\d)?(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*(.*)", re.DOTALL)
_GROUPS = re.compile(r"[-+]?\d{1,3}([ ,_]\d{3})+|[-+]?\d*")
_SCALES = {
    "k": 1e3, "thousand": 1e3, "M": 1e6, "million": 1e6, "bn": 1e9, "billion": 1e9, "G": 1e9, "T": 1e12,
    "trillion": 1e12, "P": 1e15, "万": 1e4, "亿": 1e8, "万亿": 1e12, "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30,
}  # fmt: skip
# `70B` is seventy thousand million where bytes make no sense
_COUNT_SCALES = {**_SCALES, "B": 1e9, "K": 1e3}
_BITS = re.compile(r"^[kMGT]?(bit|b|bps)\b")
_WAYS = {
    "one-way": 1.0, "one way": 1.0, "per direction": 1.0, "单向": 1.0, "ways: 1": 1.0, "ways:1": 1.0,
    "two-way": 0.5, "two way": 0.5, "both ways": 0.5, "bidirectional": 0.5, "双向": 0.5, "ways: 2": 0.5, "ways:2": 0.5,
}  # fmt: skip
_SPARSE = {"dense": 1.0, "稠密": 1.0, "with sparsity": 0.5, "sparse": 0.5, "稀疏": 0.5}
_SCOPE = re.compile(r"(?:\s*/\s*|\s+per\s+)(gpu|card|node|server|cluster)s?\b", re.IGNORECASE)
_SCOPES = {"gpu": "gpu", "card": "gpu", "node": "node", "server": "node", "cluster": "cluster"}


def parse(
    text: str,
    wanted: Unit,
    *,
    ask: Ask | None = None,
    scope: Scope | None = None,
    rates: Mapping[str, float] | None = None,
) -> float:
    """The value in base units of what somebody typed for a field with the unit `wanted`.

    A number without a unit counts in `wanted`. `rates` says what one unit of a foreign currency is worth in the plan's.

    Raises:
        InputError: no number, an unknown or unfitting unit, or a figure that data sheets print in two ways.
    """
    found = _NUMBER.fullmatch(text)
    if found is None or not found[1] or not (head := re.match(r"[-+]?[\d_ ,]*", found[1])):
        raise InputError(f"`{text}` is not a number", fix=f"write a number with a unit, such as {example(wanted)}")
    if not _GROUPS.fullmatch(head[0]):
        raise InputError(f"`{text}` is not one number", fix="write 1200000, 1_200_000, 1,200,000 or 1.2 M")
    try:
        number = float(re.sub(r"[_ ,]", "", found[1]))
    except ValueError:
        raise InputError(f"`{text}` is not a number", fix=f"write for example {example(wanted)}") from None
    rest = found[2].strip()
    rest, factor = _asked(text, rest, ask)
    rest = _scoped(text, rest, scope)
    if not rest:
        value = number * wanted.factor * factor
    else:
        given, scale = _unit_of(text, rest, wanted)
        value = number * scale * given.factor * factor * _exchange(rest, given, rates)
    if not math.isfinite(value):
        raise InputError(f"`{text}` is not a finite number", fix=f"write for example {example(wanted)}")
    return value


def example(wanted: Unit) -> str:
    """A quantity in this unit, for messages."""
    samples = {"B/s": "50 GB/s", "B": "80 GiB", "FLOP/s": "989 TFLOP/s", "s": "30 days", "token": "1.2 M tokens"}
    return samples.get(spell(wanted.dimension), f"12 {wanted.text}" if wanted.text not in ("count", "x") else "12")


def _asked(text: str, rest: str, ask: Ask | None) -> tuple[str, float]:
    words = {"ways": _WAYS, "sparse": _SPARSE}.get(ask or "", {**_WAYS, **_SPARSE})
    lower = rest.lower().rstrip(" )")
    for word, factor in words.items():
        if lower.endswith(word):
            if ask not in ("ways", "sparse"):
                raise InputError(f"`{text}`: this field does not take `{word}`", fix="leave the word out")
            return rest[: lower.rindex(word)].rstrip(" ,(;"), factor
    if ask == "ways" and rest and not _BITS.match(rest):
        number = text[: len(text) - len(rest)].strip() if text.endswith(rest) else text
        raise InputError(
            f"is {text.strip()} one direction, or the sum of both? vendors print either",
            fix=f"write `{number} {rest} one-way` or `{number} {rest} two-way`",
        )
    if ask == "sparse" and rest:
        raise InputError(
            f"is {text.strip()} the dense figure, or the one with sparsity? data sheets print the sparse one first",
            fix=f"write `{text.strip()} dense` or `{text.strip()} sparse`",
        )
    if ask == "memory" and re.fullmatch(r"[MGT]B", rest):
        raise InputError(
            f"{text.strip()} on a GPU is a label: an 80 GB card has 79.6 GiB, a 288 GB card 268.6 GiB",
            fix="write what the driver reports, such as `81559 MiB` or `79.6 GiB`; or exact bytes, such as `85.5e9 B`",
        )
    return rest, 1.0


def _scoped(text: str, rest: str, scope: Scope | None) -> str:
    if scope is None:
        return rest
    found = _SCOPE.search(rest)
    if found is None:
        return rest
    given = _SCOPES[found[1].lower()]
    if given != scope:
        raise InputError(f"`{text.strip()}`: this field counts per {scope}", fix=f"give the figure of one {scope}")
    return (rest[: found.start()] + rest[found.end() :]).strip()


def _unit_of(text: str, rest: str, wanted: Unit) -> tuple[Unit, float]:
    counting = not wanted.dimension or wanted.dimension == {"token": 1}
    scales = _COUNT_SCALES if counting else _SCALES
    try:
        given = unit(rest)
        if given.dimension == wanted.dimension:
            return given, 1.0
    except InputError as error:
        given, unknown = None, error
    word, _, after = rest.partition(" ")
    if word in scales and (after or counting or "currency" in wanted.dimension):
        scaled = unit(after.strip()) if after.strip() else wanted
        if scaled.dimension == wanted.dimension or (not scaled.dimension and counting):
            return (scaled if scaled.dimension == wanted.dimension else wanted), scales[word]
        given = scaled
    if given is None:
        raise InputError(f"`{text.strip()}`: {unknown.message}", fix=unknown.fix)
    raise InputError(
        f"`{text.strip()}` is in {spell(given.dimension)}, this field is in {wanted.text}",
        fix=f"write for example {example(wanted)}",
    )


def _exchange(rest: str, given: Unit, rates: Mapping[str, float] | None) -> float:
    exponent = given.dimension.get("currency")
    named = [name for name in CURRENCIES if re.search(rf"\b{name}\b", rest)]
    if not exponent or not named:
        return 1.0
    if rates is None or named[0] not in rates:
        raise InputError(
            f"the plan does not say what one {named[0]} is worth",
            fix="give the amount in the plan's currency, or set the exchange rate in the plan",
        )
    return float(rates[named[0]] ** float(exponent))


_PREFIXED = {"FLOP", "B", "B/s", "FLOP/s", "W", "FLOP/token", "B/token", "token", "tokens", "bit/s"}
_STEPS = ((1e24, "Y"), (1e21, "Z"), (1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def shown(value: float, wanted: Unit) -> str:
    """A base-unit value as text in its display unit; bare units such as B, W or FLOP/s get a decimal prefix."""
    amount = value / wanted.factor
    name = wanted.text
    if prefixed(name) and abs(amount) >= 1e4:
        step, prefix = next((s for s in _STEPS if abs(amount) >= s[0]), (1.0, ""))
        return f"{number(amount / step)} {prefix}{' ' if prefix and name.startswith('token') else ''}{name}"
    if name in ("count", "ratio", "fraction"):
        return number(amount)
    return f"{number(amount)}{'' if name == '%' else ' '}{name}"


def prefixed(name: str) -> bool:
    """Whether large amounts in a unit are shown with a decimal prefix, as B, W and FLOP/s are."""
    return name in _PREFIXED


def number(amount: float) -> str:
    """A number for people: whole numbers in full with thin groups, others with four significant digits."""
    if amount == int(amount) and abs(amount) < 1e15:
        return f"{int(amount):,}".replace(",", " ")
    if abs(amount) >= 1e15 or abs(amount) < 1e-4:
        return f"{amount:.4g}"
    if abs(amount) >= 1e4:
        return f"{amount:,.0f}".replace(",", " ")
    return f"{float(f'{amount:.4g}'):.10g}"
