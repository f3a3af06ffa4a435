"""Lustre servers: I/O time histograms, use by job, health.

obdfilter.lustre-OST0000.brw_stats=
I/O time (1/1000s)     ios   % cum % |  ios         % cum %
1:                       0   0   0   |  420  88  88
"""

from __future__ import annotations

import re

from checks.findings import Model
from checks.outputs import Facts, Outcome, Raw
from checks.tools.lustre_params import params, target_of

_BUCKET = re.compile(r"^\s*(\d+)(K?):\s+(\d+)\s+\d+\s+\d+\s*\|\s*(\d+)\s+\d+\s+\d+\s*$")


class OstTimes(Model):
    """I/O times of one OST: operations by upper bound in milliseconds, reads and writes added."""

    line: int
    target: str
    ios_by_ms: dict[int, int]

    def slow_share(self, over_ms: int) -> float | None:
        """Share of operations slower than a bound; None without operations."""
        total = sum(self.ios_by_ms.values())
        return sum(c for ms, c in self.ios_by_ms.items() if ms > over_ms) / total if total else None


class BrwStats(Facts):
    """`oss-brw`."""

    targets: tuple[OstTimes, ...]


def parse_oss_brw(raw: Raw) -> Outcome:
    """The I/O time part of each OST's histogram."""
    groups = list(params(raw)) or [(1, "obdfilter", "", list(raw.numbered()))]
    found: list[OstTimes] = []
    for line, name, _, below in groups:
        times: dict[int, int] = {}
        inside = False
        for _, text in below:
            if text.lower().startswith("i/o time"):
                inside = True
            elif inside and (m := _BUCKET.match(text)):
                times[int(m[1]) * (1000 if m[2] else 1)] = int(m[3]) + int(m[4])
            elif inside and not m:
                inside = False
        if "brw_stats" in name or times:
            found.append(OstTimes(line=line, target=target_of(name), ios_by_ms=times))
    if not any(t.ios_by_ms for t in found):
        if "pages per bulk" in raw.text or "disk I/Os" in raw.text:
            return BrwStats(targets=tuple(found))
        return raw.unparsable("no brw_stats histogram")
    return BrwStats(targets=tuple(found))


class JobUse(Model):
    """Bytes moved by one job on one OST since its counters began."""

    line: int
    target: str
    job: str
    read_bytes: int
    write_bytes: int


class JobStats(Facts):
    """`oss-jobstats`."""

    jobs: tuple[JobUse, ...]


_JOB = re.compile(r"^\s*-?\s*job_id:\s*\"?([^\"]+?)\"?\s*$")
_SUM = re.compile(r"^\s*(read_bytes|write_bytes|read|write):.*\bsum:\s*(\d+)")


def parse_oss_jobstats(raw: Raw) -> Outcome:
    """`job_stats:` lists."""
    found: list[JobUse] = []
    seen = False
    for line, name, _, below in params(raw):
        seen = seen or "job_stats" in name
        for n, text in below:
            if m := _JOB.match(text):
                found.append(JobUse(line=n, target=target_of(name), job=m[1], read_bytes=0, write_bytes=0))
            elif found and (m := _SUM.match(text)):
                field = "read_bytes" if m[1].startswith("read") else "write_bytes"
                found[-1] = found[-1].model_copy(update={field: int(m[2])})
        _ = line
    if not seen:
        return raw.unparsable("no job_stats")
    return JobStats(jobs=tuple(found))


class ServerHealth(Facts):
    """`health_check` and recovery states by target."""

    healthy: bool | None
    line: int
    recovery: dict[str, str]


def parse_srv_health(raw: Raw) -> Outcome:
    """`health_check=healthy` and `recovery_status` blocks."""
    healthy: bool | None = None
    at = 1
    recovery: dict[str, str] = {}
    for line, name, value, below in params(raw):
        if name.endswith("health_check"):
            healthy, at = value == "healthy", line
        elif name.endswith("recovery_status"):
            state = next((t.split(":", 1)[1].strip() for _, t in below if t.strip().startswith("status:")), "")
            recovery[target_of(name)] = state
    for n, text in raw.numbered():
        if text.strip().startswith("health_check=") and healthy is None:
            healthy, at = text.strip() == "health_check=healthy", n
    if healthy is None and not recovery:
        return raw.unparsable("no health_check")
    return ServerHealth(healthy=healthy, line=at, recovery=recovery)
