"""Anthropic Messages: `POST /v1/messages`.

Above: the executor. The provider keeps nothing: every turn sends the whole conversation, and
signed thinking goes back as it came.
Source: Anthropic API reference, "Messages" and "Streaming messages".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from attr import define, field

from agentctl.effects.models.adapter import HttpCall, Progress, TextProgress, share_of
from agentctl.effects.models.contract import ModelResult, ToolCall, Usage
from agentctl.effects.models.failures import failure_of_report
from agentctl.effects.models.reading import (
    as_object,
    count_at,
    invalid,
    object_at,
    objects_at,
    optional_text,
    parse,
    parse_object,
    text_at,
)
from agentctl.jsonvalue import canonical
from agentctl.providers import PROVIDERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentctl.effects.models.contract import Message, ModelRequest, StopReason
    from agentctl.effects.models.sse import ServerEvent
    from agentctl.jsonvalue import JsonObject, JsonValue
    from agentctl.providers import ProviderFacts

_VERSION: Final = "2023-06-01"
_STOP_REASONS: Final[dict[str, StopReason]] = {
    "end_turn": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "stop_sequence": "stop_sequence",
    "refusal": "refusal",
    "pause_turn": "pause",
}
_THINKING: Final = ("thinking", "redacted_thinking")


class Anthropic:
    """The adapter of `anthropic`."""

    facts: ProviderFacts = PROVIDERS["anthropic"]

    def call(self, request: ModelRequest, api_version: str | None) -> HttpCall:
        """Return the POST of one turn; the version of the interface is a header."""
        return HttpCall(
            path="/v1/messages",
            headers={"anthropic-version": api_version or _VERSION},
            body=_body(request),
        )

    def authentication(self, key: str) -> dict[str, str]:
        """Return the provider's own header."""
        return {"x-api-key": key}

    def result(self, body: JsonObject, request: ModelRequest) -> ModelResult:
        """Read a message object. Raises EffectError."""
        if body.get("type") == "error":
            raise failure_of_report(object_at(body, "error"), self.facts.kind)
        if "content" not in body:
            raise invalid("content is missing; expected a list")
        blocks = objects_at(body, "content")
        stop_reason = _STOP_REASONS.get(optional_text(body, "stop_reason"), "other")
        text = "".join(text_at(one, "text") for one in blocks if one.get("type") == "text")
        thought = any(one.get("type") in _THINKING for one in blocks)
        return ModelResult(
            text=unfenced(text) if request.structured_output is not None else text,
            calls=tuple(_calls(blocks, request, is_cut=stop_reason == "max_tokens")),
            usage=_usage(object_at(body, "usage")),
            stop_reason=stop_reason,
            continuation={"content": [*blocks]} if thought or stop_reason == "pause" else None,
            response_id=optional_text(body, "id"),
            model=optional_text(body, "model"),
        )

    def fold(self) -> MessageFold:
        """Return a fold."""
        return MessageFold()


def unfenced(text: str) -> str:
    """Return an answer without the one code fence that a model likes to put around JSON."""
    bare = text.strip()
    if bare.startswith("```") and bare.endswith("```") and "\n" in bare:
        return bare[bare.index("\n") + 1 : -3].strip()
    return text


def _body(request: ModelRequest) -> JsonObject:
    body: JsonObject = {
        "model": request.model,
        "max_tokens": request.max_output_tokens,
        "messages": [_turn(role, messages, request) for role, messages in request.turns()],
    }
    system = _system(request)
    if system:
        body["system"] = system
    if request.tools:
        body["tools"] = [
            one.rendered
            or {
                "name": one.wire_name,
                "description": one.description,
                "input_schema": one.input_schema,
            }
            for one in request.tools
        ]
    body.update(_thinking(request))
    if request.stream:
        body["stream"] = True
    return body


def _system(request: ModelRequest) -> str:
    """Return the instructions; a schema for the answer is one of them."""
    if request.structured_output is None:
        return request.instructions
    wanted = (
        "When you give your final answer, write one JSON value and nothing else: no "
        "explanation, no code fence. It has to fit this JSON Schema:\n"
        f"{canonical(request.structured_output)}"
    )
    return f"{request.instructions}\n\n{wanted}" if request.instructions else wanted


def _thinking(request: ModelRequest) -> JsonObject:
    if request.effort is None and request.mode is None:
        return {}
    if request.effort == "none":
        return {"thinking": {"type": "disabled"}}
    if request.mode == "budget":
        least = PROVIDERS["anthropic"].thinking_tokens_min["budget"]
        tokens = max(least, share_of(request.effort, request.max_output_tokens))
        return {"thinking": {"type": "enabled", "budget_tokens": tokens}}
    body: JsonObject = {"thinking": {"type": "adaptive"}}
    if request.effort is not None:
        body["output_config"] = {"effort": request.effort}
    return body


def _turn(role: str, messages: list[Message], request: ModelRequest) -> JsonObject:
    blocks: list[JsonValue] = []
    for message in messages:
        blocks += _blocks(message, request)
    return {"role": "assistant" if role == "assistant" else "user", "content": blocks}


def _blocks(message: Message, request: ModelRequest) -> list[JsonValue]:
    if message.role == "user":
        return [{"type": "text", "text": message.text}]
    if message.role == "tool":
        block: JsonObject = {
            "type": "tool_result",
            "tool_use_id": message.call_id,
            "content": message.text,
        }
        return [block]
    replayed = (message.continuation or {}).get("content")
    if isinstance(replayed, list):
        return replayed
    # The provider refuses empty text.
    blocks: list[JsonValue] = [{"type": "text", "text": message.text}] if message.text else []
    blocks += [
        {
            "type": "tool_use",
            "id": call.id,
            "name": request.wire_name(call.name),
            "input": call.arguments,
        }
        for call in message.calls
    ]
    return blocks


def _calls(blocks: list[JsonObject], request: ModelRequest, *, is_cut: bool) -> Iterator[ToolCall]:
    for index, block in enumerate(blocks):
        if block.get("type") != "tool_use":
            continue
        # What the bound cut off is the last block; it was never asked for as a whole.
        if is_cut and index == len(blocks) - 1:
            continue
        yield ToolCall(
            id=text_at(block, "id"),
            name=request.tool_name(text_at(block, "name")),
            arguments=object_at(block, "input"),
        )


def _usage(usage: JsonObject) -> Usage:
    """Return the tokens; the provider counts cached ones beside the input, not in it."""
    read = count_at(usage, "cache_read_input_tokens")
    written = count_at(usage, "cache_creation_input_tokens")
    return Usage(
        input=count_at(usage, "input_tokens") + read + written,
        output=count_at(usage, "output_tokens"),
        cache_read=read,
        cache_write=written,
    )


@define(eq=False, repr=False)
class MessageFold:
    """Builds the message that the same request would have got without streaming."""

    _progress: TextProgress = field(factory=TextProgress)
    _message: JsonObject = field(factory=dict)
    _blocks: dict[int, JsonObject] = field(factory=dict)
    _inputs: dict[int, list[str]] = field(factory=dict)
    _is_complete: bool = False

    def feed(self, event: ServerEvent) -> Iterator[Progress]:
        """Take one event; kinds that are not known yet are passed over."""
        data = parse_object(event.data, "event")
        kind = optional_text(data, "type") or event.name
        if kind == "error":
            raise failure_of_report(object_at(data, "error"), "anthropic")
        if kind == "message_start":
            self._message = dict(object_at(data, "message"))
        elif kind == "content_block_start":
            yield from self._start(count_at(data, "index"), object_at(data, "content_block"))
        elif kind == "content_block_delta":
            yield from self._extend(count_at(data, "index"), object_at(data, "delta"))
        elif kind == "message_delta":
            self._message.update(object_at(data, "delta"))
            usage = {**object_at(self._message, "usage"), **object_at(data, "usage")}
            self._message["usage"] = usage
        elif kind == "message_stop":
            self._is_complete = True
            yield from self._progress.rest()

    @property
    def is_complete(self) -> bool:
        """Whether the last event came."""
        return self._is_complete

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to come."""
        return self.is_complete

    def body(self) -> JsonObject:
        """Return the message."""
        blocks = [self._block(index) for index in sorted(self._blocks)]
        return {**self._message, "content": [*blocks]}

    def _start(self, index: int, block: JsonObject) -> Iterator[Progress]:
        self._blocks[index] = dict(block)
        if block.get("type") == "tool_use":
            self._inputs[index] = []
            yield Progress(
                "tool_call.started",
                {"id": optional_text(block, "id"), "name": optional_text(block, "name")},
            )

    def _extend(self, index: int, delta: JsonObject) -> Iterator[Progress]:
        block = self._blocks.get(index)
        if block is None:
            raise invalid(f"a delta belongs to block {index}, which was not started")
        kind = delta.get("type")
        if kind == "text_delta":
            text = text_at(delta, "text")
            block["text"] = optional_text(block, "text") + text
            yield from self._progress.add(text)
        elif kind == "input_json_delta":
            self._inputs.setdefault(index, []).append(text_at(delta, "partial_json"))
        elif kind == "thinking_delta":
            block["thinking"] = optional_text(block, "thinking") + text_at(delta, "thinking")
        elif kind == "signature_delta":
            block["signature"] = text_at(delta, "signature")

    def _block(self, index: int) -> JsonObject:
        """Return a block with the input that came in pieces; half of one reads as empty."""
        block, pieces = self._blocks[index], "".join(self._inputs.get(index, ()))
        if not pieces:
            return block
        is_last = index == max(self._blocks)
        if is_last and self._message.get("stop_reason") == "max_tokens":
            return {**block, "input": {}}
        return {**block, "input": as_object(parse(pieces, "input"), "input")}
