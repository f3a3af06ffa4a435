"""What rules look at: readings of commands on nodes, parsed on demand, with the lines to quote."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Generic, Protocol, TypeVar, cast

from checks import catalogue, interpret, nodesets
from checks.findings import Evidence, Observed, Status, ThresholdUse
from checks.inventory import Cluster
from checks.judgement import Judgement
from checks.outputs import Empty, Facts, NotAvailable, Outcome, Output, Unparsable
from common.redact import redact
from common.safetext import safe_line

F = TypeVar("F", bound=Facts)

MAX_QUOTED_LINES = 12


class Store(Protocol):
    """Where outputs come from: a recording on disk, or what a live collection has brought so far."""

    @property
    def rounds(self) -> Sequence[int]:
        """Rounds there are, oldest first, counted from 1."""

    def get(self, node: str, command: str, params: tuple[str, ...], round: int, sample: int) -> Output | NotAvailable:
        """One output, or why there is none."""

    def params(self, node: str, command: str) -> Sequence[tuple[str, ...]]:
        """Parameter values for which the command was asked on the node, in any round."""

    def samples(self, node: str, command: str, params: tuple[str, ...], round: int) -> int:
        """How many samples of the command the round holds; 0 for none."""

    def attachment(self, kind: str) -> Sequence[tuple[str, bytes]]:
        """(label, text) of the attachments of a kind; the label may be empty."""

    def taken_at(self, round: int) -> datetime | None:
        """When the round was taken."""


@lru_cache(maxsize=8192)
def _quoted(stdout: bytes, first: int, last: int) -> str:
    """Lines made safe and redacted; kept, since many nodes quote the same lines of one shared output."""
    lines = stdout.split(b"\n", last)[first - 1 : last][:MAX_QUOTED_LINES]
    return redact("\n".join(safe_line(line.decode("utf-8", "replace").rstrip("\r")) for line in lines))


@dataclass(frozen=True)
class Reading(Generic[F]):
    """One command on one node in one round: the outcome of parsing it, and the lines to quote.

    `facts` is None whenever there are none, whatever the reason; `why` says it in words, `kind` in one.
    """

    node: str
    command: str
    params: tuple[str, ...]
    round: int
    outcome: Outcome
    output: Output | None = None
    sample: int = 1

    @property
    def facts(self) -> F | None:
        """What the parser found."""
        return cast(F, self.outcome) if isinstance(self.outcome, Facts) else None

    @property
    def known(self) -> F:
        """The facts of a reading already known to have some."""
        assert isinstance(self.outcome, Facts)
        return cast(F, self.outcome)

    @property
    def empty(self) -> bool:
        """True when the command answered with nothing to report."""
        return isinstance(self.outcome, Empty)

    @property
    def key(self) -> str:
        """Command with parameters, as in a recording: `eth-stats@eth2`."""
        return "@".join((self.command, *self.params))

    @property
    def why(self) -> str:
        """Why there are no facts; empty when there are."""
        match self.outcome:
            case NotAvailable():
                return self.outcome.reason
            case Unparsable():
                at = f" (line {self.outcome.line}: {self.outcome.text})" if self.outcome.line else ""
                return f"cannot be read: {self.outcome.reason}{at}"
            case Empty():
                return self.outcome.note or "nothing to report"
            case _:
                return ""

    @property
    def read_at(self) -> datetime | None:
        """When the output was read, on the node's clock where known."""
        return self.output.read_at if self.output else None

    def quote(self, first: int, last: int | None = None) -> Evidence:
        """Lines `first` to `last` (from 1) of the output as evidence."""
        last = first if last is None else last
        text = _quoted(self.output.stdout if self.output else b"", first, last)
        return Evidence(round=self.round, node=self.node, command=self.key, lines=(first, last), text=text)

    def unknown(self, what: str = "", *, faults: tuple[str, ...] = ()) -> Judgement:
        """The honest judgement when this reading cannot be used: unknown, with the reason and what is missing."""
        reason = what or self.why or "no usable answer"
        evidence: tuple[Evidence, ...] = ()
        if isinstance(self.outcome, Unparsable) and self.outcome.line:
            evidence = (self.quote(self.outcome.line),)
        return Judgement(
            Status.UNKNOWN,
            f"{self.command}: {reason}",
            nodes=(self.node,) if self.node else (),
            reason=reason,
            missing=(self.command,),
            evidence=evidence,
            faults=faults,
        )


@dataclass(frozen=True)
class Window(Generic[F]):
    """Two readings of one command on one node with one boot id. `seconds` is None when the times are not known."""

    first: Reading[F]
    last: Reading[F]
    seconds: float | None

    @property
    def node(self) -> str:
        """The node read."""
        return self.last.node

    @property
    def before(self) -> F:
        """Facts of the first reading."""
        return self.first.known

    @property
    def after(self) -> F:
        """Facts of the last reading."""
        return self.last.known


@dataclass
class _Cache:
    parsed: dict[tuple[str, tuple[str, ...], int, bytes, bytes], Outcome] = field(default_factory=dict)
    readings: dict[tuple[str, str, tuple[str, ...], int, int], Reading[Facts]] = field(default_factory=dict)
    by_pair: dict[tuple[str, str], list[Reading[Facts]]] = field(default_factory=dict)


class View:
    """The cluster as rules see it. Pure: the same store gives the same readings.

    Facts of equal outputs are parsed once, whichever node printed them.
    """

    def __init__(self, cluster: Cluster, store: Store, *, only: frozenset[str] | None = None) -> None:
        self.cluster, self.store, self.only = cluster, store, only
        self._cache = _Cache()
        self.paths: tuple[str, ...] = ()
        """Files and directories that the person asks about, beside those of the cluster file."""
        self.touched: dict[tuple[str, str], None] = {}
        """(node, command) pairs the rule at work has looked at."""

    # ---- where to look

    def nodes(self, *roles: str) -> tuple[str, ...]:
        """Nodes of the roles, restricted to what the person asked for.

        Switches, schedulers and servers stay visible when a person names GPU nodes only: the cause may sit there.
        """
        found = self.cluster.nodes(*roles)
        if self.only is None:
            return found
        workers = set(self.cluster.nodes("gpu-node", "storage-client", "endpoint"))
        return tuple(n for n in found if n in self.only or n not in workers)

    def where(self, command: str, roles: Iterable[str] = (), nodes: Iterable[str] | None = None) -> tuple[str, ...]:
        """The nodes a command is asked on: of the roles given, else of the catalogue's."""
        if nodes is not None:
            return tuple(nodes)
        entry = catalogue.get(command)
        found = self.nodes(*(tuple(roles) or entry.roles[:1] if entry.os is None else tuple(roles) or entry.roles))
        if entry.os is not None:
            found = tuple(n for n in found if self.cluster.os_of(n) == entry.os)
        return found

    def limit(self, name: str, level: str | None = None) -> float:
        """A threshold's number as this cluster sees it."""
        return self.cluster.thresholds.number(name, level)

    def against(self, name: str, level: str | None = None) -> ThresholdUse:
        """The threshold as a finding carries it."""
        return self.cluster.thresholds.use(name, level)

    # ---- readings

    @property
    def rounds(self) -> Sequence[int]:
        """Rounds there are, oldest first."""
        return self.store.rounds

    def at(
        self, command: str, node: str, params: tuple[str, ...] = (), *, round: int, sample: int = 1
    ) -> Reading[Facts]:
        """One reading of one round."""
        self.touched[(node, command)] = None
        key = (node, command, params, round, sample)
        found = self._cache.readings.get(key)
        if found is None:
            got = self.store.get(node, command, params, round, sample)
            if isinstance(got, NotAvailable):
                # not kept: a living cluster may answer later
                return Reading(node, command, params, round, got, None, sample)
            found = Reading(node, command, params, round, self._parse(got), got, sample)
            self._cache.readings[key] = found
            self._cache.by_pair.setdefault((node, command), []).append(found)
        return found

    def _parse(self, output: Output) -> Outcome:
        # bytes objects keep their hash, and a recording hands out the same object for a shared file
        key = (output.command, output.params, output.status, output.stdout, output.stderr)
        outcome = self._cache.parsed.get(key)
        if outcome is None:
            outcome = self._cache.parsed[key] = interpret.interpret(output)
        return outcome

    def readings_of(self, node: str, command: str) -> Iterator[Reading[Facts]]:
        """Everything looked at so far of one command on one node."""
        return (r for r in self._cache.by_pair.get((node, command), ()))

    def newest(self, command: str, node: str, kind: type[F], params: tuple[str, ...] = ()) -> Reading[F]:
        """The reading of the newest round that has the command on the node (static facts come from there)."""
        reading: Reading[Facts] | None = None
        for number in reversed(self.store.rounds):
            reading = self.at(command, node, params, round=number)
            if not (
                isinstance(reading.outcome, NotAvailable) and reading.outcome.kind in ("not-recorded", "not-asked")
            ):
                break
        if reading is None:
            reading = Reading(node, command, params, 1, NotAvailable("not-recorded", "nothing was recorded"))
        return self._typed(reading, kind)

    def read(
        self, command: str, kind: type[F], *, roles: Iterable[str] = (), nodes: Iterable[str] | None = None
    ) -> list[Reading[F]]:
        """The newest reading of a command on every node of the roles (default: the catalogue's roles)."""
        return [self.newest(command, node, kind) for node in self.where(command, roles, nodes)]

    def read_each(
        self,
        command: str,
        kind: type[F],
        *,
        roles: Iterable[str] = (),
        nodes: Iterable[str] | None = None,
        named: Iterable[tuple[str, ...]] = (),
    ) -> list[Reading[F]]:
        """The newest reading of a command for each of its parameter values on every node.

        Values are `named` (what the inventory expects) and those asked or recorded. A node with neither gives one
        reading without parameters that says so.
        """
        found: list[Reading[F]] = []
        expected = tuple(named)
        for node in self.where(command, roles, nodes):
            values = tuple(dict.fromkeys((*expected, *self.store.params(node, command))))
            found.extend(self.newest(command, node, kind, v) for v in values)
            if not values:
                found.append(self.newest(command, node, kind))
        return found

    def samples(self, command: str, node: str, kind: type[F], params: tuple[str, ...] = ()) -> list[Reading[F]]:
        """Every sample of every round, oldest first; readings without facts are left out unless there are none."""
        every = [
            self._typed(self.at(command, node, params, round=number, sample=sample), kind)
            for number in self.store.rounds
            for sample in range(1, self.store.samples(node, command, params, number) + 1)
        ]
        usable = [r for r in every if r.facts is not None]
        return usable or every[:1] or [self.newest(command, node, kind, params)]

    def window(self, command: str, node: str, kind: type[F], params: tuple[str, ...] = ()) -> Window[F] | Reading[F]:
        """The longest window between two rounds with one boot id, or a reading that says why there is none.

        A node that has no boot id to record (a switch) needs none.
        """
        self.touched[(node, command)] = None
        usable = [
            r
            for number in self.store.rounds
            if (r := self._typed(self.at(command, node, params, round=number), kind)).facts is not None
        ]
        if not usable:
            return self.newest(command, node, kind, params)
        if len(usable) < 2:
            return self._no_window(usable[-1], "read in one round only; a rate needs two")
        boots = catalogue.get("boot").roles
        if any(role in boots for role in self.cluster.roles_of(node)):
            ids = {r.round: self._boot_id(node, r.round) for r in usable}
            groups: dict[str, list[Reading[F]]] = {}
            for r in usable:
                if (boot := ids[r.round]) is not None:
                    groups.setdefault(boot, []).append(r)
            usable = max(groups.values(), key=len, default=[])
            if len(usable) < 2:
                missing = any(boot is None for boot in ids.values())
                why = "boot id not known in both rounds" if missing else "the node restarted between the rounds"
                reading = self._no_window(self.newest(command, node, kind, params), why)
                if missing:
                    return Reading(reading.node, "boot", (), reading.round, NotAvailable("no-window", why), None)
                return reading
        first, last = usable[0], usable[-1]
        seconds = (last.read_at - first.read_at).total_seconds() if first.read_at and last.read_at else None
        if seconds is not None and seconds <= 0:
            return self._no_window(last, "the two rounds carry the same time or run backwards")
        return Window(first, last, seconds)

    def windows(
        self, command: str, kind: type[F], *, roles: Iterable[str] = (), nodes: Iterable[str] | None = None
    ) -> tuple[list[Window[F]], list[Reading[F]]]:
        """Windows of a command on all nodes, and the readings that say why a node has none."""
        windows: list[Window[F]] = []
        without: list[Reading[F]] = []
        for node in self.where(command, roles, nodes):
            found = self.window(command, node, kind)
            if isinstance(found, Window):
                windows.append(found)
            else:
                without.append(found)
        return windows, without

    def attachment(self, kind: str) -> Sequence[tuple[str, bytes]]:
        """(label, text) of what a person supplied."""
        return self.store.attachment(kind)

    # ---- inside

    def _boot_id(self, node: str, round: int) -> str | None:
        reading = self.at("boot", node, round=round)
        return getattr(reading.facts, "boot_id", None)

    @staticmethod
    def _no_window(reading: Reading[F], why: str) -> Reading[F]:
        return Reading(
            reading.node, reading.command, reading.params, reading.round, NotAvailable("no-window", why), reading.output
        )

    @staticmethod
    def _typed(reading: Reading[Facts], kind: type[F]) -> Reading[F]:
        if isinstance(reading.outcome, Facts) and not isinstance(reading.outcome, kind):
            raise TypeError(f"{reading.command} gives {type(reading.outcome).__name__}, not {kind.__name__}")
        return cast(Reading[F], reading)


def observed(name: str, value: float | int | str | bool | None, unit: str = "", *nodes: str) -> Observed:
    """One measured value of some nodes."""
    return Observed(name=name, value=value, unit=unit, nodes=nodesets.fold(nodes))


def known(readings: Iterable[Reading[F]]) -> Iterator[Reading[F]]:
    """The readings that have facts."""
    return (r for r in readings if r.facts is not None)


def unknown(readings: Iterable[Reading[F]], *, empty_is_ok: bool = False) -> Iterator[Judgement]:
    """Judgements for the readings that have none. An empty answer counts as unknown unless said otherwise."""
    return (r.unknown() for r in readings if r.facts is None and not (empty_is_ok and r.empty))
