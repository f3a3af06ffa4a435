"""Readings, windows and folding: what every rule relies on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import judge
from checks.findings import Status
from checks.judgement import Judgement, ok
from checks.outputs import NotAvailable
from checks.rules import Read, Rule
from checks.tools.clock import Boot
from checks.tools.load import LoadAvg
from checks.view import View, Window, observed, unknown
from tests.builders import view

LOAD = "1.00 2.00 3.00 4/500 6000\n"
BOOT = "5f1b4a3e-0c9a-4a57-8d5e-0d6f0b0e2a11\n864000.10 1000.00\n"
OTHER_BOOT = "9f1b4a3e-0c9a-4a57-8d5e-0d6f0b0e2a99\n100.10 1000.00\n"


def rule(function: object) -> Rule:
    return Rule("host.x", "x", "x", "host", "node", (Read("loadavg"),), (), (), None, function)  # type: ignore[arg-type]


statuses = st.sampled_from(list(Status))


@given(st.lists(statuses), st.lists(statuses))
def test_folding_is_the_maximum_however_it_is_grouped(a: list[Status], b: list[Status]) -> None:
    assert Status.fold([*a, *b]) == max(Status.fold(a), Status.fold(b))
    assert Status.fold([*a, *b]) == Status.fold([*b, *a])
    assert Status.fold([*a, *a]) == Status.fold(a)
    assert Status.fold(a) == max(a, default=Status.SKIPPED)


@given(st.lists(statuses, min_size=1))
def test_unknown_never_folds_to_ok(found: list[Status]) -> None:
    if Status.UNKNOWN in found:
        assert Status.fold(found) >= Status.UNKNOWN


def test_equal_judgements_fold_and_their_numbers_stay_apart() -> None:
    def look(v: View) -> Iterator[Judgement]:
        for i, node in enumerate(v.nodes("gpu-node")):
            yield ok("calm", node, observed=(observed("load", min(i, 1), "", node),))

    (finding,) = judge.judge(rule(look), view({("gpu[1-4]", "loadavg"): LOAD}))
    assert finding.nodes == "gpu[1-4]"
    assert [(o.value, o.nodes) for o in finding.observed] == [(0, "gpu1"), (1, "gpu[2-4]")]


def test_a_rule_that_says_nothing_or_fails_is_unknown() -> None:
    def silent(v: View) -> Iterator[Judgement]:
        return iter(())

    def broken(v: View) -> Iterator[Judgement]:
        raise ZeroDivisionError("no")

    for function in (silent, broken):
        (finding,) = judge.judge(rule(function), view({}))
        assert finding.status == Status.UNKNOWN
        assert finding.reason


def test_an_ok_over_an_output_with_odd_lines_is_unknown_for_that_node_only() -> None:
    def look(v: View) -> Iterator[Judgement]:
        readings = v.read("loadavg", LoadAvg, roles=("gpu-node",))
        yield from unknown(readings)
        for r in readings:
            if r.facts:
                yield ok("calm", r.node, evidence=(r.quote(1),))

    v = view({("gpu[1-3]", "loadavg"): LOAD, ("gpu4", "loadavg"): (LOAD, 1)})
    found = judge.judge(rule(look), v)
    assert [(f.status, f.nodes) for f in found] == [(Status.UNKNOWN, "gpu4"), (Status.OK, "gpu[1-3]")]
    assert found[0].missing == ("loadavg",)


def test_missing_denied_and_timed_out_are_unknown_with_the_reason() -> None:
    v = view(
        {
            ("gpu1", "loadavg"): 124,
            ("gpu2", "loadavg"): 126,
            ("gpu3", "loadavg"): NotAvailable("unreachable", "could not be asked: no route"),
        }
    )
    why = {r.node: r.unknown() for r in v.read("loadavg", LoadAvg, roles=("gpu-node",))}
    assert all(j.status == Status.UNKNOWN for j in why.values())
    assert "timed out" in why["gpu1"].summary
    assert "not allowed" in why["gpu2"].summary
    assert "no route" in why["gpu3"].summary
    assert "not recorded" in why["gpu4"].summary


def rounds(**more: object) -> dict[tuple[object, ...], object]:
    return {
        (1, "gpu[1-4]", "loadavg"): LOAD,
        (2, "gpu[1-4]", "loadavg"): LOAD,
        (1, "gpu[1-4]", "boot"): BOOT,
        (2, "gpu[1-4]", "boot"): BOOT,
        **more,  # type: ignore[dict-item]
    }


def test_a_window_needs_two_rounds_with_one_boot_id() -> None:
    found = view(rounds()).window("loadavg", "gpu1", LoadAvg)
    assert isinstance(found, Window)
    assert found.seconds == pytest.approx(60)

    files = rounds()
    files[(2, "gpu1", "boot")] = OTHER_BOOT
    files[(1, "gpu2", "loadavg")] = 124
    del files[(1, "gpu[1-4]", "boot")]
    files[(1, "gpu[1-2]", "boot")] = BOOT
    v = view(files)
    for node, said in (("gpu1", "restarted"), ("gpu2", "one round only"), ("gpu3", "boot id not known")):
        without = v.window("loadavg", node, LoadAvg)
        assert not isinstance(without, Window)
        assert said in without.why


def test_a_window_without_times_has_no_seconds_and_one_that_runs_backwards_is_none() -> None:
    timeless = view(rounds(), taken=False).window("loadavg", "gpu1", LoadAvg)
    assert isinstance(timeless, Window)
    assert timeless.seconds is None
    backwards = view(rounds(), seconds=-5).window("loadavg", "gpu1", LoadAvg)
    assert not isinstance(backwards, Window)


def test_equal_outputs_are_parsed_once() -> None:
    v = view({("gpu[1-4]", "boot"): BOOT})
    facts = {id(r.facts) for r in v.read("boot", Boot, roles=("gpu-node",))}
    assert len(facts) == 1


def test_a_quote_is_safe_redacted_and_bounded() -> None:
    v = view({("gpu1", "loadavg"): "password=hunter2 \x1b[31mred\n" + LOAD * 40})
    quote = v.newest("loadavg", "gpu1", LoadAvg).quote(1, 40)
    assert "hunter2" not in quote.text
    assert "\x1b" not in quote.text
    assert quote.text.count("\n") < 12
