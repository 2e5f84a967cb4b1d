"""Matrices, loops, routers and sub-workflows at run time."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.harness import Bench, child, task, workflow


def loop(condition: str, maximum: int = 3, initial: Any = None) -> dict[str, Any]:
    return {"maxIterations": maximum, "while": condition, "initial": initial}


def test_a_loop_hands_each_output_to_the_next_iteration(bench: Bench) -> None:
    given = {"before": "${{ vars.loopPrevious }}", "index": "${{ vars.loopIndex }}"}
    document = workflow(
        task(
            "again",
            "action:assign",
            with_=given,
            loop=loop("${{ vars.loopIndex < 2 }}", initial={"seed": True}),
        ),
        outputs={"all": "${{ tasks.again.output }}"},
    )
    outcome = bench.run(document)
    found = child(outcome.output, "all")
    assert found["iterations"] == 2
    first, second, third = found["items"]
    assert child(first, "output", "output") == {"before": {"seed": True}, "index": 0}
    assert child(second, "output", "output", "before", "output", "index") == 0
    assert third["state"] == "skipped"


def test_loop_output_is_another_name_for_the_previous_output(bench: Bench) -> None:
    document = workflow(
        task(
            "again",
            "action:assign",
            with_={"go": False},
            loop=loop("${{ loop.output.go == true }}", initial={"go": True}),
        )
    )
    outcome = bench.run(document)
    states = list(bench.states(outcome.run_id).values())
    # The second guard reads the first iteration's record, which has no `go` of its own.
    assert outcome.state == "failed"
    assert states[0] == "succeeded"
    assert child(outcome.error, "code") == "missing_value"


def test_a_loop_whose_guard_still_holds_at_the_end_fails(bench: Bench) -> None:
    document = workflow(
        task("again", "action:assign", loop=loop("${{ vars.loopIndex < 9 }}", maximum=2))
    )
    outcome = bench.run(document)
    assert child(outcome.error, "code") == "loop_exhausted"
    history = bench.engine.history(outcome.run_id)
    assert [one.state for one in history.iterations] == ["done", "exhausted"]


def test_a_loop_whose_guard_is_false_at_once_has_no_iterations(bench: Bench) -> None:
    document = workflow(
        task("again", "action:assign", loop=loop("${{ vars.loopIndex < 0 }}")),
        task("after", "action:assign", "again"),
        outputs={"n": "${{ tasks.again.output.iterations }}"},
    )
    outcome = bench.run(document)
    assert outcome.output == {"n": 0}
    assert bench.states(outcome.run_id)["after"] == "succeeded"
    history = bench.engine.history(outcome.run_id)
    assert {one.state for one in history.iterations} == {"skipped"}


def test_a_failed_iteration_ends_the_loop(bench: Bench) -> None:
    document = workflow(
        task(
            "again",
            "action:assert",
            with_={"that": "${{ vars.loopIndex == 0 }}"},
            loop=loop("${{ vars.loopIndex < 3 }}"),
        )
    )
    outcome = bench.run(document)
    history = bench.engine.history(outcome.run_id)
    assert [one.state for one in history.iterations][:2] == ["done", "failed"]
    assert outcome.state == "failed"


@pytest.mark.parametrize(
    ("value", "chosen"), [(1, "one"), ("1", "text"), (True, "yes"), (2, "no")]
)
def test_a_router_compares_values_with_their_types(
    bench: Bench, value: object, chosen: str
) -> None:
    route = {
        "select": "${{ inputs.value }}",
        "cases": [
            {"equals": 1, "tasks": ["one"]},
            {"equals": "1", "tasks": ["text"]},
            {"equals": True, "tasks": ["yes"]},
        ],
        "default": ["no"],
    }
    names = ("one", "text", "yes", "no")
    document = workflow(
        task("route", "router", route=route),
        *(task(name, "action:assign", "route") for name in names),
        inputs={"value": None},
    )
    outcome = bench.run(document, value=value)
    states = bench.states(outcome.run_id)
    assert [name for name in names if states[name] == "succeeded"] == [chosen]
    skipped = next(name for name in names if name != chosen)
    assert child(bench.outputs(outcome.run_id), skipped, "reason") == "route not selected"


def test_a_router_may_lead_to_a_matrix_a_loop_and_a_subworkflow(bench: Bench) -> None:
    route = {
        "select": "${{ inputs.way }}",
        "cases": [{"equals": "go", "tasks": ["many", "again", "part"]}],
        "default": ["other"],
    }
    part = {
        "version": "1.0.0",
        "tasks": [task("inner", "action:assign", with_={"x": 1})],
        "outputs": {"x": "${{ tasks.inner.output.output.x }}"},
    }
    document = workflow(
        task("route", "router", route=route),
        task("many", "action:assign", "route", matrix={"axes": {"n": [1, 2]}}),
        task("again", "action:assign", "route", loop=loop("${{ vars.loopIndex < 1 }}")),
        task("part", "workflow:part", "route"),
        task("other", "action:assign", "route"),
        inputs={"way": "go"},
        subworkflows={"part": part},
    )
    chosen = bench.states(bench.run(document).run_id)
    assert {chosen[name] for name in ("many", "again", "part")} == {"succeeded"}
    assert chosen["other"] == "skipped"
    left = bench.states(bench.run(document, way="stop").run_id)
    assert {state for name, state in left.items() if name not in ("route", "other")} == {"skipped"}
    assert left["other"] == "succeeded"


def test_an_aggregate_lists_every_child_and_fails_with_one(bench: Bench) -> None:
    document = workflow(
        task(
            "each",
            "action:assert",
            foreach={"items": [True, False, True], "as": "ok"},
            with_={"that": "${{ vars.ok }}"},
            failure="continue",
        ),
        task("after", "action:assign", "each"),
    )
    outcome = bench.run(document)
    states = bench.states(outcome.run_id)
    assert states["each"] == "failed"
    assert states["after"] == "skipped"
    children = [state for name, state in states.items() if name.startswith("each--")]
    assert children == ["succeeded", "failed", "succeeded"]


def test_a_foreach_child_sees_its_item_and_index(bench: Bench) -> None:
    document = workflow(
        task(
            "each",
            "action:assign",
            foreach={"items": ["a", {"b": 1}]},
            with_={"item": "${{ vars.item }}", "index": "${{ vars.foreachIndex }}"},
        ),
        outputs={"items": "${{ tasks.each.output.items }}"},
    )
    items = child(bench.run(document).output, "items")
    found = [child(one, "output", "output") for one in items]
    assert found == [{"item": "a", "index": 0}, {"item": {"b": 1}, "index": 1}]


def nested() -> dict[str, Any]:
    inner = {
        "version": "1.0.0",
        "inputSchema": {
            "type": "object",
            "required": ["n"],
            "properties": {"n": {"type": "integer"}},
        },
        "inputs": {"greeting": "hello"},
        "tasks": [
            task("keep", "action:remember", with_={"key": "last", "value": "${{ inputs.n }}"}),
            task("look", "action:recall", "keep", with_={"key": "last"}),
        ],
        "outputs": {
            "text": "${{ inputs.greeting }} ${{ tasks.look.output.output.value }}",
        },
        "outputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
    }
    outer = {
        "version": "1.0.0",
        "tasks": [
            task("a", "workflow:inner", with_={"n": "${{ inputs.n }}"}),
            task("b", "workflow:inner", "a", with_={"n": 7, "greeting": "bye"}),
        ],
        "outputs": {"a": "${{ tasks.a.output.text }}", "b": "${{ tasks.b.output.text }}"},
    }
    return workflow(
        task("top", "workflow:outer", with_={"n": "${{ inputs.n }}"}),
        inputs={"n": 1},
        subworkflows={"inner": inner, "outer": outer},
        outputs={"all": "${{ tasks.top.output }}"},
    )


def test_nested_subworkflows_keep_their_ids_inputs_and_memory_apart(bench: Bench) -> None:
    outcome = bench.run(nested(), n=5)
    assert outcome.output == {"all": {"a": "hello 5", "b": "bye 7"}}
    memory = bench.engine.history(outcome.run_id).memory
    assert sorted(memory.values(), key=str) == [5, 7]


def test_inputs_that_break_a_boundary_fail_before_anything_inside_runs(bench: Bench) -> None:
    outcome = bench.run(
        {**nested(), "spec": {**nested()["spec"], "inputs": {"n": None}}}, n="five"
    )
    assert child(outcome.error, "code") == "schema_violation"
    assert not [one for one in bench.told("task.start") if one.endswith("--keep")]
