"""What a plan needs from outside and does there, as one readable summary.

Above: the pipeline. Below: the library and the plan's tasks. Data only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agentctl.engine.kinds import PROCESS_KINDS, kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agentctl.engine.compiler.library import AgentEntry, Library
    from agentctl.engine.document.model import Spec
    from agentctl.engine.plan import PlanTask
    from agentctl.engine.policy import Policy
    from agentctl.jsonvalue import JsonObject, JsonValue

_PROCESS_FIELDS = (
    "command",
    "args",
    "cwd",
    "isolation",
    "container",
    "stdoutLimitBytes",
    "stderrLimitBytes",
    "combinedOutputLimitBytes",
)


def requirements_of(
    spec: Spec,
    library: Library,
    tasks: Sequence[PlanTask],
    policy: Policy,
    definitions: JsonObject,
    digests: Mapping[str, str],
) -> JsonObject:
    """Return providers, tools, effects, processes, sources, budgets and prices of a plan."""
    used = {cast("str", one.uses_name) for one in tasks if one.uses_kind == "agent"}
    agents = [library.agents[name] for name in spec.agents if name in used]
    actions = {cast("str", one.uses_name) for one in tasks if one.uses_kind == "action"}
    actions |= {one.compensate.uses for one in tasks if one.compensate is not None}
    return {
        "providers": list(_providers(spec, agents)),
        "tools": list(_tools(spec, agents)),
        "effects": list(_effects(spec, library, tasks, policy)),
        "processes": list(_processes(library, actions)),
        "capabilities": _capabilities(spec, library, agents, actions),
        "sources": [{"path": path, "digest": digests[path]} for path in sorted(digests)],
        "budgets": definitions["budgets"],
        "pricing": definitions["pricing"],
    }


def _providers(spec: Spec, agents: Sequence[AgentEntry]) -> Iterator[JsonObject]:
    for name, provider in spec.providers.items():
        mine = [one for one in agents if one.agent.provider == name]
        if mine:
            wanted = {feature for one in mine for feature in _features(one)}
            yield {
                "name": name,
                "kind": provider.kind,
                "agents": [one.name for one in mine],
                "capabilities": [*sorted(wanted)],
            }


def _features(entry: AgentEntry) -> Iterator[str]:
    agent = entry.agent
    if agent.tools:
        yield "tools"
    if agent.structured_output is not None:
        yield "structuredOutput"
    if agent.reasoning is not None:
        yield "reasoning"
    if agent.stream:
        yield "stream"


def _tools(spec: Spec, agents: Sequence[AgentEntry]) -> Iterator[JsonObject]:
    for name, tool in spec.tools.items():
        mine: list[JsonValue] = [one.name for one in agents if name in one.agent.tools]
        if mine:
            yield {
                "name": name,
                "kind": tool.kind,
                "capability": tool.capability,
                "effectClass": tool.effect_class,
                "idempotency": tool.idempotency,
                "risk": tool.risk,
                "agents": mine,
            }


def _effects(
    spec: Spec, library: Library, tasks: Sequence[PlanTask], policy: Policy
) -> Iterator[JsonObject]:
    """Return every effect that some task may ask for, in compiled order."""
    for task in tasks:
        name = cast("str", task.uses_name)
        if task.uses_kind == "action":
            action = library.actions[name]
            facts = kind_of(action.kind)
            if facts.capability:
                yield {
                    "task": task.id,
                    "operation": facts.kind,
                    "effectClass": facts.effect_class,
                    "idempotency": action.idempotency or facts.idempotency,
                    "risk": facts.risk,
                    "approvalPossible": policy.needs_approval(facts.effect_class, facts.risk),
                    "predictability": facts.predictability,
                }
        elif task.uses_kind == "agent":
            yield from _agent_effects(spec, library.agents[name], task, policy)


def _agent_effects(
    spec: Spec, entry: AgentEntry, task: PlanTask, policy: Policy
) -> Iterator[JsonObject]:
    yield {
        "task": task.id,
        "operation": f"model.{spec.providers[entry.agent.provider].kind}",
        "effectClass": "model",
        "idempotency": "at_most_once",
        "risk": "low",
        "approvalPossible": policy.needs_approval("model", "low"),
        "predictability": "requires_execution",
    }
    for name in entry.agent.tools:
        tool = spec.tools[name]
        yield {
            "task": task.id,
            "tool": name,
            "operation": tool.kind,
            "effectClass": tool.effect_class,
            "idempotency": tool.idempotency,
            "risk": tool.risk,
            "approvalPossible": policy.needs_approval(tool.effect_class, tool.risk, tool.approval),
            "predictability": "requires_execution",
        }


def _processes(library: Library, actions: set[str]) -> Iterator[JsonObject]:
    for name, action in library.actions.items():
        if name in actions and action.kind in PROCESS_KINDS:
            kept: JsonObject = {
                key: action.definition[key]
                for key in _PROCESS_FIELDS
                if action.definition.get(key) is not None
            }
            yield {"action": name, "kind": action.kind, **kept}


def _capabilities(
    spec: Spec, library: Library, agents: Sequence[AgentEntry], actions: set[str]
) -> list[JsonValue]:
    """Return every capability that the policy will be asked for."""
    found = {kind_of(library.actions[name].kind).capability for name in actions}
    found |= {spec.tools[tool].capability for one in agents for tool in one.agent.tools}
    if agents:
        found.add("model")
    return [*sorted(found - {""})]
