"""OpenAI Responses: `POST /v1/responses`.

Above: the executor; Azure's adapter shares the mapping. A stored answer is continued by its id;
with `store: false` the answer's items, with their encrypted reasoning, are sent again.
Source: OpenAI API reference, "Responses" and "Streaming events".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from attr import define, field

from agentctl.effects.models.adapter import HttpCall, Progress, TextProgress, is_strict
from agentctl.effects.models.contract import ModelResult, ToolCall, Usage
from agentctl.effects.models.failures import failure_of_report
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
from agentctl.providers import PROVIDERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentctl.effects.models.contract import Message, ModelRequest, StopReason
    from agentctl.effects.models.sse import ServerEvent
    from agentctl.jsonvalue import JsonObject, JsonValue
    from agentctl.providers import ProviderFacts

ANSWER_NAME: Final = "answer"
_INCOMPLETE: Final[dict[str, StopReason]] = {
    "max_output_tokens": "max_tokens",
    "content_filter": "safety",
}
_LAST_EVENTS: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})


class OpenAi:
    """The adapter of `openai`."""

    facts: ProviderFacts = PROVIDERS["openai"]

    def call(self, request: ModelRequest, api_version: str | None) -> HttpCall:  # noqa: ARG002
        """Return the POST of one turn; the interface has its version in the path."""
        return HttpCall(path="/v1/responses", body=responses_body(request))

    def authentication(self, key: str) -> dict[str, str]:
        """Return the bearer header."""
        return {"authorization": f"Bearer {key}"}

    def result(self, body: JsonObject, request: ModelRequest) -> ModelResult:
        """Read a response object."""
        return responses_result(body, request, self.facts.kind)

    def fold(self) -> ResponsesFold:
        """Return a fold; the last event of a stream holds the whole response."""
        return ResponsesFold(self.facts.kind)


def responses_body(request: ModelRequest) -> JsonObject:
    """Return the body of a request."""
    items, previous = _input(request)
    body: JsonObject = {
        "model": request.model,
        "instructions": request.instructions,
        "input": items,
        "max_output_tokens": request.max_output_tokens,
    }
    if previous:
        body["previous_response_id"] = previous
    if request.tools:
        body["tools"] = [
            one.rendered
            or {
                "type": "function",
                "name": one.wire_name,
                "description": one.description,
                "parameters": one.input_schema,
                "strict": is_strict(one.input_schema),
            }
            for one in request.tools
        ]
    if request.structured_output is not None:
        schema = request.structured_output
        body["text"] = {
            "format": {
                "type": "json_schema",
                "name": ANSWER_NAME,
                "schema": schema,
                "strict": is_strict(schema),
            }
        }
    if request.stream:
        body["stream"] = True
    body.update(_options(request))
    return body


def _options(request: ModelRequest) -> JsonObject:
    """Return what the agent's `reasoning` and `providerOptions` say."""
    options, body = request.options, dict[str, "JsonValue"]()
    reasoning = {
        "effort": request.effort,
        "mode": request.mode,
        "context": options.get("reasoningContext"),
    }
    if any(value is not None for value in reasoning.values()):
        body["reasoning"] = {name: one for name, one in reasoning.items() if one is not None}
    cache = {"mode": options.get("promptCacheMode"), "ttl": options.get("promptCacheTtl")}
    if any(value is not None for value in cache.values()):
        body["prompt_cache_options"] = {
            name: one for name, one in cache.items() if one is not None
        }
    for option, name in (
        ("store", "store"),
        ("parallelToolCalls", "parallel_tool_calls"),
        ("safetyIdentifier", "safety_identifier"),
    ):
        if option in options:
            body[name] = options[option]
    if options.get("store") is False:
        body["include"] = ["reasoning.encrypted_content"]
    return body


def _input(request: ModelRequest) -> tuple[list[JsonValue], str]:
    """Return the items to send, and the id of the stored response that they follow."""
    items: list[JsonValue] = []
    previous = ""
    for message in request.messages:
        stored = (message.continuation or {}).get("responseId")
        if isinstance(stored, str):
            items, previous = [], stored
        else:
            items += _items(message, request)
    return items, previous


def _items(message: Message, request: ModelRequest) -> list[JsonValue]:
    if message.role == "user":
        return [{"role": "user", "content": message.text}]
    if message.role == "tool":
        output: JsonObject = {
            "type": "function_call_output",
            "call_id": message.call_id,
            "output": message.text,
        }
        return [output]
    replayed = (message.continuation or {}).get("items")
    if isinstance(replayed, list):
        return replayed
    items: list[JsonValue] = []
    if message.text:
        items.append({"role": "assistant", "content": message.text})
    items += [
        {
            "type": "function_call",
            "call_id": call.id,
            "name": request.wire_name(call.name),
            "arguments": canonical(call.arguments),
        }
        for call in message.calls
    ]
    return items


def responses_result(body: JsonObject, request: ModelRequest, provider: str) -> ModelResult:
    """Read a response object. Raises EffectError."""
    if body.get("error") is not None:
        raise failure_of_report(object_at(body, "error"), provider)
    status = text_at(body, "status")
    if status not in ("completed", "incomplete"):
        raise invalid(f"status is {status[:40]!r}; expected a finished response")
    output = objects_at(body, "output")
    texts, refusals = _texts(output)
    is_cut = status == "incomplete"
    calls = tuple(_calls(output, request, is_cut=is_cut))
    return ModelResult(
        text="".join(texts) or "".join(refusals),
        calls=calls,
        usage=_usage(object_at(body, "usage")),
        stop_reason=_stop_reason(body, is_cut=is_cut, refused=bool(refusals), called=bool(calls)),
        continuation=_continuation(body, output, request),
        response_id=optional_text(body, "id"),
        model=optional_text(body, "model"),
    )


def _texts(output: list[JsonObject]) -> tuple[list[str], list[str]]:
    texts: list[str] = []
    refusals: list[str] = []
    for item in output:
        if item.get("type") != "message":
            continue
        for part in objects_at(item, "content"):
            if part.get("type") == "output_text":
                texts.append(text_at(part, "text"))
            elif part.get("type") == "refusal":
                refusals.append(text_at(part, "refusal"))
    return texts, refusals


def _calls(output: list[JsonObject], request: ModelRequest, *, is_cut: bool) -> Iterator[ToolCall]:
    for item in output:
        if item.get("type") != "function_call":
            continue
        # A call that the bound cut off has half its arguments; it was never asked for.
        if is_cut and item.get("status") != "completed":
            continue
        yield ToolCall(
            id=text_at(item, "call_id"),
            name=request.tool_name(text_at(item, "name")),
            arguments=parse_object(text_at(item, "arguments") or "{}", "arguments"),
        )


def _stop_reason(body: JsonObject, *, is_cut: bool, refused: bool, called: bool) -> StopReason:
    if is_cut:
        reason = optional_text(object_at(body, "incomplete_details"), "reason")
        return _INCOMPLETE.get(reason, "other")
    if called:
        return "tool_use"
    return "refusal" if refused else "end_turn"


def _usage(usage: JsonObject) -> Usage:
    given, made = (
        object_at(usage, "input_tokens_details"),
        object_at(usage, "output_tokens_details"),
    )
    return Usage(
        input=count_at(usage, "input_tokens"),
        output=count_at(usage, "output_tokens"),
        cache_read=count_at(given, "cached_tokens"),
        cache_write=count_at(given, "cache_write_tokens"),
        reasoning=count_at(made, "reasoning_tokens"),
    )


def _continuation(
    body: JsonObject, output: list[JsonObject], request: ModelRequest
) -> JsonObject | None:
    if request.options.get("store") is False:
        return {"items": [*output]}
    stored = optional_text(body, "id")
    return {"responseId": stored} if stored and body.get("store") is not False else None


@define(eq=False, repr=False)
class ResponsesFold:
    """Follows a stream of response events to its last one."""

    provider: str
    _progress: TextProgress = field(factory=TextProgress)
    _response: JsonObject | None = None

    def feed(self, event: ServerEvent) -> Iterator[Progress]:
        """Take one event; the name of an event is also in its data."""
        if event.data == "[DONE]":
            return
        data = parse_object(event.data, "event")
        kind = optional_text(data, "type") or event.name
        if kind == "response.output_text.delta":
            yield from self._progress.add(text_at(data, "delta"))
        elif kind == "response.output_item.added":
            yield from _started_call(object_at(data, "item"))
        elif kind == "error":
            raise failure_of_report(object_at(data, "error") or data, self.provider)
        elif kind in _LAST_EVENTS:
            yield from self._progress.rest()
            self._response = object_at(data, "response")

    @property
    def is_complete(self) -> bool:
        """Whether the last event came."""
        return self._response is not None

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to come."""
        return self.is_complete

    def body(self) -> JsonObject:
        """Return the response object."""
        return self._response or {}


def _started_call(item: JsonObject) -> Iterator[Progress]:
    if item.get("type") == "function_call":
        yield Progress(
            "tool_call.started",
            {"id": optional_text(item, "call_id"), "name": optional_text(item, "name")},
        )
