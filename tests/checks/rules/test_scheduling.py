"""What is said of the scheduler: healthy, one thing wrong, something missing."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from checks import rules
from checks.findings import Finding, Status
from checks.outputs import NotAvailable
from sample_clusters.make import slurm
from sample_clusters.make.clusters import SPECS
from sample_clusters.make.spec import taken_at
from tests.builders import START, findings

SPEC = SPECS["a800-roce-256"]
LOST = SPECS["heartbeat-loss"]
CLUSTER: dict[str, Any] = {
    "roles": {"gpu-node": {"nodes": "gpu[001-064]", "expect": {"gpus": 8}}, "scheduler": "head01"},
    "scheduler": {"kind": "slurm"},
}
EVENTS = "node-events"
ALL = [r.id for r in rules.of_layer("scheduling")]


class Files(dict[tuple[Any, ...], Any]):
    """Takes what the makers of sample clusters write, as keys of a store."""

    def put(self, round: int, folder: str, command: str, text: str, *params: str, **_: Any) -> None:
        self[(round, folder, command, *params)] = text


def recorded(spec: Any = LOST) -> Files:
    files = Files()
    for number in (1, 2):
        slurm.write(spec, files, number)  # type: ignore[arg-type]
    return files


def boots(files: Files, nodes: str = "gpu[001-064],head01", uptime_s: float = 900_000.0, second: str = "a") -> Files:
    for number, first in ((1, "a"), (2, second)):
        text = f"{first * 8}-0c9a-4a57-8d5e-0d6f0b0e2a11\n{uptime_s + 60 * number:.2f} 1.00\n"
        files[(number, nodes, "boot")] = text
    return files


def found(check: str, files: Files, **spec: Any) -> list[Finding]:
    return findings(check, files, {**CLUSTER, **spec})


def set_both(files: Files, command: str, text: Any, *params: str) -> Files:
    for number in (1, 2):
        files[(number, "head01", command, *params)] = text
    return files


def without(files: Files, command: str) -> Files:
    return Files({k: v for k, v in files.items() if command not in k})


def healthy() -> Files:
    return boots(recorded(SPEC))


SMALL = {"roles": {"gpu-node": "gpu[001-032]", "scheduler": "head01"}}


@pytest.mark.parametrize("check", ALL)
def test_a_healthy_scheduler_is_ok(check: str) -> None:
    result = found(check, healthy(), **SMALL)
    assert {f.status for f in result} == {Status.OK}
    assert all(f.nodes == "head01" for f in result)


@pytest.mark.parametrize("check", ALL)
def test_nothing_recorded_is_unknown(check: str) -> None:
    result = findings(check, {}, CLUSTER)
    assert {f.status for f in result} == {Status.UNKNOWN}


@pytest.mark.parametrize("check", ALL)
def test_a_kubernetes_cluster_is_skipped(check: str) -> None:
    assert [f.status for f in found(check, healthy(), scheduler={"kind": "kubernetes"})] == [Status.SKIPPED]


# ---- mass events


def test_lost_heartbeats_are_told_from_dead_nodes_by_the_boot_id() -> None:
    result = found("scheduling.mass_event", boots(recorded()))[0]
    assert (result.status, result.faults, result.certainty) == (Status.CRITICAL, ("sc-heartbeat-kill",), "established")
    assert result.nodes == "gpu[017-032]"
    assert result.entities == ("leaf02",)
    assert "do not drain" in result.summary
    values = {o.name: o.value for o in result.observed}
    assert (values["nodes lost together"], values["SlurmdTimeout"]) == (16, 300)
    assert {e.command.split("@")[0] for e in result.evidence} == {EVENTS, "slurmctld-log", "boot"}


def test_nodes_that_started_again_after_the_loss_did_die() -> None:
    result = found("scheduling.mass_event", boots(recorded(), uptime_s=600))
    assert [(f.status, f.faults) for f in result] == [(Status.CRITICAL, ("sc-node-rebooted",))]


def test_nodes_that_died_before_the_timeout_ran_out_did_die() -> None:
    # down since 17 minutes, silent for five more: a node up for 19 minutes restarted in between
    result = found("scheduling.mass_event", boots(recorded(), uptime_s=19 * 60))
    assert {f.faults for f in result} == {("sc-node-rebooted",)}


def test_a_changed_boot_id_means_they_died() -> None:
    result = found("scheduling.mass_event", boots(recorded(), second="b"))
    assert {f.faults for f in result} == {("sc-node-rebooted",)}


def test_without_boot_ids_it_is_supported_and_says_what_is_unknown() -> None:
    files = recorded()
    files[("gpu[001-064]", "boot")] = NotAvailable("not-recorded", "not recorded")
    result = found("scheduling.mass_event", files)[0]
    assert (result.faults, result.certainty, result.missing) == (("sc-heartbeat-kill",), "supported", ("boot",))
    assert "not known" in result.summary


def test_nodes_that_cannot_be_asked_leave_a_hypothesis() -> None:
    files = recorded()
    files[("gpu[001-064]", "boot")] = NotAvailable("unreachable", "no route to host")
    result = found("scheduling.mass_event", files)
    assert {(f.faults, f.certainty) for f in result} == {(("sc-heartbeat-kill",), "hypothesis")}


@pytest.mark.parametrize("gone", [EVENTS, "slurmctld-log", "sinfo-N", "stopo", "sconfig"])
def test_any_one_source_missing_still_shows_the_event(gone: str) -> None:
    result = found("scheduling.mass_event", boots(without(recorded(), gone)))[0]
    assert (result.status, result.faults) == (Status.CRITICAL, ("sc-heartbeat-kill",))
    assert result.nodes == "gpu[017-032]"


def test_a_single_lost_node_is_no_mass_event() -> None:
    files = healthy()
    line = "gpu005|2026-03-04T02:14:04|Unknown|00:15:56|DOWN*|Not responding|slurm(64030)\n"
    set_both(files, EVENTS, line, "now-30days")
    assert [f.status for f in found("scheduling.mass_event", files, **SMALL)] == [Status.OK]


def test_nodes_lost_over_hours_are_no_mass_event() -> None:
    files = healthy()
    lines = "".join(
        f"gpu00{k}|2026-03-03T{10 + k}:14:04|2026-03-03T{10 + k}:20:00|00:05:56|DOWN*|Not responding|slurm(64030)\n"
        for k in range(1, 6)
    )
    set_both(files, EVENTS, lines, "now-30days")
    assert [f.status for f in found("scheduling.mass_event", files, **SMALL)] == [Status.OK]


def test_a_mass_event_of_last_week_that_is_over_explains_nothing_now() -> None:
    files = healthy()
    lines = "".join(
        f"gpu00{k}|2026-02-24T10:14:04|2026-02-24T10:20:00|00:05:56|DOWN*|Not responding|slurm(64030)\n"
        for k in range(1, 6)
    )
    set_both(files, EVENTS, lines, "now-30days")
    assert [f.status for f in found("scheduling.mass_event", files, **SMALL)] == [Status.OK]


def test_an_event_in_another_time_zone_is_judged_by_the_seconds_slurm_counted() -> None:
    files = boots(recorded())
    at = datetime(2026, 3, 4, 10, 14, 4)
    lines = "".join(
        f"gpu0{k}|{at:%Y-%m-%dT%H:%M:%S}|Unknown|00:15:56|DOWN*|Not responding|slurm(64030)\n" for k in range(17, 33)
    )
    set_both(without(files, "slurmctld-log"), EVENTS, lines, "now-30days")
    result = found("scheduling.mass_event", set_both(files, EVENTS, lines, "now-30days"))[0]
    assert (result.faults, result.certainty) == (("sc-heartbeat-kill",), "established")


def test_times_as_epochs_say_when_it_was() -> None:
    files = boots(recorded())
    at = int(datetime(2026, 3, 4, 2, 14, 4, tzinfo=UTC).timestamp())
    lines = "".join(f"gpu0{k}|{at}|Unknown|00:15:56|DOWN*|Not responding|slurm(64030)\n" for k in range(17, 33))
    result = found("scheduling.mass_event", set_both(files, EVENTS, lines, "now-30days"))[0]
    assert result.at == "2026-03-04T02:14:04+00:00"


def test_a_cut_history_never_clears() -> None:
    files = healthy()
    set_both(files, EVENTS, "gpu003|2026-02-13T02:14:04|2026-02-13T03:00:00|00:4", "now-30days")
    assert Status.OK not in {f.status for f in found("scheduling.mass_event", files, **SMALL)}


# ---- reasons


def drained(reason: str, *nodes: str, since: str = "2026-03-04T01:00:00") -> Files:
    files = healthy()
    lines = "".join(
        f"{n}|drained|{reason}|{since}|root|0/0/128/128|gpu:a800:8|train\n"
        if n in nodes
        else f"{n}|idle|none|Unknown|Unknown|0/128/0/128|gpu:a800:8|train\n"
        for n in SPEC.gpu_nodes
    )
    return set_both(files, "sinfo-N", lines)


@pytest.mark.parametrize(
    ("reason", "faults"),
    [
        ("Kill task failed", ("sc-kill-task-failed",)),
        ("gres/gpu count reported lower than configured (7 < 8)", ("sc-node-config-mismatch",)),
        ("Low RealMemory (reported:1 < 100.00% of configured:2)", ("sc-node-config-mismatch",)),
        ("Prolog error", ("sc-prolog",)),
        ("Node unexpectedly rebooted", ("sc-node-rebooted",)),
        ("NHC: Watchdog timer unable to terminate hung NHC process 812", ("sc-healthcheck-weak",)),
        ("NHC: check_fs_mount /lustre not mounted", ()),
        ("Not responding", ()),
        ("waiting for a new DIMM", ()),
    ],
)
def test_a_reason_names_its_fault_and_no_other(reason: str, faults: tuple[str, ...]) -> None:
    result = found("scheduling.node_reasons", drained(reason, "gpu005"), **SMALL)
    assert [(f.status, f.nodes, f.faults) for f in result] == [(Status.WARN, "gpu005", faults)]
    assert result[0].evidence[0].lines == (5, 5)


def test_one_reason_on_many_nodes_at_once_is_a_consequence() -> None:
    files = drained("Kill task failed", "gpu005", "gpu009", "gpu013", "gpu021")
    result = found("scheduling.node_reasons", files, **SMALL)
    assert [(f.faults, f.nodes) for f in result] == [(("sc-wrong-drain",), "gpu[005,009,013,021]")]


def test_a_cut_list_of_nodes_leaves_the_others_unknown() -> None:
    files = healthy()
    whole = files[(1, "head01", "sinfo-N")]
    set_both(files, "sinfo-N", "".join(whole.splitlines(keepends=True)[:20]))
    result = found("scheduling.node_reasons", files, **SMALL)
    assert result[0].status == Status.UNKNOWN
    assert result[0].nodes == "gpu[021-032]"


def test_without_the_list_the_reasons_still_speak() -> None:
    files = without(drained("x"), "sinfo-N")
    set_both(files, "sinfo-R", "Prolog error|root|2026-03-04T01:00:00|gpu[005-006]\n")
    result = found("scheduling.node_reasons", files, **SMALL)
    assert [f.status for f in result] == [Status.WARN, Status.UNKNOWN]
    assert result[0].faults == ("sc-prolog",)


def test_a_job_that_completes_for_ten_minutes_hangs() -> None:
    files = set_both(healthy(), "squeue-run", "88200|COMPLETING|train|ml|1|gres/gpu:8|5:01|1:00|gpu007\n")
    result = findings("scheduling.node_reasons", files, {**CLUSTER, **SMALL}, seconds=900.0)
    assert (result[0].faults, result[0].entities) == (("sc-completing",), ("job 88200",))


# ---- the controller


def test_a_controller_that_is_down_is_critical() -> None:
    files = set_both(healthy(), "slurm-ping", "Slurmctld(primary) at head01 is DOWN\n")
    result = found("scheduling.controller", files, **SMALL)[0]
    assert (result.status, result.faults) == (Status.CRITICAL, ("sc-ctld-overload",))


def test_long_cycles_and_a_long_database_queue_are_overload() -> None:
    text = (
        "Server thread count:  3\nAgent queue size:     0\nDBD Agent queue size: 13000\n"
        "Main schedule statistics (microseconds):\n\tLast cycle:   2400000\n\tMean cycle:   2300000\n"
        "Backfilling stats\n\tMean cycle: 10\n"
    )
    result = found("scheduling.controller", set_both(healthy(), "sdiag", text), **SMALL)
    assert {f.summary for f in result} == {
        "a scheduling cycle takes too long",
        "the queue to the accounting database is long",
    }
    assert all(f.faults == ("sc-ctld-overload",) and f.threshold for f in result)


def test_no_load_of_the_controller_is_unknown() -> None:
    result = found("scheduling.controller", set_both(healthy(), "sdiag", ("", 1)), **SMALL)
    assert [f.status for f in result] == [Status.UNKNOWN]


def test_refused_credentials_name_the_clock() -> None:
    line = "2026-03-04T02:15:00+0000 head01 slurmctld[2211]: error: Munge decode: Rewound credential from gpu007\n"
    result = found("scheduling.clock", set_both(healthy(), "slurmctld-log", line), **SMALL)[0]
    assert (result.faults, result.nodes) == (("sc-clock",), "gpu007")


def test_an_empty_journal_says_nothing_about_credentials() -> None:
    files = set_both(healthy(), "slurmctld-log", ("-- No entries --\n", 1))
    assert [f.status for f in found("scheduling.clock", files, **SMALL)] == [Status.UNKNOWN]


# ---- history and placement


def event(node: str, day: int, state: str = "DOWN*", reason: str = "Not responding") -> str:
    return f"{node}|2026-02-{day:02d}T10:00:00|2026-02-{day:02d}T11:00:00|01:00:00|{state}|{reason}|slurm(64030)\n"


def test_a_node_lost_again_and_again_is_a_lemon() -> None:
    lines = "".join(event("gpu007", day) for day in (5, 11, 19, 26)) + event("gpu009", 8)
    result = found("scheduling.lemon", set_both(healthy(), EVENTS, lines, "now-30days"), **SMALL)
    assert [(f.status, f.nodes, f.faults) for f in result] == [(Status.WARN, "gpu007", ("sc-lemon-node",))]


def test_what_took_many_nodes_at_once_makes_no_lemon() -> None:
    lines = "".join(event(f"gpu0{k:02d}", day) for day in (5, 11, 19) for k in range(1, 9))
    result = found("scheduling.lemon", set_both(healthy(), EVENTS, lines, "now-30days"), **SMALL)
    assert [f.status for f in result] == [Status.OK]


def test_a_job_spread_over_more_leaves_than_it_needs() -> None:
    files = set_both(healthy(), "squeue-run", "88201|RUNNING|train|ml|2|gres/gpu:8|5:01|1:00|gpu[008-009]\n")
    result = found("scheduling.placement", files, **SMALL)[0]
    assert (result.faults, result.certainty, result.entities) == (
        ("sc-topology-unaware",),
        "hypothesis",
        ("job 88201",),
    )


def test_without_a_topology_configured_the_spread_is_supported() -> None:
    files = set_both(healthy(), "squeue-run", "88201|RUNNING|train|ml|2|gres/gpu:8|5:01|1:00|gpu[008-009]\n")
    groups = {"leaf": {"a": "gpu[001-008]", "b": "gpu[009-016]"}}
    result = found("scheduling.placement", set_both(files, "stopo", ""), **SMALL, groups=groups)[0]
    assert result.certainty == "supported"


def test_a_job_on_one_leaf_too_few_is_not_judged_without_a_map() -> None:
    result = found("scheduling.placement", without(healthy(), "stopo"), **SMALL)
    assert [f.status for f in result] == [Status.UNKNOWN]


def test_the_sample_times_are_those_of_the_store() -> None:
    assert taken_at(1) == START
