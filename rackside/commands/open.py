"""`rackside` without a command: the terminal application, or the same walk in plain text where there is no terminal."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from common.errors import InputError, UsageError
from rackside import opening, output

if TYPE_CHECKING:
    from checks.clusters import Opened
    from worksheets.plan import Given

DEFAULT_RUNBOOK = "triage"


def run(args: argparse.Namespace) -> int:
    """Opens the TUI on a terminal; otherwise walks headless with the same content."""
    if sys.stdin.isatty() and sys.stderr.isatty() and os.environ.get("TERM", "") not in ("", "dumb"):
        from tui.app import run as run_app

        folder = opening.journal_folder()
        opened = None
        if args.live:
            if not args.cluster:
                raise UsageError("--live needs a cluster (-c)")
            opened = opening.opened(args)
            assert opened.live is not None
            # while this is still a plain terminal: a full screen has no place to type a passphrase
            opened.live.prepare()
        return run_app(
            cluster=args.cluster,
            overlays=args.overlay,
            runbook=args.runbook,
            resume=Path(args.resume) if args.resume else None,
            journal_dir=folder,
            opened=opened,
            asking=opening.live_by_name,
            measuring=_measured,
        )
    if not args.cluster and not args.resume:
        raise UsageError("no terminal here: name a cluster (-c) to walk it in plain text, or see `rackside --help`")
    from rackside.commands import walk

    output.narrate("no terminal: walking in plain text")
    walk_args = argparse.Namespace(
        **{**vars(args), "runbook": args.runbook or DEFAULT_RUNBOOK},
        nodes=None,
        answer=[],
        answers=None,
        journal=None,
        fork=None,
        format="text",
        output=None,
        color="auto",
    )
    return walk.run(walk_args)


def _measured(opened: Opened, accelerators: Iterable[str]) -> Mapping[str, Given]:
    """What a cluster tells worksheets; nothing where it has nothing to tell."""
    from rackside.measured import measured

    try:
        return measured(opened, accelerators)
    except InputError:
        # the sheets are there all the same, over their defaults
        return {}
