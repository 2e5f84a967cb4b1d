"""The cases of the conformance table in which a provider answers: what the answer becomes."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING

from agentctl.jsonvalue import canonical
from tests.effects.models.asking import LOOK, SCHEMA, Asker, request
from tests.effects.models.conforming import (
    STREAMED,
    TEXT,
    WITH_TOOL,
    after,
    answered,
    called,
    stopped,
    text_events,
)
from tests.effects.models.dialects import DIALECTS
from tests.effects.models.server import json_reply, serving, stream_reply

if TYPE_CHECKING:
    from tests.effects.models.conforming import Show


def text_with_usage(kind: str) -> str:
    """The text, what it cost, and who gave it; members that nobody knows are passed over."""
    result, _ = answered(kind, json_reply(DIALECTS[kind].text(TEXT)), request())
    assert (result["text"], result["toolCalls"]) == (TEXT, [])
    assert result["stopReason"] == "end_turn"
    assert result["usage"]["inputTokens"] == 12
    assert result["usage"]["outputTokens"] == 5
    assert result["usage"]["cacheReadTokens"] == 4
    assert (result["model"], result["responseId"]) == ("m-1-real", "resp_1")
    return stopped(result)


def path_and_credential(kind: str) -> str:
    """The request goes to the path of the protocol, with the header of its credential."""
    _, server = answered(kind, json_reply(DIALECTS[kind].text("x")), request())
    (asked,) = server.asked
    name, value = DIALECTS[kind].auth
    assert (asked.path, asked.headers[name]) == (DIALECTS[kind].path, value)
    assert asked.headers["host"] == server.url.removeprefix("http://")
    assert "hello" in json.dumps(asked.body)
    assert "Be brief." in json.dumps(asked.body)
    return f"`{asked.path}`, `{name}`"


def key_of_the_call(kind: str) -> str:
    """The request brings the idempotency key of its effect."""
    _, server = answered(kind, json_reply(DIALECTS[kind].text("x")), request())
    assert server.asked[0].headers["idempotency-key"] == "agentctl-key"
    return "`idempotency-key`"


def tool_call(kind: str) -> str:
    """A tool is offered with its schema, and its call is read with its own id."""
    result, server = answered(kind, json_reply(DIALECTS[kind].calls(["c1"])), WITH_TOOL)
    assert (result["toolCalls"], result["stopReason"]) == (called(["c1"]), "tool_use")
    assert canonical(LOOK["inputSchema"]) in canonical(server.asked[0].body)
    return stopped(result)


def parallel_calls(kind: str) -> str:
    """Calls keep their order."""
    reply = json_reply(DIALECTS[kind].calls(["c1", "c2", "c3"]))
    result, _ = answered(kind, reply, WITH_TOOL)
    assert result["toolCalls"] == called(["c1", "c2", "c3"])
    return f"{len(result['toolCalls'])} calls, {stopped(result)}"


def results_of_tools(kind: str) -> str:
    """Results go back under the ids of their calls, in order."""
    first, _ = answered(kind, json_reply(DIALECTS[kind].calls(["c1", "c2"])), WITH_TOOL)
    body = after(first, "c1", "c2")
    result, server = answered(kind, json_reply(DIALECTS[kind].text("x")), body)
    sent = json.dumps(server.asked[0].body)
    assert sent.index("result of c1") < sent.index("result of c2")
    assert '"c1"' in sent
    assert '"c2"' in sent
    return stopped(result)


def odd_name(kind: str) -> str:
    """A tool whose name no protocol takes gets one that it does."""
    _, server = answered(kind, json_reply(DIALECTS[kind].text("x")), request(tools=["odd name!"]))
    sent = json.dumps(server.asked[0].body)
    assert "odd name!" not in sent
    assert "t_odd_name__" in sent
    return "renamed"


def structured_output(kind: str) -> str:
    """The schema is asked for, natively or in words."""
    body = request(structuredOutput=SCHEMA)
    result, server = answered(kind, json_reply(DIALECTS[kind].text('{"n": 1}')), body)
    assert result["text"] == '{"n": 1}'
    sent = canonical(server.asked[0].body)
    assert "integer" in sent
    # In words, the schema is a text inside the request, so its quotes are escaped.
    return "by instruction" if '\\"integer\\"' in sent else "native"


def empty_answer(kind: str) -> str:
    """An answer without content is an empty text."""
    result, _ = answered(kind, json_reply(DIALECTS[kind].text("")), request())
    assert (result["text"], result["toolCalls"], result["stopReason"]) == ("", [], "end_turn")
    return f"empty text, {stopped(result)}"


def truncated_answer(kind: str) -> str:
    """An answer that was cut by the limit says so."""
    result, _ = answered(kind, json_reply(DIALECTS[kind].truncated("half")), request())
    assert (result["text"], result["stopReason"]) == ("half", "max_tokens")
    return stopped(result)


def filtered_answer(kind: str) -> str:
    """A filter's stop is told; Anthropic has one form for it and for a refusal."""
    result, _ = answered(kind, json_reply(DIALECTS[kind].safety()), request())
    assert result["stopReason"] == ("refusal" if kind == "anthropic" else "safety")
    return stopped(result)


def refusal(kind: str) -> str:
    """A refusal is told from an answer; Gemini has none, and blocks the prompt instead."""
    refuse = DIALECTS[kind].refusal
    if refuse is None:
        blocked = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}
        result, _ = answered(kind, json_reply(blocked), request())
        assert (result["text"], result["stopReason"]) == ("", "safety")
        return f"has no refusals; a blocked prompt is {stopped(result)}"
    result, _ = answered(kind, json_reply(refuse("I will not.")), request())
    assert (result["text"], result["stopReason"]) == ("I will not.", "refusal")
    return stopped(result)


def cut_after_the_answer(kind: str) -> str:
    """A connection that is cut after the answer does no harm."""
    result, _ = answered(kind, stream_reply(*text_events(kind), cut="after"), STREAMED)
    assert result["text"] == TEXT
    return stopped(result)


def streamed_text(kind: str) -> str:
    """A stream gives the same as no stream."""
    streamed, _ = answered(kind, stream_reply(*text_events(kind)), STREAMED)
    at_once, _ = answered(kind, json_reply(DIALECTS[kind].text(TEXT)), request())
    assert streamed == at_once
    return stopped(streamed)


def streamed_calls(kind: str) -> str:
    """Calls in a stream are the same as without one."""
    whole = DIALECTS[kind].calls(["c1", "c2"])
    body = request(tools=["look"], stream=True)
    streamed, _ = answered(kind, stream_reply(*DIALECTS[kind].stream(whole)), body)
    at_once, _ = answered(kind, json_reply(whole), WITH_TOOL)
    assert streamed == at_once
    assert streamed["toolCalls"] == called(["c1", "c2"])
    return stopped(streamed)


def progress_in_order(kind: str) -> str:
    """The pieces of a stream make up its text, between a beginning and an end."""
    with serving(stream_reply(*text_events(kind, TEXT * 9))) as server:
        asker = Asker(kind, server.url)
        asker.ask(STREAMED)
    names = [name for name, _ in asker.told]
    assert (names[0], names[-1]) == ("response.started", "response.completed")
    pieces = [payload["text"] for name, payload in asker.told if name == "text.delta"]
    assert len(pieces) > 1
    assert "".join(pieces) == TEXT * 9
    return "`text.delta` in order"


def slow_stream(kind: str) -> str:
    """A piece is told before the next one is there."""
    seen = threading.Event()
    events = text_events(kind, "x" * 40)

    def hold(index: int) -> None:
        if index == len(events) - 1:
            assert seen.wait(10)

    with serving(stream_reply(*events, before_piece=hold)) as server:
        asker = Asker(
            kind, server.url, on_progress=lambda name: seen.set() if "delta" in name else None
        )
        result = asker.ask(STREAMED)
    assert result["text"] == "x" * 40
    return "told as it comes"


def no_stream_although_asked(kind: str) -> str:
    """A server that does not stream is read all the same."""
    result, _ = answered(kind, json_reply(DIALECTS[kind].text(TEXT)), STREAMED)
    assert result["text"] == TEXT
    return stopped(result)


ANSWERS: dict[str, Show] = {
    "the path and the credential": path_and_credential,
    "the key of the call": key_of_the_call,
    "a text with its usage and unknown members": text_with_usage,
    "an answer without content": empty_answer,
    "an answer cut by its limit": truncated_answer,
    "a refusal": refusal,
    "a stop by a filter": filtered_answer,
    "a call of a tool": tool_call,
    "calls in parallel": parallel_calls,
    "the results of tools": results_of_tools,
    "a tool with an odd name": odd_name,
    "structured output": structured_output,
    "a text in a stream": streamed_text,
    "calls in a stream": streamed_calls,
    "the progress of a stream": progress_in_order,
    "a slow stream": slow_stream,
    "no stream although asked for": no_stream_although_asked,
    "a connection cut after the answer": cut_after_the_answer,
}
