"""Writes computed worksheets as a workbook in which every formula is live, with the tables they took figures from."""

from __future__ import annotations

import datetime
import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from common.files import write_atomically
from common.words import say
from worksheets.engine import Workbook
from worksheets.exports import charts, layout, tables
from worksheets.exports.fixed import Fixed, Following
from worksheets.exports.inputs import Put
from worksheets.exports.layout import FIRST_LINE, HEAD_LINE, Tab, address
from worksheets.exports.sheets import SheetWriter
from worksheets.exports.styles import Styles, clean, number_format
from worksheets.exports.tables import Tables, used
from worksheets.exports.translate import Formulas
from worksheets.formulas import excel
from worksheets.library import Ref
from worksheets.model import FILL, Advice, Input, Row
from worksheets.references import sources

_CODES = re.compile(r"\[([^\[\]]+)\]")


def write_workbook(path: Path, book: Workbook, slugs: Iterable[str]) -> tuple[Fixed, ...]:
    """Writes the sheets asked for, the plan card and all they take values from, all or nothing.

    Returns what stays as it was at export: rows and rules with a function that no spreadsheet formula says.

    Raises:
        WriteError: with the file and the reason.
    """
    data, fixed = workbook_bytes(book, slugs)
    write_atomically(path, data)
    return fixed


def workbook_bytes(book: Workbook, slugs: Iterable[str]) -> tuple[bytes, tuple[Fixed, ...]]:
    """The workbook as the bytes of an xlsx file; equal plans on the same day give equal bytes."""
    import xlsxwriter

    file = io.BytesIO()
    plain = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False, "in_memory": True}
    workbook = xlsxwriter.Workbook(file, plain)
    made = datetime.datetime.combine(book.today, datetime.time())
    title = clean(f"Rackside: {book.plan.plan}")
    workbook.set_properties({"title": title, "comments": clean(book.plan.note), "created": made})
    export = _Export(workbook, book, tuple(slugs))
    export.write()
    workbook.close()
    return file.getvalue(), export.fixed()


class _Export:
    def __init__(self, workbook: Any, book: Workbook, slugs: tuple[str, ...]) -> None:
        self.workbook, self.book, self.slugs = workbook, book, slugs
        self.tabs = layout.lay_out(book, slugs)
        self.tables = Tables(book.library)
        self.styles = Styles(workbook)
        self.following = Following(book.library)
        self.formulas = Formulas(book, self.tabs, self.tables, self.following)

    def write(self) -> None:
        for tab in self.tabs.values():
            self.take_in(tab)
        worded = {ref.key for tab in self.tabs.values() for ref in self.filled(tab)}
        overview = self.workbook.add_worksheet(layout.OVERVIEW)
        sheets = {slug: self.workbook.add_worksheet(tab.title) for slug, tab in self.tabs.items()}
        references = self.workbook.add_worksheet(layout.REFERENCES)
        for slug, tab in self.tabs.items():
            SheetWriter(tab, self.formulas, self.styles, worded, sheets[slug]).write()
            charts.draw(self.workbook, sheets[slug], tab)
            for name, line in tab.lines.items():
                if name not in tab.lists:
                    where = address(line, layout.VALUE, tab.title)
                    self.workbook.define_name(layout.defined_name(slug, name), f"={where}")
        self.references(references)
        self.sources(self.workbook.add_worksheet(layout.SOURCES))
        self.overview(overview)
        sheets[self.slugs[0]].activate() if self.slugs else overview.activate()

    def take_in(self, tab: Tab) -> None:
        """The tables and choices that a sheet uses."""
        told: tuple[Input | Row | Advice, ...] = (*tab.sheet.inputs, *tab.sheet.rows, *tab.sheet.advice)
        for entry in told:
            self.tables.add(used(self.book.library, entry))
            if isinstance(entry, Input) and isinstance(entry.choices, str):
                self.tables.offer(entry.choices.partition(" ")[2], entry)

    def filled(self, tab: Tab) -> Iterable[Ref]:
        """Everything that a text of the sheet fills in."""
        told: tuple[Row | Advice, ...] = (*tab.sheet.rows, *tab.sheet.advice)
        for entry in told:
            refs = self.book.library.ready(tab.slug, entry).names
            texts = (entry.text,) if isinstance(entry, Advice) else tuple(entry.words.values())
            yield from (refs[name] for text in texts for name in FILL.findall(str(text)))

    def fixed(self) -> tuple[Fixed, ...]:
        found: list[Fixed] = []
        for slug, tab in self.tabs.items():
            told: tuple[Row | Advice, ...] = (*tab.sheet.rows, *tab.sheet.advice)
            for entry in told:
                name = entry.name if isinstance(entry, Row) else entry.id
                functions = self.following.fixed(slug, entry)
                if functions or f"{slug}.{name}" in self.following.whole:
                    found.append(Fixed(slug, name, functions))
        return tuple(found)

    def head(self, sheet: Any, title: str, heads: Iterable[tuple[str, float]]) -> None:
        """Title and headings of a sheet that is a plain list."""
        sheet.hide_gridlines(2)
        sheet.write_string(0, 0, title, self.styles.title)
        for column, (text, width) in enumerate(heads):
            sheet.set_column(column, column, width, self.styles.text)
            sheet.write_string(HEAD_LINE, column, text, self.styles.head)
        sheet.freeze_panes(FIRST_LINE, 0)
        sheet.set_landscape()
        sheet.set_paper(9)
        sheet.fit_to_pages(1, 0)

    def put(self, sheet: Any, line: int, column: int, put: Put, style: Any = None) -> None:
        """A formula, a number or a text that is never taken for a formula."""
        style = style or self.styles.text
        if put.formula:
            sheet.write_formula(line, column, f"={put.formula}", style, put.value)
        elif isinstance(put.value, bool):
            sheet.write_boolean(line, column, put.value, style)
        elif isinstance(put.value, str):
            sheet.write_string(line, column, clean(put.value), style)
        elif put.value is not None:
            sheet.write_number(line, column, put.value, style)

    def references(self, sheet: Any) -> None:
        """One line for every figure of the tables used."""
        heads = ["Table", "Row", "Column", "Value", "Unit", "Low", "High", "Source", "Date", "Sure", "Note", "Key"]
        widths = (14.0, 26, 16, 14, 22, 12, 12, 18, 10, 6, 50, 40)
        named = [(say(head), width) for head, width in zip(heads, widths, strict=True)]
        bases = [(say(head), 15.0) for head in ("In base units", "Low, base", "High, base")]
        self.head(sheet, say("References"), [*named, *bases])
        sheet.write_string(1, 0, say("V read, R recomputed, C taken over unread, E assumption"), self.styles.quiet)
        for line, figure in enumerate(self.tables.figures, start=FIRST_LINE):
            number = number_format(figure.base(figure.value), figure.unit)
            texts = {
                tables.TABLE: figure.table, tables.ROW: figure.row, tables.COLUMN: figure.column,
                tables.UNIT: figure.unit.replace("currency", "USD"), tables.SOURCE: figure.source,
                tables.DATE: figure.date, tables.SURE: figure.sure, tables.NOTE: figure.note, tables.KEY: figure.key,
            }  # fmt: skip
            for column, text in texts.items():
                self.put(sheet, line, column, Put(text))
            value, factor = address(line, tables.VALUE), figure.factor
            self.put(sheet, line, tables.VALUE, Put(figure.value), self.styles.entry(number))
            by = "" if factor == 1 else f"*{excel.literal(factor)}"
            self.put(sheet, line, tables.BASE, Put(figure.base(figure.value), value + by), self.styles.working())
            for end, column, base in (
                (figure.low, tables.LOW, tables.BASE_LOW),
                (figure.high, tables.HIGH, tables.BASE_HIGH),
            ):
                self.put(sheet, line, column, Put(end), self.styles.entry(number))
                known = figure.base(figure.value if end is None else end)
                cell, whole = address(line, column), address(line, tables.BASE)
                self.put(
                    sheet, line, base, Put(known, f"IF(ISBLANK({cell}),{whole},{cell}{by})"), self.styles.working()
                )
        sheet.autofilter(HEAD_LINE, 0, self.tables.last, tables.BASE_HIGH)
        for i, (table, options) in enumerate(self.tables.offered.items()):
            column = tables.FIRST_CHOICES + i
            sheet.set_column(column, column, 22, self.styles.text)
            sheet.write_string(HEAD_LINE, column, say("Choices: {table}", table=table), self.styles.head)
            for line, option in enumerate(options, start=FIRST_LINE):
                sheet.write_string(line, column, option, self.styles.text)

    def sources(self, sheet: Any) -> None:
        """What the codes in square brackets stand for."""
        texts = [figure.source for figure in self.tables.figures]
        for tab in self.tabs.values():
            texts += [entry.source for entry in (*tab.sheet.inputs, *tab.sheet.rows)]
            texts += [advice.source for advice in tab.sheet.advice]
            texts += [cell.value.source for cell in tab.result.inputs.values() if cell.value is not None]
        self.head(sheet, say("Sources"), [(say("Code"), 16), (say("Source"), 110)])
        codes = sorted({code for text in texts for code in _CODES.findall(text)} & sources().keys())
        for line, code in enumerate(codes, start=FIRST_LINE):
            self.put(sheet, line, 0, Put(f"[{code}]"))
            self.put(sheet, line, 1, Put(sources()[code]))

    def overview(self, sheet: Any) -> None:
        """What the workbook holds, how to use it, and what in it is not live."""
        heads = [(say("Sheet"), 24.0), (say("Title"), 44), (say("State"), 18), (say("Question"), 90)]
        self.head(sheet, clean(f"Rackside: {self.book.plan.plan}"), heads)
        sheet.write_string(1, 0, say("Exported {date}", date=self.book.today.isoformat()), self.styles.quiet)
        if self.book.plan.note:
            self.put(sheet, 2, 0, Put(self.book.plan.note), self.styles.quiet)
        line = FIRST_LINE
        for tab in self.tabs.values():
            link = f"internal:'{tab.title}'!A1"
            sheet.write_url(line, 0, link, self.styles.get(font_color="#1D5FA8", underline=1), tab.title)
            self.put(sheet, line, 1, Put(str(tab.sheet.title)))
            state = address(layout.STATE_LINE, layout.VALUE, tab.title)
            self.put(sheet, line, 2, Put(tab.result.state, state))
            self.put(sheet, line, 3, Put(str(tab.sheet.question)))
            line += 1
        line = self.told(sheet, line + 1, say("How to use it"), _guide())
        fixed = [
            f"{f.key}: {', '.join(f.functions) or say('value as of the export: no spreadsheet formula says it')}"
            for f in self.fixed()
        ]
        self.told(sheet, line + 1, say("Not live"), fixed or [say("Every formula is live.")])

    def told(self, sheet: Any, line: int, title: str, texts: Iterable[str]) -> int:
        """A heading with texts below it."""
        sheet.write_string(line, 0, title, self.styles.part)
        for text in texts:
            line += 1
            self.put(sheet, line, 0, Put(text))
        return line + 1


def _guide() -> list[str]:
    return [
        say("Type into the yellow cells, in the unit beside them; clear one to take its default back."),
        say("A cell takes its default from the plan, another sheet or a table; change it there and all follow."),
        say("Inputs and results bear names such as training_time.mfu."),
        say("Formulas reckon in base units, in the grey columns; the formula as the sheet has it stands as text."),
        say("Figures of the tables stand in References with their source and date, and may be changed there."),
    ]
