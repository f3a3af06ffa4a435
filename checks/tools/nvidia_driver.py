"""Versions of the GPU driver: the kernel module and the libraries beside it.

NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024
"""

from __future__ import annotations

import re

from checks.outputs import Facts, Outcome, Raw


class DriverVersion(Facts):
    """The loaded kernel module; `open` for NVIDIA's open module."""

    line: int
    version: str
    open: bool


_MODULE = re.compile(r"NVRM version:.*?Kernel Module.*?(\d+\.\d+(?:\.\d+)?)")


def parse_drv_version(raw: Raw) -> Outcome:
    """`/proc/driver/nvidia/version`; answers when NVML does not."""
    for n, line in raw.numbered():
        if found := _MODULE.search(line):
            return DriverVersion(line=n, version=found[1], open="Open Kernel Module" in line)
    return raw.unparsable("no NVRM version line")


class LibraryVersions(Facts):
    """Versions of the driver's libraries in the loader's cache; more than one means a mixed installation."""

    versions: dict[str, int]


_LIBRARY = re.compile(r"lib(?:nvidia-ml|cuda)\.so\.(\d+\.\d+(?:\.\d+)?)")


def parse_lib_version(raw: Raw) -> Outcome:
    """`ldconfig -p`; it names a full version only where the cache holds the versioned file."""
    if not any("=>" in line for line in raw.lines):
        return raw.unparsable("not a loader cache")
    versions: dict[str, int] = {}
    for n, line in raw.numbered():
        if found := _LIBRARY.search(line):
            versions.setdefault(found[1], n)
    return LibraryVersions(versions=versions)
