"""YAML is read as yaml reads it, only faster; tags, circles of names and doubled keys do no harm."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from common import yamlfile
from common.errors import InputError

ROOT = Path(__file__).resolve().parent.parent.parent
SHIPPED = sorted(p for room in ("checks", "runbooks", "worksheets", "common") for p in (ROOT / room).rglob("*.yaml"))
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.dates() | st.text()
DATA = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


class Anything(BaseModel):
    a: Any = None


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_a_shipped_file_reads_as_yaml_itself_reads_it(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert repr(yamlfile.parse(text, path)) == repr(yaml.safe_load(text))


@given(DATA)
def test_what_yaml_writes_is_read_as_yaml_reads_it(data: Any) -> None:
    text = yaml.safe_dump(data, allow_unicode=True)
    assert yamlfile.parse(text, "x") == yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


@pytest.mark.parametrize(
    "text",
    [
        "a: &x [1, 2]\nb: *x",
        "a: &x {k: 1}\nb: {<<: *x, j: 2}",
        "a: {<<: [{b: 1}, {b: 2, c: 2}]}",
        "<<: {a: 1}\na: 2",
        "a: 1_000\nb: 0x1f\nc: 1:30\nd: !!binary aGk=\ne: ~\nf: on\ng: -.inf\nh: '5'\ni: 5 # five",
        "!!set {a, b}",
        "a: !!omap [b: 1]",
        "a: !!str 5",
        "a: 3\n=: 3",
        "? 1\n: x\n? 2026-01-01\n: y",
    ],
)
def test_aliases_merges_and_rare_types_are_those_of_yaml(text: str) -> None:
    assert yamlfile.parse(text, "x") == yaml.safe_load(text)


@pytest.mark.parametrize("text", ["!!python/object:os.system x", "!foo [1]", "!!str [1]", "? [1]\n: 2", "[", "*b"])
def test_what_is_no_plain_data_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="not valid YAML"):
        yamlfile.parse(text, "x")


def test_a_few_lines_that_repeat_each_other_do_not_grow_without_end() -> None:
    names = "abcdefghijklmnopqrstuvwxyz"
    lines = ["a: &a {k: 1}", *(f"{n}: &{n} {{x: *{m}, y: *{m}}}" for m, n in pairwise(names))]
    assert set(yamlfile.parse("\n".join(lines), "x")) == set(names)
    inner = "\n".join(f"  {line}" for line in lines)
    assert set(yamlfile.build(f"a:\n{inner}\n", Anything, "x").a) == set(names)


def test_a_key_given_twice_is_refused_at_its_line_and_merged_keys_may_be_given_anew() -> None:
    with pytest.raises(InputError) as told:
        yamlfile.build("a:\n  - {b: 1}\n  - b: 1\n    c: 2\n    b: 3\n", Anything, "x")
    assert told.value.line == 5
    assert yamlfile.build("a: {<<: {b: 1}, b: 2}\n", Anything, "x").a == {"b": 2}
