"""Every sample cluster and overlay, walked through every runbook."""

from __future__ import annotations

import pytest

from checks.findings import Status
from runbooks import expected
from tests.scenarios.cases import Place, places, runbook_ids, walk

PLACES = list(places())
CASES = [pytest.param(place, case, id=f"{place.name}-{case.runbook}") for place in PLACES for case in place.cases()]


@pytest.mark.parametrize(("place", "case"), CASES)
def test_a_walk_concludes_what_is_expected(place: Place, case: expected.Case) -> None:
    found = walk(place, case.runbook, tuple(case.answers.items()))
    assert list(expected.mismatches(case, found)) == []


@pytest.mark.parametrize("place", PLACES, ids=lambda p: p.name)
def test_every_place_expects_something_of_triage(place: Place) -> None:
    assert any(case.runbook == "triage" for case in place.cases())


HEALTHY = [p for p in PLACES if p.overlay is None and p.cluster in ("a800-roce-256", "h100-cpu-balanced")]


@pytest.mark.parametrize("runbook", runbook_ids())
@pytest.mark.parametrize("place", HEALTHY, ids=lambda p: p.name)
def test_no_runbook_finds_anything_on_a_healthy_cluster(place: Place, runbook: str) -> None:
    found = walk(place, runbook)
    loud = [(f.check, f.status.word, f.nodes, f.summary) for f in found.findings if f.status > Status.OK]
    assert loud == []
    assert found.verdict == "healthy"
    assert found.conclusions == ()


@pytest.mark.parametrize("runbook", runbook_ids())
@pytest.mark.parametrize("place", PLACES, ids=lambda p: p.name)
def test_no_runbook_accuses_the_innocent(place: Place, runbook: str) -> None:
    """A runbook that was not made for a fault may miss it; it may not name another."""
    known = {c.fault for case in place.cases() for c in case.conclusions}
    known |= {f for case in place.cases() for names in case.accept.values() for f in names}
    # what triage shows to be an effect is truly there; a narrower runbook may not see what causes it
    known |= {c.fault for c in walk(place, "triage").conclusions if c.role == "cascade"}
    found = walk(place, runbook)
    accused = {
        c.fault for c in found.conclusions if c.role != "cascade" and c.certainty in ("established", "supported")
    }
    assert accused <= known
    if not known:
        assert found.verdict in ("healthy", "undecided")
