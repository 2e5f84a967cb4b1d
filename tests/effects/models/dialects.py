"""What each provider says in each situation, in its own words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from attr import field, frozen

if TYPE_CHECKING:
    from collections.abc import Callable

ARGUMENTS = {"at": "Rome"}


@frozen(kw_only=True)
class Dialect:
    """One provider's answers; `stream` gives the events that make up an answer."""

    kind: str
    path: str
    auth: tuple[str, str]
    text: Callable[[str], Any]
    calls: Callable[[list[str]], Any]
    truncated: Callable[[str], Any]
    safety: Callable[[], Any]
    stream: Callable[[Any], list[Any]]
    refusal: Callable[[str], Any] | None = None
    error: Callable[[str, str], Any]
    reported: Any
    overload: tuple[int, str] = (503, "server_error")
    ill_typed: tuple[Any, ...] = field(default=())


def _error(code: str, message: str) -> Any:
    return {"error": {"code": code, "type": code, "message": message}}


# OpenAI Responses
def _response(output: list[Any], status: str = "completed", **more: Any) -> Any:
    return {
        "id": "resp_1",
        "object": "response",
        "model": "m-1-real",
        "status": status,
        "output": [{"type": "reasoning", "id": "rs_1", "summary": []}, *output],
        "usage": {
            "input_tokens": 12,
            "input_tokens_details": {"cached_tokens": 4},
            "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 2},
            "total_tokens": 17,
        },
        "something_new": {"deep": [1]},
        **more,
    }


def _said(*parts: Any) -> Any:
    return {"type": "message", "role": "assistant", "content": list(parts)}


def _text_part(text: str) -> Any:
    return {"type": "output_text", "text": text, "annotations": []}


def _response_call(call_id: str) -> Any:
    return {
        "type": "function_call",
        "id": f"fc_{call_id}",
        "call_id": call_id,
        "name": "look",
        "arguments": json.dumps(ARGUMENTS),
        "status": "completed",
    }


def _response_events(body: Any) -> list[Any]:
    events: list[Any] = [{"type": "response.created", "response": {"id": "resp_1"}}]
    for item in body["output"]:
        events.append({"type": "response.output_item.added", "item": item})
        for part in item.get("content", []):
            text = part.get("text", "")
            events += [
                {"type": "response.output_text.delta", "delta": text[at : at + 3]}
                for at in range(0, len(text), 3)
            ]
    return [*events, {"type": f"response.{body['status']}", "response": body}]


def _responses(kind: str, path: str, auth: tuple[str, str]) -> Dialect:
    return Dialect(
        kind=kind,
        path=path,
        auth=auth,
        text=lambda text: _response([_said(_text_part(text))]),
        calls=lambda ids: _response([_response_call(one) for one in ids]),
        truncated=lambda text: _response(
            [_said(_text_part(text))],
            "incomplete",
            incomplete_details={"reason": "max_output_tokens"},
        ),
        safety=lambda: _response(
            [], "incomplete", incomplete_details={"reason": "content_filter"}
        ),
        refusal=lambda text: _response([_said({"type": "refusal", "refusal": text})]),
        stream=_response_events,
        error=_error,
        reported={"type": "error", "error": {"code": "server_error", "message": "down"}},
        ill_typed=(
            {},
            [],
            _response([{"type": "function_call", "call_id": "c", "name": 7}]),
            _response([{"type": "message", "content": "no list"}]),
            _response([], usage={"input_tokens": -1}),
            {"status": "queued", "output": []},
        ),
    )


# Anthropic Messages
def _anthropic(content: list[Any], stop_reason: str = "end_turn") -> Any:
    return {
        "id": "resp_1",
        "type": "message",
        "role": "assistant",
        "model": "m-1-real",
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 8, "cache_read_input_tokens": 4, "output_tokens": 5},
        "something_new": {"deep": [1]},
    }


def _tool_use(call_id: str) -> Any:
    return {"type": "tool_use", "id": call_id, "name": "look", "input": ARGUMENTS}


def _anthropic_events(body: Any) -> list[Any]:
    start = {**body, "content": [], "stop_reason": None}
    events: list[Any] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, block in enumerate(body["content"]):
        text = block.get("text") or json.dumps(block.get("input"))
        kind, name = (
            ("text_delta", "text") if "text" in block else ("input_json_delta", "partial_json")
        )
        empty = {**block, "text": ""} if "text" in block else {**block, "input": {}}
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        events += [
            {
                "type": "content_block_delta",
                "index": index,
                "delta": {"type": kind, name: text[at : at + 3]},
            }
            for at in range(0, len(text), 3)
        ]
        events.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": body["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 5}})
    return [*events, {"type": "message_stop"}]


# Gemini
def _gemini(parts: list[Any], reason: str = "STOP") -> Any:
    return {
        "candidates": [
            {"content": {"role": "model", "parts": parts}, "finishReason": reason, "index": 0}
        ],
        "usageMetadata": {
            "promptTokenCount": 12,
            "cachedContentTokenCount": 4,
            "candidatesTokenCount": 3,
            "thoughtsTokenCount": 2,
        },
        "modelVersion": "m-1-real",
        "responseId": "resp_1",
        "somethingNew": {"deep": [1]},
    }


def _function_call(call_id: str) -> Any:
    return {"functionCall": {"id": call_id, "name": "look", "args": ARGUMENTS}}


def _gemini_events(body: Any) -> list[Any]:
    (candidate,) = body["candidates"]
    events: list[Any] = []
    for part in candidate["content"]["parts"]:
        text = part.get("text")
        pieces = (
            [part]
            if text is None
            else [{**part, "text": text[at : at + 3]} for at in range(0, len(text), 3)]
        )
        events += [
            {**body, "candidates": [{"content": {"role": "model", "parts": [one]}, "index": 0}]}
            for one in pieces
        ]
    last = {"finishReason": candidate["finishReason"], "index": 0}
    return [*events, {**body, "candidates": [last]}]


# Chat completions
def _chat(message: Any, reason: str = "stop") -> Any:
    return {
        "id": "resp_1",
        "object": "chat.completion",
        "model": "m-1-real",
        "choices": [
            {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}
        ],
        "usage": {
            "prompt_tokens": 12,
            "completion_tokens": 5,
            "prompt_tokens_details": {"cached_tokens": 4},
        },
        "something_new": {"deep": [1]},
    }


def _chat_call(call_id: str) -> Any:
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": "look", "arguments": json.dumps(ARGUMENTS)},
    }


def _chat_events(body: Any) -> list[Any]:
    (choice,) = body["choices"]
    message, named = choice["message"], {"id": body["id"], "model": body["model"]}
    text = message.get("content") or ""
    deltas: list[Any] = [{"content": text[at : at + 3]} for at in range(0, len(text), 3)]
    for index, call in enumerate(message.get("tool_calls", [])):
        arguments = call["function"]["arguments"]
        first = {**call, "index": index, "function": {**call["function"], "arguments": ""}}
        deltas.append({"tool_calls": [first]})
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": arguments[at : at + 3]}}]}
            for at in range(0, len(arguments), 3)
        ]
    events = [{**named, "choices": [{"index": 0, "delta": one}]} for one in deltas]
    end = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    usage = {**named, "choices": [], "usage": body["usage"]}
    return [*events, {**named, "choices": [end]}, usage, "[DONE]"]


DIALECTS = {
    one.kind: one
    for one in (
        _responses("openai", "/v1/responses", ("authorization", "Bearer k-secret")),
        _responses("azure_openai", "/openai/v1/responses?api-version=v1", ("api-key", "k-secret")),
        Dialect(
            kind="anthropic",
            path="/v1/messages",
            auth=("x-api-key", "k-secret"),
            text=lambda text: _anthropic([{"type": "text", "text": text}] if text else []),
            calls=lambda ids: _anthropic([_tool_use(one) for one in ids], "tool_use"),
            truncated=lambda text: _anthropic([{"type": "text", "text": text}], "max_tokens"),
            safety=lambda: _anthropic([], "refusal"),
            refusal=lambda text: _anthropic([{"type": "text", "text": text}], "refusal"),
            stream=_anthropic_events,
            error=lambda code, message: {
                "type": "error",
                "error": {"type": code, "message": message},
            },
            reported={"type": "error", "error": {"type": "overloaded_error", "message": "down"}},
            overload=(529, "overloaded_error"),
            ill_typed=(
                {},
                [],
                _anthropic([{"type": "text"}]),
                _anthropic([{"type": "tool_use", "id": "c", "name": "look", "input": "no"}]),
                {**_anthropic([]), "content": "no list"},
                {**_anthropic([]), "usage": {"output_tokens": "5"}},
            ),
        ),
        Dialect(
            kind="google",
            path="/v1beta/models/m-1:generateContent",
            auth=("x-goog-api-key", "k-secret"),
            text=lambda text: _gemini([{"text": text}] if text else []),
            calls=lambda ids: _gemini([_function_call(one) for one in ids]),
            truncated=lambda text: _gemini([{"text": text}], "MAX_TOKENS"),
            safety=lambda: _gemini([], "SAFETY"),
            stream=_gemini_events,
            error=lambda code, message: {
                "error": {"code": 400, "status": code, "message": message}
            },
            reported={"error": {"code": 503, "status": "UNAVAILABLE", "message": "down"}},
            overload=(503, "UNAVAILABLE"),
            ill_typed=(
                {},
                [],
                _gemini([{"text": 7}]),
                _gemini([{"functionCall": {"args": {}}}]),
                {"candidates": [{"content": {"parts": "no list"}}]},
                {**_gemini([]), "usageMetadata": {"promptTokenCount": True}},
            ),
        ),
        Dialect(
            kind="openai_compatible",
            path="/v1/chat/completions",
            auth=("authorization", "Bearer k-secret"),
            text=lambda text: _chat({"content": text}),
            calls=lambda ids: _chat(
                {"content": None, "tool_calls": [_chat_call(one) for one in ids]}, "tool_calls"
            ),
            truncated=lambda text: _chat({"content": text}, "length"),
            safety=lambda: _chat({"content": ""}, "content_filter"),
            refusal=lambda text: _chat({"content": None, "refusal": text}),
            stream=_chat_events,
            error=_error,
            reported={"error": {"code": "server_error", "message": "down"}},
            ill_typed=(
                {},
                [],
                _chat({"content": 7}),
                _chat({"tool_calls": [{"function": {"name": "look", "arguments": "{"}}]}),
                {"choices": "no list"},
                {**_chat({"content": ""}), "usage": {"prompt_tokens": 1.5}},
            ),
        ),
    )
}
