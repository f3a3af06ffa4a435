"""Makes the bill from the table of allocations."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from common.errors import InputError
from worksheets.chargeback import accounting, sreport
from worksheets.chargeback.model import CARD_HOURS, GROUPS, RECONCILE_PCT, UNIT_HOURS, Bill, Line, Note, RateCard, Terms

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

UNATTRIBUTED = "(unattributed)"

# One row an allocation, type of card and month. Time is what Slurm counted (ElapsedRaw leaves suspension out), shared
# out by where the allocation lies; what lies outside of the window is not billed. `tres` is there only where an
# allocation holds more than one type of card.
_HELD = """
create view held as
select key, account, user, partition, state, start_at, elapsed_s, span_s, card, cards as count from jobs
  where tres is null and elapsed_s > 0 and cards > 0
union all
select key, account, user, partition, state, start_at, elapsed_s, span_s, each.card, each.count from (
  select *, unnest(list_append(typed, {'card': '', 'count': greatest(cards - list_sum([t.count for t in typed]), 0)}))
    as each
  from (select * exclude (card), [{'card': lower(split_part(t, '=', 1)), 'count': split_part(t, '=', 2)::bigint}
    for t in regexp_extract_all(tres, '(?:^|,)gres/gpu:([^,]+)', 1)] as typed from jobs
    where tres is not null and elapsed_s > 0))
  where each.count > 0
"""
_HELD_UNITS = """
create view held as
select key, account, user, partition, state, start_at, elapsed_s, span_s, '' as card, units as count from jobs
  where elapsed_s > 0 and units > 0
"""
_UNTIMED = """
create table pieces as
select key, account, user, partition, state, card, '' as month, count * elapsed_s / 3600.0 as hours from held
"""
# most lie within one month; only the others are matched with every month they touch
_TIMED = """
create table placed as
select *, {place_start} as first, {place_end} as last from (select *, {start_utc} as start_utc from held);
create table pieces as
select key, account, user, partition, state, card, name as month, count * elapsed_s / 3600.0 as hours
from placed join months on number = first where first = last
union all
select key, account, user, partition, state, card, name, count * elapsed_s / 3600.0
  * epoch(least(start_utc + to_seconds(span_s), end_utc) - greatest(start_utc, begin_utc)) / span_s
from placed join months on number between first and last where first != last;
drop table placed
"""


def bill(path: Path, rates: RateCard, terms: Terms) -> Bill:
    """Hours and cost by account, user, partition, month or type of card, the largest first.

    Raises:
        InputError: a file or a report that cannot be billed from, or terms that cannot be met.
    """
    _refuse(terms)
    window = terms.window
    database = accounting.connect()
    try:
        seen = accounting.read(database, path, terms)
        if window and not seen.timed:
            raise InputError(f"{path}: without Start and End nothing can be clipped; take it with {accounting.COMMAND}")
        _cut(database, seen, terms)
        return _sum(database, seen, rates, terms)
    finally:
        database.close()


def _refuse(terms: Terms) -> None:
    if terms.by not in GROUPS:
        raise InputError(f"cannot bill by {terms.by!r}; by {', '.join(GROUPS)}")
    if terms.window and terms.window.start >= terms.window.end:
        raise InputError(f"the window ends ({terms.window.end}) before it begins ({terms.window.start})")
    if terms.weights and terms.by == "card":
        raise InputError("billing units are of whole jobs and cannot be billed by card; leave the weights out")
    if terms.weights and terms.capacity_cards:
        raise InputError("idle cards have no billing units; leave the number of cards or the weights out")


def _states(credited: tuple[str, ...]) -> str:
    for state in credited:
        if not state.replace("_", "").isalpha():
            raise InputError(f"{state!r} is no state of Slurm")
    return ", ".join(f"'{state.upper()}'" for state in credited) or "''"


def _cut(database: DuckDBPyConnection, seen: accounting.Read, terms: Terms) -> None:
    window, timezone = terms.window, terms.timezone
    database.execute(_HELD_UNITS if terms.weights else _HELD)
    if not seen.timed:
        database.execute(_UNTIMED)
        return
    low, longest, high = database.execute("select min(start_at), max(span_s), max(start_at) from jobs").fetchone() or (
        *(None,) * 3,
    )
    start = window.start if window else low or datetime(1970, 1, 1)
    end = window.end if window else (high or start) + timedelta(seconds=longest or 0, days=2)
    edges = _months(start, end)
    local = [accounting.universal(edge, timezone) for edge in edges]
    database.execute("create table months(number int, name varchar, begin_utc timestamp, end_utc timestamp)")
    database.executemany(
        "insert into months values (?, ?, ?, ?)",
        [(n, f"{edges[n - 1]:%Y-%m}", local[n - 1], local[n]) for n in range(1, len(edges))],
    )
    passed = " + ".join(f"({{0}} >= timestamp '{edge}')::int" for edge in local)
    before_end = passed.replace(">=", ">")
    database.execute(
        _TIMED.format(
            start_utc=accounting.start_utc(database, timezone),
            place_start=passed.format("start_utc"),
            place_end=before_end.format("(start_utc + to_seconds(span_s))"),
        )
    )


def _months(start: datetime, end: datetime) -> list[datetime]:
    edges, month = [start], (start.replace(day=1) + timedelta(days=32)).replace(day=1, hour=0, minute=0, second=0)
    while month < end:
        edges.append(month)
        month = (month + timedelta(days=32)).replace(day=1)
    return [*edges, end]


def _sum(database: DuckDBPyConnection, seen: accounting.Read, rates: RateCard, terms: Terms) -> Bill:
    by, credited = terms.by, _states(terms.credited)
    database.execute("create table prices(card varchar, price double)")
    cards = [str(card) for (card,) in database.execute("select distinct card from pieces").fetchall()]
    if cards:
        database.executemany("insert into prices values (?, ?)", [(card, rates.of(card)) for card in cards])
    charged = f"state not in ({credited})"
    total, paid, cost, credit, lost, jobs = database.execute(
        f"select coalesce(sum(hours), 0), coalesce(sum(hours) filter (where {charged}), 0),"
        f" coalesce(sum(hours * price) filter (where {charged}), 0),"
        f" coalesce(sum(hours * price) filter (where not {charged}), 0),"
        " coalesce(sum(hours) filter (where account = '' or user = ''), 0), count(distinct key)"
        " from pieces join prices using (card)"
    ).fetchone() or (0, 0, 0, 0, 0, 0)
    idle = _idle_hours(terms, total)
    idle_cost = None if idle is None else idle * (cost / paid if paid else rates.other)
    factor = 1 + idle_cost / cost if terms.spread_idle and idle_cost and cost else 1.0
    lines = tuple(
        Line(_text(name, seen) or UNATTRIBUTED, hours, price * factor, hours / paid if paid else 0.0, int(count))
        for name, hours, price, count in database.execute(
            f"select {by}, sum(hours), sum(hours * price), count(distinct key) from pieces join prices using (card)"
            f" where {charged} group by 1 order by {'1' if by == 'month' else '2 desc, 1'}"
        ).fetchall()
    )
    empty = database.execute("select count(*) from jobs where elapsed_s > 0 and cards = 0 and tres is null").fetchone()
    difference = None
    if terms.report is not None:
        allocated = sreport.allocated_hours(terms.report, "billing" if terms.weights else "gres/gpu")
        difference = (total - allocated) / allocated * 100 if allocated else (0.0 if not total else float("inf"))
    made = Bill(
        by=by,
        unit=UNIT_HOURS if terms.weights else CARD_HOURS,
        lines=lines,
        window=terms.window,
        hours=total,
        charged=paid,
        cost=cost * factor,
        credited=total - paid,
        credit=credit,
        unattributed=lost,
        jobs=int(jobs),
        jobs_without_gpu=int(empty[0]) if empty else 0,
        rows=seen.rows,
        rows_merged=seen.merged,
        rows_not_understood=seen.not_understood,
        idle_card_hours=idle,
        idle_cost=idle_cost,
        reconcile_diff_pct=difference,
        notes=(),
    )
    return _noted(made, seen, rates, cards, terms)


def _idle_hours(terms: Terms, used: float) -> float | None:
    window, timezone, cards = terms.window, terms.timezone, terms.capacity_cards
    if not (cards and window):
        return None
    length = accounting.universal(window.end, timezone) - accounting.universal(window.start, timezone)
    return max(cards * length.total_seconds() / 3600 - used, 0.0)


def _noted(made: Bill, seen: accounting.Read, rates: RateCard, cards: list[str], terms: Terms) -> Bill:
    notes, timezone = [], terms.timezone
    if not seen.tracked and not terms.weights:
        notes.append(
            Note(
                "CHG-1",
                "fail",
                "no allocation names gres/gpu: the cluster does not track it, and a total of 0 is no use of 0. "
                "Set AccountingStorageTRES=gres/gpu in slurm.conf; it counts from then on.",
            )
        )
    if seen.not_understood:
        notes.append(
            Note(
                "CHG-2",
                "warn",
                f"{seen.not_understood} of {seen.rows} lines have another number of fields (first: line "
                f"{seen.first_bad_line}) and are not billed.",
            )
        )
    if seen.timed and timezone is None:
        notes.append(
            Note("CHG-3", "info", "no time zone given: months and the window are cut as if every day had 24 hours.")
        )
    elif made.window and accounting.changes_clock(made.window, timezone):
        notes.append(Note("CHG-3", "info", f"the clocks of {timezone} change in the window; its length allows for it."))
    if made.reconcile_diff_pct is not None and abs(made.reconcile_diff_pct) > RECONCILE_PCT:
        notes.append(
            Note(
                "CHG-4",
                "warn",
                f"{made.reconcile_diff_pct:+.1f} % against sreport: look for a window that was not clipped (-T), "
                "requeued attempts (-D), and jobs of users without an association.",
            )
        )
    if made.rows_merged:
        notes.append(
            Note(
                "CHG-5",
                "info",
                f"{made.rows_merged} lines name an allocation that another line names too; billed once.",
            )
        )
    if unpriced := sorted(card or "untyped" for card in cards if not rates.of(card)):
        notes.append(Note("CHG-6", "warn", f"no price for {', '.join(unpriced)}: their hours cost 0 here."))
    return replace(made, notes=tuple(notes))


def _text(name: object, seen: accounting.Read) -> str:
    text = str(name or "")
    return text.encode("latin-1", "replace").decode("utf-8", "replace") if seen.byte_for_byte else text
