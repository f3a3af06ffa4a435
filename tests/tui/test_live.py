"""The application over living nodes: real SSH servers on loopback, one of them down at first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from checks.clusters import Asking, Opened, open_live
from tests.checks.transports.sshd import Fleet, make_fleet
from tests.tui.pilot import WIDE, press, screen_text, settled
from tui.app import RacksideApp
from tui.screens.nodes import NodesScreen
from tui.screens.walk import WalkScreen

CLUSTER = """\
version: 1
name: three
roles: {gpu-node: "gpu[1-3]"}
access: {user: root}
"""


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    made = make_fleet(tmp_path)
    try:
        for node in ("gpu1", "gpu2"):
            made.start(node)
        with (tmp_path / "config").open("a") as file:
            file.write("Host gpu3\n  HostName 127.1.0.3\n" + f"  Port {made.port}\n  IdentityFile {made.key}\n")
            file.write(f"  UserKnownHostsFile {tmp_path}/known_hosts\n  IdentityAgent none\n")
        yield made
    finally:
        made.stop()


def opened(folder: Path) -> Opened:
    (folder / "cluster").mkdir()
    (folder / "cluster" / "cluster.yaml").write_text(CLUSTER)
    asking = Asking(ssh_config=folder / "config", record=folder / "kept", window_s=0)
    return open_live(str(folder / "cluster"), asking)


async def test_a_walk_over_living_nodes_names_those_that_failed_and_asks_them_again(
    fleet: Fleet, tmp_path: Path
) -> None:
    app = RacksideApp("three", (), "nodes-lost", journal_dir=tmp_path / "journals", opened=opened(tmp_path))
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        assert "LIVE ● REC" in screen_text(app)
        for _ in range(20):
            screen = app.screen
            assert isinstance(screen, WalkScreen)
            if screen.session.walk.finished:
                break
            await press(pilot, "d" if type(screen.request).__name__ == "AskOperator" else "enter")
        live = app.screen.session.opened.live
        assert set(live.failures) == {"gpu3"}
        assert (tmp_path / "kept" / "recordings" / "round-1" / "gpu3" / "UNREACHABLE.txt").is_file()
        before = app.screen.session.walk.replies
        # the node comes back; one key asks it again and judges the whole walk anew
        fleet.start("gpu3")
        assert fleet.nodes["gpu3"] == "127.1.0.3"
        await press(pilot, "R")
        await settled(pilot)
        assert live.failures == {}
        assert app.screen.session.walk.finished
        assert len(app.screen.session.walk.replies) == len(before)
        assert not any("gpu3" in u.nodes and "could not be asked" in u.reason for u in app.screen.session.walk.unknown)
        assert not (tmp_path / "kept" / "recordings" / "round-1" / "gpu3" / "UNREACHABLE.txt").exists()


async def test_the_nodes_view_asks_a_row_of_nodes_again(fleet: Fleet, tmp_path: Path) -> None:
    app = RacksideApp("three", (), "=nodes", journal_dir=tmp_path / "journals", opened=opened(tmp_path))
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        screen = app.screen
        assert isinstance(screen, NodesScreen)
        live = screen.opened.live
        assert live is not None
        assert set(live.failures) == {"gpu3"}
        asked = live.count
        fleet.start("gpu3")
        await press(pilot, "R")
        await settled(pilot)
        assert live.failures == {}
        assert live.count > asked


async def test_leaving_ends_the_connections(fleet: Fleet, tmp_path: Path) -> None:
    found = opened(tmp_path)
    app = RacksideApp("three", (), "=nodes", journal_dir=tmp_path / "journals", opened=found)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        assert found.live is not None
        assert found.live.connections.names
        await pilot.press("ctrl+q")
    assert not found.live.connections.names
