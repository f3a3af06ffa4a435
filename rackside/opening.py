"""From command-line options to an open cluster."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from common.errors import InputError, NothingReachedError, UsageError

if TYPE_CHECKING:
    from checks.clusters import Opened

KINDS = ("job-log", "nccl-tests", "ib-write-bw", "fio", "sacct", "note")
MAX_ATTACHMENT_BYTES = 64 * 1024 * 1024


def opened(args: argparse.Namespace) -> Opened:
    """The cluster of `-c` with overlays and attachments.

    Raises:
        UsageError: no such cluster, overlay or kind of attachment.
        InputError: unreadable.
        NothingReachedError: the cluster has no recordings.
    """
    from checks.clusters import open_cluster

    found = open_cluster(args.cluster, args.overlay)
    if found.replay is None:
        raise NothingReachedError(f"{found.cluster.name} has no recordings to replay")
    for text in args.attach:
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
        found.replay.extra_attachments.append((kind, label or path.stem, data))
    return found


def journal_folder() -> Path:
    """Where sessions are kept: the user's state folder."""
    from platformdirs import user_state_path

    return user_state_path("rackside") / "sessions"
