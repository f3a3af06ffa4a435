"""Switches with a command line of their own (EOS, NX-OS, Onyx): through netmiko, pager off, one command at a time."""

from __future__ import annotations

import contextlib
import re
import time
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from checks.transports.script import Answer, Request
from checks.transports.ssh import SshError
from checks.transports.sshconfig import Target

if TYPE_CHECKING:
    from checks.transports.keys import Keys

DEVICES = {"eos": "arista_eos", "nxos": "cisco_nxos", "onyx": "mellanox_mlnxos"}
"""netmiko's name of each switch operating system."""

_REFUSED = re.compile(
    r"^\s*%\s*(?:Invalid|Unrecognized|Incomplete|Ambiguous|Unknown|Authorization|Permission)", re.I | re.M
)
_NEEDS_ENABLE = re.compile(r"^\s*%.*(?:privileged mode required|permission denied|authorization)", re.I | re.M)


def installed() -> bool:
    """Whether netmiko is there; it comes with the extra `switches`."""
    return find_spec("netmiko") is not None


class CliConnection:
    """A logged-in session on one switch. Only texts of the catalogue are ever sent, and what turns the pager off."""

    def __init__(self, target: Target, os: str, keys: Keys, *, connect_s: float, through: Any | None = None) -> None:
        if not installed():
            raise SshError("unsupported", f"{os} needs netmiko: pip install 'rackside[switches]'")
        from netmiko import ConnectHandler
        from netmiko.exceptions import NetmikoAuthenticationException, NetmikoTimeoutException, ReadTimeout
        from paramiko import SSHException

        known = next((str(path) for path in target.known_hosts if path.is_file()), "")
        if not known:
            raise SshError("denied", "no known_hosts file, and an unknown host key is never accepted")
        key = next(iter(keys.of(target)), None)
        try:
            self._device: Any = ConnectHandler(
                device_type=DEVICES[os],
                host=target.hostname,
                port=target.port,
                username=target.user,
                use_keys=False,  # or it would look for a file; the key is given
                pkey=key,
                allow_agent=False,
                ssh_strict=True,
                system_host_keys=False,
                alt_host_keys=True,
                alt_key_file=known,
                conn_timeout=connect_s,
                banner_timeout=connect_s,
                auth_timeout=connect_s,
                sock=through,
            )
        except NetmikoAuthenticationException as error:
            raise SshError("denied", f"log-in as {target.user} refused: {_first(error)}") from None
        except ReadTimeout:
            raise SshError("timed-out", "the switch showed no prompt in time") from None
        except NetmikoTimeoutException as error:
            text = str(error)
            if "known_hosts" in text or "host key" in text.lower():
                raise SshError("denied", f"host key unknown or changed: {_first(error)}") from None
            raise SshError("timed-out", _first(error)) from None
        except (SSHException, OSError, ValueError) as error:
            raise SshError("unreachable", _first(error)) from None

    @property
    def open(self) -> bool:
        """Whether it can still be used."""
        return bool(self._device.is_alive())

    def run(self, requests: list[Request], *, deadline: float) -> list[Answer]:
        """Runs commands one after another; those for which no time is left are not answered."""
        from netmiko.exceptions import ReadTimeout

        answers: list[Answer] = []
        for index, request in enumerate(requests):
            if time.monotonic() >= deadline:
                break
            text = request.command.render(request.params)
            try:
                said = self._send(text, request.command.timeout_s)
                if _NEEDS_ENABLE.search(said) and self._enabled():
                    said = self._send(text, request.command.timeout_s)
            except ReadTimeout:
                answers.append(self._answer(index, b"", b"no prompt came back in time", 124))
                break
            except OSError as error:
                answers.append(self._answer(index, b"", _first(error).encode(), 255))
                break
            if _REFUSED.search(said):
                answers.append(self._answer(index, b"", said.strip().encode(), 1))
            else:
                answers.append(self._answer(index, said.encode(), b"", 0))
        return answers

    def close(self) -> None:
        """Ends the session without a word; nothing was configured that would have to be saved."""
        with contextlib.suppress(Exception):
            self._device.remote_conn_pre.close()

    def _send(self, text: str, timeout_s: float) -> str:
        return str(self._device.send_command(text, read_timeout=timeout_s, cmd_verify=False, strip_prompt=True))

    def _enabled(self) -> bool:
        """Asks for privileged mode, without a password: a switch that wants one is not asked for more."""
        if self._device.check_enable_mode():
            return False
        try:
            self._device.enable()
        except (ValueError, OSError):
            return False
        return True

    @staticmethod
    def _answer(index: int, stdout: bytes, stderr: bytes, status: int) -> Answer:
        # a switch tells no clock beside its answers; this machine's is the same for all
        return Answer(index, stdout, stderr, status, datetime.now(UTC).timestamp())


def _first(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
