"""What the host checks share: utilisation of the GPUs beside the processors, ages of log lines, medians."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from statistics import mean

from checks.inventory import Role
from checks.tools.nvidia_smi import GpuPerfs
from checks.view import View

HOSTS: tuple[Role, ...] = ("gpu-node", "scheduler")
"""Linux machines that every host check of the system itself looks at."""

FRESH = timedelta(days=1)
"""Events of the log older than this explain nothing that happens now, except broken hardware."""


def gpu_utilisation_pct(view: View, node: str) -> float | None:
    """Mean utilisation of the node's GPUs over all samples of `smi-perf`; None when it is not known."""
    samples = view.samples("smi-perf", node, GpuPerfs)
    gpus = (g for reading in samples if reading.facts for g in reading.facts.gpus)
    values = [g.utilization_pct for g in gpus if g.utilization_pct is not None]
    return mean(values) if values else None


def gpu_count(view: View, node: str) -> int | None:
    """GPUs of the node as the cluster file expects them, else as `smi-perf` lists them."""
    expected = view.cluster.expect(node).gpus
    if expected is not None:
        return expected
    facts = view.newest("smi-perf", node, GpuPerfs).facts
    return len(facts.gpus) or None if facts else None


def is_old(at: datetime | None, now: datetime | None) -> bool:
    """True when an event is known to lie more than a day before the reading; a time without a zone counts as UTC."""
    if at is None or now is None:
        return False
    if (at.tzinfo is None) != (now.tzinfo is None):
        at, now = at.replace(tzinfo=None), now.replace(tzinfo=None)
    return now - at > FRESH


def stamp(times: Iterable[datetime | None]) -> str:
    """The earliest time that carries a zone, as RFC 3339; empty without one."""
    known = [t for t in times if t is not None and t.tzinfo is not None]
    return min(known).isoformat() if known else ""
