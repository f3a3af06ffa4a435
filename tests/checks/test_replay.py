"""Look-up rules of a recording, overlays, hand-assembled folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from checks import lint
from checks.clusters import Opened, open_cluster
from checks.outputs import NotAvailable, Output
from common.errors import InputError, UsageError

CLUSTER = """\
version: 1
name: c
roles:
  gpu-node: {nodes: "gpu[1-4]"}
  switch-leaf: {nodes: leaf1, os: sonic}
"""


def put(root: Path, name: str, text: str = "x\n") -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def opened(root: Path, *overlays: str) -> Opened:
    if not (root / "cluster.yaml").exists():
        put(root, "cluster.yaml", CLUSTER)
    return open_cluster(str(root), overlays)


def text(found: Output | NotAvailable) -> str:
    assert isinstance(found, Output), found
    return found.stdout.decode()


def test_the_smallest_set_that_holds_the_node_wins_and_a_role_folder_is_the_widest(tmp_path: Path) -> None:
    put(tmp_path, "recordings/round-1/gpu-node/loadavg.txt", "role")
    put(tmp_path, "recordings/round-1/gpu[1-4]/loadavg.txt", "set")
    put(tmp_path, "recordings/round-1/gpu[1-2]/loadavg.txt", "pair")
    put(tmp_path, "recordings/round-1/gpu1/loadavg.txt", "one")
    put(tmp_path, "recordings/round-1/gpu-node/epoch.txt", "role")
    replay = opened(tmp_path).replay
    assert replay is not None
    assert [text(replay.get(f"gpu{i}", "loadavg", (), 1, 1)) for i in (1, 2, 3)] == ["one", "pair", "set"]
    assert text(replay.get("gpu1", "epoch", (), 1, 1)) == "role"


def test_text_status_and_stderr_come_from_one_folder(tmp_path: Path) -> None:
    put(tmp_path, "recordings/round-1/gpu[1-4]/smi-list.txt", "all good")
    put(tmp_path, "recordings/round-1/gpu2/smi-list.status", "127\n")
    put(tmp_path, "recordings/round-1/gpu2/smi-list.stderr", "nvidia-smi: not found")
    replay = opened(tmp_path).replay
    assert replay is not None
    found = replay.get("gpu2", "smi-list", (), 1, 1)
    assert isinstance(found, Output)
    assert (found.stdout, found.status, found.stderr) == (b"", 127, b"nvidia-smi: not found")


def test_an_unreachable_node_hides_every_wider_folder_for_its_round_only(tmp_path: Path) -> None:
    for number in (1, 2):
        put(tmp_path, f"recordings/round-{number}/gpu[1-4]/loadavg.txt")
    put(tmp_path, "recordings/round-2/gpu3/UNREACHABLE.txt", "ssh: connect: No route to host\x1b[31m\n")
    replay = opened(tmp_path).replay
    assert replay is not None
    assert isinstance(replay.get("gpu3", "loadavg", (), 1, 1), Output)
    gone = replay.get("gpu3", "loadavg", (), 2, 1)
    assert isinstance(gone, NotAvailable)
    assert gone.kind == "unreachable"
    assert "No route to host" in gone.reason
    assert "\x1b" not in gone.reason


def test_an_overlay_file_beats_narrower_base_files_and_absent_takes_away(tmp_path: Path) -> None:
    put(tmp_path, "recordings/round-1/gpu1/loadavg.txt", "base one")
    put(tmp_path, "recordings/round-1/gpu[1-4]/epoch.txt", "base")
    put(tmp_path, "overlays/o/gpu[1-4]/loadavg.txt", "overlay all")
    put(tmp_path, "overlays/o/gpu2/epoch.absent", "")
    replay = opened(tmp_path, "o").replay
    assert replay is not None
    assert text(replay.get("gpu1", "loadavg", (), 1, 1)) == "overlay all"
    assert isinstance(replay.get("gpu2", "epoch", (), 1, 1), NotAvailable)
    assert text(replay.get("gpu1", "epoch", (), 1, 1)) == "base"


def test_parameters_and_samples_are_read_off_the_file_names(tmp_path: Path) -> None:
    put(tmp_path, "recordings/round-1/gpu[1-4]/eth-stats@eth2.txt")
    put(tmp_path, "recordings/round-1/gpu1/eth-stats@eth3.txt")
    put(tmp_path, "recordings/round-1/gpu1/lfs-getstripe@%2Flustre%2Fckpt.txt")
    put(tmp_path, "recordings/round-1/gpu1/smi-perf.txt")
    put(tmp_path, "recordings/round-1/gpu1/smi-perf~3.txt")
    replay = opened(tmp_path).replay
    assert replay is not None
    assert replay.params("gpu1", "eth-stats") == [("eth2",), ("eth3",)]
    assert replay.params("gpu2", "eth-stats") == [("eth2",)]
    assert replay.params("gpu1", "lfs-getstripe") == [("/lustre/ckpt",)]
    assert replay.samples("gpu1", "smi-perf", (), 1) == 3
    assert isinstance(replay.get("gpu1", "smi-perf", (), 1, 2), NotAvailable)


def test_read_at_may_differ_from_the_round(tmp_path: Path) -> None:
    put(tmp_path, "recordings/round-1/gpu1/loadavg.txt")
    put(tmp_path, "recordings/round-1/gpu2/loadavg.txt")
    put(
        tmp_path,
        "recordings/round-1/round.yaml",
        "taken_at: 2026-03-04T02:10:00Z\nread_at: {gpu2/loadavg.txt: '2026-03-04T02:10:03.5Z'}\n",
    )
    replay = opened(tmp_path).replay
    assert replay is not None
    times = []
    for node in ("gpu1", "gpu2"):
        found = replay.get(node, "loadavg", (), 1, 1)
        assert isinstance(found, Output)
        assert found.read_at is not None
        times.append(found.read_at.timestamp())
    assert times[1] - times[0] == pytest.approx(3.5)


def test_three_files_from_a_ticket_make_a_cluster_without_any_manifest(tmp_path: Path) -> None:
    put(tmp_path, "gpu07/smi-list.txt", "GPU 0: NVIDIA A800 (UUID: GPU-1)\n")
    put(tmp_path, "gpu07/loadavg.txt", "1.0 1.0 1.0 1/2 3\n")
    put(tmp_path, "leaf3/sw-version.txt")
    put(tmp_path, "gpu07/letter.txt")
    found = open_cluster(str(tmp_path))
    assert found.cluster.inferred
    assert found.cluster.nodes("gpu-node") == ("gpu07",)
    assert found.cluster.nodes("switch-leaf") == ("leaf3",)
    assert found.replay is not None
    assert found.replay.rounds == (1,)
    assert [p.name for p in found.replay.unknown_files()] == ["letter.txt"]


def test_loose_files_belong_to_one_node_named_after_the_folder(tmp_path: Path) -> None:
    put(tmp_path, "ticket 42/smi-list.txt")
    found = open_cluster(str(tmp_path / "ticket 42"))
    assert found.cluster.nodes("gpu-node") == ("ticket-42",)
    assert found.replay is not None
    assert isinstance(found.replay.get("ticket-42", "smi-list", (), 1, 1), Output)


def test_links_are_not_followed(tmp_path: Path) -> None:
    put(tmp_path, "secret.txt", "secret")
    put(tmp_path, "c/recordings/round-1/gpu1/epoch.txt")
    put(tmp_path, "c/cluster.yaml", CLUSTER)
    (tmp_path / "c/recordings/round-1/gpu1/loadavg.txt").symlink_to(tmp_path / "secret.txt")
    replay = open_cluster(str(tmp_path / "c")).replay
    assert replay is not None
    assert isinstance(replay.get("gpu1", "loadavg", (), 1, 1), NotAvailable)


@pytest.mark.parametrize(
    ("yaml", "message"),
    [
        (
            "version: 1\nroles:\n  gpu-node:\n    nodess: gpu1\n",
            "cluster.yaml:4: unknown key `nodess` at line 4; did you mean `nodes`?",
        ),
        (
            "version: 1\nroles:\n  gpu-nod: gpu1\n",
            "cluster.yaml:3: unknown key `gpu-nod` at line 3; did you mean `gpu-node`?",
        ),
        ("version: 1\nroles: {gpu-node: 'gpu[1-'}\n", "not a node set"),
        ("version: 1\nversion: 1\n", "cluster.yaml:2: key `version` is given twice"),
        ("version: 1\nroles: [\n", "not valid YAML"),
        ("thresholds: {ecn-mark-ratio-falt: 3}\n", "did you mean `ecn-mark-ratio-fault`?"),
        ("thresholds: {lossless-drop: 3}\n", "cannot be changed"),
        ("- a\n", "expected keys and values"),
    ],
)
def test_mistakes_in_the_cluster_file_name_file_line_and_fix(tmp_path: Path, yaml: str, message: str) -> None:
    put(tmp_path, "cluster.yaml", yaml)
    with pytest.raises(InputError) as raised:
        open_cluster(str(tmp_path))
    assert message in str(raised.value)


def test_an_unknown_cluster_or_overlay_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="did you mean `a800-roce-256`"):
        open_cluster("a800-roce-265")
    put(tmp_path, "recordings/gpu1/loadavg.txt")
    put(tmp_path, "overlays/founding-case/gpu1/loadavg.txt")
    with pytest.raises(UsageError, match="did you mean `founding-case`"):
        opened(tmp_path, "founding-cas")


def test_a_broken_status_or_round_file_is_one_clear_message(tmp_path: Path) -> None:
    put(tmp_path, "recordings/round-1/gpu1/loadavg.status", "lots\n")
    replay = opened(tmp_path).replay
    assert replay is not None
    with pytest.raises(InputError, match=r"loadavg.status:1: not an exit status"):
        replay.get("gpu1", "loadavg", (), 1, 1)
    put(tmp_path, "recordings/round-1/round.yaml", "taken: now\n")
    assert any("unknown key `taken`" in str(p) for p in lint.lint_cluster(tmp_path))


def test_lint_finds_ties_strangers_and_wrong_parameters(tmp_path: Path) -> None:
    put(tmp_path, "recordings/round-1/gpu[1-2]/loadavg.txt")
    put(tmp_path, "recordings/round-1/gpu[2-3]/loadavg.txt")
    put(tmp_path, "recordings/round-1/gpu99/loadavg.txt")
    put(tmp_path, "recordings/round-1/gpu1/eth-stats.txt")
    put(tmp_path, "recordings/round-1/round.yaml", "taken_at: 2026-03-04T02:10:00Z\n")
    opened(tmp_path)
    said = [str(p) for p in lint.lint_cluster(tmp_path)]
    assert any("gpu[2-3] holds the same file for gpu2" in s for s in said)
    assert any("does not name gpu99" in s for s in said)
    assert any("eth-stats takes 1 parameter(s) (if), the name has 0" in s for s in said)
