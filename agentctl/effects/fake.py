"""The scripted provider: an agent without a model, for tests, demos and dry runs.

Above: the runner. It answers from `providerOptions` alone (specification, section 14), so the
same request always gets the same answer.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

from agentctl.errors import EffectError
from agentctl.jsonvalue import canonical

if TYPE_CHECKING:
    from agentctl.engine.ports import EffectContext
    from agentctl.engine.records import EffectRecord
    from agentctl.jsonvalue import JsonObject, JsonValue

# A rough, fixed measure: usage must be the same on every machine.
CHARACTERS_PER_TOKEN = 4
STREAM_PIECES = 3


class FakeProvider:
    """`model.fake`: scripted answers, delays, failures and tool calls."""

    async def execute(self, effect: EffectRecord, context: EffectContext) -> JsonValue:
        """Return `{text, toolCalls, usage, stopReason}`."""
        request = cast("JsonObject", effect.input)
        options = cast("JsonObject", request.get("providerOptions") or {})
        await _delay(options)
        _fail_first(effect, options)
        messages = cast("list[JsonObject]", request["messages"])
        scripted = _scripted_call(options, messages)
        if scripted is not None:
            return _answer(request, text="", stop_reason="tool_use", calls=[scripted])
        if _wants_tool(request, options, messages):
            return _tool_call(request, options)
        text = _final_text(options, messages)
        if request.get("stream"):
            await _stream(text, context)
        return _answer(request, text=text, stop_reason="end_turn")


async def _delay(options: JsonObject) -> None:
    delay_ms = cast("int", options.get("delayMs", 0))
    if delay_ms:
        await asyncio.sleep(delay_ms / 1000)


def _fail_first(effect: EffectRecord, options: JsonObject) -> None:
    failures = cast("int", options.get("failFirst", 0))
    if effect.attempt <= failures:
        message = f"scripted failure {effect.attempt} of {failures}"
        raise EffectError(message, code="provider_unavailable", retryable=True)


def _scripted_call(options: JsonObject, messages: list[JsonObject]) -> JsonObject | None:
    """Return the next of `toolCalls`, one in each turn."""
    script = cast("list[JsonObject]", options.get("toolCalls") or [])
    made = sum(message["role"] == "tool" for message in messages)
    return {"id": f"call_{made + 1}", **script[made]} if made < len(script) else None


def _wants_tool(request: JsonObject, options: JsonObject, messages: list[JsonObject]) -> bool:
    if "toolInput" not in options or not (request["tools"] or "toolName" in options):
        return False
    return not any(message["role"] == "tool" for message in messages)


def _tool_call(request: JsonObject, options: JsonObject) -> JsonObject:
    name = options.get("toolName") or cast("list[str]", request["tools"])[0]
    call: JsonObject = {"id": "call_1", "name": name, "arguments": options["toolInput"]}
    return _answer(request, text="", stop_reason="tool_use", calls=[call])


def _final_text(options: JsonObject, messages: list[JsonObject]) -> str:
    scripted = options.get("finalText")
    if scripted is not None:
        return cast("str", scripted)
    content = messages[0]["content"]
    return content if isinstance(content, str) else canonical(content)


async def _stream(text: str, context: EffectContext) -> None:
    await context.emit("response.started", {})
    size = max(1, -(-len(text) // STREAM_PIECES))
    for place, start in enumerate(range(0, len(text), size), 1):
        await context.emit("text.delta", {"text": text[start : start + size]}, place)
    await context.emit("response.completed", {"characters": len(text)})


def _answer(
    request: JsonObject, *, text: str, stop_reason: str, calls: list[JsonValue] | None = None
) -> JsonObject:
    asked = canonical(request["messages"]) + cast("str", request["instructions"])
    usage: JsonObject = {"inputTokens": _tokens(asked), "outputTokens": _tokens(text)}
    return {"text": text, "toolCalls": calls or [], "usage": usage, "stopReason": stop_reason}


def _tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)
