"""Four leaves and two spines as the sample maker writes them, and ways to change what one of them prints."""

from __future__ import annotations

from typing import Any

from checks.findings import Finding
from checks.nodesets import expand
from sample_clusters.make import switch
from sample_clusters.make.spec import Spec
from sample_clusters.make.switch import Fabric
from tests import builders

SPEC = Spec("test", 16, 4, 2, 200, "A800", 128, 2048, 48, 32)
CLUSTER: dict[str, Any] = {
    "roles": {
        "gpu-node": {"nodes": SPEC.gpu_set},
        "switch-leaf": {"nodes": "leaf[01-04]", "os": "sonic"},
        "switch-spine": {"nodes": "spine[01-02]", "os": "sonic"},
    },
    "fabric": {
        "kind": "roce",
        "lossless_priority": 3,
        "dscp": 26,
        "leaf_down_ports": 8,
        "leaf_up_ports": 8,
        "port_gbps": 200,
    },
}
ALL = "leaf[01-04],spine[01-02]"
ROLES = {"switch-leaf": "leaf[01-04]", "switch-spine": "spine[01-02]"}

Files = dict[builders.Key, Any]


class Collected:
    """Stands in for the writer of recordings; what is written for a role does not hide what a switch has."""

    def __init__(self) -> None:
        self.files: Files = {}
        self.own: set[builders.Key] = set()

    def put(self, round: int, folder: str, command: str, text: str, *params: str, **_: object) -> None:
        for node in expand(ROLES.get(folder, folder)):
            key = (round, node, command, *params)
            if folder not in ROLES:
                self.own.add(key)
            if folder not in ROLES or key not in self.own:
                self.files[key] = text


def fabric(**changes: Any) -> Files:
    """Both rounds of all switch commands, healthy but for the changes of `Fabric`."""
    out = Collected()
    for number in (1, 2):
        switch.write(SPEC, out, number, Fabric(**changes))  # type: ignore[arg-type]
    return out.files


def edit(files: Files, node: str, command: str, old: str, new: str, *params: str, round: int = 1) -> Files:
    """The same with every occurrence of a text replaced in one output; the text must be there."""
    key = (round, node, command, *params)
    assert old in files[key], (key, old)
    files[key] = files[key].replace(old, new)
    return files


def without(files: Files, command: str, *nodes: str) -> Files:
    """The same without a command, on some switches or on all."""
    return {k: v for k, v in files.items() if k[2] != command or (nodes and k[1] not in nodes)}


def found(check: str, files: Files, spec: dict[str, Any] | None = None) -> list[Finding]:
    """Findings of a check, worst first."""
    return builders.findings(check, files, spec or CLUSTER)


def worst(check: str, files: Files, spec: dict[str, Any] | None = None) -> Finding:
    """The worst finding."""
    return found(check, files, spec)[0]
