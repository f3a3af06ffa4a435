"""What should not be in a recording that leaves the site: secrets, and real names in one that says it has none."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from checks.anonymise.folder import MARKER, command_of, decoded, files, read
from checks.anonymise.learn import learn
from checks.anonymise.names import NEW, Names
from checks.lint import Problem
from common.errors import InputError
from common.redact import foreign_environment, leaks
from common.safetext import safe_line

_TOKEN = re.compile(r"[0-9A-Za-z]+(?:[._:-]+[0-9A-Za-z]+)*")
_PART = re.compile(r"[0-9A-Za-z]+")
_UUID = re.compile(r"(?<![0-9A-Za-z])[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?![0-9A-Za-z])")
_MAX_PARTS = 10
_MOST_OF_A_FILE = 200
_MAX_MAP = 256 * 1024 * 1024


def says_anonymised(folder: Path) -> bool:
    """True when `rackside anonymise` wrote the folder."""
    return (folder / MARKER).is_file()


def secrets(folder: Path) -> Iterator[Problem]:
    """Every secret in the texts of a folder, by file and line; the secret itself is not told."""
    for path in files(folder, []):
        data = read(path)
        found = [*leaks(decoded(data))]
        if command_of(path.name) == "proc-env":
            found += foreign_environment(data)
        for leak in sorted(set(found)):
            yield Problem(
                file=str(path),
                line=leak.line,
                message=f"holds a secret ({leak.kind})",
                fix="write <redacted> in its place, or let `rackside anonymise` do it; then change the secret",
            )


def identifiers(folder: Path, map_file: Path | None = None) -> Iterator[Problem]:
    """What looks like a real name in an anonymised folder; with the map, every old name that is still there.

    Addresses look the same before and after: only the map tells them apart.
    """
    known = _read_map(map_file) if map_file else {}
    words = {old.lower(): kind for old, kind in known.items() if kind == "name"}
    exact = {old.lower(): kind for old, kind in known.items() if kind != "name"}
    for path in files(folder, []):
        inside = path.relative_to(folder).as_posix()
        text = decoded(read(path))
        told: set[str] = set()
        found = chain(
            ((-1, value, kind) for _, value, kind in _known(inside, exact, words)),
            _known(text, exact, words),
            _looking_real(text, command_of(path.name)),
        )
        for at, value, kind in found:
            if value.lower() in told:
                continue
            told.add(value.lower())
            yield Problem(
                file=str(path),
                line=text.count("\n", 0, at) + 1 if at >= 0 else None,
                severity="warning",
                message=f"looks like a real {kind}: {safe_line(value, limit=80)}",
                fix="anonymise the recording again and name it with --name",
            )
            if len(told) == _MOST_OF_A_FILE:
                break


def _known(text: str, exact: Mapping[str, str], words: Mapping[str, str]) -> Iterator[tuple[int, str, str]]:
    """Old names of the map in a text, with where they stand."""
    if exact:
        for match in _TOKEN.finditer(text):
            for value in _readings(match[0]):
                if kind := exact.get(value.lower()):
                    yield match.start(), value, kind
    if words:
        for match in re.finditer("|".join(map(re.escape, words)), text, re.I):
            yield match.start(), match[0], "name"


def _readings(token: str) -> Iterator[str]:
    """The token and its parts: a name may stand in a longer one."""
    yield token
    spans = [m.span() for m in _PART.finditer(token)][:_MAX_PARTS]
    for i, (start, _) in enumerate(spans):
        for _, end in spans[i:]:
            if end - start < len(token):
                yield token[start:end]


def _looking_real(text: str, command: str) -> Iterator[tuple[int, str, str]]:
    """Names that `anonymise` would have replaced by others."""
    names = Names()
    learn(names, text, command)
    for kind, given in names.given.items():
        for old in given:
            if not NEW[kind].fullmatch(old) and (at := text.find(old)) >= 0:
                yield at, old, kind
    if pattern := names.host_pattern():
        for match in re.finditer(rf"(?<![0-9A-Za-z])(?:{pattern})(?![0-9A-Za-z])", text):
            if names.host(match[0]) is not None and not NEW["host"].fullmatch(match[0]):
                yield match.start(), match[0], "host"
    for match in _UUID.finditer(text):
        # new ones are of version 8
        if match[0][14] != "8" and len(set(match[0])) >= 4:
            yield match.start(), match[0], "UUID"


def _read_map(path: Path) -> dict[str, str]:
    """Old identifiers with their kind; those that are new names too cannot be told apart and are left out."""
    bad = partial(InputError, file=path, fix="give the map that `rackside anonymise` wrote")
    try:
        if path.stat().st_size > _MAX_MAP:
            raise bad("too large for a map")
        document: Any = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(error.strerror or "cannot be read", file=path) from None
    except (ValueError, RecursionError):
        raise bad("not a map of names") from None
    names = document.get("names") if isinstance(document, dict) else None
    if not isinstance(names, dict) or not all(isinstance(known, dict) for known in names.values()):
        raise bad("not a map of names")
    new = {str(value).lower().partition("/")[0] for known in names.values() for value in known.values()}
    old = {
        name.partition("/")[0] if kind.startswith("ip") else name: kind
        for kind, known in names.items()
        for name in known
    }
    return {name: kind for name, kind in old.items() if name.lower() not in new}
