"""The agent loop: bounded turns of model calls and tool calls, each one an effect.

Above: the runner. Below: provider and tool executors. The model proposes; this loop, the
policy and the ledger decide. It is a generator, so a resumed task is fed its recorded results
and goes on from the first one that is missing.
Source: specification, sections 1.1 (agent, tool), 6 and 14.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from attr import frozen

from agentctl.engine.ports import EffectRequest
from agentctl.engine.programs.base import Steps, TaskContext, TaskError, TaskResult
from agentctl.engine.programs.usage import usage_limit_of
from agentctl.engine.schema_check import validate
from agentctl.engine.template import render
from agentctl.jsonvalue import canonical, parse_json
from agentctl.suggest import did_you_mean
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Generator

    from agentctl.engine.expression import Scope
    from agentctl.engine.programs.catalog_tools import CatalogTools
    from agentctl.engine.records import EffectClass, Idempotency, Risk
    from agentctl.jsonvalue import JsonObject, JsonValue

MODEL_CAPABILITY = "model"


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


def agent_steps(context: TaskContext) -> Steps:
    """Run the bounded loop and return the final answer."""
    agent = _agent(context)
    messages: list[JsonValue] = [{"role": "user", "content": _prompt(context)}]
    limit = usage_limit_of(agent.name, agent.definition, context.definitions)
    calls = 0
    for _ in range(agent.limit("maxTurns")):
        request = _model_request(context, agent, messages)
        body = cast("JsonObject", request.input)
        if limit is not None:
            limit.check(body)
        answer = cast("JsonObject", (yield request))
        if limit is not None:
            limit.add(body, answer)
        wanted = cast("list[JsonObject]", answer.get("toolCalls") or [])
        if not wanted:
            return TaskResult(output=_final(agent, answer))
        calls += len(wanted)
        if calls > agent.limit("maxToolCalls"):
            raise TaskError(
                f"agent {agent.name} asked for {calls} tool calls; "
                f"maxToolCalls is {agent.limit('maxToolCalls')}",
                code="tool_call_limit",
            )
        messages.append(_said(answer, wanted))
        for call in wanted:
            content = yield from _tool_steps(context, agent, call)
            messages.append({"role": "tool", "toolCallId": call["id"], "content": content})
            if agent.catalog is not None and agent.catalog.ended is not None:
                return TaskResult(output=agent.catalog.ended)
    raise TaskError(
        f"agent {agent.name} did not finish within maxTurns = {agent.limit('maxTurns')}",
        code="turn_limit",
    )


def _said(answer: JsonObject, calls: list[JsonObject]) -> JsonObject:
    """Return the assistant's message; what the provider wants to see again goes with it."""
    said: JsonObject = {
        "role": "assistant",
        "content": answer.get("text", ""),
        "toolCalls": [*calls],
    }
    if "continuation" in answer:
        said["continuation"] = answer["continuation"]
    return said


def _agent(context: TaskContext) -> AgentPlan:
    definitions = context.definitions
    name = cast("str", context.task.uses_name)
    definition = cast("dict[str, JsonObject]", definitions["agents"])[name]
    provider = cast("str", definition["provider"])
    providers = cast("dict[str, JsonObject]", definitions["providers"])
    tools = cast("dict[str, JsonObject]", definitions["tools"])
    granted = cast("list[str]", definition.get("tools") or [])
    return AgentPlan(
        name=name,
        provider=provider,
        kind=cast("str", providers[provider]["kind"]),
        definition=definition,
        tools={tool: tools[tool] for tool in granted},
        catalog=_catalog(context, name, definition),
    )


def _catalog(context: TaskContext, name: str, definition: JsonObject) -> CatalogTools | None:
    if not definition.get("catalog"):
        return None
    from agentctl.engine.programs.catalog_tools import catalog_tools

    return catalog_tools(context, name, definition, _prompt(context))


def _prompt(context: TaskContext) -> JsonValue:
    """Return what the task says to the agent: `prompt` alone, or the whole input."""
    if set(context.input) == {"prompt"}:
        return context.input["prompt"]
    return context.input


def _model_request(
    context: TaskContext, agent: AgentPlan, messages: list[JsonValue]
) -> EffectRequest:
    definition = agent.definition
    instructions = instructions_of(definition, context.scope)
    if not isinstance(instructions, str):
        raise TaskError(f"instructions of agent {agent.name} must be text", code="invalid_input")
    body: JsonObject = {
        "provider": agent.provider,
        "model": definition["model"],
        "instructions": instructions,
        "messages": list(messages),
        "tools": [*sorted(agent.tools), *(agent.catalog.names() if agent.catalog else ())],
        "maxOutputTokens": definition["maxOutputTokens"],
    }
    for optional in ("structuredOutput", "reasoning", "providerOptions", "stream"):
        if definition.get(optional):
            body[optional] = definition[optional]
    return EffectRequest(
        operation=f"model.{agent.kind}",
        effect_class="model",
        idempotency="at_most_once",
        risk="low",
        input=body,
        timeout_seconds=context.task.timeout_seconds,
        capability=MODEL_CAPABILITY,
        names=(agent.provider,),
    )


def instructions_of(definition: JsonObject, scope: Scope) -> JsonValue:
    """Return what an agent is told; the text of an agent file is another host's, and stays."""
    text = definition["instructions"]
    return text if definition.get("file") else render(text, scope)


def _final(agent: AgentPlan, answer: JsonObject) -> JsonValue:
    """Return the validated structured output, or the plain answer."""
    schema = agent.definition.get("structuredOutput")
    text = answer.get("text", "")
    if not schema:
        return {"text": text, "stopReason": answer.get("stopReason"), "usage": answer["usage"]}
    try:
        value = parse_json(cast("str", text))
    except ValueError as error:
        raise TaskError(
            f"agent {agent.name} did not answer with JSON: {error}", code="structured_output"
        ) from error
    problems = validate(value, schema)
    if problems:
        raise TaskError(
            f"agent {agent.name}'s answer does not fit structuredOutput: {'; '.join(problems)}",
            code="structured_output",
        )
    return value


def _tool_steps(
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
