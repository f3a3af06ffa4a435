"""What is asked of a living cluster covers what the rules look at."""

from collections.abc import Iterator
from typing import Any

import pytest

from checks import judge, plan, rules
from checks.clusters import SAMPLES, Opened, open_cluster, samples
from checks.outputs import NotAvailable, Output
from checks.rules import Rule
from checks.transports.replay import Replay
from checks.view import View
from tests.builders import view as build


class Watched:
    """A recording that notes which outputs were looked at."""

    def __init__(self, replay: Replay) -> None:
        self.replay = replay
        self.seen: set[tuple[str, str, tuple[str, ...]]] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.replay, name)

    def get(self, node: str, command: str, params: tuple[str, ...], round: int, sample: int) -> Output | NotAvailable:
        found = self.replay.get(node, command, params, round, sample)
        if isinstance(found, Output):
            self.seen.add((node, command, params))
        return found


def _looked_at(opened: Opened, rule: Rule) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    assert opened.replay is not None
    watched = Watched(opened.replay)
    list(judge.judge(rule, View(opened.cluster, watched)))
    yield from sorted(watched.seen)


@pytest.mark.parametrize("name", samples())
def test_every_output_a_rule_looks_at_is_asked_of_a_living_cluster(name: str) -> None:
    opened = open_cluster(name)
    assert opened.replay is not None
    for rule in rules.every():
        view = View(opened.cluster, opened.replay)
        # a file of the checkpoint is named by the person who asks
        view.paths = tuple(p for n in opened.cluster.nodes() for (p,) in opened.replay.params(n, "lfs-getstripe-file"))
        asked = {w.node + w.command for step in (plan.simple, plan.with_parameters) for w in step([rule], view)}
        missed = [seen for seen in _looked_at(opened, rule) if seen[0] + seen[1] not in asked]
        assert not missed, f"{rule.id} looks at {missed[0]} of {SAMPLES / name}, which nobody asks for"


def test_values_of_parameters_come_from_what_the_node_lists() -> None:
    apps = (
        "gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n"
        "GPU-1f2e3d4c-0000-0000-0000-000000000001, 4711, python, 9 MiB"
    )
    drives = (
        '{"Devices":[{"DevicePath":"/dev/nvme0n1","ModelNumber":"X"},'
        '{"DevicePath":"/dev/nvme1n1; reboot","ModelNumber":"X"}]}'
    )
    view = build({("gpu1", "smi-apps"): apps, ("gpu1", "nvme-list"): drives})
    chosen = [r for r in rules.every() if r.id in ("training-run.nccl_env", "host.nvme")]
    asked = {(w.command, w.params) for w in plan.with_parameters(chosen, view)}
    assert ("proc-env", ("4711",)) in asked
    assert ("nvme-smart", ("/dev/nvme0n1",)) in asked
    assert not [p for _, values in asked for p in values if "reboot" in p]


def test_a_path_the_person_names_is_asked_about_as_the_directory_or_the_file_it_is() -> None:
    view = build({}, {"storage": {"kind": "lustre", "mount": "/l"}})
    view.paths = ("/l/ckpt", "/l/ckpt/step-100.pt")
    chosen = [r for r in rules.every() if r.id == "storage.striping"]
    asked = {(w.command, w.params) for w in plan.with_parameters(chosen, view)}
    assert {("lfs-getstripe", ("/l/ckpt",)), ("lfs-getstripe-file", ("/l/ckpt/step-100.pt",))} <= asked
    assert ("lfs-getstripe-file", ("/l/ckpt",)) not in asked
