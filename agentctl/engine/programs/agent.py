"""The agent loop: bounded turns of model calls and tool calls, each one an effect.

Above: the runner. Below: one module for what an answer means and one for tool calls, and the
executors that carry both out. The model proposes; this loop, the policy and the ledger decide.
It is a generator, so a resumed task is fed its recorded results and goes on from the first one
that is missing: what a provider or a tool has answered is never asked for again.
Source: specification, sections 1.1 (agent, tool), 6 and 14.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agentctl.engine.ports import EffectRequest
from agentctl.engine.programs.agent_answer import Answer, Misfit, final_output, read_answer
from agentctl.engine.programs.agent_plan import agent_of, prompt_of
from agentctl.engine.programs.agent_tools import tool_steps
from agentctl.engine.programs.base import Steps, TaskContext, TaskError, TaskResult
from agentctl.engine.programs.usage import usage_limit_of
from agentctl.engine.template import render

if TYPE_CHECKING:
    from agentctl.engine.expression import Scope
    from agentctl.engine.programs.agent_plan import AgentPlan
    from agentctl.jsonvalue import JsonObject, JsonValue

MODEL_CAPABILITY = "model"


def agent_steps(context: TaskContext) -> Steps:
    """Run the bounded loop and return the final answer."""
    agent = agent_of(context)
    messages: list[JsonValue] = [{"role": "user", "content": prompt_of(context)}]
    limit = usage_limit_of(agent.name, agent.definition, context.definitions)
    seen: set[str] = set()
    repairs = cast("int", agent.definition.get("maxRepairTurns") or 0)
    for _ in range(agent.limit("maxTurns")):
        request = _model_request(context, agent, messages)
        body = cast("JsonObject", request.input)
        if limit is not None:
            limit.check(body)
        answered = yield request
        answer = read_answer(agent, answered, seen)
        if limit is not None:
            limit.add(body, cast("JsonObject", answered))
        if answer.is_final:
            try:
                return TaskResult(output=final_output(agent, answer, has_acted=bool(seen)))
            except Misfit as misfit:
                if not repairs:
                    raise
                repairs -= 1
                messages += [*_said(answer), _mend(misfit)]
                continue
        seen.update(answer.call_ids)
        _require_calls_left(agent, len(seen))
        messages += _said(answer)
        for call in answer.calls:
            content = yield from tool_steps(context, agent, call)
            messages.append({"role": "tool", "toolCallId": call["id"], "content": content})
            if agent.catalog is not None and agent.catalog.ended is not None:
                return TaskResult(output=agent.catalog.ended)
    raise TaskError(
        f"agent {agent.name} did not finish within maxTurns = {agent.limit('maxTurns')}",
        code="turn_limit",
    )


def _mend(misfit: Misfit) -> JsonObject:
    """Return what the model is told of an answer that does not fit."""
    words = f"{misfit.message}. Answer again, with nothing but JSON that fits the schema."
    return {"role": "user", "content": words}


def _require_calls_left(agent: AgentPlan, calls: int) -> None:
    """Refuse a turn whose calls are more than are left; none of them is made."""
    most = agent.limit("maxToolCalls")
    if calls > most:
        raise TaskError(
            f"agent {agent.name} asked for {calls} tool calls; maxToolCalls is {most}",
            code="tool_call_limit",
        )


def _said(answer: Answer) -> list[JsonValue]:
    """Return the assistant's message; what the provider wants to see again goes with it.

    A pause without a word leaves no message: a provider would refuse an empty one.
    """
    if not (answer.text or answer.calls or answer.continuation is not None):
        return []
    said: JsonObject = {
        "role": "assistant",
        "content": answer.text,
        "toolCalls": [*answer.calls],
    }
    if answer.continuation is not None:
        said["continuation"] = answer.continuation
    return [said]


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
