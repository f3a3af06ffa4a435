"""Writes what the scheduler host prints: nodes, jobs, the controller's load, log, configuration, topology."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from checks.nodesets import fold
from checks.plan import HISTORY
from sample_clusters.make.spec import START, Spec, Writer, taken_at

HEAD = "head01"
JOB = "88123"
SLURMD_TIMEOUT_S = 300


@dataclass(frozen=True)
class Job:
    """A job on some GPU nodes; `lost` is when the scheduler ended it."""

    id: str
    nodes: list[str]
    started: datetime
    lost: datetime | None = None

    def left(self, now: datetime) -> str:
        """What is left of the limit of a week."""
        return _span(timedelta(days=7) - (now - self.started))


def lost_nodes(spec: Spec) -> list[str]:
    """The nodes whose heartbeats stopped: those under the switch that was upgraded."""
    return spec.under("leaf02") if spec.story == "heartbeat-loss" else []


def jobs(spec: Spec) -> list[Job]:
    """The training job on all nodes; where nodes were lost, theirs ended and the others run on."""
    started = START - timedelta(days=1, hours=4, minutes=11, seconds=8)
    lost = lost_nodes(spec)
    if not lost:
        return [Job(JOB, spec.gpu_nodes, started)]
    at = START - timedelta(minutes=15, seconds=52)
    rest = [n for n in spec.gpu_nodes if n not in lost]
    return [
        Job(JOB, lost[:12], started, at),
        Job("88130", lost[12:], started + timedelta(hours=3), at + timedelta(seconds=4)),
        Job("88119", rest[:16], started - timedelta(hours=9)),
        Job("88125", rest[16:], started + timedelta(hours=1)),
    ]


def write(spec: Spec, out: Writer, round: int) -> None:
    """All outputs of the scheduler in a round; what never changes only in the first."""
    now = taken_at(round)
    lost = lost_nodes(spec)
    down_at = START - timedelta(minutes=15, seconds=56)
    out.put(round, HEAD, "slurm-ping", f"Slurmctld(primary) at {HEAD} is UP\n")
    out.put(round, HEAD, "sinfo-N", "".join(_sinfo(spec, n, n in lost, down_at) for n in spec.gpu_nodes))
    reasons = f"Not responding|slurm|{_iso(down_at)}|{fold(lost)}\n" if lost else ""
    out.put(round, HEAD, "sinfo-R", reasons)
    running = [j for j in jobs(spec) if j.lost is None]
    out.put(round, HEAD, "squeue-run", "".join(_squeue(j, now) for j in running))
    out.put(round, HEAD, "squeue-pd", "")
    for job in jobs(spec):
        out.put(round, HEAD, "sjob", _sjob(spec, job, now), job.id)
        out.put(round, HEAD, "sacct-job", _sacct(spec, job, now), job.id)
    out.put(round, HEAD, "sdiag", _sdiag(spec, round))
    out.put(round, HEAD, "slurmctld-log", _log(spec, now))
    out.put(round, HEAD, "node-events", _events(spec, now, down_at), HISTORY)
    if round == 1:
        out.put(1, HEAD, "sconfig", _config(spec))
        out.put(1, HEAD, "stopo", _topology(spec))
        out.put(1, HEAD, "sres", "No reservations in the system\n")


def _iso(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%S}"


def _span(span: timedelta) -> str:
    seconds = int(span.total_seconds())
    days, rest = divmod(seconds, 86400)
    clock = f"{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"
    return f"{days}-{clock}" if days else clock


def _sinfo(spec: Spec, node: str, lost: bool, since: datetime) -> str:
    gres = f"gpu:{spec.gpu.lower()}:8"
    if lost:
        return f"{node}|down*|Not responding|{_iso(since)}|slurm|0/0/{spec.cores}/{spec.cores}|{gres}|train\n"
    return f"{node}|allocated|none|Unknown|Unknown|{spec.cores}/0/0/{spec.cores}|{gres}|train\n"


def _squeue(job: Job, now: datetime) -> str:
    cells = (job.id, "RUNNING", "train", "mlops", len(job.nodes), "gres/gpu:8", _span(now - job.started))
    return "|".join(map(str, (*cells, job.left(now), fold(job.nodes)))) + "\n"


def _tres(spec: Spec, job: Job) -> str:
    n = len(job.nodes)
    return f"cpu={spec.cores * n},mem={spec.memory_gib * n}G,node={n},billing={spec.cores * n},gres/gpu={8 * n}"


def _sjob(spec: Spec, job: Job, now: datetime) -> str:
    n = len(job.nodes)
    state, reason, code = ("NODE_FAIL", "NodeDown", "0:1") if job.lost else ("RUNNING", "None", "0:0")
    end = job.lost or job.started + timedelta(days=7)
    return (
        f"JobId={job.id} JobName=pretrain UserId=mlops(5001) GroupId=mlops(5001) MCS_label=N/A Priority=104217 Nice=0 "
        f"Account=foundation QOS=normal JobState={state} Reason={reason} Dependency=(null) Requeue=0 Restarts=0 "
        f"BatchFlag=1 Reboot=0 ExitCode={code} RunTime={_span((job.lost or now) - job.started)} "
        f"TimeLimit=7-00:00:00 TimeMin=N/A SubmitTime={_iso(job.started - timedelta(seconds=41))} "
        f"EligibleTime={_iso(job.started - timedelta(seconds=41))} StartTime={_iso(job.started)} EndTime={_iso(end)} "
        f"Deadline=N/A Partition=train AllocNode:Sid=login01:31377 ReqNodeList=(null) ExcNodeList=(null) "
        f"NodeList={fold(job.nodes)} BatchHost={job.nodes[0]} NumNodes={n} NumCPUs={spec.cores * n} NumTasks={8 * n} "
        f"CPUs/Task={spec.cores // 8} ReqB:S:C:T=0:0:*:* ReqTRES={_tres(spec, job)} AllocTRES={_tres(spec, job)} "
        f"Socks/Node=* NtasksPerN:B:S:C=8:0:*:* CoreSpec=* MinCPUsNode={spec.cores} MinMemoryNode=0 "
        f"MinTmpDiskNode=0 Features=(null) DelayBoot=00:00:00 OverSubscribe=NO Contiguous=0 Licenses=(null) "
        f"Network=(null) Command=/home/mlops/pretrain.sbatch WorkDir=/home/mlops StdErr=/home/mlops/{job.id}.log "
        f"StdIn=/dev/null StdOut=/home/mlops/{job.id}.log TresPerNode=gres/gpu:8\n"
    )


def _sacct(spec: Spec, job: Job, now: datetime) -> str:
    state, end = ("NODE_FAIL", _iso(job.lost)) if job.lost else ("RUNNING", "Unknown")
    tail = f"{_iso(job.started)}|{end}|{_span((job.lost or now) - job.started)}|{fold(job.nodes)}|{_tres(spec, job)}"
    failed = job.nodes[0] if job.lost else "None assigned"
    steps = ("pretrain", job.id), ("batch", f"{job.id}.batch"), ("python3", f"{job.id}.0")
    return "".join(
        f"{step}|{name}|{state if '.' not in step or not job.lost else 'CANCELLED'}|0:0|0:0|{tail}|"
        f"{failed if '.' not in step else ''}|\n"
        for name, step in steps
    )


def _sdiag(spec: Spec, round: int) -> str:
    now = int(taken_at(round).timestamp())
    cycles = 1488 + round
    data: dict[str, Any] = {
        "parts_packed": 1,
        "req_time": now,
        "req_time_start": now - 9000,
        "server_thread_count": 3,
        "agent_queue_size": 0,
        "agent_count": 0,
        "agent_thread_count": 0,
        "dbd_agent_queue_size": 0,
        "gettimeofday_latency": 21,
        "schedule_cycle_max": 38211,
        "schedule_cycle_last": 1204 + 17 * round,
        "schedule_cycle_total": cycles,
        "schedule_cycle_mean": 1391,
        "schedule_cycle_mean_depth": 1,
        "schedule_cycle_per_minute": 1,
        "schedule_queue_length": 0,
        "jobs_submitted": 12,
        "jobs_started": 9,
        "jobs_completed": 8,
        "jobs_canceled": 1,
        "jobs_failed": 0,
        "jobs_pending": 0,
        "jobs_running": len([j for j in jobs(spec) if not j.lost]),
        "bf_cycle_counter": 297 + round,
        "bf_cycle_mean": 812,
        "bf_depth_mean": 1,
        "bf_cycle_last": 640,
        "bf_cycle_max": 9320,
        "bf_queue_len": 0,
        "bf_queue_len_mean": 1,
        "bf_active": False,
        "rpcs_by_message_type": [
            {
                "message_type": "REQUEST_PARTITION_INFO",
                "type_id": 2009,
                "count": 3011 + 20 * round,
                "average_time": 142,
                "total_time": 427562,
            },
            {
                "message_type": "MESSAGE_NODE_REGISTRATION_STATUS",
                "type_id": 1002,
                "count": 9 * spec.nodes,
                "average_time": 388,
                "total_time": 388 * 9 * spec.nodes,
            },
        ],
        "rpcs_by_user": [
            {"user": "root", "user_id": 0, "count": 9 * spec.nodes, "average_time": 388, "total_time": 390_118},
            {"user": "monitor", "user_id": 997, "count": 3011 + 20 * round, "average_time": 142, "total_time": 427_562},
        ],
    }
    meta = {"Slurm": {"version": {"major": 23, "micro": 7, "minor": 2}, "release": "23.02.7"}}
    return json.dumps({"meta": meta, "statistics": data, "errors": [], "warnings": []}, indent=4) + "\n"


def _log(spec: Spec, now: datetime) -> str:
    lines: list[tuple[float, str]] = [
        (-6_300.0, "sched: _slurm_rpc_allocate_resources JobId=88117 NodeList=(null) usec=1204"),
        (-6_288.0, "_slurm_rpc_complete_job_allocation: JobId=88117 error Job/step already completing or completed"),
        (-1_790.0, "SchedulerParameters=bf_window=10080,bf_continue"),
    ]
    if lost := lost_nodes(spec):
        names = fold(lost)
        lines += [
            (-1_186.0, f"error: Nodes {names} not responding"),
            (-1_066.0, f"error: Nodes {names} not responding"),
            (-956.0, f"error: Nodes {names} not responding, setting DOWN"),
        ]
        for job in (j for j in jobs(spec) if j.lost):
            after = (job.lost - START).total_seconds() if job.lost else 0.0
            lines.append((after, f"Killing JobId={job.id} on failed node {job.nodes[0]}"))
    stamped = ((START + timedelta(seconds=s), said) for s, said in sorted(lines))
    return "".join(f"{_iso(at)}+0000 {HEAD} slurmctld[2211]: {said}\n" for at, said in stamped if at <= now)


def _events(spec: Spec, now: datetime, down_at: datetime) -> str:
    rows = []
    for node, days, hours, reason in ((spec.gpu_nodes[2], 19, 3, "firmware"), (spec.gpu_nodes[-1], 11, 1, "DIMM swap")):
        begin = START - timedelta(days=days, hours=5)
        end = begin + timedelta(hours=hours, minutes=12)
        rows.append(f"{node}|{_iso(begin)}|{_iso(end)}|{_span(end - begin)}|DRAINED|{reason}|root(0)\n")
    for k, node in enumerate(lost_nodes(spec)):
        at = down_at + timedelta(seconds=k // 8)
        rows.append(f"{node}|{_iso(at)}|Unknown|{_span(now - at)}|DOWN*|Not responding|slurm(64030)\n")
    return "".join(rows)


def _config(spec: Spec) -> str:
    values = {
        "AuthInfo": "(null)",
        "AuthType": "auth/munge",
        "ClusterName": spec.name,
        "CompleteWait": "0 sec",
        "HealthCheckInterval": "300 sec",
        "HealthCheckNodeState": "ANY",
        "HealthCheckProgram": "/usr/sbin/nhc",
        "KillWait": "30 sec",
        "MaxDBDMsgs": "24012",
        "MessageTimeout": "10 sec",
        "ReturnToService": "0",
        "SchedulerParameters": "bf_window=10080,bf_continue",
        "SchedulerType": "sched/backfill",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_CORE_MEMORY",
        "SlurmctldHost[0]": HEAD,
        "SlurmctldTimeout": "120 sec",
        "SlurmdTimeout": f"{SLURMD_TIMEOUT_S} sec",
        "SLURM_VERSION": "23.02.7",
        "TopologyPlugin": "topology/tree",
        "UnkillableStepTimeout": "180 sec",
    }
    body = "".join(f"{key:<23} = {value}\n" for key, value in values.items())
    head = f"Configuration data as of {_iso(START)}\n"
    return f"{head}{body}\nSlurmctld(primary) at {HEAD} is UP\n"


def _topology(spec: Spec) -> str:
    leaves = "".join(f"SwitchName={leaf} Level=0 LinkSpeed=1 Nodes={fold(spec.under(leaf))}\n" for leaf in spec.leaves)
    top = "".join(
        f"SwitchName={spine} Level=1 LinkSpeed=1 Nodes={spec.gpu_set} Switches={fold(spec.leaves)}\n"
        for spine in spec.spines[:1]
    )
    return leaves + top
