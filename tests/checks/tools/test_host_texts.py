"""Every host command: its dress changes nothing, half of it is never taken for the whole, another's text is refused."""

from __future__ import annotations

import pytest

from checks import catalogue
from checks.outputs import Facts, NotAvailable, Unparsable
from tests.checks.tools.host_texts import COMMANDS, WRITTEN, facts, read, recorded

EVERY = [*COMMANDS, *WRITTEN]
TOOLS = {"clock", "cpu", "disks", "host_log", "load", "memory", "nvme", "procfs"}

SHARED_SHAPES = {
    # one shape, told apart by what lies inside: a table of /dev/shm alone is one of block sizes too
    ("df-local", "shm"),
    # the same files of the kernel, of the node and of one job
    ("psi", "job-psi"),
    ("job-psi", "psi"),
    # both are the kernel's log; each counts its own events
    ("mce-log", "disk-log"),
    ("disk-log", "mce-log"),
}


def without_odd(found: Facts) -> str:
    return found.model_dump_json(exclude={"odd"})


def test_every_command_of_the_host_tools_has_a_parser_and_a_text_here() -> None:
    mine = {c.id for c in catalogue.table().values() if c.tool in TOOLS}
    assert {c for c in mine if catalogue.parser(c) is None} == set()
    assert mine - set(EVERY) == {"proc-env"}  # an environment has no lines; it is tested with its own tools


@pytest.mark.parametrize("command", EVERY)
def test_a_healthy_text_reads_without_an_odd_line(command: str) -> None:
    assert facts(command, recorded(command)).odd == ()


@pytest.mark.parametrize("command", EVERY)
def test_carriage_returns_and_colours_change_nothing(command: str) -> None:
    plain = facts(command, recorded(command))
    assert facts(command, recorded(command).replace("\n", "\r\n")) == plain
    assert facts(command, f"\x1b[1m{recorded(command)}\x1b[0m") == plain


@pytest.mark.parametrize("command", [c for c in EVERY if c not in ("mce-log", "disk-log")])
def test_a_login_banner_is_passed_over(command: str) -> None:
    banner = "Welcome to gpu001\n\nAuthorised use only: all activity is logged\n"
    found = facts(command, banner + recorded(command))
    assert found.odd == ()
    assert len(without_odd(found)) == pytest.approx(len(without_odd(facts(command, recorded(command)))), rel=0.2)


@pytest.mark.parametrize("command", EVERY)
def test_a_text_cut_in_the_middle_of_a_line_is_doubted_or_says_no_more_than_its_whole_lines(command: str) -> None:
    text = recorded(command)[-900:] if command == "modules" else recorded(command)[:4000]
    whole = read(command, text)
    for end in range(1, len(text) - 1):
        if text[end - 1] == "\n":
            continue
        found = read(command, text[:end])
        if not isinstance(found, Facts) or found.odd:
            continue
        if isinstance(whole, Facts) and without_odd(found) == without_odd(whole):
            continue  # only what tells nothing was cut off
        before = read(command, text[: text.rfind("\n", 0, end) + 1])
        if isinstance(before, Facts) and without_odd(found) == without_odd(before):
            continue
        event = command in ("mce-log", "disk-log")  # half a line that names a trouble still names it
        unsaid = command == "time-ctl" and found.synchronised is None  # type: ignore[attr-defined]
        assert event or unsaid, text[max(0, end - 60) : end]


@pytest.mark.parametrize("command", EVERY)
def test_the_text_of_another_command_is_refused(command: str) -> None:
    for other in EVERY:
        if other == command or (command, other) in SHARED_SHAPES:
            continue
        found = read(command, recorded(other))
        assert not isinstance(found, Facts) or found.odd, f"{command} takes the text of {other}"


@pytest.mark.parametrize("command", EVERY)
@pytest.mark.parametrize(
    "text", ["GPU 0: NVIDIA H100 (UUID: GPU-1)\n", "<html><body>502</body></html>\n", "\x00\xfe\n", "{}\n", "[]\n"]
)
def test_a_foreign_text_is_no_answer(command: str, text: str) -> None:
    assert isinstance(read(command, text), Unparsable | NotAvailable), read(command, text)


@pytest.mark.parametrize("command", EVERY)
@pytest.mark.parametrize(
    ("status", "kind"), [(124, "timed-out"), (126, "denied"), (127, "absent"), (137, "timed-out"), (255, "unreachable")]
)
def test_silence_with_an_exit_status_says_why(command: str, status: int, kind: str) -> None:
    found = read(command, "", status)
    assert isinstance(found, NotAvailable)
    assert found.kind == kind


@pytest.mark.parametrize("command", EVERY)
def test_silence_is_never_a_fact(command: str) -> None:
    for text in ("", "\n", "   \n\n"):
        assert not isinstance(read(command, text), Facts)


@pytest.mark.parametrize("command", EVERY)
def test_a_text_that_came_with_a_timeout_is_doubted(command: str) -> None:
    assert facts(command, recorded(command), 124).odd
