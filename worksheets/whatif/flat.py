"""What-if documents as rows, for CSV and for tables of Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from worksheets.exports.flat import csv_cell

Document = Mapping[str, Any]
Cell = str | float
Table = tuple[list[str], list[list[Cell]]]


def table(document: Document) -> Table:
    """The head and the rows of a what-if document; numbers are plain, in the unit beside them or in the head."""
    return _TABLES[document["kind"]](document)


def _tornado(told: Document) -> Table:
    head = ["input", "label", "unit", "low", "value", "high", "assumed"]
    rows = [
        [*_cells(bar, head), *(_value(bar[end]) for end in ("at_low", "at_high")), csv_cell(bar["swing"])]
        for bar in told["bars"]
    ]
    unit = told["unit"]
    return [*head, f"at_low [{unit}]", f"at_high [{unit}]", f"swing [{unit}]"], rows


def _sample(told: Document) -> Table:
    head = ["row", "label", "unit", "value", "p10", "p50", "p90", "mean", "least", "most", "answered"]
    rows: list[list[Cell]] = []
    for line in told["rows"]:
        # a text has a line for each of its values
        shares = line.get("shares", {"": ""})
        rows += [[*_cells(line, head), text, csv_cell(share)] for text, share in shares.items()]
    rows += [
        [csv_cell(one["condition"]), *[""] * (len(head) - 1), "yes", csv_cell(one["chance_pct"])]
        for one in told["chances"]
    ]
    return [*head, "text", "share_pct"], rows


def _goal(told: Document) -> Table:
    keys = list(told["units"])
    rows: list[list[Cell]] = []
    for name in ("found", "beside", "nearest", "now"):
        if (one := told[name]) is not None:
            results = [_value(one["results"][key]) for key in keys]
            rows.append([name, csv_cell(one["value"]), csv_cell(one["holds"]), *results])
    return ["what", f"{told['input']} [{told['unit']}]", "holds", *(f"{k} [{told['units'][k]}]" for k in keys)], rows


def _sweep(told: Document) -> Table:
    head = [f"{axis['input']} [{axis['unit']}]" for axis in told["axes"]]
    head += [f"{row['row']} [{row['unit']}]" for row in told["rows"]]
    rows = [
        [
            *(csv_cell(value) for value in point["inputs"]),
            *(_value(result) for result in point["results"]),
            csv_cell(point["state"]),
            csv_cell(point["rules"]),
        ]
        for point in told["points"]
    ]
    return [*head, "state", "rules"], rows


def _compare(told: Document) -> Table:
    rows: list[list[Cell]] = []
    for kind, lines in (("input", told["inputs"]), ("row", told["rows"])):
        for line in lines:
            shares = [f"{share['input']}: {share['amount']:.6g}" for share in line.get("shares", ())]
            first, second = (_value(one) for one in line["plans"])
            unit = line["units"][0] if line["units"][0] == line["units"][1] else " / ".join(line["units"])
            gap = csv_cell(line.get("gap"))
            rows.append([kind, line[kind], line["label"], unit, first, second, gap, csv_cell(shares)])
    return ["kind", "name", "label", "unit", *told["plans"], "gap", "shares"], rows


def _cells(line: Document, names: list[str]) -> list[Cell]:
    return [csv_cell(line.get(name)) for name in names]


def _value(outcome: Document) -> Cell:
    return csv_cell(outcome["error"] if "error" in outcome else outcome["value"])


_TABLES: dict[str, Callable[[Document], Table]] = {
    "tornado": _tornado,
    "sample": _sample,
    "goal": _goal,
    "sweep": _sweep,
    "compare": _compare,
}
