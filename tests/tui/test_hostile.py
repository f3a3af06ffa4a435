"""Hostile text from nodes is harmless in every place that shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from common.safetext import HIDDEN
from tests.tui.pilot import press, running, screen_text, settled
from tests.tui.test_flows import to_the_end
from tui.screens.evidence import EvidenceScreen
from tui.screens.nodes import NodesScreen

HOSTILE = "[/] [up] [mlx5_0] [link/ether] [bold red]x[/bold red] \x1b[31mred\x1b[0m \x1b]0;title\x07 a\u202eb\u200bc "

CLUSTER = """\
version: 1
name: hostile
roles: {gpu-node: {nodes: "gpu[1-2]", expect: {gpus: 8}}}
scheduler: {kind: slurm}
"""


def hostile_cluster(folder: Path) -> Path:
    """A cluster whose nodes answer everything with hostile text."""
    nodes = folder / "recordings" / "round-1" / "gpu[1-2]"
    nodes.mkdir(parents=True)
    (folder / "cluster.yaml").write_text(CLUSTER)
    (folder / "recordings" / "round-1" / "round.yaml").write_text("taken_at: 2026-03-04T02:30:00Z\n")
    text = HOSTILE * 3 + "\n"
    for command in ("smi-list", "smi-core", "smi-perf", "psi", "loadavg", "findmnt", "rdma-link", "ib-port", "boot"):
        (nodes / f"{command}.txt").write_text(text)
    xid = f"2026-03-04T02:00:00+0000 gpu1 kernel: NVRM: Xid (PCI:0000:07:00): 79, pid=1, name={HOSTILE}, {HOSTILE}\n"
    (nodes / "xid-log.txt").write_text(xid + "x" * 1_000_000 + "\n")
    (folder / "recordings" / "round-1" / "gpu2").mkdir()
    (folder / "recordings" / "round-1" / "gpu2" / "UNREACHABLE.txt").write_text(HOSTILE + "\n")
    return folder


def harmless(shown: str) -> None:
    assert not HIDDEN.search(shown.replace("\n", ""))
    assert "title" not in shown.split("\n")[0]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_hostile_text_is_shown_as_text_on_every_screen(tmp_path: Path, size: tuple[int, int]) -> None:
    folder = hostile_cluster(tmp_path / "c")
    async with running(tmp_path / "j", str(folder), (), "triage", size=size) as pilot:
        harmless(await to_the_end(pilot))
        harmless(await press(pilot, "c"))
        harmless(await press(pilot, "r"))
        harmless(await press(pilot, "escape", "n"))
        assert isinstance(pilot.app.screen, NodesScreen)
        await press(pilot, "home")
        for _ in range(60):
            if isinstance(pilot.app.screen, EvidenceScreen):
                break
            await press(pilot, "down", "enter")
        assert isinstance(pilot.app.screen, EvidenceScreen)
        await settled(pilot)
        harmless(screen_text(pilot.app))
        harmless(await press(pilot, "tab", "pagedown", "end", "home"))


async def test_the_evidence_of_an_xid_shows_its_brackets(tmp_path: Path) -> None:
    folder = hostile_cluster(tmp_path / "c")
    from checks import judge, rules
    from checks.clusters import open_cluster
    from checks.view import View

    opened = open_cluster(str(folder))
    assert opened.replay is not None
    rule = rules.get("gpu.xid")
    assert rule is not None
    finding = judge.judge(rule, View(opened.cluster, opened.replay))[0]
    async with running(tmp_path / "j", str(folder), size=(160, 40)) as pilot:
        await pilot.app.push_screen(EvidenceScreen(finding, opened.store))
        await settled(pilot)
        shown = screen_text(pilot.app)
    assert "[/] [up]" in shown
    harmless(shown)
