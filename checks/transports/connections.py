"""The SSH connections to a fleet: dialled ahead, opened once, shared by all who pass through a jump host."""

from __future__ import annotations

import socket
import threading
import time

from checks.transports import ssh, switchcli
from checks.transports.keys import Keys
from checks.transports.knownhosts import KnownHosts
from checks.transports.local import LocalConnection, is_here
from checks.transports.ssh import Connection, SshError
from checks.transports.sshconfig import SshConfig
from checks.transports.switchcli import CliConnection
from common.errors import InputError

LOGINS_PER_JUMP = 4
PROMPT_S = 20.0
"""A switch may take this long to show its prompt and to turn its pager off."""
UNLOCK_NODES = 16
"""Nodes looked at for the keys they want; the rest of a fleet wants the same."""


class Connections:
    """One connection per node, kept between steps. Safe to use from many threads.

    `interactive` answers questions of a jump host; of a node only where there is just one (`alone`): a person can
    answer for the one host everybody passes through, not for a fleet.
    """

    def __init__(
        self,
        config: SshConfig,
        keys: Keys,
        *,
        connect_s: float,
        interactive: ssh.Interactive | None = None,
        alone: bool = False,
        via: str = "auto",
    ) -> None:
        self._config, self._keys, self._connect_s = config, keys, connect_s
        self._interactive, self._alone, self._via = interactive, alone, via
        self._open: dict[str, Connection | LocalConnection | CliConnection] = {}
        self._dialled: dict[str, socket.socket | SshError] = {}
        self._jumps: dict[str, tuple[threading.Semaphore, threading.Lock]] = {}
        self._known: dict[tuple[object, ...], KnownHosts] = {}
        self._lock = threading.Lock()
        self._closed = False

    @property
    def names(self) -> frozenset[str]:
        """Nodes with a connection, and `jump HOST` for those passed through."""
        with self._lock:
            return frozenset(self._open)

    def dial(self, node: str) -> None:
        """Opens the TCP connection to a node, so that one that is gone waits beside the pool and not in it."""
        if self._of(node) is not None or self._local(node):
            return
        try:
            target = self._config.target(node)
            if target.jumps or target.proxy_command:
                return
            made: socket.socket | SshError = ssh.dial(target, within_s=target.connect_timeout_s or self._connect_s)
        except SshError as error:
            made = error
        except InputError:
            return  # whoever connects meets it again, and tells
        with self._lock:
            self._dialled[node] = made

    def to(self, node: str) -> Connection | LocalConnection:
        """The connection to a node, made where there is none.

        Raises:
            SshError: it cannot be reached or logged in to.
            InputError: the configuration has a directive that cannot be followed.
        """
        found = self._of(node)
        if isinstance(found, Connection | LocalConnection):
            return found
        if self._local(node):
            here = LocalConnection()
            with self._lock:
                self._open[node] = here
            return here
        made = self._login(node)
        with self._lock:
            self._open[node] = made
        if self._closed:
            made.close()
        return made

    def cli(self, node: str, os: str) -> CliConnection:
        """The session on a switch with a command line of its own.

        Raises:
            SshError: it cannot be reached or logged in to, or netmiko is not installed.
            InputError: the configuration has a directive that cannot be followed.
        """
        if isinstance(found := self._of(node), CliConnection):
            return found
        if not switchcli.installed():
            raise SshError("unsupported", f"{os} needs netmiko: pip install 'rackside[switches]'")
        connection = self._login(node)
        try:
            made = CliConnection(connection, os, deadline=time.monotonic() + PROMPT_S)
        except BaseException:
            connection.close()
            raise
        with self._lock:
            self._open[node] = made
        if self._closed:
            made.close()
        return made

    def _login(self, node: str) -> Connection:
        if self._via == "local":
            raise SshError("unreachable", "`via: local` asks this machine only, and this is another")
        target = self._config.target(node)
        deadline = time.monotonic() + (target.connect_timeout_s or self._connect_s)
        through: Connection | None = None
        for hop in target.jumps:
            through = self._jump(hop, through)
        known = self._known_hosts(target.known_hosts)
        if through is None:
            alone = self._interactive if self._alone else None
            with self._lock:
                dialled = self._dialled.pop(node, None)
            if isinstance(dialled, SshError):
                raise dialled
            return ssh.connect(target, known, self._keys, deadline=deadline, interactive=alone, dialled=dialled)
        # one server that everybody passes through drops log-ins when too many come at once
        with self._jumps[target.jumps[-1]][0]:
            deadline = time.monotonic() + (target.connect_timeout_s or self._connect_s)
            return ssh.connect(target, known, self._keys, deadline=deadline, through=through)

    def drop(self, node: str) -> None:
        """Ends the connection to a node."""
        with self._lock:
            found = self._open.pop(node, None)
        if found is not None:
            found.close()

    def hang_up(self) -> None:
        """Ends all of them; whatever runs on a node ends with its connection."""
        with self._lock:
            connections, self._open = list(self._open.values()), {}
            dialled, self._dialled = list(self._dialled.values()), {}
        # a jump host was there before what goes through it, and goes after it
        for connection in reversed(connections):
            connection.close()
        for made in dialled:
            if isinstance(made, socket.socket):
                made.close()

    def close(self) -> None:
        """Ends all of them for good, and lets go of the keys."""
        self._closed = True
        self.hang_up()
        self._keys.close()

    def forget_hosts(self) -> None:
        """Reads known_hosts again next time: whoever asks again may have added the key that was missing."""
        with self._lock:
            self._known.clear()

    def reopen(self) -> None:
        """For a process just forked: what cannot be shared with the one it came from is opened anew."""
        self._keys.forget_agents()

    def unlock(self, nodes: tuple[str, ...]) -> None:
        """Opens the private keys that will be needed, so that a passphrase is asked now and not in the middle."""
        for node in nodes[:UNLOCK_NODES]:
            target = self._config.target(node)
            for hop in target.jumps:
                self._keys.open(self._config.target(hop, jump=True))
            self._keys.open(target)

    def jumps(self, nodes: tuple[str, ...]) -> bool:
        """Whether nodes are reached through jump hosts, as far as is looked."""
        return any(self._config.target(node).jumps for node in nodes[:UNLOCK_NODES])

    def _local(self, node: str) -> bool:
        return self._via in ("auto", "local") and (is_here(node) or (self._via == "local" and self._alone))

    def _of(self, name: str) -> Connection | LocalConnection | CliConnection | None:
        with self._lock:
            found = self._open.get(name)
        return found if found is not None and found.open else None

    def _jump(self, hop: str, through: Connection | None) -> Connection:
        with self._lock:
            _, once = self._jumps.setdefault(hop, (threading.Semaphore(LOGINS_PER_JUMP), threading.Lock()))
        with once:
            if isinstance(found := self._of(f"jump {hop}"), Connection):
                return found
            target = self._config.target(hop, jump=True)
            deadline = time.monotonic() + (target.connect_timeout_s or self._connect_s)
            try:
                made = ssh.connect(
                    target,
                    self._known_hosts(target.known_hosts),
                    self._keys,
                    deadline=deadline,
                    through=through,
                    interactive=self._interactive,
                )
            except SshError as error:
                raise SshError(error.why.kind, f"jump host {hop}: {error.why.reason}") from None
            with self._lock:
                self._open[f"jump {hop}"] = made
            return made

    def _known_hosts(self, files: tuple[object, ...]) -> KnownHosts:
        with self._lock:
            if files not in self._known:
                self._known[files] = KnownHosts(files)  # type: ignore[arg-type]
            return self._known[files]
