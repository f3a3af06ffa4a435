"""Kernel log lines about the host: memory killer, hung tasks, lockups, machine checks, disks.

Any common form of the log is read (journal, syslog, `dmesg` plain, -T, -x, pstore):

    2026-03-04T02:10:00+0000 gpu017 kernel: watchdog: BUG: soft lockup - CPU#12 stuck for 22s! [python:81234]
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Literal

from pydantic import BaseModel

from checks.outputs import Facts, Outcome, Raw
from checks.tools.formats import LogLine, log_lines
from common.safetext import safe_line

Kind = Literal[
    "oom-kill",
    "oom",
    "hung-task",
    "lockup",
    "kernel-bug",
    "panic",
    "mce-uncorrected",
    "mce-corrected",
    "mce",
    "disk-timeout",
    "disk-lost",
    "disk-error",
    "read-only",
    "raid-failure",
]


class KernelEvent(BaseModel):
    """One line that says something went wrong.

    `at` is the time as printed, None when the log has none. `subject` is the process, drive or controller named;
    `seconds` the wait it tells. `by_hand` marks what a person caused through sysrq.
    """

    line: int
    at: datetime | None
    kind: Kind
    subject: str = ""
    pid: int | None = None
    seconds: int | None = None
    by_hand: bool = False
    text: str


class KernelLog(Facts):
    """Events found, in the order of the log; the lines that say nothing bad are only counted."""

    lines: int
    line: int
    events: tuple[KernelEvent, ...]

    def of(self, *kinds: Kind) -> tuple[KernelEvent, ...]:
        """Events of the kinds that nobody caused by hand."""
        return tuple(e for e in self.events if e.kind in kinds and not e.by_hand)


_HOST: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    (
        "oom-kill",
        re.compile(
            r"(?:[Oo]ut of memory|OOM).*?: Kill(?:ed)? process (?P<pid>\d+)"
            r"(?:,? \(?(?:UID \d+, \()?(?P<who>[^)]*)\))?"
        ),
    ),
    ("oom-kill", re.compile(r"oom-kill:.*\btask=(?P<who>[^,]+),pid=(?P<pid>\d+)")),
    ("oom-kill", re.compile(r"^Killed process (?P<pid>\d+),? (?:UID \d+, )?\((?P<who>[^)]*)\)")),
    ("oom-kill", re.compile(r"oom_reaper: reaped process (?P<pid>\d+) \((?P<who>[^)]*)\)")),
    ("oom", re.compile(r"(?P<who>\S+) invoked oom-killer|oom-kill:constraint=")),
    ("hung-task", re.compile(r"INFO: task (?P<who>.+?):(?P<pid>\d+) blocked for more than (?P<s>\d+) seconds")),
    ("lockup", re.compile(r"soft lockup - (?P<who>CPU#\d+) stuck for (?P<s>\d+)s")),
    ("lockup", re.compile(r"Watchdog detected hard LOCKUP on (?P<who>cpu \d+)", re.I)),
    ("lockup", re.compile(r"rcu.*(?:detected stalls?|self-detected stall|detected expedited stalls)")),
    ("panic", re.compile(r"Kernel panic - not syncing: (?P<who>.*)")),
    ("kernel-bug", re.compile(r"\bBUG: (?!soft lockup)|kernel BUG at|^Oops:|\bgeneral protection fault\b.*\[#\d+\]")),
    ("mce-uncorrected", re.compile(r"EDAC (?P<who>MC\d+): \d+ UE\b")),
    ("mce-corrected", re.compile(r"EDAC (?P<who>MC\d+): \d+ CE\b")),
    (
        "mce-uncorrected",
        re.compile(
            r"Hardware Error\]:\s*(?:Uncorrected|System Fatal error|event severity: (?:fatal|recoverable)|"
            r".*section_type.*fatal)",
            re.I,
        ),
    ),
    ("mce-uncorrected", re.compile(r"Uncorrected hardware memory error|due to hardware memory corruption")),
    (
        "mce-corrected",
        re.compile(r"Hardware Error\]:\s*(?:Corrected error|Deferred error|event severity: corrected)", re.I),
    ),
    ("mce", re.compile(r"Hardware Error\]: Machine check events logged")),
)
_STATUS = re.compile(
    r"Hardware Error\]: (?P<who>CPU \d+): Machine Check(?: Exception)?: \w+ (?P<bank>Bank \d+): (?P<bits>[0-9a-f]{16})"
)
_AMD = re.compile(r"Hardware Error\]: (?P<who>CPU:\d+) .*_STATUS\[(?P<flags>[^\]]*)\]")
_UNCORRECTED_BIT = 1 << 61

_DISK: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("disk-timeout", re.compile(r"(?:nvme )?\b(?P<who>nvme\d+): I/O (?:tag )?\d+.*timeout")),
    (
        "disk-timeout",
        re.compile(r"(?:nvme )?\b(?P<who>nvme\d+): (?:controller is down; will reset|resetting controller)"),
    ),
    (
        "disk-lost",
        re.compile(r"(?:nvme )?\b(?P<who>nvme\d+): (?:Removing after probe failure|Device not ready|Disabling device)"),
    ),
    (
        "disk-error",
        re.compile(
            r"(?:I/O error|critical (?:medium|target|space allocation|nexus) error)(?:,| on) "
            r"dev(?:ice)? (?P<who>[\w.-]+)"
        ),
    ),
    ("read-only", re.compile(r"(?:\((?P<who>[\w.-]+)\).*)?Remounting filesystem read-only", re.I)),
    ("read-only", re.compile(r"XFS \((?P<who>[\w.-]+)\): .*Shutting down filesystem", re.I)),
    (
        "raid-failure",
        re.compile(r"md/raid\S*?:(?P<who>\w+): .*(?:Disk failure|Cannot continue|not enough operational)"),
    ),
)
# drives without a medium complain whenever someone looks at them
_NO_MEDIUM = re.compile(r"^(?:fd|sr|loop)\d+")
_BY_HAND = re.compile(r"\border=-1\b")
_CRASHED_BY_HAND = re.compile(r"sysrq:? .*Trigger a crash|sysrq triggered crash", re.I)
_OOM: frozenset[Kind] = frozenset({"oom", "oom-kill"})
_CRASH: frozenset[Kind] = frozenset({"kernel-bug", "panic"})
_STAMPED = re.compile(
    r"^(?:<\d+>|\w+\s*:\w+\s*:\s*)?(?:\[\s*\d+\.\d+\]|\[\w{3} \w{3}\s+\d+ |\d{4}-\d\d-\d\d[T ]\d\d:\d\d|"
    r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\s+\d+ \d\d:\d\d:\d\d )"
)


def parse_mce_log(raw: Raw) -> Outcome:
    """Kernel lines about memory, hung tasks, lockups and machine checks."""
    return _log(raw, _HOST)


def parse_disk_log(raw: Raw) -> Outcome:
    """Kernel lines about local disks."""
    return _log(raw, _DISK)


def _log(raw: Raw, patterns: tuple[tuple[Kind, re.Pattern[str]], ...]) -> Outcome:
    if raw.blank:
        # journalctl says `-- No entries --` when nothing matched
        return raw.unparsable("nothing was printed, not even `-- No entries --`")
    lines = log_lines(raw)
    if not isinstance(lines, list):
        return lines
    stamped = sum(bool(_STAMPED.match(line)) for line in raw.lines)
    if not stamped and not any(_event(x, _HOST + _DISK, frozenset()) for x in lines):
        return raw.unparsable("not a kernel log")
    events: list[KernelEvent] = []
    by_hand: frozenset[Kind] = frozenset()
    for entry in lines:
        if "invoked oom-killer" in entry.text:
            by_hand = by_hand | _OOM if _BY_HAND.search(entry.text) else by_hand - _OOM
        elif _CRASHED_BY_HAND.search(entry.text):
            by_hand = by_hand | _CRASH
        if event := _event(entry, patterns, by_hand):
            events.append(event)
    last = len(raw.lines)
    cut = not raw.complete and not any(e.line == last for e in events)
    odd = (raw.odd(last),) if cut else ()
    return KernelLog(lines=len(lines), line=lines[0].line, events=tuple(events), odd=odd)


def _event(
    entry: LogLine, patterns: tuple[tuple[Kind, re.Pattern[str]], ...], by_hand: frozenset[Kind]
) -> KernelEvent | None:
    if patterns is not _DISK and (found := _machine_check(entry)):
        return found
    for kind, pattern in patterns:
        match = pattern.search(entry.text)
        if not match:
            continue
        named = match.groupdict()
        subject = (named.get("who") or "").strip()
        if kind == "disk-error" and _NO_MEDIUM.match(subject):
            return None
        return KernelEvent(
            line=entry.line,
            at=entry.at,
            kind=kind,
            subject=safe_line(subject, limit=80),
            pid=int(named["pid"]) if named.get("pid") else None,
            seconds=int(named["s"]) if named.get("s") else None,
            by_hand=kind in by_hand,
            text=safe_line(entry.text, limit=200),
        )
    return None


def _machine_check(entry: LogLine) -> KernelEvent | None:
    """Machine checks with their status register: bit 61 (Intel) or the word UE (AMD) say whether it was corrected."""
    kind: Kind
    if match := _STATUS.search(entry.text):
        kind = "mce-uncorrected" if int(match["bits"], 16) & _UNCORRECTED_BIT else "mce-corrected"
    elif match := _AMD.search(entry.text):
        flags = match["flags"].split("|")
        kind = "mce-uncorrected" if "UE" in flags else "mce-corrected" if "CE" in flags else "mce"
    else:
        return None
    return KernelEvent(
        line=entry.line, at=entry.at, kind=kind, subject=match["who"], text=safe_line(entry.text, limit=200)
    )
