"""Real OpenSSH servers on loopback, one per node, for tests."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

SSHD = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def need_sshd() -> str:
    """The server's path; skips the test with a clear reason when it is not installed."""
    if SSHD is None:
        pytest.skip("no OpenSSH server here (Debian: openssh-server)")
    return SSHD


def keygen(path: Path, *, kind: str = "ed25519", phrase: str = "") -> Path:
    """A new key pair."""
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", phrase, "-f", str(path)], check=True)
    return path


@dataclass
class Fleet:
    """Some nodes: each an sshd on its own loopback address."""

    folder: Path
    port: int
    key: Path
    nodes: dict[str, str] = field(default_factory=dict)
    _pids: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, node: str, *, options: str = "", environment: str = "") -> None:
        """Starts one node; `options` are further lines of its sshd_config."""
        address = f"127.1.{len(self.nodes) // 250}.{len(self.nodes) % 250 + 1}"
        self.nodes[node] = address
        host_key = keygen(self.folder / f"host-{node}")
        config = self.folder / f"{node}.conf"
        config.write_text(
            f"ListenAddress {address}\nPort {self.port}\nHostKey {host_key}\nPidFile none\nUsePAM no\n"
            f"PasswordAuthentication no\nKbdInteractiveAuthentication no\nStrictModes no\n"
            f"AuthorizedKeysFile {self.folder}/authorized_keys\nPermitRootLogin prohibit-password\nUseDNS no\n"
            f"PrintMotd no\nPrintLastLog no\nMaxStartups 200:30:400\nLogLevel ERROR\n"
            f"SetEnv SHLVL=3 HOME={self.folder} RACK_NODE={node} {environment}\n{options}\n"
        )
        os.makedirs("/run/sshd", exist_ok=True)
        log = str(self.folder / f"{node}.log")
        self._pids[node] = subprocess.Popen([need_sshd(), "-D", "-E", log, "-f", str(config)])
        self._await(address)
        self._known(node, host_key)

    def _await(self, address: str) -> None:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                probe.settimeout(0.5)
                if probe.connect_ex((address, self.port)) == 0:
                    return
            time.sleep(0.01)
        raise TimeoutError(f"sshd on {address} did not start")

    def _known(self, node: str, host_key: Path) -> None:
        public = host_key.with_name(f"{host_key.name}.pub").read_text().split()[:2]
        with (self.folder / "known_hosts").open("a") as file:
            file.write(f"[{self.nodes[node]}]:{self.port} {' '.join(public)}\n")
        with (self.folder / "config").open("a") as file:
            file.write(
                f"Host {node}\n  HostName {self.nodes[node]}\n  Port {self.port}\n  IdentityFile {self.key}\n"
                f"  UserKnownHostsFile {self.folder}/known_hosts\n  IdentityAgent none\n"
            )

    def pid(self, node: str) -> int:
        """The process of its server; log-ins are children of it."""
        return self._pids[node].pid

    def hang(self, node: str) -> None:
        """The node still takes connections and never answers."""
        self._pids[node].send_signal(signal.SIGSTOP)

    def stop(self) -> None:
        """Ends every server."""
        for process in self._pids.values():
            process.send_signal(signal.SIGCONT)
            process.terminate()
        for process in self._pids.values():
            process.wait(5)


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def make_fleet(folder: Path) -> Fleet:
    """An empty fleet with one user key that every node accepts."""
    need_sshd()
    key = keygen(folder / "user")
    shutil.copy(folder / "user.pub", folder / "authorized_keys")
    return Fleet(folder, free_port(), key)
