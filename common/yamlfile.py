"""YAML files read into models, with errors that name the file, the line and the nearest valid key."""

from __future__ import annotations

import re
import types
import typing
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from common.errors import InputError

# libyaml reads ten times faster; the pure loader is the fallback where the wheel lacks it.
try:
    from yaml import CSafeLoader as _Fastest
except ImportError:
    from yaml import SafeLoader as _Fastest  # type: ignore[assignment]

M = TypeVar("M", bound=BaseModel)

_TEXT, _LIST, _MAP = (f"tag:yaml.org,2002:{name}" for name in ("str", "seq", "map"))
_FLATTENED = frozenset({"tag:yaml.org,2002:merge", "tag:yaml.org,2002:value"})

MAX_BYTES = 4_000_000


class _Loader(_Fastest):
    """The safe loader without its look-ups by path, which nothing here uses: a third of the time a file takes."""

    def resolve(self, kind: type[yaml.Node], value: str, implicit: tuple[bool, bool]) -> str:
        """The tag of a node that names none."""
        if kind is not yaml.ScalarNode:
            return _MAP if kind is yaml.MappingNode else _LIST
        if implicit[0]:
            for tag, pattern in self.yaml_implicit_resolvers.get(value[:1], ()):
                if pattern.match(value):
                    return str(tag)
        return _TEXT

    def descend_resolver(self, current: Any, index: Any) -> None:
        """Nothing hangs on where a node stands."""

    def ascend_resolver(self) -> None:
        """Nothing hangs on where a node stands."""


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
            return None if node is None else _Builder(loader, path, once).value(node)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = None if mark is None else mark.line + 1
        raise InputError(f"not valid YAML: {error.problem or error.context}", file=path, line=line) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise InputError(f"not valid YAML: {error}".splitlines()[0], file=path) from None


class _Builder:
    """Plain data from YAML nodes, several times faster than yaml's own way; what an alias repeats is built once.

    `once` refuses a key that stands twice in one place.
    """

    def __init__(self, loader: Any, path: Path | str, once: bool) -> None:
        self.loader, self.path, self.once = loader, path, once
        self.built: dict[int, Any] = {}

    def value(self, node: Any) -> Any:
        if isinstance(node, yaml.ScalarNode):
            return node.value if node.tag == _TEXT else self.loader.construct_object(node)
        if id(node) in self.built:
            return self.built[id(node)]
        if node.tag == _LIST and isinstance(node, yaml.SequenceNode):
            items: list[Any] = []
            self.built[id(node)] = items
            items.extend(self.value(item) for item in node.value)
            return items
        if node.tag != _MAP or not isinstance(node, yaml.MappingNode):
            # sets, pairs and refused tags: yaml's own way
            return self.loader.construct_object(node, deep=True)
        if self.once:
            self.refuse_duplicates(node)
        if any(key.tag in _FLATTENED for key, _ in node.value):
            self.loader.flatten_mapping(node)
        found: dict[Any, Any] = {}
        self.built[id(node)] = found
        for key, value in node.value:
            name = self.value(key)
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(None, None, "found unhashable key", key.start_mark)
            found[name] = self.value(value)
        return found

    def refuse_duplicates(self, node: yaml.MappingNode) -> None:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    line = key.start_mark.line + 1
                    raise InputError(
                        f"key `{key.value}` is given twice", file=self.path, line=line, fix="keep one of them"
                    )
                seen.add(key.value)


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
    import difflib

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
