"""How asking a living cluster goes, gathered from many threads and read by a timer: a screen redraws a few times a
second however many nodes answer."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from common.safetext import safe_line
from common.words import say

if TYPE_CHECKING:
    from checks.runner import Progress

READ_EVERY_S = 0.25


class NodeProgress:
    """State of each node in the collection under way."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._states: dict[str, str] = {}
        self._reasons: dict[str, str] = {}
        self._waiting_s = 0.0

    def note(self, progress: Progress) -> bool:
        """Takes what concerns nodes; False for what concerns checks."""
        with self._lock:
            if progress.node is not None:
                self._states[progress.node.node] = progress.node.state
                if progress.node.state == "failed":
                    self._reasons[progress.node.node] = progress.node.reason
                self._waiting_s = 0.0
                return True
            self._waiting_s = progress.waiting_s
            return bool(progress.waiting_s)

    def clear(self) -> None:
        """Before a new collection."""
        with self._lock:
            self._states.clear()
            self._reasons.clear()
            self._waiting_s = 0.0

    def text(self) -> str:
        """One line of counts, one for each reason of a failure; empty when no node was asked."""
        from checks.nodesets import fold

        with self._lock:
            states, reasons, waiting_s = dict(self._states), dict(self._reasons), self._waiting_s
        if not states:
            return ""
        counts = {name: sum(s == name for s in states.values()) for name in ("asking", "answered", "failed")}
        lines = [say("live.counts", **{name: str(count) for name, count in counts.items()})]
        if waiting_s:
            lines.append(say("live.window", seconds=f"{waiting_s:.0f}"))
        for reason in dict.fromkeys(reasons.values()):
            nodes = fold(n for n, said in reasons.items() if said == reason)
            lines.append(safe_line(f"{nodes}: {reason}", limit=200))
        return "\n".join(lines)
