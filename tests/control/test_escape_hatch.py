"""The request of the tests goes where a test lists, and exists nowhere else."""

from __future__ import annotations

from agentctl.catalog.policy import Target
from agentctl.testing import EscapeHatch


def test_a_listed_target_is_answered_by_the_test_and_another_one_is_refused() -> None:
    hatch = EscapeHatch([Target("GET", "/tasks/*")], lambda request: {"saw": request["path"]})
    assert hatch.send({"method": "GET", "path": "/tasks/1"})["value"] == {"saw": "/tasks/1"}
    refused = hatch.send({"method": "POST", "path": "/tasks/1"})
    assert refused["error"] == {
        "operationId": "generic_api_request",
        "code": "policy_denied",
        "reason": "generic_escape_hatch_target_denied",
    }
    late = hatch.send({"method": "GET", "path": "/tasks/1"}, mode="standard")
    assert late["ok"] is False
    assert [one.is_allowed for one in hatch.judged] == [True, False, False]
