"""The work on worksheets that takes longer than a frame; runs in workers."""

from __future__ import annotations

from worksheets.desk import Desk
from worksheets.engine import Workbook
from worksheets.exports.telling import between
from worksheets.library import Library
from worksheets.plan import Plan

DRAWS = 400


def opened(slug: str = "") -> Desk:
    """A desk over the shipped sheets and the user's, with one sheet computed."""
    from worksheets.library import of_user

    desk = Desk(of_user())
    if slug:
        desk.compute(slug)
    return desk


def ranges(library: Library, plan: Plan, slug: str) -> dict[str, str]:
    """The least and the most of each result over draws of the inputs that have a usual low and high end."""
    from worksheets.values import is_number
    from worksheets.whatif.sample import Quantiles, sample
    from worksheets.whatif.targets import Target
    from worksheets.whatif.uncertain import uncertain

    # a workbook of its own: the screen goes on with the other
    book = Workbook(library, plan)
    result = book.compute(slug)
    targets = [
        Target(ref, row)
        for row in library.sheet(slug).rows
        if row.show and is_number(row.unit) and result.rows[row.name].value is not None
        for ref in (library.resolve(slug, row.name),)
    ]
    if not uncertain(book, *(target.ref for target in targets)):
        return {}
    found: dict[str, str] = {}
    for row in sample(book, targets, draws=DRAWS).rows:
        if isinstance(row, Quantiles) and row.target.item is None and row.base is not None and row.least < row.most:
            ends = (row.least, row.base, row.most)
            found[row.target.entry.name] = between(min(ends), max(ends), row.unit)
    return found
