"""The plan: the cluster and run that all sheets reckon with, as one YAML file."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, model_validator

from common import yamlfile
from common.files import write_atomically
from worksheets.model import Date, Model, Plain

CARD = "plan"
"""The slug of the sheet that holds the plan card."""


class Given(Model):
    """A value with more to say: its range and where it was measured. Numbers count in the unit of the input."""

    value: Plain
    low: Plain | None = None
    high: Plain | None = None
    source: str = ""
    date: Date = ""
    note: str = ""


class Plan(Model):
    """`card` are values of the plan card, `sheets` those of single sheets, `measured` what was read on a cluster."""

    plan: str = "plan"
    note: str = ""
    card: dict[str, Plain | Given] = {}
    sheets: dict[str, dict[str, Plain | Given]] = {}
    measured: dict[str, Given] = Field({}, description="by `sheet.input`")

    @model_validator(mode="after")
    def _names(self) -> Plan:
        if CARD in self.sheets:
            raise ValueError("values of the plan card stand under `card`")
        for name, given in self.measured.items():
            if name.count(".") != 1:
                raise ValueError(f"measured `{name}`: write sheet.input, such as training-time.mfu")
            if not given.source:
                raise ValueError(f"measured `{name}` needs a source: what was measured where")
        return self

    def given(self) -> dict[str, Given]:
        """Every value of card and sheets, by `sheet.input`."""
        flat = {(CARD, name): value for name, value in self.card.items()}
        flat |= {(sheet, name): value for sheet, values in self.sheets.items() for name, value in values.items()}
        return {f"{s}.{n}": v if isinstance(v, Given) else Given(value=v) for (s, n), v in flat.items()}

    def only(self, keys: Container[str]) -> Plan:
        """The plan with the values of these keys alone, as `sheet.input`."""
        sheets = {s: {n: v for n, v in values.items() if f"{s}.{n}" in keys} for s, values in self.sheets.items()}
        return self.model_copy(
            update={
                "card": {name: value for name, value in self.card.items() if f"{CARD}.{name}" in keys},
                "sheets": sheets,
                "measured": {key: value for key, value in self.measured.items() if key in keys},
            }
        )


def load(path: Path) -> Plan:
    """A plan from its file."""
    return yamlfile.load(path, Plan)


def dump(plan: Plan) -> str:
    """A plan as YAML, in the order of its fields and with names sorted, so that two saves are equal."""
    data = plan.model_dump(exclude_defaults=True)
    ordered: dict[str, Any] = {"plan": plan.plan}
    for field in ("note", "card", "sheets", "measured"):
        if field in data:
            ordered[field] = _sorted(data[field])
    return yaml.safe_dump(ordered, sort_keys=False, allow_unicode=True, width=120)


def save(plan: Plan, path: Path) -> None:
    """Writes a plan, all or nothing."""
    write_atomically(path, dump(plan).encode())


def _sorted(value: Any) -> Any:
    if isinstance(value, dict) and "value" not in value:
        return {key: _sorted(value[key]) for key in sorted(value)}
    return value
