"""Parsers of the storage layer against recorded outputs: the facts that are true in each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from checks.interpret import interpret
from checks.outputs import Facts, NotAvailable, Output
from tests import corpus

Read = tuple[str, Callable[[Any], object], object]


def counts(facts: Any) -> list[int | None]:
    return [c.stripe_count for x in facts.layouts for c in x.components]


def osts(facts: Any) -> tuple[int, ...]:
    first: tuple[int, ...] = facts.layouts[0].components[0].osts
    return first


LAYOUTS: dict[str, Read] = {
    "component-filter-flags-not-init": ("lfs-getstripe-file", counts, [-1]),
    "es1-4-stripes": ("lfs-getstripe-file", lambda f: (counts(f), osts(f)), ([4], (10, 11, 12, 13))),
    "expanse-1-stripe-group-nonzero": ("lfs-getstripe-file", lambda f: (counts(f), osts(f)), ([1], (5,))),
    "expanse-dir-pattern-numeric": (
        "lfs-getstripe",
        lambda f: (counts(f), f.layouts[0].components[0].pattern, f.layouts[0].default),
        ([1], "0", True),
    ),
    "file-1-stripe": (
        "lfs-getstripe-file",
        lambda f: (f.layouts[0].path, counts(f), f.layouts[0].components[0].stripe_size, osts(f)),
        ("/mnt/lustre/4mb_file", [1], 4194304, (1,)),
    ),
    "file-6-osts-only-table": ("lfs-getstripe-file", lambda f: (counts(f), osts(f)), ([6], (0, 1, 2, 3, 4, 5))),
    "flr-2-mirrors": (
        "lfs-getstripe-file",
        lambda f: (counts(f), [c.pool for c in f.layouts[0].components]),
        ([2, 6], ["flash", "archive"]),
    ),
    "lumi-dir-default-4": (
        "lfs-getstripe",
        lambda f: (counts(f), f.layouts[0].components[0].stripe_size, f.layouts[0].components[0].stripe_offset),
        ([4], 2097152, -1),
    ),
    "old-dir-tree-defaults": ("lfs-getstripe", counts, [1, 1, 1]),
    "pfl-only-first-component-init": (
        "lfs-getstripe-file",
        lambda f: (
            counts(f),
            [(c.start, c.end) for c in f.layouts[0].components],
            [c.initialised for c in f.layouts[0].components],
        ),
        (
            [1, 4, -1],
            [(0, 268435456), (268435456, 17179869184), (17179869184, None)],
            [True, False, False],
        ),
    ),
    "yaml-2-osts": ("lfs-getstripe-file", lambda f: (counts(f), osts(f)), ([2], (4, 5))),
}

OTHERS: dict[str, Read] = {
    "lustre-df/df-h": (
        "lfs-df",
        lambda f: (len(f.of("OST")), max(t.used_pct for t in f.of("OST"))),
        (3, 59.0),
    ),
    "lustre-df/df-h-ost1-full": (
        "lfs-df",
        lambda f: [(t.name[-7:], t.used_pct) for t in f.of("OST")],
        [("OST0000", 89), ("OST0001", 100), ("OST0002", 89), ("OST0003", 95), ("OST0004", 57)],
    ),
    "lustre-df/df-i": ("lfs-dfi", lambda f: [t.used_pct for t in f.of("MDT")][:1], [1.0]),
    "lustre-df/df-plain": ("lfs-df", lambda f: (len(f.of("MDT")), len(f.of("OST"))), (1, 3)),
    "lustre-params/brw-stats": (
        "oss-brw",
        lambda f: f.targets[0].ios_by_ms[8000],
        49,
    ),
    "lustre-params/client-llite-ldlm-stats": ("srv-health", lambda f: f.healthy, True),
    "lustre-params/lnetctl-net-show": (
        "lnet",
        lambda f: [(n.net, n.status, n.interfaces) for n in f.nids],
        [("tcp", "up", ("mlxen0",)), ("tcp", "up", ("mlxen1",))],
    ),
    "lustre-params/osc-rpc-stats": ("lctl-rpc-stats", lambda f: f.targets[0].in_flight[7], 61.0),
    "lustre-params/recovery-complete": ("srv-health", lambda f: set(f.recovery.values()), {"COMPLETE"}),
    "lustre-params/recovery-recovering": (
        "srv-health",
        lambda f: [t for t, s in f.recovery.items() if s == "RECOVERING"],
        ["fs-MDT0002"],
    ),
    "kernel-lustre/admin-evict-and-connects": (
        "lustre-log",
        lambda f: [(e.kind, e.target) for e in f.events],
        [("evicted", "lustre-OST0001")],
    ),
    "kernel-lustre/bad-write-checksum": ("lustre-log", lambda f: f.events[0].kind, "checksum"),
    "kernel-lustre/ptlrpc-timeout": ("lustre-log", lambda f: [e.kind for e in f.events], ["timeout"]),
    "mounts/mountstats": (
        "nfs-mountstats",
        lambda f: {m.target: f"{m.server}:{m.export}" for m in f.mounts},
        {
            "/A": "1.2.3.4:/storage/NFS",
            "/B": "2.2.2.2:/nfsdata/",
            "/C": "nfsserver1:/vol/export1/bread_recipes",
            "/D": "nfsserver2:/tank/os2warp",
        },
    ),
    "gpfs/mmdiag-waiters-Y": ("gpfs-waiters", lambda f: f.waiters[0].seconds, 6861.7395),
    "gpfs/mmhealth-Y-tips": (
        "gpfs-health",
        lambda f: next(s.status for s in f.states if s.component == "NODE"),
        "TIPS",
    ),
}

TABLE = {**{f"lustre-layout/{k}": v for k, v in LAYOUTS.items()}, **OTHERS}


@pytest.mark.parametrize("entry", sorted(TABLE))
def test_a_recorded_output_gives_the_facts_that_are_true(entry: str) -> None:
    command, read, expected = TABLE[entry]
    facts = interpret(Output("n", command, (), 1, corpus.data(entry)))
    assert isinstance(facts, Facts), facts
    assert read(facts) == expected


def test_a_path_on_another_file_system_is_not_answered() -> None:
    data = corpus.data("lustre-layout/not-lustre-ioctl-error")
    assert isinstance(interpret(Output("n", "lfs-getstripe", (), 1, data)), NotAvailable)


def test_every_recorded_layout_is_in_the_table() -> None:
    assert {e["id"] for e in corpus.entries("lustre-layout")} - set(TABLE) <= {"lustre-layout/not-lustre-ioctl-error"}
