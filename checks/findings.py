"""Statuses, findings and their evidence: what the JSON of the contract carries."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from functools import reduce
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, field_serializer, field_validator

from checks import nodesets

Layer: TypeAlias = Literal["network", "gpu", "host", "storage", "scheduling", "training-run"]
LAYERS: tuple[Layer, ...] = ("network", "gpu", "host", "storage", "scheduling", "training-run")
"""In the order in which every walk looks."""

Certainty: TypeAlias = Literal["established", "supported", "hypothesis"]
Scope: TypeAlias = Literal["entity", "node", "group", "cluster"]


class Status(IntEnum):
    """The lattice `skipped < ok < unknown < warn < critical`; folding takes the maximum."""

    SKIPPED = 0
    OK = 1
    UNKNOWN = 2
    WARN = 3
    CRITICAL = 4

    @property
    def word(self) -> str:
        """Lower-case word used in JSON and on screen."""
        return self.name.lower()

    @property
    def mark(self) -> str:
        """One cell wide on every terminal; always shown beside the word."""
        return "-✓?!✗"[self]

    @classmethod
    def of(cls, word: str) -> Status:
        """From the word used in JSON."""
        return cls[word.upper()]

    @staticmethod
    def fold(statuses: Iterable[Status]) -> Status:
        """The worst of several; `skipped` for none."""
        return reduce(max, statuses, Status.SKIPPED)


class Model(BaseModel):
    """Frozen, strict about keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Observed(Model):
    """One measured value. `unit` is empty for plain counts and words."""

    name: str
    value: float | int | str | bool | None
    unit: str = ""
    nodes: str = ""


class ThresholdUse(Model):
    """The limit a value was held against, and where the limit comes from."""

    id: str
    value: float | int | str | None
    unit: str
    source: str
    kind: str = ""


class Evidence(Model):
    """Lines of one output: `lines` is [first, last], counted from 1; `text` quotes them, made safe and redacted."""

    round: int
    node: str
    command: str
    lines: tuple[int, int]
    text: str


class Finding(Model):
    """What one check says about some nodes or entities."""

    check: str
    status: Status
    layer: Layer
    scope: Scope
    nodes: str = ""
    entities: tuple[str, ...] = ()
    summary: str
    observed: tuple[Observed, ...] = ()
    threshold: ThresholdUse | None = None
    evidence: tuple[Evidence, ...] = ()
    faults: tuple[str, ...] = ()
    certainty: Certainty = "established"
    reason: str = ""
    missing: tuple[str, ...] = ()
    at: str = ""

    @field_validator("status", mode="before")
    @classmethod
    def _word(cls, value: Any) -> Any:
        return Status.of(value) if isinstance(value, str) else value

    @field_serializer("status")
    def _status_word(self, value: Status) -> str:
        return value.word

    @property
    def node_list(self) -> tuple[str, ...]:
        """The nodes, expanded."""
        return nodesets.expand(self.nodes) if self.nodes else ()

    @property
    def accuses(self) -> bool:
        """True when the finding is bad enough to support a conclusion."""
        return self.status >= Status.WARN and bool(self.faults)
