"""What a task is by its definition, apart from the values that reach it.

Above: the planner. Below: the plan. Two plans with equal fingerprints of a task would ask for the
same work, given the same inputs. How often it is tried, how long it may take and how it is undone
make no difference to what it gives, so they are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agentctl.jsonvalue import digest

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentctl.engine.plan import Plan, PlanTask
    from agentctl.jsonvalue import JsonObject, JsonValue

_IDLE = frozenset({"description", "timeoutSeconds", "retry", "probe", "usageLimit"})


def fingerprint(plan: Plan, task: PlanTask) -> str:
    """Return the digest of a task's definition and of everything it names."""
    expansion = task.expansion
    return digest(
        {
            "uses": [task.uses_kind, task.uses_name],
            "needs": [*sorted(task.needs)],
            "when": task.when,
            "input": task.input,
            "memoryWrites": list(task.memory_writes),
            "routeGuards": list(task.route_guards),
            "binding": None if expansion is None else expansion.binding,
            "namespace": task.namespace,
            "inputsFrom": task.inputs_from,
            "previous": task.previous,
            "definition": _definition(plan.definitions, task, _working),
        }
    )


def definition_of(plan: Plan, task: PlanTask) -> JsonValue:
    """Return all that a task names, with the settings that make no difference to what it gives."""
    return _definition(plan.definitions, task, _whole)


def _definition(
    definitions: JsonObject, task: PlanTask, form: Callable[[JsonObject], JsonObject]
) -> JsonValue:
    """Return the action or the agent of a task, with its provider and its tools."""
    if task.uses_kind == "action":
        return form(_named(definitions, "actions", task.uses_name))
    if task.uses_kind != "agent":
        return None
    agent = _named(definitions, "agents", task.uses_name)
    tools = cast("list[str]", agent.get("tools") or [])
    return {
        "agent": form(agent),
        "provider": _named(definitions, "providers", agent["provider"]),
        "tools": {name: form(_named(definitions, "tools", name)) for name in tools},
    }


def _named(definitions: JsonObject, kind: str, name: JsonValue) -> JsonObject:
    return cast("dict[str, JsonObject]", definitions[kind])[cast("str", name)]


def _working(definition: JsonObject) -> JsonObject:
    return {key: value for key, value in definition.items() if key not in _IDLE}


def _whole(definition: JsonObject) -> JsonObject:
    return definition
