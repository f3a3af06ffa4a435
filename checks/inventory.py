"""The cluster file: which nodes there are, what is expected of them, how to reach them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from checks import nodesets
from checks.findings import Model
from checks.thresholds import Thresholds
from common import yamlfile
from common.errors import InputError
from common.words import Text

Role = Literal[
    "gpu-node",
    "switch-leaf",
    "switch-spine",
    "switch-core",
    "storage-client",
    "storage-server",
    "scheduler",
    "fabric-manager",
    "endpoint",
    "login",
]
SWITCHES: tuple[Role, ...] = ("switch-leaf", "switch-spine", "switch-core")
HOST_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,254}", re.ASCII)
USER_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@\\+-]{0,254}", re.ASCII)
JUMP_HOST = re.compile(rf"(?:{USER_NAME.pattern}@)?(?:{HOST_NAME.pattern}|\[[0-9A-Fa-f:.]+\](?::\d+)?)", re.ASCII)
"""What a cluster file may call things that become words of an `ssh` command line and names of folders: a file from a
stranger must not pass options to `ssh`, commands to its shell, or paths to whoever records."""


class Expect(Model):
    """What a node of a role should have. `memory_gib` is nominal, 5 % tolerance; rates in Gbit/s per port."""

    gpus: int | None = None
    gpu_model: str | None = None
    rdma_nics: int | None = None
    nic_gbps: float | None = None
    cores: int | None = None
    memory_gib: float | None = None
    nvme: int | None = None


class RoleSpec(Model):
    """Nodes of one role."""

    nodes: str
    os: Literal["sonic", "cumulus", "eos", "nxos", "onyx"] | None = None
    expect: Expect = Expect()

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"nodes": value} if isinstance(value, str) else value

    @field_validator("nodes")
    @classmethod
    def _set(cls, value: str) -> str:
        for node in nodesets.expand(value):
            if not HOST_NAME.fullmatch(node):
                raise ValueError(f"not a host name: {node!r}")
        return value


class Fabric(Model):
    """The compute fabric. Rates in Gbit/s, MTU in bytes."""

    kind: Literal["roce", "infiniband", "ethernet"] = "roce"
    mtu: int | None = None
    lossless_priority: int | None = Field(None, ge=0, le=7)
    dscp: int | None = Field(None, ge=0, le=63)
    leaf_down_ports: int | None = Field(None, ge=1)
    leaf_up_ports: int | None = Field(None, ge=0)
    port_gbps: float | None = Field(None, gt=0)


class Storage(Model):
    """The shared file system of the job. Sizes in GB (10^9 bytes)."""

    kind: Literal["lustre", "nfs", "gpfs", "beegfs", "ceph", "object", "local"] | None = None
    mount: str | None = None
    checkpoint_dir: str | None = None
    checkpoint_file_gb: float | None = Field(None, gt=0)


class Scheduler(Model):
    """What starts the jobs."""

    kind: Literal["slurm", "kubernetes"] | None = None


class Workload(Model):
    """What runs, and how fast it should."""

    kind: Literal["training", "inference", "mixed"] | None = None
    nominal_tokens_per_s: float | None = None
    step_s: float | None = None


class Access(Model):
    """How to reach the nodes; everything optional, `~/.ssh/config` is honoured."""

    user: str | None = None
    jump: tuple[str, ...] = ()
    port: int | None = Field(None, ge=1, le=65535)
    via: Literal["auto", "ssh", "clustershell", "local"] = "auto"
    sudo: bool = False

    @field_validator("user")
    @classmethod
    def _user(cls, value: str | None) -> str | None:
        if value is not None and not USER_NAME.fullmatch(value):
            raise ValueError(f"not a user name: {value!r}")
        return value

    @field_validator("jump")
    @classmethod
    def _jump(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for hop in value:
            if not JUMP_HOST.fullmatch(hop):
                raise ValueError(f"not a jump host: {hop!r}")
        return value


class Interfaces(Model):
    """Ports by use; `rdma` in rail order, by network device or RDMA device."""

    rdma: tuple[str, ...] = ()
    storage: tuple[str, ...] = ()
    management: tuple[str, ...] = ()


class ClusterFile(Model):
    """`cluster.yaml`."""

    version: Literal[1] = 1
    name: str = ""
    description: Text = ""
    roles: dict[Role, RoleSpec] = {}
    groups: dict[str, dict[str, str]] = {}
    fabric: Fabric = Fabric()
    storage: Storage = Storage()
    scheduler: Scheduler = Scheduler()
    workload: Workload = Workload()
    access: Access = Access()
    interfaces: Interfaces = Interfaces()
    thresholds: dict[str, float | dict[str, float]] = {}

    @field_validator("groups")
    @classmethod
    def _groups(cls, value: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
        for members in value.values():
            for nodes in members.values():
                nodesets.expand(nodes)
        return value


class Cluster:
    """A cluster: its file, where it was read from, and answers about nodes and roles.

    `inferred` is true when there was no cluster file and the roles were read off the recorded commands.
    """

    def __init__(self, spec: ClusterFile, folder: Path | None = None, *, inferred: bool = False) -> None:
        self.spec, self.folder, self.inferred = spec, folder, inferred
        try:
            self.thresholds = Thresholds(spec.thresholds)
        except InputError as error:
            raise InputError(error.message, file=folder / "cluster.yaml" if folder else None, fix=error.fix) from None

    @property
    def name(self) -> str:
        """Name of the cluster, or of its folder."""
        return self.spec.name or (self.folder.name if self.folder else "cluster")

    @cached_property
    def _by_role(self) -> dict[str, tuple[str, ...]]:
        roles: dict[str, tuple[str, ...]] = {r: nodesets.expand(s.nodes) for r, s in self.spec.roles.items()}
        # contract: a GPU node is a storage client unless the file says otherwise
        if "storage-client" not in roles and "gpu-node" in roles:
            roles["storage-client"] = roles["gpu-node"]
        return roles

    def nodes(self, *roles: str) -> tuple[str, ...]:
        """Nodes of the roles in order, each once; all nodes of the cluster without roles."""
        wanted = roles or tuple(self._by_role)
        return tuple(dict.fromkeys(n for r in wanted for n in self._by_role.get(r, ())))

    def roles_of(self, node: str) -> tuple[str, ...]:
        """Roles of a node."""
        return tuple(r for r, nodes in self._role_sets.items() if node in nodes)

    @cached_property
    def _role_sets(self) -> dict[str, frozenset[str]]:
        return {r: frozenset(nodes) for r, nodes in self._by_role.items()}

    def os_of(self, node: str) -> str | None:
        """Operating system of a switch as the cluster file says; None for others."""
        for role in SWITCHES:
            if node in self._role_sets.get(role, ()):
                return self.spec.roles[role].os or "sonic"
        return None

    def expect(self, node: str) -> Expect:
        """What is expected of a GPU node; empty for others."""
        spec = self.spec.roles.get("gpu-node")
        return spec.expect if spec and node in self._role_sets["gpu-node"] else Expect()

    def group_of(self, kind: str, node: str) -> str | None:
        """Label of the node's group of a kind (rack, leaf, rail)."""
        for label, nodes in self.spec.groups.get(kind, {}).items():
            if node in nodesets.expand(nodes):
                return label
        return None

    def select(self, nodes: str | None) -> frozenset[str] | None:
        """The nodes a person named, checked against the inventory; None for no restriction.

        Raises:
            InputError: not a node set, or a node that the cluster does not have.
        """
        if not nodes:
            return None
        try:
            wanted = nodesets.expand(nodes)
        except nodesets.NodeSetError as error:
            raise InputError(str(error), fix="write it like gpu[001-008,017]") from None
        unknown = [n for n in wanted if n not in set(self.nodes())]
        if unknown:
            raise InputError(
                f"no such node in {self.name}: {nodesets.fold(unknown)}",
                fix=yamlfile.nearest(unknown[0], self.nodes())
                if len(self.nodes()) < 40
                else f"the cluster has {nodesets.fold(self.nodes())}",
            )
        return frozenset(wanted)

    def groups(self, kind: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """(label, nodes) of a kind of group."""
        for label, nodes in self.spec.groups.get(kind, {}).items():
            yield label, nodesets.expand(nodes)


def read(path: Path) -> Cluster:
    """A cluster from its `cluster.yaml` or the folder that holds one.

    Raises:
        InputError: with file, line and fix.
    """
    file = path / "cluster.yaml" if path.is_dir() else path
    spec = yamlfile.load(file, ClusterFile)
    return Cluster(spec, file.parent)
