"""The workbook somebody works at: what is typed and taken back, the plan it makes, and the file that plan lies in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from common.errors import InputError
from worksheets import fields
from worksheets import plan as plans
from worksheets.engine import Result, Workbook
from worksheets.exports.telling import between
from worksheets.library import Library, Ref
from worksheets.lint import sound_plan
from worksheets.model import Input, Plain
from worksheets.plan import CARD, Given, Plan
from worksheets.values import is_number
from worksheets.whatif.targets import known_needs

MOST_UNDONE = 200
"""Changes that can be taken back."""
_WHOLE = re.compile(r"[-+]?\d{1,15}")


class Desk:
    """Sheets over one plan, with a way back."""

    def __init__(self, library: Library, plan: Plan | None = None) -> None:
        self.library = library
        self.book = Workbook(library, plan or Plan())
        self.file: Path | None = None
        self.changed = False
        self.cluster = ""
        self._touched: set[str] = set()
        self._told: frozenset[str] = frozenset()
        self._before: list[tuple[Workbook, str]] = []
        self._editing: tuple[Workbook, str] | None = None

    def compute(self, slug: str) -> Result:
        """A sheet as it stands."""
        return self.book.compute(slug)

    def ends(self, ref: Ref) -> str:
        """What an input may be, in words; nothing for a text, or yes and no."""
        entry = self.book.settable(ref.key)
        found = fields.allowed(entry, known_needs(self.book, ref))
        return "" if found is None else between(*found, self._unit(entry))

    def _unit(self, entry: Input) -> str:
        # an amount of money is in the plan's currency
        return entry.unit.replace("currency", str(self.book.part(fields.CURRENCY)))

    def choices(self, entry: Input) -> tuple[str, ...]:
        """What an input may be where it is one of several."""
        return fields.choices(self.library, entry)

    # typing

    def begin(self, slug: str, name: str) -> None:
        """What is typed from now on is one change, however many keys it takes."""
        self.end()
        self._editing = (self.book.copy(), f"{slug}.{name}")

    def type(self, slug: str, name: str, text: str) -> None:
        """Gives an input what was typed; nothing typed takes the value back.

        Raises:
            InputError: a value that cannot be; the last good one stays.
        """
        key = f"{slug}.{name}"
        if not text.strip():
            self.book.clear(slug, name)
        else:
            self.book.set(slug, name, plain(self.book.settable(key), text))
        self._touched.add(key)

    def end(self) -> None:
        """The change is meant."""
        if self._editing is None:
            return
        before, key = self._editing
        self._editing = None
        if before.given(key) != self.book.given(key):
            self._keep(before, key)

    def cancel(self) -> None:
        """The change was not meant."""
        if self._editing is not None:
            self.book, self._editing = self._editing[0], None

    def set(self, slug: str, name: str, text: str) -> None:
        """Types a value as one change.

        Raises:
            InputError: a value that cannot be; the old one stays.
        """
        self.begin(slug, name)
        try:
            self.type(slug, name, text)
        except InputError:
            self.cancel()
            raise
        self.end()

    def undo(self) -> str:
        """Takes the last change back; gives the input it was about, or nothing when there is no change."""
        self.cancel()
        if not self._before:
            return ""
        self.book, key = self._before.pop()
        self.changed = True
        return key

    def _keep(self, before: Workbook, key: str) -> None:
        self._before = [*self._before[-MOST_UNDONE + 1 :], (before, key)]
        self.changed = True

    # the plan

    def plan(self) -> Plan:
        """Everything that was given, as a plan to save."""
        origin = self.book.plan
        card: dict[str, Plain | Given] = {}
        sheets: dict[str, dict[str, Plain | Given]] = {}
        for key in sorted({*origin.given(), *self._touched}):
            found = self.book.given(key)
            if found is None or found[1] == "measured":
                continue
            slug, _, name = key.partition(".")
            given = found[0]
            only_value = given == Given(value=given.value)
            target = card if slug == CARD else sheets.setdefault(slug, {})
            target[name] = given.value if only_value else given
        return origin.model_copy(update={"card": card, "sheets": sheets})

    def save(self, path: Path) -> None:
        """Writes the plan, all or nothing.

        Raises:
            WriteError: with the file and the reason.
        """
        plans.save(self.named(path), path)
        self.saved(path)

    def named(self, path: Path) -> Plan:
        """The plan to save in a file, which gives a new plan its name."""
        self.end()
        plan = self.plan()
        return plan.model_copy(update={"plan": path.stem}) if plan.plan == Plan().plan else plan

    def saved(self, path: Path) -> None:
        """The plan lies in a file."""
        self.file, self.changed = path, False

    def open(self, path: Path) -> None:
        """Goes on with the plan of a file.

        Raises:
            InputError: no plan, or one with names or values that cannot be; all stays as it is.
        """
        self.take(sound_plan(path, self.library), path)

    def take(self, plan: Plan, path: Path) -> None:
        """Goes on with a plan; what was typed before can be had back with undo."""
        self.end()
        self._keep(self.book, "")
        self.book = Workbook(self.library, plan)
        self._touched.clear()
        self.file, self.changed = path, False

    def measure(self, cluster: str, found: Mapping[str, Given]) -> tuple[str, ...]:
        """Takes what a cluster tells instead of what another one told; gives, in words, what of it cannot be."""
        plan = self.plan()
        own = {key: given for key, given in plan.measured.items() if key not in self._told}
        told = {**found, **own}
        book = Workbook(self.library, plan.model_copy(update={"measured": told}))
        problems: dict[str, str] = {}
        for key in found:
            error = book.cell(key.partition(".")[0], book.settable(key)).error
            if error is not None and book.given(key) == (told[key], "measured"):
                problems[key] = f"{told[key].source}: {error.message}"
        if problems:
            good = {key: given for key, given in told.items() if key not in problems}
            book = Workbook(self.library, plan.model_copy(update={"measured": good}))
        if self._before:
            self._before.append((self.book, ""))
        # a cluster that was looked at is no change to save
        self.book, self.cluster, self._told = book, cluster, frozenset(found) - own.keys()
        return tuple(problems.values())


def plain(entry: Input, text: str) -> Plain:
    """What was typed as a plan keeps it: a bare number as a number, all else as the text it is."""
    text = text.strip()
    if is_number(entry.unit):
        if _WHOLE.fullmatch(text):
            return int(text)
        try:
            number = float(text)
        except ValueError:
            return text
        return number if number - number == 0 and "_" not in text else text
    return text
