"""One SSH connection per node with paramiko: strict host keys, the engineer's own keys and jumps, one script a step."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from checks.outputs import NotAvailable, Reason
from checks.transports import script
from checks.transports.keys import Keys
from checks.transports.knownhosts import KnownHosts, fingerprint, host_name
from checks.transports.sshconfig import Target

if TYPE_CHECKING:
    from paramiko import Channel, Transport

CONNECT_S = 10.0
IDLE_S = 10.0
"""How long the thread of a connection sleeps when nothing comes."""
LOGIN_RETRIES = 4
NODE_BYTES = 64 * 1024 * 1024
"""More than this from one node in one step is cut off: the connection is closed and the rest stays unread."""

_KEX = ("curve25519-sha256", "curve25519-sha256@libssh.org", "ecdh-sha2-nistp256")
_CIPHERS = ("aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "aes128-ctr")


Interactive = Callable[[str, str, list[tuple[str, bool]]], list[str]]
"""Answers a server's questions: (title, instructions, [(prompt, whether to echo)]) to one answer each."""


class SshError(Exception):
    """A node could not be asked; `why` is what its readings carry."""

    def __init__(self, kind: Reason, reason: str) -> None:
        super().__init__(reason)
        self.why = NotAvailable(kind, reason)


class Connection:
    """A logged-in connection to one node; `close` may be called from any thread and ends whatever waits on it."""

    def __init__(self, target: Target, transport: Transport) -> None:
        self.target, self.transport = target, transport
        if isinstance(transport.sock, socket.socket):
            # paramiko's thread looks up ten times a second, which a thousand idle connections make a full core
            transport.sock.settimeout(IDLE_S)

    @property
    def open(self) -> bool:
        """Whether it can still be used."""
        return bool(self.transport.is_active())

    def run(self, command: str, body: bytes, done: bytes, *, deadline: float) -> tuple[bytes, bytes, bool]:
        """Feeds a script, reads until the word `done` on both streams or the end: (stdout, stderr, ended in time).

        Standard input stays open meanwhile, which is what keeps the far side's watcher quiet. `deadline` is on
        `time.monotonic`'s clock.

        Raises:
            SshError: no channel to be had.
        """
        from paramiko import SSHException

        try:
            channel = self.transport.open_session(timeout=max(0.1, deadline - time.monotonic()))
            channel.settimeout(max(0.1, deadline - time.monotonic()))
            channel.exec_command(command)
            channel.sendall(body)
        except (SSHException, OSError, EOFError) as error:
            raise SshError("unreachable", f"connection lost: {_said(error)}") from None
        with contextlib.closing(channel):
            return _read(channel, done, deadline)

    def close(self) -> None:
        """Ends the connection."""
        if isinstance(self.transport.sock, socket.socket):
            with contextlib.suppress(OSError):
                self.transport.sock.shutdown(socket.SHUT_RDWR)  # wakes the thread that reads
        self.transport.close()


def _read(channel: Channel, done: bytes, deadline: float) -> tuple[bytes, bytes, bool]:
    event = threading.Event()
    # set when data arrives or the stream ends; polling would cost a thread's worth of CPU per node
    channel.in_buffer.set_event(event)
    channel.in_stderr_buffer.set_event(event)
    out, err = bytearray(), bytearray()
    mark = done.partition(b" ")[0]
    floods = (script.Flood(mark), script.Flood(mark))
    while True:
        event.clear()
        while channel.recv_ready():
            out += channel.recv(1 << 20)
            if len(out) > NODE_BYTES:
                break
        while channel.recv_stderr_ready():
            err += channel.recv_stderr(1 << 20)
            if len(err) > NODE_BYTES:
                break
        # both streams end with the word: one may be ahead of the other
        finished = done in out[-len(done) - 2 :] and done in err[-len(done) - 2 :]
        if finished or channel.eof_received or channel.closed:
            while channel.recv_ready():
                out += channel.recv(1 << 20)
            while channel.recv_stderr_ready():
                err += channel.recv_stderr(1 << 20)
            return bytes(out), bytes(err), True
        if floods[0](out) | floods[1](err) or len(out) + len(err) > NODE_BYTES:
            return bytes(out), bytes(err), False
        left = deadline - time.monotonic()
        if left <= 0:
            return bytes(out), bytes(err), False
        if not (channel.recv_ready() or channel.recv_stderr_ready()):
            event.wait(min(left, 1.0))


def connect(
    target: Target,
    known: KnownHosts,
    keys: Keys,
    *,
    deadline: float,
    through: Connection | None = None,
    interactive: Interactive | None = None,
    dialled: socket.socket | None = None,
) -> Connection:
    """Logs in to a node, through a jump host's connection where there is one, or over a TCP connection made before.

    A server that drops log-ins under load (MaxStartups) is tried again with growing pauses until the deadline.

    Raises:
        SshError: with the kind of failure and what to do.
    """
    pause = 0.15
    for attempt in range(LOGIN_RETRIES + 1):
        try:
            first, dialled = dialled, None
            return _connect(target, known, keys, deadline, through, interactive, first)
        except _DroppedError as error:
            if attempt == LOGIN_RETRIES or time.monotonic() + pause >= deadline:
                raise SshError("unreachable", f"the server dropped the log-in: {error}") from None
            time.sleep(pause)
            pause *= 2
    raise AssertionError("unreachable")


class _DroppedError(Exception):
    """The connection ended before the server's banner: too many log-ins at once, or not an SSH server."""


def _connect(
    target: Target,
    known: KnownHosts,
    keys: Keys,
    deadline: float,
    through: Connection | None,
    interactive: Interactive | None,
    dialled: socket.socket | None,
) -> Connection:
    from paramiko import SSHException, Transport

    stream = dialled or _stream(target, deadline, through)
    transport = Transport(stream)
    if through is not None:
        # its thread says goodbye through the jump host's connection, which may be gone by then
        transport.run = _quiet(transport.run)  # type: ignore[method-assign]
    try:
        left = max(0.1, deadline - time.monotonic())
        transport.banner_timeout = transport.handshake_timeout = transport.auth_timeout = left
        names = _names(target)
        _prefer(transport, known.key_types(names))
        try:
            transport.start_client(timeout=left)
        except (SSHException, OSError, EOFError) as error:
            text = _said(error)
            if time.monotonic() >= deadline:
                raise SshError("timed-out", "no SSH banner or key exchange in time") from None
            if "banner" in text.lower() or isinstance(error, ConnectionResetError | EOFError):
                raise _DroppedError(text) from None
            raise SshError("unreachable", f"SSH key exchange failed: {text}") from None
        if not transport.is_active() or time.monotonic() >= deadline:
            # paramiko returns without a word when the time is up
            raise SshError("timed-out", "no SSH banner or key exchange in time")
        _check_host_key(transport, known, names, target)
        _log_in(transport, target, keys, interactive)
    except BaseException:
        transport.close()
        raise
    return Connection(target, transport)


def _quiet(run: Callable[[], None]) -> Callable[[], None]:
    def quietly() -> None:
        with contextlib.suppress(EOFError, OSError):
            run()

    return quietly


def _stream(target: Target, deadline: float, jump: Connection | None) -> Any:
    from paramiko import ProxyCommand

    left = max(0.1, deadline - time.monotonic())
    if target.proxy_command:
        return ProxyCommand(target.proxy_command)
    if jump is not None:
        return through(jump, target, within_s=left)
    return dial(target, within_s=left)


def through(jump: Connection, target: Target, *, within_s: float) -> Channel:
    """A channel to a node through a jump host's connection.

    Raises:
        SshError: the jump host cannot reach the node, or is gone.
    """
    from paramiko import ChannelException, SSHException

    try:
        return jump.transport.open_channel(
            "direct-tcpip", (target.hostname, target.port), ("127.0.0.1", 0), timeout=within_s
        )
    except ChannelException as error:
        raise SshError("unreachable", f"{jump.target.node} cannot reach it: {_said(error)}") from None
    except (SSHException, OSError, EOFError) as error:
        raise SshError("unreachable", f"jump over {jump.target.node} failed: {_said(error)}") from None


def dial(target: Target, *, within_s: float) -> socket.socket:
    """A TCP connection to a node.

    Raises:
        SshError: no answer in time, refused, or an unknown name.
    """
    try:
        sock = socket.create_connection((target.hostname, target.port), timeout=within_s)
    except TimeoutError:
        raise SshError("timed-out", f"no answer from {target.hostname} port {target.port}") from None
    except socket.gaierror as error:
        raise SshError("unreachable", f"name {target.hostname} not known: {_said(error)}") from None
    except OSError as error:
        raise SshError("unreachable", f"{target.hostname} port {target.port}: {error.strerror or error}") from None
    # without these each log-in and each command meets Nagle and delayed ACK, 40 ms at a time
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock = _Prompt(sock.family, sock.type, sock.proto, fileno=sock.detach())
    sock.settimeout(within_s)
    return sock


class _Prompt(socket.socket):
    """Acknowledges what it has read at once. The kernel forgets that wish, so it is told after every read.

    An OpenSSH server sends its host keys after the log-in and holds its next packet back until they are acknowledged.
    """

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        data = super().recv(size, flags)
        with contextlib.suppress(OSError, AttributeError):
            self.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        return data


def _names(target: Target) -> tuple[str, ...]:
    if target.host_key_alias:
        return (target.host_key_alias,)
    return tuple(dict.fromkeys(host_name(n, target.port) for n in (target.hostname, target.node)))


def _prefer(transport: Transport, key_types: list[str]) -> None:
    options = transport.get_security_options()
    options.kex = [*(k for k in _KEX if k in options.kex), *(k for k in options.kex if k not in _KEX)]
    options.ciphers = [
        *(c for c in _CIPHERS if c in options.ciphers),
        *(c for c in options.ciphers if c not in _CIPHERS),
    ]
    wanted = [t for known in key_types for t in (("rsa-sha2-512", "rsa-sha2-256") if known == "ssh-rsa" else (known,))]
    chosen = [t for t in wanted if t in options.key_types]
    options.key_types = [*chosen, *(t for t in options.key_types if t not in chosen)]


def _check_host_key(transport: Transport, known: KnownHosts, names: tuple[str, ...], target: Target) -> None:
    key = transport.get_remote_server_key()
    answer = known.check(names, key.get_name(), key.asbytes())
    if answer.verdict == "known":
        return
    offered = f"{key.get_name()} {fingerprint(key.asbytes())}"
    if answer.verdict == "changed":
        line = next(e for e in answer.entries if e.key_type == key.get_name() and not e.marker)
        raise SshError(
            "denied",
            f"host key changed: offered {offered}, {line.file}:{line.line} has {fingerprint(line.key)}; "
            "find out why before you replace the line",
        )
    if answer.verdict == "revoked":
        raise SshError("denied", f"host key is revoked in known_hosts: {offered}")
    certified = any(e.marker == "@cert-authority" for e in answer.entries)
    hint = (
        "this host is known by a certificate authority, which needs the system's ssh (`via: clustershell`)"
        if certified
        else f"compare it with the console, then add it: ssh-keyscan -p {target.port} {target.hostname}"
    )
    raise SshError("denied", f"host key unknown: offered {offered}; {hint}")


def _log_in(
    transport: Transport,
    target: Target,
    keys: Keys,
    interactive: Interactive | None,
) -> None:
    from paramiko import AuthenticationException, BadAuthenticationType, SSHException

    tried = 0
    allowed: list[str] = []
    try:
        for key in keys.of(target):
            tried += 1
            try:
                left = transport.auth_publickey(target.user, key)
            except BadAuthenticationType as error:
                allowed = error.allowed_types
                break
            except AuthenticationException as error:
                if "timeout" in str(error).lower():
                    raise SshError("timed-out", "the log-in was not answered in time") from None
                continue
            if transport.is_authenticated():
                return
            allowed = left or []
            break
        if interactive and (not allowed or "keyboard-interactive" in allowed):
            transport.auth_interactive(target.user, interactive)
            if transport.is_authenticated():
                return
    except (SSHException, OSError, EOFError) as error:
        if not isinstance(error, AuthenticationException):
            raise SshError("denied", f"log-in as {target.user} ended: {_said(error)}") from None
    why = "; ".join(keys.problems(target)) or (f"{tried} keys refused" if tried else "no key to offer")
    more = f"; the server also wants {', '.join(allowed)}" if allowed else ""
    raise SshError("denied", f"log-in as {target.user} refused: {why}{more}")


def _said(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
