"""Parsers of Slurm: every form of its commands, odd lines, cut outputs, texts of other tools."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from checks.outputs import Empty, Raw, Unparsable
from checks.tools import slurm_text as slurm
from checks.tools.slurm_events import NodeEvents, parse_node_events
from checks.tools.slurm_job_tables import SlurmJobs
from checks.tools.slurm_jobs import (
    parse_sacct_job,
    parse_sjob,
    parse_squeue_json,
    parse_squeue_pd,
    parse_squeue_run,
    parse_sstart,
)
from checks.tools.slurm_nodes import SlurmNodes, parse_sinfo_N, parse_sinfo_R, parse_snodes

SINFO = (
    "n01|allocated|none|Unknown|Unknown|96/0/0/96|gpu:h100:8(S:0-1)|hopper\n"
    "n02|drained*|NHC: disk|full|1772590205|root|0/0/96/96|gpu:h100:8|hopper\n"
)


def nodes(outcome: object) -> SlurmNodes:
    assert isinstance(outcome, SlurmNodes)
    return outcome


def jobs(outcome: object) -> SlurmJobs:
    assert isinstance(outcome, SlurmJobs)
    return outcome


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("DOWN*+DRAIN", ("down", "drain", "not_responding")),
        ("idle~", ("idle", "powered_down")),
        ("drng@", ("draining", "reboot_requested")),
        ("Nagios", ()),
    ],
)
def test_a_node_state_is_words_and_flags(text: str, words: tuple[str, ...]) -> None:
    assert slurm.node_states(text) == words


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("gpu:a800:8(S:0-1)", 8),
        ("gpu:a:2(S:0),gpu:b:3(S:0-1,2)", 5),
        ("gpu_mem:40960,gpu:1", 1),
        ("cpu=8,gres/gpu=16,gres/gpu:a800=16", 16),
        ("mps:400", None),
        ("(null)", None),
    ],
)
def test_gpus_are_counted_once_and_other_resources_never(text: str, count: int | None) -> None:
    assert slurm.gpus(text) == count


def test_a_duration_may_have_days_or_lack_hours() -> None:
    assert slurm.duration_s("1-02:00:01") == 93601
    assert slurm.duration_s("5:43") == 343
    assert slurm.duration_s("UNLIMITED") is None


def test_sinfo_reads_a_reason_that_holds_the_separator() -> None:
    found = nodes(parse_sinfo_N(Raw.of(SINFO)))
    assert [r.down for r in found.rows] == [False, True]
    second = found.rows[1]
    assert (second.reason, second.user, second.drained) == ("NHC: disk|full", "root", True)
    assert second.since == datetime(2026, 3, 4, 2, 10, 5, tzinfo=UTC)
    assert found.rows[0].cpus == (96, 0, 0, 96)
    assert found.rows[0].gpus == 8
    assert found.odd == ()


def test_sinfo_takes_a_heading_a_banner_and_carriage_returns() -> None:
    text = "Welcome to the cluster\n\nNODELIST|STATE|REASON|TIMESTAMP|USER|CPUS(A/I/O/T)|GRES|AVAIL_FEATURES\n" + SINFO
    found = nodes(parse_sinfo_N(Raw.of(text.replace("\n", "\r\n").replace("disk|full", "disk full"))))
    assert [r.nodes for r in found.rows] == ["n01", "n02"]
    assert found.rows[1].line == 5


def test_a_cut_list_of_nodes_is_doubted() -> None:
    assert nodes(parse_sinfo_N(Raw.of(SINFO[:-30]))).odd != ()


def test_plain_sinfo_gives_node_sets() -> None:
    text = (
        "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n"
        "train*       up   infinite      2  down* n[03-04]\n"
        "train*       up   infinite      1    mix n01\n"
    )
    found = nodes(parse_sinfo_N(Raw.of(text)))
    assert [(r.partition, r.count, r.names) for r in found.rows] == [
        ("train", 2, ("n03", "n04")),
        ("train", 1, ("n01",)),
    ]
    assert found.of("n04") is found.rows[0]


def test_long_sinfo_keeps_a_reason_of_several_words() -> None:
    text = (
        "Wed Mar 04 02:30:00 2026\n"
        "NODELIST   NODES PARTITION       STATE CPUS    S:C:T MEMORY TMP_DISK WEIGHT AVAIL_FE REASON\n"
        "n02            1    train*     drained   96   2:48:1 515000        0      1   hopper Kill task failed\n"
    )
    found = nodes(parse_sinfo_N(Raw.of(text)))
    assert [(r.reason, r.memory_mib) for r in found.rows] == [("Kill task failed", 515000)]


def test_sinfo_R_in_columns_and_parsable() -> None:
    table = (
        "REASON               USER      TIMESTAMP           NODELIST\n"
        "Kill task failed     root      2026-03-01T11:45:44 n[05-06]\n"
    )
    for text in (table, "Kill task failed|root|2026-03-01T11:45:44|n[05-06]\n"):
        row = nodes(parse_sinfo_R(Raw.of(text))).rows[0]
        assert (row.reason, row.user, row.names) == ("Kill task failed", "root", ("n05", "n06"))


def test_no_reasons_is_an_answer() -> None:
    assert isinstance(parse_sinfo_R(Raw.of("")), Empty)
    assert isinstance(parse_sinfo_R(Raw.of(" REASON  USER  TIMESTAMP  NODELIST\n")), Empty)


def test_show_node_on_many_lines() -> None:
    text = (
        "NodeName=n02 Arch=x86_64 CoresPerSocket=48\n"
        "   CPUAlloc=0 CPUTot=96 CPULoad=0.10\n"
        "   Gres=gpu:h100:8\n"
        "   NodeAddr=n02NodeHostName=n02 Version=23.02.7\n"
        "   OS=Linux 5.15.0-113-generic #123-Ubuntu SMP Mon Jun 10\n"
        "   RealMemory=515000 AllocMem=0 State=IDLE+DRAIN ThreadsPerCore=1\n"
        "   AllocTRES=\n"
        "   Reason=gres/gpu count reported lower than configured (7 < 8) [slurm@2026-03-04T02:10:05]\n"
    )
    row = nodes(parse_snodes(Raw.of(text))).rows[0]
    assert row.states == ("idle", "drain")
    assert row.reason == "gres/gpu count reported lower than configured (7 < 8)"
    assert (row.gpus, row.gpus_used, row.memory_mib, row.reason_line, row.version) == (8, 0, 515000, 8, "23.02.7")


def test_show_node_names_who_was_not_found() -> None:
    text = "NodeName=n01 CPUAlloc=0 CPUTot=8 State=IDLE RealMemory=100\nNode n99 not found\n"
    assert nodes(parse_snodes(Raw.of(text))).not_found == ("n99",)


@pytest.mark.parametrize(
    "state",
    [{"state": "idle", "state_flags": ["DRAIN"]}, {"state": ["IDLE", "DRAIN"]}],
)
def test_json_of_old_and_new_versions(state: dict[str, object]) -> None:
    changed: object = 1772590205 if "state_flags" in state else {"set": True, "infinite": False, "number": 1772590205}
    item = {"name": "n02", **state, "reason": "Kill task failed", "reason_changed_at": changed, "gres": "gpu:h100:8"}
    found = nodes(parse_snodes(Raw.of(json.dumps({"nodes": [item]}, indent=1) + "\n")))
    row = found.rows[0]
    assert (row.states, row.reason, row.gpus) == (("idle", "drain"), "Kill task failed", 8)
    assert row.since == datetime(2026, 3, 4, 2, 10, 5, tzinfo=UTC)


def test_json_of_sinfo_groups_nodes() -> None:
    item = {
        "node": {"state": ["DOWN", "NOT_RESPONDING"]},
        "nodes": {"nodes": ["n03", "n04"]},
        "gres": {"total": "gpu:8"},
    }
    row = nodes(parse_sinfo_N(Raw.of(json.dumps({"sinfo": [item]})))).rows[0]
    assert (row.names, row.down, row.gpus) == (("n03", "n04"), True, 8)


def test_events_of_nodes() -> None:
    text = (
        "n01|2026-02-01T10:00:00|2026-02-01T12:00:00|02:00:00|DRAINED|bad|DIMM|root(0)\n"
        "n02|1772590205|Unknown|00:19:55|DOWN*|Not responding|slurm(64030)\n"
        "|2026-02-01T10:00:00|Unknown|30-00:00:00||Cluster Registered TRES|slurm(64030)\n"
    )
    found = parse_node_events(Raw.of(text))
    assert isinstance(found, NodeEvents)
    first, second = found.events
    assert (first.reason, first.lost, first.duration_s) == ("bad|DIMM", False, 7200)
    assert (second.lost, second.end, second.user) == (True, None, "slurm")
    assert found.odd == ()


def test_no_event_is_an_answer_and_a_log_is_none() -> None:
    assert isinstance(parse_node_events(Raw.of("")), Empty)
    assert isinstance(parse_node_events(Raw.of("Mar  4 02:10:05 n01 kernel: eth0: link down\n")), Unparsable)


# ---- jobs


def test_running_jobs() -> None:
    text = (
        "881|RUNNING|train|ml|4|gres/gpu:8|1-04:12:09|5-19:47:51|n[01-04]\n"
        "882|COMPLETING|train|ml|1|gres/gpu:1|5:01|1:00|n05\n"
    )
    first, second = jobs(parse_squeue_run(Raw.of(text))).jobs
    assert (first.gpus, first.node_list, first.elapsed_s) == (32, ("n01", "n02", "n03", "n04"), 101529)
    assert second.state == "COMPLETING"


def test_pending_jobs_keep_a_long_reason() -> None:
    reason = "(Nodes required for job are DOWN, DRAINED|reserved)"
    text = f"883_[1-4%2]|train|ml|lab|normal|1042|64|gres/gpu:8|7-00:00:00|2026-03-03T10:00:00|N/A|{reason}\n"
    job = jobs(parse_squeue_pd(Raw.of(text))).jobs[0]
    assert (job.reason, job.node_count, job.start, job.limit_s) == (reason, 64, None, 604800)


def test_no_job_is_an_answer() -> None:
    assert isinstance(parse_squeue_run(Raw.of("")), Empty)
    assert isinstance(
        parse_squeue_run(
            Raw.of("             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n")
        ),
        Empty,
    )


def test_plain_squeue_with_a_blank_in_the_name() -> None:
    text = (
        "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n"
        "               884     train my run 1       ml PD       0:00     64 (Resources)\n"
        "               885     train     eval       ml  R      10:00      1 n07\n"
    )
    first, second = jobs(parse_squeue_run(Raw.of(text))).jobs
    assert (first.name, first.state, first.reason) == ("my run 1", "PENDING", "Resources")
    assert (second.nodes, second.elapsed_s) == ("n07", 600)


def test_planned_starts() -> None:
    job = jobs(parse_sstart(Raw.of("886|2026-03-05T01:00:00|n[01-04]|Resources\n"))).jobs[0]
    assert (job.planned_nodes, job.reason) == ("n[01-04]", "Resources")


def test_show_job_with_details() -> None:
    text = (
        "JobId=887 ArrayJobId=880 ArrayTaskId=7 JobName=my run\n"
        "   UserId=ml(1000) JobState=RUNNING Reason=None Restarts=2\n"
        "   RunTime=00:10:00 TimeLimit=1-00:00:00\n"
        "   NodeList=n07 NumNodes=1-1 AllocTRES=cpu=96,gres/gpu=8\n"
        "     Nodes=n07 CPU_IDs=0-95 Mem=0 GRES=gpu:h100:8(IDX:0-3)\n"
        "   StdOut=/home/ml/887.out\n"
    )
    job = jobs(parse_sjob(Raw.of(text))).jobs[0]
    assert (job.name, job.raw_id, job.user, job.gpus, job.restarts) == ("my run", "880_7", "ml", 8, 2)
    assert job.gres_detail == ("gpu:h100:8(IDX:0-3)",)


def test_json_of_jobs() -> None:
    item = {
        "job_id": 888,
        "job_state": ["PENDING"],
        "state_reason": "Priority",
        "node_count": {"set": True, "number": 4},
    }
    job = jobs(parse_squeue_json(Raw.of(json.dumps({"jobs": [item]})))).jobs[0]
    assert (job.state, job.reason, job.node_count) == ("PENDING", "Priority", 4)
    assert isinstance(parse_squeue_json(Raw.of('{"jobs": []}\n')), Empty)
    assert isinstance(parse_squeue_json(Raw.of('{"jobs": [{"job_id": 1,\n')), Unparsable)


SACCT = "889|run|NODE_FAIL|0:1|0:0|2026-03-03T00:00:00|2026-03-04T02:14:08|1-02:14:08|n[01-04]|cpu=4,gres/gpu=32|n03|a "


def test_sacct_puts_a_comment_of_two_lines_together() -> None:
    text = "890|run|COMPLETED|0:0|0:0|2026-03-03T00:00:00|2026-03-03T01:00:00|01:00:00|n01|cpu=4|None assigned|\n"
    found = jobs(parse_sacct_job(Raw.of(text + SACCT.replace("|n03|a ", "|n03\n|note\n"))))
    assert [(j.state, j.gpus) for j in found.jobs] == [("COMPLETED", None), ("NODE_FAIL", 32)]


def test_sacct_below_a_heading_of_any_columns() -> None:
    text = "JobID|State|User|NodeList\n889|CANCELLED by 1000|ml|n01\n889.batch|CANCELLED||n01\n"
    first, second = jobs(parse_sacct_job(Raw.of(text))).jobs
    assert first.state == "CANCELLED by 1000"
    assert second.step


def test_bytes_that_are_no_text_make_a_row_doubtful() -> None:
    raw = Raw.of(b"JobID|State|JobName\n889|FAILED|\xffx\n")
    found = jobs(parse_sacct_job(raw))
    assert (found.jobs[0].state, len(found.odd)) == ("FAILED", 1)
