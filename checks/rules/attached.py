"""Logs of the job that a person attached, parsed once, with the lines to quote."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from checks.findings import Evidence, Status
from checks.judgement import Judgement
from checks.outputs import Outcome, Raw, Unparsable
from checks.tools.job_log import JobLog, parse_job_log
from checks.view import View
from common.redact import redact
from common.safetext import safe_line

KIND = "job-log"
NONE = "no job log supplied (attach one: --attach job-log=FILE)"


@dataclass(frozen=True)
class Log:
    """One attached log; `facts` is None when it is no log that can be read."""

    label: str
    data: bytes
    outcome: Outcome

    @property
    def facts(self) -> JobLog | None:
        """What was understood of it."""
        return self.outcome if isinstance(self.outcome, JobLog) else None

    @property
    def name(self) -> str:
        """`job-log@rank0`, as its file is called."""
        return f"{KIND}@{self.label}" if self.label else KIND

    def quote(self, *lines: int) -> tuple[Evidence, ...]:
        """Lines (from 1) as evidence."""
        every = self.data.split(b"\n")
        return tuple(
            Evidence(
                round=1,
                node="",
                command=self.name,
                lines=(n, n),
                text=redact(safe_line(every[n - 1].decode("utf-8", "replace").rstrip("\r"))),
            )
            for n in lines
            if 0 < n <= len(every)
        )

    def unknown(self) -> Judgement:
        """The judgement when the log cannot be read."""
        reason = f"cannot be read: {self.outcome.reason}" if isinstance(self.outcome, Unparsable) else "cannot be read"
        return Judgement(Status.UNKNOWN, f"{self.name}: {reason}", reason=reason, missing=(KIND,))


@lru_cache(maxsize=8)
def _parsed(data: bytes) -> Outcome:
    return parse_job_log(Raw.of(data))


def logs(view: View) -> list[Log]:
    """Every attached job log."""
    return [Log(label, data, _parsed(data)) for label, data in view.attachment(KIND)]


def readable(found: Iterable[Log]) -> list[tuple[Log, JobLog]]:
    """Logs with their facts."""
    return [(log, log.outcome) for log in found if isinstance(log.outcome, JobLog)]


__all__ = ["KIND", "NONE", "Log", "logs", "readable"]
