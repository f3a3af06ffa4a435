"""Plan, collect, parse, judge: runs checks over a cluster and reports progress as it goes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from checks import judge, rules
from checks.findings import Finding
from checks.inventory import Cluster
from checks.rules import Rule
from checks.view import Store, View


class CancelledError(Exception):
    """The person asked to stop; what was found before stays valid."""


@dataclass(frozen=True, slots=True)
class Progress:
    """One step of a run: which check is at work, how many are done, and what it just found."""

    check: str
    done: int
    total: int
    findings: tuple[Finding, ...] = ()


class Runner:
    """Runs rules over one cluster. Readings and parsed facts are kept, so a later step pays only for what is new."""

    def __init__(self, cluster: Cluster, store: Store, *, only: frozenset[str] | None = None) -> None:
        self.cluster, self.store = cluster, store
        self.view = View(cluster, store, only=only)
        self._found: dict[str, tuple[Finding, ...]] = {}

    def run(
        self,
        patterns: Iterable[str],
        *,
        on_progress: Callable[[Progress], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> list[Finding]:
        """Findings of the checks named (`network.ecn_mark_ratio` or `network.*`), in the order named.

        Blocks; meant for a worker thread. `on_progress` is called on that thread after each check.

        Raises:
            CancelledError: `cancelled()` became true between two checks.
        """
        chosen = rules.select(patterns)
        found: list[Finding] = []
        for done, rule in enumerate(chosen):
            if cancelled and cancelled():
                raise CancelledError
            if on_progress:
                on_progress(Progress(rule.id, done, len(chosen)))
            findings = self._judge(rule)
            found.extend(findings)
            if on_progress:
                on_progress(Progress(rule.id, done + 1, len(chosen), findings))
        return found

    def _judge(self, rule: Rule) -> tuple[Finding, ...]:
        if rule.id not in self._found:
            self._found[rule.id] = tuple(judge.judge(rule, self.view))
        return self._found[rule.id]
