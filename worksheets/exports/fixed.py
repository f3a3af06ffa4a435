"""What a workbook cannot recompute: which functions stay as they were, and on which inputs their values rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from worksheets import fields
from worksheets.formulas import excel
from worksheets.formulas.syntax import Call, calls, names
from worksheets.library import Library, Ref
from worksheets.model import Advice, Input, Row


def carried(ref: Ref) -> bool:
    """Whether a reference tells about the inputs behind a value, which a workbook holds as of its export."""
    return ref.part not in ("value", "low", "high")


@dataclass(frozen=True, slots=True)
class Fixed:
    """A row or rule of which a part stays as it was: the sheet, its name, and the functions that are not live."""

    sheet: str
    name: str
    functions: tuple[str, ...]

    @property
    def key(self) -> str:
        """`sheet.name`."""
        return f"{self.sheet}.{self.name}"


@dataclass(slots=True)
class Following:
    """Tells for every input and row which inputs its cell in a workbook does not follow. `whole` are rows by key of
    which nothing is live."""

    library: Library
    whole: set[str] = field(default_factory=set)
    _under: dict[str, frozenset[str]] = field(default_factory=dict)
    _lost: dict[str, frozenset[str]] = field(default_factory=dict)

    def fixed(self, slug: str, entry: Row | Advice) -> tuple[str, ...]:
        """The functions of a formula whose values are fixed, parts such as `price_age` among them."""
        refs = self.library.ready(slug, entry).names
        parts = [refs[n.name].part for n in names(entry.tree) if carried(refs[n.name])]
        return tuple(dict.fromkeys([*excel.fixed(entry.tree, tables=True), *parts]))

    def lost(self, ref: Ref) -> frozenset[str]:
        """The inputs, as `sheet.input`, whose change the cell does not show, or not in full."""
        if ref.key not in self._lost:
            entry = self.library.entry(ref)
            if isinstance(entry, Input):
                needs = fields.needs(self.library, ref.sheet, entry)
                self._lost[ref.key] = frozenset().union(*(self.lost(need) for need in needs))
            elif ref.key in self.whole:
                self._lost[ref.key] = self.under(ref)
            else:
                self._lost[ref.key] = self.lost_by(ref.sheet, entry)
        return self._lost[ref.key]

    def lost_by(self, slug: str, entry: Row | Advice) -> frozenset[str]:
        """The same for the formula of a row or the condition of a rule, with the numbers in its text."""
        refs = self.library.ready(slug, entry).names
        found = {key for ref in refs.values() for key in self.lost(ref)}
        for node in self.frozen(slug, entry):
            found |= {key for n in names(node) for key in self.under(refs[n.name])}
        found |= {key for ref in refs.values() if carried(ref) for key in self.under(ref)}
        return frozenset(found)

    def frozen(self, slug: str, entry: Row | Advice) -> Iterator[Call]:
        """The calls in a formula that a workbook holds as values."""
        for call in calls(entry.tree):
            if not excel.has_form(call, tables=True):
                yield call

    def under(self, ref: Ref) -> frozenset[str]:
        """Every input on which a value rests, itself among them."""
        if ref.key not in self._under:
            entry = self.library.entry(ref)
            if isinstance(entry, Input):
                needs, own = list(fields.needs(self.library, ref.sheet, entry)), {ref.key}
            else:
                needs, own = list(self.library.ready(ref.sheet, entry).names.values()), set()
            self._under[ref.key] = frozenset(own).union(*(self.under(need) for need in needs))
        return self._under[ref.key]
