"""Logs of training jobs and results of bandwidth tests: composed ones, and what is true in recorded ones."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from checks.outputs import Facts, Outcome, Raw, Unparsable
from checks.tools.job_log import JobLog, parse_job_log
from checks.tools.perf_tests import BandwidthTest, NcclTest, parse_ib_write_bw, parse_nccl_tests
from tests import corpus


def log(text: str) -> JobLog:
    found = parse_job_log(Raw.of(text))
    assert isinstance(found, JobLog), found
    return found


@pytest.mark.parametrize(
    ("line", "transport", "devices", "oob"),
    [
        (
            "NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.1.0.1<0>",
            "RoCE",
            ("mlx5_0", "mlx5_1"),
            "eth0",
        ),
        ("NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB ib0:10.1.0.1<0>", "IB", ("mlx5_0",), "ib0"),
        ("NET/Socket : Using [0]eth0:10.1.0.1<0>", "Socket", ("eth0",), None),
        ("Using network Socket", "Socket", (), None),
    ],
)
def test_the_transport_of_nccl(line: str, transport: str, devices: tuple[str, ...], oob: str | None) -> None:
    net = log(f"3: n01:812:812 [0] NCCL INFO {line}\n").nets[0]
    assert (net.transport, net.devices, net.oob, net.host) == (transport, devices, oob, "n01")


def test_channels_with_and_without_gpudirect() -> None:
    found = log(
        "n01:812:901 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/0/GDRDMA\n"
        "n01:812:901 [0] NCCL INFO Channel 01/0 : 8[0] -> 0[0] [receive] via NET/IB/1\n"
    )
    assert (found.gdr_channels, found.plain_channels, found.plain_line) == (1, 1, 2)


def test_errors_keep_their_time_rank_and_whether_they_are_an_effect() -> None:
    found = log(
        "7: [2026-03-04 02:10:00] n01:812:901 [0] transport/net_ib.cc:253 NCCL WARN NET/IB : mlx5_3:1 Got non-fatal "
        "async event: port error(10)\n"
        "[rank9]:[E304 02:20:00.1 ProcessGroupNCCL.cpp:697] [Rank 1] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=2, OpType=ALLREDUCE, Timeout(ms)=600000)\n"
    )
    port, timeout = found.errors
    assert (port.kind, port.effect, port.host, port.at) == ("port", False, "n01", datetime(2026, 3, 4, 2, 10))
    assert (timeout.kind, timeout.effect, timeout.rank) == ("timeout", True, 9)


@pytest.mark.parametrize(
    ("line", "seconds", "index"),
    [
        (" iteration      120/  500000 | elapsed time per iteration (ms): 5123.4 | lm loss: 2.3E+00 |", 5.1234, 120),
        ("step 121: loss 2.3, step_time: 4.80s", 4.8, 121),
        ("step=122 iter_time: 512 ms", 0.512, 122),
        (" 12%|█▏        | 123/1000 [10:00<1:11:00,  5.00s/it]", 5.0, None),
    ],
)
def test_step_times_of_common_trainers(line: str, seconds: float, index: int | None) -> None:
    step = log(line + "\n").steps[0]
    assert step.seconds == pytest.approx(seconds)
    assert step.index == index


def test_saves_with_seconds_or_with_two_times() -> None:
    found = log(
        "[2026-03-04 02:00:00] step 100: saved checkpoint /lustre/ckpt/100 in 28.4 s\n"
        "[2026-03-04 02:30:00] saving checkpoint at iteration 200 to /lustre/ckpt\n"
        "[2026-03-04 02:30:31] successfully saved checkpoint at iteration 200 to /lustre/ckpt\n"
    )
    assert [(s.seconds, s.index) for s in found.saves] == [(28.4, 100), (31.0, 200)]


def test_a_breakdown_gives_the_share_of_communication() -> None:
    found = log("step 5 time 2.00 s | compute: 1200 ms | exposed comm: 800 ms\nstep 6 communication 45.0 %\n")
    assert [s.communication_pct for s in found.shares] == [40.0, 45.0]


def test_variables_that_nccl_names() -> None:
    found = log("n01:812:812 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1\n")
    assert [(v.name, v.value) for v in found.variables] == [("NCCL_P2P_DISABLE", "1")]


@pytest.mark.parametrize("text", ["", "hello\n", "Filesystem Use%\n/dev/sda1 50%\n", "\x00\xff\n" * 5])
def test_a_text_without_anything_known_is_no_job_log(text: str) -> None:
    assert isinstance(parse_job_log(Raw.of(text)), Unparsable)


TABLE = """# nThread 1 nGpus 1 minBytes 8 maxBytes 1024 step: 2(factor)
#  Rank  0 Group  0 Pid 811 on n01 device  0 [0x1b] NVIDIA H100
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     1048576        262144     float     sum      -1     98.1   10.69   20.04      0     97.0   10.81   20.27      0
  1073741824     268435456     float     sum      -1   5231.0  205.27  384.88      2   5228.1  205.38  385.09      0
# Out of bounds values : 1 FAILED
# Avg bus bandwidth    : 202.570
"""


def test_the_table_of_nccl_tests() -> None:
    found = parse_nccl_tests(Raw.of(TABLE))
    assert isinstance(found, NcclTest)
    assert found.best is not None
    assert (found.best.size, found.best.busbw, found.best.wrong) == (1073741824, 384.88, 2)
    assert (found.avg_busbw, found.out_of_bounds, found.failed, found.ranks) == (202.57, 1, True, 1)


def test_a_label_before_every_line_changes_nothing() -> None:
    tagged = "".join(f"[1,0]<stdout>:{line}\n" for line in TABLE.splitlines())
    found = parse_nccl_tests(Raw.of(tagged))
    assert isinstance(found, NcclTest)
    assert (len(found.rows), found.avg_busbw) == (2, 202.57)


def test_a_bandwidth_in_megabytes_becomes_gigabits() -> None:
    text = (
        "                    RDMA_Write BW Test\n Device         : mlx5_0\n Link type      : Ethernet\n"
        " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
        " 65536      5000             23841.86            23841.86               0.38\n"
    )
    found = parse_ib_write_bw(Raw.of(text))
    assert isinstance(found, BandwidthTest)
    assert found.best_gbps == pytest.approx(200.0, abs=0.01)


def test_a_bandwidth_test_that_failed_says_why() -> None:
    text = "                    RDMA_Write BW Test\n Device         : mlx5_0\nCouldn't create QP\n"
    found = parse_ib_write_bw(Raw.of(text))
    assert isinstance(found, BandwidthTest)
    assert (found.best_gbps, found.failed) == (None, "Couldn't create QP")


Case = tuple[Callable[[Raw], Outcome], Callable[[Any], Any], Any]
CORPUS: dict[str, Case] = {
    "nccl-log/bench-1-node-4gpu-omnipath": (parse_job_log, lambda f: sorted(f.nets[0].devices)[0], "hfi1_0"),
    "nccl-log/bench-4-nodes-32gpu-a100": (parse_job_log, lambda f: f.nccl_versions[0][1], "2.10.3"),
    "nccl-log/efa-ofi-init": (parse_job_log, lambda f: (f.transports, f.nccl_versions[0][1]), (("OFI",), "2.26.2")),
    "nccl-log/ib-port-error-then-timeout": (
        parse_job_log,
        lambda f: [(e.kind, e.effect, e.rank) for e in f.errors],
        [("port", False, 1000), ("timeout", True, 5995)],
    ),
    "nccl-log/info-net-plugin-ib-2.30": (parse_job_log, lambda f: f.transports, ("IB",)),
    "nccl-log/net-fastsocket-8-nics": (parse_job_log, lambda f: len(f.nets[0].devices), 8),
    "nccl-log/net-ib-8-hcas": (parse_job_log, lambda f: (len(f.nets[0].devices), f.nets[0].oob), (8, "eno1")),
    "nccl-log/net-socket-only-eth0": (parse_job_log, lambda f: f.nets[0].devices, ("eth0",)),
    "nccl-log/rccl-init-4-ranks": (parse_job_log, lambda f: f.errors, ()),
    "nccl-log/warn-shm-removed": (parse_job_log, lambda f: len(f.errors), 1),
    "nccl-log/watchdog-timeout-allgather": (parse_job_log, lambda f: f.errors[0].rank, 115),
    "nccl-tests/a100-1-node-pass": (parse_nccl_tests, lambda f: (f.ranks, f.avg_busbw), (8, 210.99)),
    "nccl-tests/a100-8gpu-alltoall": (parse_nccl_tests, lambda f: (len(f.rows), f.validated), (34, False)),
    "nccl-tests/a100-8gpu-broadcast": (parse_nccl_tests, lambda f: (len(f.rows), f.avg_busbw), (34, 64.8653)),
    "nccl-tests/a100-8gpu-reduce": (parse_nccl_tests, lambda f: (len(f.rows), f.avg_busbw), (34, 65.018)),
    "nccl-tests/a100-8gpu-reducescatter": (parse_nccl_tests, lambda f: (len(f.rows), f.avg_busbw), (34, 60.168)),
    "nccl-tests/a3mega-allgather-2-nodes": (parse_nccl_tests, lambda f: (len(f.rows), f.max_busbw), (31, 188.9)),
    "nccl-tests/dgx2-allgather-wrong-results": (
        parse_nccl_tests,
        lambda f: (f.failed, [r.size for r in f.rows if r.wrong]),
        (True, [4294967280, 8589934560]),
    ),
    "nccl-tests/gb200-1440gpu-20-racks": (parse_nccl_tests, lambda f: (f.ranks, f.max_busbw), (1440, 405.74)),
    "nccl-tests/gb200-144gpu-2-racks": (parse_nccl_tests, lambda f: (f.ranks, f.max_busbw), (144, 820.36)),
    "nccl-tests/gb200-nvl72-72gpu": (parse_nccl_tests, lambda f: (f.ranks, f.max_busbw), (72, 846.82)),
    "nccl-tests/h100-64gpu-sharp": (parse_nccl_tests, lambda f: (len(f.rows), f.avg_busbw), (5, 373.187)),
    "nccl-tests/mi300x-xgmi-link-error": (parse_nccl_tests, lambda f: (f.avg_busbw, len(f.errors) > 1), (None, True)),
    "nccl-tests/nan-cell": (parse_nccl_tests, lambda f: (f.avg_busbw, len(f.odd)), (111.111, 1)),
    "nccl-tests/one-rank-busbw-zero": (parse_nccl_tests, lambda f: f.avg_busbw, 0),
    "nccl-tests/p5-2-nodes-mpi-tags": (parse_nccl_tests, lambda f: (f.avg_busbw, f.max_busbw), (52.9753, 437.89)),
    "nccl-tests/p5-srun-label-prefix": (parse_nccl_tests, lambda f: (len(f.rows), f.best.busbw), (32, 487.09)),
    "nccl-tests/rtx5090-broadcast-socket-two-ranks-one-gpu": (
        parse_nccl_tests,
        lambda f: (f.ranks, len({d.device for d in f.devices}), f.avg_busbw),
        (2, 1, 0.8664),
    ),
    "ib-perf/ib-send-bw-ud-qdr": (parse_ib_write_bw, lambda f: (len(f.rows), f.device), (12, "mlx4_0")),
    "ib-perf/ib-write-bw-below-380": (parse_ib_write_bw, lambda f: (f.device, f.best_gbps), ("rdma_dev_5", 180.5)),
    "ib-perf/ib-write-bw-loopback-8m": (parse_ib_write_bw, lambda f: (f.reports, f.rows[0].size), (2, 8388608)),
    "ib-perf/ib-write-bw-qp-create-failed": (parse_ib_write_bw, lambda f: (f.best_gbps, bool(f.failed)), (None, True)),
}  # fmt: skip


@pytest.mark.parametrize("entry_id", CORPUS)
def test_a_recorded_text_has_the_facts_that_are_true_in_it(entry_id: str) -> None:
    parse, fact, expected = CORPUS[entry_id]
    found = parse(Raw.of(corpus.data(entry_id)))
    assert isinstance(found, Facts), found
    assert fact(found) == expected


def test_every_text_of_these_families_has_its_facts_here() -> None:
    known = {e["id"] for family in ("nccl-log", "nccl-tests", "ib-perf") for e in corpus.entries(family)}
    assert known == set(CORPUS)
