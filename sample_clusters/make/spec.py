"""What a sample cluster is made of, and where its files go."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from checks import catalogue
from checks.nodesets import fold

HERE = Path(__file__).parent.parent
START = datetime(2026, 3, 4, 2, 30, 0, tzinfo=UTC)
WINDOW_S = 60
USER = "mlops"
"""Whose job runs."""
RANK_PIDS = tuple(str(81234 + rank) for rank in range(8))
"""The job's processes on every node, one a GPU."""


@dataclass(frozen=True)
class Spec:
    """One sample cluster.

    Every node has `rails` RDMA ports eth2, eth3, … (mlx5_0, mlx5_1, … in the same order), a storage port eth1
    (the RDMA device after the rails, LNet o2ib over it) and a management port eth0. Nodes hang in order on the
    leaves, `nodes_per_leaf` each with all their rails: node i (from 0) of a leaf has rail k on switch port
    Ethernet{4*(i*rails+k)}; uplinks follow from Ethernet{4*down_ports} on, the first half to spine01, the second to
    spine02. Rates in Gbit/s, memory in GiB.
    """

    name: str
    nodes: int
    nodes_per_leaf: int
    rails: int
    nic_gbps: int
    gpu: Literal["A800", "H100"]
    cores: int
    memory_gib: int
    ost_count: int
    stripe_count: int
    story: Literal["healthy", "default-stripe", "cpu-starved", "heartbeat-loss"] = "healthy"
    checkpoint_file_gb: int = 120
    digits: int = 3
    up_ports: int = 0
    description: dict[str, str] = field(default_factory=dict)

    @property
    def down_ports(self) -> int:
        """Node-facing ports of a leaf."""
        return self.nodes_per_leaf * self.rails

    @property
    def uplinks(self) -> int:
        """Spine-facing ports of a leaf; as many as node-facing ones unless said otherwise."""
        return self.up_ports or self.down_ports

    @property
    def gpu_nodes(self) -> list[str]:
        """gpu001, gpu002, …"""
        return [f"gpu{i + 1:0{self.digits}d}" for i in range(self.nodes)]

    @property
    def gpu_set(self) -> str:
        """All GPU nodes folded: the folder that speaks for all of them."""
        return fold(self.gpu_nodes)

    @property
    def leaves(self) -> list[str]:
        """leaf01, leaf02, …"""
        return [f"leaf{i + 1:02d}" for i in range(self.nodes // self.nodes_per_leaf)]

    @property
    def spines(self) -> list[str]:
        """Always two."""
        return ["spine01", "spine02"]

    @property
    def rdma_interfaces(self) -> list[str]:
        """eth2, eth3, … in rail order."""
        return [f"eth{2 + k}" for k in range(self.rails)]

    def under(self, leaf: str) -> list[str]:
        """GPU nodes of a leaf."""
        i = self.leaves.index(leaf)
        return self.gpu_nodes[i * self.nodes_per_leaf : (i + 1) * self.nodes_per_leaf]

    def port_of(self, node: str, rail: int) -> tuple[str, str]:
        """(leaf, switch port) that a rail of a node is cabled to."""
        i = self.gpu_nodes.index(node)
        leaf = self.leaves[i // self.nodes_per_leaf]
        return leaf, f"Ethernet{4 * ((i % self.nodes_per_leaf) * self.rails + rail)}"

    def uplink_ports(self) -> list[tuple[str, str]]:
        """(port, spine) of the uplinks of any leaf."""
        half = self.uplinks // 2
        return [
            (f"Ethernet{4 * (self.down_ports + j)}", self.spines[0] if j < half else self.spines[1])
            for j in range(self.uplinks)
        ]


def taken_at(round: int) -> datetime:
    """Time of a round (1 or 2)."""
    return START + timedelta(seconds=WINDOW_S * (round - 1))


class Writer:
    """Puts recorded outputs where the contract wants them."""

    def __init__(self, root: Path, *, rounds: bool = True) -> None:
        self.root, self.rounds = root, rounds

    def put(
        self,
        round: int,
        folder: str,
        command: str,
        text: str | bytes,
        *params: str,
        sample: int = 1,
        status: int = 0,
        stderr: str = "",
    ) -> None:
        """One output of `command` for the node, node set or role `folder` in a round."""
        stem = catalogue.get(command).stem(params) + (f"~{sample}" if sample > 1 else "")
        target = self._folder(round, folder)
        data = text.encode() if isinstance(text, str) else text
        (target / f"{stem}.txt").write_bytes(data)
        if status:
            (target / f"{stem}.status").write_text(f"{status}\n")
        if stderr:
            (target / f"{stem}.stderr").write_text(stderr)

    def absent(self, round: int, folder: str, command: str, *params: str) -> None:
        """In an overlay: this command was not recorded for these nodes."""
        (self._folder(round, folder) / f"{catalogue.get(command).stem(params)}.absent").write_bytes(b"")

    def unreachable(self, round: int, folder: str, said: str) -> None:
        """The nodes could not be asked."""
        (self._folder(round, folder) / "UNREACHABLE.txt").write_text(said + "\n")

    def _folder(self, round: int, folder: str) -> Path:
        target = self.root / f"round-{round}" / folder if self.rounds else self.root / folder
        target.mkdir(parents=True, exist_ok=True)
        return target


def fresh(folder: Path) -> Path:
    """An empty folder in place of whatever was there."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
