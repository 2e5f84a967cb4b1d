"""Chat completions, as local servers speak them: `POST /v1/chat/completions`.

Above: the executor. Servers of this protocol differ in what they leave out, so every field that
the protocol does not need may be missing.
Source: OpenAI API reference, "Chat completions"; the references of llama.cpp, vLLM and Ollama.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from attr import define, field

from agentctl.effects.models.adapter import HttpCall, Progress, TextProgress, is_strict
from agentctl.effects.models.contract import ModelResult, ToolCall, Usage, own_call_id
from agentctl.effects.models.failures import failure_of_report
from agentctl.effects.models.openai import ANSWER_NAME
from agentctl.effects.models.reading import (
    count_at,
    invalid,
    object_at,
    objects_at,
    optional_text,
    parse_object,
    text_at,
)
from agentctl.jsonvalue import canonical
from agentctl.limits import PROVIDER_TOOL_CALLS_MAX
from agentctl.providers import PROVIDERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentctl.effects.models.contract import Message, ModelRequest, StopReason, ToolSpec
    from agentctl.effects.models.sse import ServerEvent
    from agentctl.jsonvalue import JsonObject, JsonValue
    from agentctl.providers import ProviderFacts

_STOP_REASONS: Final[dict[str, StopReason]] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "safety",
}


class OpenAiChat:
    """The adapter of `openai_compatible`."""

    facts: ProviderFacts = PROVIDERS["openai_compatible"]

    def call(self, request: ModelRequest, api_version: str | None) -> HttpCall:  # noqa: ARG002
        """Return the POST of one turn; the interface has its version in the path."""
        return HttpCall(path="/v1/chat/completions", body=_body(request))

    def authentication(self, key: str) -> dict[str, str]:
        """Return the bearer header."""
        return {"authorization": f"Bearer {key}"}

    def result(self, body: JsonObject, request: ModelRequest) -> ModelResult:
        """Read a completion with its first choice. Raises EffectError."""
        if body.get("error") is not None:
            raise failure_of_report(object_at(body, "error"), self.facts.kind)
        choices = objects_at(body, "choices")
        if not choices:
            raise invalid("choices is missing; expected a list with one")
        message = object_at(choices[0], "message")
        reason = _STOP_REASONS.get(optional_text(choices[0], "finish_reason"), "other")
        refusal = optional_text(message, "refusal")
        calls = tuple(_calls(message, request, is_cut=reason == "max_tokens"))
        if calls and reason == "end_turn":
            reason = "tool_use"
        elif refusal and reason == "end_turn":
            reason = "refusal"
        return ModelResult(
            text=optional_text(message, "content") or refusal,
            calls=calls,
            usage=_usage(object_at(body, "usage")),
            stop_reason=reason,
            response_id=optional_text(body, "id"),
            model=optional_text(body, "model"),
        )

    def fold(self) -> ChatFold:
        """Return a fold."""
        return ChatFold()


def _body(request: ModelRequest) -> JsonObject:
    messages: list[JsonValue] = []
    if request.instructions:
        messages.append({"role": "system", "content": request.instructions})
    messages += [_message(one, request) for one in request.messages]
    body: JsonObject = {
        "model": request.model,
        "messages": messages,
        "max_tokens": request.max_output_tokens,
    }
    if request.tools:
        body["tools"] = [one.rendered or _function(one) for one in request.tools]
    if request.structured_output is not None:
        schema = request.structured_output
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": ANSWER_NAME, "schema": schema, "strict": is_strict(schema)},
        }
    if request.effort is not None:
        body["reasoning_effort"] = request.effort
    if "parallelToolCalls" in request.options:
        body["parallel_tool_calls"] = request.options["parallelToolCalls"]
    if request.stream:
        body["stream"] = True
        body["stream_options"] = {"include_usage": True}
    return body


def _function(tool: ToolSpec) -> JsonObject:
    function: JsonObject = {
        "name": tool.wire_name,
        "description": tool.description,
        "parameters": tool.input_schema,
        "strict": is_strict(tool.input_schema),
    }
    return {"type": "function", "function": function}


def _message(message: Message, request: ModelRequest) -> JsonObject:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
    body: JsonObject = {"role": message.role, "content": message.text}
    if message.calls:
        body["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": request.wire_name(call.name),
                    "arguments": canonical(call.arguments),
                },
            }
            for call in message.calls
        ]
    return body


def _calls(message: JsonObject, request: ModelRequest, *, is_cut: bool) -> Iterator[ToolCall]:
    wanted = objects_at(message, "tool_calls")
    for index, call in enumerate(wanted):
        # What the bound cut off is the last call; it was never asked for as a whole.
        if is_cut and index == len(wanted) - 1:
            continue
        function = object_at(call, "function")
        yield ToolCall(
            id=optional_text(call, "id") or own_call_id(request, index),
            name=request.tool_name(text_at(function, "name")),
            arguments=_arguments(function.get("arguments")),
        )


def _arguments(value: JsonValue) -> JsonObject:
    """Return a call's arguments; some servers give the object itself instead of its text."""
    if isinstance(value, dict):
        return value
    text = text_at({"arguments": value}, "arguments")
    return parse_object(text or "{}", "arguments")


def _usage(usage: JsonObject) -> Usage:
    given = object_at(usage, "prompt_tokens_details")
    made = object_at(usage, "completion_tokens_details")
    return Usage(
        input=count_at(usage, "prompt_tokens"),
        output=count_at(usage, "completion_tokens"),
        cache_read=count_at(given, "cached_tokens"),
        reasoning=count_at(made, "reasoning_tokens"),
    )


@define(eq=False, repr=False)
class ChatFold:
    """Joins the deltas of a stream into the completion that they make up."""

    _progress: TextProgress = field(factory=TextProgress)
    _body: JsonObject = field(factory=dict)
    _texts: dict[str, list[str]] = field(factory=dict)
    _calls: dict[int, JsonObject] = field(factory=dict)
    _arguments: dict[int, list[str]] = field(factory=dict)
    _finish_reason: str = ""
    _is_over: bool = False

    def feed(self, event: ServerEvent) -> Iterator[Progress]:
        """Take one chunk; the last one is the word `[DONE]`."""
        if event.data.strip() == "[DONE]":
            self._is_over = True
            return
        chunk = parse_object(event.data, "event")
        if chunk.get("error") is not None:
            raise failure_of_report(object_at(chunk, "error"), "openai_compatible")
        kept = ("id", "model", "usage")
        self._body.update({name: chunk[name] for name in kept if chunk.get(name) is not None})
        for choice in objects_at(chunk, "choices")[:1]:
            yield from self._extend(object_at(choice, "delta"))
            self._finish_reason = optional_text(choice, "finish_reason") or self._finish_reason
        if self.is_complete:
            yield from self._progress.rest()

    @property
    def is_complete(self) -> bool:
        """Whether the answer says why it ended; not every server sends the last word."""
        return bool(self._finish_reason)

    @property
    def is_over(self) -> bool:
        """Whether the last word came; the usage may come after the reason."""
        return self._is_over

    def body(self) -> JsonObject:
        """Return the completion."""
        message: JsonObject = {name: "".join(one) for name, one in self._texts.items()}
        if self._calls:
            message["tool_calls"] = [self._call(index) for index in sorted(self._calls)]
        choice: JsonObject = {"message": message, "finish_reason": self._finish_reason}
        return {**self._body, "choices": [choice]}

    def _extend(self, delta: JsonObject) -> Iterator[Progress]:
        for name in ("content", "refusal"):
            text = optional_text(delta, name)
            if text:
                self._texts.setdefault(name, []).append(text)
                yield from self._progress.add(text)
        for call in objects_at(delta, "tool_calls"):
            yield from self._extend_call(call)

    def _extend_call(self, call: JsonObject) -> Iterator[Progress]:
        index = count_at(call, "index")
        if index >= PROVIDER_TOOL_CALLS_MAX:
            raise invalid(f"it has more than {PROVIDER_TOOL_CALLS_MAX} tool calls")
        function = object_at(call, "function")
        if index not in self._calls:
            name, call_id = text_at(function, "name"), optional_text(call, "id")
            self._calls[index] = {"id": call_id, "type": "function", "name": name}
            yield Progress("tool_call.started", {"id": call_id, "name": name})
        piece = optional_text(function, "arguments")
        self._arguments.setdefault(index, []).append(piece)

    def _call(self, index: int) -> JsonObject:
        call, arguments = self._calls[index], "".join(self._arguments[index])
        function: JsonObject = {"name": call["name"], "arguments": arguments}
        return {"id": call["id"], "type": "function", "function": function}
