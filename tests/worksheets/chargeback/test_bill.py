"""Bills from accounting text, with the traps of Slurm's accounting."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from common.errors import InputError
from tests import corpus
from worksheets.chargeback import billing, sreport
from worksheets.chargeback.accounting import FULL
from worksheets.chargeback.bill import bill
from worksheets.chargeback.model import Bill, RateCard, Terms, Window

RATES = RateCard({"h100": 3.0, "a100": 2.0}, 1.0)


def row(
    job: str = "1",
    user: str = "ann",
    account: str = "nlp",
    state: str = "COMPLETED",
    start: str = "2026-11-10T00:00:00",
    end: str = "2026-11-10T10:00:00",
    elapsed: object = 36000,
    tres: str = "billing=8,cpu=64,gres/gpu:h100=8,gres/gpu=8,node=1",
    partition: str = "train",
) -> str:
    return f"{job}|main|{user}|{account}|{partition}|normal|{state}|{start}|{end}|{elapsed}|1|{tres}"


def made(tmp_path: Path, *rows: str, head: bool = False, **how: object) -> Bill:
    path = tmp_path / "sacct.txt"
    lines = (["|".join(FULL)] if head else []) + list(rows)
    path.write_text("".join(f"{line}\n" for line in lines))
    return bill(path, RATES, Terms(**how))  # type: ignore[arg-type]


def notes(found: Bill) -> dict[str, str]:
    return {note.rule: note.severity for note in found.notes}


def test_typed_and_generic_entries_are_the_same_cards(tmp_path: Path) -> None:
    found = made(tmp_path, row())
    assert found.hours == pytest.approx(80)
    assert found.cost == pytest.approx(240)


def test_typed_entries_alone_count_and_each_type_has_its_price(tmp_path: Path) -> None:
    found = made(tmp_path, row(tres="cpu=8,gres/gpu:a100=2,gres/gpu:h100=4"), by="card")
    assert {line.name: (line.hours, line.cost) for line in found.lines} == {
        "h100": (pytest.approx(40), pytest.approx(120)),
        "a100": (pytest.approx(20), pytest.approx(40)),
    }


def test_cards_beyond_the_typed_ones_have_no_type(tmp_path: Path) -> None:
    found = made(tmp_path, row(tres="gres/gpu=8,gres/gpu:h100=6"), by="card")
    assert {line.name: line.hours for line in found.lines} == {
        "h100": pytest.approx(60),
        "(unattributed)": pytest.approx(20),
    }


def test_steps_and_jobs_without_cards_are_not_billed(tmp_path: Path) -> None:
    found = made(tmp_path, row(), row("1.batch"), row("1.0"), row("2", tres="cpu=64,node=1"))
    assert found.hours == pytest.approx(80)
    assert (found.jobs, found.jobs_without_gpu) == (1, 1)


def test_attempts_after_a_requeue_are_billed_each_and_the_failed_node_is_credited(tmp_path: Path) -> None:
    first = row(state="NODE_FAIL", end="2026-11-10T02:00:00", elapsed=7200)
    second = row(start="2026-11-10T03:00:00", end="2026-11-10T04:00:00", elapsed=3600)
    found = made(tmp_path, first, second)
    assert (found.charged, found.credited, found.credit) == (pytest.approx(8), pytest.approx(16), pytest.approx(48))
    assert found.lines[0].share == pytest.approx(1)


def test_who_cancelled_a_job_is_no_part_of_its_state(tmp_path: Path) -> None:
    assert made(tmp_path, row(state="CANCELLED by 1000")).charged == pytest.approx(80)


def test_exports_that_overlap_bill_an_allocation_once_at_its_longest(tmp_path: Path) -> None:
    running = row(state="RUNNING", end="Unknown", elapsed=18000)
    found = made(tmp_path, running, row(), row())
    assert found.hours == pytest.approx(80)
    assert found.rows_merged == 2
    assert notes(found)["CHG-5"] == "info"


def test_a_job_across_midnight_of_the_month_is_split(tmp_path: Path) -> None:
    found = made(tmp_path, row(start="2026-10-31T20:00:00", end="2026-11-01T06:00:00"), by="month")
    assert {line.name: line.hours for line in found.lines} == {
        "2026-11": pytest.approx(48),
        "2026-10": pytest.approx(32),
    }


def test_what_lies_outside_of_the_window_is_not_billed(tmp_path: Path) -> None:
    window = Window(datetime(2026, 11, 10, 4), datetime(2026, 11, 10, 6))
    before, after = (
        row("2", start="2026-11-01T00:00:00", end="2026-11-01T10:00:00"),
        row("3", start="2026-12-01T00:00:00"),
    )
    assert made(tmp_path, row(), before, after, window=window).hours == pytest.approx(16)


def test_time_of_suspension_is_not_billed_within_the_window_either(tmp_path: Path) -> None:
    found = made(tmp_path, row(elapsed=18000), window=Window(datetime(2026, 11, 10), datetime(2026, 11, 10, 5)))
    assert found.hours == pytest.approx(20)


def test_a_night_with_twenty_five_hours_is_billed_in_full(tmp_path: Path) -> None:
    # clocks go back on 25 October 2026 in Berlin: from midnight to midnight are 25 hours
    day = row(start="2026-10-25T00:00:00", end="2026-10-26T00:00:00", elapsed=90000, tres="gres/gpu:h100=1,gres/gpu=1")
    window = Window(datetime(2026, 10, 25), datetime(2026, 10, 26))
    assert made(tmp_path, day, window=window, timezone="Europe/Berlin").hours == pytest.approx(25)
    found = made(tmp_path, day, window=window, timezone="Europe/Berlin", capacity_cards=2)
    assert found.idle_card_hours == pytest.approx(25)
    assert notes(found)["CHG-3"] == "info"


def test_times_may_be_seconds_since_the_epoch(tmp_path: Path) -> None:
    start = int(datetime(2026, 11, 10).timestamp())
    found = made(tmp_path, row(start=str(start), end=str(start + 36000)), by="month")
    assert found.lines[0].name == "2026-11"
    assert found.hours == pytest.approx(80)


def test_columns_may_be_named_and_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "named.txt"
    path.write_text("AllocTRES|JobID|ElapsedRaw|Account|User\ngres/gpu=4|7|3600|bio|bob\n")
    found = bill(path, RATES, Terms(by="user"))
    assert [(line.name, line.hours) for line in found.lines] == [("bob", pytest.approx(4))]


def test_what_was_asked_for_is_not_what_was_given(tmp_path: Path) -> None:
    path = tmp_path / "asked.txt"
    path.write_text("JobID|ElapsedRaw|ReqTRES\n7|3600|gres/gpu=4\n")
    with pytest.raises(InputError, match="asked for"):
        bill(path, RATES, Terms())


def test_a_cluster_that_tracks_no_cards_is_no_bill_of_nothing(tmp_path: Path) -> None:
    found = made(tmp_path, row(tres="cpu=64,mem=100G,node=1"))
    assert (found.state, notes(found)["CHG-1"]) == ("fail", "fail")


def test_lines_with_another_number_of_fields_are_told(tmp_path: Path) -> None:
    found = made(tmp_path, row(), "a comment's second line", row("2"), head=True)
    assert (found.rows, found.rows_not_understood) == (3, 1)
    assert "line 3" in next(note.text for note in found.notes if note.rule == "CHG-2")


def test_names_that_are_no_utf8_are_kept_apart(tmp_path: Path) -> None:
    path = tmp_path / "bytes.txt"
    path.write_bytes(row(user="jos\u00e9").encode("latin-1") + b"\n" + row("2", user="zoë").encode() + b"\n")
    found = bill(path, RATES, Terms(by="user"))
    assert {line.name for line in found.lines} == {"jos\ufffd", "zoë"}


def test_idle_cards_are_an_overhead_or_spread_by_use(tmp_path: Path) -> None:
    window = Window(datetime(2026, 11, 10), datetime(2026, 11, 11))
    apart = made(tmp_path, row(), window=window, capacity_cards=8)
    assert apart.idle_card_hours == pytest.approx(112)
    assert apart.cost == pytest.approx(240)
    assert apart.idle_cost == pytest.approx(336)
    spread = made(tmp_path, row(), window=window, capacity_cards=8, spread_idle=True)
    assert spread.cost == pytest.approx(576)
    assert sum(line.cost for line in spread.lines) == pytest.approx(576)


def test_a_type_without_a_price_is_told(tmp_path: Path) -> None:
    path = tmp_path / "sacct.txt"
    path.write_text(row(tres="gres/gpu:b200=8,gres/gpu=8") + "\n")
    assert notes(bill(path, RateCard({"h100": 3.0}), Terms()))["CHG-6"] == "warn"


@pytest.mark.parametrize(
    ("report", "difference_pct"),
    [
        ("Cluster|TRES Name|Allocated|Down|Idle|Reported\nmain|gres/gpu|4800|0|0|0\n", 0.0),
        ("Usage reported in TRES Hours\nmain|gres/gpu|100|0|0|0\n", -20.0),
        ("main|cpu|9|0|0|0\nmain|gres/gpu|4752|0|0|0\n", 1.0101),
    ],
)
def test_a_bill_is_checked_against_what_slurm_reports(tmp_path: Path, report: str, difference_pct: float) -> None:
    found = made(tmp_path, row(), report=report)
    assert found.reconcile_diff_pct == pytest.approx(difference_pct, abs=1e-3)
    assert ("CHG-4" in notes(found)) == (abs(difference_pct) > 1)


def test_a_report_that_cannot_be_checked_against_says_why() -> None:
    for text, why in (("main|cpu|1|0\n", "no row of gres/gpu"), ("m|gres/gpu|55.1%|0\n", "percentages")):
        with pytest.raises(InputError, match=why):
            sreport.allocated_hours(text)


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"by": "moon"}, "cannot bill by"),
        ({"window": Window(datetime(2026, 2, 1), datetime(2026, 1, 1))}, "before it begins"),
        ({"timezone": "Mars/Olympus"}, "unknown time zone"),
        ({"credited": ("x'; drop",)}, "no state"),
        ({"weights": {"cpu": 1.0}, "by": "card"}, "by card"),
        ({"weights": {"cpu": 1.0}, "capacity_cards": 8}, "idle cards"),
    ],
)
def test_impossible_wishes_are_refused(tmp_path: Path, how: dict[str, object], why: str) -> None:
    with pytest.raises(InputError, match=why):
        made(tmp_path, row(), **how)


def test_a_file_that_is_not_there_or_something_else_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        bill(tmp_path / "none", RATES, Terms())
    (tmp_path / "other").write_text("hello\n")
    with pytest.raises(InputError, match="take it with sacct"):
        bill(tmp_path / "other", RATES, Terms())


WEIGHTS = billing.weights("CPU=1.0,Mem=0.25G,GRES/gpu=2.0,License/x=1")


@pytest.mark.parametrize(
    ("tres", "max_tres", "units"),
    [
        ("cpu=1,mem=8G", False, 3.0),  # the example of the slurm.conf manual
        ("cpu=1,mem=8192M,node=1", False, 3.0),
        ("cpu=1,mem=8192", False, 3.0),
        ("billing=99,cpu=8,mem=0.5T,gres/gpu=4,gres/gpu:h100=4", False, 144.0),
        ("cpu=8,mem=16G,gres/gpu=4,license/x=5", True, 13.0),
        ("cpu=many,mem=8G", False, 2.0),
    ],
)
def test_billing_units_are_the_sum_or_the_largest_on_a_node(
    tmp_path: Path, tres: str, max_tres: bool, units: float
) -> None:
    found = made(tmp_path, row(tres=tres), weights=WEIGHTS, max_tres=max_tres)
    assert (found.unit, found.hours) == ("billing-unit-hours", pytest.approx(units * 10))
    assert found.cost == pytest.approx(units * 10)


def test_billing_units_are_clipped_credited_and_checked_as_cards_are(tmp_path: Path) -> None:
    rows = (row(tres="cpu=64"), row("2", state="NODE_FAIL", tres="cpu=10"))
    window = Window(datetime(2026, 11, 10, 4), datetime(2026, 11, 10, 6))
    found = made(tmp_path, *rows, weights=WEIGHTS, window=window, report="main|billing|8880|0\n")
    assert (found.charged, found.credited) == (pytest.approx(128), pytest.approx(20))
    assert found.reconcile_diff_pct == pytest.approx(0)
    assert "CHG-1" not in notes(found)


@pytest.mark.parametrize("text", ["CPU", "CPU=x", "", "cpu';drop=1", "Mem=1Q"])
def test_what_is_no_billing_weight_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="billing weight"):
        billing.weights(text)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    jobs=st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(1, 16), st.integers(60, 400_000), st.integers(0, 80)), min_size=1
    )
)
def test_every_way_of_grouping_adds_up_to_the_same(tmp_path: Path, jobs: list[tuple[str, int, int, int]]) -> None:
    rows = []
    for number, (user, cards, elapsed, day) in enumerate(jobs):
        start = datetime.fromtimestamp(1_790_000_000 + day * 86400)
        end = datetime.fromtimestamp(start.timestamp() + elapsed)
        rows.append(
            row(
                str(number),
                user,
                start=start.isoformat(),
                end=end.isoformat(),
                elapsed=elapsed,
                tres=f"gres/gpu={cards}",
            )
        )
    expected = sum(cards * elapsed for _, cards, elapsed, _ in jobs) / 3600
    for by in ("user", "month", "partition"):
        found = made(tmp_path, *rows, by=by)
        assert sum(line.hours for line in found.lines) == pytest.approx(expected)
        assert sum(line.share for line in found.lines) == pytest.approx(1)


def test_recorded_accounting_is_billed_as_its_rows_say() -> None:
    path = corpus.folder() / "slurm-sacct" / "invalid-utf8.txt"
    head, *lines = [line.split("|") for line in path.read_text("latin-1").splitlines()]
    jobs = [dict(zip(head, line, strict=True)) for line in lines if len(line) == len(head)]
    whole = [job for job in jobs if "." not in job["JobIDRaw"]]
    expected: dict[str, float] = {}
    for job in whole:
        if cards := re.search(r"gres/gpu=(\d+)", job["AllocTRES"]):
            hours = int(cards[1]) * int(job["ElapsedRaw"]) / 3600
            expected[job["User"]] = expected.get(job["User"], 0.0) + hours
    found = bill(path, RATES, Terms(by="user"))
    assert len(expected) > 0
    assert found.rows == len(lines)
    assert sum(expected.values()) == pytest.approx(found.hours)
    assert sorted(expected.values()) == pytest.approx(sorted(line.hours for line in found.lines if line.hours))
