"""Whether a tool is on a node, of which version, and whether sudo works.

/usr/bin/nvidia-smi
ethtool version 5.16
"""

from __future__ import annotations

from checks.outputs import Empty, Facts, Outcome, Raw


class ToolPath(Facts):
    """Where a tool lies."""

    path: str


class ToolVersion(Facts):
    """What a tool says of its version, in its own words."""

    said: str


class Sudo(Facts):
    """Whether sudo runs without a password."""

    allowed: bool


def parse_tool_path(raw: Raw) -> Outcome:
    """`command -v`: a path, or nothing where there is no such tool."""
    for _, line in raw.numbered():
        if line.strip().startswith("/"):
            return ToolPath(path=line.strip())
    return Empty("not on the PATH") if raw.blank else raw.unparsable("no path")


def parse_tool_version(raw: Raw) -> Outcome:
    """The first line that holds a digit."""
    for _, line in raw.numbered():
        if any(c.isdigit() for c in line):
            return ToolVersion(said=line.strip()[:120])
    return raw.unparsable("no version")


def parse_sudo_ok(raw: Raw) -> Outcome:
    """Silence and exit status 0 mean yes."""
    return Sudo(allowed=raw.status == 0)
