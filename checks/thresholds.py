"""Every limit as data: value, unit, kind and source; a cluster may override those the table allows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from checks.findings import Model, ThresholdUse
from common import yamlfile
from common.errors import InputError

FILE = Path(__file__).parent / "data" / "thresholds.yaml"


class Threshold(Model):
    """One row of the table. `levels` holds named values where there are several (warn and fault, per GPU model)."""

    id: str
    section: str
    what: str
    default: str
    value: float | int | None = None
    levels: dict[str, float | int] = {}
    unit: str
    how: str = ""
    kind: str
    source: str
    override: bool
    override_note: str = ""


class _File(Model):
    thresholds: tuple[Threshold, ...]


@cache
def table() -> Mapping[str, Threshold]:
    """All thresholds by id."""
    rows = yamlfile.parse(yamlfile.read_text(FILE), FILE)["thresholds"]
    return {row["id"]: Threshold(**row) for row in rows}


class Thresholds:
    """The table as one cluster sees it."""

    def __init__(self, overrides: Mapping[str, float | Mapping[str, float]] | None = None) -> None:
        self.overrides = dict(overrides or {})
        for name, value in self.overrides.items():
            row = table().get(name)
            if row is None:
                raise InputError(f"unknown threshold `{name}`", fix=yamlfile.nearest(name, table()))
            if not row.override:
                raise InputError(f"threshold `{name}` cannot be changed", fix=f"it is fixed: {row.source}")
            if isinstance(value, Mapping) and (unknown := set(value) - set(row.levels)):
                level = sorted(unknown)[0]
                raise InputError(f"threshold `{name}` has no level `{level}`", fix=yamlfile.nearest(level, row.levels))
            if not isinstance(value, Mapping) and row.levels:
                raise InputError(f"threshold `{name}` has levels", fix="give " + ", ".join(row.levels))

    def number(self, name: str, level: str | None = None) -> float:
        """The value in force, in the table's unit.

        Raises:
            KeyError: no such threshold or level; a mistake in a rule, found by its test.
        """
        row = table()[name]
        given = self.overrides.get(name)
        if level is None:
            value = given if given is not None else row.value
        else:
            value = given[level] if isinstance(given, Mapping) and level in given else row.levels[level]
        if value is None or isinstance(value, Mapping):
            raise KeyError(f"threshold {name} has no single number")
        return float(value)

    def use(self, name: str, level: str | None = None) -> ThresholdUse:
        """The limit as a finding carries it; `value` is the table's wording where it is no number."""
        row = table()[name]
        try:
            value: float | str = self.number(name, level)
        except KeyError:
            value = row.default
        source = row.source if name not in self.overrides else f"cluster file (table: {row.source})"
        return ThresholdUse(id=name, value=value, unit=row.unit, source=source, kind=row.kind)
