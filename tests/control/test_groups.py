"""What the optional groups do, through runs of scripted agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agentctl.catalog.tools import CATALOG
from agentctl.control.handlers import HANDLERS
from agentctl.control.handlers.administration import ACTS
from agentctl.testing import FixedEntropy
from tests.control.mutations import QUESTION, administer, requested, written
from tests.control.working import EVERYTHING, answers, carried_out, kept, scripted

if TYPE_CHECKING:
    from tests.control.working import Call
    from tests.engine.harness import Bench


def did(bench: Bench, *calls: Call, name: str = "writer") -> list[dict[str, Any]]:
    """Run a script with everything granted; return the answers."""
    return carried_out(bench, *calls, name=name, **EVERYTHING)


def reasons(*refused: dict[str, Any]) -> list[str]:
    """Return why calls were refused."""
    return [one["error"]["reason"] for one in refused]


def test_every_tool_has_a_handler_but_those_of_secret_values_and_of_tests() -> None:
    without = {one.operation_id for one in CATALOG} - HANDLERS.keys()
    assert without == {"generic_api_request", "read_secret_value"}


def test_a_task_that_is_created_is_found_and_waits_for_what_blocks_it(bench: Bench) -> None:
    made, found, other, waiting = did(
        bench,
        ("create_task", {"title": "Check the numbers", "assigneeActorId": "agent:writer"}),
        ("search_tasks", {"query": "NUMBERS", "status": "open"}),
        ("search_tasks", {"query": "numbers", "status": "blocked"}),
        ("create_task", {"title": "x", "blockedByTaskIds": ["nowhere"]}),
    )
    assert [one["taskId"] for one in found["value"]] == [made["value"]["taskId"]]
    assert other["value"] == []
    assert reasons(waiting) == ["unknown_assignment"]
    (blocked,) = did(
        bench, ("create_task", {"title": "y", "blockedByTaskIds": [made["value"]["taskId"]]})
    )
    assert blocked["value"]["state"] == "blocked"


def test_a_task_is_released_when_the_last_one_that_it_waits_for_is_done(bench: Bench) -> None:
    first = bench.run(scripted(("request_review", {"summary": "look"}), **EVERYTHING))
    waits = {"reason": "first things first", "blockedByTaskIds": [f"{first.run_id}/work"]}
    bench.run(scripted(("block_task", waits), **EVERYTHING))
    assert [one.state for one in kept(bench, "assignment")] == ["in_review", "blocked"]
    (review,) = bench.engine.requests()
    bench.engine.answer_request(str(review["requestId"]), accepted=True, actor="ann")
    assert [one.state for one in kept(bench, "assignment")] == ["done", "open"]


def test_dependencies_are_replaced_and_name_only_tasks_that_exist(bench: Bench) -> None:
    (made,) = did(bench, ("create_task", {"title": "a"}))
    other = made["value"]["taskId"]
    waits, unknown, own = did(
        bench,
        ("set_dependencies", {"blockedByTaskIds": [other]}),
        ("set_dependencies", {"blockedByTaskIds": ["nowhere"]}),
        ("get_task_context", {}),
    )
    assert waits["value"]["blockedByTaskIds"] == [other]
    assert reasons(unknown) == ["unknown_assignment"]
    assert [one["taskId"] for one in own["value"]["dependsOn"]] == [other]


def test_tasks_that_would_wait_for_each_other_are_refused_with_the_circle(bench: Bench) -> None:
    second_id = FixedEntropy(count=1).run_id(bench.clock.now()) + "/work"
    ask: Call = ("request_human_input", {**QUESTION, "continuationPolicy": "wake_assignee"})
    wait: Call = ("set_dependencies", {"blockedByTaskIds": [second_id]})
    first = bench.run(scripted(ask, wait, **EVERYTHING))
    first_id = f"{first.run_id}/work"
    (ok,) = did(bench, ("set_dependencies", {"blockedByTaskIds": [first_id]}))
    assert ok["value"]["taskId"] == second_id
    (asked,) = bench.engine.requests()
    bench.engine.answer_request(str(asked["requestId"]), accepted=True, answer=1, actor="ann")
    bench.engine.resume_sync(first.run_id)
    *_, refused = answers(bench, first.run_id)
    assert refused["error"]["reason"] == "dependency_circle"
    assert refused["error"]["detail"]["circle"] == [first_id, second_id, first_id]


def test_nobody_decides_about_a_request_of_their_own(bench: Bench) -> None:
    approval = requested(bench)
    decide: Call = (
        "decide_approval",
        {"approvalId": approval, "decision": "approved", "note": "fine"},
    )
    (refused,) = did(bench, decide, name="planner")
    assert reasons(refused) == ["self_approval_conflict"]
    assert refused["error"]["code"] == "policy_denied"
    comment: Call = ("comment_on_approval", {"approvalId": approval, "body": "why?"})
    _, decided, listed, again = did(bench, comment, decide, ("list_approvals", {}), decide)
    assert decided["value"]["state"] == "approved"
    assert reasons(again) == ["approval_not_open"]
    (one,) = listed["value"]
    assert (one["state"], one["decidedBy"], one["note"]) == ("approved", "agent:writer", "fine")
    assert [said["body"] for said in one["comments"]] == ["why?"]


@pytest.mark.parametrize(("decision", "state"), [("rejected", "rejected"), ("cancelled", "void")])
def test_an_approval_is_rejected_or_cancelled(bench: Bench, decision: str, state: str) -> None:
    given = {"approvalId": requested(bench), "decision": decision, "note": "no"}
    (decided,) = did(bench, ("decide_approval", given))
    assert decided["value"]["state"] == state


def test_a_case_has_one_revision_for_each_write_until_it_is_closed(bench: Bench) -> None:
    first, second, listed, _, closed = did(
        bench,
        ("upsert_case", {"key": "k", "body": "1"}),
        ("upsert_case", {"key": "k", "body": "2"}),
        ("list_cases", {}),
        administer("close_case", key="k"),
        ("upsert_case", {"key": "k", "body": "3"}),
    )
    assert (first["value"]["revision"], second["value"]["revision"]) == (1, 2)
    assert [(one["key"], one["body"]) for one in listed["value"]] == [("k", "2")]
    assert reasons(closed) == ["case_not_open"]


def test_a_service_starts_fails_and_starts_again(bench: Bench) -> None:
    def control(action: str, name: str = "web") -> Call:
        return ("control_workspace_service", {"serviceId": name, "action": action})

    unknown, started, twice, _, again, runtime = did(
        bench,
        control("stop", "none"),
        control("start"),
        control("start"),
        control("fail"),
        control("start"),
        ("get_workspace_runtime", {}),
    )
    assert reasons(unknown, twice) == ["unknown_service", "service_not_open"]
    assert (started["value"]["state"], again["value"]["state"]) == ("running", "running")
    assert [one["serviceId"] for one in runtime["value"]] == ["web"]


def test_what_is_registered_is_listed_until_it_is_withdrawn(bench: Bench) -> None:
    *_, agents, projects, goals, routines, skills, secrets = did(
        bench,
        administer("register_agent", actorId="agent:eve", role="security"),
        administer("register_project", name="atlas"),
        administer("register_goal", name="grow"),
        administer("register_routine", name="nightly", description="sum up", schedule="daily"),
        administer("register_skill", name="summing", source="skills/summing.md"),
        administer("register_secret", name="token", purpose="to call"),
        ("list_agents", {}),
        ("list_projects", {}),
        ("list_goals", {}),
        ("list_routines", {}),
        ("list_company_skills", {}),
        ("list_secret_metadata", {}),
    )
    assert [one["actorId"] for one in agents["value"]] == ["agent:writer", "agent:eve"]
    assert [one["name"] for one in projects["value"]] == ["atlas"]
    assert [one["name"] for one in goals["value"]] == ["grow"]
    assert [one["state"] for one in routines["value"]] == ["active"]
    assert [one["source"] for one in skills["value"]] == ["skills/summing.md"]
    assert secrets["value"] == [{"name": "token", "purpose": "to call", "readable": False}]
    *_, gone = did(bench, administer("withdraw_goal", name="grow"), ("list_goals", {}))
    assert gone["value"] == []


def test_a_routine_is_paused_resumed_and_retired(bench: Bench) -> None:
    acts = [administer(f"{act}_routine", name="n") for act in ("pause", "resume", "retire")]
    made = administer("register_routine", name="n", description="d", schedule="daily")
    _, *moved, listed = did(bench, made, *acts, ("list_routines", {}))
    assert [one["value"]["state"] for one in moved] == ["paused", "active", "retired"]
    assert listed["value"] == []


def test_an_act_that_is_unknown_or_lacks_what_it_needs_is_refused(bench: Bench) -> None:
    unknown, poor = did(
        bench, ("administer_company", {"action": "fly"}), administer("register_secret", name="t")
    )
    assert reasons(unknown, poor) == ["unknown_action", "payload_invalid"]
    assert unknown["error"]["detail"]["known"] == list(ACTS)
    assert poor["error"]["detail"] == {"needs": ["purpose"]}


def test_a_task_that_is_cancelled_takes_its_open_questions_with_it(bench: Bench) -> None:
    run = bench.run(scripted(("request_review", {"summary": "look"}), **EVERYTHING))
    did(bench, administer("cancel_task", taskId=f"{run.run_id}/work"))
    assert kept(bench, "assignment")[0].state == "cancelled"
    assert [one.state for one in kept(bench, "review")] == ["withdrawn"]


def test_an_export_holds_everything_but_secrets(bench: Bench) -> None:
    *_, export = did(
        bench,
        written("one", None),
        administer("register_secret", name="token", purpose="to call"),
        ("export_company", {}),
    )
    assert export["value"]["counts"] == {"assignment": 1, "document": 1}
    assert "to call" not in str(export)
    (made,) = kept(bench, "export")
    assert made.body["entities"] == export["value"]["entities"]


def test_the_export_and_every_answer_of_a_run_are_looked_up_by_their_ids(bench: Bench) -> None:
    outcome = bench.run(scripted(("list_goals", {}), ("export_company", {}), **EVERYTHING))
    for one in answers(bench, outcome.run_id):
        found = bench.engine.store.entities.look(
            lambda view, key=one["operationResultId"]: view.result(outcome.run_id, key)  # type: ignore[misc]
        )
        assert found == one
