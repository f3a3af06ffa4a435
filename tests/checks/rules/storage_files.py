"""What the clients of a file system print, healthy or with one thing wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from checks.findings import Finding
from sample_clusters.make import storage
from sample_clusters.make.clusters import SPECS
from tests import builders

WIDE, NARROW = SPECS["a800-roce-256"], SPECS["lustre-default-stripe"]
NODES = "gpu[1-4]"
EMPTY = ("-- No entries --\n", 1)
DIR, FILE, MOUNT = storage.DIRECTORY, storage.NEWEST, storage.MOUNT
FINDMNT = """{"filesystems": [
 {"target":"/", "source":"/dev/md0", "fstype":"ext4", "options":"rw,relatime"},
 {"target":"/lustre", "source":"10.10.0.1@o2ib:10.10.0.2@o2ib:/lustre", "fstype":"lustre", "options":"rw,flock"}
]}
"""
LINKS = "".join(
    f"link mlx5_{k}/1 state ACTIVE physical_state LINK_UP netdev eth{2 + k if k < 4 else 1}\n" for k in range(5)
)
DF_LOCAL = (
    "Filesystem     Type 1024-blocks     Used Available Capacity Mounted on\n"
    "/dev/md0       ext4   943718400 94371840 849346560      10% /\n"
    "/dev/md1       xfs  14680064000 94371840 999346560      12% /cache\n"
)
LUSTRE: dict[str, Any] = {
    "storage": {"kind": "lustre", "mount": MOUNT, "checkpoint_dir": DIR, "checkpoint_file_gb": 120},
    "interfaces": {"rdma": ["eth2", "eth3", "eth4", "eth5"], "storage": ["eth1"], "management": ["eth0"]},
}
SERVERS: dict[str, Any] = {
    **LUSTRE,
    "roles": {"gpu-node": {"nodes": NODES}, "storage-server": {"nodes": "oss[1-2]"}},
}


def healthy() -> dict[Any, Any]:
    """What four clients of a busy and healthy file system print."""
    files: dict[Any, Any] = {
        ("gpu1", "lfs-getstripe", DIR): storage.directory(WIDE),
        ("gpu1", "lfs-getstripe-file", FILE): storage.newest(WIDE),
        ("gpu1", "lfs-df", MOUNT): storage.space(WIDE),
        ("gpu1", "lfs-dfi", MOUNT): storage.inodes(WIDE),
        (NODES, "lctl-import"): storage.imports(WIDE),
        (NODES, "lctl-osc-tune"): storage.tunables(WIDE),
        (NODES, "lctl-rpc-stats"): storage.rpcs(WIDE),
        (NODES, "lustre-log"): EMPTY,
        (NODES, "findmnt"): FINDMNT,
        (NODES, "rdma-link"): LINKS,
        (1, NODES, "lctl-llite-stats"): storage.llite(1),
        (2, NODES, "lctl-llite-stats"): storage.llite(2),
    }
    for i in range(4):
        files[(f"gpu{i + 1}", "lnet")] = storage.lnet(WIDE, i)
    return files


def found(check: str, changed: Mapping[Any, Any] | None = None, spec: Mapping[str, Any] = LUSTRE) -> list[Finding]:
    return builders.findings(check, {**healthy(), **(changed or {})}, spec)


def without(command: str) -> dict[Any, Any]:
    return {k: v for k, v in healthy().items() if command not in k}


def narrow() -> dict[Any, Any]:
    return {
        ("gpu1", "lfs-getstripe", DIR): storage.directory(NARROW),
        ("gpu1", "lfs-getstripe-file", FILE): storage.newest(NARROW),
        ("gpu1", "lfs-df", MOUNT): storage.space(NARROW),
    }
