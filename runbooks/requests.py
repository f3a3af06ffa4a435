"""What a walk asks for, and what it is told: the messages between the engine and whoever drives it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from checks.findings import Finding, Layer


@dataclass(frozen=True, slots=True)
class RunChecks:
    """The walk needs the findings of these checks (ids or `layer.*`); `attachment` must have been supplied for it."""

    step: str
    checks: tuple[str, ...]
    title: str = ""
    why: str = ""
    layer: Layer | None = None
    attachment: str | None = None


@dataclass(frozen=True, slots=True)
class AskOperator:
    """A question; `choices` is name → text and ends with `dont-know`. With `free` any other text is an answer too."""

    step: str
    text: str
    choices: Mapping[str, str]
    why: str = ""
    free: bool = False


@dataclass(frozen=True, slots=True)
class ShowNote:
    """Something the person should read before the walk goes on."""

    step: str
    text: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Finished:
    """The end, with the runbook's closing words."""

    text: str


Request: TypeAlias = RunChecks | AskOperator | ShowNote | Finished


@dataclass(frozen=True, slots=True)
class ChecksDone:
    """The findings asked for."""

    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Answered:
    """The person's answer."""

    choice: str


@dataclass(frozen=True, slots=True)
class NoteSeen:
    """The note was read."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """The step was not done, and why: a question counts as don't know, checks as unknown."""

    reason: str


Reply: TypeAlias = ChecksDone | Answered | NoteSeen | Skipped


class ReplyError(ValueError):
    """A reply that does not fit what was asked."""


def accept(request: AskOperator, choice: str) -> None:
    """Checks an answer against the question.

    Raises:
        ReplyError: not one of the choices of a question that is not free.
    """
    if not choice.strip() or not (request.free or choice in request.choices):
        raise ReplyError(f"`{choice}` is no answer to {request.step}; one of {', '.join(request.choices)}")
