"""Text from nodes is harmless, secrets are gone, words follow the language."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common import words
from common.redact import GONE, redact
from common.safetext import HIDDEN, markdown, markdown_code, safe, safe_line


@given(st.text())
def test_safe_text_has_no_control_or_direction_characters(text: str) -> None:
    assert not HIDDEN.search(safe(text))
    assert "\n" not in safe_line(text)
    assert len(safe_line(text)) <= 400


def test_escapes_go_and_their_text_stays() -> None:
    assert safe("\x1b[31mred\x1b[0m \x1b]0;title\x07x \x1b[") == "red x "
    assert safe("a\x9b31mb") == "ab"
    assert safe("abc\u202edef") == "abc\ufffddef"


def test_a_line_of_a_megabyte_is_cut() -> None:
    assert len(safe("x" * 1_000_000)) == 2000


def test_secrets_are_redacted_and_the_rest_stays() -> None:
    text = redact("NCCL_DEBUG=INFO API_TOKEN=abc123 url https://bob:pw@host/x\nsnmp community: public\n")
    assert "abc123" not in text
    assert "bob:pw" not in text
    assert "public" not in text
    assert text.count(GONE) == 3
    assert "NCCL_DEBUG=INFO" in text


def test_a_text_may_be_given_per_language() -> None:
    assert words.pick({"en": "slow", "zh": "慢"}) == "slow"
    assert words.pick("plain") == "plain"
    words.set_language("zh")
    try:
        assert words.pick({"en": "slow", "zh": "慢"}) in ("慢", "slow")
    finally:
        words.set_language("en")
    assert words.say("no such key {n}", n=3) == "no such key 3"


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("5.859 h", "5.859 h"),
        ("5. gpu017 first", "5\\. gpu017 first"),
        ("2) drain", "2\\) drain"),
        ("- item", "\\- item"),
        ("# head", "\\# head"),
        ("a_b *c* <d>", "a_b \\*c\\* \\<d\\>"),
    ],
)
def test_markdown_keeps_numbers_and_takes_the_meaning_from_marks(text: str, escaped: str) -> None:
    assert markdown(text) == escaped


@pytest.mark.parametrize(("text", "span"), [("a | b", "`a | b`"), ("a `b` c", "`` a `b` c ``"), ("``", "``` `` ```")])
def test_a_code_span_holds_any_backticks(text: str, span: str) -> None:
    assert markdown_code(text) == span
