"""Text from machines and people made safe to show: no escapes, no control or direction characters, bounded length."""

from __future__ import annotations

import re

# CSI, OSC (ended by BEL or ST), other two-byte escapes; an unfinished one at the end of the text too.
ANSI = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]?|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[PX^_][^\x1b]*(?:\x1b\\)?|\x1b.?"
    r"|\x9b[0-?]*[ -/]*[@-~]?"
)

# C0 and C1 controls except tab and newline, bidirectional controls, zero-width characters, line and paragraph
# separators, lone surrogates: they can hide or reorder what a person reads.
HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)

MARK = "\ufffd"
MAX_LINE = 2000


def strip_ansi(text: str) -> str:
    """The text without terminal escape sequences."""
    return ANSI.sub("", text) if "\x1b" in text or "\x9b" in text else text


def safe(text: str, *, limit: int = MAX_LINE) -> str:
    """One or more lines safe for any terminal; what was hidden shows as a replacement mark, long lines are cut."""
    clean = HIDDEN.sub(MARK, strip_ansi(text.replace("\r\n", "\n")))
    if len(clean) <= limit:
        return clean
    return "\n".join(_cut(line, limit) for line in clean.split("\n"))


def safe_line(text: str, *, limit: int = 400) -> str:
    """The same on a single line: newlines and tabs become blanks."""
    return _cut(safe(text, limit=limit * 4).replace("\n", " ").replace("\t", "    "), limit)


def markdown(text: str) -> str:
    """The text with a backslash before what Markdown or HTML would act on."""
    # node sets, ids and paths are full of brackets, dots and hyphens; those stay readable
    clean = re.sub(r"([\\`*\[\]<>|~]|(?<!\w)_|_(?!\w))", r"\\\1", text.replace("&", "&amp;"))
    # the line's first mark, or the dot after its first number, may begin a heading or a list
    return re.sub(r"^(\s*)([#+=-])|^(\s*\d+)([.)])(?=\s|$)", r"\1\3\\\2\4", clean)


def markdown_code(text: str) -> str:
    """The text as a code span of Markdown, whatever backticks it holds."""
    longest = max((len(m) for m in re.findall(r"`+", text)), default=0)
    ticks = "`" * (longest + 1)
    return f"{ticks} {text} {ticks}" if longest else f"`{text}`"


def _cut(line: str, limit: int) -> str:
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
