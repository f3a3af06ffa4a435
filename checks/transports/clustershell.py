"""Fan-out through the system's `ssh` with ClusterShell: windows of nodes, and gateways in a tree where a site has them.

ClusterShell's own `topology.conf` is honoured. Output arrives in lines with their ends trimmed, so both streams travel
as base64 and come back byte for byte. `ssh` never asks, never accepts an unknown key and learns no new ones.
"""

from __future__ import annotations

import base64
import binascii
import logging
import shlex
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from checks.inventory import Access
from checks.transports.script import COMMAND_BYTES
from checks.transports.sshconfig import SYSTEM_CONFIG, USER_CONFIG
from common.errors import InputError

FANOUT = 64
STREAM_BYTES = 2 * COMMAND_BYTES
"""More than this on one stream of one node is cut off over there, since one of many cannot be hung up on from here."""

# the script's shell leads a session of its own, since that is what its watcher ends with the connection; it holds
# neither pipe beside its own two streams, or what outlives it would keep them open
_SH = (
    "S=; command -v setsid >/dev/null 2>&1 && S=setsid; "
    f"{{ {{ $S nice -n 5 /bin/sh -s 2>&3 3>&- 4>&- | head -c {STREAM_BYTES} | base64 >&4; }} 3>&1 |"
    f" head -c {STREAM_BYTES} | base64 >&2; }} 4>&1"
)
START = f"exec /bin/sh -c {shlex.quote(_SH)}"
"""The command line for the far side; understood by every shell."""

_STRICT = {
    "BatchMode": "yes",
    "StrictHostKeyChecking": "yes",
    "UpdateHostKeys": "no",
    "ControlMaster": "no",
    "ControlPath": "none",
    "RequestTTY": "no",
    "LogLevel": "ERROR",
    "ServerAliveInterval": "15",
}

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


def configuration(access: Access, ssh_config: Path | None, connect_s: float) -> str:
    """An ssh configuration around the engineer's own: strict before it, so that it wins, the cluster file's after it.

    A file and not options, since only a file reaches the `ssh` that goes through a jump host, and since options would
    win over what the engineer wrote for a host.
    """
    own = (ssh_config or USER_CONFIG).expanduser().absolute()
    hops = " ".join(f"!{_host(hop)}" for hop in access.jump)
    lines = [
        *(f"{name} {value}" for name, value in _STRICT.items()),
        *(f'Include "{path}"' for path in (own, SYSTEM_CONFIG)),
        "Host *",
        f"  ConnectTimeout {_whole(connect_s)}",
        f"Host {hops} *",
        *([f'  User "{access.user}"'] if access.user else []),
        *([f"  Port {access.port}"] if access.port else []),
        *([f"  ProxyJump {','.join(access.jump)}"] if access.jump else []),
    ]
    return "\n".join(lines) + "\n"


def _options(access: Access, ssh_config: Path | None, connect_s: float) -> str:
    """The same as far as options can say it: these reach gateways, a file of this machine does not."""
    given = {**_STRICT, "ConnectTimeout": str(_whole(connect_s))}
    if access.port:
        given["Port"] = str(access.port)
    if access.jump:
        given["ProxyJump"] = ",".join(access.jump)
    return shlex.join([*(["-F", str(ssh_config)] if ssh_config else []), *(f"-o{n}={v}" for n, v in given.items())])


def _whole(seconds: float) -> int:
    return max(1, round(seconds))


def _host(hop: str) -> str:
    """The host in `user@host:port`."""
    name = hop.rpartition("@")[2]
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.rpartition(":")[0] if name.count(":") == 1 else name


def run(
    jobs: Sequence[Job],
    *,
    access: Access,
    ssh_config: Path | None,
    connect_s: float,
    on_answer: OnAnswer,
    cancelled: Callable[[], bool],
) -> bool:
    """Runs scripts and hands each node's answer over as it comes; False when `cancelled()` became true first.

    Blocks; meant for a worker thread, since ClusterShell keeps one task a thread.

    Raises:
        InputError: topology.conf cannot be followed.
    """
    gateways = _Gateways()
    told: set[str] = set()
    with _private(configuration(access, ssh_config, connect_s)) as file:
        settings = {"ssh_options": shlex.join(["-F", str(file)])}
        if gateways.there:
            user = {"ssh_user": access.user} if access.user else {}
            settings = {"ssh_options": _options(access, ssh_config, connect_s), **user}
        while _pass(jobs, gateways, settings, told, on_answer, cancelled):
            left = gateways.again - told
            jobs = [replace(job, nodes=tuple(n for n in job.nodes if n in left)) for job in jobs]
            jobs = [job for job in jobs if job.nodes]
            if not jobs:
                return True
    return False


def _pass(
    jobs: Sequence[Job],
    gateways: _Gateways,
    settings: dict[str, str],
    told: set[str],
    on_answer: OnAnswer,
    cancelled: Callable[[], bool],
) -> bool:
    """One run over the tree as it is known; False when it was cancelled."""
    from ClusterShell.Event import EventHandler
    from ClusterShell.Task import Task, task_self, task_terminate

    class Hearing(EventHandler):  # type: ignore[misc]  # untyped library
        def __init__(self) -> None:
            self.lines: dict[str, _Lines] = {}
            self.aborted = False

        def ev_read(self, worker: Any, node: str, sname: str, msg: bytes) -> None:
            lines = self.lines.setdefault(node, _Lines())
            (lines.err if sname == worker.SNAME_STDERR else lines.out).append(msg)

        def ev_hup(self, worker: Any, node: str, rc: int) -> None:
            self.tell(node, rc)

        def ev_close(self, worker: Any, timedout: bool) -> None:
            if timedout:
                for node in worker.iter_keys_timeout():
                    self.tell(str(node), None)

        def ev_timer(self, timer: Any) -> None:
            if cancelled() and not self.aborted:
                self.aborted = True
                task_self().abort()

        def tell(self, node: str, status: int | None, why: str = "") -> None:
            if node in told or self.aborted:
                return
            told.add(node)
            lines = self.lines.pop(node, _Lines())
            on_answer(node, Answered(_decoded(lines.out), _decoded(lines.err) or why.encode(), status))

    # what the library logs would be written over the screen
    logging.getLogger("ClusterShell").addHandler(logging.NullHandler())
    task: Task = task_self()
    try:
        gateways.lead(task)
        for name, value in settings.items():
            task.set_info(name, value)
        task.set_info("fanout", FANOUT)
        task.set_default("stderr", True)
        # output is taken as it comes and not kept twice
        task.set_default("stdout_msgtree", False)
        task.set_default("stderr_msgtree", False)
        hearing = Hearing()
        for job in jobs:
            worker = task.shell(
                START,
                nodes=",".join(job.nodes),
                handler=hearing,
                timeout=job.limit_s,
                stderr=True,
                stdin=True,
                tree=None if gateways.there else False,
            )
            # the end of standard input would end the script: its watcher waits for it
            worker.write(job.body)
        task.timer(0.2, handler=hearing, interval=0.2, autoclose=True)
        task.resume()
        for node in {node for job in jobs for node in job.nodes} - gateways.again:
            tried = gateways.tried.get(node)
            hearing.tell(node, 255, f"no gateway to it answers: {tried}" if tried else "its gateway went away")
        return not hearing.aborted
    finally:
        task_terminate()


@contextmanager
def _private(text: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="rackside-") as folder:
        file = Path(folder) / "ssh_config"
        file.write_text(text, encoding="utf-8")
        yield file


class _Gateways:
    """ClusterShell's own tree of gateways, from where its tools look for it; `there` where a site has one.

    `dead` are gateways that did not answer, `again` the nodes behind them, which are to be asked over others.
    """

    def __init__(self) -> None:
        from ClusterShell.Defaults import config_paths

        paths = [Path(p) for p in reversed(config_paths("topology.conf"))]
        self.path = next((p for p in paths if p.is_file()), None)
        self.dead: set[str] = set()
        self.again: set[str] = set()
        self.tried: dict[str, str] = {}

    @property
    def there(self) -> bool:
        return self.path is not None

    def lead(self, task: Any) -> None:
        """Makes a task follow the tree, around the gateways that are dead.

        Raises:
            InputError: it cannot be followed.
        """
        from ClusterShell.NodeSet import NodeSet
        from ClusterShell.Propagation import PropagationTreeRouter
        from ClusterShell.Topology import TopologyError

        task.set_default("auto_tree", self.there)
        if self.path is None:
            return
        try:
            task.load_topology(str(self.path))
        except TopologyError as error:
            fix = "its first route starts at this machine, by the name `hostname -s` gives"
            raise InputError(f"gateways cannot be followed: {error}", file=self.path, fix=fix) from None
        gateways, seen = self, set[str]()
        gateways.again = set()

        class Router(PropagationTreeRouter):  # type: ignore[misc]  # untyped library
            """Leaves out nodes no gateway reaches, where the library would end the whole run, and nodes that it would
            send to another gateway in the middle of it, where standard input is not sent again."""

            def dispatch(self, dst: Any) -> Iterator[tuple[Any, Any]]:
                left: set[str] = set()
                for node in (str(n) for n in dst):
                    # not asked of `next_hop`, which counts every question as load on a gateway
                    hops = next((h for network, h in self.table if node in network), None)
                    if hops is not None and gateways.dead.issuperset(str(h) for h in hops):
                        gateways.tried[node] = str(hops)
                    else:
                        (gateways.again if node in seen else left).add(node)
                seen.update(left)
                yield from super().dispatch(NodeSet.fromlist(sorted(left)))

            def mark_unreachable(self, dst: Any) -> None:
                gateways.dead.add(str(dst))
                super().mark_unreachable(dst)

        task.router = Router(str(task.topology.root.nodeset), task.topology)
        for gateway in sorted(self.dead):
            task.router.mark_unreachable(gateway)


def _decoded(lines: Sequence[bytes]) -> bytes:
    """Bytes of the lines that are base64; what ssh itself says stays as it is."""
    found, plain = bytearray(), bytearray()
    for line in lines:
        try:
            found += base64.b64decode(line, validate=True)
        except binascii.Error:
            plain += line + b"\n"
    return bytes(plain + found)
