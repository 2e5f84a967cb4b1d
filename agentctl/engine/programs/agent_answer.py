"""What one answer of a model means: more calls, another turn, a result, or a failure.

Above: the agent loop. Below: JSON Schema. An answer may come from an executor or from a person
who settled a call in doubt, so its form is checked here for both. A failure is definite: the
same answer would be read in the same way again. The whole answer stays on the ledger; the head
of its text goes with the error.
Source: specification, sections 6 and 14.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from attr import field, frozen

from agentctl.engine.programs.base import TaskError
from agentctl.engine.schema_check import validate
from agentctl.jsonvalue import parse_json
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from agentctl.engine.programs.agent_plan import AgentPlan
    from agentctl.jsonvalue import JsonObject, JsonValue

PAUSE: Final = "pause"
CUT_SHORT: Final = "max_tokens"
_SAID_CHARACTERS_MAX: Final = 2_000


class Misfit(TaskError):
    """An answer against `structuredOutput`, which the model may be able to mend."""


@frozen(kw_only=True, eq=False, repr=False)
class Answer(Value):
    """One answer in the contract's form, checked."""

    text: str
    calls: tuple[JsonObject, ...]
    stop_reason: str
    usage: JsonObject = field(factory=dict)
    continuation: JsonValue = None

    @property
    def is_final(self) -> bool:
        """Whether nothing is left to do: no call to make, and no turn to go on with."""
        return not self.calls and self.stop_reason != PAUSE

    @property
    def call_ids(self) -> set[str]:
        """The provider's ids of the calls; they are never those of effects."""
        return {cast("str", call["id"]) for call in self.calls}


def read_answer(agent: AgentPlan, body: JsonValue, seen: AbstractSet[str]) -> Answer:
    """Return an answer whose calls may be made; `seen` are the ids of the calls before it.

    Raises TaskError: it is malformed, refuses, or was cut short among its calls, the last of
    which may be one that the model never meant.
    """
    answer = _parsed(body)
    if answer is None or len(answer.call_ids) < len(answer.calls) or answer.call_ids & seen:
        raise TaskError(
            f"agent {agent.name} was given an answer that is not one, or that uses the id of a "
            "tool call twice",
            code="invalid_provider_answer",
        )
    if answer.stop_reason == "refusal":
        raise _failure(f"agent {agent.name}: the model refused", answer, code="model_refused")
    if answer.stop_reason == "safety":
        message = f"agent {agent.name}: the provider's filter stopped the answer"
        raise _failure(message, answer, code="safety_stop")
    if answer.calls and answer.stop_reason == CUT_SHORT:
        raise _cut_short(agent, answer)
    return answer


def final_output(agent: AgentPlan, answer: Answer, *, has_acted: bool) -> JsonValue:
    """Return the validated structured output, or the plain answer.

    An agent that called tools may have said all it had to say with them. Raises TaskError.
    """
    schema = agent.definition.get("structuredOutput")
    if schema:
        return _structured(agent, answer, schema)
    if not answer.text and not has_acted:
        raise _failure(
            f"agent {agent.name}: the model answered with neither text nor tool calls",
            answer,
            code="empty_answer",
        )
    return {"text": answer.text, "stopReason": answer.stop_reason, "usage": answer.usage}


def _structured(agent: AgentPlan, answer: Answer, schema: JsonValue) -> JsonValue:
    if answer.stop_reason == CUT_SHORT:
        raise _cut_short(agent, answer)
    try:
        value = parse_json(answer.text)
    except ValueError as error:
        message = f"agent {agent.name} did not answer with JSON: {error}"
        raise _failure(message, answer, code="structured_output", kind=Misfit) from error
    problems = validate(value, schema)
    if problems:
        message = (
            f"agent {agent.name}'s answer does not fit structuredOutput: {'; '.join(problems)}"
        )
        raise _failure(message, answer, code="structured_output", kind=Misfit)
    return value


def _cut_short(agent: AgentPlan, answer: Answer) -> TaskError:
    return _failure(
        f"agent {agent.name}: the answer was cut short at "
        f"maxOutputTokens = {agent.limit('maxOutputTokens')}",
        answer,
        code="answer_cut_short",
    )


def _failure(
    message: str, answer: Answer, *, code: str, kind: type[TaskError] = TaskError
) -> TaskError:
    said: JsonObject = {"stopReason": answer.stop_reason}
    if answer.text:
        said["said"] = answer.text[:_SAID_CHARACTERS_MAX]
    return kind(message, code=code, detail=said)


def _parsed(body: JsonValue) -> Answer | None:
    """Return an answer from its stored form, or None if it does not have that form."""
    if not isinstance(body, dict):
        return None
    text, calls = body.get("text", ""), body.get("toolCalls") or []
    usage, stop_reason = body.get("usage") or {}, body.get("stopReason") or "other"
    if not (
        isinstance(text, str)
        and isinstance(stop_reason, str)
        and isinstance(usage, dict)
        and isinstance(calls, list)
        and all(_is_call(call) for call in calls)
    ):
        return None
    return Answer(
        text=text,
        calls=tuple(cast("list[JsonObject]", calls)),
        stop_reason=stop_reason,
        usage=usage,
        continuation=body.get("continuation"),
    )


def _is_call(call: JsonValue) -> bool:
    return (
        isinstance(call, dict)
        and isinstance(call.get("id"), str)
        and isinstance(call.get("name"), str)
        and isinstance(call.get("arguments"), dict)
    )
