"""The connection itself: pinned, proved by certificates, bounded, and made only if allowed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from agentctl.effects.models.adapter import HttpCall
from agentctl.effects.models.executor import joined_url
from agentctl.effects.models.failures import failure_of_answer
from tests.effects.models.asking import Asker, request
from tests.effects.models.authority import authority_and_context
from tests.effects.models.dialects import DIALECTS
from tests.effects.models.server import json_reply, serving

if TYPE_CHECKING:
    from pathlib import Path

ANSWER = json_reply(DIALECTS["openai"].text("hi"))
LOOPBACK = {"allowPrivate": True}


async def to_loopback(host: str, port: int) -> list[str]:
    """Say that every name is this machine."""
    return ["127.0.0.1"]


def asker(url: str, network: dict[str, Any], *hosts: str, **more: Any) -> Asker:
    """Return an asker under a policy."""
    policy = {"networkAllowlist": list(hosts or ("127.0.0.1",)), "network": network}
    return Asker("openai", url, policy=policy, **more)


def test_a_name_is_looked_up_once_and_the_connection_goes_to_that_answer() -> None:
    asked: list[str] = []

    async def rebinding(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["203.0.113.1"]

    with serving(ANSWER) as server:
        url = f"http://model.example:{server.port}"
        one = asker(url, LOOPBACK, "model.example", resolver=rebinding)
        assert one.ask(request())["text"] == "hi"
    assert asked == ["model.example"]
    assert server.asked[0].headers["host"] == f"model.example:{server.port}"


def test_the_next_address_is_tried_when_nobody_is_at_the_first() -> None:
    async def two(host: str, port: int) -> list[str]:
        return ["127.0.0.2", "127.0.0.1"]

    with serving(ANSWER) as server:
        url = f"http://model.example:{server.port}"
        one = asker(url, LOOPBACK, "model.example", resolver=two)
        assert one.ask(request())["text"] == "hi"


@pytest.mark.parametrize(
    ("network", "hosts"),
    [
        ({}, ("127.0.0.1",)),
        (LOOPBACK, ("model.example",)),
        ({**LOOPBACK, "allowedSchemes": ["https"]}, ("127.0.0.1",)),
        ({**LOOPBACK, "allowedPorts": [443]}, ("127.0.0.1",)),
    ],
)
def test_nothing_is_sent_where_the_policy_does_not_allow_it(
    network: dict[str, Any], hosts: tuple[str, ...]
) -> None:
    with serving(ANSWER) as server:
        error = asker(server.url, network, *hosts).failure(request())
    assert (error.kind, error.retryable, error.ambiguous) == ("network_denied", False, False)
    assert not server.asked


def test_a_name_that_leads_nowhere_is_a_definite_failure() -> None:
    async def lost(host: str, port: int) -> list[str]:
        raise OSError("no such name")

    one = asker("http://model.example", LOOPBACK, "model.example", resolver=lost)
    error = one.failure(request())
    assert (error.kind, error.retryable, error.ambiguous) == ("provider_unavailable", True, False)


def test_the_policy_may_lower_the_bound_of_an_answer() -> None:
    with serving(ANSWER) as server:
        error = asker(server.url, {**LOOPBACK, "maxResponseBytes": 10}).failure(request())
    assert error.kind == "output_too_large"


def test_a_proxy_of_the_environment_is_used_only_if_the_policy_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with serving(ANSWER) as proxy:
        for name in ("HTTP_PROXY", "http_proxy"):
            monkeypatch.setenv(name, proxy.url)
        url = "http://model.example:9"
        direct = asker(url, LOOPBACK, "model.example", resolver=to_loopback)
        assert direct.failure(request()).kind == "provider_unavailable"
        assert not proxy.asked
        through = asker(url, {"allowProxy": True}, "model.example")
        assert through.ask(request())["text"] == "hi"
        assert proxy.asked[0].path == "http://model.example:9/v1/responses"


def test_a_private_authority_is_trusted_for_the_name_alone(tmp_path: Path) -> None:
    authority, context = authority_and_context(tmp_path, "model.example")
    trusting = {**LOOPBACK, "customCa": {"value": authority}}
    with serving(ANSWER, context=context) as server:
        port = server.port

        def ask(host: str, network: dict[str, Any]) -> Asker:
            return asker(f"https://{host}:{port}", network, host, resolver=to_loopback)

        assert ask("model.example", trusting).ask(request())["text"] == "hi"
        for one in (ask("other.example", trusting), ask("model.example", LOOPBACK)):
            error = one.failure(request())
            assert (error.kind, error.ambiguous) == ("provider_unavailable", False)
            assert "certificate" in error.message.lower()
    assert len(server.asked) == 1


@pytest.mark.parametrize("text", ["", "x", "-----BEGIN PRIVATE KEY-----\nAA==\n", " \n"])
def test_a_private_authority_is_certificates_only(text: str) -> None:
    trusting = {**LOOPBACK, "customCa": {"value": text}}
    error = asker("https://127.0.0.1:9", trusting).failure(request())
    assert (error.kind, error.ambiguous) == ("invalid_input", False)


def test_configured_headers_are_sent_and_those_of_the_protocol_win() -> None:
    provider = {
        "headers": {
            "X-Team": {"value": "blue"},
            "Authorization": {"value": "Bearer other"},
            "Idempotency-Key": {"value": "one for all"},
        },
        "credential": {"value": "mine"},
    }
    with serving(ANSWER) as server:
        asker(server.url, LOOPBACK, provider=provider).ask(request())
    headers = server.asked[0].headers
    assert (headers["x-team"], headers["authorization"]) == ("blue", "Bearer mine")
    assert headers["idempotency-key"] == "agentctl-key"


@pytest.mark.parametrize(
    ("name", "value"),
    [("Host", "evil"), ("Transfer-Encoding", "x"), ("X-A", "a\r\nb: c"), ("X A", "x"), ("", "x")],
)
def test_a_header_that_changes_the_request_is_refused(name: str, value: str) -> None:
    provider = {"headers": {name: {"value": value}}}
    with serving(ANSWER) as server:
        error = asker(server.url, LOOPBACK, provider=provider).failure(request())
    assert error.kind == "invalid_input"
    assert not server.asked


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("https://a.example", "https://a.example/v1/responses"),
        ("https://a.example/", "https://a.example/v1/responses"),
        ("https://a.example/v1", "https://a.example/v1/responses"),
        ("https://a.example/v1/responses", "https://a.example/v1/responses"),
        ("https://a.example/gate/", "https://a.example/gate/v1/responses"),
        ("https://a.example/gatev1", "https://a.example/gatev1/v1/responses"),
    ],
)
def test_an_endpoint_may_end_with_the_beginning_of_the_path(base: str, url: str) -> None:
    assert joined_url(base, HttpCall(path="/v1/responses", body={})) == url


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"retry-after": "3"}, {}, 3.0),
        ({"retry-after-ms": "1500", "retry-after": "2"}, {}, 1.5),
        (
            {
                "retry-after": "Wed, 21 Oct 2015 07:28:30 GMT",
                "date": "Wed, 21 Oct 2015 07:28:00 GMT",
            },
            {},
            30.0,
        ),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:30 GMT"}, {}, None),
        ({"retry-after": "soon"}, {}, None),
        ({"retry-after": "-1"}, {}, None),
        ({"retry-after": "1" * 40}, {}, 30 * 86_400.0),
        ({}, {"error": {"details": [{"retryDelay": "13s"}]}}, 13.0),
        ({}, {"error": {"details": [7, {"retryDelay": 13}]}}, None),
    ],
)
def test_the_time_of_the_next_try_is_read(
    headers: dict[str, str], body: dict[str, Any], seconds: float | None
) -> None:
    error = failure_of_answer(429, headers, json.dumps(body).encode(), "p")
    expected = None if seconds is None else {"retryAfterSeconds": seconds}
    assert (error.kind, error.detail) == ("rate_limited", expected)
