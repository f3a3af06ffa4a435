"""Options and surroundings all tests share: no animations, a home of their own."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden` rewrites the stored screens and pages instead of comparing them."""
    parser.addoption("--update-golden", action="store_true", help="rewrite stored screens")


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")
    for name in ("RACKSIDE_LANG", "NO_COLOR", "LC_ALL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "C.UTF-8")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether stored screens are rewritten."""
    return bool(request.config.getoption("--update-golden"))


GOLDEN = Path(__file__).parent / "golden"
