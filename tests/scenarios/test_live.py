"""Sample clusters served by real SSH servers: walked live, replayed from what was recorded, and replayed as shipped."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from checks.clusters import Asking, open_cluster, open_live
from runbooks.documents import WalkDocument
from runbooks.session import Session
from tests.scenarios.cases import Place, walk
from tests.served import serve

pytestmark = pytest.mark.fleet

WALKS = [
    (Place("a800-roce-256", "founding-case"), "training-slow"),
    (Place("lustre-default-stripe"), "checkpoint-stall"),
    (Place("h100-cpu-starved"), "dataloader-starved"),
    (Place("h100-cpu-balanced"), "triage"),
    (Place("heartbeat-loss"), "nodes-lost"),
]


_SPAN = re.compile(r"(?:\d+-)?\d\d:\d\d:\d\d")
NAMED = {"which-path": "/lustre/ckpt/step-0048000.pt"}
"""The file that the recordings have looked at; on a living cluster a person names it."""


def _essence(document: WalkDocument) -> dict[str, Any]:
    """A document without times and spans of time, the cluster's name, and the round that a level was read in."""
    plain = document.model_dump(mode="json")
    for key in ("cluster", "source", "started", "ended"):
        plain.pop(key)
    for step in plain["path"]:
        step.pop("at", None)
    for finding in plain["findings"]:
        if finding["check"] == "gpu.utilisation":  # a replay has the samples of two rounds, living nodes gave one's
            finding["evidence"], finding["observed"] = [], []
        for quote in finding["evidence"]:
            quote.pop("round")
            quote["text"] = _SPAN.sub("…", quote["text"])
    return plain


@pytest.mark.parametrize(("place", "runbook"), WALKS, ids=lambda p: p.name if isinstance(p, Place) else p)
def test_a_cluster_walked_live_gives_what_its_recording_gives(place: Place, runbook: str, tmp_path: Path) -> None:
    (served := tmp_path / "served").mkdir()
    fleet = serve(place.open(), served)
    try:
        asking = Asking(ssh_config=served / "config", record=tmp_path / "kept", window_s=0)
        opened = open_live(str(served / "cluster"), asking)
        session = Session.start(opened, runbook, answers=NAMED)
        live = session.drive()
        opened.close()
    finally:
        fleet.stop()
    shipped = walk(place, runbook, tuple(NAMED.items()))
    assert live.source == "live"
    assert live.verdict == shipped.verdict
    assert live.conclusions == shipped.conclusions
    replayed = Session.start(open_cluster(str(tmp_path / "kept")), runbook, answers=NAMED).drive()
    assert _essence(replayed) == _essence(live)
    assert _essence(live) == _essence(shipped)


def test_nodes_that_fail_in_many_ways_are_named_and_the_walk_still_finds_the_cause(tmp_path: Path) -> None:
    (served := tmp_path / "served").mkdir()
    fleet = serve(Place("a800-roce-256", "founding-case").open(), served)
    try:
        config = (served / "config").read_text() + "Host *\n  ConnectTimeout 3\n"
        strangers = served / "strangers"
        strangers.write_text("")
        # one hangs, one is a stranger, one refuses, one has no name
        fleet.hang("gpu003")
        for node, change in (
            ("gpu011", f"Host gpu011\n  UserKnownHostsFile {strangers}\n"),
            ("gpu020", "Host gpu020\n  HostName 127.1.250.1\n  Port 9\n"),
            ("gpu029", "Host gpu029\n  HostName no-such-host.invalid\n"),
        ):
            config = change + config
            assert node in change
        (served / "config").write_text(config)
        opened = open_live(str(served / "cluster"), Asking(ssh_config=served / "config", window_s=0))
        live = Session.start(opened, "training-slow", answers=NAMED).drive()
        failures = opened.live.failures if opened.live else {}
        opened.close()
    finally:
        fleet.stop()
    assert set(failures) == {"gpu003", "gpu011", "gpu020", "gpu029"}
    concluded = {c.fault: c for c in live.conclusions if c.role == "initiating"}
    assert concluded["net-ecn-threshold-mismatch"].nodes == "leaf03"
    assert "net-pfc-not-isolated" in concluded
    assert set(concluded) == {"net-ecn-threshold-mismatch", "net-pfc-not-isolated"}
    unknown = " ".join(u.nodes for u in live.unknown)
    for node in failures:
        assert node[-3:] in unknown
