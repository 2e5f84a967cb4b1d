"""What the cases of the conformance table share: one call, and what it came to in words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.effects.models.asking import Asker, request
from tests.effects.models.dialects import ARGUMENTS, DIALECTS
from tests.effects.models.server import serving

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.effects.models.server import Reply, ScriptedServer

    # Shows one case with one adapter, and returns what was seen, as the table says it.
    Show = Callable[[str], str]

TEXT = "One short sentence, \u00e9t\u00e9 \U0001f600."
WITH_TOOL = request(tools=["look"])
STREAMED = request(stream=True)


def answered(kind: str, reply: Reply, body: dict[str, Any]) -> tuple[Any, ScriptedServer]:
    """Return the result of one call, and the server that gave it."""
    with serving(reply) as server:
        return Asker(kind, server.url).ask(body), server


def failed(kind: str, reply: Reply, body: dict[str, Any] | None = None) -> tuple[str, bool, bool]:
    """Return how one call fails: its code, whether a retry may help, whether there is doubt."""
    with serving(reply) as server:
        error = Asker(kind, server.url).failure(body or request())
    return error.kind, error.retryable, error.ambiguous


def failure_words(code: str, retryable: bool, ambiguous: bool) -> str:
    """Return a failure as the table says it."""
    return f"`{code}`" + ", retried" * retryable + ", in doubt" * ambiguous


def stopped(result: Any) -> str:
    """Return an answer as the table says it."""
    return f"`{result['stopReason']}`"


def called(ids: list[str]) -> list[Any]:
    """Return calls as the contract has them."""
    return [{"id": one, "name": "look", "arguments": ARGUMENTS} for one in ids]


def after(first: Any, *ids: str) -> dict[str, Any]:
    """Return the request of the turn after one that asked for tools."""
    assistant = {"role": "assistant", "content": first["text"], "toolCalls": first["toolCalls"]}
    if "continuation" in first:
        assistant["continuation"] = first["continuation"]
    results = [{"role": "tool", "toolCallId": one, "content": f"result of {one}"} for one in ids]
    return request(tools=["look"], messages=[*request()["messages"], assistant, *results])


def text_events(kind: str, text: str = TEXT) -> list[Any]:
    """Return the events of a stream that says a text."""
    return DIALECTS[kind].stream(DIALECTS[kind].text(text))


def text_bytes(kind: str) -> bytes:
    """Return an answer with a text as it goes over the wire."""
    return json.dumps(DIALECTS[kind].text(TEXT)).encode()
