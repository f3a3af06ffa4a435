"""Switches with a command line of their own (EOS, NX-OS, Onyx): through netmiko, pager off, one command at a time."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Any

from checks.transports.script import COMMAND_BYTES, Answer, Request
from checks.transports.ssh import Connection, SshError

DEVICES = {"eos": "arista_eos", "nxos": "cisco_nxos", "onyx": "mellanox_mlnxos"}
"""netmiko's name of each switch operating system."""

_REFUSED = re.compile(
    r"^\s*(?:%\s*(?:Invalid|Unrecognized|Incomplete|Ambiguous|Unknown|Authorization|Permission|Insufficient)"
    r"|Syntax error while parsing)",
    re.I | re.M,
)
_NEEDS_ENABLE = re.compile(
    r"^\s*%.*(?:privileged mode required|permission denied|authorization|insufficient privileges)", re.I | re.M
)
_REFUSAL_CHARS = 1000
"""A refusal stands at the beginning; further on it is a line of some log."""
ENABLE_S = 3.0
_LEAST_S = 0.05


class _EndedError(Exception):
    """The session ended."""


class _LateError(Exception):
    """The time is up."""


class _FloodError(Exception):
    """More came than is read."""


def installed() -> bool:
    """Whether netmiko is there; it comes with the extra `switches`."""
    return find_spec("netmiko") is not None


class CliConnection:
    """A session on one switch over a connection that is logged in.

    Only texts of the catalogue are ever sent, what turns the pager off, and `enable` where a switch asks for it.
    """

    def __init__(self, connection: Connection, os: str, *, deadline: float) -> None:
        from paramiko import SSHException

        self._connection = connection
        self._asked_for_more = False
        try:
            self._device, self._channel = _device(connection, os, deadline)
        except _LateError:
            raise SshError("timed-out", "the switch showed no prompt in time") from None
        except (_EndedError, _FloodError, SSHException, OSError, EOFError, ValueError) as error:
            raise SshError("unreachable", f"no session on the switch: {_first(error)}") from None

    @property
    def open(self) -> bool:
        """Whether it can still be used."""
        return self._connection.open and not self._channel.remote_conn.closed

    def run(self, requests: Sequence[Request], *, deadline: float) -> list[Answer]:
        """Runs commands one after another; those for which no time is left are not answered."""
        answers: list[Answer] = []
        for index, request in enumerate(requests):
            now = time.monotonic()
            if now >= deadline:
                break
            until = min(deadline, now + request.command.timeout_s)
            try:
                said = self._ask(request.command.render(request.params), until)
            except _LateError:
                answers.append(_answer(index, b"", b"no prompt came back in time", 124))
                break
            except _FloodError:
                body = bytes(self._channel.came[:COMMAND_BYTES])
                answers.append(_answer(index, body, b"", 255, capped=True))
                break
            except (_EndedError, OSError, EOFError) as error:
                answers.append(_answer(index, b"", _first(error).encode(), 255))
                break
            if _REFUSED.search(said[:_REFUSAL_CHARS]):
                answers.append(_answer(index, b"", said.strip().encode(), 1))
            else:
                answers.append(_answer(index, said.encode(), b"", 0))
        return answers

    def close(self) -> None:
        """Ends the session without a word; nothing was configured that would have to be saved."""
        self._connection.close()

    def _ask(self, text: str, until: float) -> str:
        said = self._send(text, until)
        if _NEEDS_ENABLE.search(said[:_REFUSAL_CHARS]) and self._enabled():
            said = self._send(text, until)
        return said

    def _send(self, text: str, until: float) -> str:
        self._channel.expect(until)
        left = max(_LEAST_S, until - time.monotonic())
        return str(_timed(lambda: self._device.send_command(text, read_timeout=left)))

    def _enabled(self) -> bool:
        """Asks for privileged mode, once and without a password: a switch that wants one is not asked for more."""
        if self._asked_for_more:
            return False
        self._asked_for_more = True
        self._device.read_timeout_override = ENABLE_S
        try:
            if _timed(self._device.check_enable_mode):
                return False
            _timed(self._device.enable)
        except (ValueError, _LateError):
            return False
        finally:
            self._device.read_timeout_override = None
        return True


def _timed(call: Any) -> Any:
    from netmiko.exceptions import NetmikoTimeoutException, ReadTimeout

    try:
        return call()
    except (NetmikoTimeoutException, ReadTimeout):
        raise _LateError from None


def _device(connection: Connection, os: str, deadline: float) -> tuple[Any, Any]:
    """netmiko's driver over our own connection, so that host keys, keys and jumps are the same as for every node."""
    from netmiko import ssh_dispatcher
    from netmiko.channel import SSHChannel

    class Bounded(SSHChannel):
        """Ends at a deadline, with the session, and at a bound on what one command prints."""

        def expect(self, until: float) -> None:
            self.until, self.came = until, bytearray()

        def read_buffer(self) -> str:
            conn: Any = self.remote_conn
            if conn.recv_ready():
                data = conn.recv(1 << 16)
                self.came += data
                if len(self.came) > COMMAND_BYTES:
                    raise _FloodError("it printed too much")
                return str(data.decode(self.encoding, "ignore"))
            if conn.closed or conn.eof_received:
                raise _EndedError("the switch ended the session")
            if time.monotonic() > self.until:
                raise _LateError
            return ""

    class Device(ssh_dispatcher(DEVICES[os])):  # type: ignore[misc]  # chosen at run time
        def establish_connection(self, width: int = 511, height: int = 1000) -> None:
            left = max(0.1, deadline - time.monotonic())
            self.remote_conn = connection.transport.open_session(timeout=left)
            self.remote_conn.settimeout(left)
            self.remote_conn.get_pty("vt100", width, height)
            self.remote_conn.invoke_shell()
            self.channel = Bounded(conn=self.remote_conn, encoding=self.encoding)
            self.channel.expect(deadline)

        def disconnect(self) -> None:
            self.remote_conn.close()

    device = Device(host=connection.target.hostname, device_type=DEVICES[os], auto_connect=False)
    _timed(device._open)
    return device, device.channel


def _answer(index: int, stdout: bytes, stderr: bytes, status: int, *, capped: bool = False) -> Answer:
    # a switch tells no clock beside its answers; this machine's is the same for all
    return Answer(index, stdout, stderr, status, datetime.now(UTC).timestamp(), capped=capped)


def _first(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
