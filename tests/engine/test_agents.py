"""The bounded agent loop on the scripted provider."""

from __future__ import annotations

from typing import Any

import pytest

from agentctl.testing import CrashPoint, SimulatedCrash
from tests.engine.harness import Bench, child, task, workflow

READ_TOOL = {
    "kind": "builtin.workspace.read",
    "description": "Read one file.",
    "inputSchema": {
        "type": "object",
        "required": ["path"],
        "additionalProperties": False,
        "properties": {"path": {"type": "string"}},
    },
    "outputSchema": {"type": "object", "required": ["content"]},
    "capability": "filesystem.read",
    "risk": "low",
    "effectClass": "observe",
    "idempotency": "idempotent",
    "retrySafe": True,
    "timeoutSeconds": 5,
    "approval": "never",
}


def agent(options: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Return a workflow with one scripted agent."""
    definition = {
        "provider": "fake",
        "model": "scripted",
        "instructions": "Do it.",
        "providerOptions": options or {},
        **more,
    }
    return workflow(
        task("ask", "agent:a", with_={"prompt": "hello"}, **more.pop("task", {})),
        providers={"fake": {"kind": "fake"}},
        agents={"a": {key: value for key, value in definition.items() if key != "task"}},
        tools={"read": READ_TOOL},
        outputs={"answer": "${{ tasks.ask.output }}"},
    )


def test_an_agent_answers_with_text_and_usage(bench: Bench) -> None:
    answer = child(bench.run(agent({"finalText": "done"})).output, "answer")
    assert answer["text"] == "done"
    assert answer["usage"]["outputTokens"] == 1


def test_a_tool_call_is_an_effect_of_its_own(bench: Bench) -> None:
    (bench.folder / "note.txt").write_text("evidence", encoding="utf-8")
    document = agent({"toolInput": {"path": "note.txt"}, "finalText": "read"}, tools=["read"])
    outcome = bench.run(document)
    effects = bench.engine.history(outcome.run_id).effects
    assert [one.operation for one in effects] == [
        "model.fake",
        "builtin.workspace.read",
        "model.fake",
    ]
    assert child(effects[1].result, "content") == "evidence"


def test_a_resumed_agent_goes_on_from_its_last_confirmed_turn(bench: Bench) -> None:
    (bench.folder / "note.txt").write_text("evidence", encoding="utf-8")
    document = agent({"toolInput": {"path": "note.txt"}, "finalText": "read"}, tools=["read"])
    # The model's first answer is confirmed by the commit that starts the tool call.
    bench.reopened(CrashPoint(at=2, after=True))
    with pytest.raises(SimulatedCrash):
        bench.run(document)
    bench.reopened()
    (run,) = bench.engine.store.list_runs()
    outcome = bench.engine.resume_sync(run.id)
    assert outcome.state == "succeeded"
    effects = bench.engine.history(run.id).effects
    assert [one.dispatch for one in effects] == [1, 2, 1]


@pytest.mark.parametrize(
    ("options", "more", "code"),
    [
        ({"toolInput": {"path": "x"}}, {"tools": ["read"], "maxToolCalls": 0}, "tool_call_limit"),
        ({"toolInput": {"path": "a"}}, {"tools": ["read"], "maxTurns": 1}, "turn_limit"),
        ({"toolInput": {"wrong": 1}}, {"tools": ["read"]}, "schema_violation"),
        ({"toolInput": {"path": "../etc"}}, {"tools": ["read"]}, "path_refused"),
        ({"toolInput": {"path": "none"}}, {"tools": ["read"]}, "file_missing"),
        ({"finalText": "no json"}, {"structuredOutput": {"type": "object"}}, "structured_output"),
        ({"finalText": "[]"}, {"structuredOutput": {"type": "object"}}, "structured_output"),
    ],
)
def test_a_bound_or_a_schema_that_is_broken_fails_the_task(
    bench: Bench, options: dict[str, Any], more: dict[str, Any], code: str
) -> None:
    (bench.folder / "a").write_text("a", encoding="utf-8")
    outcome = bench.run(agent(options, **more))
    assert outcome.exit_code == 4
    assert child(outcome.error, "code") == code


def test_a_scripted_failure_is_retried_as_the_agent_declares(bench: Bench) -> None:
    document = agent({"failFirst": 2, "finalText": "ok"}, retry={"maxAttempts": 3})
    outcome = bench.run(document)
    assert outcome.state == "succeeded"
    states = [one.state for one in bench.engine.history(outcome.run_id).effects]
    assert states == ["failed", "failed", "succeeded"]


def test_a_stream_is_stored_in_order_and_told(bench: Bench) -> None:
    outcome = bench.run(agent({"finalText": "one two three"}, stream=True))
    stored = bench.engine.store.stream_events(outcome.run_id)
    assert [one.sequence for one in stored] == list(range(1, len(stored) + 1))
    deltas = [child(one.payload, "text") for one in stored if one.event_type == "text.delta"]
    assert "".join(deltas) == "one two three"
    assert [one.event_type for one in bench.events if not one.machine] == [
        one.event_type for one in stored
    ]


def test_structured_output_is_the_tasks_output(bench: Bench) -> None:
    schema = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
    outcome = bench.run(agent({"finalText": '{"n": 3}'}, structuredOutput=schema))
    assert outcome.output == {"answer": {"n": 3}}
