"""Budgets of a run: reserved before a dispatch, settled after it, raised by a person."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest

from agentctl.errors import StateError, UsageError
from agentctl.testing import CrashPoint, SimulatedCrash
from tests.engine.harness import Bench, child, task, workflow

PRICES = {
    "version": "1",
    "models": {
        "fake/scripted": {
            "inputMicrousdPerMillionTokens": 1_000_000,
            "outputMicrousdPerMillionTokens": 10_000_000,
        }
    },
}


# Each request is taken to have 10 tokens: 40 characters of messages and instructions. Each answer
# may have 8, and has 1.
def chain(count: int, agent: dict[str, Any] | None = None, **budgets: Any) -> dict[str, Any]:
    """Return `count` agent tasks in a row, under budgets."""
    names = [f"t{number}" for number in range(count)]
    definition = {"provider": "fake", "model": "scripted", "instructions": "Say it."}
    return workflow(
        *(
            task(name, "agent:a", *names[max(place - 1, 0) : place], with_={"prompt": name})
            for place, name in enumerate(names)
        ),
        providers={"fake": {"kind": "fake"}},
        agents={"a": {**definition, "maxOutputTokens": 8, **(agent or {})}},
        runtime={"budgets": budgets, "pricing": PRICES},
        outputs={"last": f"${{{{ tasks.{names[-1]}.output.text }}}}"},
    )


def exceeded(bench: Bench, run_id: str) -> Any:
    """Return what stopped a run, as `inspect` shows it."""
    return child(bench.engine.inspect(run_id), "budget", "exceeded")


@pytest.mark.parametrize(
    ("name", "limit", "dimension", "attempted"),
    [
        ("maxProviderRequests", 1, "providerRequests", 2),
        ("maxTurns", 1, "turns", 2),
        ("maxOutputTokens", 8, "outputTokens", 9),
        ("maxInputTokens", 19, "inputTokens", 20),
        ("maxTotalTokens", 25, "totalTokens", 29),
        ("maxCostMicrousd", 100, "costMicrousd", 110),
    ],
)
def test_the_request_that_would_pass_a_limit_is_not_made(
    bench: Bench, name: str, limit: int, dimension: str, attempted: int
) -> None:
    outcome = bench.run(chain(2, None, **{name: limit}))
    assert outcome.exit_code == 4
    assert exceeded(bench, outcome.run_id) == {
        "dimension": dimension,
        "limit": limit,
        "attempted": attempted,
    }
    states = [one.state for one in bench.engine.history(outcome.run_id).effects]
    assert states == ["succeeded", "requested"]


def test_every_limit_that_is_passed_is_named_at_once(bench: Bench) -> None:
    outcome = bench.run(chain(2, maxTurns=1, maxProviderRequests=1))
    message = str(child(outcome.error, "message"))
    assert "providerRequests is 1" in message
    assert "turns is 1" in message


def test_reaching_a_limit_exactly_is_allowed(bench: Bench) -> None:
    assert bench.run(chain(2, maxTurns=2)).state == "succeeded"


def test_a_raise_goes_on_with_all_finished_work(bench: Bench) -> None:
    stopped = bench.run(chain(3, maxTurns=1))
    resumed = bench.engine.resume_sync(
        stopped.run_id, raise_budgets={"maxTurns": 3}, actor="operator"
    )
    assert resumed.state == "succeeded"
    assert child(resumed.output, "last") == "t2"
    dispatches = [one.dispatch for one in bench.engine.history(stopped.run_id).effects]
    assert dispatches == [1, 1, 1]
    raises = [
        move
        for _, move in bench.engine.store.transitions(stopped.run_id)
        if move.event == "raise_budget"
    ]
    assert [(one.actor, one.detail) for one in raises] == [
        ("operator", {"raised": {"maxTurns": {"from": 1, "to": 3}}})
    ]


def test_a_raise_that_is_too_small_stops_the_run_again(bench: Bench) -> None:
    stopped = bench.run(chain(3, maxTurns=1))
    again = bench.engine.resume_sync(stopped.run_id, raise_budgets={"maxTurns": 2}, actor="x")
    assert again.exit_code == 4
    assert child(exceeded(bench, stopped.run_id), "limit") == 2
    last = bench.engine.resume_sync(stopped.run_id, raise_budgets={"maxTurns": 3}, actor="x")
    assert last.state == "succeeded"


def test_a_spent_run_is_not_resumed_without_a_raise(bench: Bench) -> None:
    stopped = bench.run(chain(2, maxTurns=1))
    with pytest.raises(StateError, match="turns is 1"):
        bench.engine.resume_sync(stopped.run_id)


def test_wrong_raises_are_all_named(bench: Bench) -> None:
    stopped = bench.run(chain(2, maxTurns=1))
    stopped_at = bench.engine.history(stopped.run_id).run.version
    wrong = {"maxTurn": 2, "maxTurns": 1, "maxToolCalls": 4}
    with pytest.raises(UsageError) as caught:
        bench.engine.resume_sync(stopped.run_id, raise_budgets=wrong, actor="x")
    for part in ("did you mean 'maxTurns'", "would not raise", "does not limit maxToolCalls"):
        assert part in caught.value.message
    assert bench.engine.history(stopped.run_id).run.version == stopped_at


def test_what_a_crashed_process_used_still_counts(bench: Bench) -> None:
    document = chain(2, maxTurns=1)
    bench.reopened(CrashPoint(at=2))
    with pytest.raises(SimulatedCrash):
        bench.run(document)
    engine = bench.reopened()
    (run,) = engine.store.list_runs()
    assert engine.resume_sync(run.id).state == "paused"
    engine.reconcile(
        run.id,
        "t0/1.0",
        status="applied",
        actor="operator",
        reason="the provider's log has it",
        result={
            "text": "t0",
            "toolCalls": [],
            "stopReason": "end_turn",
            "usage": {"inputTokens": 1, "outputTokens": 1},
        },
    )
    outcome = engine.resume_sync(run.id)
    assert outcome.exit_code == 4
    assert child(exceeded(bench, run.id), "attempted") == 2


def test_tool_calls_are_counted(bench: Bench) -> None:
    from tests.engine.test_agents import READ_TOOL

    (bench.folder / "note.txt").write_text("evidence", encoding="utf-8")
    options = {"toolInput": {"path": "note.txt"}, "finalText": "read"}
    document = chain(2, {"providerOptions": options, "tools": ["read"]}, maxToolCalls=1)
    document["spec"]["tools"] = {"read": READ_TOOL}
    outcome = bench.run(document)
    assert exceeded(bench, outcome.run_id) == {
        "dimension": "toolCalls",
        "limit": 1,
        "attempted": 2,
    }


def test_written_bytes_are_reserved_before_the_write(bench: Bench) -> None:
    document = workflow(
        task("w", "action:write", with_={"path": "out/a.txt", "content": "12345"}),
        runtime={"budgets": {"maxArtifactBytes": 4}},
    )
    (bench.folder / "out").mkdir()
    outcome = bench.run(document)
    assert exceeded(bench, outcome.run_id) == {
        "dimension": "artifactBytes",
        "limit": 4,
        "attempted": 5,
    }
    assert not (bench.folder / "out" / "a.txt").exists()


def test_what_a_failed_program_printed_counts_too(bench: Bench) -> None:
    script = "print('x' * 600); raise SystemExit(3)"
    limits = dict.fromkeys(
        ("stdoutLimitBytes", "stderrLimitBytes", "combinedOutputLimitBytes"), 1_000
    )
    command = {"command": sys.executable, "args": ["-I", "-S", "-c", script]}
    fail = {"kind": "builtin.shell.exec", **command, **limits}
    document = workflow(
        task("one", "action:fail", failure="continue"),
        task("two", "action:fail"),
        actions={"fail": fail},
        policy={"approval": "never", "processAllowlist": [os.path.basename(sys.executable)]},
        runtime={"budgets": {"maxProcessOutputBytes": 1_500}},
    )
    outcome = bench.run(document)
    assert child(exceeded(bench, outcome.run_id), "dimension") == "processOutputBytes"
    states = [one.state for one in bench.engine.history(outcome.run_id).effects]
    assert states == ["failed", "requested"]


def test_wall_time_counts_the_pauses(bench: Bench) -> None:
    document = chain(1, maxWallTimeSeconds=60)
    document["spec"]["actions"]["hold"] = {"kind": "builtin.write"}
    document["spec"]["policy"] = {"approval": "always", "writableRoots": ["out"]}
    paused = bench.run(document)
    assert paused.state == "paused"
    (asked,) = bench.engine.history(paused.run_id).approvals
    bench.engine.decide_approval(asked.id, approve=True, actor="x")
    bench.clock.advance(61)
    late = bench.engine.resume_sync(paused.run_id)
    assert late.exit_code == 4
    assert child(exceeded(bench, paused.run_id), "dimension") == "wallTimeSeconds"
    raised = bench.engine.resume_sync(
        paused.run_id, raise_budgets={"maxWallTimeSeconds": 120}, actor="x"
    )
    assert raised.state == "succeeded"


def test_an_effect_in_flight_is_called_back_when_the_time_is_up(bench: Bench) -> None:
    document = chain(1, {"providerOptions": {"delayMs": 60_000}}, maxWallTimeSeconds=1)
    outcome = bench.run(document)
    assert outcome.exit_code == 4
    (effect,) = bench.engine.history(outcome.run_id).effects
    assert effect.state == "uncertain"
    assert bench.states(outcome.run_id) == {"t0": "waiting_for_effect"}


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ({"maxOutputTokens": 7}, "maxOutputTokens"),
        ({"maxInputTokens": 3}, "maxInputTokens"),
        ({"maxCostUsd": 0.00001}, "maxCostUsd"),
    ],
)
def test_an_agents_own_limit_fails_its_task(
    bench: Bench, limit: dict[str, float], said: str
) -> None:
    outcome = bench.run(chain(1, {"usageLimit": limit}))
    assert outcome.state == "failed"
    assert child(outcome.error, "code") == "usage_limit"
    assert said in str(child(outcome.error, "message"))


def test_a_cancelled_run_that_was_out_of_budget_stays_cancelled(bench: Bench) -> None:
    stopped = bench.run(chain(2, maxTurns=1))
    cancelled = bench.engine.cancel_sync(stopped.run_id, actor="x", reason="enough")
    assert cancelled is not None
    assert cancelled.state == "cancelled"
    assert bench.states(stopped.run_id) == {"t0": "succeeded", "t1": "cancelled"}
