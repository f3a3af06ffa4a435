"""A living cluster as a store: asks nodes over SSH, one script a node and step, and keeps what they answered."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from checks import catalogue
from checks.inventory import Cluster
from checks.outputs import NodeEvent, NotAvailable, Output, Reason
from checks.plan import Wanted
from checks.transports import clustershell, script, ssh
from checks.transports.asker import Asker, Asking, Said, Task, devices
from checks.transports.connections import Connections
from checks.transports.keys import Keys
from checks.transports.recorder import Recorder
from checks.transports.script import Answers, Request
from checks.transports.sshconfig import SshConfig
from checks.transports.workers import Workers
from common.errors import InputError
from common.safetext import safe_line

POOL = 128
"""Threads that ask at most. They join only while there is time to spare (see `fanout`); more than this many nodes that
answer slowly, a second each, still pass in seconds."""
PROCESSES, PROCESSES_FROM = 2, 32
"""So many nodes are asked from processes of their own, which start faster than a log-in takes."""
COULD_NOT = "could not be asked: "
NOT_ASKED = NotAvailable("not-asked", "not asked yet")

Key = tuple[str, str, tuple[str, ...], int, int]


class Live:
    """Store over a living cluster. `collect` fills it; readings of what was not collected say so.

    Connections stay open between steps. A node that could not be asked is not tried again until `retry`. After a
    command hung on a node, no command of its class is asked there again.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        config: SshConfig | None = None,
        ssh_config: Path | None = None,
        keys: Keys | None = None,
        pool: int = POOL,
        connect_s: float = ssh.CONNECT_S,
        recorder: Recorder | None = None,
        interactive: ssh.Interactive | None = None,
        window_s: float = 60.0,
    ) -> None:
        self.cluster, self.window_s = cluster, window_s
        self.connections = Connections(
            config or SshConfig(cluster.spec.access),
            keys or Keys(),
            connect_s=connect_s,
            interactive=interactive,
            alone=len(cluster.nodes()) == 1,
            via=cluster.spec.access.via,
        )
        self._asker = Asker(self.connections, pool=pool)
        self._asking: Asking = self._asker
        self._ready, self._interactive = False, interactive is not None
        self._connect_s, self._ssh_config = connect_s, ssh_config
        self._recorder = recorder
        self._outputs: dict[Key, Output] = {}
        self._asked: set[Key] = set()
        self._failed: dict[str, NotAvailable] = {}
        self._hung: set[tuple[str, str]] = set()
        self.clock_offsets_s: dict[str, float] = {}
        """Each node's clock minus this machine's, late by the way of the answer; as of the newest answer."""
        self._times: dict[int, datetime] = {}
        self._lock = threading.Lock()
        self.extra_attachments: list[tuple[str, str, bytes]] = []

    # ---- store

    @property
    def rounds(self) -> Sequence[int]:
        """Rounds begun."""
        return tuple(sorted(self._times))

    def get(self, node: str, command: str, params: tuple[str, ...], round: int, sample: int) -> Output | NotAvailable:
        """What was collected, or why there is nothing."""
        found = self._outputs.get((node, command, params, round, sample))
        if found is not None:
            return found
        if (failed := self._failed.get(node)) is not None:
            return failed
        entry = catalogue.table().get(command)
        if entry and entry.hang_class and (node, entry.hang_class) in self._hung:
            return NotAvailable("timed-out", f"not asked: a {entry.hang_class} command hung on this node before")
        return NOT_ASKED

    def params(self, node: str, command: str) -> Sequence[tuple[str, ...]]:
        """Parameter values asked."""
        return sorted({k[2] for k in self._asked if k[:2] == (node, command) and k[2]})

    def samples(self, node: str, command: str, params: tuple[str, ...], round: int) -> int:
        """Samples collected."""
        return max((k[4] for k in self._outputs if k[:4] == (node, command, params, round)), default=0)

    def attachment(self, kind: str) -> Sequence[tuple[str, bytes]]:
        """What a person supplied."""
        return [(label, data) for k, label, data in self.extra_attachments if k == kind]

    def taken_at(self, round: int) -> datetime | None:
        """When the round began, on this machine's clock."""
        return self._times.get(round)

    # ---- asking

    def collect(
        self,
        wanted: Iterable[Wanted],
        *,
        round: int,
        on_node: Callable[[NodeEvent], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> None:
        """Asks every node for what it has not been asked in this round; returns when all have answered or failed."""
        self._times.setdefault(round, datetime.now(UTC))
        wanted = list(wanted)
        if self._recorder:
            # a round without the node would read as "not recorded", and hide why
            for node in sorted({w.node for w in wanted} & self._failed.keys()):
                self._recorder.node(NodeEvent(node, "failed", self._failed[node].reason.removeprefix(COULD_NOT)), round)
        todo: dict[str, list[Wanted]] = {}
        for w in self.unasked(wanted, round=round):
            self._asked.add(_key(w, round))
            todo.setdefault(w.node, []).append(w)
        if not todo:
            return
        tell = on_node or (lambda event: None)
        catalogue.table()  # read once here, not by every thread that meets it unread
        if not self._ready:
            with contextlib.suppress(InputError):  # which nodes it keeps from being asked is told of each of them
                self.prepare()

        def stopped() -> bool:
            return bool(cancelled and cancelled())

        tree: dict[str, list[Wanted]] = {}
        if self.cluster.spec.access.via == "clustershell":
            # a switch with a command line of its own has no shell that could run a script
            tree = {n: w for n, w in todo.items() if not devices(self.cluster.os_of(n))}
        ended = False
        try:
            asked = {node: self._requests(node, wanted) for node, wanted in todo.items() if node not in tree}
            tasks = [Task(n, tuple(r for _, r in each), devices(self.cluster.os_of(n))) for n, each in asked.items()]

            def told(node: str, said: Said) -> None:
                if isinstance(said, NotAvailable):
                    self._fail(node, said, round, tell)
                elif isinstance(said, Answers):
                    self._kept(node, asked[node], said, round)
                else:
                    tell(NodeEvent(node, said))

            ended = self._fan_out(tree, round, tell, stopped) and self._asking.each(tasks, told, stopped)
        finally:
            if not ended:
                self._give_up(todo, round)

    def prepare(self, processes: int = PROCESSES) -> None:
        """Opens the keys that will be needed, so that a passphrase is asked now; starts the processes a fleet needs.

        Processes are forked only while this one has a single thread, and where no person may have to answer questions.

        Raises:
            InputError: the ssh configuration has a directive that cannot be followed.
        """
        self._ready = True
        self.connections.unlock(self.cluster.nodes())
        forkable = sys.platform == "linux" and threading.active_count() == 1
        many = len(self.cluster.nodes()) >= PROCESSES_FROM and self.cluster.spec.access.via != "clustershell"
        asked_there = self._interactive and self.connections.jumps(self.cluster.nodes())
        if forkable and many and not asked_there and self._asking is self._asker:
            self._asking = Workers(self._asker, processes)

    def _fan_out(
        self,
        todo: Mapping[str, list[Wanted]],
        round: int,
        tell: Callable[[NodeEvent], None],
        stopped: Callable[[], bool],
    ) -> bool:
        """Nodes that are asked the same share one script, which ClusterShell takes to all of them."""
        mark = script.delimiter()
        asked = {node: self._requests(node, wanted) for node, wanted in todo.items()}
        alike: dict[bytes, list[str]] = {}
        for node, requests in asked.items():
            if requests:
                alike.setdefault(script.build([r for _, r in requests], mark), []).append(node)
        if not alike:
            return True
        jobs = []
        for body, nodes in alike.items():
            limit = Task(nodes[0], tuple(r for _, r in asked[nodes[0]])).limit_s + self._connect_s
            jobs.append(clustershell.Job(tuple(nodes), body, limit))
            for node in nodes:
                tell(NodeEvent(node, "asking"))
        left: dict[str, list[Wanted]] = {}

        def answered(node: str, said: clustershell.Answered) -> None:
            answers = script.parse(said.stdout, said.stderr, mark)
            if not answers.started:
                text = safe_line(said.stderr.decode("utf-8", "replace").strip() or "no answer", limit=200)
                kind: Reason = "timed-out" if said.status is None else "unreachable" if said.status == 255 else "denied"
                self._fail(node, NotAvailable(kind, text), round, tell)
                return
            if len(said.stdout) >= clustershell.STREAM_BYTES:
                answers, after = answers.before_flood()
                if rest := [w for w, _ in asked[node][after:]]:
                    left[node] = rest
            self._kept(node, asked[node], answers, round)
            if node not in left:
                tell(NodeEvent(node, "answered"))

        access = self.cluster.spec.access
        return clustershell.run(
            jobs,
            access=access,
            ssh_config=self._ssh_config,
            connect_s=self._connect_s,
            on_answer=answered,
            cancelled=stopped,
        ) and self._fan_out(left, round, tell, stopped)

    def _fail(self, node: str, why: NotAvailable, round: int, tell: Callable[[NodeEvent], None]) -> None:
        # whatever kept it from being asked is not an answer of any command: a log-in that timed out is no hung tool
        self._failed[node] = NotAvailable("unreachable", f"{COULD_NOT}{why.reason}")
        event = NodeEvent(node, "failed", why.reason)
        if self._recorder:
            self._recorder.node(event, round)
        tell(event)

    def _give_up(self, todo: Mapping[str, Sequence[Wanted]], round: int) -> None:
        """Ends what is under way; what did not answer yet counts as not asked."""
        self._asking.hang_up()
        with self._lock:
            self._asked -= {k for w in todo.values() for k in (_key(v, round) for v in w) if k not in self._outputs}

    def unasked(self, wanted: Iterable[Wanted], *, round: int) -> list[Wanted]:
        """What of it would be asked now: not asked yet in this round, of nodes that answer."""
        return [w for w in wanted if w.node not in self._failed and _key(w, round) not in self._asked]

    def retry(self, nodes: Iterable[str] | None = None) -> None:
        """Forgets failures, so that the next collection asks these nodes again; named ones are asked for all anew."""
        named = frozenset(self._failed if nodes is None else nodes)
        for node in named:
            self._failed.pop(node, None)
        self._hung = {h for h in self._hung if h[0] not in named}
        self._asking.forget_hosts()
        if nodes is not None:
            self._outputs = {k: o for k, o in self._outputs.items() if k[0] not in named}
        self._asked = {k for k in self._asked if k[0] not in named or k in self._outputs}

    def close(self) -> None:
        """Closes every connection for good; whatever runs on a node ends with it."""
        self._asking.close()

    @property
    def failures(self) -> dict[str, NotAvailable]:
        """Nodes that could not be asked, and why."""
        return dict(self._failed)

    @property
    def count(self) -> int:
        """Outputs collected."""
        return len(self._outputs)

    @property
    def answered(self) -> bool:
        """Whether any node answered anything."""
        return bool(self._outputs)

    def _requests(self, node: str, wanted: list[Wanted]) -> list[tuple[Wanted, Request]]:
        found = []
        # commands that cannot hang first, so that a hung driver takes the least with it
        for w in sorted(wanted, key=lambda w: bool(catalogue.get(w.command).hang_class)):
            entry = catalogue.get(w.command)
            if entry.hang_class and (node, entry.hang_class) in self._hung:
                continue
            sudo = self.cluster.spec.access.sudo and entry.root == "needed"
            found.append((w, Request(entry, w.params, w.sample, sudo)))
        return found

    def _kept(self, node: str, asked: list[tuple[Wanted, Request]], answers: Answers, round: int) -> None:
        if clock_s := max((a.clock_s for a in answers.answers if a.clock_s), default=None):
            self.clock_offsets_s[node] = clock_s - time.time()
        self._keep(node, asked, answers, round)

    def _keep(self, node: str, asked: list[tuple[Wanted, Request]], answers: Answers, round: int) -> None:
        given = {a.index: a for a in answers.answers}
        kept: list[Output] = []
        for index, (w, request) in enumerate(asked):
            answer = given.get(index)
            hang = request.command.hang_class
            if answer is None:
                # not run: a command of its class hung before it, or the connection ended
                continue
            if answer.status in (124, 137) and hang:
                self._hung.add((node, hang))
            ended = b"" if answer.complete or answer.capped else b"\nconnection ended before the command did"
            stderr = answer.stderr + ended
            if answer.capped:
                stderr += b"\noutput was larger than Rackside reads; the rest was cut off"
            output = Output(
                node=node,
                command=w.command,
                params=w.params,
                round=round,
                stdout=answer.stdout,
                stderr=stderr,
                status=answer.status,
                sample=w.sample,
                read_at=datetime.fromtimestamp(answer.clock_s, UTC) if answer.clock_s else None,
            )
            kept.append(output)
            with self._lock:
                self._outputs[(node, w.command, w.params, round, w.sample)] = output
        if self._recorder:
            self._recorder.outputs(kept)


def _key(wanted: Wanted, round: int) -> Key:
    return (wanted.node, wanted.command, wanted.params, round, wanted.sample)
