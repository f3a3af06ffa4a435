"""Writes one worksheet of a workbook: inputs to type into, results as live formulas, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from common.words import say
from worksheets.exports import layout, texts
from worksheets.exports.inputs import MISSING, InputLine, Put
from worksheets.exports.layout import FIRST_LINE, HEAD_LINE, STATE_LINE, Drawn, Tab, address
from worksheets.exports.styles import COLOURS, Styles, clean, number_format
from worksheets.exports.translate import Formulas, scaled
from worksheets.formulas import excel
from worksheets.library import Ref
from worksheets.model import Advice, Input, Row
from worksheets.units import BOOL, TEXT, spell, unit
from worksheets.values import is_number

WIDTHS = {
    layout.LABEL: 44, layout.VALUE: 18, layout.UNIT: 17, layout.LOW: 13, layout.HIGH: 13, layout.DEFAULT: 15,
    layout.ORIGIN: 10, layout.SOURCE: 20, layout.DATE: 9, layout.FORMULA: 60, layout.NOTE: 50, layout.NAME: 22,
    layout.NAME + 1: 3, layout.BASE: 15, layout.BASE_LOW: 13, layout.BASE_HIGH: 13, layout.BASE_DEFAULT: 13,
    layout.BASE_UNIT: 12, layout.LINE: 8, layout.IS_DEFAULT: 9, layout.TEXT: 24, layout.STALE: 12,
}  # fmt: skip
HEADS = {
    layout.LABEL: "Label", layout.VALUE: "Value", layout.UNIT: "Unit", layout.LOW: "Low", layout.HIGH: "High",
    layout.DEFAULT: "Default", layout.ORIGIN: "Origin", layout.SOURCE: "Source", layout.DATE: "Date",
    layout.FORMULA: "Formula", layout.NOTE: "Note", layout.NAME: "Name", layout.BASE: "In base units",
    layout.BASE_LOW: "Low, base", layout.BASE_HIGH: "High, base", layout.BASE_DEFAULT: "Default, base",
    layout.BASE_UNIT: "Base unit", layout.LINE: "Line of table", layout.IS_DEFAULT: "Default counts",
    layout.TEXT: "In words", layout.STALE: "Out of date",
}  # fmt: skip
LONGEST_LIST = 250
"""A spreadsheet takes 255 characters for the choices of a cell."""
_LINE_OF_ADVICE, _LINE_OF_WORDS, _HIGHEST = 95, 68, 400.0
_SEVERITIES = ("ok", "info", "warn", "fail")


@dataclass(slots=True)
class SheetWriter:
    """Writes a tab. `worded` are the inputs and rows, by `sheet.name`, that some text fills in."""

    tab: Tab
    formulas: Formulas
    styles: Styles
    worded: set[str]
    sheet: Any

    def write(self) -> None:
        """Everything but the charts."""
        self.frame()
        for drawn in self.tab.drawn:
            match drawn.kind:
                case "part":
                    self.text(drawn.line, layout.LABEL, drawn.text, self.styles.part)
                case "group":
                    self.text(drawn.line, layout.LABEL, drawn.text, self.styles.group)
                case "note":
                    self.text(drawn.line, layout.LABEL, drawn.text)
                case "advice":
                    assert drawn.advice is not None
                    self.advice(drawn.line, drawn.advice)
                case _:
                    self.entry(drawn)
        for name, place in self.tab.lists.items():
            entry = self.tab.sheet.get(name)
            assert isinstance(entry, Row)
            self.list(entry, place)
        self.state()

    def frame(self) -> None:
        """Title, headings, widths and how it prints."""
        sheet, styles = self.sheet, self.styles
        for column, width in WIDTHS.items():
            quiet = column > layout.NAME
            sheet.set_column(column, column, width, styles.quiet if quiet else styles.text, {"level": int(quiet)})
        self.text(0, layout.LABEL, f"{self.tab.sheet.id} {self.tab.sheet.title}", styles.title)
        self.text(1, layout.LABEL, str(self.tab.sheet.question), styles.quiet)
        for column, head in HEADS.items():
            self.text(HEAD_LINE, column, say(head), styles.head)
        sheet.freeze_panes(FIRST_LINE, 1)
        sheet.hide_gridlines(2)
        sheet.set_landscape()
        sheet.set_paper(9)
        sheet.fit_to_pages(1, 0)
        sheet.repeat_rows(HEAD_LINE)
        sheet.print_area(0, 0, self.tab.end + 60, layout.DATE)

    def text(self, line: int, column: int, text: str, style: Any = None) -> None:
        """A text, never taken for a formula."""
        if text:
            self.sheet.write_string(line, column, clean(text), style or self.styles.text)

    def put(self, line: int, column: int, put: Put, style: Any) -> None:
        """A formula with its present value, or a plain value."""
        if put.formula:
            self.sheet.write_formula(line, column, f"={put.formula}", style, put.value)
        elif isinstance(put.value, bool):
            self.sheet.write_boolean(line, column, put.value, style)
        elif isinstance(put.value, str) and put.value:
            self.sheet.write_string(line, column, put.value, style)
        elif isinstance(put.value, int | float):
            self.sheet.write_number(line, column, float(put.value), style)
        else:
            self.sheet.write_blank(line, column, None, style)

    def entry(self, drawn: Drawn) -> None:
        """The line of an input or a row."""
        entry, line = drawn.entry, drawn.line
        assert entry is not None
        self.text(line, layout.LABEL, str(entry.label), self.styles.wrapped)
        self.unit(line, entry)
        self.text(line, layout.NAME, entry.name, self.styles.quiet)
        if is_number(entry.unit):
            self.text(line, layout.BASE_UNIT, spell(unit(entry.unit).dimension), self.styles.quiet)
        if isinstance(entry, Input):
            self.input(line, entry)
        else:
            self.row(line, entry)
        ref = Ref(self.tab.slug, entry.name)
        if entry.name not in self.tab.lists and (ref.key in self.worded or (isinstance(entry, Row) and entry.words)):
            said = self.formulas.said_of(ref, self.tab.slug)
            self.put(line, layout.TEXT, Put(self.words(ref), said), self.styles.working())

    def unit(self, line: int, entry: Input | Row) -> None:
        """The unit, in which the plan's currency follows the plan."""
        if "currency" in entry.unit:
            named = texts.named(entry.unit, self.formulas.currency(self.tab.slug))
            value = self.tab.result.inputs.get(entry.name) or self.tab.result.rows[entry.name]
            shown = value.value.unit if value.value is not None else entry.unit
            self.put(line, layout.UNIT, Put(shown, named), self.styles.beside)
        elif is_number(entry.unit):
            self.text(line, layout.UNIT, entry.unit, self.styles.beside)

    def words(self, ref: Ref) -> str:
        """What the formula in words says now."""
        cell = self.formulas.book.cell(ref.sheet, self.formulas.book.library.entry(ref))
        if cell.value is None:
            return MISSING
        return cell.words or texts.told(cell.value.value, cell.value.unit, "")

    def input(self, line: int, entry: Input) -> None:
        """The line of an input."""
        filled = InputLine(self.formulas, self.tab.slug, entry)
        number = number_format(None if filled.value is None else filled.value.value, entry.unit)
        for column, put in filled.cells().items():
            style = self.styles.beside if column == layout.ORIGIN else self.styles.text
            if column > layout.NAME:
                style = self.styles.working()
            elif column in (layout.VALUE, layout.LOW, layout.HIGH, layout.DEFAULT):
                style = self.styles.result(number)
            if column != layout.VALUE:
                self.put(line, column, put, style)
        self.put(line, layout.VALUE, filled.cells().get(layout.VALUE, Put(None)), self.styles.entry(number))
        if entry.from_:
            self.text(line, layout.FORMULA, say("from {place}", place=entry.from_), self.styles.quiet)
        lost = self.formulas.following.lost(Ref(self.tab.slug, entry.name))
        notes = [str(entry.help), str(entry.note), *([_rests(lost)] if lost else [])]
        self.text(line, layout.NOTE, " · ".join(note for note in notes if note), self.styles.quiet)
        self.sheet.data_validation(line, layout.VALUE, line, layout.VALUE, self.allowed(entry, filled))

    def allowed(self, entry: Input, filled: InputLine) -> dict[str, Any]:
        """What may be typed into an input."""
        rule: dict[str, Any] = {
            "ignore_blank": True,
            "input_title": clean(entry.name)[:32],
            "input_message": clean(str(entry.help) or str(entry.label))[:255],
            "error_title": clean(entry.name)[:32],
        }
        if entry.unit == BOOL:
            return rule | {"validate": "list", "source": ["TRUE", "FALSE"]}
        if entry.unit == TEXT:
            if not entry.choices:
                return rule | {"validate": "any"}
            if isinstance(entry.choices, str):
                table = entry.choices.partition(" ")[2]
                return rule | {"validate": "list", "source": f"={self.formulas.tables.choices(table)}"}
            choices = list(entry.choices)
            if len(",".join(choices)) > LONGEST_LIST or any("," in choice for choice in choices):
                return rule | {"validate": "any"}
            return rule | {"validate": "list", "source": choices}
        assert entry.range is not None
        low, high = entry.range
        allowed = say("{low:.10g} to {high:.10g} {unit}", low=low, high=high, unit=entry.unit)
        rule |= {"validate": "integer" if entry.whole else "decimal", "criteria": "between", "error_message": allowed}
        if filled.worth:
            return rule | {"minimum": f"={low!r}{filled.worth}", "maximum": f"={high!r}{filled.worth}"}
        return rule | {"minimum": low, "maximum": high}

    def row(self, line: int, entry: Row) -> None:
        """The line of a result."""
        slug, value = self.tab.slug, self.tab.result.rows[entry.name].value
        self.text(line, layout.ORIGIN, say("computed"), self.styles.beside)
        self.text(line, layout.SOURCE, entry.source)
        self.text(line, layout.FORMULA, entry.formula, self.styles.quiet)
        said = self.formulas.row(slug, entry)
        self.note(line, entry)
        if entry.name in self.tab.lists:
            place = self.tab.lists[entry.name]
            where = address(FIRST_LINE, place.column).replace("$", "")
            text = say("{count} values in column {column}", count=place.length, column=layout.letters(place.column))
            self.sheet.write_url(line, layout.VALUE, f"internal:'{self.tab.title}'!{where}", self.styles.text, text)
            return
        assert isinstance(said, str)
        here = address(line, layout.BASE)
        base: Any = MISSING if value is None else value.value
        self.put(line, layout.BASE, Put(base, said), self.styles.working())
        shown = base if value is None or not is_number(entry.unit) else base / unit(entry.unit).factor
        number = self.styles.result(number_format(base if value else None, entry.unit))
        if entry.words and entry.unit == TEXT:
            self.sentence(line, Put(self.words(Ref(slug, entry.name)), address(line, layout.TEXT)))
        else:
            self.put(line, layout.VALUE, Put(shown, scaled(here, entry.unit)), number)

    def sentence(self, line: int, words: Put) -> None:
        """A result in words, over as many cells and lines as it takes."""
        height = sum(1 + len(text) // _LINE_OF_WORDS for text in str(words.value).splitlines())
        if len(str(words.value)) > WIDTHS[layout.VALUE]:
            self.sheet.merge_range(line, layout.VALUE, line, layout.DEFAULT, "", self.styles.wrapped)
            self.sheet.set_row(line, min(14.0 * height, _HIGHEST))
        self.put(line, layout.VALUE, words, self.styles.wrapped)

    def note(self, line: int, entry: Row) -> None:
        """What the author says about a row, and what of it is not live."""
        slug, following = self.tab.slug, self.formulas.following
        ref, notes = Ref(slug, entry.name), [str(entry.help), str(entry.note)]
        fixed, lost = following.fixed(slug, entry), following.lost(ref)
        if ref.key in following.whole:
            notes.append(say("value as of the export: no spreadsheet formula says it"))
        elif fixed:
            names = ", ".join(fixed)
            notes.append(say("not live, value as of the export: {names}", names=names))
        elif lost:
            notes.append(_rests(lost))
        self.text(line, layout.NOTE, " · ".join(note for note in notes if note), self.styles.quiet)
        if fixed and (stale := self.formulas.stale(slug, entry)):
            self.put(line, layout.STALE, Put(False, stale), self.styles.working())

    def list(self, entry: Row, place: layout.ListPlace) -> None:
        """The values of a list row, one under another."""
        slug, value = self.tab.slug, self.tab.result.rows[entry.name].value
        said = self.formulas.row(slug, entry)
        assert value is not None
        assert isinstance(said, tuple)
        title = f"{entry.label}" + (f" [{value.unit}]" if is_number(entry.unit) else "")
        self.sheet.set_column(place.column, place.column, 16)
        self.text(HEAD_LINE, place.column, title, self.styles.head)
        self.text(HEAD_LINE, place.column + 1, say("In base units"), self.styles.head)
        factor = unit(entry.unit).factor if is_number(entry.unit) else 1.0
        spoken = f"{slug}.{entry.name}" in self.worded
        for i, (formula, item) in enumerate(zip(said, value.value, strict=True)):
            line, base = FIRST_LINE + i, address(FIRST_LINE + i, place.column + 1)
            self.put(line, place.column + 1, Put(item, formula), self.styles.working())
            shown = Put(item / factor if is_number(entry.unit) else item, scaled(base, entry.unit))
            plain = texts.formula(shown.formula, entry.unit, self.formulas.currency(slug))
            words = Put(self.word(entry, item, value.unit), self.formulas.worded(slug, entry, base, plain))
            number = self.styles.result(number_format(item, entry.unit, with_unit=False))
            self.put(line, place.column, words if entry.words and entry.unit == TEXT else shown, number)
            if spoken:
                self.put(line, place.column + 2, words, self.styles.working())

    def word(self, entry: Row, item: Any, name: str) -> str:
        """What is said of one value of a list."""
        refs = self.formulas.book.library.ready(self.tab.slug, entry).names
        return self.formulas.told(str(entry.words.get(str(item), "")), refs) or texts.told(item, name, "")

    def advice(self, line: int, advice: Advice) -> None:
        """A rule: its state and text, both live."""
        refs = self.formulas.book.library.ready(self.tab.slug, advice).names
        said = next((s for s in self.tab.result.advice if s.rule == advice.id), None)
        state = address(line, layout.VALUE)
        condition = self.formulas.condition(self.tab.slug, advice)
        self.text(line, layout.LABEL, advice.id, self.styles.text)
        rule = Put("-" if said is None else said.severity, f'IFERROR(IF({condition},"{advice.severity}","-"),"-")')
        self.put(line, layout.VALUE, rule, self.styles.text)
        text = f'IF({state}="-","",{self.formulas.text(self.tab.slug, str(advice.text), refs)})'
        merged = self.styles.wrapped
        self.sheet.merge_range(line, layout.UNIT, line, layout.DATE, "", merged)
        self.put(line, layout.UNIT, Put("" if said is None else said.text, text), merged)
        self.text(line, layout.FORMULA, advice.when, self.styles.quiet)
        notes = [advice.source, say("runbook {name}", name=advice.runbook) if advice.runbook else ""]
        if fixed := self.formulas.following.fixed(self.tab.slug, advice):
            notes.append(say("not live, value as of the export: {names}", names=", ".join(fixed)))
        self.text(line, layout.NOTE, " · ".join(note for note in notes if note), self.styles.quiet)
        self.sheet.set_row(line, 14.0 * (1 + len(str(advice.text)) // _LINE_OF_ADVICE))

    def state(self) -> None:
        """The state of the sheet, from its rules and from what cannot be computed."""
        tab = self.tab
        rows = f"{address(tab.first_row, layout.BASE)}:{address(tab.last_row, layout.BASE)}"
        every = f"{address(FIRST_LINE, layout.BASE)}:{address(tab.last_row, layout.BASE)}"
        lists = [
            f"{address(FIRST_LINE, p.column + 1)}:{address(FIRST_LINE + p.length - 1, p.column + 1)}"
            for p in tab.lists.values()
        ]
        missing = "+".join(f"SUMPRODUCT(--ISNA({span}))" for span in (rows, *lists))
        broken = "+".join(f"SUMPRODUCT(--ISERR({span}))" for span in (every, *lists))
        told = '"ok"'
        if tab.advice:
            first, last = min(tab.advice.values()), max(tab.advice.values())
            rules = f"{address(first, layout.VALUE)}:{address(last, layout.VALUE)}"
            told = f'IF(COUNTIF({rules},"fail")>0,"fail",IF(COUNTIF({rules},"warn")>0,"warn","ok"))'
            for severity in _SEVERITIES:
                self.coloured(rules, severity)
        formula = f'IF({missing}>0,"not-enough-input",IF({broken}>0,"fail",{told}))'
        self.text(STATE_LINE, layout.LABEL, say("State"))
        where = address(STATE_LINE, layout.VALUE)
        self.put(STATE_LINE, layout.VALUE, Put(tab.result.state, formula), self.styles.get(bold=True))
        for severity in COLOURS:
            self.coloured(where, severity)
        if any(self.formulas.stale(tab.slug, row) for row in tab.sheet.rows):
            flags = f"{address(tab.first_row, layout.STALE)}:{address(tab.last_row, layout.STALE)}"
            warning = say("values marked in column {column} are out of date: export again", column=self.stale_column)
            alarm = f'IF(COUNTIF({flags},TRUE)>0,{excel.quoted(warning)},"")'
            self.put(STATE_LINE, layout.UNIT, Put("", alarm), self.styles.get(bold=True, font_color=COLOURS["fail"]))

    @property
    def stale_column(self) -> str:
        """The letters of the column that marks values that are out of date."""
        return layout.letters(layout.STALE)

    def coloured(self, where: str, severity: str) -> None:
        """Shows a severity in its colour."""
        style = self.styles.state(severity)
        rule = {"type": "cell", "criteria": "==", "value": f'"{severity}"', "format": style}
        self.sheet.conditional_format(where.replace("$", ""), rule)


def _rests(lost: frozenset[str]) -> str:
    names = sorted(lost)
    more = f" (+{len(names) - 6})" if len(names) > 6 else ""
    return say("rests on fixed values: does not follow {names}", names=", ".join(names[:6]) + more)
