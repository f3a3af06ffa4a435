"""Fan-out through the system's `ssh` with ClusterShell: windows of nodes, and gateways in a tree where a site has them.

ClusterShell's own `topology.conf` is honoured. Output arrives in lines with their ends trimmed, so both streams travel
as base64 and come back byte for byte.
"""

from __future__ import annotations

import base64
import binascii
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from checks.inventory import Access
from checks.transports.ssh import NODE_BYTES

FANOUT = 64
# the script's shell leads a session of its own, since that is what its watcher ends with the connection
_SH = (
    "S=; command -v setsid >/dev/null 2>&1 && S=setsid; "
    f"{{ {{ $S /bin/sh -s 2>&3 | head -c {NODE_BYTES} | base64 >&4; }} 3>&1 |"
    f" head -c {NODE_BYTES} | base64 >&2; }} 4>&1"
)
START = f"exec /bin/sh -c {shlex.quote(_SH)}"
"""The command line for the far side; understood by every shell."""

OnAnswer = Callable[[str, "Answered"], None]


@dataclass(frozen=True, slots=True)
class Job:
    """One script for nodes that are asked the same. `limit_s` bounds the whole of it on each node."""

    nodes: tuple[str, ...]
    body: bytes
    limit_s: float


@dataclass(slots=True)
class Answered:
    """What came from one node. `status` is that of ssh (255: it failed itself), None when the time was up."""

    stdout: bytes
    stderr: bytes
    status: int | None


@dataclass(slots=True)
class _Lines:
    out: list[bytes] = field(default_factory=list)
    err: list[bytes] = field(default_factory=list)


def options(access: Access, ssh_config: Path | None, connect_s: float) -> str:
    """Options for `ssh`: never ask, never accept an unknown key, give up in time."""
    given = [
        *(["-F", str(ssh_config)] if ssh_config else []),
        *("-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o", f"ConnectTimeout={max(1, round(connect_s))}"),
        *("-o", "LogLevel=ERROR", "-o", "ControlMaster=no"),
        *(["-o", f"ProxyJump={','.join(access.jump)}"] if access.jump else []),
        *(["-p", str(access.port)] if access.port else []),
    ]
    return shlex.join(given)


def run(
    jobs: Sequence[Job],
    *,
    user: str | None,
    ssh_options: str,
    on_answer: OnAnswer,
    cancelled: Callable[[], bool],
    fanout: int = FANOUT,
) -> bool:
    """Runs scripts and hands each node's answer over as it comes; False when `cancelled()` became true first.

    Blocks; meant for a worker thread, since ClusterShell keeps one task a thread.
    """
    from ClusterShell.Event import EventHandler
    from ClusterShell.Task import Task, task_self, task_terminate

    class Hearing(EventHandler):  # type: ignore[misc]  # untyped library
        def __init__(self) -> None:
            self.lines: dict[str, _Lines] = {}
            self.told: set[str] = set()
            self.aborted = False

        def ev_read(self, worker: Any, node: str, sname: str, msg: bytes) -> None:
            lines = self.lines.setdefault(node, _Lines())
            (lines.err if sname == worker.SNAME_STDERR else lines.out).append(msg)

        def ev_hup(self, worker: Any, node: str, rc: int) -> None:
            self._tell(node, rc)

        def ev_close(self, worker: Any, timedout: bool) -> None:
            for node in worker.nodes:
                self._tell(str(node), None)

        def ev_timer(self, timer: Any) -> None:
            if cancelled() and not self.aborted:
                self.aborted = True
                task_self().abort()

        def _tell(self, node: str, status: int | None) -> None:
            if node in self.told or self.aborted:
                return
            self.told.add(node)
            lines = self.lines.pop(node, _Lines())
            on_answer(node, Answered(_decoded(lines.out), _decoded(lines.err), status))

    task: Task = task_self()
    try:
        _topology(task)
        task.set_info("fanout", fanout)
        task.set_info("ssh_options", ssh_options)
        if user:
            task.set_info("ssh_user", user)
        task.set_default("stderr", True)
        # output is taken as it comes and not kept twice
        task.set_default("stdout_msgtree", False)
        task.set_default("stderr_msgtree", False)
        hearing = Hearing()
        for job in jobs:
            worker = task.shell(
                START, nodes=",".join(job.nodes), handler=hearing, timeout=job.limit_s, stderr=True, stdin=True
            )
            # the end of standard input would end the script: its watcher waits for it
            worker.write(job.body)
        task.timer(0.2, handler=hearing, interval=0.2, autoclose=True)
        task.resume()
        return not hearing.aborted
    finally:
        task_terminate()


def _topology(task: Any) -> None:
    """ClusterShell's own tree of gateways, from where its tools look for it; none is fine."""
    from ClusterShell.Defaults import config_paths

    for path in reversed(config_paths("topology.conf")):
        if Path(path).is_file():
            task.load_topology(path)
            task.set_default("auto_tree", True)
            return
    task.set_default("auto_tree", False)


def _decoded(lines: Sequence[bytes]) -> bytes:
    """Bytes of the lines that are base64; what ssh itself says stays as it is."""
    found, plain = bytearray(), bytearray()
    for line in lines:
        try:
            found += base64.b64decode(line, validate=True)
        except binascii.Error:
            plain += line + b"\n"
    return bytes(plain + found)
