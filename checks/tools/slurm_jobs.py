"""Jobs as Slurm sees them: `squeue`, `scontrol show job`, `sacct`, `sprio`; text, parsable and JSON.

88123|RUNNING|train|mlops|32|gres/gpu:8|1-04:12:09|5-19:47:51|gpu[001-032]

JobId=88123 JobName=pretrain UserId=mlops(5001) JobState=RUNNING Reason=None NodeList=gpu[001-032] NumNodes=32
"""

from __future__ import annotations

import re
from typing import Any

from checks.outputs import Empty, OddLine, Outcome, Raw, Unparsable
from checks.tools import slurm_text as slurm
from checks.tools.formats import find_line, integer, json_value, number
from checks.tools.slurm_job_tables import PENDING, PRIO, RUN, SACCT, START, UTIL, SlurmJob, SlurmJobs, table


def parse_squeue_run(raw: Raw) -> Outcome:
    """`squeue -h -t R,CG`: nothing printed means that nothing runs."""
    return Empty("no job runs") if raw.blank else _any(raw, RUN)


def parse_squeue_pd(raw: Raw) -> Outcome:
    """`squeue -h -t PD`: nothing printed means that nothing waits."""
    return Empty("no job waits") if raw.blank else _any(raw, PENDING)


def parse_squeue_json(raw: Raw) -> Outcome:
    """`squeue --json`, of any data_parser version; the text forms too."""
    return _any(raw, RUN)


def parse_sjob(raw: Raw) -> Outcome:
    """`scontrol show job`, on one line or many, with or without `-d`."""
    return _any(raw, RUN)


def parse_sacct_job(raw: Raw) -> Outcome:
    """`sacct -P`: twelve cells without a heading, or any columns below one."""
    return Empty("the database has no such job") if raw.blank else _any(raw, SACCT)


def parse_sacct_util(raw: Raw) -> Outcome:
    """`sacct -a -X -P` over a time: seven cells without a heading."""
    return Empty("no job in that time") if raw.blank else _any(raw, UTIL)


def parse_sprio(raw: Raw) -> Outcome:
    """`sprio -h`: job, user, priority and its parts."""
    return Empty("no job waits") if raw.blank else _any(raw, PRIO)


def parse_sstart(raw: Raw) -> Outcome:
    """`squeue --start`: when the backfill scheduler means to start a job, and where."""
    return Empty("no job waits") if raw.blank else _any(raw, START)


def _any(raw: Raw, form: tuple[str, ...]) -> Outcome:
    if any(re.match(r"\s*JobId=\d", line) for line in raw.lines):
        return _scontrol(raw)
    if any(re.match(r"\s*\{", line) for line in raw.lines):
        return _json(raw)
    if raw.lines and any("No jobs in the system" in line for line in raw.lines):
        return Empty("no jobs in the system")
    return table(raw, form)


# ---- scontrol show job


def _scontrol(raw: Raw) -> Outcome:
    found, strays = slurm.records(raw.numbered(), "JobId")
    # newer versions give the batch script or a hint after the record
    odd = [raw.odd(n) for n in strays if n > found[0].line]
    jobs = []
    for record in found:
        jobs.append(_of_record(record, raw))
        if jobs[-1].state is None:
            odd.append(OddLine(line=record.last, text="the record ends before the job's state"))
    if not raw.complete:
        odd.append(raw.odd(len(raw.lines)))
    return SlurmJobs(jobs=tuple(jobs), odd=tuple(odd))


def _of_record(record: slurm.Record, raw: Raw) -> SlurmJob:
    cell = record.values
    array, task = record.get("ArrayJobId"), record.get("ArrayTaskId")
    count = re.match(r"\d+", cell.get("NumNodes", ""))
    detail = tuple(
        found[1]
        for n in range(record.line, record.last + 1)
        if (found := re.search(r"\bNodes=\S+ CPU_IDs=\S* .*?\bGRES=(\S*)", raw.lines[n - 1]))
    )
    return SlurmJob(
        line=record.line,
        id=cell["JobId"].split(" ")[0],
        raw_id=f"{array}_{task}" if array and task else None,
        name=record.get("JobName", "Name"),
        state=slurm.job_state(cell.get("JobState", "")),
        partition=record.get("Partition"),
        user=re.sub(r"\(\d+\)$", "", record.get("UserId") or "") or None,
        account=record.get("Account"),
        qos=record.get("QOS"),
        priority=number(cell.get("Priority", "")),
        node_count=int(count[0]) if count else None,
        nodes=record.get("NodeList"),
        tres=record.get("AllocTRES", "ReqTRES", "TRES"),
        gpus=next((g for k in ("AllocTRES", "ReqTRES", "TRES") if (g := slurm.gpus(cell.get(k))) is not None), None),
        elapsed_s=slurm.duration_s(cell.get("RunTime")),
        limit_s=slurm.duration_s(cell.get("TimeLimit")),
        submit=slurm.moment(cell.get("SubmitTime")),
        start=slurm.moment(cell.get("StartTime")),
        end=slurm.moment(cell.get("EndTime")),
        reason=record.get("Reason"),
        exit_code=record.get("ExitCode"),
        comment=record.get("Comment"),
        planned_nodes=record.get("SchedNodeList"),
        restarts=integer(cell.get("Restarts", "")),
        switches=record.get("Switches"),
        std_out=record.get("StdOut"),
        gres_detail=detail,
    )


# ---- JSON


def _json(raw: Raw) -> Outcome:
    found = json_value(raw)
    if isinstance(found, Unparsable):
        return found
    document, start = found
    items = document.get("jobs") if isinstance(document, dict) else None
    if not isinstance(items, list):
        return Unparsable("JSON without a list of jobs", start)
    jobs: list[SlurmJob] = []
    odd: list[OddLine] = []
    at = start
    for item in items:
        job = _of_json(item, raw, at) if isinstance(item, dict) else None
        if job is None:
            odd.append(OddLine(line=at, text="an entry of `jobs` without an id or a state"))
            continue
        at = job.line
        jobs.append(job)
    if not jobs and not odd:
        return Empty("no jobs")
    return SlurmJobs(jobs=tuple(jobs), odd=tuple(odd))


def _text(item: Any) -> str | None:
    return slurm.value(item) if isinstance(item, str) else None


def _of_json(item: dict[str, Any], raw: Raw, at: int) -> SlurmJob | None:
    job_id = slurm.number_of(item.get("job_id"))
    state = item.get("job_state")
    if isinstance(item.get("state"), dict):
        state = item["state"].get("current")
    words = slurm.words_of(state)
    # several words: COMPLETING beside what the job ended as; the first is what it is
    known = slurm.job_state(words[0]) if words else None
    if job_id is None or known is None:
        return None
    time = item.get("time") if isinstance(item.get("time"), dict) else {}
    array = slurm.number_of(item.get("array_job_id"))
    task = slurm.number_of(item.get("array_task_id"))
    limit = slurm.number_of(item.get("time_limit"))
    tres = _text(item.get("tres_alloc_str")) or _text(item.get("tres_req_str"))
    count = slurm.number_of(item.get("node_count"))
    priority = slurm.number_of(item.get("priority"))
    restarts = slurm.number_of(item.get("restart_cnt"))
    assert isinstance(time, dict)
    return SlurmJob(
        line=find_line(raw, '"job_id"', str(int(job_id)), start=at),
        id=str(int(job_id)),
        raw_id=f"{int(array)}_{int(task)}" if array and task is not None else None,
        name=_text(item.get("name")),
        state=known,
        partition=_text(item.get("partition")),
        user=_text(item.get("user_name")) or _text(item.get("user")),
        account=_text(item.get("account")),
        qos=_text(item.get("qos")),
        priority=priority,
        node_count=int(count) if count is not None else None,
        nodes=_text(item.get("nodes")),
        tres=tres,
        gpus=slurm.gpus(tres),
        limit_s=limit * 60 if limit is not None else None,
        submit=slurm.epoch_of(item.get("submit_time", time.get("submission"))),
        start=slurm.epoch_of(item.get("start_time", time.get("start"))),
        end=slurm.epoch_of(item.get("end_time", time.get("end"))),
        elapsed_s=slurm.number_of(time.get("elapsed")),
        reason=_text(item.get("state_reason")),
        comment=_text(item.get("comment")) if isinstance(item.get("comment"), str) else None,
        failed_node=_text(item.get("failed_node")),
        restarts=int(restarts) if restarts is not None else None,
        std_out=_text(item.get("standard_output")),
    )
