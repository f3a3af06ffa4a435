"""YAML files read into models, with errors that name the file, the line and the nearest valid key."""

from __future__ import annotations

import difflib
import re
import types
import typing
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from common.errors import InputError

M = TypeVar("M", bound=BaseModel)

# libyaml reads ten times faster; the pure loader is the fallback where the wheel lacks it.
_Loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

MAX_BYTES = 4_000_000


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, or an `InputError` that says why not."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"file is larger than {MAX_BYTES} bytes", file=path, fix="is this really the right file?")
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 text (byte {error.start})", file=path, fix="save it as UTF-8") from None
    except OSError as error:
        raise InputError(error.strerror or "cannot be read", file=path) from None


def parse(text: str, path: Path | str) -> Any:
    """Plain YAML data from trusted or untrusted text; no tags, no objects."""
    return _read(text, path)


def _read(text: str, path: Path | str, *, once: bool = False) -> Any:
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            if once:
                # before the data is made: that copies merged keys into the tree
                _refuse_duplicates(node, path)
            return None if node is None else loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = None if mark is None else mark.line + 1
        raise InputError(f"not valid YAML: {error.problem or error.context}", file=path, line=line) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise InputError(f"not valid YAML: {error}".splitlines()[0], file=path) from None


def load(path: Path, model: type[M]) -> M:
    """A model from a YAML file.

    Raises:
        InputError: unreadable file, invalid YAML, a key given twice, an unknown key or a wrong value.
    """
    return build(read_text(path), model, path)


def build(text: str, model: type[M], path: Path | str) -> M:
    """A model from YAML text that came from `path`."""
    data = _read(text, path, once=True)
    if data is None:
        data = {}
    if not isinstance(data, dict):
        raise InputError("expected keys and values at the top of the file", file=path, line=1)
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise _explain(error, text, model, path) from None


def line_of(text: str, loc: tuple[int | str, ...]) -> int | None:
    """1-based line of the key or item at `loc`, or of the nearest enclosing one; None for an empty text."""
    node = yaml.compose(text, Loader=_Loader)
    if node is None:
        return None
    line: int = node.start_mark.line + 1
    for step in loc:
        found = None
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if key.value == str(step):
                    line, found = key.start_mark.line + 1, value
                    break
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            found = node.value[step]
            line = found.start_mark.line + 1
        if found is None:
            # pydantic adds names of union members and validators to the path; they are not in the file
            continue
        node = found
    return line


def _refuse_duplicates(tree: yaml.Node | None, path: Path | str) -> None:
    def walk(node: Any) -> None:
        if isinstance(node, yaml.MappingNode):
            seen: set[str] = set()
            for key, value in node.value:
                if isinstance(key, yaml.ScalarNode):
                    if key.value in seen:
                        raise InputError(
                            f"key `{key.value}` is given twice",
                            file=path,
                            line=key.start_mark.line + 1,
                            fix="keep one of them",
                        )
                    seen.add(key.value)
                walk(value)
        elif isinstance(node, yaml.SequenceNode):
            for item in node.value:
                walk(item)

    walk(tree)


def _explain(error: ValidationError, text: str, model: type[BaseModel], path: Path | str) -> InputError:
    # a mistyped key shows as unknown and, where it was required, as missing too: say the first
    first = min(
        error.errors(include_url=False),
        key=lambda e: (e["type"] != "extra_forbidden", line_of(text, e["loc"]) or 0),
    )
    loc = first["loc"]
    line = line_of(text, loc)
    key = str(loc[-1]) if loc else ""
    if first["type"] == "extra_forbidden":
        return InputError(
            f"unknown key `{key}`" + (f" at line {line}" if line else ""),
            file=path,
            line=line,
            fix=nearest(key, _keys_at(model, loc[:-1])),
        )
    if key == "[key]" and first["type"] == "literal_error":
        key = str(loc[-2])
        valid = re.findall(r"'([^']*)'", first["ctx"]["expected"])
        return InputError(f"unknown key `{key}` at line {line}", file=path, line=line, fix=nearest(key, valid))
    if first["type"] == "missing":
        return InputError(f"key `{key}` is missing", file=path, line=line, fix=f"add `{key}:`")
    message = first["msg"].removeprefix("Value error, ")
    where = ".".join(str(part) for part in loc if not str(part).startswith("function-"))
    return InputError(f"`{where}`: {message}" if where else message, file=path, line=line)


def nearest(word: str, valid: typing.Iterable[str]) -> str:
    """A fix text for a word that is not among the valid ones."""
    names = sorted(valid)
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    if close:
        return f"did you mean `{close[0]}`?"
    return "valid here: " + ", ".join(names) if names else "remove it"


def _keys_at(model: type[BaseModel], loc: tuple[int | str, ...]) -> set[str]:
    here: Any = model
    for step in loc:
        candidates = _models(here)
        owner = next((m for m in candidates if str(step) in _names(m)), None)
        if owner is not None:
            here = _names(owner)[str(step)]
            continue
        args = typing.get_args(here)
        here = args[-1] if args else here
    return {name for m in _models(here) for name in _names(m)}


def _names(model: type[BaseModel]) -> dict[str, Any]:
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias):
        return [annotation] if issubclass(annotation, BaseModel) else []
    return [m for arg in typing.get_args(annotation) for m in _models(arg)]
