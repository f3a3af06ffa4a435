"""SONiC's configuration as data: keys of CONFIG_DB and the hash fields of equal-cost paths.

{
  "DSCP_TO_TC_MAP|AZURE": {
    "expireat": 1772591400.12,
    "ttl": -0.001,
    "type": "hash",
    "value": {"26": "3", "48": "6"}
  }
}
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from checks.outputs import Empty, Facts, Outcome, Raw, Unparsable
from checks.tools.formats import absent, json_value
from checks.tools.sonic_tables import Row, wanted


class QosEntry(Row):
    """One key of CONFIG_DB: its table, the rest of the key, its fields."""

    table: str
    key: tuple[str, ...]
    fields: tuple[tuple[str, str], ...]

    def get(self, field: str) -> str | None:
        """A field's value."""
        return dict(self.fields).get(field)


class QosTable(Facts):
    """`sonic-db-dump -k 'TABLE*' -y`. No entries at all is an answer: nothing is configured."""

    entries: tuple[QosEntry, ...]

    def of(self, table: str) -> tuple[QosEntry, ...]:
        """The entries of one table."""
        return tuple(e for e in self.entries if e.table == table)


def parse_sw_qos_json(raw: Raw) -> Outcome:
    """JSON of the dump, or of a `config_db.json` cut-out; other tables than the one asked for are no answer."""
    got = json_value(raw)
    if isinstance(got, Unparsable):
        return got
    value, start = got
    if not isinstance(value, dict):
        return raw.unparsable("not a dump of CONFIG_DB: no JSON object")
    asked = raw.params[0].rstrip("*") if raw.params else ""
    lines: dict[str, int] = {}
    for n, text in enumerate(raw.lines[start - 1 :], start):
        for key in re.findall(r'"((?:[^"\\]|\\.)*)"\s*:', text):
            lines.setdefault(key, n)
    entries: list[QosEntry] = []
    for path, fields in _entries(value):
        table, *key = path.split("|")
        line = lines.get(path, lines.get(path.partition("|")[2], lines.get(table, start)))
        pairs = tuple((str(k), _text(v)) for k, v in fields.items())
        entries.append(QosEntry(line=line, table=table, key=tuple(key), fields=pairs))
    # QUEUE* also matches a longer table name; a dump of quite another table was swapped in
    if not all(e.table.isupper() and e.table.startswith(asked) for e in entries):
        return raw.unparsable(f"not a dump of {asked or 'CONFIG_DB'}: it holds other keys")
    return QosTable(entries=tuple(entries))


def _entries(value: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, item in value.items():
        if not isinstance(item, dict):
            yield path, {}
        elif "|" in path:
            fields = item.get("value", item)
            yield path, fields if isinstance(fields, dict) else {}
        else:
            yield from ((f"{path}|{key}", f if isinstance(f, dict) else {}) for key, f in item.items())


def _text(value: Any) -> str:
    return ",".join(str(x) for x in value) if isinstance(value, list) else str(value)


class SwitchHash(Facts):
    """`show switch-hash global`: fields that spread flows over equal paths; None where the default is in force."""

    ecmp: tuple[str, ...] | None
    lag: tuple[str, ...] | None
    algorithm: str | None = None
    line: int = 1


def parse_sw_hash(raw: Raw) -> Outcome:
    """JSON, the boxed table, or the two-column table of the first releases."""
    if "No configuration is present" in raw.text:
        return Empty("no hash is configured; the switch uses its default")
    columns, odd = wanted(raw, "ECMP HASH", "LAG HASH")
    if columns:
        cells = [row for _, row in columns[0].rows]
        ecmp, lag = (tuple(c[k] for c in cells if not absent(c[k])) for k in ("ECMP HASH", "LAG HASH"))
        return SwitchHash(ecmp=ecmp or None, lag=lag or None, line=columns[0].head_line, odd=odd)
    if any(line.startswith("+--") for line in raw.lines):
        return _boxed(raw)
    got = json_value(raw)
    if isinstance(got, Unparsable):
        return got
    value, start = got
    if not isinstance(value, dict) or not isinstance(value.get("ecmp"), dict):
        return raw.unparsable("not `show switch-hash global`: no ecmp hash")
    ecmp_part, lag_part = value["ecmp"], value.get("lag")
    algorithm = ecmp_part.get("algorithm")
    return SwitchHash(
        ecmp=_hash_fields(ecmp_part),
        lag=_hash_fields(lag_part) if isinstance(lag_part, dict) else None,
        algorithm=algorithm if isinstance(algorithm, str) and not absent(algorithm) else None,
        line=start,
    )


def _hash_fields(part: dict[str, Any]) -> tuple[str, ...] | None:
    fields = part.get("hash_field")
    return tuple(str(f) for f in fields) if isinstance(fields, list) and fields else None


def _boxed(raw: Raw) -> Outcome:
    kinds: dict[str, list[str]] = {}
    algorithm, kind, first, closed = None, "", 0, False
    for n, line in raw.numbered():
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        closed = line.startswith("+--")
        if not line.startswith("|"):
            continue
        if cells[0] in ("ECMP", "LAG"):
            kind, first = cells[0], first or n
            kinds[kind] = []
        words = [c for c in cells[1:] if c]
        if kind and words and re.fullmatch(r"[A-Z0-9_]+", words[0]):
            kinds[kind].append(words[0])
            algorithm = algorithm or (words[1] if len(words) > 1 and kind == "ECMP" else None)
    if "ECMP" not in kinds:
        return raw.unparsable("not `show switch-hash global`: no ECMP row")
    odd = () if closed else (raw.odd(len(raw.lines), "the table is cut off"),)
    ecmp, lag = tuple(kinds["ECMP"]) or None, tuple(kinds.get("LAG", ())) or None
    return SwitchHash(ecmp=ecmp, lag=lag, algorithm=algorithm, line=first, odd=odd)
