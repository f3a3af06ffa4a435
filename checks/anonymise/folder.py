"""Writes a cluster folder again without anything that identifies the site, its machines or its people."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any, get_args

import yaml

from checks import catalogue, inventory, params
from checks.anonymise.names import TooGenericError
from checks.anonymise.text import Anonymiser
from checks.transports import layout
from common import yamlfile
from common.errors import InputError, UsageError, WriteError
from common.files import write_atomically

MARKER = "anonymised.yaml"
_FIXED = frozenset({"recordings", "attachments", "overlays", *get_args(inventory.Role)})
_ROUND = re.compile(r"round-\d+")
_MOST_FILES = 1_000_000
_Dumper: type[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


@dataclass(frozen=True)
class Report:
    """What was done: files written, files left out and why, and how many identifiers of each kind were replaced."""

    files: int
    left_out: tuple[tuple[str, str], ...]
    replaced: dict[str, int]


def anonymise(folder: Path, out: Path, map_file: Path, extra_names: Iterable[str] = ()) -> Report:
    """Writes `folder` into the new folder `out`, and which name was which into `map_file`, for its owner only.

    Raises:
        UsageError: the map would lie in one of the folders, or a name is too general.
        InputError: something in the folder cannot be read.
        WriteError: `out` is not empty, the map is there already, or something cannot be written.
    """
    places = [p.resolve() for p in (folder, out, map_file)]
    if any(places[2].is_relative_to(p) for p in places[:2]):
        raise UsageError(f"{map_file}: the map tells who is who; keep it outside of both folders")
    if places[1].is_relative_to(places[0]) or places[0].is_relative_to(places[1]):
        raise UsageError(f"{out}: write into a folder outside of {folder}")
    if map_file.exists():
        raise WriteError(f"{map_file}: is there already; name another file for the map")
    try:
        anonymiser = Anonymiser(extra_names)
    except TooGenericError as error:
        raise UsageError(f"{error}; name a word that only this site uses") from None
    left_out: list[tuple[str, str]] = []
    found = list(files(folder, left_out))
    _learn(folder, found, anonymiser)
    _make(out)
    count = 0
    for path in found:
        data = read(path)
        written = stream(anonymiser, PurePosixPath(path.relative_to(folder).as_posix()), data, learn=False)
        if written is None:
            left_out.append((path.relative_to(folder).as_posix(), "not text"))
            continue
        target = out / written[0]
        if target.exists():
            raise WriteError(f"{target}: two files would get this name; rename one of them in {folder}")
        _make(target.parent, again=True)
        _write(target, written[1])
        count += 1
    names = mapping(anonymiser)
    _write(out / MARKER, b"# Names, addresses and numbers in this folder are not the real ones.\nversion: 1\n")
    document = {"schema": "rackside.name-map/1", "folder": folder.resolve().name, "names": names}
    write_atomically(map_file, json.dumps(document, indent=1, ensure_ascii=False).encode("utf-8", "backslashreplace"))
    return Report(count, tuple(left_out), {kind: len(known) for kind, known in names.items()})


def stream(
    anonymiser: Anonymiser, path: PurePosixPath, data: bytes, *, learn: bool = True
) -> tuple[PurePosixPath, bytes] | None:
    """One file of a recording under its new name, for who has not all of them yet; None for what is no text.

    With `learn` the names it shows are taken note of first; what an earlier file shows of a name that only a later one
    tells to be one is not found.
    """
    command = command_of(path.name)
    if b"\0" in data[:8192] and command not in ("proc-env", "cmdline"):
        return None
    if learn:
        if path.name == "cluster.yaml":
            learn_cluster(anonymiser, data, path)
        anonymiser.learn(decoded(data), command)
    parts = [_folder_name(anonymiser, part) for part in path.parts[:-1]]
    new = PurePosixPath(*parts, _file_name(anonymiser, path.name))
    if path.name == "cluster.yaml":
        return new, _dump(_cluster(anonymiser, _mapping(data, path)))
    if path.name == "round.yaml":
        return new, _dump(_round(anonymiser, _mapping(data, path)))
    if path.name == "expected.yaml":
        return new, _dump(_plain(anonymiser, _mapping(data, path)))
    return new, anonymiser.data(data, command)


def mapping(anonymiser: Anonymiser) -> dict[str, dict[str, str]]:
    """Every old identifier with its new one, by kind."""
    names: dict[str, dict[str, str]] = {"host": anonymiser.names.hosts, **anonymiser.seen}
    names |= {str(kind): known for kind, known in anonymiser.names.given.items()}
    return {kind: dict(sorted(known.items())) for kind, known in sorted(names.items()) if known}


def learn_cluster(anonymiser: Anonymiser, data: bytes, file: PurePosixPath | Path) -> None:
    """Takes note of the names in a cluster file."""
    spec = _mapping(data, file)
    roles = spec.get("roles")
    for role, value in roles.items() if isinstance(roles, dict) else ():
        nodes = value.get("nodes") if isinstance(value, dict) else value
        if isinstance(nodes, str):
            anonymiser.names.learn_hosts(nodes, role)
    access = spec.get("access")
    if isinstance(access, dict):
        if isinstance(access.get("user"), str):
            anonymiser.names.learn("user", access["user"])
        for jump in access.get("jump") or ():
            user, _, host = str(jump).rpartition("@")
            anonymiser.names.learn("user", user)
            anonymiser.names.learn_host(host.partition(":")[0], "login")
    if isinstance(spec.get("name"), str):
        anonymiser.names.learn("cluster", spec["name"])


def _learn(folder: Path, found: list[Path], anonymiser: Anonymiser) -> None:
    for path in found:
        if path.name == "cluster.yaml":
            learn_cluster(anonymiser, read(path), path)
    for path in found:
        if _is_nodes(path.relative_to(folder).parts[:-1]):
            anonymiser.names.learn_hosts(path.parent.name)
        match = layout._FILE.match(path.name)
        command, values = layout.split_stem(match["stem"]) if match else ("", ())
        entry = catalogue.table().get(command)
        for kind, value in zip(entry.params.values() if entry else (), values, strict=False):
            if kind == "user":
                anonymiser.names.learn("user", value)
            elif kind == "host":
                anonymiser.names.learn_host(value)
    seen: set[int] = set()
    for path in found:
        data = read(path)
        command = command_of(path.name)
        # most nodes of a cluster print the same
        if (key := hash((command, data))) not in seen:
            seen.add(key)
            anonymiser.learn(decoded(data), command)


def _is_nodes(place: tuple[str, ...]) -> bool:
    """True for a folder named by nodes: not by a role, a round or an overlay."""
    if not place or place[-1] in _FIXED or _ROUND.fullmatch(place[-1]):
        return False
    return place[-2:-1] != ("overlays",)


def files(folder: Path, left_out: list[tuple[str, str]]) -> Iterator[Path]:
    """Regular files, in order; links are not followed, a recording may come from a stranger."""
    if not folder.is_dir():
        raise InputError("no such folder", file=folder)
    count = 0
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        for name in sorted(names):
            path = Path(place, name)
            inside = path.relative_to(folder).as_posix()
            if path.is_symlink() or not path.is_file():
                left_out.append((inside, "not a regular file"))
            elif name.startswith(".") or name == MARKER:
                continue
            elif path.stat().st_size > layout.MAX_BYTES:
                left_out.append((inside, f"larger than {layout.MAX_BYTES >> 20} MiB"))
            else:
                count += 1
                if count > _MOST_FILES:
                    raise InputError(f"more than {_MOST_FILES} files", file=folder, fix="is this really a recording?")
                yield path


def _folder_name(anonymiser: Anonymiser, name: str) -> str:
    if name in _FIXED or _ROUND.fullmatch(name):
        return name
    return _safe(anonymiser.node_set(name))


def _file_name(anonymiser: Anonymiser, name: str) -> str:
    match = layout._FILE.match(name)
    if not match:
        return _safe(anonymiser.text(name))
    command, *values = match["stem"].split("@")
    if command not in catalogue.table():
        return _safe(anonymiser.text(name))
    new = [params.encode(anonymiser.text(params.decode(v))) for v in values]
    sample = f"~{match['sample']}" if match["sample"] else ""
    return "@".join((command, *new)) + f"{sample}.{match['end']}"


def _safe(name: str) -> str:
    return name.replace("/", "-") or "-"


def command_of(name: str) -> str:
    """The command a file of a recording holds the output of; empty for other files."""
    match = layout._FILE.match(name)
    return layout.split_stem(match["stem"])[0] if match and match["end"] == "txt" else ""


def _cluster(anonymiser: Anonymiser, spec: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in spec.items():
        if key == "description":
            found[key] = "anonymised recording"
        elif key == "name":
            found[key] = anonymiser.text(str(value))
        elif key == "roles" and isinstance(value, dict):
            found[key] = {role: _role(anonymiser, spec) for role, spec in value.items()}
        elif key == "groups" and isinstance(value, dict):
            found[key] = {kind: _labels(anonymiser, str(kind), groups) for kind, groups in value.items()}
        else:
            found[key] = _plain(anonymiser, value)
    return found


def _role(anonymiser: Anonymiser, spec: Any) -> Any:
    if isinstance(spec, str):
        return anonymiser.node_set(spec)
    if not isinstance(spec, dict):
        return spec
    return {k: anonymiser.node_set(v) if k == "nodes" and isinstance(v, str) else v for k, v in spec.items()}


def _labels(anonymiser: Anonymiser, kind: str, groups: Any) -> Any:
    """Groups under labels that keep their numbers; a label that is the name of a host follows it."""
    if not isinstance(groups, dict):
        return groups
    found: dict[str, Any] = {}
    for n, (label, nodes) in enumerate(groups.items(), 1):
        new = anonymiser.text(str(label))
        if new == str(label):
            new = kind + "-".join(re.findall(r"\d+", new))
        if new in found or new == kind:
            new = f"{kind}-{n}"
        found[new] = anonymiser.node_set(nodes) if isinstance(nodes, str) else nodes
    return found


def _round(anonymiser: Anonymiser, manifest: dict[str, Any]) -> dict[str, Any]:
    found = _plain(anonymiser, manifest)
    times = manifest.get("read_at")
    if isinstance(times, dict):
        found["read_at"] = {}
        for name, at in times.items():
            place, _, file = str(name).rpartition("/")
            new = _file_name(anonymiser, file)
            found["read_at"][f"{_folder_name(anonymiser, place)}/{new}" if place else new] = _plain(anonymiser, at)
    return found  # type: ignore[no-any-return]


def _plain(anonymiser: Anonymiser, value: Any) -> Any:
    """Any YAML value with its texts rewritten; keys are words of Rackside."""
    if isinstance(value, dict):
        return {k: _plain(anonymiser, v) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(anonymiser, v) for v in value]
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return anonymiser.text(value) if isinstance(value, str) else value


def _mapping(data: bytes, file: PurePosixPath | Path) -> dict[str, Any]:
    found = yamlfile.parse(decoded(data).removeprefix("\ufeff"), str(file))
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise InputError("expected keys and values", file=str(file), line=1)
    return found


def _dump(value: dict[str, Any]) -> bytes:
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return text.encode("utf-8", "backslashreplace")


def decoded(data: bytes) -> str:
    """Bytes as text; what is not UTF-8 survives the way back."""
    return data.decode("utf-8", "surrogateescape")


def read(path: Path) -> bytes:
    """The bytes of a file, or an `InputError` that says why not."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(error.strerror or "cannot be read", file=path) from None


def _make(path: Path, *, again: bool = False) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not again and any(path.iterdir()):
            raise WriteError(f"{path}: not empty; write into a new folder")
    except OSError as error:
        raise WriteError(f"{path}: {error.strerror}") from None


def _write(path: Path, data: bytes) -> None:
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
    except OSError as error:
        raise WriteError(f"{path}: {error.strerror}") from None
