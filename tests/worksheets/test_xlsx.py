"""Workbooks recompute to what Rackside computes, follow their inputs, and say what of them does not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from tests.worksheets.spreadsheet import Book, Key
from worksheets import fields, library
from worksheets.engine import Cell, Result, Workbook, compute
from worksheets.exports import layout
from worksheets.exports.fixed import Following
from worksheets.exports.xlsx import write_workbook
from worksheets.library import Library, Ref
from worksheets.model import Input
from worksheets.plan import CARD, Plan
from worksheets.units import BOOL, TEXT, unit
from worksheets.values import is_number

SLUGS = sorted(path.stem for path in library.FOLDER.glob("*.yaml"))
SHARED = Library()
TOLERANCE = 1e-9
PLANS = {
    "default": Plan(),
    "CNY": Plan.model_validate(
        {
            "plan": "=1+1",
            "card": {"currency": "CNY", "accelerator": "H200-SXM", "model": "DeepSeek-V3", "gpus_total": 2048},
            "sheets": {
                "checkpoint-interval": {"fail_rate": {"value": 6, "low": 5, "high": 9}},
                "training-time": {"rent_gpu_h": "2 USD/h", "target_days": 45, "mfu": 0.4},
            },
            "measured": {"checkpoint-interval.ckpt_cost": {"value": 75, "source": "@last week's run"}},
        }
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workbooks")


@pytest.fixture(scope="module")
def exported(folder: Path) -> Any:
    @cache
    def export(*slugs: str, plan: str = "default") -> Book:
        path = folder / f"{len(slugs)}-{slugs[0]}-{plan}.xlsx"
        write_workbook(path, Workbook(SHARED, PLANS[plan]), slugs)
        return Book(path)

    return export


def same(got: Any, expected: Any) -> bool:
    if expected == "" and got is None:
        return True
    if isinstance(expected, bool | str) or isinstance(got, bool | str):
        return type(got) is type(expected) and plain(got) == plain(expected)
    return bool(got == pytest.approx(expected, rel=TOLERANCE, abs=1e-300))


def plain(value: Any) -> Any:
    """A text without the way it groups digits and writes exponents."""
    return re.sub(r"\s+|(?<=\d)[eE](?=[-+])", "", value) if isinstance(value, str) else value


def place(book: Book, slug: str, name: str, column: int) -> Key:
    title, row, _ = book.named[layout.defined_name(slug, name)]
    return title, row, column + 1


def shown(cell: Cell) -> Any:
    assert cell.value is not None
    value, name = cell.value.value, cell.entry.unit
    return cell.words if cell.words else value / unit(name).factor if is_number(name) else value


def differences(book: Book, result: Result, tab: layout.Tab, without: frozenset[str] = frozenset()) -> Iterator[str]:
    """What a workbook shows otherwise than the engine; `without` are rows that it says it does not follow."""
    slug = result.sheet.sheet
    for cell in (*result.inputs.values(), *result.rows.values()):
        if cell.name in without:
            continue
        if cell.name in tab.lists:
            yield from listed(book, cell, tab)
            continue
        base, value = (book[place(book, slug, cell.name, column)] for column in (layout.BASE, layout.VALUE))
        if cell.value is None:
            if not str(base).startswith("#"):
                yield f"{cell.key}: {base}, but {cell.error}"
        elif not same(base, cell.value.value) or not same(value, shown(cell)):
            yield f"{cell.key}: {base} and {value}, but {cell.value.value} and {shown(cell)}"


def listed(book: Book, cell: Cell, tab: layout.Tab) -> Iterator[str]:
    column, length = tab.lists[cell.name].column, tab.lists[cell.name].length
    assert cell.value is not None
    if len(cell.value.value) != length:
        yield f"{cell.key}: {length} items, but {len(cell.value.value)}"
        return
    for i, item in enumerate(cell.value.value):
        got = book[tab.title, layout.FIRST_LINE + i + 1, column + 2]
        if not same(got, item):
            yield f"{cell.key}[{i}]: {got}, but {item}"


def told(book: Book, result: Result, tab: layout.Tab, without: frozenset[str] = frozenset()) -> Iterator[str]:
    """Rules that speak otherwise in the workbook than in the engine."""
    said = {s.rule: (s.severity, plain(s.text)) for s in result.advice}
    for rule, line in tab.advice.items():
        got = tuple(plain(book[tab.title, line + 1, column + 1]) for column in (layout.VALUE, layout.UNIT))
        if rule not in without and got != said.get(rule, ("-", "")):
            yield f"{rule}: {got}, but {said.get(rule)}"


def tab_of(book: Workbook, slug: str) -> layout.Tab:
    return layout.lay_out(book, [slug])[slug]


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("slug", SLUGS)
def test_a_workbook_recomputes_to_what_the_engine_computes(slug: str, plan: str, exported: Any) -> None:
    # a sheet alone must find all it needs; the other plan is tried on all sheets in one workbook
    slugs = [slug] if plan == "default" else SLUGS
    book, engine = exported(*slugs, plan=plan), Workbook(SHARED, PLANS[plan])
    tab = tab_of(engine, slug)
    assert "\n".join([*differences(book, tab.result, tab), *told(book, tab.result, tab)]) == ""
    assert book[tab.title, layout.STATE_LINE + 1, layout.VALUE + 1] == tab.result.state


@pytest.fixture(scope="module")
def stored(exported: Any, folder: Path) -> Any:
    exported(*SLUGS)
    return openpyxl.load_workbook(folder / f"{len(SLUGS)}-{SLUGS[0]}-default.xlsx", data_only=True)


@pytest.mark.parametrize("slug", [*SLUGS, layout.OVERVIEW, layout.REFERENCES])
def test_a_program_that_does_not_recompute_shows_the_same(slug: str, exported: Any, stored: Any) -> None:
    book = exported(*SLUGS)
    here = [key for key in book.formulas() if key[0] == slug]
    assert len(here) >= len(SLUGS)
    for title, row, column in here:
        was, now = stored[title].cell(row, column).value, book[title, row, column]
        # an empty text is stored as nothing
        assert same(now, "" if was is None and isinstance(now, str) else was), f"{title} {row} {column}"


def other(entry: Input, value: Any) -> Any:
    """Another allowed value for an input, in its unit."""
    if entry.unit == BOOL:
        return not value
    if entry.unit == TEXT:
        offered = [c for c in fields.choices(SHARED, entry) if c not in (value, "custom")]
        return offered[0] if offered else "something else"
    assert entry.range is not None
    now = entry.range[0] if value is None else value / unit(entry.unit).factor
    low, high = entry.range
    tries = [now * 1.25, now * 0.8, now + 1, low, high]
    if entry.whole:
        tries = [float(round(number)) for number in (now * 2, now + 1, now - 1, low, high)]
    return next(n for n in tries if low <= n <= high and abs(n - now) > 1e-6 * abs(now))


@pytest.mark.parametrize("slug", SLUGS)
def test_a_changed_input_changes_the_workbook_as_it_changes_the_engine(slug: str, exported: Any) -> None:
    book, engine, following = exported(slug), Workbook(SHARED), Following(SHARED)
    tab, plan = tab_of(engine, slug), SHARED.sheet(CARD)
    inputs = [Ref(slug, e.name) for e in tab.sheet.inputs] + [Ref(CARD, e.name) for e in plan.inputs if slug != CARD]
    wrong: list[str] = []
    for ref in inputs:
        entry = SHARED.entry(ref)
        assert isinstance(entry, Input)
        was = engine.cell(ref.sheet, entry).value
        changed = other(entry, None if was is None else was.value)
        result = compute(slug, overrides={ref.key: changed}, library=SHARED)
        lines = (*tab.sheet.inputs, *tab.sheet.rows)
        rows = frozenset(line.name for line in lines if ref.key in following.lost(Ref(slug, line.name)))
        rules = frozenset(a.id for a in tab.sheet.advice if ref.key in following.lost_by(slug, a))
        where = place(book, ref.sheet, ref.name, layout.VALUE)
        before = book.set(where, changed)
        wrong += [f"{ref.key} = {changed}: {found}" for found in differences(book, result, tab, rows)]
        wrong += [f"{ref.key} = {changed}: {found}" for found in told(book, result, tab, rules)]
        book.set(where, before)
    assert "\n".join(wrong) == ""
