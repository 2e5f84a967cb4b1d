"""The provider-neutral contract: what a model is asked, and what it answered.

Above: executors and adapters. Its wire form is the JSON of the ledger: a request is what the
agent loop recorded as the effect's input, a result is what the loop and the budgets read. The
scripted provider speaks the same form.
Source: specification, sections 14 and 15.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast, get_args

from attr import field, frozen

from agentctl.effects.models.reading import invalid
from agentctl.errors import EffectError
from agentctl.jsonvalue import canonical, digest_text
from agentctl.limits import PROVIDER_TOOL_CALLS_MAX
from agentctl.value import Value

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject, JsonValue

StopReason: TypeAlias = Literal[
    "end_turn", "tool_use", "max_tokens", "stop_sequence", "refusal", "safety", "pause", "other"
]
"""Why a model stopped.

`max_tokens` cut the answer short, `refusal` is the model's own, `safety` the provider's filter;
`pause` wants the same conversation sent again.
"""
STOP_REASONS: Final[tuple[StopReason, ...]] = get_args(StopReason)

# What every provider takes as the name of a function.
_PORTABLE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_NAME_CHARACTERS_MAX: Final = 64
_NAME_DIGITS: Final = 8


@frozen(kw_only=True, eq=False, repr=False)
class ToolSpec(Value):
    """A tool that the model may ask for; `wire_name` is its name in every protocol.

    `rendered` is the whole definition where the plan has it in the protocol's own words.
    """

    name: str
    description: str = ""
    input_schema: JsonObject = field(factory=dict)
    rendered: JsonObject | None = None

    @property
    def wire_name(self) -> str:
        """Return the name itself, or a portable one that is its own for every name."""
        if _PORTABLE_NAME.fullmatch(self.name):
            return self.name
        digits = digest_text(self.name)[:_NAME_DIGITS]
        readable = re.sub(r"[^A-Za-z0-9_-]", "_", self.name)
        return f"t_{readable[: _NAME_CHARACTERS_MAX - _NAME_DIGITS - 3]}_{digits}"


@frozen(kw_only=True, eq=False, repr=False)
class ToolCall(Value):
    """What a model asked for; `id` is the provider's, and is never an effect's."""

    id: str
    name: str
    arguments: JsonObject

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        return {"id": self.id, "name": self.name, "arguments": self.arguments}


@frozen(kw_only=True, eq=False, repr=False)
class Message(Value):
    """One message: the user's, the assistant's with its calls, or a tool's result.

    `continuation` is what the provider wants to see again, in its own form: ids of stored
    answers, signed thoughts, encrypted reasoning.
    """

    role: Literal["user", "assistant", "tool"]
    text: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    continuation: JsonObject | None = None


@frozen(kw_only=True, eq=False, repr=False)
class ModelRequest(Value):
    """One turn that a model is asked for; `effort` and `mode` are of its reasoning."""

    provider: str
    model: str
    instructions: str
    messages: tuple[Message, ...]
    max_output_tokens: int
    tools: tuple[ToolSpec, ...] = ()
    structured_output: JsonObject | None = None
    effort: str | None = None
    mode: str | None = None
    options: JsonObject = field(factory=dict)
    stream: bool = False

    @classmethod
    def from_json(
        cls, body: JsonObject, tools: JsonObject, rendered: JsonObject | None = None
    ) -> ModelRequest:
        """Read a request from the ledger; `tools` are the plan's definitions by name.

        `rendered` are those that the plan has in the words of this protocol.
        """
        reasoning = cast("JsonObject", body.get("reasoning") or {})
        return cls(
            provider=cast("str", body["provider"]),
            model=cast("str", body["model"]),
            instructions=cast("str", body["instructions"]),
            messages=tuple(_message(one) for one in cast("list[JsonObject]", body["messages"])),
            max_output_tokens=cast("int", body["maxOutputTokens"]),
            tools=tuple(
                _tool(name, tools, rendered or {}) for name in cast("list[str]", body["tools"])
            ),
            structured_output=cast("JsonObject | None", body.get("structuredOutput")),
            effort=cast("str | None", reasoning.get("effort")),
            mode=cast("str | None", reasoning.get("mode")),
            options=cast("JsonObject", body.get("providerOptions") or {}),
            stream=bool(body.get("stream")),
        )

    def wire_name(self, name: str) -> str:
        """Return the name under which a protocol knows a tool."""
        return next((one.wire_name for one in self.tools if one.name == name), name)

    def tool_name(self, wire_name: str) -> str:
        """Return the tool of a name in an answer; one that was not offered stays as it is."""
        return next((one.name for one in self.tools if one.wire_name == wire_name), wire_name)

    def turns(self) -> list[tuple[str, list[Message]]]:
        """Return the messages by turn: results of parallel calls belong together."""
        turns: list[tuple[str, list[Message]]] = []
        for message in self.messages:
            if turns and turns[-1][0] == message.role:
                turns[-1][1].append(message)
            else:
                turns.append((message.role, [message]))
        return turns


@frozen(kw_only=True, eq=False, repr=False)
class Usage(Value):
    """Tokens: `input` has the cached ones in it, and `output` the ones of reasoning."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0

    def to_json(self) -> JsonObject:
        """Return the stored form; the parts only where there are any."""
        body: JsonObject = {"inputTokens": self.input, "outputTokens": self.output}
        parts = (
            ("cacheReadTokens", self.cache_read),
            ("cacheWriteTokens", self.cache_write),
            ("reasoningTokens", self.reasoning),
        )
        body.update({name: count for name, count in parts if count})
        return body


@frozen(kw_only=True, eq=False, repr=False)
class ModelResult(Value):
    """What a model answered in one turn."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(factory=Usage)
    stop_reason: StopReason = "end_turn"
    continuation: JsonObject | None = None
    response_id: str = ""
    model: str = ""

    def to_json(self) -> JsonObject:
        """Return the stored form, which the agent loop reads."""
        body: JsonObject = {
            "text": self.text,
            "toolCalls": [one.to_json() for one in self.calls],
            "usage": self.usage.to_json(),
            "stopReason": self.stop_reason,
        }
        if self.continuation is not None:
            body["continuation"] = self.continuation
        if self.response_id:
            body["responseId"] = self.response_id
        if self.model:
            body["model"] = self.model
        return body


def checked(result: ModelResult, request: ModelRequest) -> ModelResult:
    """Return a result whose calls can be told apart, now and from earlier ones.

    Raises EffectError: a result of a tool would be given to the wrong call.
    """
    if len(result.calls) > PROVIDER_TOOL_CALLS_MAX:
        raise invalid(f"it has more than {PROVIDER_TOOL_CALLS_MAX} tool calls")
    seen = {call.id for message in request.messages for call in message.calls}
    for call in result.calls:
        if call.id in seen:
            raise invalid(f"the tool call id {call.id[:64]!r} is used twice")
        seen.add(call.id)
    return result


def own_call_id(request: ModelRequest, index: int) -> str:
    """Return an id for a call that came without one, unlike all others of its conversation."""
    return f"{OWN_CALL_ID}{len(request.messages)}_{index}"


OWN_CALL_ID: Final = "agentctl_call_"


def _message(body: JsonObject) -> Message:
    content = body["content"]
    calls = cast("list[JsonObject]", body.get("toolCalls") or [])
    return Message(
        role=cast("Literal['user', 'assistant', 'tool']", body["role"]),
        text=content if isinstance(content, str) else canonical(content),
        calls=tuple(_call(one) for one in calls),
        call_id=cast("str", body.get("toolCallId") or ""),
        continuation=cast("JsonObject | None", body.get("continuation")),
    )


def _call(body: JsonObject) -> ToolCall:
    return ToolCall(
        id=cast("str", body["id"]),
        name=cast("str", body["name"]),
        arguments=cast("JsonObject", body["arguments"]),
    )


def _tool(name: str, tools: JsonObject, rendered: JsonObject) -> ToolSpec:
    definition = cast("JsonObject | None", tools.get(name))
    if definition is None and name in rendered:
        return ToolSpec(name=name, rendered=cast("JsonObject", rendered[name]))
    if definition is None:
        raise EffectError(f"the plan defines no tool {name!r}", code="invalid_input")
    schema: JsonValue = definition.get("inputSchema")
    return ToolSpec(
        name=name,
        description=cast("str", definition.get("description") or ""),
        input_schema=schema if isinstance(schema, dict) else {"type": "object"},
    )
