"""Keyboard flows through the application."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from checks.clusters import SAMPLES
from common import words
from common.errors import UsageError
from tests.conftest import GOLDEN
from tests.tui.pilot import SMALL, WIDE, press, running, screen_text, settled, write
from tui import app as tui_app
from tui import keys
from tui.app import RacksideApp
from tui.screens.conclusion import ConclusionScreen
from tui.screens.evidence import EvidenceScreen
from tui.screens.home import HomeScreen
from tui.screens.nodes import NodesScreen
from tui.screens.report import ReportScreen
from tui.screens.walk import WalkScreen
from tui.shelves import read

FOUNDING = ("a800-roce-256", ("founding-case",), "training-slow")


async def to_the_end(pilot, tries: int = 12) -> str:  # type: ignore[no-untyped-def]
    """Answers what is asked with don't know, reads notes, until the walk has ended."""
    for _ in range(tries):
        screen = pilot.app.screen
        assert isinstance(screen, WalkScreen)
        if screen.session.walk.finished:
            break
        request = screen.request
        await press(pilot, "d" if type(request).__name__ == "AskOperator" else "enter")
    assert pilot.app.screen.session.walk.finished
    return screen_text(pilot.app)


@pytest.mark.parametrize("size", [SMALL, WIDE], ids=["80x24", "120x40"])
async def test_from_the_complaint_to_the_cause_and_the_lines_that_prove_it(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with running(tmp_path, *FOUNDING, size=size) as pilot:
        first = screen_text(pilot.app)
        assert "REPLAY" in first
        assert "a800-roce-256 + founding-case" in first
        assert "What changed" in first
        shown = await to_the_end(pilot)
        assert "fault found" in shown
        shown = await press(pilot, "c")
        assert isinstance(pilot.app.screen, ConclusionScreen)
        assert "leaf03" in shown
        assert "DISRUPTIVE" in shown
        await press(pilot, "home")
        while not isinstance(pilot.app.screen, EvidenceScreen):
            await press(pilot, "down", "enter")
        shown = screen_text(pilot.app)
        assert "limit:" in shown
        assert "source of the limit" in shown
        assert "sw-" in shown
        await press(pilot, "escape", "r")
        assert isinstance(pilot.app.screen, ReportScreen)
        assert "net-ecn-threshold-mismatch" in screen_text(pilot.app)


async def test_home_lists_clusters_complaints_and_sessions(tmp_path: Path) -> None:
    async with running(tmp_path) as pilot:
        shown = screen_text(pilot.app)
        assert isinstance(pilot.app.screen, HomeScreen)
        assert "heartbeat-loss" in shown
        assert "GPUs wait for data" in shown
        await press(pilot, "enter")
        shown = await press(pilot, "enter")
        assert isinstance(pilot.app.screen, WalkScreen), shown
        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, HomeScreen)
    assert len(list(tmp_path.glob("*"))) == 1


async def test_a_step_is_skipped_with_a_reason_undone_and_noted(tmp_path: Path) -> None:
    async with running(tmp_path, *FOUNDING) as pilot:
        walk = pilot.app.screen
        assert isinstance(walk, WalkScreen)
        question = walk.request.step  # type: ignore[union-attr]
        await press(pilot, "s")
        await write(pilot, "nobody knows")
        path = walk.session.walk.path
        assert (path[0].step, path[0].outcome, path[0].reason) == (question, "skipped", "nobody knows")
        await press(pilot, "b")
        assert walk.request.step == question  # type: ignore[union-attr]
        await press(pilot, "a")
        await write(pilot, "told the network team")
        document = walk.session.document()
        assert [n.text for n in document.notes] == ["told the network team"]


async def test_a_killed_walk_goes_on_from_its_journal(tmp_path: Path) -> None:
    async with running(tmp_path, *FOUNDING) as pilot:
        await press(pilot, "1")
        answered = dict(pilot.app.screen.session.walk.answers)  # type: ignore[union-attr]
        assert answered
    (journal,) = tmp_path.iterdir()
    journal.write_bytes(journal.read_bytes() + b'{"event": "answ')
    async with running(tmp_path, resume=journal) as pilot:
        screen = pilot.app.screen
        assert isinstance(screen, WalkScreen)
        assert dict(screen.session.walk.answers) == answered
        assert "founding-case" in screen_text(pilot.app)


async def test_the_report_is_saved_where_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with running(tmp_path / "journals", *FOUNDING) as pilot:
        await to_the_end(pilot)
        await press(pilot, "r")
        shown = await press(pilot, "s")
        assert ".md" in shown
        await press(pilot, "enter")
    (saved,) = tmp_path.glob("*.md")
    assert "net-pfc-not-isolated" in saved.read_text()


async def test_the_nodes_view_shows_layers_worst_first_and_finds_a_node(tmp_path: Path) -> None:
    async with running(tmp_path, "a800-roce-256", ("founding-case",)) as pilot:
        await press(pilot, "n")
        assert isinstance(pilot.app.screen, NodesScreen)
        shown = await press(pilot, "u")
        first = next(line for line in shown.splitlines() if any(mark in line for mark in "✗!?✓"))
        assert "✗ critical" in first
        assert "network" in first
        await press(pilot, "slash")
        shown = await write(pilot, "gpu017")
        assert "gpu017" in shown


async def test_help_says_every_key_of_the_place_and_what_the_marks_mean(tmp_path: Path) -> None:
    async with running(tmp_path, *FOUNDING) as pilot:
        shown = await press(pilot, "question_mark")
        assert "never counts as healthy" in shown or "unknown" in shown
        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, WalkScreen)


async def test_every_screen_of_the_founding_case_fits_80_columns_and_names_a_way_on(tmp_path: Path) -> None:
    async with running(tmp_path, *FOUNDING) as pilot:
        shots = [screen_text(pilot.app), await to_the_end(pilot), await press(pilot, "c"), await press(pilot, "r")]
        for shown in shots:
            lines = shown.splitlines()
            assert len(lines) <= 24
            assert "esc" in lines[-1]
            assert "help" in lines[-1]


async def test_chinese_is_shown_where_there_are_words_for_it(tmp_path: Path) -> None:
    words.set_language("zh")
    try:
        async with running(tmp_path, *FOUNDING) as pilot:
            assert any("\u4e00" <= c <= "\u9fff" for c in screen_text(pilot.app))
    finally:
        words.set_language("en")


async def test_growing_and_shrinking_the_terminal_keeps_the_walk(tmp_path: Path) -> None:
    async with running(tmp_path, *FOUNDING) as pilot:
        for size in (WIDE, (60, 20), SMALL):
            await pilot.resize_terminal(*size)
            await settled(pilot)
            assert "What changed" in screen_text(pilot.app)


@pytest.mark.parametrize(("term", "terminal", "said"), [("dumb", True, "dumb"), ("xterm", False, "terminal")])
def test_it_refuses_where_it_cannot_draw(term: str, terminal: bool, said: str) -> None:
    assert said in tui_app.refuse(term, terminal).lower()


def test_run_without_a_terminal_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="terminal"):
        tui_app.run(None, (), None, None, tmp_path)


def test_every_key_is_documented_and_every_string_exists_in_both_languages() -> None:
    rows = keys.reference()
    assert len(rows) > 30
    assert all(cell and not cell.startswith("key.") for row in rows for cell in row)
    english, chinese = words._catalogue("en"), words._catalogue("zh")
    assert set(english) <= set(chinese)


async def test_an_unknown_cluster_is_told_on_the_screen(tmp_path: Path) -> None:
    async with running(tmp_path, "no-such-cluster") as pilot:
        assert "no cluster `no-such-cluster`" in screen_text(pilot.app).replace("\n", " ")


@pytest.mark.parametrize("name", ["home", "question", "conclusion"])
async def test_screens_stay_as_stored(tmp_path: Path, name: str, update_golden: bool) -> None:
    place = FOUNDING if name != "home" else (None, (), None)
    async with running(tmp_path, *place) as pilot:
        if name == "conclusion":
            await to_the_end(pilot)
            await press(pilot, "c")
        shown = screen_text(pilot.app)
    file = GOLDEN / f"{name}.txt"
    if update_golden:
        file.parent.mkdir(exist_ok=True)
        file.write_text(shown, encoding="utf-8")
    assert shown == file.read_text(encoding="utf-8"), "see the difference, then `make golden`"


def test_every_shipped_sample_is_on_the_shelf(tmp_path: Path) -> None:
    shelves = read(tmp_path)
    assert {row.name for row in shelves.clusters} == {
        p.name for p in SAMPLES.iterdir() if (p / "cluster.yaml").is_file()
    }


def test_the_application_class_stays_small() -> None:
    source = Path(tui_app.__file__).read_text().splitlines()
    start = next(i for i, line in enumerate(source) if line.startswith("class RacksideApp"))
    end = next(i for i, line in enumerate(source) if i > start and line.startswith("def "))
    assert end - start < 250


def test_a_journal_is_json_lines(tmp_path: Path) -> None:
    import asyncio

    async def walk() -> None:
        async with running(tmp_path, *FOUNDING) as pilot:
            await press(pilot, "1")

    asyncio.run(walk())
    (journal,) = tmp_path.iterdir()
    events = [json.loads(line)["event"] for line in journal.read_text().splitlines()]
    assert events[0] == "start"
    assert isinstance(RacksideApp.TITLE, str)
