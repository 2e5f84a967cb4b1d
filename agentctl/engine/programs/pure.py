"""Programs that touch nothing outside the run: assign, assert, working memory, and structure.

Above: the runner, through `agentctl.engine.programs`. They need no commit of their own, since
running them again from the same records gives the same result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agentctl.engine.decide import GUARD_FALSE, LOOP_ENDED, guard_holds
from agentctl.engine.programs.base import TaskContext, TaskError, TaskResult, record
from agentctl.engine.scope import namespace_scope, task_scope
from agentctl.engine.template import Scope, render, same_json
from agentctl.machines.names import TaskStates
from agentctl.machines.sets import ITERATION_COMPLETE
from agentctl.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentctl.engine.state import RunState
    from agentctl.jsonvalue import JsonObject, JsonValue


def assign(context: TaskContext) -> TaskResult:
    """Give the input back as the output."""
    return TaskResult(output=record(context.input))


def check_assertion(context: TaskContext) -> TaskResult:
    """Succeed when `that` is true; fail the task with `message` when it is false."""
    that = context.input.get("that")
    if not isinstance(that, bool):
        raise TaskError(
            f"builtin.assert needs a boolean `that`, got {_kind(that)}",
            code="invalid_input",
            help="write an exact condition such as ${{ inputs.ready == true }}",
        )
    if not that:
        message = context.input.get("message", "assertion failed")
        raise TaskError(str(message), code="assertion_failed")
    return TaskResult(output=record({"that": True}))


def memory_read(context: TaskContext) -> TaskResult:
    """Read one key of working memory."""
    key = _key(context)
    stored = context.task.namespace + key
    if stored not in context.memory:
        raise TaskError(
            f"working memory has no key {key!r}",
            code="missing_value",
            help=did_you_mean(key, context.memory),
        )
    return TaskResult(output=record({"key": key, "value": context.memory[stored]}))


def memory_write(context: TaskContext) -> TaskResult:
    """Write one declared key of working memory."""
    key = _key(context)
    if context.task.memory_writes and key not in _declared(context):
        raise TaskError(
            f"working memory key {key!r} is not among the task's memoryWrites",
            code="memory_conflict",
            help=did_you_mean(key, _declared(context)),
        )
    if "value" not in context.input:
        raise TaskError("builtin.memory.write needs a `value`", code="invalid_input")
    value = context.input["value"]
    stored = context.task.namespace + key
    before = context.memory.get(stored)
    output = record(
        {"key": key, "value": value}, changed=before != value, before=before, after=value
    )
    return TaskResult(output=output, memory=((stored, value),))


def route(context: TaskContext) -> TaskResult:
    """Compare the selected value with the typed cases, and name the destinations."""
    plan = cast("JsonObject", context.task.uses_name)
    selected = render(plan["select"], context.scope)
    for case in cast("list[JsonObject]", plan["cases"]):
        if same_json(case["equals"], selected):
            return _routed(selected, matched=True, destinations=case["tasks"])
    return _routed(selected, matched=False, destinations=plan["default"])


def aggregate(context: TaskContext) -> TaskResult:
    """Gather the children of a foreach or matrix task."""
    children = cast("list[str]", context.task.uses_name)
    _refuse_failed(context.state, children)
    return TaskResult(output={"items": items(context.state, children)})


def loop_aggregate(context: TaskContext) -> TaskResult:
    """Gather a loop's iterations; fail when the guard still holds after the last one."""
    plan = cast("JsonObject", context.task.uses_name)
    children = cast("list[str]", plan["children"])
    _refuse_failed(context.state, children)
    ran = [child for child in children if _completed(context.state, child)]
    if len(ran) == len(children) and still_true(context.state, children):
        raise TaskError(
            f"the loop's guard still holds after {len(children)} iterations",
            code="loop_exhausted",
            help="raise loop.maxIterations, or let the guard end the loop",
        )
    found: list[JsonValue] = items(context.state, children)
    return TaskResult(output={"items": found, "iterations": len(ran)})


def still_true(state: RunState, children: list[str]) -> bool:
    """Return whether the guard would ask for one more iteration after the last."""
    last = state.plan.tasks[children[-1]]
    assert last.expansion is not None
    plan = cast("JsonObject", state.plan.tasks[last.expansion.parent].uses_name)
    scope = task_scope(state, last)
    position: JsonObject = {
        "loopIndex": len(children),
        "loopPrevious": state.outputs[children[-1]]["output"],
    }
    variables = {**scope.roots["vars"], **position}
    after = Scope(
        inputs=scope.roots["inputs"],
        vars=variables,
        memory=scope.roots["memory"],
        tasks=scope.roots["tasks"],
    )
    return guard_holds(cast("str", plan["condition"]), after)


def boundary(context: TaskContext) -> TaskResult:
    """Validate what enters a sub-workflow: its defaults overlaid by the caller's `with`."""
    plan = cast("JsonObject", context.task.uses_name)
    values = {**cast("JsonObject", plan["defaults"]), **context.input}
    _validate(values, plan["inputSchema"], f"inputs of workflow {plan['name']}")
    return TaskResult(output=values)


def subworkflow_aggregate(context: TaskContext) -> TaskResult:
    """Render and validate what leaves a sub-workflow."""
    plan = cast("JsonObject", context.task.uses_name)
    children = cast("list[str]", plan["children"])
    _refuse_failed(context.state, children)
    inputs_from = next(
        child
        for child in children
        if context.state.plan.tasks[child].uses_kind == "subworkflow_input"
    )
    namespace = cast("str", plan["namespace"])
    scope = namespace_scope(context.state, namespace, inputs_from)
    outputs = render(plan["outputs"], scope)
    _validate(outputs, plan["outputSchema"], f"outputs of workflow {plan['name']}")
    return TaskResult(output=outputs)


def items(state: RunState, children: Iterable[str]) -> list[JsonValue]:
    """Return the aggregate rows of expanded children, in order of index."""
    return [_item(state, child) for child in children]


def all_skipped(state: RunState, children: Iterable[str]) -> bool:
    """Return whether no child ran, for a reason that skips the whole task."""
    return all(_skipped_whole(state, child) for child in children)


def _item(state: RunState, child: str) -> JsonObject:
    task = state.tasks[child]
    expansion = state.plan.tasks[child].expansion
    return {
        "index": expansion.index if expansion else 0,
        "taskId": child,
        "state": task.state,
        "output": task.output,
        "error": task.error,
    }


def _completed(state: RunState, child: str) -> bool:
    iteration = state.iterations.get(child)
    return iteration is not None and iteration.state in ITERATION_COMPLETE


def _skipped_whole(state: RunState, child: str) -> bool:
    task = state.tasks[child]
    if task.state != TaskStates.skipped:
        return False
    reason = cast("JsonObject", task.output).get("reason")
    return reason not in (GUARD_FALSE, LOOP_ENDED)


def _refuse_failed(state: RunState, children: Iterable[str]) -> None:
    failed = [child for child in children if state.tasks[child].state == TaskStates.failed]
    if failed:
        raise TaskError(f"{', '.join(failed)} failed", code="child_failed")


def _routed(selected: JsonValue, *, matched: bool, destinations: JsonValue) -> TaskResult:
    return TaskResult(
        output={"selected": selected, "matched": matched, "destinations": destinations}
    )


def _validate(value: JsonValue, schema: JsonValue, what: str) -> None:
    if schema is None:
        return
    from agentctl.engine.schema_check import validate

    problems = validate(value, schema)
    if problems:
        raise TaskError(f"{what}: {'; '.join(problems)}", code="schema_violation")


def _key(context: TaskContext) -> str:
    key = context.input.get("key")
    if not isinstance(key, str) or not key:
        raise TaskError("working memory needs a text `key`", code="invalid_input")
    return key


def _declared(context: TaskContext) -> tuple[str, ...]:
    start = len(context.task.namespace)
    return tuple(
        key[start:] if key.startswith(context.task.namespace) else key
        for key in context.task.memory_writes
    )


def _kind(value: JsonValue) -> str:
    names = {type(None): "nothing", str: "text", list: "a list", dict: "an object"}
    return names.get(type(value), "a number")
