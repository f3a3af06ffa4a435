"""Archives of strangers: nothing leaves the spool, nothing is followed, nothing is endless."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from checks.intake.archives import Bundle, open_bundle
from checks.intake.unpacking import Limits
from common.errors import InputError
from tests.checks.intake.bundles import TAKEN, tar, written


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    folder = tmp_path / "spool"
    folder.mkdir()
    return folder


def names(bundle: Bundle) -> list[str]:
    return sorted(str(e.path) for e in bundle.entries)


def opened(tmp_path: Path, spool: Path, data: bytes, name: str = "bundle.tar.xz", **limits: int) -> Bundle:
    return open_bundle(written(tmp_path / name, data), spool, Limits(**limits))


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz", "w:bz2"])
def test_an_archive_is_read_by_its_bytes_whatever_its_name(tmp_path: Path, spool: Path, mode: str) -> None:
    bundle = opened(tmp_path, spool, tar({"a/b.txt": "one\n", "c": ""}, mode=mode), "mail.attachment")
    assert names(bundle) == ["a/b.txt", "c"]
    entry = next(e for e in bundle.entries if e.size)
    assert entry.read() == b"one\n"
    assert entry.changed is not None
    assert entry.changed.timestamp() == TAKEN
    assert bundle.left_out == []


def test_names_that_lead_out_of_an_archive_are_left_out_and_write_nothing(tmp_path: Path, spool: Path) -> None:
    bad = {"../../evil": "x", "/etc/evil": "x", "a/../../evil": "x", "a\\..\\evil": "x", "good": "y"}
    bundle = opened(tmp_path, spool, tar(bad))
    assert names(bundle) == ["good"]
    assert [why for _, why in bundle.left_out] == ["its path leads out of the archive"] * 4
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bundle.tar.xz", "spool"]
    assert [p.name for p in spool.iterdir()] == ["1"]
    assert stat.S_IMODE((spool / "1").stat().st_mode) == 0o600


def special(kind: bytes, name: str = "odd", target: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def test_links_are_counted_and_never_followed_and_devices_are_left_out(tmp_path: Path, spool: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        archive.addfile(special(tarfile.SYMTYPE, "soft", "/etc/passwd"))
        archive.addfile(special(tarfile.LNKTYPE, "hard", "/etc/passwd"))
        for kind in (tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE):
            archive.addfile(special(kind, f"device{kind.decode()}"))
        # a link first, then a file through it
        archive.addfile(special(tarfile.SYMTYPE, "door", "/tmp"))
        archive.addfile(tarfile.TarInfo("door/evil"), io.BytesIO())
    bundle = opened(tmp_path, spool, out.getvalue())
    assert names(bundle) == ["door/evil"]
    assert bundle.links == 3
    assert {why for _, why in bundle.left_out} == {"not a regular file"}
    assert len(bundle.left_out) == 3


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress])
def test_a_bomb_is_refused_with_one_clear_message(tmp_path: Path, spool: Path, pack: Any) -> None:
    bomb = pack(b"\0" * 40_000_000)
    with pytest.raises(InputError, match="unpacks to more than") as told:
        opened(tmp_path, spool, bomb, ratio=20, ratio_from=1_000_000)
    assert "\n" not in str(told.value)
    assert sum(p.stat().st_size for p in spool.iterdir()) <= 3_000_000


def test_a_bomb_inside_an_archive_is_counted_too(tmp_path: Path, spool: Path) -> None:
    inner = gzip.compress(b"\0" * 40_000_000)
    with pytest.raises(InputError, match="unpacks to more than"):
        opened(tmp_path, spool, tar({"a.gz": inner}), ratio=20, ratio_from=1_000_000)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", b"\0" * 40_000_000)
    with pytest.raises(InputError, match="unpacks to more than"):
        opened(tmp_path, spool, out.getvalue(), ratio=20, ratio_from=1_000_000)


def test_too_many_members_are_refused_and_a_large_one_is_left_out(tmp_path: Path, spool: Path) -> None:
    many = tar({str(n): "" for n in range(30)})
    with pytest.raises(InputError, match="more than 20 files"):
        opened(tmp_path, spool, many, members=20)
    bundle = opened(tmp_path, spool, tar({"core": "x" * 3_000_000, "small": "y"}), file=2 * 1024 * 1024)
    assert names(bundle) == ["small"]
    assert bundle.left_out == [("core", "larger than 2 MiB")]


def test_a_header_that_claims_gigabytes_is_damage_and_takes_no_memory(tmp_path: Path, spool: Path) -> None:
    member = tarfile.TarInfo("././@PaxHeader")
    member.type, member.size = tarfile.XHDTYPE, 3 * 1024**3
    head = member.tobuf(tarfile.USTAR_FORMAT)
    with pytest.raises(InputError, match="damaged or cut off"):
        opened(tmp_path, spool, gzip.compress(head + b"\0" * 10240), "x.tgz")


def test_archives_inside_archives_are_opened_to_a_limit(tmp_path: Path, spool: Path) -> None:
    inner = tar({"sosreport-gpu07/date": "now\n"})
    bundle = opened(tmp_path, spool, tar({"mail/sosreport-gpu07.tar.xz": inner, "mail/n.log.gz": gzip.compress(b"z")}))
    assert names(bundle) == ["mail/n.log", "mail/sosreport-gpu07/date"]
    nested = b"end"
    for n in range(8):
        nested = tar({f"{n}.tar": nested}, mode="w")
    deep = opened(tmp_path, spool, nested)
    assert deep.entries == []
    assert [why for _, why in deep.left_out] == ["archives nested too deeply"]


def test_several_gzip_streams_in_a_row_are_one_file(tmp_path: Path, spool: Path) -> None:
    bundle = opened(tmp_path, spool, gzip.compress(b"one\n") + gzip.compress(b"two\n"), "nvidia-bug-report.log.gz")
    assert [(str(e.path), e.read()) for e in bundle.entries] == [("nvidia-bug-report.log", b"one\ntwo\n")]
    two = lzma.compress(b"one\n") + lzma.compress(b"two\n")
    assert opened(tmp_path, spool, two, "log.xz").entries[0].read() == b"one\ntwo\n"


def test_what_came_before_a_cut_is_kept_and_a_hopeless_file_is_told(tmp_path: Path, spool: Path) -> None:
    noise = os.urandom(400_000)
    whole = tar({"first": "1\n", "second": noise}, mode="w:gz")
    bundle = opened(tmp_path, spool, whole[:200_000], "cut.tgz")
    assert names(bundle) == ["first"]
    assert bundle.left_out[0][1].startswith("damaged or cut off")
    with pytest.raises(InputError, match="ask for the bundle again"):
        opened(tmp_path, spool, tar({"a": noise})[:300], "cut.txz")
    with pytest.raises(InputError, match="No such file"):
        open_bundle(tmp_path / "absent", spool)


def test_a_zip_is_read_without_its_links_and_encrypted_parts(tmp_path: Path, spool: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        link = zipfile.ZipInfo("soft")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("gpu07/dmesg.log", "x")
        archive.writestr("../evil", "x")
    bundle = opened(tmp_path, spool, out.getvalue(), "mail.zip")
    assert names(bundle) == ["gpu07/dmesg.log"]
    assert bundle.links == 1
    assert bundle.left_out == [("../evil", "its path leads out of the archive")]


def test_a_folder_is_read_in_place_without_links_and_pipes(tmp_path: Path, spool: Path) -> None:
    folder = tmp_path / "ticket"
    (folder / "gpu07").mkdir(parents=True)
    (folder / "gpu07" / "dmesg.log").write_text("x")
    (folder / "soft").symlink_to("/etc/passwd")
    (folder / "softer").symlink_to("/etc")
    os.mkfifo(folder / "pipe")
    bundle = open_bundle(folder, spool)
    assert names(bundle) == ["gpu07/dmesg.log"]
    assert bundle.links == 2
    assert bundle.left_out == [("pipe", "not a regular file")]
    assert list(spool.iterdir()) == []
