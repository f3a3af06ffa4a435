"""What a command imports: headless work never loads textual, nothing loads paramiko, `--version` loads neither."""

from __future__ import annotations

import subprocess
import sys

import pytest


def loaded(*arguments: str) -> set[str]:
    code = (
        "import sys\nfrom rackside.__main__ import main\n"
        f"try: main({list(arguments)!r})\nexcept SystemExit: pass\n"
        "sys.stderr.write('\\n'.join(['MODULES', *sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stderr.partition("MODULES\n")[2].splitlines())


def test_version_loads_no_library() -> None:
    assert not loaded("--version") & {"pydantic", "textual", "paramiko", "yaml", "rich", "argparse"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("walk", "triage", "-c", "a800-roce-256", "--format", "json"),
        ("check", "-c", "a800-roce-256", "--layer", "gpu"),
        ("list", "commands"),
        ("explain", "net-ecn-threshold-mismatch"),
    ],
    ids=lambda a: a[0],
)
def test_headless_commands_never_load_the_screen_or_paramiko(arguments: tuple[str, ...]) -> None:
    assert not loaded(*arguments) & {"textual", "paramiko"}


@pytest.mark.parametrize("format", ["text", "json", "html"])
def test_a_worksheet_loads_no_screen_no_checks_and_nothing_for_workbooks_or_long_lists(format: str) -> None:
    heavy = {"textual", "paramiko", "rich", "numpy", "xlsxwriter", "duckdb", "checks", "runbooks", "importlib.metadata"}
    assert not loaded("worksheet", "training-time", "--format", format) & heavy


def test_pydantic_still_finds_what_it_asks_the_place_of_its_plugins_for() -> None:
    code = (
        "import sys\nfrom rackside.cli import NoPlugins\n"
        "sys.modules[NoPlugins.NAME] = NoPlugins(NoPlugins.NAME)\n"
        "import pydantic\nfrom pydantic.plugin._loader import get_plugins, _plugins\n"
        "assert get_plugins() == () and _plugins is None\n"
        "class Model(pydantic.BaseModel):\n    value: int\n"
        "assert Model(value='3').value == 3\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
