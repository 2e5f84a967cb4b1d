"""What every agent may do about its own task, through runs of scripted agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jsonschema

from agentctl.catalog.tools import BY_ID
from tests.control.working import Call, answers, carried_out, scripted

if TYPE_CHECKING:
    from tests.engine.harness import Bench

NOTE: Call = ("report_progress", {"body": "half way"})


def written(body: str, base: str | None, key: str = "brief") -> Call:
    """Return a call that writes a document."""
    return (
        "write_document",
        {"key": key, "title": "Brief", "body": body, "baseRevisionId": base},
    )


def reason(answer: dict[str, Any]) -> str:
    """Return why a call was refused."""
    assert answer["ok"] is False
    return str(answer["error"]["reason"])


def test_an_answer_has_the_shape_that_the_catalog_promises(bench: Bench) -> None:
    read, note = carried_out(bench, ("get_task_context", {}), NOTE)
    for answer in (read, note):
        jsonschema.validate(answer, BY_ID[answer["operationId"]].output_schema)
    assert read["commandResult"] is None
    assert note["commandResult"]["status"] == "applied"
    assert note["authorization"]["reason"] == "task_scoped_always_tool"


def test_a_task_is_read_with_its_goal_its_state_and_who_works_on_it(bench: Bench) -> None:
    (read,) = carried_out(bench, ("get_task_context", {}))
    value = read["value"]
    assert (value["goal"], value["state"]) == ("Write the brief.", "open")
    assert value["actor"] == {"id": "agent:writer", "role": "agent"}


def test_notes_stand_in_the_history_the_latest_first_and_change_no_state(bench: Bench) -> None:
    status: Call = ("answer_status_question", {"body": "well"})
    *_, history, short = carried_out(
        bench, NOTE, status, ("get_task_history", {}), ("get_task_history", {"limit": 1})
    )
    told = [(one["kind"], one["body"].get("body")) for one in history["value"]]
    assert told == [("note", "well"), ("note", "half way"), ("assignment", None)]
    assert [one["state"] for one in history["value"] if one["kind"] == "assignment"] == ["open"]
    assert short["value"] == history["value"][:1]


def test_revisions_of_a_document_count_from_one_and_none_is_lost(bench: Bench) -> None:
    first, second, read, revisions, listed = carried_out(
        bench,
        written("one", None),
        written("two", "brief@1"),
        ("read_document", {"key": "brief"}),
        ("list_document_revisions", {"key": "brief"}),
        ("list_documents", {}),
    )
    assert "revision:brief@1" in first["commandResult"]["entityRefs"]
    assert second["commandResult"]["beforeRevision"] == 1
    assert second["commandResult"]["afterRevision"] == 2
    assert read["value"]["body"] == "two"
    assert [one["revisionId"] for one in revisions["value"]] == ["brief@1", "brief@2"]
    assert [one["revisionId"] for one in listed["value"]] == ["brief@2"]


def test_a_write_that_is_not_based_on_the_newest_revision_is_refused_with_it(
    bench: Bench,
) -> None:
    _, again, stale, unknown = carried_out(
        bench,
        written("one", None),
        written("other", None),
        written("other", "brief@7"),
        written("other", "plan@1", key="plan"),
    )
    assert reason(again) == reason(stale) == reason(unknown) == "revision_conflict"
    assert again["error"]["detail"] == {"currentRevisionId": "brief@1"}
    assert unknown["error"]["detail"] == {"currentRevisionId": None}


def test_a_document_that_is_not_there_is_refused(bench: Bench) -> None:
    (read,) = carried_out(bench, ("read_document", {"key": "none"}))
    assert reason(read) == "unknown_document"


def test_finishing_ends_the_turn_so_that_nothing_follows(bench: Bench) -> None:
    outcome = bench.run(scripted(("finish_task", {"summary": "It is done."}), NOTE))
    (finished,) = answers(bench, outcome.run_id)
    assert finished["value"]["state"] == "done"
    assert outcome.output == {"answer": finished}


def test_a_task_is_blocked_with_its_reason_and_only_by_tasks_that_exist(bench: Bench) -> None:
    unknown, blocked = carried_out(
        bench,
        ("block_task", {"reason": "no data", "blockedByTaskIds": ["nowhere"]}),
        ("block_task", {"reason": "no data"}),
        NOTE,
    )
    assert reason(unknown) == "unknown_assignment"
    assert (blocked["value"]["state"], blocked["value"]["reason"]) == ("blocked", "no data")


def test_a_review_is_requested_once_and_puts_the_task_in_review(bench: Bench) -> None:
    (asked,) = carried_out(bench, ("request_review", {"summary": "Please look."}))
    assert asked["value"]["state"] == "in_review"
    (review,) = bench.engine.store.entities.look(lambda view: view.entities("review"))
    assert (review.id, review.state) == (asked["value"]["reviewId"], "requested")


def test_a_deliverable_is_on_record_with_its_digest(bench: Bench) -> None:
    given = {
        "filename": "brief.md",
        "contentType": "text/markdown",
        "byteSize": 3,
        "sha256": "ab" * 32,
        "contentRef": "artifact:1",
        "title": "The brief",
    }
    good, bad = carried_out(
        bench, ("register_deliverable", given), ("register_deliverable", {**given, "sha256": "x"})
    )
    assert good["value"]["filename"] == "brief.md"
    assert reason(bad) == "not_a_sha256"
    (kept,) = bench.engine.store.entities.look(lambda view: view.entities("deliverable"))
    assert kept.body == given


def test_a_result_is_looked_up_by_its_id_in_the_same_run_alone(bench: Bench) -> None:
    first = bench.run(scripted(NOTE, ("get_task_context", {})))
    note, read = answers(bench, first.run_id)
    entities = bench.engine.store.entities
    for answer in (note, read):
        found = entities.look(
            lambda view, key=answer["operationResultId"]: view.result(first.run_id, key)  # type: ignore[misc]
        )
        assert found == answer
    other = ("inspect_operation_result", {"operationResultId": note["operationResultId"]})
    (looked,) = carried_out(bench, other)
    assert reason(looked) == "unknown_operation_result"


def test_a_call_of_a_tool_that_is_not_visible_is_on_record_and_does_nothing(bench: Bench) -> None:
    group, owned, unknown, shape = carried_out(
        bench,
        ("upsert_case", {"key": "k", "body": ""}),
        ("checkout_task", {}),
        ("make_coffee", {}),
        ("report_progress", {"body": "", "taskId": "another"}),
    )
    assert [one["error"]["code"] for one in (group, owned, unknown, shape)] == [
        "policy_denied",
        "operation_absent",
        "operation_absent",
        "input_invalid",
    ]
    assert reason(group) == "group_not_granted"
    assert reason(owned) == "control_plane_owned_operation"
    assert reason(unknown) == "unknown_operation"
    assert reason(shape) == "input_schema_invalid"
    assert group["authorization"]["outcome"] == "denied"
    assert bench.engine.store.entities.look(lambda view: view.entities("assignment")) == []
