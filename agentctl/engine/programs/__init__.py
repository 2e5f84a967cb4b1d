"""Which program runs a planned task.

Above: the runner. Below: the programs. One table, so that a new kind is one line here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agentctl.engine.kinds import PROCESS_KINDS, kind_of
from agentctl.engine.programs import pure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agentctl.engine.plan import Plan, PlanTask
    from agentctl.engine.programs.base import Steps, TaskContext, TaskResult
    from agentctl.engine.records import EffectClass, Risk
    from agentctl.jsonvalue import JsonObject

    PureProgram = Callable[[TaskContext], TaskResult]

_STRUCTURAL: Mapping[str, PureProgram] = {
    "aggregate": pure.aggregate,
    "loop_aggregate": pure.loop_aggregate,
    "router": pure.route,
    "subworkflow_input": pure.boundary,
    "subworkflow_aggregate": pure.subworkflow_aggregate,
}
_PURE_ACTIONS: Mapping[str, PureProgram] = {
    "builtin.assign": pure.assign,
    "builtin.assert": pure.check_assertion,
    "builtin.memory.read": pure.memory_read,
    "builtin.memory.write": pure.memory_write,
}


def pure_program(plan: Plan, task: PlanTask) -> PureProgram | None:
    """Return the function of a task without effects, or None for a task with some."""
    if task.uses_kind != "action":
        return _STRUCTURAL.get(task.uses_kind)
    return _PURE_ACTIONS.get(action_kind(plan, cast("str", task.uses_name)))


def effect_steps(context: TaskContext) -> Steps:
    """Start the generator of a task with effects."""
    if context.task.uses_kind == "agent":
        from agentctl.engine.programs.agent import agent_steps

        return agent_steps(context)
    if action_kind(context.state.plan, cast("str", context.task.uses_name)) in PROCESS_KINDS:
        from agentctl.engine.programs.process import process_steps

        return process_steps(context)
    from agentctl.engine.programs.actions import action_steps

    return action_steps(context)


def action_kind(plan: Plan, name: str) -> str:
    """Return the kind of a named action."""
    actions = cast("dict[str, JsonObject]", plan.definitions["actions"])
    return cast("str", actions[name]["kind"])


def operations(plan: Plan) -> set[str]:
    """Return every operation that the plan may ask an executor for."""
    found: set[str] = set()
    for task in plan.tasks.values():
        if task.uses_kind == "action":
            kind = action_kind(plan, cast("str", task.uses_name))
            if kind not in _PURE_ACTIONS:
                found.add(kind)
        elif task.uses_kind == "agent":
            found |= _agent_operations(plan, cast("str", task.uses_name))
    return found


def effects_expected(plan: Plan, task: PlanTask) -> list[tuple[EffectClass, Risk]]:
    """Return class and risk of the effects that a task asks for at least."""
    if task.uses_kind == "agent":
        return [("model", "low")]
    if task.uses_kind != "action":
        return []
    kind = action_kind(plan, cast("str", task.uses_name))
    if kind in _PURE_ACTIONS:
        return []
    facts = kind_of(kind)
    return [(facts.effect_class, facts.risk)]


def _agent_operations(plan: Plan, name: str) -> set[str]:
    definitions = plan.definitions
    agent = cast("dict[str, JsonObject]", definitions["agents"])[name]
    providers = cast("dict[str, JsonObject]", definitions["providers"])
    tools = cast("dict[str, JsonObject]", definitions["tools"])
    granted = cast("list[str]", agent.get("tools") or [])
    model = f"model.{providers[cast('str', agent['provider'])]['kind']}"
    found = {model} | {cast("str", tools[tool]["kind"]) for tool in granted}
    if agent.get("catalog"):
        from agentctl.engine.programs.catalog_tools import operations_of

        found |= operations_of(agent, cast("JsonObject", definitions["policy"]))
    return found
