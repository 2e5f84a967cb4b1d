"""The view of a run, its standing still, and the drawing of its plan, over records made here."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from attr import evolve

from agentctl.engine.apply import apply
from agentctl.engine.graph import draw_plan, plan_graph
from agentctl.engine.plan import Plan, PlanTask, sealed
from agentctl.engine.records import (
    ApprovalRecord,
    EffectRecord,
    RunHistory,
    RunRecord,
    TaskRecord,
)
from agentctl.engine.stillness import stillness
from agentctl.engine.view import inspect_view, plan_view, run_row, task_counts

if TYPE_CHECKING:
    from agentctl.engine.graph import GraphFormat
    from agentctl.engine.records import Transition
    from agentctl.jsonvalue import JsonObject

NOW = 1_700_000_000_000_000


def _plan() -> Plan:
    route: PlanTask = PlanTask(
        id="route",
        uses_kind="router",
        uses_name={
            "select": "${{ inputs.way }}",
            "cases": [{"equals": "a", "tasks": ["left"]}],
            "default": ["right"],
        },
    )
    tasks = {
        "route": route,
        "left": PlanTask(id="left", uses_kind="agent", uses_name="writer", needs=("route",)),
        "right": PlanTask(
            id="right", uses_kind="action", uses_name="say", needs=("route",), when="${{ vars.x }}"
        ),
    }
    return sealed(
        Plan(
            workflow_name="sample",
            workflow_digest="0" * 64,
            order=tuple(tasks),
            max_concurrency=1,
            tasks=tasks,
            predictability="requires_execution",
            requirements={},
            definitions={
                "agents": {
                    "writer": {"instructionsFile": "secret.md", "instructions": "SECRET TEXT"}
                },
                "budgets": {"maxTurns": 3},
            },
        )
    )


def _run(plan: Plan) -> RunRecord:
    return RunRecord(
        id="run-1",
        workflow_name="sample",
        workflow_digest=plan.workflow_digest,
        plan_digest=plan.plan_digest,
        trace_id="f" * 32,
        workspace="/w",
        inputs={},
        created_at=NOW,
    )


def _effect(ordinal: int, kind: str, result: JsonObject | None) -> EffectRecord:
    effect = EffectRecord(
        id=f"{ordinal}" * 64,
        name=f"left/1.{ordinal}",
        task_id="left",
        attempt=1,
        ordinal=ordinal,
        number=ordinal + 1,
        position=1,
        operation="model.fake" if kind == "model" else "builtin.echo",
        effect_class="model" if kind == "model" else "pure",
        risk="low",
        idempotency="at_most_once",
        input={"provider": "p", "model": "m"} if kind == "model" else {},
        input_digest="d",
        key_digest="e",
        requested_at=NOW,
    )
    started, _ = apply(effect, ("start",), NOW, dispatch=1)
    done, _ = apply(started, ("succeed",), NOW, result=result)
    return done


def _history() -> tuple[RunHistory, list[tuple[int, Transition]]]:
    plan = _plan()
    run, (started,) = apply(_run(plan), ("start",), NOW)
    task = TaskRecord(id="left", position=1)
    skipped, (proof,) = apply(task, ("skip_by_route",), NOW + 1, output={"reason": "no"})
    asked: JsonObject = {
        "toolCalls": [{"id": "call-x", "name": "echo"}],
        "usage": {"inputTokens": 3},
    }
    history = RunHistory(
        run=run,
        plan=plan.to_json(),
        tasks=(skipped, TaskRecord(id="route", position=0)),
        effects=(_effect(0, "model", asked), _effect(1, "tool", {"text": "hi"})),
        iterations=(),
        approvals=(),
        memory={"key": 1},
    )
    return history, [(1, started), (2, proof)]


def test_the_view_has_every_public_field() -> None:
    history, journal = _history()
    view = inspect_view(history, journal)
    assert set(view) >= {
        "run",
        "tasks",
        "effects",
        "toolCalls",
        "providerSessions",
        "protocolSessions",
        "protocolCalls",
        "checkpoints",
        "audit",
        "traces",
        "artifacts",
        "streamEvents",
        "effectReconciliations",
        "budget",
    }
    assert view["budget"] == {
        "limits": {"maxTurns": 3},
        "usage": {
            "providerRequests": 1,
            "turns": 1,
            "toolCalls": 1,
            "inputTokens": 3,
            "outputTokens": 0,
            "totalTokens": 3,
            "tasks": 2,
        },
        "reserved": {},
        "exceeded": None,
    }


def test_a_tool_call_is_paired_with_the_turn_that_asked_for_it() -> None:
    history, journal = _history()
    calls = inspect_view(history, journal)["toolCalls"]
    assert calls == [
        {
            "callId": "call-x",
            "effectId": "1" * 64,
            "taskId": "left",
            "tool": "echo",
            "operation": "builtin.echo",
            "status": "succeeded",
        }
    ]


def test_tasks_are_listed_in_compiled_order_and_a_skipped_one_counts_as_executed() -> None:
    history, journal = _history()
    tasks = inspect_view(history, journal)["tasks"]
    assert isinstance(tasks, list)
    shown = [(one["taskId"], one["disposition"]) for one in tasks if isinstance(one, dict)]
    assert shown == [("route", None), ("left", "executed")]


def test_the_audit_says_what_moved_and_the_checkpoints_where_a_resume_goes_on() -> None:
    history, journal = _history()
    view = inspect_view(history, journal)
    assert isinstance(view["audit"], list)
    first = view["audit"][0]
    assert isinstance(first, dict)
    assert first["eventType"] == "run.start"
    assert first["payload"] == {"from": "created", "to": "running", "event": "start"}
    assert isinstance(view["checkpoints"], list)
    assert len(view["checkpoints"]) == 1


def test_a_plan_is_shown_with_the_digest_of_instructions_from_a_file_not_their_text() -> None:
    shown = str(plan_view(_plan()))
    assert "instructionsDigest" in shown
    assert "SECRET TEXT" not in shown


def test_a_row_counts_tasks_and_says_the_age() -> None:
    history, _ = _history()
    row = run_row(history.run, NOW + 7_000_000, counts=task_counts(history), holder=None)
    assert row["ageSeconds"] == 7
    assert row["tasks"] == {"pending": 1, "skipped": 1}


@pytest.mark.parametrize("form", ["mermaid", "dot", "svg"])
def test_a_drawing_names_every_task_and_marks_what_happened(form: GraphFormat) -> None:
    drawn = draw_plan(_plan(), form, {"route": "succeeded", "left": "failed"})
    assert all(name in drawn for name in ("route", "left", "right"))
    assert "#dafbe1" in drawn
    assert "#ffebe9" in drawn
    if form == "svg":
        ET.fromstring(drawn)


def test_arrows_from_a_router_carry_the_case() -> None:
    labels = {(one.source, one.target): one.label for one in plan_graph(_plan()).arrows}
    assert labels == {("route", "left"): "= a", ("route", "right"): "default"}


def test_a_run_without_owner_stands_still_and_resume_moves_it() -> None:
    history, _ = _history()
    still = stillness(history, is_held=False, now=NOW)
    assert still is not None
    assert still.next_step == "agentctl resume run-1"
    assert stillness(history, is_held=True, now=NOW) is None


def test_a_run_that_asks_a_person_says_what_for() -> None:
    history, _ = _history()
    question = ApprovalRecord(
        id="ap-1",
        task_id="left",
        effect_id="e",
        request_digest="d",
        summary="builtin.write (workspace_mutate, risk medium)",
        requested_at=NOW,
    )
    still = stillness(evolve(history, approvals=(question,)), is_held=True, now=NOW)
    assert still is not None
    assert still.reason.startswith("waits for a person: builtin.write")
    assert still.next_step == "agentctl approvals approve ap-1"


def test_an_uncertain_effect_is_named_as_the_reason() -> None:
    history, _ = _history()
    started, _ = apply(evolve(_effect(0, "model", None), state="started"), ("lose",), NOW)
    still = stillness(evolve(history, effects=(started,)), is_held=False, now=NOW)
    assert still is not None
    assert still.reason == "model.fake of task left may have happened"


def test_a_run_that_is_over_does_not_stand_still() -> None:
    history, _ = _history()
    over, _ = apply(history.run, ("succeed",), NOW)
    assert stillness(evolve(history, run=over), is_held=False, now=NOW) is None
