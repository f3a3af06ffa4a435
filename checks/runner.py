"""Plan, collect, parse, judge: runs checks over a cluster and reports progress as it goes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Protocol, runtime_checkable

from checks import judge, plan, rules
from checks.findings import Finding
from checks.inventory import Cluster
from checks.outputs import NodeEvent
from checks.plan import Wanted
from checks.rules import Rule
from checks.view import Store, View


class CancelledError(Exception):
    """The person asked to stop; what was found before stays valid."""


@dataclass(frozen=True, slots=True)
class Progress:
    """One step of a run: which check is at work, how many are done, and what it just found.

    While a living cluster is asked, `node` carries each node's state and `waiting_s` what is left of the window
    between two readings; `check` is then empty.
    """

    check: str
    done: int
    total: int
    findings: tuple[Finding, ...] = ()
    node: NodeEvent | None = None
    waiting_s: float = 0.0


@runtime_checkable
class Collector(Protocol):
    """A store that has to ask: a living cluster. `window_s` lies between its two readings of a rate."""

    window_s: float

    def collect(
        self,
        wanted: Iterable[Wanted],
        *,
        round: int,
        on_node: Callable[[NodeEvent], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> None:
        """Asks for what was not asked yet in this round."""

    def unasked(self, wanted: Iterable[Wanted], *, round: int) -> list[Wanted]:
        """What of it would be asked now: not asked yet in this round, of nodes that answer."""


Tell = Callable[[Progress], None]
Cancelled = Callable[[], bool]


class Runner:
    """Runs rules over one cluster. Readings and parsed facts are kept, so a later step pays only for what is new.

    `ahead` names checks of later steps: what they need in two readings is asked together with the first step's, so
    that a walk waits for one window and not for one a step.
    """

    def __init__(
        self,
        cluster: Cluster,
        store: Store,
        *,
        only: frozenset[str] | None = None,
        ahead: Iterable[str] = (),
    ) -> None:
        self.cluster, self.store = cluster, store
        self.view = View(cluster, store, only=only)
        self._ahead = tuple(ahead)
        self._found: dict[str, tuple[Finding, ...]] = {}
        self._first_read = time.monotonic()

    def run(
        self, patterns: Iterable[str], *, on_progress: Tell | None = None, cancelled: Cancelled | None = None
    ) -> list[Finding]:
        """Findings of the checks named (`network.ecn_mark_ratio` or `network.*`), in the order named.

        Blocks; meant for a worker thread. `on_progress` is called on that thread or, while nodes answer, on others.

        Raises:
            CancelledError: `cancelled()` became true.
        """
        chosen = rules.select(patterns)
        tell = on_progress or (lambda progress: None)
        stop = cancelled or (lambda: False)
        if isinstance(self.store, Collector):
            self._collect([r for r in chosen if r.id not in self._found], self.store, tell, stop)
        found: list[Finding] = []
        for done, rule in enumerate(chosen):
            if stop():
                raise CancelledError
            tell(Progress(rule.id, done, len(chosen)))
            findings = self._judge(rule)
            found.extend(findings)
            tell(Progress(rule.id, done + 1, len(chosen), findings))
        return found

    def sweep(
        self,
        patterns: Iterable[str],
        *,
        rounds: int,
        on_progress: Tell | None = None,
        cancelled: Cancelled | None = None,
    ) -> None:
        """Asks a living cluster for everything the named checks read, once a round; judges nothing.

        Raises:
            CancelledError: `cancelled()` became true; what was collected stays.
        """
        store = self.store
        if not isinstance(store, Collector):
            raise TypeError("a recording has nobody to ask")
        chosen = rules.select(patterns)
        tell = on_progress or (lambda progress: None)
        stop = cancelled or (lambda: False)

        def on_node(event: NodeEvent) -> None:
            tell(Progress("", number, rounds, node=event))

        for number in range(1, rounds + 1):
            began = time.monotonic()
            for stage in (plan.simple, plan.with_parameters):
                store.collect(stage(chosen, self.view), round=number, on_node=on_node, cancelled=stop)
                if stop():
                    raise CancelledError
            tell(Progress("", number, rounds))
            if number < rounds:
                waiting = partial(_tell_wait, tell, number, rounds)
                _wait(began + store.window_s, waiting, stop)

    def forget(self) -> None:
        """Judges anew next time, after more was collected."""
        self._found.clear()

    def _judge(self, rule: Rule) -> tuple[Finding, ...]:
        if rule.id not in self._found:
            self._found[rule.id] = tuple(judge.judge(rule, self.view))
        return self._found[rule.id]

    def _collect(self, chosen: list[Rule], store: Collector, tell: Tell, stop: Cancelled) -> None:
        if not chosen:
            return
        later = [r for r in rules.select(self._ahead) if any(read.rounds == 2 for read in r.reads)]
        self._ahead = ()
        asked = [*chosen, *later]
        twice = plan.twice(asked, self.view)

        def on_node(event: NodeEvent) -> None:
            tell(Progress("", 0, len(chosen), node=event))

        stages = (plan.simple, plan.with_parameters)
        for stage in stages:
            wanted = stage(asked, self.view)
            if any(w.command in twice for w in store.unasked(wanted, round=1)):
                self._first_read = time.monotonic()
            store.collect(wanted, round=1, on_node=on_node, cancelled=stop)
            if stop():
                raise CancelledError
        again = [w for stage in stages for w in stage(asked, self.view) if w.command in twice]
        if not store.unasked(again, round=2):
            return
        _wait(self._first_read + store.window_s, partial(_tell_wait, tell, 0, len(chosen)), stop)
        store.collect(again, round=2, on_node=on_node, cancelled=stop)
        if stop():
            raise CancelledError


def _tell_wait(tell: Tell, done: int, total: int, left: float) -> None:
    tell(Progress("", done, total, waiting_s=left))


def _wait(until: float, tell: Callable[[float], None], stop: Cancelled) -> None:
    """Waits until a time of `time.monotonic`, telling what is left, in seconds."""
    while (left := until - time.monotonic()) > 0:
        if stop():
            raise CancelledError
        tell(left)
        time.sleep(min(left, 0.25))
