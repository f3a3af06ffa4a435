"""Types of command parameters: what a value may look like before it comes near a command line or a file name."""

from __future__ import annotations

import hashlib
import re
from urllib.parse import quote, unquote

_PATTERNS: dict[str, str] = {
    "interface": r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,31}",
    "rdma-device": r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}",
    "switch-port": r"[A-Za-z0-9][A-Za-z0-9/._-]{0,31}",
    "host": r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?|[0-9A-Fa-f:]{2,45}",
    "endpoint": r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?:[0-9]{1,5}",
    "path": r"/(?!.*(?:^|/)\.\.(?:/|$))[A-Za-z0-9/._+@%=:,~-]{0,1023}",
    "block-device": r"/dev/[A-Za-z0-9/_-]{1,64}",
    "pid": r"[1-9][0-9]{0,9}",
    "job-id": r"[1-9][0-9]{0,11}(?:[_+.][0-9]{1,9})?",
    "lid": r"0x[0-9A-Fa-f]{1,4}|[0-9]{1,5}",
    "payload-bytes": r"[1-9][0-9]{0,4}",
    "user": r"[a-z_][a-z0-9_.-]{0,63}",
    "gpfs-name": r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}",
    "namespace": r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?",
    "date": r"(?:now-[0-9]{1,3}(?:minutes|hours|days|weeks))|"
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2}:[0-9]{2}(?::[0-9]{2})?)?",
    "sonic-pattern": r"(?:WRED_PROFILE|QUEUE|PORT_QOS_MAP|DSCP_TO_TC_MAP|TC_TO_PRIORITY_GROUP_MAP|TC_TO_QUEUE_MAP|"
    r"BUFFER_PG|BUFFER_PROFILE|PFC_WD)\*",
}
TOOLS = (
    *("nvidia-smi", "ethtool", "rdma", "mlnx_qos", "lldpcli", "lspci", "lscpu", "ip", "nvme", "chronyc", "journalctl"),
    *("vmstat", "iostat", "lfs", "lctl", "lnetctl", "dcgmi", "nv-fabricmanager", "ipmitool", "timeout", "setsid"),
    *("sinfo", "squeue", "scontrol", "sdiag", "sacct", "kubectl", "iblinkinfo", "ibqueryerrors"),
)
"""Tools that catalogue commands use, as `doctor` looks for them."""
VERSIONED_TOOLS = ("nvidia-smi", "ethtool", "lfs", "nvme", "dcgmi", "scontrol", "lscpu", "nv-fabricmanager")
"""Those that print their version and nothing else when asked with --version."""
_PATTERNS["tool"] = "|".join(map(re.escape, TOOLS))
_PATTERNS["versioned-tool"] = "|".join(map(re.escape, VERSIONED_TOOLS))
TYPES = {name: re.compile(pattern, re.ASCII) for name, pattern in _PATTERNS.items()}

SONIC_PATTERNS = (
    "WRED_PROFILE*",
    "QUEUE*",
    "PORT_QOS_MAP*",
    "DSCP_TO_TC_MAP*",
    "TC_TO_PRIORITY_GROUP_MAP*",
    "TC_TO_QUEUE_MAP*",
    "BUFFER_PG*",
    "BUFFER_PROFILE*",
    "PFC_WD*",
)

_LONGEST_NAME = 200
_KEPT = 160


class ParameterError(ValueError):
    """A value is not of its type; it never reaches a node."""


def check(kind: str, value: str) -> str:
    """The value itself when it is of the type.

    Raises:
        ParameterError: otherwise; the message names type and value.
    """
    if not TYPES[kind].fullmatch(value):
        raise ParameterError(f"not a {kind}: {value!r}")
    return value


def encode(value: str) -> str:
    """As in a recording's file name: percent-encoded outside `[A-Za-z0-9._-]`, long values cut and hashed."""
    name = quote(value, safe="").replace("~", "%7E")
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{name[:_KEPT]}+{hashlib.sha256(value.encode()).hexdigest()[:8]}"


def decode(name: str) -> str:
    """The value of an encoded file-name part (a cut one stays cut)."""
    return unquote(name)
