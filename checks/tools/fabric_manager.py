"""The fabric manager of NVSwitch machines: its service, version and log.

LoadState=loaded
ActiveState=active
SubState=running
NRestarts=0
"""

from __future__ import annotations

import re

from checks.findings import Model
from checks.outputs import Empty, Facts, Outcome, Raw
from checks.tools.formats import integer

_PROPERTY = re.compile(r"^([A-Z]\w+)=(.*)$")


class FabricManager(Facts):
    """State of the systemd unit. `loaded` is false where the service is not installed."""

    lines: dict[str, int]
    loaded: bool
    active: str
    sub: str | None = None
    restarts: int | None = None
    started: str | None = None


def parse_fm_status(raw: Raw) -> Outcome:
    """`systemctl show … -p`: one property a line, in any order."""
    values: dict[str, str] = {}
    lines: dict[str, int] = {}
    odd = []
    for n, line in raw.numbered():
        if found := _PROPERTY.match(line.strip()):
            values[found[1]], lines[found[1]] = found[2], n
        elif values:
            odd.append(raw.odd(n))
    if "LoadState" not in values and "ActiveState" not in values:
        return raw.unparsable("no ActiveState of a systemd unit")
    if "ActiveState" not in values:
        return raw.unparsable("the unit's ActiveState is missing")
    return FabricManager(
        lines=lines,
        loaded=values.get("LoadState", "loaded") == "loaded",
        active=values["ActiveState"],
        sub=values.get("SubState") or None,
        restarts=integer(values.get("NRestarts", "")),
        started=values.get("ExecMainStartTimestamp") or None,
        odd=tuple(odd),
    )


class FabricManagerVersion(Facts):
    """Must equal the driver's version."""

    line: int
    version: str


_VERSION = re.compile(r"(?:version is\s*:?|version\s*:?)\s*(\d+\.\d+(?:\.\d+)?)", re.I)


def parse_fm_version(raw: Raw) -> Outcome:
    """`nv-fabricmanager --version`."""
    for n, line in raw.numbered():
        if found := _VERSION.search(line):
            return FabricManagerVersion(line=n, version=found[1])
    return raw.unparsable("no version")


class FabricError(Model):
    """One error line of the fabric manager's log."""

    line: int
    sxid: int | None
    fatal: bool
    text: str


class FabricManagerLog(Facts):
    """Errors the fabric manager logged."""

    errors: tuple[FabricError, ...]


_ERROR = re.compile(r"\[ERROR\].*|detected NVSwitch (?:non-)?fatal error.*", re.I)
_SXID = re.compile(r"(?:error|SXid)(?: id)?[ :(]*(\d{5})\b", re.I)


def parse_fm_log(raw: Raw) -> Outcome:
    """`fabricmanager.log`: lines marked ERROR."""
    if not any("[tid" in line or "[INFO]" in line or "[ERROR]" in line for line in raw.lines):
        return raw.unparsable("not a fabric manager log")
    errors = []
    for n, line in raw.numbered():
        if found := _ERROR.search(line):
            number = _SXID.search(found.group(0))
            fatal = "fatal" in line.lower() and "non-fatal" not in line.lower()
            sxid = int(number[1]) if number else None
            errors.append(FabricError(line=n, sxid=sxid, fatal=fatal, text=line.strip()[:300]))
    return FabricManagerLog(errors=tuple(errors)) if errors else Empty("no errors logged")
