"""Tables of jobs: `squeue`, `sacct`, `sprio` in columns or parsable, with or without a heading.

88123|RUNNING|train|mlops|32|gres/gpu:8|1-04:12:09|5-19:47:51|gpu[001-032]
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from checks.findings import Model
from checks.outputs import Empty, Facts, OddLine, Outcome, Raw
from checks.tools import slurm_text as slurm
from checks.tools.formats import integer, number
from common.safetext import safe_line


class SlurmJob(Model):
    """One job or step. Times as Slurm printed them; durations in seconds; `gpus` over the whole job where it says so.

    `state` is the long word; `reason` is why it pends. None where the output does not say.
    """

    line: int
    id: str
    raw_id: str | None = None
    name: str | None = None
    state: str | None = None
    partition: str | None = None
    user: str | None = None
    account: str | None = None
    qos: str | None = None
    priority: float | None = None
    node_count: int | None = None
    nodes: str | None = None
    tres: str | None = None
    gpus: int | None = None
    elapsed_s: float | None = None
    left_s: float | None = None
    limit_s: float | None = None
    submit: datetime | None = None
    start: datetime | None = None
    end: datetime | None = None
    reason: str | None = None
    exit_code: str | None = None
    failed_node: str | None = None
    comment: str | None = None
    planned_nodes: str | None = None
    restarts: int | None = None
    switches: str | None = None
    std_out: str | None = None
    gres_detail: tuple[str, ...] = ()

    @property
    def node_list(self) -> tuple[str, ...]:
        """The job's nodes, expanded."""
        return slurm.nodes_of(self.nodes)

    @property
    def step(self) -> bool:
        """True for the rows of steps (`88123.batch`)."""
        return "." in self.id


class SlurmJobs(Facts):
    """Jobs in the order printed."""

    jobs: tuple[SlurmJob, ...]

    def of(self, job_id: str) -> SlurmJob | None:
        """The row of a job."""
        return next((j for j in self.jobs if job_id in (j.id, j.raw_id)), None)


RUN = ("JOBID", "STATE", "PARTITION", "USER", "NODES", "TRESPERNODE", "TIME", "TIMELEFT", "NODELIST")
PENDING = (
    "JOBID", "PARTITION", "USER", "ACCOUNT", "QOS", "PRIORITY", "NODES", "TRESPERNODE", "TIMELIMIT", "SUBMITTIME",
    "STARTTIME", "REASON",
)  # fmt: skip
SACCT = (
    "JOBIDRAW", "JOBNAME", "STATE", "EXITCODE", "DERIVEDEXITCODE", "START", "END", "ELAPSED", "NODELIST", "ALLOCTRES",
    "FAILEDNODE", "COMMENT",
)  # fmt: skip
UTIL = ("JOBIDRAW", "USER", "ACCOUNT", "PARTITION", "STATE", "ELAPSEDRAW", "ALLOCTRES")
PRIO = ("JOBID", "USER", "PRIORITY", "AGE", "FAIRSHARE", "JOBSIZE", "PARTITIONPRIO", "QOSPRIO")
START = ("JOBID", "STARTTIME", "SCHEDNODES", "REASON")


_HEADINGS = {
    "JOBID": "id", "JOBIDRAW": "raw_id", "JOBNAME": "name", "NAME": "name", "STATE": "state", "ST": "state",
    "STATECOMPACT": "state", "PARTITION": "partition", "USER": "user", "USERNAME": "user", "ACCOUNT": "account",
    "QOS": "qos", "PRIORITY": "priority", "NODES": "node_count", "NUMNODES": "node_count", "NNODES": "node_count",
    "ALLOCNODES": "node_count", "NODELIST": "nodes", "NODELISTREASON": "nodes_or_reason", "TRESPERNODE": "per_node",
    "GRES": "per_node", "ALLOCTRES": "tres", "TRESALLOC": "tres", "TIME": "elapsed", "ELAPSED": "elapsed",
    "TIMEUSED": "elapsed", "ELAPSEDRAW": "elapsed_raw", "TIMELEFT": "left", "TIMELIMIT": "limit", "TIMELIMI": "limit",
    "TIMELIM": "limit", "SUBMITTIME": "submit", "SUBMIT": "submit", "STARTTIME": "start", "START": "start",
    "ENDTIME": "end", "END": "end", "REASON": "reason", "EXITCODE": "exit_code", "FAILEDNODE": "failed_node",
    "COMMENT": "comment", "SCHEDNODES": "planned_nodes",
}  # fmt: skip
_ID = re.compile(r"^\d+(?:_(?:\d+|\[[\d,%-]+\.*\]?))?(?:\+\d+)?(?:\.(?:batch|extern|interactive|\d+))?$")


def table(raw: Raw, form: tuple[str, ...]) -> Outcome:
    names: tuple[str, ...] | None = None
    jobs: list[SlurmJob] = []
    odd: list[OddLine] = []
    for n, line, cells, mark in _lines(raw, form):
        heads = tuple(slurm.name_of(c) for c in cells)
        if _is_heading(heads):
            names = tuple(h for h in heads if h or mark)
            continue
        job = _row(n, cells, mark, names, form)
        if job is not None:
            jobs.append(job)
        # bytes that are no text stand in the row: it counts, and is not fully understood
        if ("\ufffd" in line) if job is not None else (jobs or names):
            odd.append(OddLine(line=n, text=safe_line(line, limit=200)))
    if not raw.complete:
        odd.append(raw.odd(len(raw.lines)))
    if not jobs and names is not None and len(odd) == 0:
        return Empty("a heading and no jobs")
    if not jobs and names is None:
        return raw.unparsable("no rows of jobs")
    return SlurmJobs(jobs=tuple(jobs), odd=tuple(odd))


def _is_heading(heads: tuple[str, ...]) -> bool:
    known = [h for h in heads if h in _HEADINGS]
    return bool({"JOBID", "JOBIDRAW"} & set(known)) and len(known) >= 2


def _lines(raw: Raw, form: tuple[str, ...]) -> Iterator[tuple[int, str, list[str], str | None]]:
    """(line, text, cells, separator); a record cut by newlines inside a cell is put together again."""
    width: int | None = None
    held: tuple[int, str] | None = None
    for n, line in raw.numbered():
        mark = slurm.separator(held[1] if held else line)
        mark = mark or ("," if re.match(r"^\d+,[A-Z_]+$", line.strip()) else None)
        if mark is None:
            yield n, line, line.split(), None
            continue
        if held and line.count(mark) + 1 >= (width or 0):
            # a whole record begins here: what was held was cut in another way
            yield held[0], held[1], slurm.cells(held[1], mark, width), mark
            held = None
        first, text = (held[0], held[1] + " " + line) if held else (n, line)
        cells = slurm.cells(text, mark, width or len(form))
        if width is None:
            width = len(cells)
            # without a heading the form asked for tells how wide a record is
            if _ID.match(cells[0]) and len(cells) < len(form) and mark == "|" and _fits(cells, form):
                width = len(form)
        if len(cells) < width and (_ID.match(cells[0]) or held or len(cells) > width // 2):
            held = (first, text)
            continue
        held = None
        yield first, text, cells, mark
    if held:
        mark = slurm.separator(held[1]) or "|"
        yield held[0], held[1], slurm.cells(held[1], mark, width), mark


def _fits(cells: list[str], form: tuple[str, ...]) -> bool:
    """True when the cells there are could be the first of the form's."""
    at = form.index("STATE") if "STATE" in form else None
    return at is not None and at < len(cells) and slurm.job_state(cells[at]) is not None


def _row(
    n: int, cells: list[str], mark: str | None, names: tuple[str, ...] | None, form: tuple[str, ...]
) -> SlurmJob | None:
    if mark is None:
        return _spaced(n, cells, names)
    if names is not None:
        return _made(n, dict(zip(names, cells, strict=True))) if len(cells) == len(names) else None
    if len(cells) > len(form) and form[-1] in ("REASON", "COMMENT"):
        wide = [*cells[: len(form) - 1], mark.join(cells[len(form) - 1 :])]
        if (job := _formed(n, wide, form)) is not None:
            return job
    if len(cells) == len(form) and (job := _formed(n, cells, form)) is not None:
        return job
    # the other commands of the family with their own forms, then cells known by their shape
    for other in (RUN, PENDING, SACCT, UTIL, START):
        if len(cells) == len(other) and (job := _formed(n, cells, other)) is not None:
            return job
    return _guessed(n, cells)


def _formed(n: int, cells: list[str], form: tuple[str, ...]) -> SlurmJob | None:
    cell = dict(zip(form, cells, strict=True))
    if not _ID.match(cells[0]):
        return None
    if "STATE" in cell and slurm.job_state(cell["STATE"]) is None:
        return None
    if form is PENDING and not (slurm.is_time(cell["SUBMITTIME"]) and slurm.is_time(cell["STARTTIME"])):
        return None
    if form is START and not slurm.is_time(cell["STARTTIME"]):
        return None
    return _made(n, cell)


def _spaced(n: int, cells: list[str], names: tuple[str, ...] | None) -> SlurmJob | None:
    """A row of blank-separated columns: job names and reasons may hold blanks, the state is the anchor."""
    if names is None:
        return _guessed(n, cells) if len(cells) > 3 else None
    if not cells or not _ID.match(cells[0]):
        return None
    anchor = next((names.index(s) for s in ("ST", "STATE") if s in names), None)
    if anchor is not None and "NAME" in names[:anchor] and len(cells) > len(names):
        found = [k for k in range(anchor, len(cells)) if slurm.job_state(cells[k])]
        extra = next((k - anchor for k in found), 0)
        at = names.index("NAME")
        cells = [*cells[:at], " ".join(cells[at : at + extra + 1]), *cells[at + extra + 1 :]]
    if len(cells) > len(names):
        cells = [*cells[: len(names) - 1], " ".join(cells[len(names) - 1 :])]
    return _made(n, dict(zip(names, cells, strict=True))) if len(cells) == len(names) else None


def _made(n: int, cell: dict[str, str]) -> SlurmJob | None:
    got = {_HEADINGS[h]: c for h, c in cell.items() if h in _HEADINGS}
    job_id = got.get("id") or got.get("raw_id") or ""
    if not _ID.match(job_id):
        return None
    state = slurm.job_state(got.get("state", ""))
    if got.get("state") and state is None:
        return None
    both = got.pop("nodes_or_reason", "")
    if both.startswith("("):
        got.setdefault("reason", both[1:].removesuffix(")"))
    elif both:
        got.setdefault("nodes", both)
    count = integer(got.get("node_count", ""))
    per_node = slurm.gpus(got.get("per_node"))
    elapsed = slurm.duration_s(got.get("elapsed"))
    return SlurmJob(
        line=n,
        id=job_id,
        raw_id=got.get("raw_id"),
        name=slurm.value(got.get("name")),
        state=state,
        partition=slurm.value(got.get("partition")),
        user=slurm.value(got.get("user")),
        account=slurm.value(got.get("account")),
        qos=slurm.value(got.get("qos")),
        priority=number(got.get("priority", "")),
        node_count=count,
        nodes=slurm.value(got.get("nodes")),
        tres=slurm.value(got.get("tres")) or slurm.value(got.get("per_node")),
        gpus=slurm.gpus(got.get("tres")) if "tres" in got else per_node * count if per_node and count else per_node,
        elapsed_s=number(got["elapsed_raw"]) if "elapsed_raw" in got else elapsed,
        left_s=slurm.duration_s(got.get("left")),
        limit_s=slurm.duration_s(got.get("limit")),
        submit=slurm.moment(got.get("submit")),
        start=slurm.moment(got.get("start")),
        end=slurm.moment(got.get("end")),
        reason=slurm.value(got.get("reason")),
        exit_code=slurm.value(got.get("exit_code")),
        failed_node=slurm.value(got.get("failed_node")),
        comment=slurm.value(got.get("comment")),
        planned_nodes=slurm.value(got.get("planned_nodes")),
    )


def _guessed(n: int, cells: list[str]) -> SlurmJob | None:
    """A row of columns nobody announced: what a cell is shows in its shape; without a state it is no job."""
    state = next((k for k, c in enumerate(cells) if c.split(" ")[0].isupper() and slurm.job_state(c)), None)
    ids = [c for c in cells if _ID.match(c)]
    leading = _ID.match(cells[0]) if cells else None
    job_id = cells[0] if leading else next((c for c in ids if len(c.split("_")[0].split(".")[0]) >= 5), None)
    # without a state column the durations of accounting tell that this is a job
    if job_id is None or (state is None and sum(slurm.duration_s(c) is not None for c in cells) < 2):
        return None
    tres = next((c for c in cells if re.match(r"(?:[\w/:]+=[\w.]+,)+[\w/:]+=[\w.]+$", c)), "")
    times = [c for c in cells if slurm.moment(c) and "T" in c]
    return _made(
        n,
        {
            "JOBID": job_id,
            **({"STATE": cells[state]} if state is not None else {}),
            **({"ALLOCTRES": tres} if tres else {}),
            **({"START": times[0]} if len(times) == 1 else {}),
            **({"EXITCODE": code} if (code := next((c for c in cells if re.fullmatch(r"\d+:\d+", c)), "")) else {}),
        },
    )
