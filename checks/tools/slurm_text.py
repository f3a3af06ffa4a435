"""Shapes that all Slurm commands share: `Key=Value` records, times, durations, node states, TRES and tables.

Values of a record may hold blanks, and a blank before the next key may be missing:

    NodeName=gpu017 Arch=x86_64 OS=Linux 5.15.0 #1 SMP Reason=Not responding [slurm@2026-03-04T02:10:05]
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from checks import nodesets
from checks.tools.formats import timestamp

_NONE = {"", "(null)", "none", "n/a", "unknown", "null"}
_KEY = re.compile(r"(?:^|\s|(?<=[\w)\]])(?=NodeHostName=))([A-Z][\w/:]*)=")


def value(text: str | None) -> str | None:
    """The text, or None for Slurm's ways to say "nothing": `(null)`, `None`, `N/A`, `Unknown`."""
    if text is None or text.strip().lower() in _NONE:
        return None
    return text.strip()


def moment(text: str | None) -> datetime | None:
    """A Slurm time: seconds since 1970 (aware, UTC) or ISO in the controller's own zone (naive)."""
    text = (text or "").strip()
    if re.fullmatch(r"\d{9,11}", text):
        return datetime.fromtimestamp(int(text), UTC)
    return timestamp(text) if re.match(r"\d{4}-\d\d-\d\dT", text) else None


def is_time(text: str) -> bool:
    """True for a time, or for a word that stands where a time belongs."""
    return moment(text) is not None or text.strip() in ("Unknown", "N/A", "None")


def duration_s(text: str | None) -> float | None:
    """Seconds of `1-02:03:04`, `02:03:04`, `03:04`, `00:01.062`; None for UNLIMITED and the like."""
    found = re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)", (text or "").strip())
    if not found:
        return None
    days, hours, minutes, seconds = (float(x) if x else 0.0 for x in found.groups())
    return days * 86400 + hours * 3600 + minutes * 60 + seconds


_SUFFIX = {
    "*": "not_responding",
    "~": "powered_down",
    "#": "powering_up",
    "!": "powering_down",
    "%": "powering_down",
    "$": "maint",
    "@": "reboot_requested",
    "^": "reboot_issued",
    "-": "planned",
}
_SHORT = {
    "alloc": "allocated",
    "mix": "mixed",
    "drng": "draining",
    "comp": "completing",
    "resv": "reserved",
    "plnd": "planned",
    "unk": "unknown",
    "npc": "perfctrs",
    "futr": "future",
    "blk": "blocked",
    "boot": "reboot",
    "failg": "failing",
    "pow_up": "powering_up",
    "pow_dn": "powering_down",
    "powerd": "powered_down",
}
_STATES = (
    {
        "idle", "allocated", "mixed", "down", "drain", "drained", "draining", "fail", "failing", "error", "unknown",
        "future", "completing", "reserved", "maint", "maintenance", "planned", "perfctrs", "blocked", "inval",
        "reboot", "reboot_requested", "reboot_issued", "rebooting", "powering_up", "powering_down", "powered_down",
        "power_down", "power_up", "power_drain", "cloud", "not_responding", "dynamic_norm", "dynamic_future",
        "invalid_reg", "no_respond", "resume", "undrain", "net", "res", "external", "launching",
    }
)  # fmt: skip


def node_states(text: str) -> tuple[str, ...]:
    """Lower-case words of a node state: `DOWN+DRAIN*` is down, drain, not_responding; empty when it is no state."""
    words: list[str] = []
    text = text.strip()
    flags = [_SUFFIX[c] for c in text if c in _SUFFIX and c != "-"] + (["planned"] if text.endswith("-") else [])
    for part in re.split(r"\+", text):
        word = part.strip().rstrip("".join(_SUFFIX)).lower()
        word = _SHORT.get(word, word)
        if word not in _STATES:
            return ()
        words.append(word)
    return tuple(dict.fromkeys(words + flags))


JOB_STATES = {
    "PD": "PENDING", "R": "RUNNING", "CG": "COMPLETING", "CD": "COMPLETED", "CF": "CONFIGURING", "CA": "CANCELLED",
    "F": "FAILED", "TO": "TIMEOUT", "NF": "NODE_FAIL", "OOM": "OUT_OF_MEMORY", "PR": "PREEMPTED", "S": "SUSPENDED",
    "BF": "BOOT_FAIL", "DL": "DEADLINE", "RQ": "REQUEUED", "RH": "REQUEUE_HOLD", "RS": "RESIZING", "SI": "SIGNALING",
    "SE": "SPECIAL_EXIT", "SO": "STAGE_OUT", "ST": "STOPPED", "RV": "REVOKED", "RD": "RESV_DEL_HOLD",
    "RF": "REQUEUE_FED", "LF": "LAUNCH_FAILED", "RC": "RECONFIG_FAIL",
}  # fmt: skip
_LONG = frozenset(JOB_STATES.values())


def job_state(text: str) -> str | None:
    """A job state in full: `R` and `RUNNING` are RUNNING, `CANCELLED by 1000` keeps who did it; None for no state."""
    text = text.strip()
    first = text.split(" ")[0].rstrip("+").upper()
    if first in JOB_STATES:
        return JOB_STATES[first]
    if first in _LONG:
        return text if text.startswith("CANCELLED by ") else first
    # squeue cuts its column at eight characters (`PENDING`, `COMPLETI`, `NODE_FAI`)
    cut = [s for s in _LONG if len(first) >= 5 and s.startswith(first)]
    return cut[0] if len(cut) == 1 else None


def nodes_of(text: str | None) -> tuple[str, ...]:
    """The nodes of a Slurm node list; empty when it is none."""
    text = value(text) or ""
    if not text or not re.fullmatch(r"[\w.,\[\]-]+", text):
        return ()
    # a cut list (`gpu[001-0`) names nobody reliably
    if text.count("[") != text.count("]"):
        return ()
    try:
        return nodesets.expand(text)
    except nodesets.NodeSetError:
        return ()


def gpus(text: str | None) -> int | None:
    """GPUs in a Gres or TRES text; `gpu:a800:8(S:0-1)`, `gres/gpu=16`, `gres:gpu:2`; None when it names none."""
    total: int | None = None
    for part in re.split(r",(?![^(]*\))", text or ""):
        found = re.fullmatch(r"(?:gres[:/])?gpu(?:[:=]([^:=(]+))??(?:[:=](\d+))(?:\(.*\))?", part.strip())
        if found:
            typed = part.strip().startswith("gres/gpu:")
            # AllocTRES lists `gres/gpu=8` and again `gres/gpu:a800=8`
            if typed and total is not None:
                continue
            total = (total or 0) + int(found[2])
        elif re.fullmatch(r"(?:gres[:/])?gpu", part.strip()):
            total = (total or 0) + 1
    return total


@dataclass(frozen=True, slots=True)
class Record:
    """One `Key=Value` record; `line_of` says where each key stood, `last` is the record's last line."""

    line: int
    values: dict[str, str]
    line_of: dict[str, int]
    last: int

    def get(self, *keys: str) -> str | None:
        """The first of the keys that has a value."""
        return next((v for k in keys if (v := value(self.values.get(k))) is not None), None)


def records(numbered: Iterator[tuple[int, str]], first_key: str) -> tuple[list[Record], list[int]]:
    """(records that begin with `first_key=`, lines that belong to none), whether one line each or indented lines."""
    found: list[Record] = []
    strays: list[int] = []
    for n, line in numbered:
        text = line.strip()
        if text.startswith(f"{first_key}="):
            found.append(Record(n, {}, {}, n))
        elif not found or not re.match(r"[A-Z][\w/:]*=", text):
            strays.append(n)
            continue
        record = found[-1]
        found[-1] = Record(record.line, record.values, record.line_of, n)
        for key, cell in pairs(text):
            record.values.setdefault(key, cell)
            record.line_of.setdefault(key, n)
    return found, strays


def pairs(text: str) -> Iterator[tuple[str, str]]:
    """(key, value) of a line; a value reaches to the next key."""
    marks = list(_KEY.finditer(text))
    for i, mark in enumerate(marks):
        end = marks[i + 1].start() if i + 1 < len(marks) else len(text)
        yield mark[1], text[mark.end() : end].strip()


def reason_of(text: str | None) -> tuple[str | None, str | None, datetime | None]:
    """(reason, who, when) of `Not responding [slurm@2026-03-04T02:10:05]`."""
    text = value(text) or ""
    found = re.fullmatch(r"(.*?)\s*\[([^@\]]*)@([^\]]*)\]", text)
    if not found:
        return text or None, None, None
    return value(found[1]), value(found[2]), moment(found[3])


def number_of(item: Any) -> float | None:
    """A number of Slurm's JSON: plain, or an object with `set`, `infinite` and `number`."""
    if isinstance(item, dict):
        if item.get("set") is False or item.get("infinite") is True:
            return None
        item = item.get("number")
    if isinstance(item, str) and re.fullmatch(r"-?\d+(\.\d+)?", item):
        item = float(item)
    return float(item) if isinstance(item, int | float) and not isinstance(item, bool) else None


def epoch_of(item: Any) -> datetime | None:
    """A time of Slurm's JSON; 0 is none."""
    seconds = number_of(item)
    try:
        return datetime.fromtimestamp(seconds, UTC) if seconds and seconds > 0 else None
    except (OverflowError, ValueError, OSError):
        return None


def words_of(item: Any) -> tuple[str, ...]:
    """A word or a list of words of Slurm's JSON."""
    if isinstance(item, str):
        return tuple(w for w in (item.strip(),) if w)
    return tuple(str(w).strip() for w in item if str(w).strip()) if isinstance(item, list) else ()


def separator(line: str) -> str | None:
    """What separates the cells of a parsable line: `|#`, `|`, or None."""
    return "|#" if line.count("|#") >= 2 and line.count("|#") * 2 > line.count("|") else "|" if "|" in line else None


def name_of(heading: str) -> str:
    """A column heading reduced to letters: `CPUS(A/I/O/T)` is CPUSAIOT, `NODELIST(REASON)` is NODELISTREASON."""
    return re.sub(r"[^A-Z]", "", heading.upper())


def cells(line: str, mark: str, width: int | None = None) -> list[str]:
    """Cells of a parsable line; an empty one behind a last separator goes where the line is then `width` cells."""
    parts = [c.strip() for c in line.split(mark)]
    if width is not None and len(parts) == width + 1 and not parts[-1]:
        parts.pop()
    return parts
