"""A thousand draws of the whole plan, every row of every sheet: `python -m bench.whatif`, beside a loop over draws."""

from __future__ import annotations

import argparse
import statistics
import time

from worksheets.engine import Workbook
from worksheets.library import Library, Ref
from worksheets.whatif.draws import Draws
from worksheets.whatif.targets import put
from worksheets.whatif.uncertain import Uncertain, triangular, uncertain

TARGET_S = 1.0
LOOPED = 30
"""Draws that the loop makes; its time grows with them in proportion."""


def together(book: Workbook, rows: list[Ref], inputs: tuple[Uncertain, ...], draws: int) -> float:
    """Seconds that all draws take as arrays, the drawing itself included."""
    start = time.perf_counter()
    run = Draws(book, {one.ref.key: triangular(one, draws, 1) for one in inputs})
    for row in rows:
        run.varies(row)
    return time.perf_counter() - start


def one_by_one(book: Workbook, rows: list[Ref], inputs: tuple[Uncertain, ...]) -> float:
    """Seconds of one draw that is typed into a workbook, which computes only what depends on it."""
    drawn = {one.ref: triangular(one, LOOPED, 1) for one in inputs}
    start = time.perf_counter()
    for draw in range(LOOPED):
        for one in inputs:
            put(book, one.ref, one.entry, float(drawn[one.ref][draw]))
        for row in rows:
            book.cell(row.sheet, book.library.entry(row))
    return (time.perf_counter() - start) / LOOPED


def main() -> None:
    """Times both over the shipped sheets."""
    parser = argparse.ArgumentParser(prog="python -m bench.whatif", description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    draws = parser.parse_args().draws
    book = Workbook(Library())
    rows = [Ref(slug, row.name) for slug in book.library.slugs() for row in book.library.sheet(slug).rows]
    inputs = uncertain(book, *rows)
    together(book, rows, inputs, draws)
    ours_s = statistics.median(together(book, rows, inputs, draws) for _ in range(5))
    theirs_s = one_by_one(book.copy(), rows, inputs) * draws
    verdict = "met" if ours_s < TARGET_S * draws / 1000 else "MISSED"
    print(
        f"{draws} draws of {len(inputs)} inputs over {len(rows)} rows: {ours_s:.2f} s together (target below "
        f"{TARGET_S * draws / 1000:g} s: {verdict}), {theirs_s:.1f} s one by one, ratio {ours_s / theirs_s:.4f}"
    )


if __name__ == "__main__":
    main()
