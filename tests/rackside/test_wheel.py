"""The wheel holds what the program reads at run time, and computes a sheet with nothing of the repository around."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).resolve().parent.parent.parent
DATA = ("worksheets", "checks", "runbooks", "common")


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def test_every_data_file_of_the_rooms_is_in_the_wheel(unpacked: Path) -> None:
    wanted = {p.relative_to(ROOT) for room in DATA for ext in ("yaml", "json") for p in (ROOT / room).rglob(f"*.{ext}")}
    assert len([p for p in wanted if p.parts[:2] in {("worksheets", "library"), ("worksheets", "reference")}]) > 20
    assert Path("worksheets/schema/worksheet.schema.json") in wanted
    assert [str(p) for p in sorted(wanted) if not (unpacked / "rackside" / "_app" / p).is_file()] == []


def test_nothing_but_rackside_lands_beside_the_packages_of_others(unpacked: Path) -> None:
    assert {p.name for p in unpacked.iterdir() if not p.name.endswith(".dist-info")} == {"rackside"}
    assert not list(unpacked.rglob("tests")) + list(unpacked.rglob("__pycache__"))


def test_the_wheel_computes_a_worksheet_from_its_own_files(unpacked: Path, tmp_path: Path) -> None:
    code = (
        "import sys\nfrom rackside.__main__ import main\ncode = main(sys.argv[1:])\n"
        "import worksheets\nsys.stderr.write(worksheets.__file__)\nsys.exit(code)"
    )
    command = [sys.executable, "-c", code, "worksheet", "training-time", "--format", "json"]
    environment = {**os.environ, "PYTHONPATH": str(unpacked), "XDG_CONFIG_HOME": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert Path(done.stderr).is_relative_to(unpacked), done.stderr
    assert done.returncode in (0, 1)
    assert json.loads(done.stdout)["outputs"]["days"]["value"] > 0
