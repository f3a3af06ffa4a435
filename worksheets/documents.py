"""A computed sheet as the JSON document of the contract: plain numbers in the stated unit, with their origin."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from worksheets.engine import Cell, Result
from worksheets.values import Origin, plain

SCHEMA = "rackside.worksheet/1"
SCHEMAS = Path(__file__).parent / "schema"
_ORIGINS: dict[Origin, str] = {"plan": "user", "measured": "recording", "table": "reference"}


def document(result: Result) -> dict[str, Any]:
    """Inputs, outputs and advice of a computed sheet; what cannot be computed has an `error` and no value."""
    shown = {n: c for n, c in result.rows.items() if getattr(c.entry, "show", True)}
    return {
        "schema": SCHEMA,
        "worksheet": result.sheet.sheet,
        "state": result.state,
        "missing": list(result.missing),
        "inputs": {name: _input(cell) for name, cell in result.inputs.items()},
        "outputs": {name: _output(cell) for name, cell in shown.items()},
        "advice": [
            {"rule": said.rule, "severity": said.severity, "text": said.text, "inputs": list(said.inputs)}
            | ({"runbook": said.runbook} if said.runbook else {})
            for said in result.advice
        ],
        "notes": list(result.notes),
    }


def schema() -> dict[str, Any]:
    """The JSON Schema of `rackside.worksheet/1` as it ships."""
    found: dict[str, Any] = json.loads((SCHEMAS / "worksheet.schema.json").read_text(encoding="utf-8"))
    return found


def _number(cell: Cell) -> dict[str, Any]:
    value = cell.value
    if value is None:
        return {"value": None, "unit": cell.entry.unit, "error": str(cell.error)}
    ends = {"low": value.low, "high": value.high}
    return {"value": value.plain(), "unit": value.unit} | {
        name: plain(end, value.unit) for name, end in ends.items() if end is not None
    }


def _input(cell: Cell) -> dict[str, Any]:
    said = _number(cell)
    if cell.value is not None:
        said["origin"] = _ORIGINS.get(cell.value.origin, cell.value.origin)
        said["source"] = cell.value.source
        if cell.value.date:
            said["date"] = cell.value.date
    return said


def _output(cell: Cell) -> dict[str, Any]:
    told = {"text": cell.words} if cell.words else {}
    return _number(cell) | told | {"formula": getattr(cell.entry, "formula", "")}
