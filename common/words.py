"""Words in the reader's language: texts in YAML may be `{en: …, zh: …}`, interface strings sit in one catalogue."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator

CATALOGUES = Path(__file__).parent / "language"
_language = "en"


def set_language(code: str | None) -> None:
    """Chooses the language for everything said from now on; None takes it from the environment."""
    global _language
    code = code or os.environ.get("RACKSIDE_LANG") or os.environ.get("LC_ALL") or os.environ.get("LANG") or "en"
    code = code.split(".")[0].split("_")[0].lower()
    _language = code if (CATALOGUES / f"{code}.yaml").exists() else "en"


def language() -> str:
    """The two-letter code in use."""
    return _language


@cache
def _catalogue(code: str) -> dict[str, str]:
    from common import yamlfile

    path = CATALOGUES / f"{code}.yaml"
    return dict(yamlfile.parse(yamlfile.read_text(path), path) or {}) if path.exists() else {}


def say(key: str, /, **values: Any) -> str:
    """The string for `key` in the current language, with `{name}` filled from `values`.

    A key is either an entry of `language/en.yaml` or an English sentence that translates by itself; a language without
    the entry falls back to English, so a missing translation is never an error.
    """
    text = _catalogue(_language).get(key) or _catalogue("en").get(key) or key
    return text.format(**values) if values else text


def pick(value: Any) -> Any:
    """The text of the current language out of `{en: …, zh: …}`; a plain string is itself."""
    if isinstance(value, dict) and value and all(isinstance(k, str) and len(k) == 2 for k in value):
        return value.get(_language) or value.get("en") or next(iter(value.values()))
    return value


Text = Annotated[str, BeforeValidator(pick)]
"""A model field that reads a plain string or one string per language."""
