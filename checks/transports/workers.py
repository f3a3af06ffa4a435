"""Asks a fleet from processes of their own: hundreds of log-ins keep a processor busy, and the screen would wait.

They are forked, so that keys opened here need not travel, and before this process has threads. Each holds the
connections of its share of the nodes. It is told what to ask by number of the catalogue's command, and ends when this
process does.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait

from checks import catalogue
from checks.outputs import NotAvailable
from checks.transports.asker import Asker, Said, Task, Tell
from checks.transports.fanout import POLL_S
from checks.transports.script import Request

ENDED = NotAvailable("failed", "the process that asks this node has ended; leave Rackside and start it again")


@dataclass(frozen=True, slots=True)
class _Worker:
    pipe: Connection
    pid: int
    sending: threading.Lock

    def send(self, *message: object) -> None:
        with self.sending, contextlib.suppress(OSError):  # one that has ended is met when its answers are read
            self.pipe.send(message)


class Workers:
    """`Asking` over forked processes, each with an `Asker` of its own."""

    def __init__(self, asker: Asker, count: int) -> None:
        self._run = 0
        self._share: dict[str, _Worker] = {}
        self._workers: list[_Worker] = []
        # what was there before is neither looked through for garbage again nor copied by the look: here and there
        gc.freeze()
        for _ in range(count):
            self._workers.append(self._fork(asker))

    def _fork(self, asker: Asker) -> _Worker:
        ours, theirs = Pipe()
        pid = os.fork()
        if pid:
            theirs.close()
            return _Worker(ours, pid, threading.Lock())
        with contextlib.suppress(BaseException):
            # the other end of a sister's pipe held open here would hide from her that this process has ended
            for held in (ours, *(worker.pipe for worker in self._workers)):
                held.close()
            _serve(theirs, asker)
        os._exit(0)

    def each(self, tasks: Sequence[Task], tell: Tell, cancelled: Callable[[], bool]) -> bool:
        """As `Asking.each`; `tell` is called from this thread alone."""
        self._run += 1
        waiting: dict[Connection, set[str]] = {}
        for worker, share in self._shares(tasks):
            waiting[worker.pipe] = {task.node for task in share}
            worker.send("each", self._run, [_packed(task) for task in share])
        while waiting:
            for pipe in wait(list(waiting), timeout=POLL_S):
                assert isinstance(pipe, Connection)
                try:
                    run, node, said = pipe.recv()
                except (EOFError, OSError, pickle.UnpicklingError):
                    if not self._workers:
                        return False  # closed meanwhile
                    for left in waiting.pop(pipe):
                        tell(left, ENDED)
                    continue
                if run != self._run:
                    continue  # of a step that was cancelled
                if node is None:
                    del waiting[pipe]
                    if said is not None:
                        raise said
                    continue
                if said == "answered" or isinstance(said, NotAvailable):
                    waiting[pipe].discard(node)
                tell(node, said)
            if cancelled():
                return False
        return not cancelled()

    def _shares(self, tasks: Sequence[Task]) -> Iterator[tuple[_Worker, list[Task]]]:
        for task in tasks:
            # a node stays with the process that holds its connection
            self._share.setdefault(task.node, self._workers[len(self._share) % len(self._workers)])
        for worker in self._workers:
            if share := [task for task in tasks if self._share[task.node] is worker]:
                yield worker, share

    def hang_up(self) -> None:
        """As `Asking.hang_up`."""
        for worker in self._workers:
            worker.send("hang_up")

    def forget_hosts(self) -> None:
        """As `Asking.forget_hosts`."""
        for worker in self._workers:
            worker.send("forget_hosts")

    def close(self) -> None:
        """Ends the processes and waits for them; with them every connection ends."""
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.send("close")
        for worker in workers:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(worker.pid, 0)
            worker.pipe.close()


def _packed(task: Task) -> tuple[str, str | None, list[tuple[str, tuple[str, ...], int, bool]]]:
    return task.node, task.os, [(r.command.id, r.params, r.sample, r.sudo) for r in task.requests]


def _unpacked(node: str, os: str | None, asked: list[tuple[str, tuple[str, ...], int, bool]]) -> Task:
    return Task(node, tuple(Request(catalogue.get(name), *more) for name, *more in asked), os)  # type: ignore[arg-type]


def _serve(pipe: Connection, asker: Asker) -> None:
    """What a process does all its life: asks what it is told to, until it is closed or the other side is gone."""
    os.nice(5)  # who draws the screen comes first
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the other side hears of it, too, and says what is to end
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # the screen is not this process's
        os.dup2(nowhere, stream)
    asker.reopen()
    sending = threading.Lock()
    stop = threading.Event()

    def each(run: int, tasks: list[Task], stop: threading.Event) -> None:
        def tell(node: str | None, said: Said | Exception | None) -> None:
            if not stop.is_set():
                with sending, contextlib.suppress(OSError):
                    pipe.send((run, node, said))

        fault: Exception | None = None
        try:
            asker.each(tasks, tell, stop.is_set)
        except Exception as error:
            fault = RuntimeError(f"{type(error).__name__}: {error}")  # as text: not every exception can travel
        tell(None, fault)

    while True:
        try:
            order, *more = pipe.recv()
        except (EOFError, OSError):
            break
        if order == "each":
            stop = threading.Event()
            run, packed = more
            tasks = [_unpacked(*one) for one in packed]
            threading.Thread(target=each, args=(run, tasks, stop), daemon=True).start()
        elif order == "hang_up":
            stop.set()
            asker.hang_up()
        elif order == "forget_hosts":
            asker.forget_hosts()
        elif order == "close":
            break
    # returning ends the process: the kernel closes every connection at once, which takes paramiko a while
