"""No parser raises, whatever it is given; a swapped file never reads as healthy facts of another command."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from checks import catalogue
from checks.clusters import SAMPLES
from checks.outputs import Empty, Facts, NotAvailable, Raw, Unparsable
from checks.transports.layout import split_stem

OUTCOMES = Facts | Empty | Unparsable | NotAvailable
PARSED = [c.id for c in catalogue.table().values() if catalogue.parser(c.id)]


@cache
def samples() -> dict[str, list[bytes]]:
    """Some recorded texts per command from the sample clusters, each different."""
    found: dict[str, dict[bytes, None]] = {}
    for path in sorted(SAMPLES.glob("*/recordings/round-1/*/*.txt")):
        command, _ = split_stem(path.name.removesuffix(".txt").partition("~")[0])
        kept = found.setdefault(command, {})
        if len(kept) < 2:
            kept[path.read_bytes()] = None
    return {command: list(texts) for command, texts in found.items()}


def parse(command: str, text: bytes, params: tuple[str, ...] = ()) -> object:
    parser = catalogue.parser(command)
    assert parser is not None
    return parser(Raw.of(text, params=params))


def test_every_command_a_check_reads_has_a_parser() -> None:
    from checks import rules

    read = {r.command for rule in rules.every() for r in rule.reads}
    assert read <= set(catalogue.table())
    assert {c for c in read if catalogue.parser(c) is None} == set()


def cuts(text: bytes) -> Iterator[bytes]:
    lines = text.split(b"\n")
    step = max(1, len(lines) // 60)
    for n in range(0, len(lines), step):
        yield b"\n".join(lines[:n])
        yield b"\n".join([*lines[:n], lines[n][: len(lines[n]) // 2]])


@pytest.mark.parametrize("command", PARSED)
def test_a_parser_survives_truncation_at_every_line(command: str) -> None:
    for text in samples().get(command, [b""]):
        for cut in cuts(text):
            assert isinstance(parse(command, cut), OUTCOMES)


@pytest.mark.parametrize("command", PARSED)
def test_a_parser_survives_a_banner_carriage_returns_and_colours(command: str) -> None:
    for text in samples().get(command, [b""]):
        whole = parse(command, text)
        crlf = parse(command, text.replace(b"\n", b"\r\n"))
        assert type(crlf) is type(whole)
        banner = b"*** Authorised use only ***\nLast login: Tue Mar  3 22:10:07 2026 from 10.0.0.5\n\n" + text
        assert isinstance(parse(command, banner), OUTCOMES)
        coloured = b"\n".join(b"\x1b[1m" + line + b"\x1b[0m" for line in text.split(b"\n"))
        assert isinstance(parse(command, coloured), OUTCOMES)


@pytest.mark.parametrize("command", PARSED)
def test_another_commands_output_is_no_answer(command: str) -> None:
    tool = catalogue.get(command).tool
    family = {c.id for c in catalogue.table().values() if c.tool == tool}
    for other, texts in samples().items():
        if other in family:
            continue
        for text in texts[:1]:
            assert isinstance(parse(command, text), OUTCOMES), other


@seed(20261201)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
@pytest.mark.parametrize("command", PARSED)
def test_a_parser_survives_random_and_mangled_bytes(command: str, data: st.DataObject) -> None:
    texts = samples().get(command)
    if texts and data.draw(st.booleans()):
        text = bytearray(data.draw(st.sampled_from(texts))[:4000])
        for _ in range(data.draw(st.integers(1, 12))):
            if text:
                text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
        assert isinstance(parse(command, bytes(text)), OUTCOMES)
    else:
        assert isinstance(parse(command, data.draw(st.binary(max_size=300))), OUTCOMES)
        assert isinstance(parse(command, data.draw(st.text(max_size=300)).encode()), OUTCOMES)
