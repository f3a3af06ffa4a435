"""Causes told from effects, and what was cleared."""

from __future__ import annotations

from itertools import product

import pytest

from checks import faults
from checks.findings import Finding
from runbooks import conclusions
from runbooks.documents import Conclusion, Unknown
from tests.runbooks.fakes import finding


def concluded(*findings: Finding, coverage: dict[str, list[str]] | None = None) -> dict[str, Conclusion]:
    found: dict[str, list[Finding]] = {}
    for f in findings:
        found.setdefault(f.check, []).append(f)
    named = {fault: (f.check,) for f in findings if f.accuses for fault in f.faults}
    return {c.fault: c for c in conclusions.build(named, found, coverage or {})}


def test_every_fault_of_the_causality_data_exists_and_nothing_causes_itself() -> None:
    known = faults.every()
    graph: dict[str, set[str]] = {}
    for entry in conclusions.causality().explains:
        assert entry.cause in known
        assert set(entry.effects) <= set(known)
        graph.setdefault(entry.cause, set()).update(entry.effects)

    def reach(fault: str, seen: set[str]) -> set[str]:
        for effect in graph.get(fault, set()) - seen:
            seen |= reach(effect, seen | {effect})
        return seen

    assert [f for f in graph if f in reach(f, set())] == []


def test_an_uplink_down_explains_the_rest() -> None:
    found = concluded(
        finding("network.ecn_mark_ratio", "critical", "net-ecn-mark-rate-high", nodes="leaf01"),
        finding("network.oversubscription", "warn", "net-oversubscription", nodes="leaf01"),
        finding("network.uplinks_up", "critical", "net-uplink-down", nodes="leaf01"),
    )
    assert list(found) == ["net-uplink-down", "net-oversubscription", "net-ecn-mark-rate-high"]
    assert [c.role for c in found.values()] == ["initiating", "contributing", "cascade"]
    assert found["net-ecn-mark-rate-high"].caused_by == ("net-uplink-down", "net-oversubscription")


def test_switch_work_explains_lost_heartbeats_and_the_advice_is_not_to_drain() -> None:
    found = concluded(
        finding("scheduling.mass_event", "critical", "sc-heartbeat-kill"),
        finding("network.switch_restart", "critical", "net-switch-maintenance", nodes="leaf02"),
        finding("network.link_flaps", "warn", "net-link-flap"),
    )
    assert found["net-switch-maintenance"].role == "initiating"
    assert found["sc-heartbeat-kill"].role == "contributing"
    assert found["net-link-flap"].role == "cascade"
    assert any("do not drain" in r.step for r in found["sc-heartbeat-kill"].remedy)


def test_an_effect_long_before_its_cause_is_not_explained_by_it() -> None:
    found = concluded(
        finding("network.link_flaps", "warn", "net-link-flap", at="2026-03-04T01:00:00Z"),
        finding("network.switch_restart", "critical", "net-switch-maintenance", at="2026-03-04T02:00:00Z"),
    )
    assert found["net-link-flap"].role == "initiating"
    close = concluded(
        finding("network.link_flaps", "warn", "net-link-flap", at="2026-03-04T01:59:30Z"),
        finding("network.switch_restart", "critical", "net-switch-maintenance", at="2026-03-04T02:00:00Z"),
    )
    assert close["net-link-flap"].role == "cascade"


def test_a_narrow_card_explains_a_slow_receiver_only_on_its_own_node() -> None:
    narrow = finding("network.nic_pcie", "critical", "net-nic-pcie-downgrade", nodes="gpu007")
    same = concluded(narrow, finding("network.pause_sender", "critical", "net-slow-receiver", nodes="gpu007"))
    assert same["net-slow-receiver"].role == "cascade"
    more = concluded(narrow, finding("network.pause_sender", "critical", "net-slow-receiver", nodes="gpu[007,009]"))
    assert more["net-slow-receiver"].role == "initiating"


def test_xid_43_is_an_effect_of_any_proven_cause_or_of_one_not_seen() -> None:
    echo = finding("gpu.xid", "warn", "gpu-xid-43")
    beside = concluded(echo, finding("storage.striping", "warn", "st-default-striping"))
    assert (beside["gpu-xid-43"].role, beside["gpu-xid-43"].caused_by) == ("cascade", ("st-default-striping",))
    alone = concluded(echo)
    assert (alone["gpu-xid-43"].role, alone["gpu-xid-43"].caused_by) == ("cascade", ())
    guess = concluded(echo, finding("network.pause_share", "warn", "net-ecn-mark-rate-high", certainty="hypothesis"))
    assert (guess["gpu-xid-43"].role, guess["gpu-xid-43"].caused_by) == ("cascade", ())


def test_a_guess_explains_no_proof() -> None:
    found = concluded(
        finding("network.pfc_isolation", "warn", "net-pfc-not-isolated", certainty="hypothesis"),
        finding("network.ecn_mark_ratio", "critical", "net-ecn-mark-rate-high"),
    )
    assert found["net-ecn-mark-rate-high"].role == "initiating"
    assert list(found)[-1] == "net-pfc-not-isolated"


def test_findings_that_name_one_fault_are_merged_and_the_surest_says_where() -> None:
    found = concluded(
        finding(
            "network.ecn_mark_ratio", "critical", "net-ecn-mark-rate-high", nodes="leaf03", entities=("leaf03:E1",)
        ),
        finding("network.host_ecn_share", "warn", "net-ecn-mark-rate-high", nodes="leaf04", certainty="established"),
        finding("network.pause_share", "warn", "net-ecn-mark-rate-high", nodes="gpu[001-128]", certainty="hypothesis"),
    )["net-ecn-mark-rate-high"]
    assert found.nodes == "leaf[03-04]"
    assert found.entities == ("leaf03:E1",)
    assert found.because == ("network.ecn_mark_ratio", "network.host_ecn_share", "network.pause_share")
    assert found.certainty == "established"


def test_established_needs_peers_that_answered() -> None:
    bad = finding("network.link_rate", "warn", "net-link-degraded", nodes="gpu001")
    silent = finding("network.link_rate", "unknown", nodes="gpu[002-032]")
    healthy = finding("network.link_rate", "ok", nodes="gpu002")
    assert concluded(bad, silent)["net-link-degraded"].certainty == "supported"
    assert concluded(bad, silent, healthy)["net-link-degraded"].certainty == "established"
    assert concluded(bad)["net-link-degraded"].certainty == "established"


def test_alternatives_are_the_lookalikes_that_were_not_ruled_out() -> None:
    bad = finding("network.uplinks_up", "critical", "net-uplink-down")
    coverage = {
        "net-oversubscription": ["network.oversubscription"],
        "net-ecmp-polarisation": ["network.uplink_balance"],
    }

    def left(*others: Finding) -> tuple[str, ...]:
        return concluded(bad, *others, coverage=coverage)["net-uplink-down"].alternatives

    assert left() == ("net-oversubscription", "net-ecmp-polarisation")
    assert left(finding("network.oversubscription"), finding("network.uplink_balance", "unknown")) == (
        "net-ecmp-polarisation",
    )
    assert left(finding("network.oversubscription"), finding("network.uplink_balance", "skipped")) == ()


def test_remedies_come_least_risk_first_with_how_to_confirm() -> None:
    found = concluded(finding("network.pfc_isolation", "critical", "net-pfc-not-isolated"))["net-pfc-not-isolated"]
    risks = [conclusions.RISKS.index(r.risk) for r in found.remedy]
    assert risks == sorted(risks)
    assert len(set(risks)) > 1
    assert all(r.confirm for r in found.remedy)


SURE = finding("network.link_flaps", "critical", "net-link-flap")
GUESS = finding("network.link_flaps", "warn", "net-link-flap", certainty="hypothesis")
BLIND = finding("gpu.ecc", "unknown")
FINE = finding("gpu.ecc", "ok")


@pytest.mark.parametrize(
    ("findings", "verdict"),
    [
        ((), "healthy"),
        ((FINE,), "healthy"),
        ((FINE, BLIND), "undecided"),
        ((FINE, GUESS), "undecided"),
        ((BLIND, GUESS), "undecided"),
        ((BLIND, SURE), "fault"),
        ((GUESS, SURE), "fault"),
    ],
)
def test_the_verdict_is_the_worst_that_is_proven(findings: tuple[Finding, ...], verdict: str) -> None:
    made = tuple(concluded(*findings).values())
    found = {f.check: [g for g in findings if g.check == f.check] for f in findings}
    assert conclusions.verdict(findings, made, conclusions.unknown(found)) == verdict


def test_an_accusation_nobody_concluded_keeps_the_verdict_open() -> None:
    assert conclusions.verdict([SURE], (), ()) == "undecided"


def test_adding_an_unknown_never_makes_a_verdict_healthier() -> None:
    order = ["healthy", "undecided", "fault"]
    for first, second in product((FINE, GUESS, SURE), repeat=2):
        base = (first, second)
        made = tuple(concluded(*base).values())
        before = conclusions.verdict(base, made, ())
        after = conclusions.verdict((*base, BLIND), made, (Unknown(check="gpu.ecc", reason="x"),))
        assert order.index(after) >= order.index(before)


def layers(*findings: Finding) -> list[str]:
    found = {f.check: [g for g in findings if g.check == f.check] for f in findings}
    return [c.layer for c in conclusions.cleared(found, tuple(concluded(*findings).values()))]


def test_a_layer_is_cleared_by_ok_findings_alone() -> None:
    assert layers(finding("gpu.ecc"), finding("gpu.xid", "skipped")) == ["gpu"]
    assert layers(finding("gpu.ecc", "skipped")) == []
    assert layers(finding("gpu.ecc"), finding("gpu.xid", "unknown")) == []
    assert layers(finding("gpu.ecc"), finding("gpu.xid", "warn", "gpu-dbe")) == []


def test_a_layer_with_nothing_but_echoes_of_a_cause_elsewhere_is_cleared() -> None:
    echo = finding("gpu.xid", "warn", "gpu-xid-43")
    assert layers(finding("gpu.ecc"), echo, SURE) == ["gpu"]
    assert layers(finding("gpu.ecc"), echo) == []
    # a sign that names no fault is innocent only beside a cause elsewhere
    sign = finding("gpu.utilisation", "warn")
    assert layers(finding("gpu.ecc"), sign, finding("host.sizing", "critical", "host-undersized")) == ["gpu"]
    assert layers(finding("gpu.ecc"), sign) == []


def test_a_fault_the_catalogue_lacks_is_still_shown() -> None:
    found = concluded(finding("network.link_flaps", "critical", "net-brand-new"))["net-brand-new"]
    assert (found.title, found.layer) == ("net-brand-new", "network")
