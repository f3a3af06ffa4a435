"""Works through many nodes at once on daemon threads, so that stopping never waits for a node that does not answer."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
POLL_S = 0.1


def each(
    work: Callable[[T], None],
    items: Sequence[T],
    *,
    threads: int,
    cancelled: Callable[[], bool],
    ahead: Callable[[T], None] | None = None,
    ahead_threads: int = 1,
) -> bool:
    """Calls `work` for every item; False when `cancelled()` became true first, what is under way is then left alone.

    `ahead` is called for an item before `work`, on threads of its own: what only waits there keeps nobody from work.
    The first exception is raised here once the others are through.
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

    workers = min(threads, len(items))
    for number in range(workers):
        threading.Thread(target=run, name=f"ask-{number}", daemon=True).start()
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
        for _ in range(workers):
            ready.put(None)
    if errors:
        raise errors[0]
    return not cancelled()
