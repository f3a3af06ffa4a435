"""Findings, runbooks and clusters made by hand for tests of walks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from checks.clusters import Opened, open_cluster
from checks.findings import Evidence, Finding, Status
from runbooks.engine import (
    Answered,
    AskOperator,
    ChecksDone,
    Finished,
    NoteSeen,
    RunChecks,
    ShowNote,
    Walk,
)
from runbooks.model import Runbook


def finding(check: str, status: str = "ok", *faults: str, **more: Any) -> Finding:
    values: dict[str, Any] = {
        "check": check,
        "status": Status.of(status),
        "layer": check.split(".")[0],
        "scope": "node",
        "nodes": "gpu[001-002]",
        "summary": f"{check} is {status}",
        "faults": faults,
    }
    if status in ("warn", "critical"):
        values["evidence"] = (Evidence(round=1, node="gpu001", command="uptime", lines=(1, 1), text="a line"),)
    return Finding(**{**values, **more})


def book(text: str) -> Runbook:
    return Runbook.model_validate(yaml.safe_load(text))


def walk(*books: Runbook, coverage: dict[str, list[str]] | None = None, answers: dict[str, str] | None = None) -> Walk:
    return Walk({b.id: b for b in books}, books[0].id, answers=answers, coverage=coverage or {})


def drive(walk: Walk, answers: dict[str, str] | None = None, *findings: Finding) -> list[str]:
    """Walks to the end: checks without a finding given are ok. The steps in order."""
    given = {f.check: [g for g in findings if g.check == f.check] for f in findings}
    while not isinstance(request := walk.request(), Finished):
        match request:
            case RunChecks():
                found = [f for check in request.checks for f in given.get(check, [finding(check)])]
                walk.reply(ChecksDone(tuple(found)))
            case AskOperator():
                walk.reply(Answered((answers or {}).get(request.step, "dont-know")))
            case ShowNote():
                walk.reply(NoteSeen())
    return [p.step for p in walk.path]


def small_cluster(folder: Path) -> Opened:
    """A cluster folder with next to nothing recorded."""
    (folder / "recordings" / "gpu1").mkdir(parents=True)
    (folder / "cluster.yaml").write_text("version: 1\nname: small\nroles:\n  gpu-node: gpu[1-2]\n")
    (folder / "recordings" / "gpu1" / "uptime.txt").write_text("up\n")
    return open_cluster(str(folder))


SIMPLE = """
id: simple
title: Simple
start: what-changed
steps:
  - id: what-changed
    ask: {text: "What changed?", choices: {nothing: nothing, upgrade: an upgrade}}
    outcomes:
      - when: {answer: upgrade}
        go: network
    go: gpu
    unknown: network
  - id: network
    layer: network
    title: Network?
    checks: [network.link_flaps, network.pause_share]
    outcomes:
      - fault: net-link-flap
      - conclude: any
      - when: {check: network.pause_share, is: [warn, critical]}
        go: note
    go: gpu
    unknown: blind
  - id: blind
    note: Something could not be told.
    go: gpu
  - id: note
    note: Pauses were seen.
    go: gpu
  - id: gpu
    layer: gpu
    title: GPUs?
    checks: [gpu.xid, gpu.ecc]
    outcomes:
      - conclude: any
    go: end
    unknown: end
  - id: end
    stop: Done.
"""
