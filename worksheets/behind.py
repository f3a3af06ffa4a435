"""What a number rests on: the assumptions behind it that nobody has looked at, and its oldest price."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass

from common.words import say
from worksheets import fields
from worksheets.library import Library, Ref
from worksheets.model import Input
from worksheets.values import Value

NAMED = 6
"""How many assumptions a text names before it only counts."""


@dataclass(frozen=True, slots=True)
class Standing:
    """An input behind a number, and what it is worth."""

    ref: Ref
    entry: Input
    value: Value
    given: bool

    @property
    def priced(self) -> bool:
        """True for an amount of money, or a price."""
        return bool(fields.priced(self.entry))


def behind(
    library: Library,
    ref: Ref,
    cells: Mapping[str, object],
    needs: Callable[[Ref], tuple[Ref, ...]],
    given: Container[str],
) -> tuple[Standing, ...]:
    """Every input on which a computed number rests, through all sheets; a typed value hides what it replaces."""
    seen: dict[str, Standing | None] = {}
    waiting = [ref]
    while waiting:
        at = waiting.pop()
        value, entry = cells.get(at.key), library.entry(at)
        if at.key in seen or not isinstance(value, Value):
            continue
        typed = at.key in given
        seen[at.key] = Standing(at, entry, value, typed) if isinstance(entry, Input) else None
        if not typed:
            waiting.extend(need for need in needs(at) if need not in fields.MONEY)
    found = [standing for standing in seen.values() if standing is not None]
    return (*found, *_rate(library, found, cells, given))


def _rate(
    library: Library, found: list[Standing], cells: Mapping[str, object], given: Container[str]
) -> Iterator[Standing]:
    # an exchange rate counts in a plan of that currency alone
    currency = cells.get(fields.CURRENCY.key)
    ref = fields.CROSS.get(str(currency.value)) if isinstance(currency, Value) else None
    if ref is None or not any(standing.priced for standing in found):
        return
    entry, value = library.entry(ref), cells.get(ref.key)
    if isinstance(entry, Input) and isinstance(value, Value):
        yield Standing(ref, entry, value, ref.key in given)


def untouched(found: tuple[Standing, ...]) -> str:
    """The assumptions among them that stand as shipped, as `sheet.input, …`; empty when somebody gave them all."""
    keys = sorted(
        standing.ref.key
        for standing in found
        if standing.entry.kind == "assumption"
        and not standing.given
        and standing.value.origin in ("default", "table")
        and not fields.followed(standing.entry, standing.value)
    )
    text = ", ".join(keys[:NAMED])
    return say("{names} and {count} more", names=text, count=len(keys) - NAMED) if len(keys) > NAMED else text


def price_age(found: tuple[Standing, ...], today: datetime.date) -> float:
    """How old the oldest dated price among them is, in seconds; 0 when none has a date."""
    ages = [age_days(standing.value.date, today) for standing in found if standing.priced and standing.value.date]
    return max(0.0, *ages, 0.0) * 86400.0


def age_days(date: str, today: datetime.date) -> int:
    """How old a date such as 2026-04 or 2026-04-30 is; a month counts from its first day."""
    year, month, day = (int(part) for part in [*date.split("-"), "1", "1"][:3])
    return (today - datetime.date(year, month, day)).days
