"""The log of a training job, as a person attaches it: what NCCL says of the network, errors, step and save times.

    gpu001:81234:81234 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.1.0.1<0>
    gpu001:81234:81301 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/0/GDRDMA
     iteration      120/  500000 | elapsed time per iteration (ms): 5123.4 | lm loss: 2.31E+00 |
    [2026-03-04 02:31:07] rank0: saved checkpoint at step 1200 in 28.4 s

Everything else in such a log is nobody's format and is passed over: a log without any of these is `Unparsable`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Literal

from checks.findings import Model
from checks.outputs import Facts, Outcome, Raw
from checks.tools.formats import timestamp
from common.safetext import safe_line

Transport = Literal["IB", "RoCE", "Socket", "OFI", "FastSocket", "other"]


class NetLine(Model):
    """What a NCCL `NET/… : Using` line names: the transport, its devices in order, the out-of-band interface."""

    line: int
    host: str | None
    transport: Transport
    devices: tuple[str, ...]
    oob: str | None = None


class JobError(Model):
    """A line that tells of a failure. `effect` marks what waiting ranks say after another one failed."""

    line: int
    at: datetime | None
    host: str | None
    rank: int | None
    kind: Literal["timeout", "transport", "port", "cuda", "oom", "nccl", "python", "killed"]
    effect: bool
    text: str


class Step(Model):
    """One training step; `index` None when the log does not number them. Seconds."""

    line: int
    index: int | None
    seconds: float
    rank: int | None = None
    at: datetime | None = None


class Save(Model):
    """One checkpoint written: how long it took and when, as far as the log says."""

    line: int
    index: int | None
    seconds: float | None
    at: datetime | None


class Share(Model):
    """Communication against the step, from a breakdown line; percent."""

    line: int
    communication_pct: float


class Variable(Model):
    """A NCCL variable that the log shows to be set."""

    line: int
    name: str
    value: str


class JobLog(Facts):
    """What was understood of a job's log. `gdr_channels` and `plain_channels` count network channels."""

    line: int
    nccl_versions: tuple[tuple[int, str], ...] = ()
    nets: tuple[NetLine, ...] = ()
    gdr_channels: int = 0
    gdr_line: int | None = None
    plain_channels: int = 0
    plain_line: int | None = None
    gdr_refused: tuple[int, ...] = ()
    errors: tuple[JobError, ...] = ()
    steps: tuple[Step, ...] = ()
    saves: tuple[Save, ...] = ()
    shares: tuple[Share, ...] = ()
    variables: tuple[Variable, ...] = ()

    @property
    def transports(self) -> tuple[str, ...]:
        """The transports used, each once."""
        return tuple(dict.fromkeys(n.transport for n in self.nets))


_LABEL = re.compile(r"^(?:\[?(?:default|rank)?(\d+)\]?:\s*)+")
_RANK = re.compile(r"\[?[Rr]ank ?(\d+)\]?")
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)")
_HOST = re.compile(r"(?:^|\s)([A-Za-z][\w.-]*):\d+:\d+ \[\d+\]")
_NET = re.compile(r"NET/(IB|IBext\w*|Socket|OFI|FastSocket|UCX|AWS[\w ]*|\w+)\s*: Using (.*)$")
_DEVICE = re.compile(r"\[\d+\]\s*([\w.-]+)(?::\d+)?(?:/(IB|RoCE|SHARP|uverbs)\b)?")
_OOB = re.compile(r"OOB ([\w.-]+):")
_NETWORK = re.compile(r"Using network (\w[\w ]*)")
_VERSION = re.compile(r"N?R?CCL version ?:? ?(\d+\.\d+(?:\.\d+)?)")
_VIA = re.compile(r"via NET/[\w-]+/\d+(?:\(\d+\))?(?:/\d+)?(/GDRDMA)?(?:\(PCI\))?")
_REFUSED = re.compile(r"GPU Direct RDMA Disabled|GDR(?:DMA)? (?:is )?(?:disabled|not supported|unavailable)", re.I)
_SET = re.compile(r"\b(NCCL_[A-Z0-9_]+)(?: set by environment to | ?= ?)([\w.,:^=/+-]*\w)")
_ERRORS: tuple[tuple[str, bool, re.Pattern[str]], ...] = tuple(
    (kind, effect, re.compile(pattern))
    for kind, effect, pattern in (
        ("timeout", True, r"Watchdog caught collective operation timeout|collective operation timeout"),
        ("transport", False, r"Got completion (?:from peer |with ).*(?:status|error)[ =:]*\S*(?:12|RETRY_EXC)"),
        ("transport", True, r"Got completion (?:from peer |with )|ncclRemoteError|remote process exited"),
        ("port", False, r"Got (?:non-)?fatal async event|async event: port error|async fatal event"),
        ("oom", False, r"CUDA out of memory|torch\.(?:cuda\.)?OutOfMemoryError|oom-kill"),
        ("cuda", False, r"CUDA error|uncorrectable ECC|unspecified launch failure|cudaError\w+|Xid"),
        ("killed", True, r"Signal (?:9|15|SIGTERM|SIGKILL)|NODE_FAIL|DUE TO NODE FAILURE|slurmstepd: error"),
        ("nccl", False, r"NCCL WARN|NCCL ERROR|RCCL FATAL|unhandled (?:system|cuda) error|DistBackendError"),
        ("python", False, r"^\s*(?:\S+: )?(?:\w+\.)*\w*(?:Error|Exception): "),
    )
)
_HARMLESS = re.compile(r"NCCL WARN (?:NCCL_\w+ set by|Linux kernel|Missing)|NET/Plugin.*(?:not found|No plugin)")
_STEPS: tuple[tuple[re.Pattern[str], float], ...] = (
    (re.compile(r"elapsed time per iteration \(ms\):\s*(\d+(?:\.\d+)?)"), 0.001),
    (re.compile(r"\b(?:step|iter(?:ation)?)[_ ]?time(?: ?\(s\w*\))?\s*[:=]\s*(\d+(?:\.\d+)?)(?![\d.]|\s*ms)"), 1.0),
    (re.compile(r"\b(?:step|iter(?:ation)?)[_ ]?time(?:[ _]?\(?ms\)?)?\s*[:=]\s*(\d+(?:\.\d+)?)\s*ms\b"), 0.001),
    (re.compile(r"(\d+(?:\.\d+)?)\s*s/it\b"), 1.0),
    (re.compile(r"\b(?:step|iter(?:ation)?)\s*\d+\b.*?\btook\s+(\d+(?:\.\d+)?)\s*s"), 1.0),
    (re.compile(r"['\"]?(?:step_time|train_step_timing in s|seconds_per_step)['\"]?\s*[:=]\s*(\d+(?:\.\d+)?)"), 1.0),
)  # fmt: skip
_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*it/s\b")
_INDEX = re.compile(r"\b(?:iteration|iter|step|global_step)\b[ =:#'\"]*(\d+)", re.I)
_SAVE_TIME = re.compile(
    r"save-checkpoint\s*\.*:?\s*\(?(?P<ms>\d+\.\d+)\b|"
    r"\b(?:saved?|saving|wrote|writing|written)\b.*?\bcheckpoint\b.*?\b(?:in|took|time|elapsed)\b[ :=]*(?:\(s\))?[ :=]*"
    r"(?P<s>\d+(?:\.\d+)?)\s*(?P<unit>ms|s|sec|seconds|min)\b|"
    r"\bcheckpoint\b.*?\b(?:saved?|written|save)\b.*?\b(?:in|took|time|elapsed)\b[ :=]*(?P<s2>\d+(?:\.\d+)?)\s*"
    r"(?P<unit2>ms|s|sec|seconds|min)\b",
    re.I,
)  # fmt: skip
_SAVE_BEGIN = re.compile(r"\bsaving\b.*\bcheckpoint\b|\bsaving model\b.*\bcheckpoint", re.I)
_SAVE_END = re.compile(
    r"\bsuccessfully saved\b.*\bcheckpoint\b|\bsaved\b.*\bcheckpoint\b|\bcheckpoint\b.*\bsaved\b", re.I
)
_SHARE = re.compile(
    r"\b(?:exposed[ _-]?)?(?:comm(?:unication)?|all[-_]?reduce|collectives?)[\w ()-]*?"
    r"(?:share|fraction|percent|pct|ratio)?[ :=]*(?P<pct>\d+(?:\.\d+)?)\s*%",
    re.I,
)
_PARTS = re.compile(
    r"\b(?P<name>(?:exposed[_ -])?(?:comm(?:unication)?|compute|computation))[\w]*(?:[_ ]?(?:time|ms))?\s*[:=(]\s*"
    r"(?P<value>\d+(?:\.\d+)?)\s*(?P<unit>ms|s)\b",
    re.I,
)


def parse_job_log(raw: Raw) -> Outcome:
    """The lines that mean something, of whatever trainer."""
    nets: list[NetLine] = []
    versions: dict[str, int] = {}
    errors: list[JobError] = []
    steps: list[Step] = []
    saves: list[Save] = []
    shares: list[Share] = []
    variables: dict[str, Variable] = {}
    refused: list[int] = []
    gdr: list[int] = []
    plain: list[int] = []
    marks = 0
    begun: tuple[int, datetime | None, int | None] | None = None
    for n, line in raw.numbered():
        text = line if len(line) <= 4000 else line[:4000]
        marks += "NCCL" in text or "ProcessGroupNCCL" in text
        nets += _net(n, text)
        if found := _VERSION.search(text):
            versions.setdefault(found[1], n)
        for channel in _VIA.finditer(text):
            (gdr if channel[1] else plain).append(n)
        if _REFUSED.search(text):
            refused.append(n)
        if "NCCL" in text:
            for name in _SET.finditer(text):
                variables.setdefault(name[1], Variable(line=n, name=name[1], value=name[2]))
        errors += _error(n, text)
        steps += _step(n, text)
        shares += _share(n, text)
        if (save := _saved(n, text, begun)) is not None:
            saves.append(save)
            begun = None
        elif _SAVE_BEGIN.search(text):
            begun = (n, _at(text), _index(text))
    told = [*(x.line for x in nets), *(x.line for x in errors), *(x.line for x in steps), *(x.line for x in saves)]
    telling = [*told, *(x.line for x in shares), *versions.values()]
    first = min(telling, default=0)
    if not first and not marks:
        return raw.unparsable("neither NCCL nor a trainer that is known wrote this")
    return JobLog(
        line=first or 1,
        nccl_versions=tuple((n, v) for v, n in versions.items()),
        nets=tuple(nets),
        gdr_channels=len(gdr),
        gdr_line=gdr[0] if gdr else None,
        plain_channels=len(plain),
        plain_line=plain[0] if plain else None,
        gdr_refused=tuple(refused[:20]),
        errors=tuple(errors),
        steps=tuple(steps),
        saves=tuple(saves),
        shares=tuple(shares),
        variables=tuple(variables.values()),
    )


def _at(text: str) -> datetime | None:
    found = _STAMP.search(text)
    return timestamp(found[1]) if found else None


def _rank(text: str) -> int | None:
    # srun's label is the task number; `[rank115]` the global rank; `[Rank 14]` the rank in a group and comes last
    found = re.search(r"\[rank(\d+)\]", text) or _LABEL.match(text) or _RANK.search(text)
    return int(found[1]) if found and found[1] else None


def _host(text: str) -> str | None:
    found = _HOST.search(text)
    return found[1] if found else None


def _index(text: str) -> int | None:
    found = _INDEX.search(text)
    return int(found[1]) if found else None


def _net(n: int, text: str) -> Iterator[NetLine]:
    if found := _NET.search(text):
        devices = [(m[1], m[2]) for m in _DEVICE.finditer(found[2].split("; OOB")[0].split(";OOB")[0])]
        name = found[1]
        transport: Transport = "other"
        if name.startswith("IB"):
            transport = "RoCE" if any(kind == "RoCE" for _, kind in devices) else "IB"
        elif name in ("Socket", "OFI", "FastSocket"):
            transport = name  # type: ignore[assignment]
        elif name.startswith("AWS"):
            transport = "OFI"
        oob = _OOB.search(found[2])
        yield NetLine(
            line=n,
            host=_host(text),
            transport=transport,
            devices=tuple(d for d, _ in devices),
            oob=oob[1] if oob else None,
        )
    elif "NET/OFI" in text and re.search(r"Initializing aws-ofi-nccl|Selected [Pp]rovider", text):
        yield NetLine(line=n, host=_host(text), transport="OFI", devices=())
    elif found := _NETWORK.search(text):
        name = found[1].strip()
        kind: Transport = "IB" if name.startswith("IB") else "Socket" if name == "Socket" else "other"
        if "OFI" in name or "Libfabric" in name:
            kind = "OFI"
        elif name == "FastSocket":
            kind = "FastSocket"
        yield NetLine(line=n, host=_host(text), transport=kind, devices=())


def _error(n: int, text: str) -> Iterator[JobError]:
    if _HARMLESS.search(text):
        return
    for kind, effect, pattern in _ERRORS:
        if pattern.search(text):
            yield JobError(
                line=n,
                at=_at(text),
                host=_host(text),
                rank=_rank(text),
                kind=kind,
                effect=effect,
                text=safe_line(text.strip(), limit=200),
            )
            return


def _step(n: int, text: str) -> Iterator[Step]:
    for pattern, unit in _STEPS:
        if found := pattern.search(text):
            yield Step(line=n, index=_index(text), seconds=float(found[1]) * unit, rank=_rank(text), at=_at(text))
            return
    # a progress bar: a rate of less than one a second is printed as seconds, of more as a rate
    if (found := _RATE.search(text)) and float(found[1]) > 0 and "%|" in text:
        yield Step(line=n, index=_index(text), seconds=1 / float(found[1]), rank=_rank(text), at=_at(text))


def _share(n: int, text: str) -> Iterator[Share]:
    parts: dict[str, float] = {}
    for found in _PARTS.finditer(text):
        name = "comm" if "comm" in found["name"].lower() else "compute"
        parts.setdefault(name, float(found["value"]) * (0.001 if found["unit"] == "ms" else 1.0))
    if len(parts) == 2 and sum(parts.values()) > 0:
        yield Share(line=n, communication_pct=100 * parts["comm"] / sum(parts.values()))
    elif (pct := _SHARE.search(text)) and float(pct["pct"]) <= 100:
        yield Share(line=n, communication_pct=float(pct["pct"]))


def _saved(n: int, text: str, begun: tuple[int, datetime | None, int | None] | None) -> Save | None:
    if found := _SAVE_TIME.search(text):
        value = found["ms"] or found["s"] or found["s2"]
        unit = "ms" if found["ms"] else (found["unit"] or found["unit2"] or "s").lower()
        seconds = float(value) * {"ms": 0.001, "min": 60.0}.get(unit, 1.0)
        return Save(line=n, index=_index(text) or (begun[2] if begun else None), seconds=seconds, at=_at(text))
    if _SAVE_END.search(text) and not _SAVE_BEGIN.search(text):
        at = _at(text)
        seconds_between = None
        if begun and begun[1] and at and (begun[1].tzinfo is None) == (at.tzinfo is None):
            seconds_between = (at - begun[1]).total_seconds()
            seconds_between = seconds_between if seconds_between >= 0 else None
        return Save(line=n, index=_index(text) or (begun[2] if begun else None), seconds=seconds_between, at=at)
    return None
