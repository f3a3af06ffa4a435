"""Reads `sacct -P` text of any length into a table of allocations, one row each, clipped to a window.

DuckDB does the work: a year of a large site is five million lines. Lines are taken apart at `|` and nowhere else, since
sacct quotes nothing; those with another number of fields (comments with line breaks, cut files) are counted and told.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from common.errors import InputError, UsageError
from worksheets.chargeback.billing import units_sql
from worksheets.chargeback.model import Terms, Window

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

FULL = [
    *("JobIDRaw", "Cluster", "User", "Account", "Partition", "QOS"),
    *("State", "Start", "End", "ElapsedRaw", "NNodes", "AllocTRES"),
]
SHORT = ["JobIDRaw", "User", "Account", "Partition", "State", "ElapsedRaw", "AllocTRES"]
"""What `sacct-util` asks for; without times nothing can be clipped."""
NEEDED = ("ElapsedRaw", "AllocTRES")
COMMAND = f"sacct -a -X -P -T -S START -E END -o {','.join(FULL)}"
MEMORY, THREADS = "1200MB", 2

# One pass over the file. A generic entry counts every card; typed ones beside it are the same cards again.
# Allocations of several types, or of typed and further cards, are rare and keep their text.
_LINES = (
    "read_csv($path, columns = {'line': 'VARCHAR'}, delim = '\\x01', quote = '', escape = '', header = false, "
    "auto_detect = false, encoding = 'ENCODING', max_line_size = 4194304, null_padding = true, skip = SKIP)"
)
_LOAD = r"""
create table jobs as
select key, account, user, partition, state, start_at, elapsed_s, greatest(elapsed_s, coalesce(span_s, 0)) as span_s,
  coalesce(cards, typed, 0) as cards, card, step, units,
  case when pieces > 1 or typed != cards then tres end as tres
from (
  select hash({job}, {cluster}) as key, contains({job}, '.') as step,
    {user} as user, {account} as account, {partition} as partition,
    split_part({state}, ' ', 1) as state, {start} as start_at, epoch({end} - {start})::bigint as span_s,
    try_cast({elapsed} as bigint) as elapsed_s, {tres} as tres,
    try_cast(split_part(split_part(',' || {tres}, ',gres/gpu=', 2), ',', 1) as bigint) as cards,
    split_part(split_part(',' || {tres}, ',gres/gpu:', 2), ',', 1) as one,
    lower(split_part(one, '=', 1)) as card, try_cast(split_part(one, '=', 2) as bigint) as typed,
    (length({tres}) - length(replace({tres}, 'gres/gpu:', ''))) / 9 as pieces, {units} as units
  from (select string_split(line, '|') as f from {lines})
  where len(f) = {fields}
)
"""


@dataclass(frozen=True, slots=True)
class Read:
    """How much of a file was understood."""

    rows: int
    not_understood: int
    merged: int
    first_bad_line: int | None
    timed: bool
    tracked: bool
    """Whether any allocation names gres/gpu at all."""
    byte_for_byte: bool
    """Whether names are bytes still, one character each."""


def connect() -> DuckDBPyConnection:
    """A database in memory that keeps within its bounds.

    Raises:
        UsageError: DuckDB is not installed.
    """
    try:
        import duckdb
    except ImportError:
        raise UsageError("chargeback needs DuckDB: pip install 'rackside[chargeback]'") from None

    return duckdb.connect(config={"threads": THREADS, "memory_limit": MEMORY})


def read(database: DuckDBPyConnection, path: Path, terms: Terms) -> Read:
    """Fills the table `jobs`: one row an allocation, `cards` and `card` (type) for each, or with weights `units`.

    Raises:
        InputError: no file, or columns that cannot be billed from, or an unknown time zone.
    """
    columns, skip = _columns(path)
    at = {name.lower(): f"f[{number}]" for number, name in enumerate(columns, 1)}
    timed = "start" in at and "end" in at
    epochs = timed and _in_epochs(path, skip, [name.lower() for name in columns].index("start"))
    fields = {
        "job": at.get("jobidraw") or at.get("jobid") or "''",
        "cluster": at.get("cluster", "''"),
        "user": at.get("user", "''"),
        "account": at.get("account", "''"),
        "partition": at.get("partition", "''"),
        "state": at.get("state", "''"),
        "start": _time(at["start"], epochs) if timed else "null::timestamp",
        "end": _time(at["end"], epochs) if timed else "null::timestamp",
        "elapsed": at["elapsedraw"],
        "tres": at["alloctres"],
        "units": units_sql(terms.weights, at["alloctres"], largest=terms.max_tres) if terms.weights else "null::double",
    }
    lines, byte_for_byte = _load(database, path, len(columns), skip, fields)
    total = _line_count(path) - skip
    bad = total - _one(database, "select count(*) from jobs")
    first_bad = _first_bad(database, lines, path, len(columns)) + skip if bad else None
    if _one(database, "select count(*) from jobs where step"):
        database.execute("delete from jobs where step")
    merged = _merge(database, "key, start_at" if timed else "key, state, elapsed_s")
    tracked = _one(database, "select count(*) from (select 1 from jobs where cards > 0 limit 1)") > 0
    return Read(total, bad, merged, first_bad, timed, tracked, byte_for_byte)


def _load(database: DuckDBPyConnection, path: Path, count: int, skip: int, fields: dict[str, str]) -> tuple[str, bool]:
    """Fills `jobs`; where a name is no UTF-8, all are read byte for byte, which takes longer."""
    from duckdb import InvalidInputException

    for encoding in ("utf-8", "latin-1"):
        lines = _LINES.replace("SKIP", str(skip)).replace("ENCODING", encoding)
        try:
            database.execute(_LOAD.format(**fields, fields=count, lines=lines), {"path": str(path)})
            return lines, encoding != "utf-8"
        except InvalidInputException as error:
            if encoding != "utf-8" or "utf-8" not in str(error).lower():
                raise InputError(f"{path}: {str(error).splitlines()[0]}") from None
    raise AssertionError("unreachable")


def _merge(database: DuckDBPyConnection, key: str) -> int:
    """Overlapping exports name an allocation twice, one that was running then with a shorter time: the longest stays.

    Attempts after a requeue begin at another time and are allocations of their own.
    """
    rows = _one(database, "select count(*) from jobs")
    if rows == _one(database, f"select count(distinct hash({key})) from jobs"):
        return 0
    database.execute(
        f"create table merged as select * exclude (copy) from (select *, row_number() over (partition by {key} "
        "order by elapsed_s desc) as copy from jobs) where copy = 1"
    )
    database.execute("drop table jobs")
    database.execute("alter table merged rename to jobs")
    return rows - _one(database, "select count(*) from jobs")


def _columns(path: Path) -> tuple[list[str], int]:
    try:
        with path.open("rb") as file:
            first = file.readline(65536).decode("utf-8", "replace").rstrip("\r\n")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    names = first.split("|")
    lower = [name.lower() for name in names]
    if "jobid" in lower or "jobidraw" in lower:
        if missing := [name for name in NEEDED if name.lower() not in lower]:
            asked = "; ReqTRES is what was asked for, not what was given" if "reqtres" in lower else ""
            raise InputError(f"{path}:1: no column {' and '.join(missing)}{asked}; take it with {COMMAND}")
        return names, 1
    for known in (FULL, SHORT):
        if len(names) == len(known):
            return known, 0
    raise InputError(
        f"{path}:1: {len(names)} fields and no line that names them; take it with {COMMAND} (without -n), "
        f"or with -n and these {len(FULL)} columns in this order"
    )


def _time(field: str, epoch: bool) -> str:
    # seconds since the epoch are what SLURM_TIME_FORMAT=%s prints
    return f"make_timestamp(try_cast({field} as bigint) * 1000000)" if epoch else f"try_cast({field} as timestamp)"


def _in_epochs(path: Path, skip: int, field: int) -> bool:
    with path.open("rb") as file:
        line = file.readlines(65536 * (skip + 1))[skip : skip + 1]
    cells = line[0].split(b"|") if line else []
    return len(cells) > field and cells[field].strip().isdigit()


def _line_count(path: Path) -> int:
    total, last = 0, b"\n"
    with path.open("rb") as file:
        while chunk := file.read(1 << 22):
            total += chunk.count(b"\n")
            last = chunk
    return total + (not last.endswith(b"\n"))


def _first_bad(database: DuckDBPyConnection, lines: str, path: Path, fields: int) -> int:
    return _one(
        database,
        "select min(number) from (select row_number() over () as number, "
        f"length(line) - length(replace(line, '|', '')) as bars from {lines}) where bars != $bars",
        {"path": str(path), "bars": fields - 1},
    )


def start_utc(database: DuckDBPyConnection, timezone: str | None) -> str:
    """The start in UTC as an expression: sacct prints local time, and some nights have 23 or 25 hours."""
    low, high = database.execute("select min(start_at), max(start_at) from jobs").fetchone() or (None, None)
    if timezone is None or low is None:
        return "start_at"
    changes = reversed(_offsets(low, high, timezone))
    cases = "".join(f" when start_at >= timestamp '{since}' then {offset}" for since, offset in changes)
    return f"start_at - to_seconds(case{cases} end)"


def _offsets(low: datetime, high: datetime, timezone: str) -> list[tuple[datetime, int]]:
    zone = _zone(timezone)
    found = [(datetime(1970, 1, 1), _offset_s(zone, low))]
    day = low.replace(hour=0, minute=0, second=0, microsecond=0)
    while day <= high:
        # clocks change on the quarter hour; within such a day look closer
        if _offset_s(zone, day + timedelta(days=1)) != found[-1][1]:
            quarter = day
            while _offset_s(zone, quarter) == found[-1][1]:
                quarter += timedelta(minutes=15)
            found.append((quarter, _offset_s(zone, quarter)))
        day += timedelta(days=1)
    return found


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        raise InputError(f"unknown time zone {name!r}; write it as Europe/Berlin or UTC") from None


def _offset_s(zone: ZoneInfo, local: datetime) -> int:
    offset = local.replace(tzinfo=zone).utcoffset()
    return int(offset.total_seconds()) if offset is not None else 0


def universal(moment: datetime, timezone: str | None) -> datetime:
    """A local time of the cluster as UTC without zone, as `start_utc` is."""
    if timezone is None:
        return moment
    return moment.replace(tzinfo=_zone(timezone)).astimezone(UTC).replace(tzinfo=None)


def changes_clock(window: Window, timezone: str | None) -> bool:
    """Whether the clocks of the cluster change within a window."""
    if timezone is None:
        return False
    zone = _zone(timezone)
    days = (window.end - window.start).days + 1
    offsets = {_offset_s(zone, window.start + timedelta(days=d)) for d in range(days + 1)}
    return len(offsets) > 1


def _one(database: DuckDBPyConnection, query: str, values: dict[str, object] | None = None) -> int:
    row = database.execute(query, values or {}).fetchone()
    assert row is not None
    return int(row[0])
