"""The documents of the contract that walks and checks give out, as models; their JSON Schemas ship beside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    field_serializer,
    field_validator,
    model_serializer,
)

from checks.findings import Certainty, Finding, Layer, Model, Status

SCHEMAS = Path(__file__).parent / "schema"

Verdict: TypeAlias = Literal["fault", "healthy", "undecided"]
Role: TypeAlias = Literal["initiating", "contributing", "cascade"]
Source: TypeAlias = Literal["live", "replay"]


class _Sparse(Model):
    """Leaves out what is None, as the contract marks with `?`."""

    @model_serializer(mode="wrap")
    def _given(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {key: value for key, value in handler(self).items() if value is not None}


class Remedy(_Sparse):
    """One step for a human; never run. `risk`: safe, reversible, disruptive, destructive."""

    step: str
    risk: str
    command: str | None = None
    rollback: str | None = None
    confirm: str | None = None


class Conclusion(Model):
    """A fault the walk concluded, where, on which grounds, and what to do."""

    fault: str
    title: str
    layer: Layer
    severity: str
    role: Role
    certainty: Certainty
    nodes: str = ""
    entities: tuple[str, ...] = ()
    because: tuple[str, ...] = ()
    alternatives: tuple[str, ...] = ()
    remedy: tuple[Remedy, ...] = ()
    caused_by: tuple[str, ...] = ()
    confirm: str = ""
    at: str = ""


class PathStep(_Sparse):
    """One step walked. `outcome` is the worst status of its checks, `answered`, `noted`, `skipped`, `ran`, `stopped`.

    `step` of a runbook run by another is `runbook/step`; `text` is what a note said.
    """

    step: str
    layer: Layer | None = None
    outcome: str
    answer: str | None = None
    title: str = ""
    concluded: tuple[str, ...] = ()
    reason: str = ""
    text: str | None = None
    at: str = ""


class Cleared(Model):
    """A layer shown to be innocent, and by which checks."""

    layer: Layer
    checks: tuple[str, ...]


class Unknown(Model):
    """What could not be told, where, and why; `missing` are the commands that did not answer."""

    check: str
    nodes: str = ""
    reason: str
    missing: tuple[str, ...] = ()


class Note(Model):
    """A remark a person wrote during the walk."""

    at: str
    step: str
    text: str


class WalkDocument(BaseModel):
    """The `walk` document. `ended` is null while the walk goes on."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    schema_: Literal["rackside.walk/1"] = Field("rackside.walk/1", alias="schema")
    runbook: str
    title: str = ""
    cluster: str
    source: Source
    started: str
    ended: str | None = None
    verdict: Verdict
    path: tuple[PathStep, ...] = ()
    conclusions: tuple[Conclusion, ...] = ()
    findings: tuple[Finding, ...] = ()
    cleared: tuple[Cleared, ...] = ()
    unknown: tuple[Unknown, ...] = ()
    notes: tuple[Note, ...] = ()
    closing: str = ""

    def as_json(self) -> str:
        """The document as text."""
        return json.dumps(self.model_dump(mode="json", by_alias=True), indent=2, ensure_ascii=False)


class CheckDocument(BaseModel):
    """The `check` document."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    schema_: Literal["rackside.check/1"] = Field("rackside.check/1", alias="schema")
    cluster: str
    status: Status
    findings: tuple[Finding, ...] = ()

    @field_validator("status", mode="before")
    @classmethod
    def _of_word(cls, value: Any) -> Any:
        return Status.of(value) if isinstance(value, str) else value

    @field_serializer("status")
    def _word(self, value: Status) -> str:
        return value.word


def schemas() -> dict[str, dict[str, Any]]:
    """Every JSON Schema that ships, by file name."""
    from runbooks.model import Runbook

    walk = WalkDocument.model_json_schema(mode="serialization", by_alias=True)
    check = CheckDocument.model_json_schema(mode="serialization", by_alias=True)
    for schema in (walk, check):
        _words(schema["$defs"]["Finding"]["properties"]["status"])
    _words(check["properties"]["status"])
    walk["$defs"]["Remedy"] = _validation(Remedy)
    walk["$defs"]["PathStep"] = _validation(PathStep)
    return {
        "walk.schema.json": {**walk, "$id": "rackside.walk/1"},
        "check.schema.json": {**check, "$id": "rackside.check/1"},
        "runbook.schema.json": _texts(Runbook.model_json_schema(by_alias=True)),
    }


def schema(kind: str) -> dict[str, Any]:
    """The JSON Schema of `walk`, `check` or `runbook` as it ships."""
    found: dict[str, Any] = json.loads((SCHEMAS / f"{kind}.schema.json").read_text(encoding="utf-8"))
    return found


def _validation(model: type[BaseModel]) -> dict[str, Any]:
    # a wrapped serializer hides the fields from the serialization schema
    schema = model.model_json_schema(mode="validation")
    schema.pop("$defs", None)
    return schema


def _words(schema: dict[str, Any]) -> None:
    schema.clear()
    schema.update({"type": "string", "enum": [s.word for s in Status]})


def _texts(schema: dict[str, Any]) -> dict[str, Any]:
    """Texts may be one per language, and single ids may stand for a list; the models read both."""
    step, runbook = schema["$defs"]["Step"]["properties"], schema["properties"]
    languages = {"type": "object", "additionalProperties": {"type": "string"}}
    places = [(step, "title"), (step, "why"), (step, "note"), (step, "stop"), (runbook, "title")]
    places.append((schema["$defs"]["Ask"]["properties"], "text"))
    for owner, name in places:
        owner[name] = {"anyOf": [{"type": "string"}, languages]}
    choices = schema["$defs"]["Ask"]["properties"]["choices"]
    choices["additionalProperties"] = {"anyOf": [{"type": "string"}, languages]}
    texts = {"type": "array", "items": {"type": "string"}}
    runbook["words"] = {"anyOf": [texts, {"type": "object", "additionalProperties": texts}]}
    outcome, when = schema["$defs"]["Outcome"]["properties"], schema["$defs"]["When"]["properties"]
    for owner, name in ((outcome, "fault"), (outcome, "conclude"), (when, "answer"), (when, "is")):
        owner[name] = {"anyOf": [{"type": "string"}, texts]} | (
            {"description": owner[name]["description"]} if "description" in owner[name] else {}
        )
    return schema


def write_schemas() -> None:
    """Writes the JSON Schema files anew."""
    for name, schema in schemas().items():
        (SCHEMAS / name).write_text(json.dumps(schema, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_schemas()
