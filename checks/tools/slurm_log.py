"""The controller's log: nodes lost and back, jobs killed, credentials refused, requests that took too long.

2026-03-04T02:10:05+0000 head01 slurmctld[2211]: error: Nodes gpu[017-032] not responding
[2026-03-04T02:15:08.114] Killing JobId=88123 on failed node gpu017
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Literal

from checks.findings import Model
from checks.outputs import Empty, Facts, OddLine, Outcome, Raw
from checks.tools import slurm_text as slurm
from checks.tools.formats import LogLine, cut_off, log_lines, timestamp
from common.safetext import safe_line

Kind = Literal[
    "not-responding", "responding", "set-down", "killed", "requeued", "drained", "rebooted", "credential", "slow",
    "overload", "config",
]  # fmt: skip


class CtldEvent(Model):
    """One line that means something. `nodes` as printed; `at` None when the line carries no time."""

    line: int
    at: datetime | None
    kind: Kind
    nodes: str | None = None
    job: str | None = None
    text: str

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes, expanded."""
        return slurm.nodes_of(self.nodes)


class CtldLog(Facts):
    """Events in the order logged; `lines_read` counts all lines of the controller."""

    events: tuple[CtldEvent, ...]
    lines_read: int


_NODES = r"(?P<nodes>[\w.,\[\]-]*\w\]?)"
_ON = _NODES.replace("nodes", "other")
_PATTERNS: tuple[tuple[Kind, str], ...] = (
    ("set-down", rf"(?:^|\s)[Nn]odes? {_NODES} not responding, setting DOWN"),
    ("not-responding", rf"(?:^|\s)[Nn]odes? {_NODES} not (?:yet )?responding"),
    ("responding", rf"[Nn]ode {_NODES} now responding|[Nn]ode {_ON} returned to"),
    ("killed", rf"[Kk]illing (?:JobId|job_id|job)[= ](?P<job>\d+\S*) on failed node {_NODES}"),
    ("killed", r"[Bb]atch (?:JobId|job_id)=?(?P<job>\d+) missing from (?:batch )?node (?P<nodes>\S+)"),
    ("requeued", rf"requeue.* (?:JobId|job_id)=(?P<job>\d+\S*) due to failure of node {_NODES}"),
    ("rebooted", rf"[Nn]ode {_NODES} (?:unexpectedly )?rebooted"),
    ("drained", rf"\w+_nodes?\w*: [Nn]ode {_NODES} (?:state set to DRAIN|reason set to)"),
    ("drained", r"Kill task failed|Prolog error|Epilog error"),
    ("config", rf"[Nn]ode {_NODES} has low |gres/gpu count .*too low"),
    ("config", rf"[Ss]etting node {_NODES} state to (?:DRAIN|INVAL)"),
    ("credential", r"(?:Rewound|Expired|Replayed) credential|[Cc]redential (?:has )?expired"),
    ("credential", r"Protocol authentication error|Munge decode failed|Zero Bytes were transmitted"),
    ("credential", r"clock skew|unsynchronized clocks"),
    ("slow", r"very large processing time|[Ss]ocket timed out"),
    ("overload", r"server_thread_count over limit|agent.?queue.*(?:full|large|exceed)"),
    ("overload", r"(?i)dbd.*(?:agent|queue).*(?:full|filling|discard)|MaxDBDMsgs"),
)
_EVENTS = tuple((kind, re.compile(pattern)) for kind, pattern in _PATTERNS)
_OWN = re.compile(r"^\[(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?)\]\s+(.*)$")
_MARK = re.compile(r"slurmctld(?:\[\d+\])?:|^\[\d{4}-\d\d-\d\dT|systemd\[\d+\]: .*[Ss]lurm")


def parse_slurmctld_log(raw: Raw) -> Outcome:
    """The journal of slurmctld, or the tail of its own log file, whose times stand in brackets."""
    if not raw.blank and not any(_MARK.search(line) for line in raw.lines):
        if any(line.startswith("-- No entries") for line in raw.lines):
            return Empty("slurmctld wrote nothing to the journal in that time")
        return raw.unparsable("no line of slurmctld")
    own = [(n, m) for n, line in raw.numbered() if (m := _OWN.match(line))]
    if own:
        lines = [LogLine(n, timestamp(m[1]), "", m[2]) for n, m in own]
    else:
        got = log_lines(raw)
        if not isinstance(got, list):
            return got
        lines = got
    odd: list[OddLine] = []
    events: list[CtldEvent] = []
    for line in lines:
        for kind, pattern in _EVENTS:
            if (found := pattern.search(line.text)) is None:
                continue
            cell = found.groupdict()
            nodes = cell.get("nodes") or cell.get("other")
            # a list cut off at the end of its line names not all it means
            if nodes and not slurm.nodes_of(nodes):
                odd.append(raw.odd(line.line))
            events.append(
                CtldEvent(
                    line=line.line,
                    at=line.at,
                    kind=kind,
                    nodes=nodes,
                    job=cell.get("job"),
                    text=safe_line(line.text, limit=200),
                )
            )
            break
    if (cut := cut_off(raw)) is not None:
        odd.append(raw.odd(cut))
    return CtldLog(events=tuple(events), lines_read=len(lines), odd=tuple(odd))
