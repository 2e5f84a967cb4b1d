"""Gemini: `POST /v1beta/models/MODEL:generateContent`.

Above: the executor. The provider keeps nothing: every turn sends the whole conversation, and
parts with signed thoughts go back as they came.
Source: Gemini API reference, "Generating content" and "Function calling".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from attr import define, field

from agentctl.effects.models.adapter import HttpCall, Progress, TextProgress, share_of
from agentctl.effects.models.contract import OWN_CALL_ID, ModelResult, ToolCall, Usage, own_call_id
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
from agentctl.providers import PROVIDERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentctl.effects.models.contract import Message, ModelRequest, StopReason
    from agentctl.effects.models.sse import ServerEvent
    from agentctl.jsonvalue import JsonObject, JsonValue
    from agentctl.providers import ProviderFacts

_VERSION: Final = "v1beta"
_STOP_REASONS: Final[dict[str, StopReason]] = {
    "STOP": "end_turn",
    "MAX_TOKENS": "max_tokens",
    **dict.fromkeys(
        ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"),
        "safety",
    ),
}


class Google:
    """The adapter of `google`."""

    facts: ProviderFacts = PROVIDERS["google"]

    def call(self, request: ModelRequest, api_version: str | None) -> HttpCall:
        """Return the POST of one turn."""
        model = quote(request.model.removeprefix("models/"), safe="")
        method = "streamGenerateContent" if request.stream else "generateContent"
        version = quote(api_version or _VERSION, safe="")
        return HttpCall(
            path=f"/{version}/models/{model}:{method}",
            query="alt=sse" if request.stream else "",
            body=_body(request),
        )

    def authentication(self, key: str) -> dict[str, str]:
        """Return the provider's own header; a key in the address would end up in logs."""
        return {"x-goog-api-key": key}

    def result(self, body: JsonObject, request: ModelRequest) -> ModelResult:
        """Read an answer with its first candidate. Raises EffectError."""
        if "error" in body:
            raise failure_of_report(object_at(body, "error"), self.facts.kind)
        usage = _usage(object_at(body, "usageMetadata"))
        candidates = objects_at(body, "candidates")
        if not candidates:
            if optional_text(object_at(body, "promptFeedback"), "blockReason"):
                return ModelResult(text="", usage=usage, stop_reason="safety")
            raise invalid("candidates is missing; expected a list with one")
        parts = objects_at(object_at(candidates[0], "content"), "parts")
        calls = tuple(_calls(parts, request))
        signed = any("thoughtSignature" in one for one in parts)
        return ModelResult(
            text="".join(_texts(parts)),
            calls=calls,
            usage=usage,
            stop_reason=_stop_reason(candidates[0], called=bool(calls)),
            continuation={"parts": [*parts]} if signed else None,
            response_id=optional_text(body, "responseId"),
            model=optional_text(body, "modelVersion"),
        )

    def fold(self) -> ContentFold:
        """Return a fold."""
        return ContentFold()


def _body(request: ModelRequest) -> JsonObject:
    config: JsonObject = {"maxOutputTokens": request.max_output_tokens}
    if request.structured_output is not None:
        config["responseMimeType"] = "application/json"
        config["responseJsonSchema"] = request.structured_output
    thinking = _thinking(request)
    if thinking:
        config["thinkingConfig"] = thinking
    names = {call.id: call.name for one in request.messages for call in one.calls}
    body: JsonObject = {
        "contents": [_turn(role, messages, request, names) for role, messages in request.turns()],
        "generationConfig": config,
    }
    if request.instructions:
        body["systemInstruction"] = {"parts": [{"text": request.instructions}]}
    if request.tools:
        declarations: list[JsonValue] = [
            one.rendered
            or {
                "name": one.wire_name,
                "description": one.description,
                "parametersJsonSchema": one.input_schema,
            }
            for one in request.tools
        ]
        body["tools"] = [{"functionDeclarations": declarations}]
    return body


def _thinking(request: ModelRequest) -> JsonObject:
    if request.effort is None and request.mode is None:
        return {}
    if request.effort == "none":
        return {"thinkingBudget": 0}
    if request.mode == "budget":
        return {"thinkingBudget": share_of(request.effort, request.max_output_tokens)}
    return {"thinkingLevel": request.effort or "medium"}


def _turn(
    role: str, messages: list[Message], request: ModelRequest, names: dict[str, str]
) -> JsonObject:
    parts: list[JsonValue] = []
    for message in messages:
        parts += _parts(message, request, names)
    return {"role": "model" if role == "assistant" else "user", "parts": parts}


def _parts(message: Message, request: ModelRequest, names: dict[str, str]) -> list[JsonValue]:
    if message.role == "user":
        return [{"text": message.text}]
    if message.role == "tool":
        answer: JsonObject = {
            "name": request.wire_name(names.get(message.call_id, "")),
            "response": {"result": message.text},
        }
        return [{"functionResponse": _identified(answer, message.call_id)}]
    replayed = (message.continuation or {}).get("parts")
    if isinstance(replayed, list):
        return replayed
    parts: list[JsonValue] = [{"text": message.text}] if message.text else []
    for call in message.calls:
        body: JsonObject = {"name": request.wire_name(call.name), "args": call.arguments}
        parts.append({"functionCall": _identified(body, call.id)})
    return parts


def _identified(body: JsonObject, call_id: str) -> JsonObject:
    """Add the id of a call, unless it is one that the provider never gave."""
    return body if call_id.startswith(OWN_CALL_ID) else {**body, "id": call_id}


def _texts(parts: list[JsonObject]) -> Iterator[str]:
    for part in parts:
        if "text" in part and part.get("thought") is not True:
            yield text_at(part, "text")


def _calls(parts: list[JsonObject], request: ModelRequest) -> Iterator[ToolCall]:
    wanted = [object_at(one, "functionCall") for one in parts if "functionCall" in one]
    for index, call in enumerate(wanted):
        yield ToolCall(
            id=optional_text(call, "id") or own_call_id(request, index),
            name=request.tool_name(text_at(call, "name")),
            arguments=object_at(call, "args"),
        )


def _stop_reason(candidate: JsonObject, *, called: bool) -> StopReason:
    reason = optional_text(candidate, "finishReason")
    if called and reason in ("STOP", ""):
        return "tool_use"
    return _STOP_REASONS.get(reason, "other")


def _usage(usage: JsonObject) -> Usage:
    """Return the tokens; the provider counts thoughts beside the output, not in it."""
    thoughts = count_at(usage, "thoughtsTokenCount")
    prompt = count_at(usage, "promptTokenCount") + count_at(usage, "toolUsePromptTokenCount")
    return Usage(
        input=prompt,
        output=count_at(usage, "candidatesTokenCount") + thoughts,
        cache_read=count_at(usage, "cachedContentTokenCount"),
        reasoning=thoughts,
    )


@define(eq=False, repr=False)
class ContentFold:
    """Joins the chunks of a stream, each of which is an answer of its own."""

    _progress: TextProgress = field(factory=TextProgress)
    _body: JsonObject = field(factory=dict)
    _candidate: JsonObject = field(factory=dict)
    _parts: list[JsonObject] = field(factory=list)

    def feed(self, event: ServerEvent) -> Iterator[Progress]:
        """Take one chunk."""
        chunk = parse_object(event.data, "event")
        if "error" in chunk:
            raise failure_of_report(object_at(chunk, "error"), "google")
        candidates = objects_at(chunk, "candidates")
        self._body.update({name: one for name, one in chunk.items() if name != "candidates"})
        if candidates:
            yield from self._extend(candidates[0])
        if self.is_complete:
            yield from self._progress.rest()

    @property
    def is_complete(self) -> bool:
        """Whether the answer says why it ended, or that the prompt was blocked."""
        blocked = optional_text(object_at(self._body, "promptFeedback"), "blockReason")
        return bool(optional_text(self._candidate, "finishReason") or blocked)

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to come; here only the end of the stream says so."""
        return False

    def body(self) -> JsonObject:
        """Return the answer with the one candidate."""
        if not self._candidate:
            return self._body
        content: JsonObject = {"role": "model", "parts": [*self._parts]}
        return {**self._body, "candidates": [{**self._candidate, "content": content}]}

    def _extend(self, candidate: JsonObject) -> Iterator[Progress]:
        for part in objects_at(object_at(candidate, "content"), "parts"):
            self._join(part)
            for text in _texts([part]):
                yield from self._progress.add(text)
            call = object_at(part, "functionCall")
            if call:
                names = {"id": optional_text(call, "id"), "name": optional_text(call, "name")}
                yield Progress("tool_call.started", {**names})
        kept = {name: one for name, one in candidate.items() if name != "content"}
        self._candidate = {**self._candidate, **kept}

    def _join(self, part: JsonObject) -> None:
        """Add a part; plain text goes on where plain text was."""
        if self._parts and part.keys() == {"text"} and self._parts[-1].keys() == {"text"}:
            self._parts[-1] = {"text": text_at(self._parts[-1], "text") + text_at(part, "text")}
        else:
            self._parts.append(part)
