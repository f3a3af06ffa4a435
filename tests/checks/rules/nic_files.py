"""A healthy cluster of eight nodes on two leaves as the sample maker writes it, and ways to break one node of it."""

from __future__ import annotations

from typing import Any

from checks.findings import Finding
from checks.nodesets import expand
from sample_clusters.make import nic
from sample_clusters.make.spec import Spec
from tests import builders

SPEC = Spec("test", 8, 4, 4, 200, "A800", 128, 2048, 48, 32)
CLUSTER: dict[str, Any] = {
    "roles": {
        "gpu-node": {"nodes": SPEC.gpu_set, "expect": {"gpus": 8, "rdma_nics": 4, "nic_gbps": 200}},
        "switch-leaf": {"nodes": "leaf[01-02]", "os": "sonic"},
    },
    "fabric": {"kind": "roce", "mtu": 9000, "lossless_priority": 3, "dscp": 26, "port_gbps": 200},
    "interfaces": {"rdma": SPEC.rdma_interfaces, "storage": ["eth1"], "management": ["eth0"]},
}
INFINIBAND: dict[str, Any] = {
    **CLUSTER,
    "fabric": {"kind": "infiniband"},
    "interfaces": {"rdma": ["mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"]},
}

Files = dict[builders.Key, Any]


class Collected:
    """Stands in for the writer of recordings: keeps the outputs as the builders want them."""

    def __init__(self) -> None:
        self.files: Files = {}

    def put(self, round: int, folder: str, command: str, text: str, *params: str, status: int = 0, **_: object) -> None:
        for node in expand(folder):
            self.files[(round, node, command, *params)] = (text, status)


def healthy() -> Files:
    """Both rounds of all host-side network commands."""
    out = Collected()
    for number in (1, 2):
        nic.write(SPEC, out, number)  # type: ignore[arg-type]
    return out.files


def edit(
    files: Files, node: str, command: str, old: str, new: str, *params: str, rounds: tuple[int, ...] = (1, 2)
) -> Files:
    """The same with a text replaced in one node's output; the text must be there."""
    for number in rounds:
        key = (number, node, command, *params)
        if key in files:
            text, status = files[key]
            assert old in text, (key, old)
            files[key] = (text.replace(old, new), status)
    return files


def count(files: Files, node: str, command: str, name: str, first: int, last: int, *params: str) -> Files:
    """The same with a counter of one node set in both rounds (`name` as printed, up to the value)."""
    for number, value in ((1, first), (2, last)):
        key = (number, node, command, *params)
        text, status = files[key]
        assert name in text, name
        lines = [f"{x[: x.index(name)]}{name}{value}" if name in x else x for x in text.splitlines()]
        files[key] = ("\n".join(lines) + "\n", status)
    return files


def without(files: Files, command: str, *nodes: str) -> Files:
    """The same without a command, on some nodes or on all."""
    return {k: v for k, v in files.items() if k[2] != command or (nodes and k[1] not in nodes)}


def found(check: str, files: Files, spec: dict[str, Any] | None = None) -> list[Finding]:
    """Findings of a check, worst first."""
    return builders.findings(check, files, spec or CLUSTER)


def worst(check: str, files: Files, spec: dict[str, Any] | None = None) -> Finding:
    """The worst finding of a check."""
    return found(check, files, spec)[0]
