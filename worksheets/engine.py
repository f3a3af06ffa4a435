"""Computes worksheets: only what is asked for, only what depends on what changed, with the origin of every number."""

from __future__ import annotations

import copy
import datetime
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from common.errors import InputError
from common.words import say
from worksheets import behind, fields
from worksheets.formulas.scalar import compile_formula
from worksheets.formulas.syntax import Node, names
from worksheets.library import Library, Ref, unit_of
from worksheets.model import FILL, Advice, Input, Row, Sheet
from worksheets.plan import CARD, Given, Plan
from worksheets.values import NotEnoughError, Origin, State, Value, show

Outcome = Value | InputError


@dataclass(frozen=True, slots=True)
class Cell:
    """One line of a sheet as computed. Either `value` is there, or `error` says why not."""

    key: str
    entry: Input | Row
    value: Value | None
    error: InputError | None = None
    words: str = ""

    @property
    def name(self) -> str:
        """The name of the input or row."""
        return self.entry.name

    def text(self) -> str:
        """The value for people, in words where the row has some."""
        if self.value is None:
            return "-"
        return self.words or self.value.text()


@dataclass(frozen=True, slots=True)
class Said:
    """A rule whose condition holds."""

    rule: str
    severity: str
    text: str
    inputs: tuple[str, ...]
    runbook: str | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class Provenance:
    """How a number came about: its formula, the formula with numbers, and what stands behind each."""

    cell: Cell
    formula: str
    filled: str
    inputs: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """A computed sheet."""

    sheet: Sheet
    inputs: Mapping[str, Cell]
    rows: Mapping[str, Cell]
    advice: tuple[Said, ...]
    notes: tuple[str, ...]
    missing: tuple[str, ...]
    state: State

    def __getitem__(self, name: str) -> Any:
        """The base-unit value of an input or row.

        Raises:
            InputError: why there is none.
        """
        cell = self.rows.get(name) or self.inputs[name]
        if cell.value is None:
            raise cell.error or InputError(f"{name} has no value")
        return cell.value.value


@dataclass(slots=True)
class Workbook:
    """All sheets over one plan. Change inputs with `set`; `compute` then redoes only what depends on them."""

    library: Library = field(default_factory=Library)
    plan: Plan = field(default_factory=Plan.model_construct)
    today: datetime.date = field(default_factory=datetime.date.today)
    _given: dict[str, Given] = field(default_factory=dict)
    _typed: set[str] = field(default_factory=set)
    _cells: dict[str, Outcome] = field(default_factory=dict)
    _needs: dict[str, tuple[Ref, ...]] = field(default_factory=dict)
    _users: dict[str, set[str]] = field(default_factory=dict)
    computed: int = 0

    def __post_init__(self) -> None:
        for key, given in self.plan.given().items():
            self.settable(key)
            self._given[key] = given
        for key in self.plan.measured:
            self.settable(key)

    def set(self, sheet: str, name: str, value: Any) -> None:
        """Gives an input a value: a number in its unit, a text with unit, or a `Given` with range and source.

        Raises:
            InputError: no such input, or a value that cannot be; the old value stays.
        """
        key = f"{sheet}.{name}"
        entry = self.settable(key)
        given = value if isinstance(value, Given) else Given(value=value)
        self._know(*self.needs(Ref(sheet, name)))
        # a link that leads nowhere must not keep anybody from giving the value
        known = self._known([r for r in self.needs(Ref(sheet, name)) if isinstance(self._cells[r.key], Value)])
        fields.check(self.library, entry, fields.read(entry, given, "user", known), known)
        self._given[key] = given
        self._typed.add(key)
        self._forget(key)

    def clear(self, sheet: str, name: str) -> None:
        """Takes a typed value back: what was measured, looked up or assumed counts again."""
        key = f"{sheet}.{name}"
        self.settable(key)
        self._given.pop(key, None)
        self._typed.discard(key)
        self._forget(key)

    def copy(self) -> Workbook:
        """The same workbook again, to try values in while this one stays as it is."""
        other = copy.copy(self)
        other._given, other._typed, other._cells = dict(self._given), set(self._typed), dict(self._cells)
        return other

    def given(self, key: str) -> tuple[Given, Origin] | None:
        """What somebody typed, planned or measured for `sheet.input`, and which of these; None when nobody did."""
        if key in self._given:
            return self._given[key], "user" if key in self._typed else "plan"
        measured = self.plan.measured.get(key)
        return None if measured is None else (measured, "measured")

    def given_keys(self) -> frozenset[str]:
        """The inputs that somebody typed, planned or measured, as `sheet.input`."""
        return frozenset({*self._given, *self.plan.measured})

    def rests_on(self, *refs: Ref) -> tuple[behind.Standing, ...]:
        """Every input on which these rest, through all sheets and the plan."""
        self._know(*refs)
        return behind.behind(self.library, refs, self._cells, self.needs, self.given_keys())

    def settable(self, key: str) -> Input:
        """The input behind `sheet.input`.

        Raises:
            InputError: no such input.
        """
        sheet, _, name = key.partition(".")
        entry = self.library.entry(Ref(sheet, name))
        if not isinstance(entry, Input):
            raise InputError(f"{key} is computed and cannot be set", fix="set one of its inputs")
        return entry

    def compute(self, slug: str) -> Result:
        """Computes a sheet."""
        sheet = self.library.sheet(slug)
        entries: tuple[Input | Row, ...] = (*sheet.inputs, *sheet.rows)
        self._know(*(Ref(slug, e.name) for e in entries))
        cells = {e.name: self.cell(slug, e) for e in entries}
        inputs = {e.name: cells[e.name] for e in sheet.inputs}
        rows = {e.name: cells[e.name] for e in sheet.rows}
        said = tuple(s for a in sheet.advice if (s := self._said(slug, a)) is not None)
        short = [c.error for c in rows.values() if isinstance(c.error, NotEnoughError)]
        missing = tuple(dict.fromkeys(name for error in short for name in error.missing))
        broken = any(c.error is not None and not isinstance(c.error, NotEnoughError) for c in cells.values())
        severities = {s.severity for s in said}
        state: State = "ok"
        if missing:
            state = "not-enough-input"
        elif broken or "fail" in severities:
            state = "fail"
        elif "warn" in severities:
            state = "warn"
        return Result(sheet, inputs, rows, said, tuple(self._notes(slug)), missing, state)

    def cell(self, slug: str, entry: Input | Row) -> Cell:
        """One input or row as it stands."""
        ref = Ref(slug, entry.name)
        self._know(ref)
        outcome = self._cells[ref.key]
        if isinstance(outcome, Value):
            return Cell(ref.key, entry, self._named(outcome), words=self._worded(ref, entry, outcome))
        return Cell(ref.key, entry, None, outcome)

    def _named(self, value: Value) -> Value:
        """Amounts of money show the name of the plan's currency."""
        if "currency" not in value.unit:
            return value
        currency = Ref(CARD, "currency")
        self._know(currency)
        found = self._cells[currency.key]
        name = str(found.value) if isinstance(found, Value) else "currency"
        return replace(value, unit=value.unit.replace("currency", name))

    def explain(self, slug: str, name: str) -> Provenance:
        """Formula, formula with numbers, and inputs of a row; for an input only its value."""
        entry = self.library.entry(Ref(slug, name))
        cell = self.cell(slug, entry)
        if isinstance(entry, Input):
            sources = [self._cell_of(ref) for ref in self._needs[cell.key] if ref != fields.USD_RATE]
            return Provenance(cell, entry.from_ or "", "", tuple(sources))
        ready = self.library.ready(slug, entry)
        text = entry.formula
        for found in sorted(names(entry.tree), key=lambda n: -n.position):
            shown = self._filled(ready.names[found.name])
            text = text[: found.position] + shown + text[found.position + len(found.name) :]
        inputs = {ref.key: self._cell_of(ref) for ref in ready.names.values()}
        return Provenance(cell, entry.formula, text, tuple(inputs.values()))

    def part(self, ref: Ref) -> Any:
        """What a reference stands for in a formula: a value, an end of its range, or what it rests on.

        Raises:
            InputError: why there is none.
        """
        self._know(ref)
        return self._scope({"it": ref})("it")

    def evaluate(self, slug: str, entry: Row | Advice, node: Node) -> Any:
        """The value of one part of a formula; `entry` says what its names stand for.

        Raises:
            InputError: it cannot be computed.
        """
        refs = self.library.ready(slug, entry).names
        self._know(*refs.values())
        return compile_formula(node, self.library.lookup)(self._scope(refs))

    def _cell_of(self, ref: Ref) -> Cell:
        return self.cell(ref.sheet, self.library.entry(ref))

    def _filled(self, ref: Ref) -> str:
        outcome, entry = self._cells[ref.key], self.library.entry(ref)
        if not isinstance(outcome, Value):
            return "?"
        unit = self._named(outcome).unit if ref.part in ("value", "low", "high") else unit_of(entry, ref)
        return show(self._part(outcome, ref), unit)

    def _part(self, value: Value, ref: Ref) -> Any:
        if ref.part in ("untouched", "given", "price_age"):
            found = self.rests_on(ref)
            if ref.part == "given":
                return float(sum(standing.given for standing in found))
            return behind.untouched(found) if ref.part == "untouched" else behind.price_age(found, self.today)
        end = value.low if ref.part == "low" else value.high if ref.part == "high" else None
        return value.value if end is None else end

    def _forget(self, key: str) -> None:
        waiting = [key]
        while waiting:
            at = waiting.pop()
            if self._cells.pop(at, None) is not None or at == key:
                waiting.extend(self._users.get(at, ()))

    def _known(self, refs: Iterator[Ref] | list[Ref] | tuple[Ref, ...]) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for ref in refs:
            outcome = self._cells[ref.key]
            if isinstance(outcome, InputError):
                raise outcome
            found[ref.key] = outcome
        return found

    def _know(self, *refs: Ref) -> None:
        """Computes cells with all they need, in an order that needs no recursion."""
        waiting: list[tuple[Ref, bool]] = [(ref, False) for ref in reversed(refs)]
        open_: dict[str, None] = {}
        while waiting:
            ref, ready = waiting.pop()
            if ready:
                open_.pop(ref.key)
                self._cells[ref.key] = self._value(ref)
                self.computed += 1
                continue
            if ref.key in self._cells:
                continue
            if ref.key in open_:
                raise InputError(f"{_loop(open_, ref.key)} depend on each other", fix="break the circle")
            open_[ref.key] = None
            waiting.append((ref, True))
            waiting.extend((need, False) for need in self.needs(ref) if need.key not in self._cells)

    def needs(self, ref: Ref) -> tuple[Ref, ...]:
        """What an input or row hangs on at first hand, whether or not its value was typed."""
        if ref.key not in self._needs:
            entry = self.library.entry(ref)
            if isinstance(entry, Input):
                found = fields.needs(self.library, ref.sheet, entry)
            else:
                found = list(self.library.ready(ref.sheet, entry).names.values())
            self._needs[ref.key] = tuple(dict.fromkeys(found))
            for need in found:
                self._users.setdefault(need.key, set()).add(ref.key)
        return self._needs[ref.key]

    def _value(self, ref: Ref) -> Outcome:
        entry = self.library.entry(ref)
        try:
            return self._input(ref, entry) if isinstance(entry, Input) else self._row(ref, entry)
        except NotEnoughError as error:
            return error
        except InputError as error:
            named = error.message if entry.name in error.message else f"{entry.name}: {error.message}"
            return InputError(named, fix=error.fix)

    def _input(self, ref: Ref, entry: Input) -> Value:
        outcomes = {need.key: self._cells[need.key] for need in self.needs(ref)}
        return fields.value(self.library, ref, entry, self.given(ref.key), outcomes)

    def _row(self, ref: Ref, entry: Row) -> Value:
        ready = self.library.ready(ref.sheet, entry)
        value = ready.program(self._scope(ready.names))
        return Value(value, entry.unit, source=entry.source, note=str(entry.note))

    def _scope(self, refs: Mapping[str, Ref]) -> Any:
        def look(name: str) -> Any:
            ref = refs[name]
            outcome = self._cells[ref.key]
            if isinstance(outcome, InputError):
                raise outcome
            return outcome.value if ref.part == "value" else self._part(outcome, ref)

        return look

    def _said(self, slug: str, advice: Advice) -> Said | None:
        ready = self.library.ready(slug, advice)
        self._know(*ready.names.values())
        try:
            if ready.program(self._scope(ready.names)) is not True:
                return None
        except InputError:
            # a rule over a value that is not there says nothing; the row itself tells why
            return None
        text = self._told(str(advice.text), ready.names)
        return Said(advice.id, advice.severity, text, advice.inputs, advice.runbook, advice.source)

    def _told(self, text: str, refs: Mapping[str, Ref]) -> str:
        return FILL.sub(lambda found: self._words(refs[found[1]]), text)

    def _words(self, ref: Ref) -> str:
        return self._cell_of(ref).text() if ref.part == "value" else self._filled(ref)

    def _worded(self, ref: Ref, entry: Input | Row, value: Value) -> str:
        """What the row says in words, with the numbers in them; nothing when it has no words for the value."""
        if not isinstance(entry, Row) or not entry.words:
            return ""
        refs = self.library.ready(ref.sheet, entry).names
        if isinstance(value.value, tuple):
            return ", ".join(self._told(str(entry.words.get(str(v), v)), refs) for v in value.value)
        return self._told(str(entry.words.get(str(value.value), "")), refs).strip()

    def _notes(self, slug: str) -> Iterator[str]:
        """Prices older than six months behind the sheet, its own by name and those of other sheets as `sheet.input`."""
        sheet, given = self.library.sheet(slug), self.given_keys()
        refs = [Ref(slug, entry.name) for entry in (*sheet.inputs, *sheet.rows)]
        for standing in behind.old_prices(self.library, refs, self._cells, self.needs, given, self.today):
            name = standing.ref.name if standing.ref.sheet == slug else standing.ref.key
            date = standing.value.date
            yield say("the price of {name} is of {date}, older than six months", name=name, date=date)


def compute(
    slug: str, plan: Plan | None = None, overrides: Mapping[str, Any] | None = None, library: Library | None = None
) -> Result:
    """One sheet over a plan; `overrides` are inputs of the sheet, or of others as `sheet.input`.

    Raises:
        InputError: no such sheet or input, or a value that cannot be.
    """
    book = Workbook(library or Library(), plan or Plan())
    for name, value in (overrides or {}).items():
        sheet, _, plain = name.rpartition(".")
        book.set(sheet or slug, plain, value)
    return book.compute(slug)


def _loop(open_: Mapping[str, None], key: str) -> str:
    keys = list(open_)
    return " and ".join(dict.fromkeys([*keys[keys.index(key) :], key]))
