"""Order, batches, failures and skips."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentctl import EffectError
from tests.engine.harness import Bench, child, task, workflow


def test_independent_tasks_start_in_the_order_of_declaration(bench: Bench) -> None:
    bench.run(workflow(task("b", "action:assign"), task("a", "action:assign")))
    assert bench.told("task.start") == ["task.start b", "task.start a"]


def test_a_batch_has_at_most_max_concurrency_tasks_in_flight(bench: Bench) -> None:
    flying: list[int] = [0, 0]

    @bench.engine.action("work")
    async def work() -> dict[str, int]:
        flying[0] += 1
        flying[1] = max(flying)
        await asyncio.sleep(0)
        flying[0] -= 1
        return {}

    tasks = [task(f"t{n}", "action:work") for n in range(7)]
    outcome = bench.run(workflow(*tasks, runtime={"maxConcurrency": 3}))
    assert outcome.state == "succeeded"
    assert flying[1] == 3


def test_results_of_a_batch_are_applied_in_compiled_order(bench: Bench) -> None:
    @bench.engine.action("slow")
    async def slow() -> dict[str, str]:
        for _ in range(20):
            await asyncio.sleep(0)
        return {"who": "slow"}

    @bench.engine.action("quick")
    async def quick() -> dict[str, str]:
        return {"who": "quick"}

    document = workflow(
        task("first", "action:slow"),
        task("second", "action:quick"),
        runtime={"maxConcurrency": 2},
    )
    bench.run(document)
    assert bench.told("effect.succeed") == [
        "effect.succeed second/1.0",
        "effect.succeed first/1.0",
    ]
    assert bench.told("task.succeed") == ["task.succeed first", "task.succeed second"]


def test_a_batch_reads_the_memory_from_before_it(bench: Bench) -> None:
    document = workflow(
        task("write", "action:remember", with_={"key": "n", "value": 2}),
        task("read", "action:recall", with_={"key": "n"}),
        task("later", "action:recall", "write", with_={"key": "n"}),
        memory={"working": {"n": 1}},
        runtime={"maxConcurrency": 2},
    )
    outcome = bench.run(document)
    found = bench.outputs(outcome.run_id)
    assert child(found, "read", "output", "value") == 1
    assert child(found, "later", "output", "value") == 2


def test_a_stop_failure_lets_siblings_finish_and_cancels_the_rest(bench: Bench) -> None:
    @bench.engine.action("work")
    async def work() -> dict[str, int]:
        await asyncio.sleep(0)
        return {}

    document = workflow(
        task("bad", "action:assert", with_={"that": False, "message": "no"}),
        task("sibling", "action:work"),
        task("waiting", "action:assign"),
        task("after", "action:assign", "bad"),
        runtime={"maxConcurrency": 2},
    )
    outcome = bench.run(document)
    assert outcome.exit_code == 4
    assert outcome.error == {"code": "assertion_failed", "message": "no", "taskId": "bad"}
    assert bench.states(outcome.run_id) == {
        "bad": "failed",
        "sibling": "succeeded",
        "waiting": "cancelled",
        "after": "cancelled",
    }


def test_a_continue_failure_skips_its_descendants_and_fails_the_run_at_the_end(
    bench: Bench,
) -> None:
    document = workflow(
        task("bad", "action:assert", with_={"that": False}, failure="continue"),
        task("after", "action:assign", "bad"),
        task("far", "action:assign", "after"),
        task("free", "action:assign"),
    )
    outcome = bench.run(document)
    assert outcome.state == "failed"
    assert bench.states(outcome.run_id) == {
        "bad": "failed",
        "after": "skipped",
        "far": "skipped",
        "free": "succeeded",
    }


def test_a_false_when_skips_with_the_evidence(bench: Bench) -> None:
    document = workflow(
        task("maybe", "action:assign", when="${{ inputs.go == true }}"), inputs={"go": False}
    )
    outcome = bench.run(document)
    reason = bench.outputs(outcome.run_id)["maybe"]
    assert reason["reason"] == "when condition was false"
    assert child(reason, "condition", "expression") == "${{ inputs.go == true }}"
    assert child(reason, "condition", "result") is False
    assert len(child(reason, "condition", "contextDigest")) == 64


def test_a_condition_over_a_missing_value_fails_the_task(bench: Bench) -> None:
    document = workflow(
        task("give", "action:assign", with_={"a": 1}),
        task("ask", "action:assign", "give", when="${{ tasks.give.output.output.b }}"),
    )
    outcome = bench.run(document)
    assert child(outcome.error, "code") == "missing_value"
    assert bench.states(outcome.run_id)["ask"] == "failed"


def test_an_output_that_breaks_its_schema_fails_the_task(bench: Bench) -> None:
    schema = {"type": "object", "properties": {"output": {"required": ["b"]}}}
    outcome = bench.run(workflow(task("t", "action:assign", with_={"a": 1}, outputSchema=schema)))
    assert child(outcome.error, "code") == "schema_violation"


def test_outputs_that_cannot_be_rendered_fail_the_run(bench: Bench) -> None:
    document = workflow(
        task("t", "action:assign", with_={"a": 1}),
        outputs={"x": "${{ tasks.t.output.output.b }}"},
    )
    outcome = bench.run(document)
    assert outcome.state == "failed"
    assert child(outcome.error, "code") == "missing_value"


def test_values_are_never_expanded_again(bench: Bench) -> None:
    document = workflow(
        task("t", "action:assign", with_={"text": "${{ inputs.text }}"}),
        inputs={"text": ""},
        outputs={"text": "${{ tasks.t.output.output.text }}"},
    )
    outcome = bench.run(document, text="${{ inputs.secret }}")
    assert outcome.output == {"text": "${{ inputs.secret }}"}


@pytest.mark.parametrize("failures", [0, 1, 2])
def test_a_retry_waits_as_declared_and_then_succeeds(bench: Bench, failures: int) -> None:
    calls: list[int] = []

    @bench.engine.action("flaky")
    async def flaky() -> dict[str, int]:
        calls.append(bench.clock.now())
        if len(calls) <= failures:
            raise EffectError("not yet", retryable=True)
        return {"calls": len(calls)}

    retry = {"maxAttempts": 3, "backoffMs": 1000}
    outcome = bench.run(workflow(task("t", "action:flaky", retry=retry)))
    assert outcome.state == "succeeded"
    assert len(calls) == failures + 1
    waits = [(after - before) / 1e6 for before, after in pairwise(calls)]
    for number, wait in enumerate(waits):
        assert 0.8 * 2**number <= wait <= 2**number


def test_attempts_end_at_the_maximum(bench: Bench) -> None:
    calls: list[int] = []

    @bench.engine.action("broken")
    async def broken() -> dict[str, int]:
        calls.append(1)
        raise EffectError("never", retryable=True)

    retry = {"maxAttempts": 4, "backoffMs": 10}
    outcome = bench.run(workflow(task("t", "action:broken", retry=retry)))
    assert outcome.state == "failed"
    assert len(calls) == 4
    names = [one.name for one in bench.engine.history(outcome.run_id).effects]
    assert names == ["t/1.0", "t/2.0", "t/3.0", "t/4.0"]


def test_what_would_fail_again_is_not_retried(bench: Bench) -> None:
    retry = {"maxAttempts": 5}
    document = workflow(task("t", "action:assert", with_={"that": False}, retry=retry))
    outcome = bench.run(document)
    assert bench.engine.history(outcome.run_id).tasks[0].attempt == 1


@st.composite
def graphs(draw: st.DrawFn) -> list[tuple[str, list[str], str]]:
    """Return tasks with dependencies on earlier ones, and what each will do."""
    count = draw(st.integers(1, 9))
    kinds = st.sampled_from(["pass", "pass", "pass", "fail", "skip"])
    return [
        (f"t{n}", draw(st.lists(st.sampled_from([f"t{m}" for m in range(n)]), unique=True))
         if n else [], draw(kinds))
        for n in range(count)
    ]  # fmt: skip


def document_of(graph: list[tuple[str, list[str], str]], concurrency: int) -> dict[str, Any]:
    """Return the workflow of a random graph in which failures let others go on."""
    tasks = []
    for name, needs, kind in graph:
        more: dict[str, Any] = {"failure": "continue"}
        if kind == "skip":
            more["when"] = "${{ inputs.no }}"
        uses = "action:assert" if kind == "fail" else "action:assign"
        tasks.append(task(name, uses, *needs, with_={"that": False}, **more))
    return workflow(*tasks, inputs={"no": False}, runtime={"maxConcurrency": concurrency})


def expected(graph: list[tuple[str, list[str], str]]) -> dict[str, str]:
    """Return the final states that the rules give."""
    states: dict[str, str] = {}
    for name, needs, kind in graph:
        if any(states[need] != "succeeded" for need in needs) or kind == "skip":
            states[name] = "skipped"
        else:
            states[name] = "failed" if kind == "fail" else "succeeded"
    return states


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(graph=graphs(), concurrency=st.integers(1, 5))
def test_any_graph_ends_as_the_rules_say_at_any_concurrency(
    bench: Bench, graph: list[tuple[str, list[str], str]], concurrency: int
) -> None:
    outcome = bench.run(document_of(graph, concurrency))
    assert bench.states(outcome.run_id) == expected(graph)
    assert outcome.state == ("failed" if "failed" in expected(graph).values() else "succeeded")
