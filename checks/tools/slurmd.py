"""What slurmd says of its own node: `slurmd -C`, `scontrol show slurmd`.

NodeName=gpu001 CPUs=128 Boards=1 SocketsPerBoard=2 CoresPerSocket=32 ThreadsPerCore=2 RealMemory=2063843
UpTime=12-03:14:15
"""

from __future__ import annotations

import re
from datetime import datetime

from checks.outputs import Facts, OddLine, Outcome, Raw
from checks.tools import slurm_text as slurm
from checks.tools.formats import cut_off, integer


class SlurmdSelf(Facts):
    """What the node would register. Memory in MiB, uptime in seconds; `gpus` None when slurmd detects none itself."""

    line: int
    node: str
    cpus: int | None = None
    memory_mib: int | None = None
    gpus: int | None = None
    uptime_s: float | None = None


def parse_slurmd_self(raw: Raw) -> Outcome:
    """`slurmd -C`: one record, then `UpTime=`; lines of a GPU autodetection may stand before."""
    found, strays = slurm.records(raw.numbered(), "NodeName")
    if not found or "CPUs" not in found[0].values:
        return raw.unparsable("not the configuration slurmd prints")
    cell = found[0].values
    odd = [raw.odd(n) for n in strays if n > found[0].line and not raw.lines[n - 1].startswith("slurmd")]
    if "RealMemory" not in cell:
        odd.append(OddLine(line=found[0].last, text="ends before RealMemory"))
    if (cut := cut_off(raw)) is not None:
        odd.append(raw.odd(cut))
    return SlurmdSelf(
        line=found[0].line,
        node=cell["NodeName"],
        cpus=integer(cell["CPUs"]),
        memory_mib=integer(cell.get("RealMemory", "")),
        gpus=slurm.gpus(cell.get("Gres")),
        uptime_s=slurm.duration_s(cell.get("UpTime")),
        odd=tuple(odd),
    )


class SlurmdAlive(Facts):
    """State of a running slurmd; `last_message` is when the controller was last heard, in the node's own zone."""

    line: int
    boot_time: datetime | None = None
    last_message: datetime | None = None
    last_message_line: int | None = None
    host: str | None = None
    version: str | None = None


def parse_slurmd_alive(raw: Raw) -> Outcome:
    """`scontrol show slurmd`: `Key = value`."""
    cell: dict[str, tuple[int, str]] = {}
    odd: list[OddLine] = []
    for n, line in raw.numbered():
        if found := re.match(r"^\s*([A-Za-z][\w ]*?)\s*=\s?(.*)$", line):
            cell.setdefault(found[1], (n, found[2].strip()))
        elif cell:
            odd.append(raw.odd(n))
    if not {"Slurmd PID", "Last slurmctld msg time"} & cell.keys():
        return raw.unparsable("not the state of slurmd")
    if "Last slurmctld msg time" not in cell:
        odd.append(OddLine(line=len(raw.lines), text="ends before the last message of slurmctld"))
    last = cell.get("Last slurmctld msg time")
    return SlurmdAlive(
        line=min(n for n, _ in cell.values()),
        boot_time=slurm.moment(cell["Boot time"][1]) if "Boot time" in cell else None,
        last_message=slurm.moment(last[1]) if last else None,
        last_message_line=last[0] if last else None,
        host=cell["Hostname"][1] if "Hostname" in cell else None,
        version=cell["Version"][1] if "Version" in cell else None,
        odd=tuple(odd),
    )
