"""The cases of the conformance table in which a call fails: how, and whether it is in doubt."""

from __future__ import annotations

import socket
from functools import partial
from typing import TYPE_CHECKING

from agentctl.limits import PROVIDER_JSON_BYTES_MAX, PROVIDER_STREAM_BYTES_MAX
from tests.effects.models.asking import Asker, request
from tests.effects.models.conforming import (
    STREAMED,
    WITH_TOOL,
    after,
    answered,
    failed,
    failure_words,
    text_bytes,
    text_events,
)
from tests.effects.models.dialects import DIALECTS
from tests.effects.models.server import Reply, json_reply, serving, stream_reply

if TYPE_CHECKING:
    from tests.effects.models.conforming import Show

INVALID = ("invalid_provider_answer", False, False)
LOST = ("connection_lost", False, True)
UNAVAILABLE = ("provider_unavailable", True, False)
TOO_LARGE = ("output_too_large", False, False)
STATUSES = (
    (400, "invalid_request_error", "provider_rejected", False),
    (401, "authentication_error", "credential_refused", False),
    (402, "billing_error", "quota_exceeded", False),
    (403, "permission_error", "credential_refused", False),
    (404, "not_found", "provider_rejected", False),
    (429, "insufficient_quota", "quota_exceeded", False),
    (429, "rate_limit_exceeded", "rate_limited", True),
    (500, "server_error", "provider_unavailable", True),
    (503, "server_error", "provider_unavailable", True),
    (529, "overloaded_error", "provider_unavailable", True),
)
GATEWAYS = (502, 504, 520, 524)
NO_JSON = {
    "a page of HTML": b"<html>",
    "no bytes": b"",
    "bytes that are no text": b"\xff\xfe",
    "lists 200 deep": b"[" * 200 + b"]" * 200,
    "lists 100,000 deep": b"[" * 100_000,
    "a number that is none": b'{"a": NaN}',
}


def error_answer(kind: str, *, status: int, word: str, code: str, retryable: bool) -> str:
    """An error answer is definite, and its message is kept."""
    with serving(json_reply(DIALECTS[kind].error(word, "not today"), status)) as server:
        error = Asker(kind, server.url).failure(request())
    assert (error.kind, error.retryable, error.ambiguous) == (code, retryable, False)
    assert "not today" in error.message
    return failure_words(code, retryable, False)


def lost_behind_a_gateway(kind: str, *, status: int) -> str:
    """A gateway that lost the provider leaves doubt."""
    reply = Reply(status=status, body=b"<html>The origin did not answer.</html>")
    return seen(failed(kind, reply), LOST)


def overloaded(kind: str) -> str:
    """An overloaded provider, in its own words, may be asked again."""
    status, code = DIALECTS[kind].overload
    reply = json_reply(DIALECTS[kind].error(code, "busy"), status)
    return f"{status}: {seen(failed(kind, reply), UNAVAILABLE)}"


def rate_limit_with_a_time(kind: str) -> str:
    """A rate limit says when the next call may be made."""
    body = DIALECTS[kind].error("rate_limit_exceeded", "slow down")
    with serving(json_reply(body, 429, retry_after="7")) as server:
        error = Asker(kind, server.url).failure(request())
    assert error.detail == {"retryAfterSeconds": 7.0}
    return f"{failure_words(error.kind, error.retryable, error.ambiguous)} after 7 s"


def cut(kind: str, *, when: str) -> str:
    """A connection that is cut before or during the answer leaves doubt."""
    return seen(failed(kind, Reply(body=text_bytes(kind), cut=when)), LOST)


def cut_stream(kind: str) -> str:
    """A stream that is cut leaves doubt."""
    return seen(failed(kind, stream_reply(*text_events(kind), cut="during"), STREAMED), LOST)


def short_stream(kind: str) -> str:
    """A stream that ends in order, but too early, leaves doubt."""
    return seen(failed(kind, stream_reply(text_events(kind)[0]), STREAMED), LOST)


def failure_in_a_stream(kind: str) -> str:
    """A failure that the provider reports inside a stream is definite."""
    reply = stream_reply(text_events(kind)[0], DIALECTS[kind].reported)
    return seen(failed(kind, reply, STREAMED), UNAVAILABLE)


def nobody_there(kind: str) -> str:
    """Nobody at the address is definite."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    error = Asker(kind, f"http://127.0.0.1:{port}").failure(request())
    return seen((error.kind, error.retryable, error.ambiguous), UNAVAILABLE)


def one_id_twice(kind: str) -> str:
    """Two calls with one id are refused."""
    return seen(failed(kind, json_reply(DIALECTS[kind].calls(["c1", "c1"])), WITH_TOOL), INVALID)


def id_of_an_earlier_turn(kind: str) -> str:
    """The id of a call of an earlier turn is refused."""
    reply = json_reply(DIALECTS[kind].calls(["c1"]))
    first, _ = answered(kind, reply, WITH_TOOL)
    return seen(failed(kind, reply, after(first, "c1")), INVALID)


def another_shape(kind: str, *, number: int) -> str:
    """An answer with a member of another type than the protocol has is refused."""
    return seen(failed(kind, json_reply(DIALECTS[kind].ill_typed[number])), INVALID)


def no_json(kind: str, *, body: bytes) -> str:
    """What is no JSON, or deeper than any answer, is refused."""
    return seen(failed(kind, Reply(body=body)), INVALID)


def large_answer(kind: str) -> str:
    """An answer above the bound is refused."""
    return seen(failed(kind, Reply(body=b" " * (PROVIDER_JSON_BYTES_MAX + 1))), TOO_LARGE)


def large_stream(kind: str) -> str:
    """A stream above the bound is refused."""
    piece = ": " + "x" * 65_536
    count = PROVIDER_STREAM_BYTES_MAX // len(piece) + 2
    pieces = tuple(f"{piece}\n\n".encode() for _ in range(count))
    reply = Reply(content_type="text/event-stream", pieces=pieces)
    return seen(failed(kind, reply, STREAMED), TOO_LARGE)


def redirect(kind: str) -> str:
    """A redirect is not followed."""
    reply = Reply(status=307, headers={"location": "http://127.0.0.1:1/"})
    return seen(failed(kind, reply), ("network_denied", False, False))


def packed_answer(kind: str) -> str:
    """A packed answer is not unpacked."""
    return seen(failed(kind, Reply(body=b"x", headers={"content-encoding": "gzip"})), INVALID)


def seen(failure: tuple[str, bool, bool], expected: tuple[str, bool, bool]) -> str:
    """Hold a failure against the one that must be, and return it as the table says it."""
    assert failure == expected
    return failure_words(*failure)


FAILURES: dict[str, Show] = {
    **{
        f"status {status}, `{word}`": partial(
            error_answer, status=status, word=word, code=code, retryable=retryable
        )
        for status, word, code, retryable in STATUSES
    },
    "overload in the provider's own words": overloaded,
    "a rate limit that names a time": rate_limit_with_a_time,
    **{
        f"status {status}, from a gateway": partial(lost_behind_a_gateway, status=status)
        for status in GATEWAYS
    },
    "nobody at the address": nobody_there,
    "a connection cut before the answer": partial(cut, when="before"),
    "a connection cut in the answer": partial(cut, when="during"),
    "a connection cut in a stream": cut_stream,
    "a stream that ends too early": short_stream,
    "a failure told in a stream": failure_in_a_stream,
    "one id for two calls": one_id_twice,
    "the id of a call of an earlier turn": id_of_an_earlier_turn,
    **{
        f"a member of another type, {number + 1} of 6": partial(another_shape, number=number)
        for number in range(6)
    },
    **{f"{name} for an answer": partial(no_json, body=body) for name, body in NO_JSON.items()},
    "an answer above its bound": large_answer,
    "a stream above its bound": large_stream,
    "a redirect": redirect,
    "a packed answer": packed_answer,
}
