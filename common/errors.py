"""Errors that are shown to people: one clear message, the place, the fix, and an exit status."""

from __future__ import annotations

from pathlib import Path


class RacksideError(Exception):
    """Anything a person can act on. `exit_status` is the process status of the contract."""

    exit_status = 65


class UsageError(RacksideError):
    """The command line asks for something that does not exist."""

    exit_status = 64


class InputError(RacksideError):
    """A file cannot be read as what it should be.

    `str()` gives `file:line: message; fix` with the parts that are known.
    """

    exit_status = 65

    def __init__(
        self, message: str, *, file: Path | str | None = None, line: int | None = None, fix: str | None = None
    ) -> None:
        self.message, self.file, self.line, self.fix = message, file, line, fix
        where = "" if file is None else f"{file}:{line}: " if line is not None else f"{file}: "
        super().__init__(f"{where}{message}" + (f"; {fix}" if fix else ""))


class NothingReachedError(RacksideError):
    """No node of the cluster could be asked."""

    exit_status = 69


class WriteError(RacksideError):
    """A result could not be written."""

    exit_status = 74
