"""A call's key: with the same input it answers what was answered, with another one it is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from attr import evolve

from agentctl.control.desk import Call
from agentctl.control.performing import perform
from tests.control.working import kept

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject
    from tests.engine.harness import Bench

CASE: JsonObject = {"key": "late-orders", "body": "Two."}
CALL = Call(
    operation="upsert_case",
    given=CASE,
    key="k-1",
    run_id="run-1",
    task_id="run-1/work",
    actor="agent:writer",
    role="agent",
    mode="standard",
)


def asked(bench: Bench, call: Call, at: int) -> JsonObject:
    """Return what a call is answered at a moment."""
    return perform(bench.engine.store.entities, call, at)


def test_a_repeated_call_is_answered_what_it_was_answered_first(bench: Bench) -> None:
    first = asked(bench, CALL, 1)
    assert first["ok"] is True
    before = kept(bench, "case")
    assert asked(bench, CALL, 2) == first
    (case,) = kept(bench, "case")
    assert [(one.revision, one.updated_at) for one in before] == [(1, 1)]
    assert (case.revision, case.updated_at) == (1, 1)


def test_a_new_key_makes_a_new_result(bench: Bench) -> None:
    first = asked(bench, CALL, 1)
    second = asked(bench, evolve(CALL, key="k-2"), 2)
    assert (first["operationResultId"], second["operationResultId"]) == ("k-1", "k-2")


@pytest.mark.parametrize(
    "other",
    [
        evolve(CALL, given={**CASE, "body": "Three."}),
        evolve(CALL, actor="agent:other"),
        evolve(CALL, operation="report_progress", given={"body": "Two."}),
    ],
    ids=["another body", "another actor", "another operation"],
)
def test_the_same_key_for_something_else_is_a_conflict_and_changes_nothing(
    bench: Bench, other: Call
) -> None:
    first = asked(bench, CALL, 1)
    refused = asked(bench, other, 2)
    assert refused["ok"] is False
    assert refused["error"] == {
        "code": "input_invalid",
        "operationId": other.operation,
        "reason": "idempotency_key_conflict",
    }
    (case,) = kept(bench, "case")
    assert case.revision == 1
    assert kept(bench, "note") == []
    assert asked(bench, CALL, 3) == first
