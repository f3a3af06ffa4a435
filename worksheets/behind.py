"""What a number rests on: the assumptions behind it that nobody has looked at, and its oldest price."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

from common.words import say
from worksheets import fields
from worksheets.library import Library, Ref
from worksheets.model import Input
from worksheets.values import Value

OLD_DAYS = 183
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
    refs: Sequence[Ref],
    cells: Mapping[str, object],
    needs: Callable[[Ref], tuple[Ref, ...]],
    given: Container[str],
) -> tuple[Standing, ...]:
    """Every input on which computed numbers rest, through all sheets; a typed value hides what it replaces."""
    found = _inputs(library, refs, cells, needs, given)
    return (*found, *_rate(library, found, cells, given))


def _inputs(
    library: Library,
    refs: Sequence[Ref],
    cells: Mapping[str, object],
    needs: Callable[[Ref], tuple[Ref, ...]],
    given: Container[str],
) -> list[Standing]:
    seen: dict[str, Standing | None] = {}
    waiting = [*reversed(refs)]
    while waiting:
        at = waiting.pop()
        if at.key in seen or not isinstance(value := cells.get(at.key), Value):
            continue
        typed, entry = at.key in given, library.entry(at)
        seen[at.key] = Standing(at, entry, value, typed) if isinstance(entry, Input) else None
        if not typed:
            waiting.extend(need for need in needs(at) if need not in fields.MONEY)
    return [standing for standing in seen.values() if standing is not None]


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


def old_prices(
    library: Library,
    refs: Sequence[Ref],
    cells: Mapping[str, object],
    needs: Callable[[Ref], tuple[Ref, ...]],
    given: Container[str],
    today: datetime.date,
) -> list[Standing]:
    """The prices behind the lines of a sheet that are older than six months, but for those typed or measured.

    A price handed from sheet to sheet is told once: as an input of this sheet, else where it comes from.
    """
    found = {standing.ref.key: standing for standing in _inputs(library, refs, cells, needs, given)}
    told: dict[str, Standing] = {}
    for standing in found.values():
        date, origin = standing.value.date, standing.value.origin
        if not standing.priced or not date or origin in ("user", "measured") or age_days(date, today) <= OLD_DAYS:
            continue
        root = _origin(library, standing, found)
        told.setdefault(root.ref.key, standing if standing.ref in refs else root)
    return list(told.values())


def _origin(library: Library, standing: Standing, found: Mapping[str, Standing]) -> Standing:
    link = standing.entry.from_
    if not link or not fields.followed(standing.entry, standing.value):
        return standing
    before = found.get(library.resolve(standing.ref.sheet, link).key)
    return standing if before is None else _origin(library, before, found)


def age_days(date: str, today: datetime.date) -> int:
    """How old a date such as 2026-04 or 2026-04-30 is; a month counts from its first day."""
    year, month, day = (int(part) for part in [*date.split("-"), "1", "1"][:3])
    return (today - datetime.date(year, month, day)).days
