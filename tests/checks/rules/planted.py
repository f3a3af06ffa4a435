"""Faults planted on a healthy sample cluster: an overlay with changed outputs, then one check over it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from checks import judge, rules
from checks.clusters import Opened, open_cluster
from checks.findings import Finding, Status
from checks.outputs import NotAvailable
from checks.view import View

Change = Callable[[str], str] | str | NotAvailable | tuple[str, int]
Where = tuple[str, ...]
"""(node, command, *params), or with a round number first; without one the change is in every round."""

HEALTHY = "h100-cpu-balanced"


def plant(folder: Path, changes: Mapping[tuple[object, ...], Change], cluster: str = HEALTHY) -> Opened:
    """The cluster with outputs changed: a function of the text, a new text, a text with an exit status, or none."""
    base = open_cluster(cluster)
    folder.mkdir(exist_ok=True)
    assert base.replay is not None
    for key, change in changes.items():
        rounds = (key[0],) if isinstance(key[0], int) else base.replay.rounds
        node, command, *params = key[1:] if isinstance(key[0], int) else key
        for number in rounds:
            _write(folder, base, str(node), str(command), tuple(map(str, params)), int(number), change)
    return open_cluster(cluster, [str(folder)])


def _write(
    folder: Path, base: Opened, node: str, command: str, params: tuple[str, ...], round: int, change: Change
) -> None:
    from checks import catalogue

    assert base.replay is not None
    place = folder / f"round-{round}" / node
    place.mkdir(parents=True, exist_ok=True)
    stem = catalogue.get(command).stem(params)
    if isinstance(change, NotAvailable):
        (place / f"{stem}.absent").touch()
        return
    text, status = change if isinstance(change, tuple) else (change, 0)
    if callable(text):
        before = base.replay.get(node, command, params, round, 1)
        if isinstance(before, NotAvailable):
            return
        after = text(before.stdout.decode())
        assert after != before.stdout.decode(), f"the change leaves {command} of {node} as it was"
        text = after
    (place / f"{stem}.txt").write_text(text)
    if status:
        (place / f"{stem}.status").write_text(f"{status}\n")


def found(
    check: str, folder: Path, changes: Mapping[tuple[object, ...], Change], cluster: str = HEALTHY
) -> list[Finding]:
    """The findings of one check, worst first."""
    opened = plant(folder, changes, cluster)
    assert opened.replay is not None
    rule = rules.get(check)
    assert rule is not None, f"no check {check}"
    findings = judge.judge(rule, View(opened.cluster, opened.replay))
    shutil.rmtree(folder, ignore_errors=True)
    return sorted(findings, key=lambda f: -f.status)


def odd_one(findings: list[Finding], node: str) -> Finding:
    """The finding about one node; all others must be ok or left out."""
    mine = [f for f in findings if f.nodes == node]
    others = [f for f in findings if f.nodes != node and f.status > Status.OK]
    assert mine, findings
    assert not others, others
    return mine[0]
