"""Asks nodes over connections that stay open, one script a node; what becomes of the answers is not its business."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from checks.outputs import NotAvailable
from checks.transports import fanout, script, switchcli
from checks.transports.connections import Connections
from checks.transports.script import Answers, Request
from checks.transports.ssh import SshError
from common.errors import InputError
from common.safetext import safe_line

DIALS = 256
"""TCP connections that may be on their way at once, beside the pool."""
STEP_S = 120.0
Said = Literal["asking", "answered"] | Answers | NotAvailable
"""What is told of a node: that it is being asked, its answers (perhaps in parts), that this was all, or why not."""
Tell = Callable[[str, Said], None]


@dataclass(frozen=True, slots=True)
class Task:
    """What one node is asked; `os` names a switch's command line where it has no shell."""

    node: str
    requests: tuple[Request, ...]
    os: str | None = None

    @property
    def limit_s(self) -> float:
        """How long its answer may take once logged in."""
        return min(STEP_S, 5 + sum(request.command.timeout_s for request in self.requests))


class Asking(Protocol):
    """Who asks: threads of this process, or processes of their own."""

    def each(self, tasks: Sequence[Task], tell: Tell, cancelled: Callable[[], bool]) -> bool:
        """Asks every node; false when `cancelled` came true before all had answered or failed."""

    def hang_up(self) -> None:
        """Ends every connection and what runs over it."""

    def forget_hosts(self) -> None:
        """Reads known_hosts again next time."""

    def close(self) -> None:
        """Ends every connection for good."""


class Asker:
    """Asks from threads of this process."""

    def __init__(self, connections: Connections, *, pool: int) -> None:
        self.connections, self._pool = connections, pool
        self.hang_up, self.close = connections.hang_up, connections.close
        self.forget_hosts, self.reopen = connections.forget_hosts, connections.reopen

    def each(self, tasks: Sequence[Task], tell: Tell, cancelled: Callable[[], bool]) -> bool:
        """As `Asking.each`; `tell` is called from many threads."""
        stop = threading.Event()

        def stopped() -> bool:
            if cancelled():
                stop.set()
            return stop.is_set()

        try:
            return fanout.each(
                lambda task: self._ask(task, tell, stop),
                tasks,
                threads=self._pool,
                cancelled=stopped,
                ahead=lambda task: self.connections.dial(task.node),
                ahead_threads=DIALS,
            )
        except BaseException:
            stop.set()
            raise

    def _ask(self, task: Task, tell: Tell, stop: threading.Event) -> None:
        if stop.is_set():
            return
        tell(task.node, "asking")
        try:
            if task.os:
                self._run_cli(task, tell, stop)
            else:
                self._run(task, 0, tell, stop)
        except (SshError, InputError) as error:
            self.connections.drop(task.node)
            if not stop.is_set():
                tell(task.node, error.why if isinstance(error, SshError) else NotAvailable("failed", str(error)))
        else:
            if not stop.is_set():
                tell(task.node, "answered")

    def _run(self, task: Task, first: int, tell: Tell, stop: threading.Event) -> None:
        requests = task.requests[first:]
        if not requests:
            return
        connection = self.connections.to(task.node)
        if stop.is_set():
            self.connections.drop(task.node)
            return
        mark = script.delimiter()
        body = script.build(requests, mark)
        limit = replace(task, requests=requests).limit_s
        out, err, _ = connection.run(script.START, body, f"{mark} Z\n".encode(), deadline=time.monotonic() + limit)
        if stop.is_set():
            return
        answers = script.parse(out, err, mark)
        if not answers.started:
            said = safe_line((answers.before or err).decode("utf-8", "replace").strip(), limit=160)
            raise SshError("denied", f"the account runs something else than a shell: {said or 'no answer'}")
        tell(task.node, answers.after(first))
        if not answers.finished:
            self.connections.drop(task.node)
        last = answers.answers[-1] if answers.answers else None
        if last is not None and last.capped and not last.complete and last.index + 1 < len(requests):
            # a flood ended the connection; what was to follow it is asked over a new one
            self._run(task, first + last.index + 1, tell, stop)

    def _run_cli(self, task: Task, tell: Tell, stop: threading.Event) -> None:
        if not task.requests:
            return
        session = self.connections.cli(task.node, str(task.os))
        answers = session.run(task.requests, deadline=time.monotonic() + task.limit_s)
        if stop.is_set():
            return
        tell(task.node, Answers(tuple(answers), None, True, True, b""))
        if answers and answers[-1].status in (124, 255):
            self.connections.drop(task.node)


def devices(os: str | None) -> str | None:
    """The name of a switch's command line, None for what has a shell."""
    return os if os in switchcli.DEVICES else None
