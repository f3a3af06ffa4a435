"""Generated pages are fresh, and everything registered is documented."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).resolve().parent.parent / "docs"


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PAGES = ["commands.md", "checks.md", "faults.md", "thresholds.md", "runbooks.md", "worksheets.md", "keys.md"]


@pytest.mark.parametrize("page", PAGES)
def test_a_reference_page_is_what_the_registries_say(page: str) -> None:
    fresh = "\n".join(generator().PAGES[page]()).rstrip() + "\n"
    assert (DOCS / "reference" / page).read_text(encoding="utf-8") == fresh, "run `make docs`"
