"""What is said of the training run: from its log, its environment and its processes."""

from __future__ import annotations

from typing import Any

import pytest

from checks import rules
from checks.findings import Finding, Status
from tests.builders import findings

CLUSTER: dict[str, Any] = {
    "roles": {"gpu-node": {"nodes": "gpu[1-4]", "expect": {"gpus": 8}}},
    "fabric": {"kind": "roce"},
    "interfaces": {"rdma": ["eth2", "eth3"], "storage": ["eth1"], "management": ["eth0"]},
}
LINKS = "".join(
    f"link mlx5_{k}/1 state ACTIVE physical_state LINK_UP netdev {netdev} \n"
    for k, netdev in enumerate(("eth2", "eth3", "eth1"))
)
BY_LOG = [
    "network.rdma_transport",
    "training-run.communication_share",
    "training-run.step_jitter",
    "training-run.checkpoint_interval",
    "training-run.nccl_env",
]


def found(check: str, log: str | None = None, files: dict[Any, Any] | None = None, **spec: Any) -> list[Finding]:
    attachments = {} if log is None else {"job-log@rank0": log}
    given = {("gpu[1-4]", "rdma-link"): LINKS, **(files or {})}
    return findings(check, given, {**CLUSTER, **spec}, attachments=attachments)


def info(line: str, node: str = "gpu1") -> str:
    return f"{node}:812:812 [0] NCCL INFO {line}\n"


RDMA = info("NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.1.0.1<0>") + info(
    "Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/0/GDRDMA"
)


@pytest.mark.parametrize("check", BY_LOG)
def test_without_a_log_the_check_is_skipped_and_says_how_to_give_one(check: str) -> None:
    result = found(check)
    assert [f.status for f in result] == [Status.SKIPPED]
    assert "no job log supplied (attach one: --attach job-log=FILE)" in result[0].reason


@pytest.mark.parametrize("check", BY_LOG)
def test_a_log_that_is_none_is_unknown(check: str) -> None:
    assert [f.status for f in found(check, "dear diary\n")] == [Status.UNKNOWN]


@pytest.mark.parametrize("check", BY_LOG)
def test_a_log_without_the_lines_asked_for_is_skipped(check: str) -> None:
    result = found(check, "gpu1:812:812 [0] NCCL INFO comm 0x1 rank 0 nranks 8 - Init COMPLETE\n")
    assert [f.status for f in result] == [Status.SKIPPED]


def test_rdma_over_the_rails_is_ok() -> None:
    result = found("network.rdma_transport", RDMA)
    assert [(f.status, f.nodes) for f in result] == [(Status.OK, "gpu1")]
    assert result[0].evidence[0].command == "job-log@rank0"


def test_sockets_are_named_with_their_node() -> None:
    log = RDMA + info("NET/Socket : Using [0]eth0:10.1.0.2<0>", "gpu2")
    result = found("network.rdma_transport", log)[0]
    assert (result.status, result.nodes, result.faults) == (Status.CRITICAL, "gpu2", ("net-nccl-tcp",))
    assert result.evidence[0].lines == (3, 3)


@pytest.mark.parametrize(
    ("devices", "words"),
    [("[0]mlx5_2:1/RoCE [1]mlx5_0:1/RoCE", "no rails"), ("[0]mlx5_0:1/RoCE", "fewer rails")],
)
def test_devices_that_are_not_the_rails(devices: str, words: str) -> None:
    result = found("network.rdma_transport", info(f"NET/IB : Using {devices} [RO]; OOB eth0:10.1.0.1<0>"))[0]
    assert (result.status, result.faults) == (Status.WARN, ("net-nccl-wrong-if",))
    assert words in result.summary


def test_without_the_map_of_the_rails_devices_are_not_judged() -> None:
    log = info("NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.1.0.1<0>")
    result = findings("network.rdma_transport", {}, CLUSTER, attachments={"job-log": log})
    assert [f.status for f in result] == [Status.OK]


def test_channels_through_host_memory_mean_gpudirect_is_off() -> None:
    log = RDMA.replace("/GDRDMA", "")
    result = found("network.rdma_transport", log)[0]
    assert (result.faults, result.certainty) == (("net-gdr-off",), "supported")


def test_a_variable_that_turns_rdma_off_is_named_and_never_quoted() -> None:
    environ = "HOME=/home/ml\0SECRET_TOKEN=abc\0NCCL_IB_DISABLE=1\0"
    for check, fault in (("network.rdma_transport", "net-nccl-tcp"), ("training-run.nccl_env", "tr-nccl-env")):
        result = found(check, files={("gpu1", "proc-env", "812"): environ})[0]
        assert (result.nodes, result.faults, result.evidence) == ("gpu1", (fault,), ())
        assert [(o.name, o.value) for o in result.observed] == [("NCCL_IB_DISABLE", "1")]


def test_a_clean_environment_is_ok() -> None:
    environ = "HOME=/home/ml\0NCCL_IB_HCA=mlx5_0,mlx5_1\0NCCL_DEBUG=INFO\0"
    for check in ("network.rdma_transport", "training-run.nccl_env"):
        result = found(check, files={("gpu1", "proc-env", "812"): environ})
        assert [(f.status, f.nodes) for f in result] == [(Status.OK, "gpu1")]


def test_an_environment_that_may_not_be_read_is_unknown() -> None:
    files = {("gpu1", "proc-env", "812"): ("cat: /proc/812/environ: Permission denied\n", 1)}
    assert [f.status for f in found("training-run.nccl_env", files=files)] == [Status.UNKNOWN]


def test_an_ethernet_fabric_has_no_rdma_to_check() -> None:
    result = found("network.rdma_transport", RDMA, fabric={"kind": "ethernet"})
    assert [f.status for f in result] == [Status.SKIPPED]


def test_leftovers_that_the_log_shows() -> None:
    log = info("NCCL_P2P_DISABLE set by environment to 1") + info("NCCL_ALGO set by environment to Ring")
    result = found("training-run.nccl_env", log)[0]
    assert result.summary == "variables that slow NCCL are set: NCCL_ALGO, NCCL_P2P_DISABLE"


# ---- steps


def steps(seconds: list[float]) -> str:
    return "".join(
        f" iteration {k:8d}/ 500000 | elapsed time per iteration (ms): {s * 1000:.1f} | lm loss: 2.0 |\n"
        for k, s in enumerate(seconds, 1)
    )


def test_even_steps_are_ok_whatever_the_warm_up() -> None:
    result = found("training-run.step_jitter", steps([60.0, 20.0] + [5.0, 5.1] * 40))
    assert [f.status for f in result] == [Status.OK]


def test_slow_steps_in_a_rhythm_point_to_collection_or_logging() -> None:
    result = found("training-run.step_jitter", steps([9.0 if k % 20 == 0 else 5.0 for k in range(200)]))[0]
    assert result.faults == ("tr-gc-jitter",)
    assert {o.name: o.value for o in result.observed}["slow every"] == 20


def test_slow_steps_without_a_rhythm_accuse_nobody() -> None:
    slow = {17, 21, 60, 64, 131, 178, 180}
    result = found("training-run.step_jitter", steps([12.0 if k in slow else 5.0 for k in range(200)]))[0]
    assert (result.status, result.faults) == (Status.WARN, ())


def test_a_step_that_saves_is_no_jitter() -> None:
    lines = steps([35.0 if k % 50 == 49 else 5.0 for k in range(200)]).splitlines(keepends=True)
    log = "".join(
        line + (f"saved checkpoint at iteration {k + 1} in 30.0 s\n" if k % 50 == 49 else "")
        for k, line in enumerate(lines)
    )
    assert [f.status for f in found("training-run.step_jitter", log)] == [Status.OK]


@pytest.mark.parametrize(("share", "faults"), [(55.0, ("tr-comm-bound",)), (22.0, ())])
def test_the_share_of_communication_is_held_against_the_table(share: float, faults: tuple[str, ...]) -> None:
    result = found("training-run.communication_share", f"step 5 | exposed communication {share} %\n" * 5)[0]
    assert result.faults == faults


# ---- saves


def saves(seconds: float, every_s: int) -> str:
    return "".join(
        f"[2026-03-0{1 + k * every_s // 86400} {k * every_s % 86400 // 3600:02d}:{k * every_s % 3600 // 60:02d}:00] "
        f"saved checkpoint at iteration {k * 100} in {seconds} s\n"
        for k in range(1, 6)
    )


def test_an_interval_near_the_optimum_is_ok() -> None:
    # 32 GPUs fail about every 253 h: the optimum for 30 s is about two hours
    result = found("training-run.checkpoint_interval", saves(30.0, 7200))
    assert [f.status for f in result] == [Status.OK]
    assert {o.name: o.value for o in result[0].observed}["best interval (Young)"] == pytest.approx(7390, abs=30)


def test_saving_every_few_minutes_is_too_often() -> None:
    result = found("training-run.checkpoint_interval", saves(30.0, 300))[0]
    assert (result.faults, result.summary) == (("tr-ckpt-interval",), "checkpoints are far too frequent")


def test_saving_once_a_day_is_too_rare_when_saves_are_cheap() -> None:
    result = found("training-run.checkpoint_interval", saves(4.0, 43200))[0]
    assert (result.faults, result.summary) == (("tr-ckpt-interval",), "checkpoints are far too rare")


def test_slow_saves_at_a_right_interval_point_to_the_storage() -> None:
    result = found("training-run.checkpoint_interval", saves(2400.0, 40000))[0]
    assert (result.status, result.faults) == (Status.WARN, ())


# ---- cores of a rank


def status(cpus: str) -> str:
    return f"Name:\tpython\nState:\tR (running)\nPid:\t812\nCpus_allowed_list:\t{cpus}\n"


def test_a_rank_with_its_share_of_the_cores_is_ok() -> None:
    result = found("training-run.dataloader", files={("gpu[1-4]", "proc-status", "812"): status("0-15")})
    assert [(f.status, f.nodes) for f in result] == [(Status.OK, "gpu[1-4]")]


def test_a_rank_bound_to_two_cores_may_starve() -> None:
    files = {("gpu[1-3]", "proc-status", "812"): status("0-15"), ("gpu4", "proc-status", "812"): status("0-1")}
    result = found("training-run.dataloader", files=files)[0]
    assert (result.nodes, result.faults, result.certainty) == ("gpu4", ("tr-dataloader",), "hypothesis")


def test_without_a_process_named_the_cores_are_not_judged() -> None:
    assert [f.status for f in found("training-run.dataloader")] == [Status.SKIPPED]


def test_every_check_of_the_layer_is_tested_here() -> None:
    assert {r.id for r in rules.of_layer("training-run")} == {*BY_LOG[1:], "training-run.dataloader"}
