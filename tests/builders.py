"""Short ways to build what rules and walks look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from checks import judge, rules
from checks.findings import Finding
from checks.inventory import Cluster, ClusterFile
from checks.nodesets import expand
from checks.outputs import NotAvailable, Output
from checks.view import View

START = datetime(2026, 3, 4, 2, 30, tzinfo=UTC)

Key = tuple[Any, ...]


class MemoryStore:
    """A store filled by hand. Keys: (nodes, command, *params) or with a leading round number; `~n` marks a sample.

    Values are text, bytes, an exit status (int), a (text, status) pair, or NotAvailable.
    """

    def __init__(
        self,
        files: Mapping[Key, Any],
        *,
        seconds: float = 60.0,
        attachments: Mapping[str, str] | None = None,
        taken: bool = True,
    ) -> None:
        self._outputs: dict[tuple[str, str, tuple[str, ...], int, int], Output | NotAvailable] = {}
        self._seconds, self._taken = seconds, taken
        self._attachments = attachments or {}
        numbers = {k[0] for k in files if isinstance(k[0], int)} or {1}
        self._rounds = tuple(sorted(numbers))
        for key, value in files.items():
            rounds = (key[0],) if isinstance(key[0], int) else self._rounds
            nodes, command, *params = key[1:] if isinstance(key[0], int) else key
            command, _, sample = str(command).partition("~")
            for number in rounds:
                for node in expand(nodes):
                    self._outputs[(node, command, tuple(params), number, int(sample or 1))] = self._output(
                        node, command, tuple(params), number, int(sample or 1), value
                    )

    def _output(
        self, node: str, command: str, params: tuple[str, ...], round: int, sample: int, value: Any
    ) -> Output | NotAvailable:
        if isinstance(value, NotAvailable):
            return value
        text, status = value if isinstance(value, tuple) else ("", value) if isinstance(value, int) else (value, 0)
        data = text.encode() if isinstance(text, str) else text
        return Output(node, command, params, round, data, b"", status, sample, self.taken_at(round))

    @property
    def rounds(self) -> Sequence[int]:
        return self._rounds

    def get(self, node: str, command: str, params: tuple[str, ...], round: int, sample: int) -> Output | NotAvailable:
        missing = NotAvailable("not-recorded", "not recorded")
        return self._outputs.get((node, command, params, round, sample), missing)

    def params(self, node: str, command: str) -> Sequence[tuple[str, ...]]:
        return sorted({k[2] for k in self._outputs if k[:2] == (node, command) and k[2]})

    def samples(self, node: str, command: str, params: tuple[str, ...], round: int) -> int:
        return max((k[4] for k in self._outputs if k[:4] == (node, command, params, round)), default=0)

    def attachment(self, kind: str) -> Sequence[tuple[str, bytes]]:
        return [
            (name.partition("@")[2], text.encode())
            for name, text in self._attachments.items()
            if name.partition("@")[0] == kind
        ]

    def taken_at(self, round: int) -> datetime | None:
        return START + timedelta(seconds=self._seconds * (round - 1)) if self._taken else None


def cluster(**spec: Any) -> Cluster:
    """A cluster from the keys of `cluster.yaml`; by default four GPU nodes, two leaves, a Slurm head."""
    base: dict[str, Any] = {
        "name": "test",
        "roles": {
            "gpu-node": {"nodes": "gpu[1-4]", "expect": {"gpus": 8}},
            "switch-leaf": {"nodes": "leaf[1-2]", "os": "sonic"},
            "scheduler": "head",
        },
    }
    return Cluster(ClusterFile.model_validate({**base, **spec}))


def view(files: Mapping[Key, Any], spec: Mapping[str, Any] | None = None, **store: Any) -> View:
    """A view over files given by hand; see `MemoryStore` for the keys.

    Boot ids are given for both rounds unless the files have `boot` themselves.
    """
    made = cluster(**(spec or {}))
    files = dict(files)
    if not any("boot" in key for key in files):
        for node in made.nodes():
            files[(node, "boot")] = "5f1b4a3e-0c9a-4a57-8d5e-0d6f0b0e2a11\n864000.10 1000.00\n"
    return View(made, MemoryStore(files, **store))


def findings(
    check: str, files: Mapping[Key, Any], spec: Mapping[str, Any] | None = None, **store: Any
) -> list[Finding]:
    """The findings of one check over files given by hand, worst first."""
    rule = rules.get(check)
    assert rule is not None, f"no check {check}"
    return judge.judge(rule, view(files, spec, **store))
