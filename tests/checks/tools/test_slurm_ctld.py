"""Parsers of the Slurm controller and of slurmd; texts of other tools are taken by none of Slurm's parsers."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from checks.outputs import Empty, Raw, Unparsable
from checks.tools.slurm_config import Config, Reservations, Topology, Utilisation
from checks.tools.slurm_ctld import (
    Diag,
    Ping,
    parse_sconfig,
    parse_sdiag,
    parse_slurm_ping,
    parse_slurmctld_log,
    parse_sreport_util,
    parse_sres,
    parse_stopo,
)
from checks.tools.slurm_events import parse_node_events
from checks.tools.slurm_jobs import (
    parse_sacct_job,
    parse_sjob,
    parse_squeue_json,
    parse_squeue_pd,
    parse_squeue_run,
)
from checks.tools.slurm_log import CtldLog
from checks.tools.slurm_nodes import parse_sinfo_N, parse_sinfo_R, parse_snodes
from checks.tools.slurmd import SlurmdAlive, SlurmdSelf, parse_slurmd_alive, parse_slurmd_self


def test_ping_old_new_and_json() -> None:
    for text, ups in (
        ("Slurmctld(primary) at head01 is UP\nSlurmctld(backup) at head02 is DOWN\n", [True, False]),
        ("Slurmctld(primary/backup) at head01/head02 are UP/DOWN\n", [True, False]),
        ('{"pings": [{"hostname": "head01", "pinged": "UP", "mode": "primary"}]}\n', [True]),
    ):
        found = parse_slurm_ping(Raw.of(text))
        assert isinstance(found, Ping)
        assert [c.up for c in found.controllers] == ups


DIAG = """*******************************************************
sdiag output at Wed Mar 04 02:30:00 2026
Server thread count:  4
Agent queue size:     1
DBD Agent queue size: 12

Main schedule statistics (microseconds):
	Last cycle:   1200
	Max cycle:    90000
	Mean cycle:   1300
	Last queue length: 7

Backfilling stats
	Last cycle: 2000
	Mean cycle: 2500
	Last queue length: 9

Remote Procedure Call statistics by message type
	REQUEST_PARTITION_INFO                  ( 2009) count:3011   ave_time:142    total_time:427562
Remote Procedure Call statistics by user
	monitor         (     997) count:2900   ave_time:142    total_time:411800
"""


def test_sdiag_keeps_main_and_backfill_apart() -> None:
    found = parse_sdiag(Raw.of(DIAG))
    assert isinstance(found, Diag)
    assert (found.cycle_mean_us, found.bf_cycle_mean_us) == (1300, 2500)
    assert (found.queue_length, found.bf_queue_length, found.dbd_queue) == (7, 9, 12)
    assert found.by_user[0].name == "monitor"
    assert found.odd == ()


def test_a_cut_sdiag_is_doubted() -> None:
    found = parse_sdiag(Raw.of("\n".join(DIAG.split("\n")[:8])))
    assert isinstance(found, Diag)
    assert found.odd


def test_sdiag_json_takes_plain_and_wrapped_numbers() -> None:
    data = {"server_thread_count": 3, "dbd_agent_queue_size": {"set": True, "number": 5}, "schedule_cycle_mean": 10}
    found = parse_sdiag(Raw.of(json.dumps({"statistics": data}, indent=1)))
    assert isinstance(found, Diag)
    assert (found.server_threads, found.dbd_queue, found.cycle_mean_us) == (3, 5, 10)


def test_configuration_with_times() -> None:
    text = (
        "Configuration data as of 2026-03-04T02:30:00\n"
        "ClusterName             = c\n"
        "SlurmdTimeout           = 600 sec\n"
        "SlurmctldHost[0]        = head01\n"
    )
    found = parse_sconfig(Raw.of(text))
    assert isinstance(found, Config)
    assert found.seconds("SlurmdTimeout") == 600
    assert found.odd == ()


def test_reservations_as_records_table_and_none() -> None:
    record = "ReservationName=maint StartTime=2026-03-10T08:00:00 EndTime=2026-03-10T18:00:00 Nodes=n[01-04]\n"
    table = (
        "RESV_NAME STATE START_TIME END_TIME DURATION NODELIST\n"
        "maint INACTIVE 2026-03-10T08:00:00 2026-03-10T18:00:00 10:00:00 n[01-04]\n"
    )
    for text in (record, table):
        found = parse_sres(Raw.of(text))
        assert isinstance(found, Reservations)
        assert (found.reservations[0].name, found.reservations[0].nodes) == ("maint", "n[01-04]")
    assert isinstance(parse_sres(Raw.of("No reservations in the system\n")), Empty)


def test_topology_gives_the_leaf_of_each_node() -> None:
    text = (
        "SwitchName=leaf01 Level=0 LinkSpeed=1 Nodes=n[01-02]\n"
        "SwitchName=top Level=1 LinkSpeed=1 Nodes=n[01-02] Switches=leaf01\n"
    )
    found = parse_stopo(Raw.of(text))
    assert isinstance(found, Topology)
    assert found.leaf_of() == {"n01": "leaf01", "n02": "leaf01"}
    assert isinstance(parse_stopo(Raw.of("")), Empty)


def test_utilisation_in_percent_and_minutes() -> None:
    found = parse_sreport_util(Raw.of("c|81.20%|1.10%|0.00%|12.00%|5.70%|100.00%\n"))
    assert isinstance(found, Utilisation)
    assert (found.allocated, found.down, found.percent) == (81.2, 1.1, True)


LOG = """2026-03-04T02:10:14+0000 head01 slurmctld[2211]: error: Nodes n[01-04] not responding
2026-03-04T02:14:04+0000 head01 slurmctld[2211]: error: Nodes n[01-04] not responding, setting DOWN
2026-03-04T02:14:08+0000 head01 slurmctld[2211]: Killing JobId=881 on failed node n01
2026-03-04T02:15:00+0000 head01 slurmctld[2211]: error: Munge decode failed: Rewound credential
2026-03-04T02:16:00+0000 head01 slurmctld[2211]: Node n02 now responding
2026-03-04T02:17:00+0000 head01 slurmctld[2211]: sched: Allocate JobId=890 NodeList=n09 #CPUs=96 Partition=train
"""


def test_the_log_tells_events_with_nodes_jobs_and_times() -> None:
    found = parse_slurmctld_log(Raw.of(LOG))
    assert isinstance(found, CtldLog)
    assert [e.kind for e in found.events] == ["not-responding", "set-down", "killed", "credential", "responding"]
    assert found.events[1].names == ("n01", "n02", "n03", "n04")
    assert found.events[2].job == "881"
    assert found.events[0].at == datetime(2026, 3, 4, 2, 10, 14, tzinfo=UTC)
    assert found.lines_read == 6


def test_the_log_file_of_slurmctld_has_times_in_brackets() -> None:
    found = parse_slurmctld_log(Raw.of("[2026-03-04T02:14:08.114] error: Nodes n[01-04] not responding, setting DOWN"))
    assert isinstance(found, CtldLog)
    assert found.events[0].at == datetime(2026, 3, 4, 2, 14, 8, 114000)


def test_an_empty_journal_and_the_log_of_another_service() -> None:
    assert isinstance(parse_slurmctld_log(Raw.of("-- No entries --\n")), Empty)
    assert isinstance(parse_slurmctld_log(Raw.of("2026-03-04T02:10:14+0000 n01 kernel: x\n")), Unparsable)


def test_slurmd_says_what_it_would_register() -> None:
    text = "NodeName=n01 CPUs=96 Boards=1 SocketsPerBoard=2 RealMemory=515000 Gres=gpu:h100:8\nUpTime=12-03:14:15\n"
    found = parse_slurmd_self(Raw.of(text))
    assert isinstance(found, SlurmdSelf)
    assert (found.cpus, found.memory_mib, found.gpus, found.odd) == (96, 515000, 8, ())


def test_slurmd_says_when_it_last_heard_of_the_controller() -> None:
    text = (
        "Active Steps             = NONE\n"
        "Boot time                = 2026-02-19T07:41:00\n"
        "Slurmd PID               = 2100\n"
        "Last slurmctld msg time  = 2026-03-04T02:08:41\n"
    )
    found = parse_slurmd_alive(Raw.of(text))
    assert isinstance(found, SlurmdAlive)
    assert found.last_message == datetime(2026, 3, 4, 2, 8, 41)


PARSERS = (
    parse_sinfo_N, parse_sinfo_R, parse_snodes, parse_node_events, parse_squeue_run, parse_squeue_pd, parse_squeue_json,
    parse_sjob, parse_sacct_job, parse_slurm_ping, parse_sdiag, parse_sconfig, parse_sres, parse_stopo,
    parse_slurmctld_log, parse_sreport_util, parse_slurmd_self, parse_slurmd_alive,
)  # fmt: skip


@pytest.mark.parametrize("parse", PARSERS)
@pytest.mark.parametrize(
    "text",
    [
        "Index, Utilization\n0, 95\n1, 96\n",
        "eth0: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 1500\n        inet 10.0.0.1  netmask 255.255.255.0\n",
        "Filesystem 1K-blocks Used Available Use% Mounted on\n/dev/sda1 100 50 50 50% /\n",
        '{"lldp": {"interface": []}}\n',
        "\x00\x01\x02\xff{[}]|||=\n",
        "[" * 3000,
    ],
)
def test_texts_of_other_tools_are_no_answer(parse: object, text: str) -> None:
    outcome = parse(Raw.of(text))  # type: ignore[operator]
    assert isinstance(outcome, Unparsable)
