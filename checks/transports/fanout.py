"""Works through many nodes at once on daemon threads, so that stopping never waits for a node that does not answer."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
POLL_S = 0.1
AT_ONCE = 16
"""Threads at first, and how many join when there is time to spare."""
BUSY = 0.6
"""Share of one processor from which on further threads would only stand in each other's way, and in the screen's."""


def each(
    work: Callable[[T], None],
    items: Sequence[T],
    *,
    threads: int,
    cancelled: Callable[[], bool],
    ahead: Callable[[T], None] | None = None,
    ahead_threads: int = 1,
) -> bool:
    """Calls `work` for every item on up to `threads` threads.

    False when `cancelled()` became true first; what is under way is then left alone.
    `ahead` is called for an item before `work`, on threads of its own: what only waits there keeps nobody from work.
    Threads that wait for slow nodes cost nothing, threads that have something to do cost each other: a few begin, and
    more join as long as this process is not busy. The first exception is raised here once the others are through.
    """
    ready: queue.SimpleQueue[T | None] = queue.SimpleQueue()
    done: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
    errors: list[BaseException] = []

    def attempt(call: Callable[[T], None], item: T) -> bool:
        try:
            if not cancelled():
                call(item)
            return True
        except BaseException as error:
            errors.append(error)
            return False

    def run() -> None:
        while (item := ready.get()) is not None:
            attempt(work, item)
            done.put(None)

    def run_ahead(waiting: queue.SimpleQueue[T], call: Callable[[T], None]) -> None:
        while True:
            try:
                item = waiting.get_nowait()
            except queue.Empty:
                return
            if attempt(call, item):
                ready.put(item)
            else:
                done.put(None)

    crew = _Crew(run, min(threads, len(items)))
    if ahead is None:
        for item in items:
            ready.put(item)
    else:
        waiting: queue.SimpleQueue[T] = queue.SimpleQueue()
        for item in items:
            waiting.put(item)
        for number in range(min(ahead_threads, len(items))):
            threading.Thread(target=run_ahead, args=(waiting, ahead), name=f"dial-{number}", daemon=True).start()
    try:
        for _ in items:
            while True:
                try:
                    done.get(timeout=POLL_S)
                    break
                except queue.Empty:
                    if cancelled():
                        return False
                finally:
                    if not ready.empty():
                        crew.grow()
    finally:
        for _ in range(crew.size):
            ready.put(None)
    if errors:
        raise errors[0]
    return not cancelled()


class _Crew:
    """Threads that do the work, and how busy they keep this process."""

    def __init__(self, run: Callable[[], None], most: int) -> None:
        self._run, self._most = run, most
        self.size = 0
        self._join(AT_ONCE)

    def _join(self, count: int) -> None:
        for _ in range(min(count, self._most - self.size)):
            threading.Thread(target=self._run, name=f"ask-{self.size}", daemon=True).start()
            self.size += 1
        self._since_s, self._cpu_s = time.monotonic(), time.process_time()

    def grow(self) -> None:
        """Lets more join when there is work waiting and the last moment was not a busy one."""
        passed_s = time.monotonic() - self._since_s
        if self.size < self._most and passed_s >= POLL_S:
            busy = (time.process_time() - self._cpu_s) / passed_s
            self._join(AT_ONCE if busy < BUSY else 0)
