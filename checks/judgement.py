"""What a rule yields: one judgement on some nodes or entities, folded into findings afterwards."""

from __future__ import annotations

from dataclasses import dataclass

from checks.findings import Certainty, Evidence, Observed, Status, ThresholdUse


@dataclass(frozen=True, slots=True)
class Judgement:
    """A status with its reason and evidence.

    Judgements of one rule with equal status, `summary`, faults and threshold are folded into one finding, so a
    summary holds what the nodes share; numbers of single nodes go into `observed`, names of ports, GPUs or paths
    into `entities`. `at` is the RFC 3339 time of the event judged, where the evidence has one.
    """

    status: Status
    summary: str
    nodes: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    observed: tuple[Observed, ...] = ()
    threshold: ThresholdUse | None = None
    evidence: tuple[Evidence, ...] = ()
    faults: tuple[str, ...] = ()
    certainty: Certainty = "established"
    reason: str = ""
    missing: tuple[str, ...] = ()
    at: str = ""


def ok(summary: str, *nodes: str, **more: object) -> Judgement:
    """A healthy judgement."""
    return Judgement(Status.OK, summary, nodes=nodes, **more)  # type: ignore[arg-type]


def skipped(reason: str) -> Judgement:
    """The check does not apply here, and why."""
    return Judgement(Status.SKIPPED, reason, reason=reason)
