"""One tool call of an agent: what it may name, what goes in, and what comes out.

Above: the agent loop. Below: tool executors. The calls of one turn are made one after the other,
in the order of the answer (specification, section 15); a tool has no word to ask for more. What
the model wrote decides the arguments only: capability, risk, effect class, idempotency and
approval are the plan's. A call that fails ends the task, because only its author knows whether
the model should go on without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agentctl.engine.ports import EffectRequest
from agentctl.engine.programs.base import TaskContext, TaskError
from agentctl.engine.schema_check import validate
from agentctl.jsonvalue import canonical
from agentctl.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Generator

    from agentctl.engine.programs.agent_plan import AgentPlan
    from agentctl.engine.records import EffectClass, Idempotency, Risk
    from agentctl.jsonvalue import JsonObject, JsonValue


def tool_steps(
    context: TaskContext, agent: AgentPlan, call: JsonObject
) -> Generator[EffectRequest, JsonValue, JsonValue]:
    """Ask for one granted tool call; validate what goes in and what comes out."""
    name = cast("str", call["name"])
    tool = agent.tools.get(name)
    if tool is None and agent.catalog is not None:
        return (yield from agent.catalog.steps(name, call["arguments"]))
    if tool is None:
        raise TaskError(
            f"agent {agent.name} asked for the tool {name!r}, which it was not granted",
            code="tool_denied",
            help=did_you_mean(name, agent.tools),
        )
    _require(call["arguments"], tool["inputSchema"], f"arguments of tool {name}")
    request = _tool_request(context, name, tool, call["arguments"])
    denied = context.policy.denial(request.capability, request.names)
    if denied is not None:
        raise TaskError(denied, code="policy_denied")
    result = yield request
    _require(result, tool["outputSchema"], f"result of tool {name}")
    return result if isinstance(result, str) else canonical(result)


def _tool_request(
    context: TaskContext, name: str, tool: JsonObject, arguments: JsonValue
) -> EffectRequest:
    return EffectRequest(
        operation=cast("str", tool["kind"]),
        effect_class=cast("EffectClass", tool["effectClass"]),
        idempotency=cast("Idempotency", tool["idempotency"]),
        risk=cast("Risk", tool["risk"]),
        input=arguments,
        timeout_seconds=cast("float", tool.get("timeoutSeconds") or context.task.timeout_seconds),
        capability=cast("str", tool["capability"]),
        names=(name,),
        approval=tool.get("approval") or "policy",  # type: ignore[arg-type]
        hints={"tool": name},
    )


def _require(value: JsonValue, schema: JsonValue, what: str) -> None:
    problems = validate(value, schema)
    if problems:
        raise TaskError(f"{what}: {'; '.join(problems)}", code="schema_violation")
