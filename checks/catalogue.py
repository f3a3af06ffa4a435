"""The closed catalogue of commands: nothing outside it ever reaches a node."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Literal

from checks import params
from checks.findings import Model
from checks.outputs import Parser
from common import yamlfile
from common.words import Text

FOLDER = Path(__file__).parent / "data" / "commands"
_PLACE = re.compile(r"\{([\w-]+)\}")

SHOWN_ONLY = frozenset({"heavy", "active-load", "disruptive"})
"""Costs that exist to be shown in remedies; the runner refuses them."""


class RefusedCommandError(Exception):
    """A command that Rackside shows and never runs."""


class Command(Model):
    """One catalogue entry.

    `command` is the exact text with `{parameters}`; `params` names their types in the order of the text. `answers`
    are exit statuses that carry an answer. `fanout` says on how many nodes at once it may run. After a time-out no
    command of the same `hang_class` is run on that node again.
    """

    id: str
    command: str
    tool: str
    roles: tuple[str, ...]
    os: str | None = None
    params: dict[str, str] = {}
    output: str
    since: str
    privilege: str
    root: Literal["never", "maybe", "needed"]
    cost: Literal["low", "medium", "heavy", "active-load", "disruptive"]
    cost_note: Text = ""
    timeout_s: int
    size: str = ""
    answers: tuple[int, ...] = (0,)
    fanout: Literal["many", "one"] = "many"
    hang_class: str | None = None
    note: Text = ""

    @property
    def runnable(self) -> bool:
        """False for entries that exist only to be shown."""
        return self.cost not in SHOWN_ONLY

    def render(self, values: tuple[str, ...] = ()) -> str:
        """The command text with validated, quoted parameters.

        Raises:
            RefusedCommandError: the entry is shown only.
            ParameterError: a value is not of its type, or their number differs.
        """
        if not self.runnable:
            raise RefusedCommandError(f"{self.id} is {self.cost}: Rackside shows it and never runs it")
        self.check(values)
        given = dict(zip(self.params, values, strict=True))
        in_quotes = "'{" in self.command

        def fill(match: re.Match[str]) -> str:
            value = given[match[1]]
            # `'{pattern}'` stands inside quotes already; its type admits no quote
            return value if in_quotes else shlex.quote(value)

        return _PLACE.sub(fill, self.command)

    def check(self, values: tuple[str, ...]) -> None:
        """Refuses values that do not fit the parameters."""
        if len(values) != len(self.params):
            raise params.ParameterError(f"{self.id} takes {len(self.params)} parameter(s), got {len(values)}")
        for kind, value in zip(self.params.values(), values, strict=True):
            params.check(kind, value)

    def stem(self, values: tuple[str, ...] = ()) -> str:
        """File name without ending in a recording: `eth-stats@eth2`."""
        return "@".join((self.id, *(params.encode(v) for v in values)))


@cache
def table() -> Mapping[str, Command]:
    """All commands by id, in file order."""
    entries: dict[str, Command] = {}
    for path in sorted(FOLDER.glob("*.yaml")):
        for row in yamlfile.parse(yamlfile.read_text(path), path)["commands"]:
            entries[row["id"]] = Command(**row)
    return entries


def get(command_id: str) -> Command:
    """A command by id.

    Raises:
        KeyError: it is not in the catalogue.
    """
    return table()[command_id]


@cache
def parser(command_id: str) -> Parser | None:
    """The parser of a command: `parse_<id>` in `checks.tools.<tool>`; None while there is none."""
    command = table().get(command_id)
    if command is None:
        return None
    module = f"checks.tools.{command.tool}"
    try:
        found = import_module(module)
    except ModuleNotFoundError as error:
        if error.name == module:
            return None
        raise
    return getattr(found, "parse_" + command_id.replace("-", "_"), None)
