"""What files of bundles are, as data (`checks/data/intake.yaml`), and the paths that catalogue commands read."""

from __future__ import annotations

import re
from functools import cache, cached_property
from pathlib import Path

from checks import catalogue, params
from checks.findings import Model
from common import yamlfile

FILE = Path(__file__).parent.parent / "data" / "intake.yaml"
_PLACE = re.compile(r"\\\{(\w+)\\\}")


class Row(Model):
    """A file or heading that holds the output of a command."""

    path: str = ""
    heading: str = ""
    command: str
    keep: str = ""
    last: int = 0

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The path as a pattern; parameters are groups."""
        return re.compile(_PLACE.sub(r"(?P<\1>[^/\\s]+)", re.escape(self.path)))

    def answer(self, data: bytes) -> bytes:
        """The part of a file that the command would have printed."""
        if self.keep:
            keep = re.compile(self.keep.encode())
            return b"".join(line for line in data.splitlines(keepends=True) if keep.search(line))
        return b"".join(data.splitlines(keepends=True)[-self.last :]) if self.last else data


class LogRow(Model):
    """A log with kernel lines among others, or with nothing else."""

    path: str
    kernel_only: bool = False
    boot: bool = False


class Name(Model):
    """A name that people give to a file: the commands it may hold, or a kind of attachment."""

    words: str
    commands: tuple[str, ...] = ()
    kind: str = ""


class Signature(Model):
    """A text without which a file is no output of the command; groups are its parameters."""

    text: str
    command: str

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The text as a pattern over the beginning of a file."""
        return re.compile(self.text, re.M)


class Mapping(Model):
    """The whole table."""

    sosreport: tuple[Row, ...]
    sosreport_logs: tuple[LogRow, ...]
    bug_report: tuple[Row, ...]
    names: tuple[Name, ...]
    log_names: tuple[str, ...]
    attachment_names: tuple[Name, ...]
    signatures: tuple[Signature, ...]


@cache
def table() -> Mapping:
    """The table, read once."""
    return yamlfile.load(FILE, Mapping)


class FileCommand(Model):
    """A catalogue command that prints files: `cat` as they are, `grep -H .` with their path before every line."""

    command: str
    paths: tuple[str, ...]
    named: bool

    @cached_property
    def patterns(self) -> tuple[re.Pattern[str], ...]:
        """The paths as patterns without their leading slash; `*` matches within a folder."""
        found = []
        for path in self.paths:
            text = re.escape(path.removeprefix("/")).replace(r"\*", "[^/]+")
            found.append(re.compile(_PLACE.sub(r"(?P<\1>[^/]+)", text)))
        return tuple(found)


@cache
def file_commands() -> tuple[FileCommand, ...]:
    """The commands that only print files, by what the catalogue says they run."""
    found = []
    for entry in catalogue.table().values():
        words = entry.command.split()
        named = words[:3] == ["grep", "-H", "."]
        paths = words[3:] if named else words[1:] if words[0] == "cat" else []
        if paths and all(path.startswith("/") for path in paths):
            found.append(FileCommand(command=entry.id, paths=tuple(paths), named=named))
    return tuple(found)


def parameters(command: str, groups: dict[str, str]) -> tuple[str, ...] | None:
    """The parameter values of a command from the groups of a pattern; None when they are not what they should be."""
    entry = catalogue.get(command)
    values = []
    for name, kind in entry.params.items():
        value = groups.get(name) or ""
        if kind == "block-device" and not value.startswith("/dev/"):
            value = f"/dev/{value}"
        values.append(value)
    try:
        entry.check(tuple(values))
    except params.ParameterError:
        return None
    return tuple(values)
