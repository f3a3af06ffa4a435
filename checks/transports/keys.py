"""Private keys of the person who asks: the agent's and those of files, each opened once for the whole fleet."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checks.transports.sshconfig import Target

if TYPE_CHECKING:
    from paramiko import PKey


class Keys:
    """Private keys of this person, each opened once for the whole fleet. `ask` gives a passphrase on a terminal."""

    def __init__(self, ask: Callable[[Path], str | None] | None = None) -> None:
        self._ask = ask
        self._opened: dict[Path, PKey | str] = {}
        self._agents: dict[str | None, list[Any]] = {}
        self._connected: list[Any] = []
        self._lock = threading.Lock()

    def of(self, target: Target) -> Iterator[PKey]:
        """Keys to offer: the agent's first, then identity files, each once."""
        offered: set[bytes] = set()
        agent = self._agent(target.agent)
        held = {key.asbytes() for key in agent}
        # no passphrase is asked for a key that the agent holds
        paths = [f for f in target.identities or _default_files() if _public_blob(f) not in held]
        files = [k for f in paths if (k := self._file(f)) is not None]
        wanted = {k.asbytes() for k in files} | {_public_blob(f) for f in target.identities}
        for key in agent:
            if target.identities_only and key.asbytes() not in wanted:
                continue
            if key.asbytes() not in offered:
                offered.add(key.asbytes())
                yield key
        for key in files:
            if key.asbytes() not in offered:
                offered.add(key.asbytes())
                yield key

    def open(self, target: Target) -> None:
        """Opens the keys of a target, asking for passphrases where needed."""
        for _ in self.of(target):
            pass

    def close(self) -> None:
        """Lets go of the agents."""
        for agent in self.forget_agents():
            agent.close()

    def forget_agents(self) -> list[Any]:
        """Asks the agents anew next time: their sockets cannot be shared between processes. Returns those held."""
        with self._lock:
            agents, self._connected, self._agents = self._connected, [], {}
        return agents

    def problems(self, target: Target) -> list[str]:
        """Why identity files of a target cannot be used."""
        return [f"{f}: {said}" for f in target.identities if isinstance(said := self._opened.get(f), str)]

    def _file(self, path: Path) -> PKey | None:
        with self._lock:
            if path not in self._opened:
                self._opened[path] = self._load(path)
            found = self._opened[path]
        return None if isinstance(found, str) else found

    def _load(self, path: Path) -> PKey | str:
        from paramiko import PasswordRequiredException, PKey, SSHException

        try:
            key = PKey.from_path(path)
        except (PasswordRequiredException, TypeError):
            phrase = self._ask(path) if self._ask else None
            if phrase is None:
                return "needs a passphrase; load it into ssh-agent"
            try:
                key = PKey.from_path(path, phrase.encode())  # type: ignore[arg-type]  # the stub is wrong: bytes
            except (SSHException, ValueError, TypeError):
                return "the passphrase is wrong"
        except (OSError, SSHException, ValueError) as error:
            return str(error) or type(error).__name__
        certificate = path.with_name(f"{path.name}-cert.pub")
        if certificate.is_file():
            with contextlib.suppress(Exception):
                key.load_certificate(str(certificate))
        return key

    def _agent(self, socket_path: str | None) -> list[Any]:
        from paramiko import Agent, SSHException

        if socket_path == "none":
            return []
        with self._lock:
            if socket_path not in self._agents:
                before = os.environ.get("SSH_AUTH_SOCK")
                try:
                    if socket_path and socket_path != "SSH_AUTH_SOCK":
                        os.environ["SSH_AUTH_SOCK"] = os.path.expanduser(socket_path)
                    agent = Agent()
                    self._connected.append(agent)
                    self._agents[socket_path] = list(agent.get_keys())
                except (SSHException, OSError):
                    self._agents[socket_path] = []
                finally:
                    if before is None:
                        os.environ.pop("SSH_AUTH_SOCK", None)
                    else:
                        os.environ["SSH_AUTH_SOCK"] = before
            return self._agents[socket_path]


def _default_files() -> list[Path]:
    home = Path("~/.ssh").expanduser()
    return [p for name in ("id_ed25519", "id_ecdsa", "id_rsa") if (p := home / name).is_file()]


def _public_blob(path: Path) -> bytes:
    """The public half beside an identity file, so that an agent's key can be recognised without its passphrase."""
    import base64

    with contextlib.suppress(OSError, ValueError, IndexError):
        return base64.b64decode(path.with_name(f"{path.name}.pub").read_text().split()[1])
    return b""
