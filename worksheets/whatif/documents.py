"""What-if results as JSON documents `rackside.whatif/1`: plain numbers in the stated unit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worksheets.values import plain
from worksheets.whatif.compare import Comparison, Line
from worksheets.whatif.sweep import Outcome, Sweep
from worksheets.whatif.tornado import End, Tornado
from worksheets.whatif.uncertain import Uncertain

if TYPE_CHECKING:
    # these load numpy
    from worksheets.whatif.goal import Goal, Try
    from worksheets.whatif.sample import Chance, Quantiles, Sampling, Shares

SCHEMA = "rackside.whatif/1"
_FILE = Path(__file__).parent.parent / "schema" / "whatif.schema.json"


def schema() -> dict[str, Any]:
    """The JSON Schema of `rackside.whatif/1` as it ships."""
    found: dict[str, Any] = json.loads(_FILE.read_text(encoding="utf-8"))
    return found


def _head(sheet: str, kind: str) -> dict[str, Any]:
    return {"schema": SCHEMA, "worksheet": sheet, "kind": kind}


def _outcome(found: Outcome | End, unit_name: str) -> dict[str, Any]:
    value = found.result if isinstance(found, End) else found.value
    return {"value": plain(value, unit_name)} | ({"error": found.why} if found.why else {})


def _input(one: Uncertain) -> dict[str, Any]:
    ends = {name: plain(getattr(one, name), one.unit) for name in ("low", "value", "high")}
    return {"input": one.ref.key, "label": str(one.entry.label), "unit": one.unit, **ends, "assumed": one.assumed}


def tornado(sheet: str, found: Tornado) -> dict[str, Any]:
    """What sways a result."""
    unit_name = found.unit
    return _head(sheet, "tornado") | {
        "row": found.target.key,
        "label": str(found.target.entry.label),
        "unit": unit_name,
        "value": plain(found.base, unit_name),
        "others_pct": found.others_pct,
        "bars": [
            _input(bar.input)
            | {
                "at_low": _outcome(bar.at_low, unit_name),
                "at_high": _outcome(bar.at_high, unit_name),
                "swing": plain(bar.swing, unit_name),
            }
            for bar in found.bars
        ],
        "still": [one.ref.key for one in found.still],
    }


def sample(sheet: str, found: Sampling) -> dict[str, Any]:
    """How sure results are."""
    from worksheets.whatif.sample import Quantiles

    return _head(sheet, "sample") | {
        "draws": found.draws,
        "seed": found.seed,
        "method": found.method,
        "rows": [_quantiles(row) if isinstance(row, Quantiles) else _shares(row) for row in found.rows],
        "chances": [_chance(chance) for chance in found.chances],
        "inputs": [_input(one) for one in found.inputs],
    }


def _row_head(row: Quantiles | Shares) -> dict[str, Any]:
    return {"row": row.target.key, "label": str(row.target.entry.label), "unit": row.unit, "answered": row.answered}


def _quantiles(row: Quantiles) -> dict[str, Any]:
    names = ("p10", "p50", "p90", "mean", "least", "most")
    told = _row_head(row) | {"value": plain(row.base, row.unit)}
    told |= {name: plain(getattr(row, name), row.unit) for name in names} | {"bins": list(row.bins)}
    return told | ({"error": row.why} if row.why else {})


def _shares(row: Shares) -> dict[str, Any]:
    told = _row_head(row) | {"value": row.base, "shares": {text: plain(share, "%") for text, share in row.shares}}
    return told | ({"error": row.why} if row.why else {})


def _chance(chance: Chance) -> dict[str, Any]:
    return {"condition": chance.condition.text, "chance_pct": plain(chance.share, "%"), "in_plan": chance.base}


def goal(sheet: str, found: Goal) -> dict[str, Any]:
    """Which value meets a goal."""
    by = found.turned

    def tried(one: Try | None) -> dict[str, Any] | None:
        if one is None:
            return None
        results = {
            condition.target.key: _outcome(outcome, unit_name)
            for condition, outcome, unit_name in zip(found.conditions, one.outcomes, found.units, strict=True)
        }
        return {"value": plain(one.value, by.unit), "holds": one.holds, "results": results}

    return _head(sheet, "goal") | {
        "conditions": [condition.text for condition in found.conditions],
        "units": {c.target.key: name for c, name in zip(found.conditions, found.units, strict=True)},
        "input": by.ref.key,
        "label": str(by.entry.label),
        "unit": by.unit,
        "low": plain(by.low, by.unit),
        "high": plain(by.high, by.unit),
        "step": plain(by.step, by.unit),
        "pick": found.pick,
        "found": tried(found.found),
        "beside": tried(found.beside),
        "nearest": tried(found.nearest),
        "now": tried(found.now),
        "stops": found.stops,
        "gaps": found.gaps,
        "every": found.every,
        "tried": found.tried,
    }


def sweep(sheet: str, found: Sweep) -> dict[str, Any]:
    """What comes of several values."""
    return _head(sheet, "sweep") | {
        "axes": [
            {
                "input": axis.ref.key,
                "label": str(axis.entry.label),
                "unit": axis.unit,
                "values": [plain(value, axis.unit) for value in axis.values],
            }
            for axis in found.axes
        ],
        "rows": [
            {"row": row.key, "label": str(row.entry.label), "unit": unit_name}
            for row, unit_name in zip(found.rows, found.units, strict=True)
        ],
        "points": [
            {
                "inputs": [plain(v, axis.unit) for v, axis in zip(point.values, found.axes, strict=True)],
                "results": [_outcome(o, name) for o, name in zip(point.outcomes, found.units, strict=True)],
                "state": point.state,
                "rules": list(point.rules),
            }
            for point in found.points
        ],
        "alike": [row.key for row in found.alike],
    }


def compare(sheet: str, found: Comparison) -> dict[str, Any]:
    """What sets two plans apart."""
    return _head(sheet, "compare") | {
        "plans": list(found.names),
        "states": list(found.states),
        "method": "mean over " + ("every order" if found.every_order else f"{found.orders} orders") + " of swaps",
        "inputs": [
            {
                "input": one.ref.key,
                "label": str(one.entry.label),
                "units": list(one.units),
                "plans": [_outcome(o, name) for o, name in zip((one.first, one.second), one.units, strict=True)],
            }
            for one in found.inputs
        ],
        "rows": [_line(line) for line in found.lines],
        "alike": [row.key for row in found.alike],
    }


def _line(line: Line) -> dict[str, Any]:
    told: dict[str, Any] = {
        "row": line.target.key,
        "label": str(line.target.entry.label),
        "units": list(line.units),
        "plans": [_outcome(o, name) for o, name in zip((line.first, line.second), line.units, strict=True)],
        "gap": plain(line.gap, line.units[0]),
        "shares": [{"input": share.key, "amount": plain(share.amount, line.units[0])} for share in line.shares],
    }
    return told | ({"note": line.why} if line.why else {})
