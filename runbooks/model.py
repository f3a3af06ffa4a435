"""What a runbook file may say: steps, their outcomes, and where each leads. Data only; nothing in it is executed."""

from __future__ import annotations

import re
from typing import Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from checks.findings import Layer, Model
from common.words import Text, pick

DONT_KNOW = "dont-know"
"""The answer every question takes, and the one nobody present gives."""

StatusWord: TypeAlias = Literal["skipped", "ok", "unknown", "warn", "critical"]
Kind: TypeAlias = Literal["ask", "checks", "note", "run", "stop"]
AttachmentKind: TypeAlias = Literal["job-log", "nccl-tests", "ib-write-bw", "fio", "sacct", "note"]

_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def _several(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Words = Annotated[tuple[str, ...], BeforeValidator(lambda value: _several(pick(value)))]
"""One word or a list of them, in one language or one list per language."""

Several = Annotated[tuple[str, ...], BeforeValidator(_several)]
"""One id or a list of them."""


class _Data(Model):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Count(_Data):
    """How many nodes a condition must hold on."""

    at_least: int | None = Field(None, ge=0)
    at_most: int | None = Field(None, ge=0)


class When(_Data):
    """A condition: a comparison, or `all`, `any`, `not` of conditions.

    What is not known makes a comparison neither true nor false, so neither it nor its opposite matches.
    """

    answer: Several | None = Field(None, description="this question's answer, or that of `step`, is one of these")
    step: str | None = Field(None, description="with `answer`: the question meant")
    check: str | None = Field(None, description="the worst status of this check is one of `is`")
    is_: Annotated[tuple[StatusWord, ...] | None, BeforeValidator(_several)] = Field(None, alias="is")
    nodes: Count | None = Field(None, description="with `check`: on how many nodes it has one of those statuses")
    value: str | None = Field(None, description="with `check`: a value it observed, held against above/below/equals")
    above: float | None = None
    below: float | None = None
    equals: str | float | None = None
    fault: str | None = Field(None, description="a finding of the walk so far names this fault at warn or above")
    all_: tuple[When, ...] | None = Field(None, alias="all")
    any_: tuple[When, ...] | None = Field(None, alias="any")
    not_: When | None = Field(None, alias="not")

    @model_validator(mode="after")
    def _one_comparison(self) -> When:
        given = [k for k in ("answer", "check", "fault", "all_", "any_", "not_") if getattr(self, k) is not None]
        if len(given) != 1:
            raise ValueError("a condition is exactly one of answer, check, fault, all, any, not")
        if self.step is not None and self.answer is None:
            raise ValueError("`step` goes with `answer`")
        limits = [v for v in (self.above, self.below, self.equals) if v is not None]
        if self.check is None and (self.is_ is not None or self.nodes or self.value or limits):
            raise ValueError("`is`, `nodes` and `value` go with `check`")
        if self.check is not None and (self.is_ is None) == (self.value is None):
            raise ValueError("`check` needs either `is` with statuses, or `value` with above, below or equals")
        if (self.value is not None) != (len(limits) == 1):
            raise ValueError("`value` needs exactly one of above, below, equals")
        if self.nodes is not None and self.is_ is None:
            raise ValueError("`nodes` goes with `is`")
        return self


class Outcome(_Data):
    """One possible result of a step. Without `when`, `fault` and `conclude` it is the otherwise."""

    when: When | None = None
    fault: Several | None = Field(None, description="concluded when a finding of this step names it at warn or above")
    conclude: Several | None = Field(
        None, description="faults concluded when the condition holds; `any`: whatever this step's checks name"
    )
    go: str | None = Field(None, description="the next step; without it the next outcome decides the way")

    @model_validator(mode="after")
    def _says_something(self) -> Outcome:
        if self.fault and (self.when or self.conclude):
            raise ValueError("`fault` is a condition and a conclusion by itself; drop `when` and `conclude`")
        if not (self.fault or self.conclude or self.go):
            raise ValueError("an outcome needs `go`, `fault` or `conclude`")
        if self.conclude and self.when is None and self.conclude != ("any",):
            raise ValueError("`conclude` of a named fault needs `when`")
        return self

    @property
    def otherwise(self) -> bool:
        """True for the outcome taken when no other matched."""
        return self.when is None and self.fault is None and self.conclude is None


class Ask(_Data):
    """A question to the person on call. `dont-know` is always among the answers; `free` takes any text."""

    text: Text
    choices: dict[str, Text] = {}
    free: bool = False

    @field_validator("choices")
    @classmethod
    def _names(cls, value: dict[str, str]) -> dict[str, str]:
        for name in value:
            if not _ID.fullmatch(name):
                raise ValueError(f"choice `{name}`: lower-case words with hyphens")
        return value


class Step(_Data):
    """One step: a question, checks, a note, another runbook, or the end."""

    id: str
    title: Text = ""
    why: Text = ""
    layer: Layer | None = None
    ask: Ask | None = None
    checks: tuple[str, ...] = ()
    attachment: AttachmentKind | None = Field(None, description="with `checks`: a file a person must have supplied")
    note: Text | None = None
    run: str | None = Field(None, description="another runbook, walked here and returned from")
    stop: Text | None = Field(None, description="ends the walk (of a runbook run by another: returns to it)")
    outcomes: tuple[Outcome, ...] = ()
    go: str | None = Field(None, description="where to go when no outcome says otherwise")
    unknown: str | None = Field(None, description="where to go when nothing is known and no outcome matched")

    @field_validator("id")
    @classmethod
    def _id(cls, value: str) -> str:
        if not _ID.fullmatch(value):
            raise ValueError(f"`{value}`: lower-case words with hyphens")
        return value

    @model_validator(mode="after")
    def _one_kind(self) -> Step:
        given = [
            name
            for name, is_given in (
                ("ask", self.ask is not None),
                ("checks", bool(self.checks)),
                ("note", self.note is not None),
                ("run", self.run is not None),
                ("stop", self.stop is not None),
            )
            if is_given
        ]
        if len(given) != 1:
            raise ValueError(f"step `{self.id}` is exactly one of ask, checks, note, run, stop; given: {given}")
        if self.attachment and not self.checks:
            raise ValueError(f"step `{self.id}`: `attachment` goes with `checks`")
        return self

    @property
    def kind(self) -> Kind:
        """Which of the five it is."""
        if self.ask is not None:
            return "ask"
        if self.checks:
            return "checks"
        if self.note is not None:
            return "note"
        return "run" if self.run is not None else "stop"

    @property
    def fallback(self) -> str | None:
        """The step after this one when no outcome matched."""
        last = next((o.go for o in self.outcomes if o.otherwise), None)
        return last or self.go

    def targets(self) -> tuple[str, ...]:
        """Every step this one can lead to."""
        found = [*(o.go for o in self.outcomes), self.go, self.unknown]
        return tuple(dict.fromkeys(t for t in found if t))


class Runbook(_Data):
    """A decision tree for one complaint."""

    id: str
    title: Text
    words: Words = ()
    # before `start`, so that a wrong start is told at its own line
    steps: tuple[Step, ...]
    start: str

    @field_validator("steps")
    @classmethod
    def _once_each(cls, value: tuple[Step, ...]) -> tuple[Step, ...]:
        ids = [s.id for s in value]
        if doubled := next((i for i in ids if ids.count(i) > 1), None):
            raise ValueError(f"two steps are called `{doubled}`")
        return value

    @field_validator("start")
    @classmethod
    def _there(cls, value: str, info: ValidationInfo) -> str:
        steps = info.data.get("steps")
        if steps is not None and value not in [s.id for s in steps]:
            raise ValueError(f"`{value}` is no step of this runbook")
        return value

    def step(self, step_id: str) -> Step | None:
        """A step by id; None when there is none."""
        return next((s for s in self.steps if s.id == step_id), None)
