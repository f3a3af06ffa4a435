"""Parsers of Slurm against recorded outputs: the facts that are true in each."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from checks.interpret import interpret
from checks.outputs import Empty, Facts, Output
from tests import corpus

CORPUS: dict[str, tuple[str, Any, Any]] = {
    "slurm-sinfo/cloud-power-suffixes": (
        "sinfo-N",
        lambda f: [r.nodes for r in f.rows if "powered_down" in r.states],
        ["d64dv4-[0006-0030]", "hb60rs-[0003-0030]"],
    ),
    "slurm-sinfo/dgx-1-alloc-8-idle": ("sinfo-N", lambda f: [r.count for r in f.rows], [1, 8]),
    "slurm-sinfo/fixed-width-255-columns": (
        "sinfo-N",
        lambda f: (
            sum(r.gpus for r in f.rows),
            sum(r.gpus_used for r in f.rows),
            [r.nodes for r in f.rows if r.drained],
        ),
        (80, 56, ["node2654"]),
    ),
    "slurm-sinfo/gpu-nodes-five-partitions-25.05": (
        "sinfo-N",
        lambda f: (f.of("a002").states, f.of("a005").gpus_used, len({r.nodes for r in f.rows})),
        (("drained", "not_responding"), 2, 6),
    ),
    "slurm-sinfo/gpu-partition-1-drain": ("sinfo-N", lambda f: [r.nodes for r in f.rows if r.drained], ["gpu-a27"]),
    "slurm-sinfo/gpu-total-h100-shard-cut": ("sinfo-N", lambda f: sum(r.count for r in f.rows), 75),
    "slurm-sinfo/ip-named-nodes": ("sinfo-N", lambda f: len(f.rows[0].names), 4),
    "slurm-sinfo/json-21.08": ("snodes", lambda f: [r.nodes for r in f.rows if r.down], ["cs5.example.company.com"]),
    "slurm-sinfo/ml-cluster-4-drain": ("sinfo-N", lambda f: [r.nodes for r in f.rows if r.drained], ["node-[0-3]"]),
    "slurm-sinfo/reasons-low-socket": ("sinfo-R", lambda f: (f.rows[0].nodes, f.rows[0].user), ("node1", "slurm")),
    "slurm-sinfo/reasons-reboot-issued": ("sinfo-R", lambda f: sum(len(r.names) for r in f.rows), 4),
    "slurm-sinfo/reservations-T": ("sres", lambda f: f.reservations[0].state, "INACTIVE"),
    "slurm-sinfo/rest-nodes-22.05-idle-plus-drain-flag": (
        "snodes",
        lambda f: {r.nodes: r.reason for r in f.rows if r.drained},
        {"naboo145": "Kill task failed", "naboo146": "Kill task failed"},
    ),
    "slurm-sinfo/sonar-node-states": (
        "sinfo-N",
        lambda f: [n for r in f.rows if r.drained for n in r.names],
        ["gpu-2", "gpu-4", "gpu-14"],
    ),
    "slurm-sinfo/states-down-drain-two-rows": (
        "sinfo-N",
        lambda f: [r.states for r in f.rows],
        [("down",), ("drain",)],
    ),
    "slurm-show-node/down-drain-not-responding": (
        "snodes",
        lambda f: (f.rows[0].states, f.rows[0].reason, f.rows[0].cpus_total),
        (("down", "drain"), "Not responding", 48),
    ),
    "slurm-show-node/idle-drain-kill-task-failed-h100": (
        "snodes",
        lambda f: (f.rows[0].gpus, f.rows[0].reason, f.rows[0].user),
        (6, "Kill task failed", "root"),
    ),
    "slurm-show-node/mixed-cloud-19.05": ("snodes", lambda f: f.rows[0].states, ("mixed", "cloud")),
    "slurm-show-node/oneliner-20-nodes-24.11": ("snodes", lambda f: sum(r.gpus or 0 for r in f.rows), 40),
    "slurm-show-node/oneliner-maintenance-planned": (
        "snodes",
        lambda f: [r.nodes for r in f.rows if r.drained],
        ["c1", "c4"],
    ),
    "slurm-show-node/oneliner-missing-blank": (
        "snodes",
        lambda f: (f.not_found, f.of("nid0005").states),
        (("invalid_node1", "invalid_node2"), ("allocated",)),
    ),
    "slurm-show-node/state-census-healthy": (
        "sinfo-N",
        lambda f: sum(r.count for r in f.rows if r.down or r.drained),
        74,
    ),
    "slurm-squeue/array-dependency": ("squeue-run", lambda f: [j.reason for j in f.jobs], [None, "Dependency"]),
    "slurm-squeue/json-21.08": ("squeue-json", lambda f: f.of("58948420").reason, "Dependency"),
    "slurm-squeue/long-format-unlimited": (
        "squeue-run",
        lambda f: (f.jobs[0].state, f.jobs[0].limit_s),
        ("RUNNING", None),
    ),
    "slurm-squeue/pipe-hash-separator": ("squeue-run", lambda f: f.of("42956774_3").gpus, 256),
    "slurm-squeue/reason-reserved-for-maintenance": (
        "sstart",
        lambda f: {j.reason for j in f.jobs},
        {"ReqNodeNotAvail, Reserved for maintenance"},
    ),
    "slurm-squeue/start-estimate-schednodes": (
        "sstart",
        lambda f: (f.jobs[0].planned_nodes, f.jobs[0].reason),
        ("r05c49", "Resources"),
    ),
    "slurm-squeue/tres-24.11": (
        "squeue-run",
        lambda f: Counter(j.state for j in f.jobs),
        {"RUNNING": 11, "PENDING": 4},
    ),
    "slurm-squeue/two-partitions-name-cut": ("squeue-run", lambda f: [j.state for j in f.jobs].count("PENDING"), 2),
    "slurm-squeue/vpenso-id-state": ("squeue-run", lambda f: Counter(j.state for j in f.jobs)["NODE_FAIL"], 1),
    "slurm-show-job/pending-priority-oneliner-old-tres-key": (
        "sjob",
        lambda f: [(j.name, j.reason) for j in f.jobs][2],
        ("OOD Code Server", "Priority"),
    ),
    "slurm-show-job/repeated-job-entry": ("sjob", lambda f: [j.id for j in f.jobs], ["30214", "30214"]),
    "slurm-show-job/running-all-8-gpus": ("sjob", lambda f: f.jobs[0].gres_detail, ("gpu:ampere:8(IDX:0-7)",)),
    "slurm-show-job/running-idx-0-3-of-8": ("sjob", lambda f: (f.jobs[0].gpus, f.jobs[0].nodes), (8, "node1751")),
    "slurm-show-job/running-no-gpus": ("sjob", lambda f: f.jobs[0].gres_detail, ("",)),
    "slurm-show-job/two-jobs-array-main-entry": ("sjob", lambda f: [j.id for j in f.jobs], ["30214", "31214"]),
    "slurm-sacct/68-steps-completed": ("sacct-job", lambda f: Counter(j.state for j in f.jobs), {"COMPLETED": 68}),
    "slurm-sacct/efficiency-steps-units": ("sacct-job", lambda f: Counter(j.step for j in f.jobs), {True: 7, False: 5}),
    "slurm-sacct/embedded-newlines-many-rows": ("sacct-job", lambda f: len(f.jobs), 6),
    "slurm-sacct/invalid-utf8": ("sacct-job", lambda f: (len(f.jobs), len(f.odd)), (11, 1)),
    "slurm-sacct/row-cut-at-front": ("sacct-job", lambda f: (len(f.jobs), len(f.odd)), (0, 1)),
    "slurm-sacct/sonar-mixed-states": ("sacct-job", lambda f: Counter(j.state for j in f.jobs)["OUT_OF_MEMORY"], 2),
    "slurm-sched/sdiag-2017-backlog": (
        "sdiag",
        lambda f: (f.server_threads, f.queue_length, f.bf_cycle_last_us, f.bf_cycle_max_us),
        (3, 57011, 1942890, 5933334),
    ),
    "slurm-sched/sdiag-json-23.02": (
        "sdiag",
        lambda f: (f.dbd_queue, f.jobs_pending, f.bf_cycle_mean_us),
        (5, 13455, 2382553),
    ),
    "slurm-sched/sdiag-json-24.05": ("sdiag", lambda f: (f.server_threads, f.dbd_queue), (2, 0)),
    "slurm-sched/sreport-utilization-hourper": ("sreport-util", lambda f: (f.allocated, f.planned), (40.56, 46.21)),
    "slurm-sched/sreport-utilization-minutes": ("sreport-util", lambda f: (f.idle, f.percent), (25023, False)),
    "slurm-config/show-config": (
        "sconfig",
        lambda f: (f.values["ClusterName"], f.seconds("BatchStartTimeout"), f.values["GresTypes"], f.odd),
        ("cluster_name", 300, "gpu", ()),
    ),
}


@pytest.mark.parametrize("entry_id", CORPUS)
def test_a_recorded_output_has_the_facts_that_are_true_in_it(entry_id: str) -> None:
    command, fact, expected = CORPUS[entry_id]
    found = interpret(Output("n", command, (), 1, corpus.data(entry_id)))
    assert isinstance(found, Facts), found
    assert fact(found) == expected


@pytest.mark.parametrize(
    ("entry_id", "command"),
    [("slurm-sinfo/reasons-none", "sinfo-R"), ("slurm-config/reservation-none", "sres")],
)
def test_nothing_to_report_is_an_answer(entry_id: str, command: str) -> None:
    assert isinstance(interpret(Output("n", command, (), 1, corpus.data(entry_id))), Empty)
