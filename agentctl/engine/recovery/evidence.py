"""What a task saw when it ran, and what it would see now: working memory, inputs, outputs.

Above: the planner. Below: the journal, scopes and templates. The journal says in which order
tasks started and succeeded, so the memory that each one read can be computed again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agentctl.engine.kinds import MEMORY_WRITERS
from agentctl.engine.programs import action_kind
from agentctl.engine.programs.agent import instructions_of
from agentctl.engine.scope import task_scope
from agentctl.engine.template import render
from agentctl.errors import AgentctlError
from agentctl.jsonvalue import digest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentctl.engine.expression import Scope
    from agentctl.engine.plan import Plan, PlanTask
    from agentctl.engine.records import Transition
    from agentctl.engine.state import RunState
    from agentctl.jsonvalue import JsonObject, JsonValue

MEMORY_ACTIONS = frozenset({"builtin.memory.read", "builtin.memory.write"})
_STARTS = "start"
_MIGRATES = "migrate_memory"
_GAVE_OUTPUT = frozenset({"succeed", "reuse"})


def initial_memory(plan: Plan) -> JsonObject:
    """Return the working memory that a run of the plan begins with."""
    memory = cast("JsonObject", plan.definitions["memory"])
    return dict(cast("JsonObject", memory["working"]))


def memory_delta(plan: Plan, task: PlanTask, output: JsonValue) -> JsonObject:
    """Return what a task with this output wrote to working memory, by the keys of the run."""
    if task.uses_kind != "action":
        return {}
    if action_kind(plan, cast("str", task.uses_name)) not in MEMORY_WRITERS:
        return {}
    written = cast("JsonObject", output)["output"]
    if not isinstance(written, dict) or "key" not in written:
        return {}
    return {f"{task.namespace}{written['key']}": written.get("value")}


def memory_seen(
    state: RunState, journal: Sequence[tuple[int, Transition]], initial: JsonObject
) -> dict[str, JsonObject]:
    """Return the working memory that each task of a stored run read when it last started.

    `initial` is what the run began with.
    """
    memory = initial
    seen: dict[str, JsonObject] = {}
    for _, move in journal:
        if move.machine == "run" and move.event == _MIGRATES:
            memory = cast("JsonObject", cast("JsonObject", move.detail)["memory"])
        if move.machine != "task":
            continue
        if move.event == _STARTS:
            seen[move.entity] = memory
        elif move.event in _GAVE_OUTPUT:
            task = state.plan.tasks[move.entity]
            delta = memory_delta(state.plan, task, state.tasks[move.entity].output)
            if move.event == "reuse":
                seen[move.entity] = memory
            memory = {**memory, **delta} if delta else memory
    return seen


def resolved_digest(
    state: RunState, task: PlanTask, memory: Mapping[str, JsonValue]
) -> str | None:
    """Return the digest of all values that reach a task, or None when one is missing."""
    try:
        scope = task_scope(state, task, memory)
        needed: JsonObject = {
            need: cast("JsonValue", digest(state.outputs[need]["output"])) for need in task.needs
        }
        given = cast("JsonObject", render(task.input, scope))
        reached: JsonObject = {
            "input": given,
            "instructions": _instructions(state.plan, task, scope),
            "outputs": needed,
            "memory": _memory_read(state.plan, task, given, memory),
        }
    except (AgentctlError, KeyError):
        return None
    return digest(reached)


def _instructions(plan: Plan, task: PlanTask, scope: Scope) -> JsonValue:
    if task.uses_kind != "agent":
        return None
    agents = cast("dict[str, JsonObject]", plan.definitions["agents"])
    return instructions_of(agents[cast("str", task.uses_name)], scope)


def _memory_read(
    plan: Plan, task: PlanTask, given: JsonObject, memory: Mapping[str, JsonValue]
) -> JsonValue:
    """Return the value that a memory action reads, or nothing where the key has none."""
    if task.uses_kind != "action":
        return None
    kind = action_kind(plan, cast("str", task.uses_name))
    if kind not in MEMORY_ACTIONS:
        return None
    key = f"{task.namespace}{given.get('key')}"
    return [memory[key]] if key in memory else []
