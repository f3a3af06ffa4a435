"""The fault catalogue as data: what a conclusion means, what to do, how to confirm, what else it could be."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pydantic import ConfigDict

from checks.findings import LAYERS, Layer, Model
from common import yamlfile
from common.words import Text

FOLDER = Path(__file__).parent / "data" / "faults"
PREFIXES: Mapping[str, Layer] = {
    "net": "network",
    "ib": "network",
    "gpu": "gpu",
    "host": "host",
    "st": "storage",
    "sc": "scheduling",
    "tr": "training-run",
}


class Remedy(Model):
    """One step for a human. `risk`: safe, disruptive. Rackside shows it and never runs it."""

    step: Text
    risk: str
    command: str | None = None
    rollback: Text | None = None
    confirm: Text | None = None


class EvidenceField(Model):
    """Where a fault shows: the field of a command's output, healthy and faulty."""

    command: str
    command_id: str | None = None
    role: str
    field: Text
    healthy: Text
    faulty: Text
    read: Text
    thresholds: tuple[str, ...] = ()


class Fault(Model):
    """One known fault. `worksheet` is the sheet that sizes what is wrong."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    title: Text
    layer: Layer
    severity: str
    symptom: Text
    evidence: tuple[EvidenceField, ...] = ()
    needs: tuple[str, ...] = ()
    causes: tuple[Text, ...] = ()
    remedy: tuple[Remedy, ...] = ()
    confirm: Text = ""
    confused_with: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    war_story: str | None = None
    worksheet: str = ""


def layer_of(fault_id: str) -> Layer:
    """The layer a fault id belongs to, by its prefix.

    Raises:
        KeyError: the id has no known prefix.
    """
    return PREFIXES[fault_id.split("-", 1)[0]]


@cache
def of_layer(layer: Layer) -> Mapping[str, Fault]:
    """Faults of one layer by id; a file is read only when something of its layer is concluded or explained."""
    path = FOLDER / f"{layer}.yaml"
    return {row["id"]: Fault(**row) for row in yamlfile.parse(yamlfile.read_text(path), path)["faults"]}


def get(fault_id: str) -> Fault | None:
    """A fault by id; None when there is none."""
    layer = PREFIXES.get(fault_id.split("-", 1)[0])
    return of_layer(layer).get(fault_id) if layer else None


def every() -> dict[str, Fault]:
    """All faults, in layer order."""
    return {fid: fault for layer in LAYERS for fid, fault in of_layer(layer).items()}
