"""Finds the worksheet for a question in people's own words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from common import yamlfile
from common.errors import InputError
from common.words import language, pick
from worksheets.library import Library

ASKED = Path(__file__).parent / "asked.yaml"
_WORD = re.compile(r"[a-z0-9][a-z0-9.]*|[\u4e00-\u9fff]+")
_SMALL_WORDS = """a an and are at be but by can do does for from has have how i if in is it its of on or our so that the
their them then there this to us we what when which will with would you your"""
_EMPTY = frozenset(_SMALL_WORDS.split())
_EMPTY_ZH = frozenset(("多少", "什么", "怎么", "如何", "需要", "可以", "我们"))


@dataclass(frozen=True, slots=True)
class Entry:
    """A sheet as one chooses it; or why its file cannot be read."""

    slug: str
    title: str
    question: str
    words: Mapping[str, int]
    problem: str = ""


def entries(library: Library) -> list[Entry]:
    """Every sheet of a library; the plan card comes last."""
    found = [_entry(library, slug) for slug in library.slugs()]
    return sorted(found, key=lambda e: (e.slug == "plan", e.slug))


def ranked(found: Iterable[Entry], query: str) -> list[Entry]:
    """The sheets that know a word of the query, those that know most of it first; all of them for an empty query."""
    wanted = list(dict.fromkeys(_words(query)))
    if not wanted:
        return list(found)
    scored = [(_score(entry, wanted), entry) for entry in found]
    return [entry for score, entry in sorted(scored, key=lambda s: (-s[0][0], -s[0][1])) if score[0]]


def _score(entry: Entry, wanted: list[str]) -> tuple[int, int]:
    """How many words a sheet knows, and how near to its heart they lie."""
    hits = [max((weight for word, weight in entry.words.items() if _meets(word, w)), default=0) for w in wanted]
    return sum(hit > 0 for hit in hits), sum(hits)


def _meets(word: str, wanted: str) -> bool:
    # `stripe` finds striping only by its stem, and half a word finds the whole while it is typed
    return word.startswith(wanted) or (len(word) > 3 and wanted.startswith(word) and len(wanted) - len(word) < 3)


def _words(text: str) -> Iterator[str]:
    for word in _WORD.findall(text.casefold()):
        if "\u4e00" <= word[0] <= "\u9fff":
            # Chinese is written without spaces: pairs of characters stand for words
            pairs = [word[i : i + 2] for i in range(len(word) - 1)] or [word]
            yield from (pair for pair in pairs if pair not in _EMPTY_ZH)
        elif word not in _EMPTY:
            yield word


@cache
def _asked() -> Mapping[str, object]:
    found = yamlfile.parse(yamlfile.read_text(ASKED), ASKED)
    return found if isinstance(found, dict) else {}


def _entry(library: Library, slug: str) -> Entry:
    try:
        sheet = library.sheet(slug)
    except InputError as error:
        return Entry(slug, slug, "", {slug: 5}, str(error))
    asked = _asked().get(slug, "")
    said = (
        [str(pick(asked)), *(str(v) for v in asked.values() if language() != "en")] if isinstance(asked, dict) else []
    )
    texts = [
        (5, f"{slug.replace('-', ' ')} {sheet.id} {sheet.title}"),
        (4, f"{sheet.question} {' '.join(said)}"),
        (2, str(sheet.help)),
        (1, " ".join(f"{entry.label}" for entry in (*sheet.inputs, *sheet.rows))),
    ]
    words: dict[str, int] = {}
    for weight, text in texts:
        for word in _words(text):
            words[word] = max(weight, words.get(word, 0))
    return Entry(slug, str(sheet.title), str(sheet.question), words)
