"""Worksheets by keyboard: from a question to a sheet, from a key to a result."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from checks import faults
from common import words
from tests.tui.pilot import SMALL, WIDE, press, running, screen_text, settled, write
from tui import desks, sheet_rows
from tui.screens import worksheet as module
from tui.screens.bars import BarsScreen, parts
from tui.screens.home import HomeScreen
from tui.screens.number import NumberScreen
from tui.screens.tornado import TornadoScreen
from tui.screens.worksheet import WorksheetScreen
from tui.screens.worksheets import WorksheetsScreen
from tui.widgets.bars import Bar, Bars
from tui.widgets.rows import Rows
from worksheets.engine import compute
from worksheets.library import Library
from worksheets.plan import Given
from worksheets.plan import load as load_plan

SHEET = "checkpoint-interval"


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE_S", 0.001)


@asynccontextmanager
async def sheet(
    journals: Path, slug: str = SHEET, size: tuple[int, int] = SMALL
) -> AsyncIterator[tuple[Pilot[int], WorksheetScreen]]:
    async with running(journals, size=size) as pilot:
        pilot.app.show_worksheet(slug)  # type: ignore[attr-defined]
        await shown(pilot)
        screen = pilot.app.screen
        assert isinstance(screen, WorksheetScreen)
        yield pilot, screen


async def shown(pilot: Pilot[int]) -> str:
    """Waits for the sheet and the ranges of its results."""
    screen = pilot.app.screen
    for _ in range(50):
        await settled(pilot)
        if isinstance(screen, WorksheetScreen) and screen.result is not None and screen.ranges_are_of_now:
            break
        await pilot.pause(0.01)
    return screen_text(pilot.app)  # type: ignore[arg-type]


async def to_field(pilot: Pilot[int], name: str) -> None:
    rows = pilot.app.screen.query_one("#inputs", Rows)
    await press(pilot, "home")
    for _ in rows.rows:
        if rows.chosen == name:
            return
        await press(pilot, "down")
    raise AssertionError(f"no field {name}")


def line_of(text: str, words: str) -> str:
    return next(line for line in text.splitlines() if words in line)


async def test_a_question_leads_to_its_sheet_and_escape_back_home(tmp_path: Path) -> None:
    async with running(tmp_path) as pilot:
        await press(pilot, "w")
        assert isinstance(pilot.app.screen, WorksheetsScreen)
        assert "Buy or rent" in screen_text(pilot.app)  # type: ignore[arg-type]
        text = await press(pilot, *"save", "space", *"often")
        assert "Buy or rent" not in text.splitlines()[2]
        assert "How often should the run save itself" in text
        await press(pilot, "enter")
        assert "W09" in await shown(pilot)
        await press(pilot, "escape", "escape")
        assert isinstance(pilot.app.screen, WorksheetsScreen)
        assert "Buy or rent" in screen_text(pilot.app)  # type: ignore[arg-type]
        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, HomeScreen)


async def test_words_that_no_sheet_knows_say_so_and_open_nothing(tmp_path: Path) -> None:
    async with running(tmp_path) as pilot:
        await press(pilot, "w")
        text = await press(pilot, *"xyzzy", "enter")
        assert "xyzzy" in text.splitlines()[2]
        assert isinstance(pilot.app.screen, WorksheetsScreen)


@pytest.mark.parametrize("size", [SMALL, WIDE], ids=["80x24", "120x40"])
async def test_every_key_of_a_value_is_computed_at_once(tmp_path: Path, size: tuple[int, int]) -> None:
    async with sheet(tmp_path, size=size) as (pilot, screen):
        await to_field(pilot, "known_mtbf")
        for text in ("1", "12", "120"):
            after = await press(pilot, text[-1])
            wanted = compute(SHEET, overrides={"known_mtbf": text}).rows["tau_young"].text()
            assert screen["tau_young"] == wanted
            assert wanted in after
        await press(pilot, "enter")
        assert screen.query_one("#inputs", Rows).chosen == "nodes"
        assert "typed" in screen_text(pilot.app)  # type: ignore[arg-type]


async def test_a_refused_value_names_field_value_and_range_and_keeps_the_last_good_result(tmp_path: Path) -> None:
    async with sheet(tmp_path) as (pilot, screen):
        await to_field(pilot, "ckpt_cost")
        text = await press(pilot, *"99999")
        told = " ".join(text.split())
        assert "ckpt_cost: 99 999 s is outside the allowed range" in told
        assert "0.1 s to 7 200 s" in told
        assert screen["tau_young"] == compute(SHEET, overrides={"ckpt_cost": 999}).rows["tau_young"].text()
        await press(pilot, "enter")
        assert screen.query_one("#editing").display, "a refused value is not taken"
        text = await press(pilot, "escape")
        assert "outside" not in text
        assert screen["ckpt_cost"] == compute(SHEET).inputs["ckpt_cost"].text()


async def test_units_are_taken_as_people_write_them(tmp_path: Path) -> None:
    async with sheet(tmp_path) as (pilot, screen):
        await to_field(pilot, "ckpt_cost")
        await press(pilot, "2", "space", "m", "i", "n", "down")
        assert screen["ckpt_cost"] == "120 s"
        assert screen.query_one("#inputs", Rows).chosen == "restart_cost"


async def test_undo_takes_one_change_back_through_all_sheets(tmp_path: Path) -> None:
    async with sheet(tmp_path) as (pilot, screen):
        before = screen["ckpt_cost"], screen["nodes"]
        await to_field(pilot, "ckpt_cost")
        await press(pilot, *"300", "enter")
        await to_field(pilot, "nodes")
        await press(pilot, *"512", "enter")
        assert screen["nodes"] == "512 nodes"
        await press(pilot, "u")
        assert (screen["ckpt_cost"], screen["nodes"]) == ("300 s", before[1])
        assert screen.query_one("#inputs", Rows).chosen == "nodes"
        await press(pilot, "u", "u")
        assert (screen["ckpt_cost"], screen["nodes"]) == before


async def test_a_value_is_given_back_to_its_default(tmp_path: Path) -> None:
    async with sheet(tmp_path) as (pilot, screen):
        before = screen["ckpt_cost"]
        await to_field(pilot, "ckpt_cost")
        await press(pilot, *"300", "up", "down", "x")
        assert screen["ckpt_cost"] == before


async def test_yes_and_no_and_choices_are_picked(tmp_path: Path) -> None:
    async with sheet(tmp_path) as (pilot, screen):
        assert screen["ckpt_async"] == "yes"
        await to_field(pilot, "ckpt_async")
        await press(pilot, "enter")
        assert screen["ckpt_async"] == "no"
        await press(pilot, "p")
        await shown(pilot)
        card = pilot.app.screen
        assert isinstance(card, WorksheetScreen)
        await to_field(pilot, "accelerator")
        before = card["accelerator"]
        await press(pilot, "enter", "down", "enter")
        assert card["accelerator"] != before


async def test_results_show_their_low_and_high_end_and_follow(tmp_path: Path) -> None:
    async with sheet(tmp_path, size=WIDE) as (pilot, screen):
        assert "tau_young" in screen.ranges
        low, high = screen.ranges["mtbf"].removesuffix(" h").split(" to ")
        assert float(low) < 187.5 < float(high)
        assert screen.ranges["mtbf"] in screen_text(pilot.app)  # type: ignore[arg-type]
        await to_field(pilot, "known_mtbf")
        await press(pilot, *"120", "enter")
        await shown(pilot)
        assert "mtbf" not in screen.ranges, "a typed value has no range"


async def test_advice_marks_the_inputs_it_is_about_and_leads_there(tmp_path: Path) -> None:
    async with sheet(tmp_path) as (pilot, screen):
        assert screen.result is not None
        name, said = next(iter(sheet_rows.blamed(screen.result).items()))
        row = next(r for r in sheet_rows.field_rows(screen.result) if r.key == name)
        assert row.shown.plain[0] in "i!✗"
        assert f"{said.rule}:" in screen_text(pilot.app)  # type: ignore[arg-type]
        await press(pilot, "tab", "home", "enter")
        assert screen.query_one("#inputs", Rows).chosen == name
        assert screen.query_one("#inputs").has_focus


async def test_the_origin_of_a_number_is_one_key_away(tmp_path: Path) -> None:
    async with sheet(tmp_path) as (pilot, screen):
        await press(pilot, "tab")
        rows = screen.query_one("#results", Rows)
        while rows.chosen != "tau_young":
            await press(pilot, "down")
        text = await press(pilot, "e")
        assert isinstance(pilot.app.screen, NumberScreen)
        assert "sqrt(2 * ckpt_cost * mtbf)" in text
        assert "[YOUNG]" in text
        assert "checkpoint-interval.mtbf" in text
        assert f"sqrt(2 * {screen['ckpt_cost']}" in text
        await press(pilot, "escape")
        assert screen.is_current


async def test_a_plan_is_saved_and_opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with sheet(tmp_path / "journals") as (pilot, screen):
        await to_field(pilot, "ckpt_cost")
        await press(pilot, *"300", "enter", "s")
        text = await press(pilot, "enter")
        assert "plan.yaml" in text
        assert "[plan.yaml]" in line_of(text, "plan.yaml")
    saved = load_plan(tmp_path / "plan.yaml")
    assert saved.sheets == {SHEET: {"ckpt_cost": 300}}
    async with sheet(tmp_path / "journals") as (pilot, screen):
        await press(pilot, "o")
        await write(pilot, "missing.yaml")
        assert "missing.yaml" in screen_text(pilot.app)  # type: ignore[arg-type]
        await press(pilot, *["backspace"] * 12)
        await write(pilot, "plan.yaml")
        await shown(pilot)
        assert screen["ckpt_cost"] == "300 s"
        await press(pilot, "u")
        assert screen["ckpt_cost"] != "300 s"


async def test_a_file_that_is_no_plan_is_told_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.yaml").write_text("plan: bad\ncard: {gpus_totl: 3}\n")
    async with sheet(tmp_path / "journals") as (pilot, screen):
        before = screen["nodes"]
        await press(pilot, "o")
        text = await write(pilot, "bad.yaml")
        assert "gpus_totl" in text
        assert screen["nodes"] == before


@pytest.mark.parametrize("ending", ["md", "csv", "json", "xlsx"])
async def test_a_sheet_is_exported_by_the_ending_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    monkeypatch.chdir(tmp_path)
    async with sheet(tmp_path / "journals", "stripe-count") as (pilot, _):
        await press(pilot, "w", *["backspace"] * 2)
        await write(pilot, ending)
        await settled(pilot)
    data = (tmp_path / f"stripe-count.{ending}").read_bytes()
    if ending == "json":
        assert json.loads(data)["worksheet"] == "stripe-count"
    else:
        assert {"md": b"# W08c", "csv": b"kind,name", "xlsx": b"PK"}[ending] in data[:40]


@pytest.mark.parametrize(("size", "code"), [(SMALL, "en"), (WIDE, "zh")])
async def test_every_sheet_fits_and_names_its_keys(tmp_path: Path, size: tuple[int, int], code: str) -> None:
    words.set_language(code)
    try:
        async with running(tmp_path, size=size) as pilot:
            for slug in Library().slugs():
                pilot.app.show_worksheet(slug)  # type: ignore[attr-defined]
                await settled(pilot)
                text = screen_text(pilot.app)  # type: ignore[arg-type]
                lines = text.splitlines()
                assert len(lines) <= size[1]
                assert "esc" in lines[-1]
                assert "?" in lines[-1]
                assert pilot.app.screen.result is not None  # type: ignore[attr-defined]
                if code == "zh":
                    assert any("\u4e00" <= c <= "\u9fff" for c in text)
                await press(pilot, "v", "escape", "escape")
    finally:
        words.set_language("en")


async def test_a_cause_that_names_a_sheet_opens_it_with_what_the_cluster_tells(tmp_path: Path) -> None:
    from rackside.measured import measured
    from tests.tui.test_flows import to_the_end

    async with running(tmp_path, "lustre-default-stripe", (), "checkpoint-stall") as pilot:
        pilot.app.measuring = measured  # type: ignore[attr-defined]
        await to_the_end(pilot)
        await press(pilot, "c", "w")
        await shown(pilot)
        screen = pilot.app.screen
        assert isinstance(screen, WorksheetScreen)
        assert screen.slug == "stripe-count"
        assert any(cell.value is not None and cell.value.origin == "measured" for cell in screen.cells)


async def test_a_cause_without_a_sheet_says_so(tmp_path: Path) -> None:
    from tests.tui.test_flows import FOUNDING, to_the_end

    async with running(tmp_path, *FOUNDING) as pilot:
        await to_the_end(pilot)
        await press(pilot, "c", "w")
        assert not isinstance(pilot.app.screen, WorksheetScreen)


def test_faults_name_sheets_that_exist() -> None:
    named = {fault.id: fault.worksheet for fault in faults.every().values() if fault.worksheet}
    assert named["st-default-striping"] == "stripe-count"
    assert named["tr-ckpt-interval"] == SHEET
    assert set(named.values()) <= set(Library().slugs())


async def test_what_sways_a_result_is_one_key_away(tmp_path: Path) -> None:
    async with sheet(tmp_path) as (pilot, screen):
        assert "tab" in await press(pilot, "t")
        await press(pilot, "tab")
        rows = screen.query_one("#results", Rows)
        while rows.chosen != "goodput":
            await press(pilot, "down")
        text = await press(pilot, "t")
        assert isinstance(pilot.app.screen, TornadoScreen)
        assert screen["goodput"] in text
        lines = [line for line in text.splitlines() if "#" in line]
        assert "Failures 2 to 25 per 1000 node-days" in lines[0]
        lengths = [line.count("#") for line in lines]
        assert lengths == sorted(lengths, reverse=True)
        await press(pilot, "escape")
        while rows.chosen != "mtbf":
            await press(pilot, "up")
        await press(pilot, "tab")
        await to_field(pilot, "known_mtbf")
        await press(pilot, *"120", "enter", "tab", "t")
        text = await press(pilot)
        assert "does not move it: Failures" in text


def test_bars_are_as_long_as_their_numbers_and_say_them() -> None:
    bars = Bars([Bar("weights", 140.0, "140 GB"), Bar("显存优化器", 70.0, "70 GB"), Bar("less", -7.0, "-7 GB")])
    lines = [line.plain for line in bars.lines(60)]
    assert lines[0].count("#") == pytest.approx(2 * lines[1].count("#"), abs=1)
    assert lines[2].count("-") > 1
    assert all(line.cell_length <= 60 for line in bars.lines(60))
    assert bars.plain.splitlines()[0] == "weights: 140 GB"
    assert all(len(line.plain) >= 1 for line in bars.lines(5))


def test_a_flat_curve_shows_its_bend() -> None:
    bars = Bars([Bar("1", 98.0, "98%"), Bar("2", 99.5, "99.5%"), Bar("3", 98.5, "98.5%")], dots=True)
    places = [line.plain.index("o") for line in bars.lines(60)]
    assert places[1] == max(places)
    assert places[0] == min(places)


def test_sums_lists_and_groups_of_sheets_become_bars() -> None:
    found = {slug: list(parts(compute(slug))) for slug in ("checkpoint-interval", "tco", "growth")}
    assert all(found.values())
    for charts in found.values():
        for title, bars in charts:
            assert title
            assert len(bars.bars) > 2


async def test_bars_scroll_and_close(tmp_path: Path) -> None:
    async with sheet(tmp_path) as (pilot, screen):
        text = await press(pilot, "v")
        assert isinstance(pilot.app.screen, BarsScreen)
        assert "99.47%" in text or "%" in text
        await press(pilot, "escape")
        assert screen.is_current


def test_ranges_hold_the_value_itself() -> None:
    desk = desks.opened("tco")
    ranges = desks.ranges(desk.library, desk.plan(), "tco")
    assert "gpu_hour_effective" in ranges
    desk.set("plan", "currency", "CNY")
    assert "CNY" in desks.ranges(desk.library, desk.plan(), "tco")["gpu_hour_effective"]


def test_what_a_cluster_tells_is_no_change_to_save() -> None:
    desk = desks.opened()
    desk.measure("ours", {"plan.gpus_total": Given(value=256, source="cluster.yaml of ours")})
    assert not desk.changed
    assert desk.undo() == ""
