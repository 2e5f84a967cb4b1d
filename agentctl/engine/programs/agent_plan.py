"""An agent's definition as its loop reads it.

Above: the agent loop, its tools and its answers. Below: the plan's definitions.
Source: specification, section 1.1 (agent).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from attr import frozen

from agentctl.value import Value

if TYPE_CHECKING:
    from agentctl.engine.programs.base import TaskContext
    from agentctl.engine.programs.catalog_tools import CatalogTools
    from agentctl.jsonvalue import JsonObject, JsonValue


@frozen(kw_only=True, eq=False, repr=False)
class AgentPlan(Value):
    """An agent's definition, read once per task."""

    name: str
    provider: str
    kind: str
    definition: JsonObject
    tools: dict[str, JsonObject]
    catalog: CatalogTools | None

    def limit(self, name: str) -> int:
        """Return one of the agent's numeric bounds."""
        return cast("int", self.definition[name])


def agent_of(context: TaskContext) -> AgentPlan:
    """Return the agent that a task uses."""
    definitions = context.definitions
    name = cast("str", context.task.uses_name)
    definition = cast("dict[str, JsonObject]", definitions["agents"])[name]
    provider = cast("str", definition["provider"])
    providers = cast("dict[str, JsonObject]", definitions["providers"])
    tools = cast("dict[str, JsonObject]", definitions["tools"])
    granted = cast("list[str]", definition.get("tools") or [])
    kind = cast("str", providers[provider]["kind"])
    return AgentPlan(
        name=name,
        provider=provider,
        kind=kind,
        definition=definition,
        tools={tool: tools[tool] for tool in granted},
        catalog=_catalog(context, name, definition, kind),
    )


def _catalog(
    context: TaskContext, name: str, definition: JsonObject, kind: str
) -> CatalogTools | None:
    if not definition.get("catalog"):
        return None
    from agentctl.engine.programs.catalog_tools import catalog_tools

    return catalog_tools(context, name, definition, kind, prompt_of(context))


def prompt_of(context: TaskContext) -> JsonValue:
    """Return what the task says to the agent: `prompt` alone, or the whole input."""
    if set(context.input) == {"prompt"}:
        return context.input["prompt"]
    return context.input
