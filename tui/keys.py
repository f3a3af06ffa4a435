"""Every key of the application: bindings with ids (so that they can be remapped) and what the help says about them."""

from __future__ import annotations

from textual.binding import Binding

from common.words import say


def _key(keys: str, action: str, name: str, *, shown: bool = True, display: str | None = None) -> Binding:
    # description and tooltip are names of strings; `RackScreen.active_bindings` says them in the reader's language
    return Binding(
        keys, action, f"key.{name}", show=shown, key_display=display, tooltip=f"key.{name}.tip", id=name, priority=False
    )


BACK = _key("escape", "back", "back", display="esc")
BACK_TOO = _key("q", "back", "back-q", shown=False)

SCREENS: dict[str, list[Binding]] = {
    "app": [
        Binding("question_mark", "help", "key.help", key_display="?", id="help", tooltip="key.help.tip"),
        Binding(
            "f1", "help", "key.help", show=False, key_display="F1", id="help-typing", tooltip="key.help-typing.tip"
        ),
        Binding(
            "ctrl+p",
            "command_palette",
            "key.palette",
            show=False,
            key_display="^p",
            id="palette",
            tooltip="key.palette.tip",
        ),
        Binding(
            "ctrl+q", "quit", "key.quit", show=False, key_display="^q", id="quit", tooltip="key.quit.tip", priority=True
        ),
    ],
    "lists": [
        _key("j", "cursor_down", "down", shown=False),
        _key("k", "cursor_up", "up", shown=False),
        _key("g", "first", "first", shown=False),
        _key("G", "last", "last", shown=False),
    ],
    "home": [
        _key("enter", "choose", "choose", display="enter"),
        _key("tab", "app.focus_next", "next-list", display="tab"),
        _key("slash", "search", "filter", display="/"),
        _key("o", "overlays", "overlays"),
        _key("p", "path", "path"),
        _key("n", "nodes", "nodes"),
        _key("q", "app.quit", "leave"),
        _key("l", "ask_live", "ask-live"),
        _key("w", "worksheets", "worksheets"),
    ],
    "walk": [
        _key("enter", "choose", "open", display="enter"),
        *(_key(str(n), f"pick({n})", f"pick-{n}", shown=False, display="1-9") for n in range(1, 10)),
        _key("d", "dont_know", "dont-know"),
        _key("s", "skip", "skip"),
        _key("b", "step_back", "step-back"),
        _key("a", "note", "note"),
        _key("c", "conclusion", "conclusion"),
        _key("r", "report", "report"),
        _key("n", "nodes", "nodes-walk", shown=False),
        _key("x", "cancel", "cancel"),
        _key("R", "ask_again", "ask-again"),
        _key("slash", "search", "search-rows", shown=False, display="/"),
        _key("tab", "app.focus_next", "next-part", shown=False, display="tab"),
        BACK,
        BACK_TOO,
    ],
    "evidence": [
        _key("slash", "search", "search", display="/"),
        _key("n", "next_match", "next-match"),
        _key("N", "previous_match", "previous-match", shown=False),
        _key("l", "to_line", "to-line"),
        _key("tab", "app.focus_next", "next-output", display="tab"),
        _key("c", "copy", "copy-lines"),
        BACK,
        BACK_TOO,
    ],
    "conclusion": [
        _key("enter", "choose", "open-evidence", display="enter"),
        _key("c", "copy", "copy-command"),
        _key("r", "report", "report"),
        _key("n", "nodes", "nodes"),
        _key("w", "worksheet", "worksheet"),
        BACK,
        BACK_TOO,
    ],
    "report": [
        _key("s", "save", "save"),
        _key("c", "copy", "copy-report"),
        BACK,
        BACK_TOO,
    ],
    "nodes": [
        _key("enter", "choose", "unfold", display="enter"),
        _key("slash", "search", "search-rows", display="/"),
        _key("u", "run_checks", "run-all"),
        _key("R", "ask_again", "ask-nodes-again"),
        _key("x", "cancel", "cancel"),
        BACK,
        BACK_TOO,
    ],
    "worksheets": [
        _key("enter", "choose", "open-sheet", display="enter"),
        _key("down", "cursor_down", "sheet-down", shown=False),
        _key("up", "cursor_up", "sheet-up", shown=False),
        BACK,
    ],
    "worksheet": [
        _key("enter", "choose", "edit", display="enter"),
        _key("tab", "app.focus_next", "results", display="tab"),
        _key("e", "explain", "explain"),
        _key("u", "undo", "undo"),
        _key("x", "default", "default"),
        _key("s", "save", "save-plan"),
        _key("v", "bars", "bars"),
        _key("t", "tornado", "tornado"),
        _key("o", "open", "open-plan"),
        _key("w", "export", "export"),
        _key("p", "card", "card"),
        _key("slash", "search", "search-rows", shown=False, display="/"),
        BACK,
        BACK_TOO,
    ],
    "edit": [
        _key("down", "take(1)", "take-down", shown=False),
        _key("up", "take(-1)", "take-up", shown=False),
        _key("tab", "take(1)", "take-tab", shown=False),
        _key("escape", "leave", "leave-edit", display="esc"),
    ],
    "number": [_key("c", "copy", "copy-number"), BACK, BACK_TOO],
    "bars": [BACK, BACK_TOO],
    "tornado": [BACK, BACK_TOO],
    "pick": [_key("slash", "find", "find-choice", display="/")],
    "dialog": [_key("escape", "cancel", "cancel-dialog", display="esc")],
    "help": [BACK, BACK_TOO, _key("question_mark", "back", "back-help", shown=False, display="?")],
}


REPEATED = frozenset(f"pick-{n}" for n in range(2, 10))
"""Keys that the entry of the first one stands for."""


def display(binding: Binding) -> str:
    """A key as people write it."""
    return binding.key_display or binding.key.replace("ctrl+", "^")


def reference() -> list[tuple[str, str, str]]:
    """(where, key, what it does) of every key, for the help screen and the reference page."""
    return [
        (say(f"place.{place}"), display(binding), say(str(binding.tooltip)))
        for place, bindings in SCREENS.items()
        for binding in bindings
        if binding.id not in REPEATED
    ]
