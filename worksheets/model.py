"""What a sheet file may say: inputs, rows with formulas, advice. A sheet is data; nothing in it is executed."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, field_validator, model_validator

from common.errors import InputError
from common.words import Text
from worksheets.formulas.syntax import Node, parse
from worksheets.quantities import Ask, Scope
from worksheets.units import BOOL, TEXT, unit

NAME = re.compile(r"[a-z][a-z0-9_]*")
SLUG = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
RESERVED = frozenset({"and", "or", "not", "true", "false", "if", "low", "high", "untouched", "given", "price_age"})
FILL = re.compile(r"\{([a-z][\w.-]*)\}")


class Model(BaseModel):
    """Frozen, and refuses keys it does not know."""

    # each schema is built once, as part of the file it stands in
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, defer_build=True)


def _formula(value: Any) -> Any:
    # YAML reads `40` and `true` by itself; a formula is text
    return str(value).lower() if isinstance(value, bool) else str(value) if isinstance(value, int | float) else value


def _plain(value: Any) -> Any:
    # YAML 1.1 takes 15e12 for a text
    return float(value) if isinstance(value, str) and re.fullmatch(r"[-+]?[\d.]+[eE][-+]?\d+", value) else value


def _parsed(value: str) -> str:
    parse(value)
    return value


def _unit(value: str) -> str:
    if value not in (TEXT, BOOL):
        unit(value)
    return value


def _date(value: Any) -> Any:
    # YAML makes a date of 2026-05-01 and a number of 2026
    text = value.isoformat() if isinstance(value, datetime.date) else str(value) if isinstance(value, int) else value
    if isinstance(text, str) and text:
        if not re.fullmatch(r"\d{4}(-\d\d(-\d\d)?)?", text):
            raise ValueError(f"`{text}` is no date; write 2026-05 or 2026-05-01")
        datetime.date.fromisoformat((text + "-01-01")[:10])
    return text


Formula = Annotated[str, BeforeValidator(_formula)]
Date = Annotated[str, BeforeValidator(_date)]
UnitName = Annotated[str, BeforeValidator(lambda v: "1" if v == 1 else v)]
Plain = Annotated[float | int | bool | str, BeforeValidator(_plain)]


class Named(Model):
    """What has a name, a label and a unit."""

    name: str
    label: Text
    unit: UnitName = "count"
    group: str = ""
    help: Text = ""
    source: str = ""
    note: Text = ""

    @field_validator("name")
    @classmethod
    def _name(cls, value: str) -> str:
        if not NAME.fullmatch(value) or value in RESERVED:
            raise ValueError(f"`{value}` is no name; use small letters, digits and _")
        return value

    @field_validator("unit")
    @classmethod
    def _known_unit(cls, value: str) -> str:
        return _checked(lambda: _unit(value))


def _checked(read: Callable[[], str]) -> str:
    try:
        return read()
    except InputError as error:
        raise ValueError(str(error)) from None


class Input(Named):
    """A field that somebody may fill. `default` and `range` are in `unit`; `spread` is the usual low and high."""

    default: Plain | None = None
    range: tuple[float, float] | None = None
    spread: tuple[float, float] | None = None
    kind: Literal["fact", "measured", "assumption", "choice"] = "choice"
    choices: tuple[str, ...] | str = ()
    from_: str | None = Field(None, alias="from")
    ask: Ask | None = None
    scope: Scope | None = None
    whole: bool = False
    date: Date = ""
    optional: bool = False

    @model_validator(mode="after")
    def _whole_input(self) -> Input:
        is_text = self.unit in (TEXT, BOOL)
        if is_text and (self.range or self.spread):
            raise ValueError(f"input `{self.name}` is {self.unit} and has no range")
        if not is_text and self.range is None:
            raise ValueError(f"input `{self.name}` needs `range: [low, high]` in {self.unit}")
        for pair in (self.range, self.spread):
            if pair and pair[0] > pair[1]:
                raise ValueError(f"input `{self.name}`: {pair[0]} is above {pair[1]}")
        if isinstance(self.default, bool) is not (self.unit == BOOL) and self.default is not None:
            raise ValueError(f"input `{self.name}`: default {self.default} is not {self.unit}")
        if is_text is False and isinstance(self.default, str):
            raise ValueError(f"input `{self.name}`: the default is a plain number in {self.unit}")
        inside = (self.spread or ()) + ((self.default,) if isinstance(self.default, int | float) else ())
        if self.range and not all(self.range[0] <= v <= self.range[1] for v in inside):
            raise ValueError(f"input `{self.name}`: default and spread must lie in the range")
        if isinstance(self.choices, tuple) and self.choices and self.default not in (None, *self.choices):
            raise ValueError(f"input `{self.name}`: default {self.default} is not among the choices")
        return self


class Row(Named):
    """A computed value. `words` gives the text to show for a text result."""

    formula: Formula
    show: bool = True
    words: dict[str, Text] = {}

    @field_validator("formula")
    @classmethod
    def _readable(cls, value: str) -> str:
        return _checked(lambda: _parsed(value))

    @cached_property
    def tree(self) -> Node:
        """The parsed formula."""
        return parse(self.formula)


class Advice(Model):
    """A rule of the sheet: when its condition holds its text is said, with `{name}` filled in."""

    id: str
    when: Formula
    severity: Literal["ok", "info", "warn", "fail"]
    text: Text
    inputs: tuple[str, ...] = ()
    runbook: str | None = None
    source: str = ""

    @field_validator("when")
    @classmethod
    def _readable(cls, value: str) -> str:
        return _checked(lambda: _parsed(value))

    @cached_property
    def tree(self) -> Node:
        """The parsed condition."""
        return parse(self.when)


class Group(Model):
    """A heading under which inputs or rows stand together."""

    id: str
    title: Text


class Sheet(Model):
    """A worksheet."""

    sheet: str
    id: str
    title: Text
    question: Text
    help: Text = ""
    groups: tuple[Group, ...] = ()
    functions: tuple[str, ...] = ()
    inputs: tuple[Input, ...]
    rows: tuple[Row, ...]
    advice: tuple[Advice, ...] = ()

    _by_name: dict[str, Input | Row] = PrivateAttr(default_factory=dict)

    @field_validator("sheet")
    @classmethod
    def _slug(cls, value: str) -> str:
        if not SLUG.fullmatch(value):
            raise ValueError(f"`{value}` is no slug; use small letters, digits and -")
        return value

    @model_validator(mode="after")
    def _unique(self) -> Sheet:
        entries: tuple[Input | Row, ...] = (*self.inputs, *self.rows)
        for entry in entries:
            if entry.name in self._by_name:
                raise ValueError(f"`{entry.name}` stands twice in this sheet")
            self._by_name[entry.name] = entry
        ids = [a.id for a in self.advice]
        if twice := next((i for i in ids if ids.count(i) > 1), None):
            raise ValueError(f"advice `{twice}` stands twice")
        return self

    def get(self, name: str) -> Input | Row | None:
        """An input or a row by name."""
        return self._by_name.get(name)
