"""Every adapter in every situation, against a server that speaks its protocol."""

from __future__ import annotations

import json
import socket
import threading
from typing import Any

import pytest

from agentctl.jsonvalue import canonical
from agentctl.limits import PROVIDER_JSON_BYTES_MAX, PROVIDER_STREAM_BYTES_MAX
from tests.effects.models.asking import LOOK, SCHEMA, Asker, request
from tests.effects.models.dialects import ARGUMENTS, DIALECTS, Dialect
from tests.effects.models.server import Reply, ScriptedServer, json_reply, serving, stream_reply

TEXT = "One short sentence, \u00e9t\u00e9 \U0001f600."
WITH_TOOL = request(tools=["look"])
STREAMED = request(stream=True)
EACH = pytest.mark.parametrize("kind", DIALECTS)


def answered(kind: str, reply: Reply, body: dict[str, Any]) -> tuple[Any, ScriptedServer]:
    """Return the result of one call, and the server that gave it."""
    with serving(reply) as server:
        return Asker(kind, server.url).ask(body), server


def failed(kind: str, reply: Reply, body: dict[str, Any] | None = None) -> tuple[str, bool, bool]:
    """Return how one call fails: its code, whether a retry may help, whether there is doubt."""
    with serving(reply) as server:
        error = Asker(kind, server.url).failure(body or request())
    return error.kind, error.retryable, error.ambiguous


def called(ids: list[str]) -> list[Any]:
    """Return calls as the contract has them."""
    return [{"id": one, "name": "look", "arguments": ARGUMENTS} for one in ids]


@EACH
def test_a_text_comes_with_its_usage_and_its_reason(kind: str) -> None:
    result, _ = answered(kind, json_reply(DIALECTS[kind].text(TEXT)), request())
    assert (result["text"], result["toolCalls"]) == (TEXT, [])
    assert result["stopReason"] == "end_turn"
    assert result["usage"]["inputTokens"] == 12
    assert result["usage"]["outputTokens"] == 5
    assert result["usage"]["cacheReadTokens"] == 4
    assert (result["model"], result["responseId"]) == ("m-1-real", "resp_1")


@EACH
def test_the_request_goes_to_the_path_of_the_protocol_with_its_credential(kind: str) -> None:
    _, server = answered(kind, json_reply(DIALECTS[kind].text("x")), request())
    (asked,) = server.asked
    name, value = DIALECTS[kind].auth
    assert (asked.path, asked.headers[name]) == (DIALECTS[kind].path, value)
    assert asked.headers["host"] == server.url.removeprefix("http://")
    assert "hello" in json.dumps(asked.body)
    assert "Be brief." in json.dumps(asked.body)


@EACH
def test_a_tool_call_is_read_with_its_own_id(kind: str) -> None:
    result, server = answered(kind, json_reply(DIALECTS[kind].calls(["c1"])), WITH_TOOL)
    assert (result["toolCalls"], result["stopReason"]) == (called(["c1"]), "tool_use")
    assert canonical(LOOK["inputSchema"]) in canonical(server.asked[0].body)


@EACH
def test_parallel_calls_keep_their_order(kind: str) -> None:
    reply = json_reply(DIALECTS[kind].calls(["c1", "c2", "c3"]))
    result, _ = answered(kind, reply, WITH_TOOL)
    assert result["toolCalls"] == called(["c1", "c2", "c3"])


@EACH
def test_the_results_of_tools_go_back_to_their_calls(kind: str) -> None:
    first, _ = answered(kind, json_reply(DIALECTS[kind].calls(["c1", "c2"])), WITH_TOOL)
    _, server = answered(kind, json_reply(DIALECTS[kind].text("x")), after(first, "c1", "c2"))
    sent = json.dumps(server.asked[0].body)
    assert sent.index("result of c1") < sent.index("result of c2")
    assert '"c1"' in sent
    assert '"c2"' in sent


def after(first: Any, *ids: str) -> dict[str, Any]:
    """Return the request of the turn after one that asked for tools."""
    assistant = {"role": "assistant", "content": first["text"], "toolCalls": first["toolCalls"]}
    if "continuation" in first:
        assistant["continuation"] = first["continuation"]
    results = [{"role": "tool", "toolCallId": one, "content": f"result of {one}"} for one in ids]
    return request(tools=["look"], messages=[*request()["messages"], assistant, *results])


@EACH
def test_two_calls_with_one_id_are_refused(kind: str) -> None:
    reply = json_reply(DIALECTS[kind].calls(["c1", "c1"]))
    assert failed(kind, reply, WITH_TOOL) == ("invalid_provider_answer", False, False)


@EACH
def test_an_id_of_an_earlier_turn_is_refused(kind: str) -> None:
    first, _ = answered(kind, json_reply(DIALECTS[kind].calls(["c1"])), WITH_TOOL)
    reply = json_reply(DIALECTS[kind].calls(["c1"]))
    assert failed(kind, reply, after(first, "c1")) == ("invalid_provider_answer", False, False)


@EACH
def test_a_tool_whose_name_no_protocol_takes_gets_one_and_comes_back(kind: str) -> None:
    _, server = answered(kind, json_reply(DIALECTS[kind].text("x")), request(tools=["odd name!"]))
    sent = json.dumps(server.asked[0].body)
    assert "odd name!" not in sent
    assert "t_odd_name__" in sent


@EACH
def test_structured_output_is_asked_for(kind: str) -> None:
    body = request(structuredOutput=SCHEMA)
    result, server = answered(kind, json_reply(DIALECTS[kind].text('{"n": 1}')), body)
    assert result["text"] == '{"n": 1}'
    assert "integer" in json.dumps(server.asked[0].body)


@EACH
def test_an_answer_without_content_is_an_empty_text(kind: str) -> None:
    result, _ = answered(kind, json_reply(DIALECTS[kind].text("")), request())
    assert (result["text"], result["toolCalls"], result["stopReason"]) == ("", [], "end_turn")


@EACH
def test_a_truncated_answer_says_so(kind: str) -> None:
    result, _ = answered(kind, json_reply(DIALECTS[kind].truncated("half")), request())
    assert (result["text"], result["stopReason"]) == ("half", "max_tokens")


@EACH
def test_a_filtered_answer_says_so(kind: str) -> None:
    result, _ = answered(kind, json_reply(DIALECTS[kind].safety()), request())
    assert result["stopReason"] == ("refusal" if kind == "anthropic" else "safety")


@pytest.mark.parametrize("dialect", [one for one in DIALECTS.values() if one.refusal])
def test_a_refusal_is_told_from_an_answer(dialect: Dialect) -> None:
    assert dialect.refusal is not None
    result, _ = answered(dialect.kind, json_reply(dialect.refusal("I will not.")), request())
    assert (result["text"], result["stopReason"]) == ("I will not.", "refusal")


@EACH
@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (400, "invalid_request_error", ("provider_rejected", False)),
        (401, "authentication_error", ("credential_refused", False)),
        (403, "permission_error", ("credential_refused", False)),
        (404, "not_found", ("provider_rejected", False)),
        (402, "billing_error", ("quota_exceeded", False)),
        (429, "insufficient_quota", ("quota_exceeded", False)),
        (429, "rate_limit_exceeded", ("rate_limited", True)),
        (500, "server_error", ("provider_unavailable", True)),
        (503, "server_error", ("provider_unavailable", True)),
        (529, "overloaded_error", ("provider_unavailable", True)),
    ],
)
def test_an_error_answer_is_definite(
    kind: str, status: int, code: str, expected: tuple[str, bool]
) -> None:
    reply = json_reply(DIALECTS[kind].error(code, "not today"), status)
    with serving(reply) as server:
        error = Asker(kind, server.url).failure(request())
    assert (error.kind, error.retryable, error.ambiguous) == (*expected, False)
    assert "not today" in error.message


@EACH
@pytest.mark.parametrize("status", [502, 504, 520, 524])
def test_a_gateway_that_lost_the_provider_leaves_doubt(kind: str, status: int) -> None:
    reply = Reply(status=status, body=b"<html>The origin did not answer.</html>")
    assert failed(kind, reply) == ("connection_lost", False, True)


@EACH
def test_an_overloaded_provider_may_be_asked_again(kind: str) -> None:
    status, code = DIALECTS[kind].overload
    reply = json_reply(DIALECTS[kind].error(code, "busy"), status)
    assert failed(kind, reply) == ("provider_unavailable", True, False)


@EACH
def test_a_rate_limit_says_when(kind: str) -> None:
    body = DIALECTS[kind].error("rate_limit_exceeded", "slow down")
    with serving(json_reply(body, 429, retry_after="7")) as server:
        error = Asker(kind, server.url).failure(request())
    assert error.detail == {"retryAfterSeconds": 7.0}


@EACH
@pytest.mark.parametrize("cut", ["before", "during"])
def test_a_connection_that_is_cut_leaves_doubt(kind: str, cut: str) -> None:
    reply = Reply(body=json.dumps(DIALECTS[kind].text(TEXT)).encode(), cut=cut)
    assert failed(kind, reply) == ("connection_lost", False, True)


@EACH
def test_a_connection_that_is_cut_after_the_answer_does_no_harm(kind: str) -> None:
    reply = stream_reply(*DIALECTS[kind].stream(DIALECTS[kind].text(TEXT)), cut="after")
    result, _ = answered(kind, reply, STREAMED)
    assert result["text"] == TEXT


@EACH
def test_a_stream_that_is_cut_leaves_doubt(kind: str) -> None:
    reply = stream_reply(*DIALECTS[kind].stream(DIALECTS[kind].text(TEXT)), cut="during")
    assert failed(kind, reply, STREAMED) == ("connection_lost", False, True)


@EACH
def test_a_stream_that_ends_too_early_leaves_doubt(kind: str) -> None:
    first, *_ = DIALECTS[kind].stream(DIALECTS[kind].text(TEXT))
    assert failed(kind, stream_reply(first), STREAMED) == ("connection_lost", False, True)


@EACH
def test_nobody_at_the_address_is_definite(kind: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    error = Asker(kind, f"http://127.0.0.1:{port}").failure(request())
    assert (error.kind, error.retryable, error.ambiguous) == ("provider_unavailable", True, False)


@EACH
def test_a_stream_gives_the_same_as_no_stream(kind: str) -> None:
    whole = DIALECTS[kind].text(TEXT)
    streamed, _ = answered(kind, stream_reply(*DIALECTS[kind].stream(whole)), STREAMED)
    at_once, _ = answered(kind, json_reply(whole), request())
    assert streamed == at_once


@EACH
def test_calls_in_a_stream_are_the_same_as_without_one(kind: str) -> None:
    whole = DIALECTS[kind].calls(["c1", "c2"])
    body = request(tools=["look"], stream=True)
    streamed, _ = answered(kind, stream_reply(*DIALECTS[kind].stream(whole)), body)
    at_once, _ = answered(kind, json_reply(whole), WITH_TOOL)
    assert streamed == at_once
    assert streamed["toolCalls"] == called(["c1", "c2"])


@EACH
def test_the_progress_of_a_stream_is_told_in_order(kind: str) -> None:
    with serving(stream_reply(*DIALECTS[kind].stream(DIALECTS[kind].text(TEXT * 9)))) as server:
        asker = Asker(kind, server.url)
        asker.ask(STREAMED)
    names = [name for name, _ in asker.told]
    assert (names[0], names[-1]) == ("response.started", "response.completed")
    pieces = [payload["text"] for name, payload in asker.told if name == "text.delta"]
    assert len(pieces) > 1
    assert "".join(pieces) == TEXT * 9


@EACH
def test_a_slow_stream_is_told_as_it_comes(kind: str) -> None:
    seen = threading.Event()
    events = DIALECTS[kind].stream(DIALECTS[kind].text("x" * 40))

    def hold(index: int) -> None:
        if index == len(events) - 1:
            assert seen.wait(10)

    with serving(stream_reply(*events, before_piece=hold)) as server:
        asker = Asker(
            kind, server.url, on_progress=lambda name: seen.set() if "delta" in name else None
        )
        assert asker.ask(STREAMED)["text"] == "x" * 40


@EACH
def test_a_failure_inside_a_stream_is_definite(kind: str) -> None:
    first, *_ = DIALECTS[kind].stream(DIALECTS[kind].text(TEXT))
    reply = stream_reply(first, DIALECTS[kind].reported)
    assert failed(kind, reply, STREAMED) == ("provider_unavailable", True, False)


@EACH
def test_a_server_that_does_not_stream_is_read_all_the_same(kind: str) -> None:
    result, _ = answered(kind, json_reply(DIALECTS[kind].text(TEXT)), STREAMED)
    assert result["text"] == TEXT


@EACH
@pytest.mark.parametrize("number", range(6))
def test_an_answer_of_another_shape_is_refused_with_its_place(kind: str, number: int) -> None:
    reply = json_reply(DIALECTS[kind].ill_typed[number])
    assert failed(kind, reply) == ("invalid_provider_answer", False, False)


@EACH
@pytest.mark.parametrize(
    "body", [b"<html>", b"", b"\xff\xfe", b"[" * 200 + b"]" * 200, b'{"a": NaN}', b"[" * 100_000]
)
def test_an_answer_that_is_no_json_is_refused(kind: str, body: bytes) -> None:
    assert failed(kind, Reply(body=body)) == ("invalid_provider_answer", False, False)


@EACH
def test_an_answer_above_the_bound_is_refused(kind: str) -> None:
    reply = Reply(body=b" " * (PROVIDER_JSON_BYTES_MAX + 1))
    assert failed(kind, reply) == ("output_too_large", False, False)


@EACH
def test_a_stream_above_the_bound_is_refused(kind: str) -> None:
    piece = ": " + "x" * 65_536
    count = PROVIDER_STREAM_BYTES_MAX // len(piece) + 2
    pieces = tuple(f"{piece}\n\n".encode() for _ in range(count))
    reply = Reply(content_type="text/event-stream", pieces=pieces)
    assert failed(kind, reply, STREAMED) == ("output_too_large", False, False)


@EACH
def test_a_redirect_is_not_followed(kind: str) -> None:
    reply = Reply(status=307, headers={"location": "http://127.0.0.1:1/"})
    assert failed(kind, reply) == ("network_denied", False, False)


@EACH
def test_a_packed_answer_is_not_unpacked(kind: str) -> None:
    reply = Reply(body=b"x", headers={"content-encoding": "gzip"})
    assert failed(kind, reply) == ("invalid_provider_answer", False, False)
