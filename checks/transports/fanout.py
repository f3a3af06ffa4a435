"""Works through many nodes at once on daemon threads, so that stopping never waits for a node that does not answer."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")
POLL_S = 0.1


def each(work: Callable[[T], None], items: Iterable[T], *, threads: int, cancelled: Callable[[], bool]) -> bool:
    """Calls `work` for every item; False when `cancelled()` became true first, what is under way is then left alone.

    The first exception of `work` is raised here once the others are through.
    """
    waiting: queue.SimpleQueue[T] = queue.SimpleQueue()
    count = 0
    for item in items:
        waiting.put(item)
        count += 1
    left = threading.Semaphore(0)
    errors: list[BaseException] = []

    def run() -> None:
        while True:
            try:
                item = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                if not cancelled():
                    work(item)
            except BaseException as error:
                errors.append(error)
            finally:
                left.release()

    for number in range(min(threads, count)):
        threading.Thread(target=run, name=f"ask-{number}", daemon=True).start()
    done = 0
    while done < count:
        if left.acquire(timeout=POLL_S):
            done += 1
        elif cancelled():
            return False
    if errors:
        raise errors[0]
    return not cancelled()
