"""What becomes of a task whose dependencies are over: it starts, or it is skipped and why.

Above: the runner, which turns the verdict into moves. Below: state, scope and conditions. Pure:
the same state gives the same verdict.
Source: specification, sections 2.2, 3 (expansion, router) and 7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from attr import frozen

from agentctl.engine.scope import task_scope
from agentctl.engine.template import parse_condition
from agentctl.jsonvalue import digest
from agentctl.machines.names import IterationStates
from agentctl.machines.sets import TASK_SATISFIED
from agentctl.value import Value

if TYPE_CHECKING:
    from agentctl.engine.plan import PlanTask
    from agentctl.engine.state import RunState
    from agentctl.engine.template import Scope
    from agentctl.jsonvalue import JsonObject
    from agentctl.machines.names import IterationEvent, TaskEvent

ROUTE_NOT_SELECTED = "route not selected"
CONDITION_FALSE = "when condition was false"
DEPENDENCY_OVER = "a dependency has no output"
LOOP_ENDED = "the loop has ended"
GUARD_FALSE = "the loop's guard was false"

# These run to say how others ended, so an unsatisfied dependency does not skip them.
AGGREGATES = frozenset({"aggregate", "loop_aggregate", "subworkflow_aggregate"})


@frozen(eq=False, repr=False)
class Skip(Value):
    """A task that will not run: the event that says so and the output that explains it."""

    event: TaskEvent
    output: JsonObject
    iteration: tuple[IterationEvent, ...] = ()


def verdict(state: RunState, task: PlanTask) -> Skip | None:
    """Return why the task is skipped, or None when it may start.

    Raises TemplateError when a condition reads something that is missing or not comparable.
    """
    loop = loop_of(state, task)
    if loop is not None and task.previous is not None:
        ended = _after_the_end(state, task)
        if ended is not None:
            return ended
    if task.uses_kind not in AGGREGATES:
        blocked = _unsatisfied(state, task)
        if blocked is not None:
            return blocked
    routed = _not_routed(state, task)
    if routed is not None:
        return routed
    if loop is not None:
        return _guard(state, task, cast("str", loop["condition"]))
    if task.when is not None:
        return _condition(state, task, task.when)
    return None


def loop_of(state: RunState, task: PlanTask) -> JsonObject | None:
    """Return `{children, condition, maxIterations}` when the task is a loop's iteration."""
    if task.expansion is None:
        return None
    parent = state.plan.tasks[task.expansion.parent]
    if parent.uses_kind != "loop_aggregate":
        return None
    return cast("JsonObject", parent.uses_name)


def guard_holds(condition: str, scope: Scope) -> bool:
    """Return whether a loop's guard is true in a scope."""
    return parse_condition(condition, allow_loop=True).evaluate(scope)


def _after_the_end(state: RunState, task: PlanTask) -> Skip | None:
    """Skip an iteration whose predecessor did not run."""
    assert task.previous is not None
    previous = state.iterations.get(task.previous)
    if previous is None or previous.state != IterationStates.skipped:
        return None
    output = cast("JsonObject", state.tasks[task.previous].output)
    if output.get("reason") in (LOOP_ENDED, GUARD_FALSE):
        index = task.expansion.index if task.expansion else 0
        return Skip("skip_by_guard", {"reason": LOOP_ENDED, "iteration": index}, ("bypass",))
    return Skip("skip_by_dependency", dict(output), ("bypass",))


def _unsatisfied(state: RunState, task: PlanTask) -> Skip | None:
    for need in task.needs:
        ended = state.tasks[need].state
        if ended in TASK_SATISFIED:
            continue
        return Skip(
            "skip_by_dependency",
            {"reason": DEPENDENCY_OVER, "dependency": need, "state": ended},
            ("bypass",) if loop_of(state, task) is not None else (),
        )
    return None


def _not_routed(state: RunState, task: PlanTask) -> Skip | None:
    for router in task.route_guards:
        route = cast("JsonObject", state.tasks[router].output)
        destinations = cast("list[str]", route["destinations"])
        target = task.expansion.parent if task.expansion else task.id
        if target in destinations or task.id in destinations:
            continue
        about: JsonObject = {"router": router, "value": route["selected"]}
        return Skip(
            "skip_by_route",
            {"reason": ROUTE_NOT_SELECTED, "route": about},
            ("bypass",) if loop_of(state, task) is not None else (),
        )
    return None


def _condition(state: RunState, task: PlanTask, text: str) -> Skip | None:
    scope = task_scope(state, task)
    if parse_condition(text).evaluate(scope):
        return None
    return Skip(
        "skip_by_condition",
        {"reason": CONDITION_FALSE, "condition": _evidence(text, scope)},
    )


def _guard(state: RunState, task: PlanTask, text: str) -> Skip | None:
    scope = task_scope(state, task)
    if guard_holds(text, scope):
        return None
    return Skip(
        "skip_by_guard",
        {"reason": GUARD_FALSE, "condition": _evidence(text, scope)},
        ("evaluate", "decline"),
    )


def _evidence(text: str, scope: Scope) -> JsonObject:
    """Return what was decided on: the expression, and a digest of the values it read."""
    condition = parse_condition(text, allow_loop=True)
    read = {".".join(path): scope.lookup(path) for path in condition.references}
    return {"expression": condition.expression, "contextDigest": digest(read), "result": False}
