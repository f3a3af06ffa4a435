"""File systems and drives of a host: what is full, worn, failing, slow or gone, and what only looks so."""

from __future__ import annotations

from pathlib import Path

import pytest

from checks.findings import Status
from tests.checks.rules.planted import Change, found, odd_one

NODE = "gpu002"
DRIVE = (NODE, "nvme-smart", "/dev/nvme1n1")
AT = "2026-03-04T02:20:11+0000 gpu002 kernel: "
HEAD = "Filesystem      1024-blocks       Used  Available Capacity Mounted on\n"
OLD_AT = AT.replace("03-04", "02-25")
Case = tuple[str, dict[tuple[object, ...], Change], Status, tuple[str, ...], str, str]


def used(pct: int, mount: str, source: str = "/dev/sda7") -> Change:
    return lambda t: t + f"{source} 1000000 {pct * 10000} {(100 - pct) * 10000} {pct}% {mount}\n"


def smart(name: str, value: str) -> Change:
    return lambda t: "".join(f'  "{name}": {value},\n' if f'"{name}"' in x else x for x in t.splitlines(keepends=True))


def waits(ms: str) -> Change:
    return lambda t: t.replace('"w_await": 0.21', f'"w_await": {ms}')


FAULTS: dict[str, Case] = {
    # name: check, changes, status, entities, certainty, a part of the first quote
    "the root is filling up": (
        "host.disk_space",
        {(NODE, "df-local"): lambda t: t.replace("27% /\n", "82% /\n")},
        Status.WARN,
        ("gpu002:/",),
        "established",
        "82% /",
    ),
    "/var is full": (
        "host.disk_space",
        {(NODE, "df-local"): used(97, "/var/lib")},
        Status.CRITICAL,
        ("gpu002:/var/lib",),
        "established",
        "97% /var/lib",
    ),
    "the spool of the scheduler's own host is full": (
        "host.disk_space",
        {("head01", "df-local"): used(91, "/var/spool")},
        Status.CRITICAL,
        ("head01:/var/spool",),
        "established",
        "91% /var/spool",
    ),
    "inodes are short": (
        "host.disk_space",
        {(NODE, "df-inodes"): used(88, "/tmp")},
        Status.WARN,
        ("gpu002:/tmp",),
        "established",
        "88% /tmp",
    ),
    "inodes are gone": (
        "host.disk_space",
        {(NODE, "df-inodes"): used(92, "/tmp")},
        Status.CRITICAL,
        ("gpu002:/tmp",),
        "established",
        "92% /tmp",
    ),
    "a full root is told though the inodes are not known": (
        "host.disk_space",
        {(NODE, "df-local"): lambda t: t.replace("27% /\n", "99% /\n"), (NODE, "df-inodes"): ("", 127)},
        Status.CRITICAL,
        ("gpu002:/",),
        "established",
        "99% /",
    ),
    "media errors": (
        "host.nvme",
        {DRIVE: smart("media_errors", "12")},
        Status.WARN,
        ("gpu002:nvme1n1",),
        "established",
        '"media_errors": 12',
    ),
    "spare blocks below the drive's own limit": (
        "host.nvme",
        {DRIVE: smart("avail_spare", "4")},
        Status.CRITICAL,
        ("gpu002:nvme1n1",),
        "established",
        '"avail_spare": 4',
    ),
    "worn out": (
        "host.nvme",
        {DRIVE: smart("percent_used", "104")},
        Status.CRITICAL,
        ("gpu002:nvme1n1",),
        "established",
        '"percent_used": 104',
    ),
    "an array without a member": (
        "host.nvme",
        {
            (NODE, "mdstat"): "Personalities : [raid1]\nmd0 : active raid1 nvme1n1p1[1](F) nvme0n1p1[0]\n"
            "      488254464 blocks super 1.2 [2/1] [U_]\n\nunused devices: <none>\n"
        },
        Status.WARN,
        ("gpu002:md0",),
        "established",
        "nvme1n1p1[1](F)",
    ),
    "timeouts in the log": (
        "host.nvme",
        {(NODE, "disk-log"): f"{AT}nvme nvme3: I/O 812 QID 4 timeout, aborting\n"},
        Status.WARN,
        ("gpu002:nvme3",),
        "established",
        "QID 4 timeout",
    ),
    "a file system that turned read-only last week": (
        "host.nvme",
        {(NODE, "disk-log"): f"{OLD_AT}EXT4-fs (nvme0n1p2): Remounting filesystem read-only\n"},
        Status.CRITICAL,
        ("gpu002:nvme0n1p2",),
        "established",
        "read-only",
    ),
    "slow writes on one node": (
        "host.nvme",
        {(NODE, "iostat"): waits("48.50")},
        Status.WARN,
        (),
        "hypothesis",
        '"w_await": 48.50',
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_told_with_its_place_and_how_sure_it_is(name: str, tmp_path: Path) -> None:
    check, changes, status, entities, certainty, quoted = FAULTS[name]
    node = str(next(iter(changes))[0])
    bad = odd_one(found(check, tmp_path, changes), node)
    assert (bad.status, bad.entities, bad.certainty) == (status, entities, certainty)
    assert bad.faults == ({"host.disk_space": "host-disk-full", "host.nvme": "host-nvme"}[check],)
    assert quoted in " ".join(e.text for e in bad.evidence)
    assert bad.observed


HERRINGS: dict[str, tuple[str, dict[tuple[object, ...], Change]]] = {
    "a cache of the data set fills its own drive": ("host.disk_space", {(NODE, "df-local"): used(97, "/local")}),
    "a layer of a container shows the file system below it": (
        "host.disk_space",
        {(NODE, "df-local"): used(99, "/var/lib/docker/overlay2/4f/merged", "overlay")},
    ),
    "a directory whose name only begins alike": ("host.disk_space", {(NODE, "df-local"): used(99, "/variants")}),
    "a limit that is only reached": (
        "host.disk_space",
        {(NODE, "df-local"): lambda t: t.replace("27% /\n", "80% /\n")},
    ),
    "a host bus that resets without losing anything, last week": (
        "host.nvme",
        {(NODE, "disk-log"): f"{OLD_AT}nvme nvme3: I/O 812 QID 4 timeout, aborting\n"},
    ),
    "unsafe shutdowns and entries of the error log": (
        "host.nvme",
        {DRIVE: lambda t: t.replace('"unsafe_shutdowns": 3', '"unsafe_shutdowns": 412')},
    ),
    "one slow sample of three": (
        "host.nvme",
        {(NODE, "iostat"): lambda t: t.replace('"w_await": 0.21', '"w_await": 95.00', 4)},
    ),
    "a node without software RAID": (
        "host.nvme",
        {(NODE, "mdstat"): ("cat: /proc/mdstat: No such file or directory\n", 1)},
    ),
    "an array that checks itself": (
        "host.nvme",
        {
            (NODE, "mdstat"): "Personalities : [raid1]\nmd0 : active raid1 nvme1n1p1[1] nvme0n1p1[0]\n"
            "      488254464 blocks super 1.2 [2/2] [UU]\n"
            "      [=>...........]  check =  6.3% (1/2) finish=9.9min speed=1K/sec\n\nunused devices: <none>\n"
        },
    ),
    "no nvme tool for the list, and every drive has answered": ("host.nvme", {(NODE, "nvme-list"): ("", 127)}),
}


@pytest.mark.parametrize("name", HERRINGS)
def test_what_only_looks_bad_stays_ok(name: str, tmp_path: Path) -> None:
    check, changes = HERRINGS[name]
    findings = found(check, tmp_path, changes)
    assert {f.status for f in findings} == {Status.OK}, findings


def test_writes_that_wait_on_every_node_accuse_no_drive(tmp_path: Path) -> None:
    changes: dict[tuple[object, ...], Change] = {(f"gpu00{n}", "iostat"): waits("48.50") for n in range(1, 5)}
    assert {f.status for f in found("host.nvme", tmp_path, changes)} == {Status.OK}


def test_a_drive_that_neither_answers_nor_is_listed_is_missing(tmp_path: Path) -> None:
    def three(text: str) -> str:
        start = text.index("    {", text.index("nvme2n1") - 60 if "nvme2n1" in text else 0)
        return text[: text.rindex(",\n", 0, start)] + "\n  ]\n}\n"

    changes: dict[tuple[object, ...], Change] = {
        (NODE, "nvme-list"): three,
        (NODE, "nvme-smart", "/dev/nvme2n1"): ("/dev/nvme2n1: No such file or directory\n", 1),
        (NODE, "nvme-smart", "/dev/nvme3n1"): ("/dev/nvme3n1: No such file or directory\n", 1),
    }
    bad = odd_one(found("host.nvme", tmp_path, changes), NODE)
    assert (bad.status, bad.faults, bad.certainty) == (Status.WARN, ("host-nvme",), "established")
    assert {o.name: o.value for o in bad.observed} == {"NVMe drives": 2, "expected": 4}


def test_a_list_of_drives_that_is_cut_off_makes_no_drive_missing(tmp_path: Path) -> None:
    changes: dict[tuple[object, ...], Change] = {
        (NODE, "nvme-list"): lambda t: t[: t.index("nvme2n1")],
        (NODE, "nvme-smart", "/dev/nvme3n1"): ("", 124),
    }
    assert odd_one(found("host.nvme", tmp_path, changes), NODE).status == Status.UNKNOWN
