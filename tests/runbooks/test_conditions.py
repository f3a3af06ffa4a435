"""Conditions: yes, no, not known."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from checks.findings import Observed
from runbooks.conditions import Known, holds
from runbooks.model import When
from tests.runbooks.fakes import finding

FOUND = {
    "gpu.ecc": [finding("gpu.ecc", "warn", "gpu-dbe", nodes="gpu[001-003]"), finding("gpu.ecc", nodes="gpu004")],
    "gpu.xid": [finding("gpu.xid")],
    "host.swap": [finding("host.swap", "unknown"), finding("host.swap")],
    "host.sizing": [
        finding("host.sizing", observed=(Observed(name="cores", value=32), Observed(name="os", value="a")))
    ],
}


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ({"check": "gpu.ecc", "is": "warn"}, True),
        ({"check": "gpu.ecc", "is": ["ok", "critical"]}, False),
        ({"check": "gpu.ecc", "is": "warn", "nodes": {"at_most": 2}}, False),
        ({"check": "gpu.ecc", "is": "warn", "nodes": {"at_most": 3}}, True),
        ({"check": "gpu.ecc", "is": "warn", "nodes": {"at_least": 4}}, False),
        ({"check": "gpu.xid", "is": "ok"}, True),
        ({"check": "host.swap", "is": "ok"}, None),
        ({"check": "host.swap", "is": "unknown"}, True),
        ({"check": "host.never_ran", "is": "ok"}, None),
        ({"not": {"check": "host.swap", "is": "warn"}}, None),
        ({"not": {"check": "gpu.xid", "is": "warn"}}, True),
        ({"any": [{"check": "host.swap", "is": "ok"}, {"check": "gpu.xid", "is": "ok"}]}, True),
        ({"any": [{"check": "host.swap", "is": "ok"}, {"check": "gpu.xid", "is": "warn"}]}, None),
        ({"all": [{"check": "host.swap", "is": "ok"}, {"check": "gpu.xid", "is": "warn"}]}, False),
        ({"all": [{"check": "host.swap", "is": "ok"}, {"check": "gpu.xid", "is": "ok"}]}, None),
        ({"fault": "gpu-dbe"}, True),
        ({"fault": "net-link-flap"}, None),
        ({"check": "host.sizing", "value": "cores", "below": 64}, True),
        ({"check": "host.sizing", "value": "cores", "above": 64}, False),
        ({"check": "host.sizing", "value": "os", "equals": "a"}, True),
        ({"check": "host.sizing", "value": "os", "above": 1}, None),
        ({"check": "host.sizing", "value": "ram", "above": 1}, None),
        ({"answer": "yes-it-is"}, True),
        ({"answer": "other"}, False),
        ({"answer": "other", "step": "unasked"}, None),
        ({"answer": "x", "step": "unsure"}, None),
        ({"answer": "dont-know", "step": "unsure"}, True),
    ],
)
def test_a_condition_is_true_false_or_not_known(when: dict[str, Any], expected: bool | None) -> None:
    known = Known(FOUND, {"here": "yes-it-is", "unsure": "dont-know"}, "here")
    assert holds(When.model_validate(when), known) is expected


@pytest.mark.parametrize(
    "when",
    [
        {},
        {"check": "gpu.ecc"},
        {"check": "gpu.ecc", "is": "bad"},
        {"check": "gpu.ecc", "is": "ok", "fault": "gpu-dbe"},
        {"check": "gpu.ecc", "value": "x"},
        {"check": "gpu.ecc", "value": "x", "above": 1, "below": 2},
        {"fault": "gpu-dbe", "is": "ok"},
        {"step": "a", "fault": "gpu-dbe"},
    ],
)
def test_a_condition_that_is_not_one_comparison_is_refused(when: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        When.model_validate(when)
