"""The application in a real terminal: drawn by tmux, driven by keys, killed and resumed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

RACKSIDE = Path(sys.executable).with_name("rackside")
PATIENCE_S = 40

pytestmark = pytest.mark.skipif(
    shutil.which("tmux") is None or not RACKSIDE.exists(), reason="needs tmux and an installed rackside"
)


class Terminal:
    """One tmux server with one pane."""

    def __init__(self, folder: Path, width: int, height: int) -> None:
        self._tmux = ["tmux", "-S", str(folder / "tmux"), "-f", "/dev/null"]
        environment = {**os.environ, "TERM": "xterm-256color", "HOME": str(folder)}
        self.run("new-session", "-d", "-x", str(width), "-y", str(height), "sh", env=environment)

    def run(self, *arguments: str, env: dict[str, str] | None = None) -> str:
        done = subprocess.run([*self._tmux, *arguments], capture_output=True, text=True, check=True, env=env)
        return done.stdout

    def keys(self, *names: str) -> None:
        self.run("send-keys", *names)

    @property
    def screen(self) -> str:
        return self.run("capture-pane", "-p")

    def shows(self, *texts: str) -> str:
        """Waits until one of the texts is on the screen; which one."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            screen = self.screen
            if hit := next((t for t in texts if t in screen), None):
                return hit
            time.sleep(0.05)
        raise AssertionError(f"none of {texts} on the screen:\n{self.screen}")

    def shows_not(self, text: str) -> None:
        """Waits until a text is gone."""
        deadline = time.monotonic() + PATIENCE_S
        while text in self.screen:
            assert time.monotonic() < deadline, self.screen
            time.sleep(0.05)

    def child(self) -> int:
        """Process id of the program the shell runs."""
        shell = self.run("display-message", "-p", "#{pane_pid}").strip()
        found = subprocess.run(["pgrep", "-P", shell], capture_output=True, text=True, check=True)
        return int(found.stdout.split()[0])

    def end(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], check=False, capture_output=True)


@pytest.fixture(params=[(80, 24), (120, 40)], ids=["80x24", "120x40"])
def terminal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Terminal]:
    made = Terminal(tmp_path, *request.param)
    yield made
    made.end()


START = f"{RACKSIDE} -c a800-roce-256 --overlay founding-case --runbook training-slow"
QUESTION = "What changed"
BAR = "─" * 20
FINISHED = "Finished:"


def walk_to_the_end(terminal: Terminal) -> None:
    """Says "don't know" to whatever is asked until the walk is over."""
    answer_until(terminal, FINISHED)


def answer_until(terminal: Terminal, text: str) -> None:
    """Says "don't know" to whatever is asked until a text shows."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        screen = terminal.screen
        if text in screen.split(BAR)[-1]:
            return
        if "don't know" in screen:
            terminal.keys("d")
        time.sleep(0.3)
    raise AssertionError(terminal.screen)


def test_a_walk_by_keyboard_ends_in_the_cause_and_leaves_the_terminal_usable(terminal: Terminal) -> None:
    terminal.keys(START, "Enter")
    terminal.shows(QUESTION)
    walk_to_the_end(terminal)
    terminal.keys("c")
    terminal.shows("leaf03")
    terminal.keys("C-q")
    terminal.shows_not("leaf03")
    terminal.keys("echo back-$((40+2))", "Enter")
    terminal.shows("back-42")
    assert terminal.run("display-message", "-p", "#{alternate_on} #{cursor_flag}").strip() == "0 1"


def test_a_resize_during_the_walk_is_taken(terminal: Terminal) -> None:
    terminal.keys(START, "Enter")
    terminal.shows(QUESTION)
    for width, height in ((60, 20), (132, 50), (80, 24)):
        terminal.run("resize-window", "-x", str(width), "-y", str(height))
        terminal.shows(QUESTION)
    walk_to_the_end(terminal)


def test_a_walk_killed_half_way_goes_on_from_its_journal(terminal: Terminal, tmp_path: Path) -> None:
    terminal.keys(f"XDG_STATE_HOME={tmp_path}/state {START}", "Enter")
    answer_until(terminal, "When is it slow")
    os.kill(terminal.child(), signal.SIGKILL)
    terminal.keys("C-j", "stty sane; tput rmcup; clear", "C-j")
    terminal.shows_not("When is it slow")
    (journal,) = (tmp_path / "state").rglob("*.jsonl")
    terminal.keys(f"{RACKSIDE} --resume {journal}", "Enter")
    terminal.shows("When is it slow")
    walk_to_the_end(terminal)
