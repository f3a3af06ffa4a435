"""What an input is worth: what was typed, measured, looked up or computed elsewhere, or else its default."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from common.errors import InputError
from common.yamlfile import nearest
from worksheets import quantities
from worksheets.library import Library, Ref
from worksheets.model import Input
from worksheets.plan import CARD, Given
from worksheets.units import BOOL, TEXT, unit
from worksheets.values import NotEnoughError, Origin, Value, show

CURRENCY = Ref(CARD, "currency")
USD_RATE = Ref(CARD, "usd_rate")
"""What one USD is worth in the plan's currency; sheet defaults and price tables count in USD."""
CROSS = {"CNY": Ref(CARD, "cny_per_usd"), "EUR": Ref(CARD, "eur_per_usd")}
MONEY = frozenset({USD_RATE, *CROSS.values()})
SLACK = 1e-9
"""The share of the larger end by which a value may lie outside the allowed range."""
_YES = {"yes": True, "true": True, "on": True, "1": True, "是": True}
_NO = {"no": False, "false": False, "off": False, "0": False, "否": False}


def priced(field: Input) -> float:
    """The exponent of the currency in an input's unit; 0 when it is no amount of money."""
    return 0.0 if field.unit in (TEXT, BOOL) else float(unit(field.unit).dimension.get("currency", 0))


def needs(library: Library, slug: str, field: Input) -> list[Ref]:
    """What must be known before the input is."""
    found: list[Ref] = []
    if cell := link(library, slug, field):
        found.append(cell)
    elif field.from_:
        table, _, rest = field.from_.partition(".")
        if "." not in rest and (key := library.references.table(table).key):
            found.append(library.resolve(slug, key))
    if priced(field):
        found += [USD_RATE, *CROSS.values()]
    return found


def link(library: Library, slug: str, field: Input) -> Ref | None:
    """The input or row that `from` points at; None when it points at a table, or there is no `from`."""
    if not field.from_ or field.from_.partition(".")[0] in library.references.names():
        return None
    return library.resolve(slug, field.from_)


def value(
    library: Library,
    ref: Ref,
    field: Input,
    given: tuple[Given, Origin] | None,
    outcomes: Mapping[str, Value | InputError],
) -> Value:
    """What an input is worth, with what was given to it and what came of all that it needs.

    Raises:
        InputError: a value that cannot be, or a need that has none.
        NotEnoughError: somebody has to give it.
    """
    known = {key: outcome for key, outcome in outcomes.items() if isinstance(outcome, Value)}
    failed = [outcome for outcome in outcomes.values() if isinstance(outcome, InputError)]
    found: Value | None
    if given is not None:
        # a link that leads nowhere must not keep anybody from giving the value
        found = read(field, given[0], given[1], known)
    else:
        for error in failed:
            if not isinstance(error, NotEnoughError):
                raise error
        found = (None if failed else linked(library, ref.sheet, field, known)) or default(field, known)
        if found is None:
            raise NotEnoughError((ref.key,))
    check(library, field, found, known)
    return found


def rates(known: Mapping[str, Value]) -> dict[str, float]:
    """What one unit of each currency is worth in the plan's."""
    dollar = float(known[USD_RATE.key].value)
    return {"USD": dollar, **{name: dollar / float(known[ref.key].value) for name, ref in CROSS.items()}}


def linked(library: Library, slug: str, field: Input, known: Mapping[str, Value]) -> Value | None:
    """The value that `from` points at; None when the table leaves it open or has no such row."""
    if not field.from_:
        return None
    if ref := link(library, slug, field):
        return replace(known[ref.key], unit=field.unit, note=f"from {field.from_}")
    table, _, rest = field.from_.partition(".")
    row, _, column = rest.rpartition(".")
    if not row and (key := library.references.table(table).key):
        row = str(known[library.resolve(slug, key).key].value)
        if row not in library.references.table(table).rows:
            return None
    cell = library.references.cell(table, row, column)
    return None if cell is None else _in_currency(cell, field, known)


def followed(field: Input, value: Value) -> bool:
    """True when the value came over `from` out of a sheet, which then answers for it."""
    return bool(field.from_) and value.note == f"from {field.from_}"


def _in_currency(cell: Value, field: Input, known: Mapping[str, Value]) -> Value:
    worth = _worth(field, known)
    low, high = (None if end is None else end * worth for end in (cell.low, cell.high))
    value = cell.value if isinstance(cell.value, bool | str) else cell.value * worth
    return replace(cell, value=value, low=low, high=high, unit=field.unit)


def _worth(field: Input, known: Mapping[str, Value]) -> float:
    exponent = priced(field)
    return 1.0 if not exponent or USD_RATE.key not in known else float(known[USD_RATE.key].value) ** exponent


def default(field: Input, known: Mapping[str, Value]) -> Value | None:
    """The default with its usual spread; None when the input must be given."""
    if field.default is None:
        return None
    source = field.source or ("editable assumption" if field.kind == "assumption" else "")
    if isinstance(field.default, bool | str):
        return Value(field.default, field.unit, origin="default", source=source, date=field.date)
    factor = unit(field.unit).factor * _worth(field, known)
    low, high = (None, None) if field.spread is None else (end * factor for end in field.spread)
    return Value(float(field.default) * factor, field.unit, low, high, "default", source, field.date, str(field.note))


def read(field: Input, given: Given, origin: Origin, known: Mapping[str, Value]) -> Value:
    """A value that somebody gave, refused where it cannot be.

    Raises:
        InputError: naming the field, the value and what is allowed.
    """
    money = rates(known) if priced(field) and USD_RATE.key in known else None

    def one(value: Any) -> Any:
        return _one(field, value, money)

    low, high = (None if end is None else one(end) for end in (given.low, given.high))
    return Value(one(given.value), field.unit, low, high, origin, given.source, given.date, given.note)


def _one(field: Input, value: Any, money: Mapping[str, float] | None) -> Any:
    if field.unit == BOOL:
        return yes_or_no(field.name, value)
    if field.unit == TEXT:
        return str(value).strip()
    if isinstance(value, bool):
        raise InputError(f"{field.name}: `{value}` is not a number", fix=f"write a number in {field.unit}")
    try:
        return quantities.parse(
            value if isinstance(value, str) else repr(float(value)),
            unit(field.unit),
            ask=field.ask,
            scope=field.scope,
            rates=money,
        )
    except InputError as error:
        raise InputError(f"{field.name}: {error.message}", fix=error.fix) from None


def yes_or_no(name: str, value: Any) -> bool:
    """What somebody typed for a field that is yes or no.

    Raises:
        InputError: it is neither.
    """
    answer = value if isinstance(value, bool) else {**_YES, **_NO}.get(str(value).strip().lower())
    if answer is None:
        raise InputError(f"{name}: `{value}` is neither yes nor no", fix="write yes or no")
    return answer


def check(library: Library, field: Input, value: Value, known: Mapping[str, Value]) -> None:
    """Refuses a value outside the allowed range or choices."""
    options = choices(library, field)
    if options and value.value not in options:
        raise InputError(f"{field.name}: `{value.value}` is not a choice", fix=nearest(str(value.value), options))
    if (ends := allowed(field, known)) is None or isinstance(value.value, str | bool):
        return
    least, most = ends
    # the last bits of a conversion are no reason to refuse the end of a range
    slack = SLACK * max(abs(least), abs(most))
    for number in (value.value, value.low, value.high):
        for item in number if isinstance(number, tuple) else (number,):
            if item is not None and not least - slack <= item <= most + slack:
                raise InputError(
                    f"{field.name}: {show(item, field.unit)} is outside the allowed range",
                    fix=f"{show(least, field.unit)} to {show(most, field.unit)}",
                )
    if field.whole and value.value / unit(field.unit).factor % 1:
        raise InputError(f"{field.name}: {show(value.value, field.unit)} is not whole", fix="give a whole number")
    if value.low is not None and value.high is not None and not value.low <= value.value <= value.high:
        raise InputError(f"{field.name}: the value must lie between its low and its high end")


def allowed(field: Input, known: Mapping[str, Value]) -> tuple[float, float] | None:
    """The least and the most that an input may be, in base units; None for a text, or yes and no."""
    if field.range is None:
        return None
    worth = unit(field.unit).factor * _worth(field, known)
    return field.range[0] * worth, field.range[1] * worth


def choices(library: Library, field: Input) -> tuple[str, ...]:
    """What an input may be; `choices: table accelerator` offers the rows of a table, and `custom`."""
    if isinstance(field.choices, tuple):
        return field.choices
    if found := re.fullmatch(r"table (\w+)", field.choices):
        return (*library.references.table(found[1]).rows, "custom")
    raise InputError(f"{field.name}: choices `{field.choices}`", fix="write a list, or `table NAME`")
