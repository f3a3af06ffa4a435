"""One HTML file that needs nothing else: its own style, no scripts, nothing fetched."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from common.safetext import safe_line

POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(title: str, style: str, body: Iterable[str], *, language: str = "en") -> str:
    """The page around a body whose texts are escaped already; `title` is plain text."""
    head = [
        f'<!doctype html>\n<html lang="{escape(language)}">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        f"<title>{escape(safe_line(title))}</title>\n<style>{style}</style>\n</head>\n<body>",
    ]
    return "\n".join([*head, *body, "</body>\n</html>\n"])
