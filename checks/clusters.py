"""Opens what `-c` names: a shipped sample, a cluster folder, a `cluster.yaml`, or a few files from a ticket."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from checks import catalogue, inventory
from checks.inventory import SWITCHES, Cluster, ClusterFile, Role, RoleSpec
from checks.nodesets import fold
from checks.transports import layout
from checks.transports.replay import Replay
from common import yamlfile
from common.errors import InputError, UsageError

if TYPE_CHECKING:
    from checks.transports.live import Live

SAMPLES = Path(__file__).parent.parent / "sample_clusters"


WINDOW_S = 60.0
"""Between the two readings of a rate on a living cluster."""


@dataclass(frozen=True)
class Asking:
    """How a living cluster is asked, and where its answers are kept.

    `go_on` continues a recording that was cut off. `passphrase` and `interactive` ask the person at a terminal; without
    them nothing is ever asked. `window_s` lies between the two readings of a rate.
    """

    ssh_config: Path | None = None
    record: Path | None = None
    go_on: bool = False
    window_s: float = WINDOW_S
    passphrase: Callable[[Path], str | None] | None = None
    interactive: Callable[[str, str, list[tuple[str, bool]]], list[str]] | None = None


@dataclass(frozen=True)
class Opened:
    """A cluster with its recordings, its living nodes, or neither yet."""

    cluster: Cluster
    replay: Replay | None
    folder: Path
    overlays: tuple[Path, ...] = ()
    live: Live | None = None
    asking: Asking | None = None

    @property
    def store(self) -> Live | Replay | None:
        """What answers: the nodes themselves, else the recording; None when there is neither."""
        return self.live or self.replay

    @property
    def source(self) -> Literal["live", "replay"]:
        """Which of the two."""
        return "live" if self.live else "replay"

    def close(self) -> None:
        """Ends the connections to a living cluster."""
        if self.live is not None:
            self.live.close()

    @property
    def label(self) -> str:
        """Name with overlays, as shown on screen."""
        return " + ".join((self.cluster.name, *(o.name for o in self.overlays)))


def samples() -> list[str]:
    """Names of the shipped sample clusters."""
    if not SAMPLES.is_dir():
        return []
    return sorted(p.name for p in SAMPLES.iterdir() if (p / "cluster.yaml").is_file())


def overlays_of(folder: Path) -> list[str]:
    """Names of the overlays a cluster folder ships."""
    inside = folder / "overlays"
    return sorted(p.name for p in inside.iterdir() if p.is_dir()) if inside.is_dir() else []


def locate(name: str) -> Path:
    """The folder that `-c` names.

    Raises:
        UsageError: no such sample or path.
    """
    path = Path(name).expanduser()
    if path.is_dir():
        return path
    if path.is_file() and path.name.endswith((".yaml", ".yml")):
        return path.parent
    if "/" not in name and (SAMPLES / name / "cluster.yaml").is_file():
        return SAMPLES / name
    raise UsageError(f"no cluster `{name}`: not a sample, not a folder; {yamlfile.nearest(name, samples())}")


def open_cluster(name: str, overlays: Sequence[str] = ()) -> Opened:
    """The cluster `-c` names, with overlays given as paths or as names of the cluster's own overlays.

    Raises:
        UsageError: no such cluster or overlay.
        InputError: it cannot be read.
    """
    folder = locate(name)
    laid = tuple(_overlay(folder, o) for o in overlays)
    recordings = _recordings(folder)
    fallback = _node_name(folder.resolve().name)
    if (folder / "cluster.yaml").is_file():
        cluster = inventory.read(folder)
    elif recordings is None:
        raise InputError("no cluster.yaml and nothing recorded here", file=folder, fix="see `rackside list clusters`")
    else:
        cluster = _inferred(folder, recordings, fallback)
    replay = None
    if recordings is not None:
        replay = Replay(cluster, recordings, laid, attachments=folder / "attachments", fallback_node=fallback)
    elif laid:
        raise InputError("an overlay needs recordings to lie over", file=folder)
    return Opened(cluster, replay, folder, laid)


def open_live(name: str, asking: Asking | None = None) -> Opened:
    """The living cluster `-c` names; with `asking.record`, whatever its nodes answer is written there.

    Raises:
        UsageError: no such cluster, or one that is known only from a recording.
        InputError: its file or the ssh configuration cannot be read.
        WriteError: the recording cannot be begun.
    """
    from checks.transports.keys import Keys
    from checks.transports.live import Live  # paramiko: 160 ms that only a live command pays
    from checks.transports.recorder import Recorder
    from checks.transports.sshconfig import SshConfig

    asking = asking or Asking()
    folder = locate(name)
    if not (folder / "cluster.yaml").is_file():
        raise UsageError(f"{name} has no cluster.yaml, so there is nobody to ask; replay it without --live")
    cluster = inventory.read(folder)
    recorder = Recorder(asking.record, cluster, go_on=asking.go_on) if asking.record else None
    live = Live(
        cluster,
        config=SshConfig(cluster.spec.access, user_config=asking.ssh_config),
        ssh_config=asking.ssh_config,
        keys=Keys(asking.passphrase),
        interactive=asking.interactive,
        recorder=recorder,
        window_s=asking.window_s,
    )
    return Opened(cluster, None, folder, live=live, asking=asking)


def _overlay(folder: Path, name: str) -> Path:
    for path in (Path(name).expanduser(), folder / "overlays" / name, SAMPLES / name):
        if path.is_dir():
            return path
    raise UsageError(f"no overlay `{name}`; {yamlfile.nearest(name, overlays_of(folder))}")


def is_recording(folder: Path) -> bool:
    """True for a folder that holds outputs of known commands, assembled by hand or not."""
    return folder.is_dir() and _recordings(folder) is not None


def _recordings(folder: Path) -> Path | None:
    if (folder / "recordings").is_dir():
        return folder / "recordings"
    # files assembled by hand lie in the folder itself, loose or in a folder per node
    commands = catalogue.table()
    for path in [*folder.glob("*.txt"), *folder.glob("*/*.txt"), *folder.glob("round-*/*/*.txt")]:
        match = layout._FILE.match(path.name)
        if path.name == layout.UNREACHABLE or (match and layout.split_stem(match["stem"])[0] in commands):
            if path.parent.name in ("attachments", "overlays"):
                continue
            return folder
    return None


def _node_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9.-]+", "-", text).strip("-.") or "node"


def _inferred(folder: Path, recordings: Path, fallback: str) -> Cluster:
    """A cluster read off the commands recorded: every node is a GPU node unless they say otherwise."""
    roles: dict[Role, set[str]] = {}
    for layer in layout.rounds(recordings, None, fallback_node=fallback).values():
        for found in layer.folders:
            if found.path.name in ("attachments", "overlays"):
                continue
            stems = {layout.split_stem(key.stem)[0] for key in found.files}
            entries = [catalogue.table()[s] for s in stems if s in catalogue.table()]
            for role in _roles(entries):
                roles.setdefault(role, set()).update(found.nodes)
    specs = {
        role: RoleSpec(nodes=fold(nodes), os="sonic" if role in SWITCHES else None)
        for role, nodes in sorted(roles.items())
    }
    return Cluster(ClusterFile(name=folder.resolve().name, roles=specs), folder, inferred=True)


def _roles(entries: list[catalogue.Command]) -> set[Role]:
    own = {e.roles for e in entries if len(e.roles) == 1 or e.os}
    found: set[Role] = set()
    for roles in own:
        # a storage client is a GPU node unless something else is known of it
        found.add("gpu-node" if roles[0] == "storage-client" else roles[0])  # type: ignore[arg-type]
    return found or {"gpu-node"}
