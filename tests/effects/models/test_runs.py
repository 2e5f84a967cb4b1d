"""Whole runs whose agents ask a real server."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from agentctl import PrerequisiteError
from agentctl.errors import PolicyPreflight
from tests.cli.harness import EXAMPLES
from tests.effects.models.dialects import DIALECTS
from tests.effects.models.server import Reply, ScriptedServer, json_reply, serving, stream_reply
from tests.engine.harness import Bench, child, task, workflow

ECHO = {
    "kind": "builtin.echo",
    "description": "Says it again.",
    "inputSchema": {
        "type": "object",
        "properties": {"at": {"type": "string"}},
        "required": ["at"],
        "additionalProperties": False,
    },
    "outputSchema": {"type": "object"},
    "capability": "echo",
    "risk": "low",
    "effectClass": "pure",
    "idempotency": "pure",
    "retrySafe": True,
    "timeoutSeconds": 5,
    "approval": "never",
}
EACH = pytest.mark.parametrize("kind", DIALECTS)
LIVE = (
    "v1/anthropic-live.yaml",
    "v1/google-live.yaml",
    "v1/openai-live.yaml",
    "v1/secret-reference.yaml",
    "docs/provider-portability/openai.yaml",
)


def document(kind: str, server: ScriptedServer, **agent: Any) -> dict[str, Any]:
    """Return a workflow with one agent at a server."""
    more = agent.pop("task", {})
    return workflow(
        task("ask", "agent:a", with_={"prompt": "hello"}, **more),
        providers={"p": {"kind": kind, "endpoint": server.url}},
        agents={"a": {"provider": "p", "model": "m-1", "instructions": "Be brief.", **agent}},
        tools={"look": ECHO},
        policy={
            "approval": "never",
            "networkAllowlist": ["127.0.0.1"],
            "network": {"allowPrivate": True},
        },
        outputs={"answer": "${{ tasks.ask.output }}"},
    )


def effects(bench: Bench, run_id: str) -> list[Any]:
    """Return the run's effects."""
    return list(bench.engine.history(run_id).effects)


@EACH
def test_an_agent_talks_and_calls_its_tools(kind: str, bench: Bench) -> None:
    says = DIALECTS[kind]
    with serving(json_reply(says.calls(["c1", "c2"])), json_reply(says.text("done"))) as server:
        outcome = bench.run(document(kind, server, tools=["look"]))
    assert outcome.state == "succeeded", outcome.error
    assert child(outcome.output, "answer", "text") == "done"
    assert [one.operation for one in effects(bench, outcome.run_id)] == [
        f"model.{kind}",
        "builtin.echo",
        "builtin.echo",
        f"model.{kind}",
    ]


@EACH
def test_a_call_brings_its_key_which_a_retry_keeps_and_the_next_turn_does_not(
    kind: str, bench: Bench
) -> None:
    says = DIALECTS[kind]
    replies = (says.error("server_error", "down"), says.calls(["c1"]), says.text("done"))
    with serving(json_reply(replies[0], 503), *map(json_reply, replies[1:])) as server:
        body = document(kind, server, tools=["look"], task={"retry": {"maxAttempts": 2}})
        body["spec"]["providers"]["p"]["headers"] = {"Idempotency-Key": {"env": "OPENAI_API_KEY"}}
        outcome = bench.run(body)
    assert outcome.state == "succeeded", outcome.error
    sent = [one.headers["idempotency-key"] for one in server.asked]
    assert sent == [
        one.idempotency_key for one in effects(bench, outcome.run_id) if "model." in one.operation
    ]
    first, again, turn = sent
    assert first == again != turn


def test_a_stored_answer_is_continued_by_its_id(bench: Bench) -> None:
    says = DIALECTS["openai"]
    with serving(json_reply(says.calls(["c1"])), json_reply(says.text("done"))) as server:
        bench.run(document("openai", server, tools=["look"]))
    body = server.asked[1].body
    assert body["previous_response_id"] == "resp_1"
    assert [one["type"] for one in body["input"]] == ["function_call_output"]


def test_without_storage_the_items_are_sent_again_as_they_came(bench: Bench) -> None:
    first = DIALECTS["openai"].calls(["c1"])
    first["output"][0]["encrypted_content"] = "sealed"
    replies = (json_reply(first), json_reply(DIALECTS["openai"].text("done")))
    with serving(*replies) as server:
        options = {"store": False}
        bench.run(document("openai", server, tools=["look"], providerOptions=options))
    begun, body = (one.body for one in server.asked)
    assert (begun["store"], begun["include"]) == (False, ["reasoning.encrypted_content"])
    assert "previous_response_id" not in body
    assert body["input"][1:3] == first["output"]


@pytest.mark.parametrize(
    ("kind", "block", "path"),
    [
        (
            "anthropic",
            {"type": "thinking", "thinking": "hm", "signature": "s1"},
            ("messages", 1, "content"),
        ),
        (
            "google",
            {"text": "hm", "thought": True, "thoughtSignature": "s1"},
            ("contents", 1, "parts"),
        ),
    ],
)
def test_signed_thoughts_go_back_as_they_came(
    kind: str, block: dict[str, Any], path: tuple[str | int, ...], bench: Bench
) -> None:
    first = DIALECTS[kind].calls(["c1"])
    parts = (
        first["content"]
        if kind == "anthropic"
        else child(first, "candidates", 0, "content", "parts")
    )
    parts.insert(0, block)
    with serving(json_reply(first), json_reply(DIALECTS[kind].text("done"))) as server:
        assert bench.run(document(kind, server, tools=["look"])).state == "succeeded"
    assert child(server.asked[1].body, *path) == parts


@EACH
def test_a_broken_connection_leaves_doubt_and_is_not_tried_again(kind: str, bench: Bench) -> None:
    with serving(Reply(body=b"{}", cut="before")) as server:
        outcome = bench.run(document(kind, server, task={"retry": {"maxAttempts": 3}}))
        assert child(outcome.error, "code") == "connection_lost"
        (effect,) = effects(bench, outcome.run_id)
        assert effect.state == "uncertain"
    assert len(server.asked) == 1


def test_a_definite_failure_is_retried_as_declared(bench: Bench) -> None:
    busy = json_reply(DIALECTS["openai"].error("rate_limit_exceeded", "slow"), 429)
    with serving(busy, busy, json_reply(DIALECTS["openai"].text("done"))) as server:
        outcome = bench.run(document("openai", server, task={"retry": {"maxAttempts": 3}}))
    assert outcome.state == "succeeded"
    states = [one.state for one in effects(bench, outcome.run_id)]
    assert states == ["failed", "failed", "succeeded"]


def test_the_time_that_a_provider_names_is_kept_with_the_failure(bench: Bench) -> None:
    busy = json_reply(
        DIALECTS["openai"].error("rate_limit_exceeded", "slow"), 429, retry_after="20"
    )
    with serving(busy) as server:
        outcome = bench.run(document("openai", server))
    (effect,) = effects(bench, outcome.run_id)
    assert child(effect.error, "code") == "rate_limited"
    assert child(effect.error, "detail") == {"retryAfterSeconds": 20.0}


def test_a_retry_waits_for_the_time_that_a_provider_names(bench: Bench) -> None:
    busy = json_reply(
        DIALECTS["openai"].error("rate_limit_exceeded", "slow"), 429, retry_after="20"
    )
    with serving(busy, json_reply(DIALECTS["openai"].text("done"))) as server:
        outcome = bench.run(document("openai", server, task={"retry": {"maxAttempts": 2}}))
    first, second = effects(bench, outcome.run_id)
    assert second.started_at - first.ended_at >= 20_000_000


@EACH
def test_a_stream_is_stored_in_order(kind: str, bench: Bench) -> None:
    text = "a piece of text " * 30
    with serving(stream_reply(*DIALECTS[kind].stream(DIALECTS[kind].text(text)))) as server:
        outcome = bench.run(document(kind, server, stream=True))
    stored = bench.engine.store.stream_events(outcome.run_id)
    pieces = [child(one.payload, "text") for one in stored if one.event_type == "text.delta"]
    assert "".join(pieces) == text
    assert child(outcome.output, "answer", "text") == text


def test_structured_output_in_a_fence_is_taken(bench: Bench) -> None:
    answer = json_reply(DIALECTS["anthropic"].text('```json\n{"n": 3}\n```'))
    schema = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
    with serving(answer) as server:
        outcome = bench.run(document("anthropic", server, structuredOutput=schema))
    assert outcome.output == {"answer": {"n": 3}}


def test_no_record_holds_the_credential(bench: Bench) -> None:
    leaking = json_reply(DIALECTS["openai"].error("bad", "your key k-very-secret is bad"), 401)
    with serving(leaking) as server:
        outcome = bench.run(document("openai", server))
    assert "k-very-secret" not in str(outcome.error)
    assert "k-very-secret" not in str(effects(bench, outcome.run_id))


def test_an_address_that_is_not_authorized_leaves_no_database(bench: Bench) -> None:
    with serving(json_reply({})) as server:
        body = document("openai", server)
        body["spec"]["policy"]["network"] = {}
        with pytest.raises(PolicyPreflight, match="network address is not authorized"):
            bench.run(body)
    assert not server.asked
    assert not (bench.folder / "state.db").exists()


def test_a_name_that_leads_nowhere_leaves_no_database(bench: Bench) -> None:
    with serving(json_reply({})) as server:
        body = document("openai", server)
    body["spec"]["policy"]["networkAllowlist"] = ["nowhere.invalid"]
    body["spec"]["providers"]["p"]["endpoint"] = "https://nowhere.invalid"
    with pytest.raises(PrerequisiteError, match=r"nowhere\.invalid"):
        bench.run(body)
    assert not (bench.folder / "state.db").exists()


@pytest.mark.parametrize("name", LIVE)
def test_an_example_of_a_provider_runs_against_another_address(name: str, bench: Bench) -> None:
    body = yaml.safe_load((EXAMPLES / name).read_text(encoding="utf-8"))
    (provider,) = body["spec"]["providers"].values()
    says = DIALECTS[provider["kind"]]
    with serving(json_reply(says.text("Hello."))) as server:
        provider["endpoint"] = server.url
        body["spec"]["policy"] |= {
            "networkAllowlist": ["127.0.0.1"],
            "network": {"allowPrivate": True},
        }
        outcome = bench.run(body)
    assert outcome.state == "succeeded", outcome.error
    assert child(effects(bench, outcome.run_id)[0].result, "text") == "Hello."
