"""Tells the person at a terminal how asking a living cluster goes, a line a step; and when nothing answered at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from common.errors import NothingReachedError
from common.words import say
from rackside import output

if TYPE_CHECKING:
    from checks.clusters import Opened
    from checks.runner import Progress


def narrator(opened: Opened) -> Callable[[Progress], None] | None:
    """What hears the progress of a run; None for a replay, which has nothing to tell."""
    live = opened.live
    if live is None:
        return None
    from checks.nodesets import fold

    if opened.asking and opened.asking.record:
        output.narrate(say("live.recording", folder=str(opened.asking.record)))
    failed: set[str] = set()
    waiting: list[bool] = [False]

    def tell(progress: Progress) -> None:
        if progress.waiting_s and not waiting[0]:
            output.narrate(say("live.window", seconds=f"{progress.waiting_s:.0f}"))
        waiting[0] = bool(progress.waiting_s)
        if progress.node is not None or progress.waiting_s:
            return
        new = {node: why.reason for node, why in live.failures.items() if node not in failed}
        failed.update(new)
        for reason in dict.fromkeys(new.values()):
            nodes = fold(node for node, said in new.items() if said == reason)
            output.narrate(f"{nodes}: {reason}")

    return tell


def nothing_reached(opened: Opened) -> None:
    """Raises where a living cluster was asked and no node answered.

    Raises:
        NothingReachedError: so it was.
    """
    live = opened.live
    if live is not None and live.failures and not live.answered:
        reason = next(iter(live.failures.values())).reason
        raise NothingReachedError(f"none of {len(live.failures)} nodes answered; the first: {reason}")
