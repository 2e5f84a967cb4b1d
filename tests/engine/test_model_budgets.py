"""Budgets of runs whose agents ask a real server: what it counts is what they have used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agentctl.jsonvalue import canonical
from agentctl.store.verify import verify_run
from agentctl.testing import CrashPoint, SimulatedCrash
from tests.effects.models.dialects import DIALECTS
from tests.effects.models.server import ScriptedServer, json_reply, serving, stream_reply
from tests.effects.models.test_runs import ECHO, document
from tests.engine.harness import Bench, child, task
from tests.engine.test_budgets import exceeded

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject

EACH = pytest.mark.parametrize("kind", DIALECTS)
RATES = {
    "inputMicrousdPerMillionTokens": 1_000_000,
    "outputMicrousdPerMillionTokens": 10_000_000,
}
# Every dialect's answer has 12 tokens in, 4 of them from a cache, and 5 out.
ANSWERED = {"inputTokens": 12, "outputTokens": 5, "totalTokens": 17, "costMicrousd": 62}
ONCE = {"providerRequests": 1, "turns": 1}


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the providers' credentials to the engine."""
    for name in ("OPENAI", "AZURE_OPENAI", "ANTHROPIC", "GEMINI"):
        monkeypatch.setenv(f"{name}_API_KEY", "k-1")


def asking_twice(kind: str, server: ScriptedServer, **budgets: int) -> dict[str, Any]:
    """Return two agent tasks in a row, each with at most 20 tokens out, under budgets."""
    body = document(kind, server, maxOutputTokens=20)
    body["spec"]["tasks"].append(task("again", "agent:a", "ask", with_={"prompt": "hello"}))
    pricing = {"version": "1", "models": {"p/m-1": RATES}}
    body["spec"]["runtime"] = {"budgets": budgets, "pricing": pricing}
    return body


def budget(bench: Bench, run_id: str, part: str) -> dict[str, Any]:
    """Return a part of a run's budget."""
    found = child(bench.engine.inspect(run_id), "budget", part)
    assert isinstance(found, dict)
    return dict(found)


@EACH
@pytest.mark.parametrize("streams", [False, True])
def test_what_the_provider_counted_is_what_was_used(
    kind: str, streams: bool, bench: Bench
) -> None:
    whole = DIALECTS[kind].text("done")
    reply = stream_reply(*DIALECTS[kind].stream(whole)) if streams else json_reply(whole)
    with serving(reply) as server:
        body = asking_twice(kind, server, maxCostMicrousd=10_000)
        body["spec"]["agents"]["a"]["stream"] = streams
        outcome = bench.run(body)
    assert outcome.state == "succeeded"
    used = budget(bench, outcome.run_id, "usage")
    for name, count in {**ANSWERED, **ONCE}.items():
        assert used[name] == 2 * count, name
    assert budget(bench, outcome.run_id, "reserved") == {}


@pytest.mark.parametrize(
    ("limit", "dimension", "attempted"),
    [
        ({"maxProviderRequests": 1}, "providerRequests", 2),
        ({"maxTurns": 1}, "turns", 2),
        ({"maxInputTokens": 20}, "inputTokens", 12 + 11),
        ({"maxOutputTokens": 24}, "outputTokens", 5 + 20),
        ({"maxTotalTokens": 47}, "totalTokens", 17 + 11 + 20),
        ({"maxCostMicrousd": 272}, "costMicrousd", 62 + 11 + 200),
    ],
)
def test_what_could_pass_a_limit_is_not_sent(
    limit: dict[str, int], dimension: str, attempted: int, bench: Bench
) -> None:
    with serving(json_reply(DIALECTS["openai"].text("done"))) as server:
        outcome = bench.run(asking_twice("openai", server, **limit))
        assert outcome.exit_code == 4
        assert len(server.asked) == 1
        (ceiling,) = limit.values()
        assert exceeded(bench, outcome.run_id) == {
            "dimension": dimension,
            "limit": ceiling,
            "attempted": attempted,
        }
        (name,) = limit
        raised = bench.engine.resume_sync(
            outcome.run_id, raise_budgets={name: attempted}, actor="ada"
        )
    assert raised.state == "succeeded"
    assert len(server.asked) == 2


def test_what_a_model_is_told_beside_its_messages_is_part_of_the_estimate(bench: Bench) -> None:
    def attempted(**agent: Any) -> int:
        with serving(json_reply(DIALECTS["openai"].text("done"))) as server:
            body = document("openai", server, **agent)
            body["spec"]["runtime"] = {"budgets": {"maxInputTokens": 1}}
            outcome = bench.run(body)
            assert not server.asked
        return int(child(exceeded(bench, outcome.run_id), "attempted"))

    schema: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}}
    told: dict[str, Any] = {
        "name": "look",
        **{one: ECHO[one] for one in ("description", "inputSchema")},
    }
    alone = attempted()
    assert alone == 11
    assert abs(attempted(tools=["look"]) - alone - len(canonical(told)) / 4) < 1
    assert abs(attempted(structuredOutput=schema) - alone - len(canonical(schema)) / 4) < 1


def test_an_agents_own_limit_counts_what_the_model_is_told_of_its_tools(bench: Bench) -> None:
    with serving(json_reply(DIALECTS["openai"].text("done"))) as server:
        limit = {"usageLimit": {"maxInputTokens": 11}}
        assert bench.run(document("openai", server, **limit)).state == "succeeded"
        refused = bench.run(document("openai", server, tools=["look"], **limit))
        assert len(server.asked) == 1
    assert child(refused.error, "code") == "usage_limit"


def test_a_tool_call_over_its_limit_is_not_made(bench: Bench) -> None:
    with serving(json_reply(DIALECTS["openai"].calls(["c1", "c2"]))) as server:
        body = document("openai", server, tools=["look"])
        body["spec"]["runtime"] = {"budgets": {"maxToolCalls": 1}}
        outcome = bench.run(body)
    assert child(exceeded(bench, outcome.run_id), "dimension") == "toolCalls"
    states = [one.state for one in bench.engine.history(outcome.run_id).effects]
    assert states == ["succeeded", "succeeded", "requested"]


def test_tokens_that_nobody_counted_are_taken_at_their_most(bench: Bench) -> None:
    answer = DIALECTS["openai_compatible"].text("done")
    del answer["usage"]
    with serving(json_reply(answer)) as server:
        outcome = bench.run(asking_twice("openai_compatible", server, maxOutputTokens=39))
        assert len(server.asked) == 1
    assert child(exceeded(bench, outcome.run_id), "attempted") == 40


def test_a_limit_of_an_agent_takes_uncounted_tokens_at_their_most(bench: Bench) -> None:
    asks = DIALECTS["openai_compatible"].calls(["c1"])
    del asks["usage"]
    with serving(json_reply(asks)) as server:
        limit = {"maxOutputTokens": 39}
        outcome = bench.run(
            document(
                "openai_compatible", server, tools=["look"], maxOutputTokens=20, usageLimit=limit
            )
        )
        assert len(server.asked) == 1
    assert child(outcome.error, "code") == "usage_limit"


def test_a_refused_request_counts_as_one_and_uses_nothing(bench: Bench) -> None:
    busy = json_reply(DIALECTS["openai"].error("server_error", "down"), 503)
    with serving(busy, json_reply(DIALECTS["openai"].text("done"))) as server:
        body = asking_twice("openai", server, maxProviderRequests=2)
        body["spec"]["tasks"][0]["retry"] = {"maxAttempts": 2}
        outcome = bench.run(body)
    assert child(exceeded(bench, outcome.run_id), "attempted") == 3
    used = budget(bench, outcome.run_id, "usage")
    assert (used["providerRequests"], used["inputTokens"]) == (2, 12)


def test_a_budget_survives_a_crash_and_counts_no_call_twice(bench: Bench) -> None:
    usage: JsonObject = {"inputTokens": 12, "outputTokens": 5}
    result: JsonObject = {"text": "x", "toolCalls": [], "usage": usage, "stopReason": "end_turn"}
    with serving(json_reply(DIALECTS["openai"].text("done"))) as server:
        # The first answer is there, and not stored.
        bench.reopened(CrashPoint(at=2))
        with pytest.raises(SimulatedCrash):
            bench.run(asking_twice("openai", server, maxProviderRequests=1))
        (run,) = bench.engine.store.list_runs()
        assert bench.reopened().resume_sync(run.id).state == "paused"
        # What may have happened holds its place in the budget.
        assert budget(bench, run.id, "reserved")["providerRequests"] == 1
        bench.engine.reconcile(
            run.id, "ask/1.0", status="applied", actor="ada", reason="r", result=result
        )
        outcome = bench.engine.resume_sync(run.id)
        assert len(server.asked) == 1
    assert outcome.exit_code == 4
    assert child(exceeded(bench, run.id), "attempted") == 2
    assert verify_run(bench.engine.store, run.id) == []
