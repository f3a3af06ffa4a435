"""`~/.ssh/config` as the engineer's own ssh would read it, for as much as can be honoured; the rest is named."""

from __future__ import annotations

import getpass
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from checks.inventory import Access
from common.errors import InputError

USER_CONFIG = Path("~/.ssh/config")
SYSTEM_CONFIG = Path("/etc/ssh/ssh_config")
MAX_INCLUDES = 16

# Directives that decide whether or where a login works, and that this transport cannot follow.
UNSUPPORTED: dict[str, str] = {
    "pkcs11provider": "keys on a PKCS#11 token: load them into ssh-agent (`ssh-add -s`)",
    "securitykeyprovider": "FIDO keys: load them into ssh-agent",
    "remotecommand": "a RemoteCommand replaces what Rackside asks: leave it out for this host",
}


@dataclass(frozen=True)
class Target:
    """How to reach one node. Paths are expanded; `jumps` are host aliases, nearest first."""

    node: str
    hostname: str
    port: int
    user: str
    identities: tuple[Path, ...] = ()
    identities_only: bool = False
    agent: str | None = None
    certificates: tuple[Path, ...] = ()
    jumps: tuple[str, ...] = ()
    proxy_command: str | None = None
    known_hosts: tuple[Path, ...] = ()
    host_key_alias: str | None = None
    connect_timeout_s: float | None = None
    notes: tuple[str, ...] = field(default=())


class SshConfig:
    """The user's and the system's configuration, read once; the user's values win."""

    def __init__(self, access: Access, *, user_config: Path | None = None) -> None:
        self._access = access
        self._user = _Blocks((user_config or USER_CONFIG).expanduser())
        self._system = _Blocks(SYSTEM_CONFIG)

    def target(self, node: str, *, jump: bool = False) -> Target:
        """How to reach a node or, with `jump`, a host on the way (the cluster's own access settings are for nodes).

        Raises:
            InputError: a directive that cannot be followed decides over this host.
        """
        from paramiko import ConfigParseError, CouldNotCanonicalize

        try:
            given = {**self._system.lookup(node), **self._user.lookup(node)}
        except (ConfigParseError, CouldNotCanonicalize) as error:
            raise InputError(f"ssh configuration for {node}: {error}") from None
        for name, advice in UNSUPPORTED.items():
            if str(given.get(name, "no")).lower() not in ("no", "none", ""):
                raise InputError(f"ssh configuration for {node}: {name} cannot be honoured; {advice}")
        access = Access() if jump else self._access
        user = given.get("user") or access.user or getpass.getuser()
        hops = () if given.get("proxyjump", "").lower() == "none" else _hops(given.get("proxyjump", ""))
        command = given.get("proxycommand")
        command = None if command in (None, "none") else command
        if not hops and command is None:
            hops = access.jump
        agent = given.get("identityagent")
        return Target(
            node=node,
            hostname=given.get("hostname", node),
            port=int(given.get("port") or access.port or 22),
            user=user,
            identities=tuple(Path(p).expanduser() for p in given.get("identityfile", ())),
            identities_only=given.get("identitiesonly", "no").lower() == "yes",
            agent=agent,
            certificates=tuple(Path(p).expanduser() for p in _listed(given.get("certificatefile"))),
            jumps=hops,
            proxy_command=command,
            known_hosts=_known_hosts(given),
            host_key_alias=given.get("hostkeyalias"),
            connect_timeout_s=float(given["connecttimeout"]) if given.get("connecttimeout") else None,
        )


class _Blocks:
    """One configuration file. Blocks for named hosts are looked up by name: a fleet's file has one for every node, and
    trying all of them for each node takes minutes for a thousand."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._general: list[int] = []
        self._named: dict[str, list[int]] = {}
        self._texts: list[str] = []
        block: list[str] = []
        for line in [*(_expanded(path, 0) if path.is_file() else ()), "Host"]:
            if found := re.match(r"\s*(host|match)\b(?:\s*=\s*|\s+|$)(.*)", line, re.I):
                self._keep(block)
                block = []
                if not found[2].strip():
                    continue
            block.append(line)
        self._lookup("")  # a mistake in the file is told at once

    def _keep(self, block: list[str]) -> None:
        if not block:
            return
        number = len(self._texts)
        self._texts.append("\n".join(block))
        head = re.match(r"\s*host\b(?:\s*=\s*|\s+)(.*)", block[0], re.I)
        names = head[1].split() if head else []
        if names and not re.search(r"[*?!\"]", " ".join(names)):
            for name in dict.fromkeys(names):
                self._named.setdefault(name, []).append(number)
        else:
            self._general.append(number)

    def lookup(self, node: str) -> dict[str, Any]:
        """The values for a host, as paramiko reads them."""
        return dict(self._lookup(node))

    def _lookup(self, node: str) -> Any:
        from paramiko import ConfigParseError, SSHConfig  # about 160 ms, paid by the first live command only

        chosen = sorted([*self._general, *self._named.get(node, ())]) if node else range(len(self._texts))
        try:
            config = SSHConfig.from_text("\n".join(self._texts[n] for n in chosen))
            return config.lookup(node) if node else {}
        except ConfigParseError as error:
            raise InputError(f"ssh configuration: {error}", file=self._path) from None


def _hops(text: str) -> tuple[str, ...]:
    return tuple(hop.strip() for hop in text.split(",") if hop.strip())


def _listed(value: str | list[str] | None) -> list[str]:
    return [value] if isinstance(value, str) else list(value or ())


def _known_hosts(given: dict[str, Any]) -> tuple[Path, ...]:
    user = given.get("userknownhostsfile", "~/.ssh/known_hosts ~/.ssh/known_hosts2").split()
    system = given.get("globalknownhostsfile", "/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2").split()
    return tuple(Path(p.strip('"')).expanduser() for p in (*user, *system) if p != "none")


def _expanded(path: Path, depth: int) -> Iterator[str]:
    """Lines with `Include` replaced by the files it names; the enclosing block goes on after them."""
    if depth > MAX_INCLUDES:
        raise InputError("ssh configuration: includes nested too deeply", file=path)
    block = "Host *"
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        if re.match(r"\s*(?:host|match)\b", line, re.I):
            block = line.strip()
        if found := re.match(r"\s*include[\s=]+(.+)", line, re.I):
            for name in found[1].split():
                pattern = Path(name.strip('"')).expanduser()
                base = pattern if pattern.is_absolute() else USER_CONFIG.expanduser().parent / pattern
                for file in sorted(base.parent.glob(base.name)):
                    if file.is_file():
                        yield from _expanded(file, depth + 1)
            yield block
        else:
            yield line
