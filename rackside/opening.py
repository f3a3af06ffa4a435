"""From command-line options to an open cluster."""

from __future__ import annotations

import argparse
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from common.errors import InputError, NothingReachedError, UsageError

if TYPE_CHECKING:
    from checks.clusters import Asking, Opened

KINDS = ("job-log", "nccl-tests", "ib-write-bw", "fio", "sacct", "note")
MAX_ATTACHMENT_BYTES = 64 * 1024 * 1024


def opened(args: argparse.Namespace) -> Opened:
    """The cluster of `-c` with overlays and attachments: replayed where it has recordings, else or with `--live` asked.

    Raises:
        UsageError: no such cluster, overlay or kind of attachment; options that do not go together.
        InputError: unreadable.
        NothingReachedError: the cluster has neither recordings nor nodes to ask.
    """
    from checks.clusters import open_cluster, open_live

    if args.live:
        if args.overlay:
            raise UsageError("an overlay lies over a recording; it cannot be laid over living nodes")
        found = open_live(args.cluster, asking(args))
    else:
        if args.record or args.ssh_config or args.interval is not None:
            raise UsageError("--record, --ssh-config and --interval are for --live")
        found = open_cluster(args.cluster, args.overlay)
        if found.store is None:
            raise NothingReachedError(
                f"{found.cluster.name} has no recordings to replay; --live asks its nodes over SSH"
            )
    _attach(found, args.attach)
    return found


def asking(args: argparse.Namespace, *, record: Path | None = None) -> Asking:
    """How living nodes are asked, as the options say; answers are recorded unless `--no-record`."""
    from checks.clusters import WINDOW_S, Asking, locate
    from rackside.asking import interactive, passphrase

    if record is None and getattr(args, "record", None):
        record = Path(args.record)
    if record is None and getattr(args, "live", False) and not args.no_record:
        record = recording_folder(locate(args.cluster).resolve().name)
    interval = getattr(args, "interval", None)
    return Asking(
        ssh_config=Path(args.ssh_config) if args.ssh_config else None,
        record=record,
        window_s=WINDOW_S if interval is None else interval,
        passphrase=passphrase,
        interactive=interactive,
    )


def live_by_name(cluster: str) -> Asking:
    """How the full-screen application asks a cluster chosen there: recorded, with keys that need no typing."""
    from checks.clusters import Asking, locate

    return Asking(record=recording_folder(locate(cluster).resolve().name))


def _attach(found: Opened, attach: list[str]) -> None:
    for text in attach:
        kind, equals, name = text.partition("=")
        kind, _, label = kind.partition("@")
        if not equals or kind not in KINDS:
            raise UsageError(f"--attach {text}: write KIND=FILE with a kind of {', '.join(KINDS)}")
        path = Path(name)
        try:
            with path.open("rb") as handle:
                data = handle.read(MAX_ATTACHMENT_BYTES)
        except OSError as error:
            raise InputError(error.strerror or "cannot be read", file=path) from None
        assert found.store is not None
        found.store.extra_attachments.append((kind, label or path.stem, data))


def recording_folder(cluster: str) -> Path:
    """A new folder for what living nodes answer: in the user's state folder, by cluster and time."""
    from platformdirs import user_state_path

    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    return user_state_path("rackside") / "recordings" / f"{cluster}-{stamp}-{os.getpid()}"


def journal_folder() -> Path:
    """Where sessions are kept: the user's state folder."""
    from platformdirs import user_state_path

    return user_state_path("rackside") / "sessions"
