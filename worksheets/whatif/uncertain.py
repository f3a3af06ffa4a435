"""The inputs that have a usual low and high end, and draws between these."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from common.errors import InputError
from common.words import say
from worksheets import fields
from worksheets.behind import Standing
from worksheets.engine import Workbook
from worksheets.library import Ref
from worksheets.model import Input
from worksheets.units import unit
from worksheets.values import is_number
from worksheets.whatif.targets import known_needs

if TYPE_CHECKING:
    from worksheets.whatif.columns import Array


@dataclass(frozen=True, slots=True)
class Uncertain:
    """An input with its usual ends, in base units. `assumed` tells that these are no ends that anybody gave."""

    ref: Ref
    entry: Input
    unit: str
    low: float
    value: float
    high: float
    assumed: bool = False


def uncertain(book: Workbook, *refs: Ref, others_pct: float = 0.0) -> tuple[Uncertain, ...]:
    """The inputs behind these results that have a range, through all sheets and the plan, in the order of their keys.

    With `others_pct` other numbers are taken that much up and down, too, as far as they are allowed to go. Inputs that
    follow another sheet are left out: their origin there answers for them.
    """
    found = (_ends(book, standing, others_pct) for standing in book.rests_on(*refs))
    return tuple(sorted((one for one in found if one is not None), key=lambda one: one.ref.key))


def _ends(book: Workbook, standing: Standing, others_pct: float) -> Uncertain | None:
    entry, value = standing.entry, standing.value
    if not is_number(entry.unit) or fields.followed(entry, value) or not isinstance(value.value, float):
        return None
    cell = book.cell(standing.ref.sheet, entry)
    shown = entry.unit if cell.value is None else cell.value.unit
    low = value.value if value.low is None else value.low
    high = value.value if value.high is None else value.high
    if low < high:
        return Uncertain(standing.ref, entry, shown, low, value.value, high)
    # 0 mostly means that nobody knows, and a share of nothing is nothing
    if not others_pct or value.value == 0:
        return None
    least, most = _allowed(book, standing)
    low, high = sorted(value.value * (1 + sign * others_pct / 100) for sign in (-1, 1))
    low, high = (_whole(entry, min(max(end, least), most)) for end in (low, high))
    return Uncertain(standing.ref, entry, shown, low, value.value, high, assumed=True) if low < high else None


def _allowed(book: Workbook, standing: Standing) -> tuple[float, float]:
    ends = fields.allowed(standing.entry, known_needs(book, standing.ref))
    return ends or (standing.value.value, standing.value.value)


def _whole(entry: Input, value: float) -> float:
    factor = unit(entry.unit).factor
    return round(value / factor) * factor if entry.whole else value


def triangular(one: Uncertain, draws: int, seed: int) -> Array:
    """Draws from the triangle over low, value and high, one from each of `draws` equally likely slices of it.

    Each input has its own stream, so that another input more does not change the draws of this one.
    """
    import numpy as np

    chance = np.random.default_rng([seed, zlib.crc32(one.ref.key.encode())])
    share = (chance.permutation(draws) + chance.random(draws)) / draws
    width, left, right = one.high - one.low, one.value - one.low, one.high - one.value
    found = np.where(
        share * width < left,
        one.low + np.sqrt(share * width * left),
        one.high - np.sqrt((1 - share) * width * right),
    )
    if one.entry.whole:
        factor = unit(one.entry.unit).factor
        found = np.clip(np.rint(found / factor), np.ceil(one.low / factor), np.floor(one.high / factor)) * factor
    return found


def nothing_varies(*refs: Ref) -> InputError:
    """Tells that there is nothing to vary."""
    names = ", ".join(ref.key for ref in refs)
    return InputError(
        say("no input behind {names} has a low and a high end", names=names),
        fix="give one in a plan: {value: 0.4, low: 0.3, high: 0.5}",
    )
