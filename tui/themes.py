"""A theme without colours, for consoles that have none and for people who prefer none."""

from __future__ import annotations

from textual.theme import Theme

DEFAULT = "textual-dark"

MONOCHROME = Theme(
    name="rackside-mono",
    primary="#d0d0d0",
    secondary="#b0b0b0",
    warning="#e8e8e8",
    error="#ffffff",
    success="#b8b8b8",
    accent="#f0f0f0",
    foreground="#d8d8d8",
    background="#000000",
    surface="#101010",
    panel="#262626",
    dark=True,
)
