"""What is kept of a provider's stream: in order, bounded, by attempt, and the same in a replay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from attr import evolve

from agentctl.cli.follow import event_data, plain_line
from agentctl.effects import registry
from agentctl.effects.fake import FakeProvider
from agentctl.engine.stream import TRUNCATED
from agentctl.limits import STREAM_EVENT_BYTES_MAX, STREAM_EVENTS_PER_ATTEMPT_MAX
from agentctl.store.verify import verify_run
from agentctl.testing import CrashPoint, SimulatedCrash
from tests.effects.models.dialects import DIALECTS
from tests.effects.models.server import ScriptedServer, serving, stream_reply
from tests.effects.models.test_runs import document
from tests.engine.harness import Bench, child
from tests.engine.test_agents import agent

if TYPE_CHECKING:
    from agentctl.engine.ports import EffectContext
    from agentctl.engine.records import EffectRecord, StreamEvent
    from agentctl.jsonvalue import JsonValue

ANTHROPIC = DIALECTS["anthropic"]
OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}


@pytest.fixture(autouse=True)
def credential(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the provider's credential to the engine."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k-1")


def streaming(server: ScriptedServer, **agent: Any) -> dict[str, Any]:
    """Return a workflow whose agent streams and may use a tool."""
    return document("anthropic", server, tools=["look"], stream=True, **agent)


def said(*words: Any) -> Any:
    """Return the stream of an answer."""
    return stream_reply(*ANTHROPIC.stream(*words))


def kept(bench: Bench) -> list[StreamEvent]:
    """Return the stream records of the only run that is not a replay."""
    run = bench.engine.store.list_runs()[-1]
    return bench.engine.store.stream_events(run.id)


def text_of(records: list[StreamEvent]) -> str:
    """Return the text that records are pieces of."""
    pieces = [child(one.payload, "text") for one in records if one.event_type == "text.delta"]
    return "".join(map(str, pieces))


def test_a_record_knows_its_place_in_the_run_in_its_attempt_and_at_the_provider(
    bench: Bench,
) -> None:
    text = "a piece of text " * 30
    with serving(said(ANTHROPIC.calls(["c1"])), said(ANTHROPIC.text(text))) as server:
        bench.run(streaming(server))
    records = kept(bench)
    assert [one.number for one in records] == list(range(1, len(records) + 1))
    assert [one.sequence for one in records] == [one.number for one in records]
    calls = dict.fromkeys(one.effect_id for one in records)
    assert len(calls) == 2
    for effect_id in calls:
        places = [one.provider_sequence for one in records if one.effect_id == effect_id]
        known = [one for one in places if one is not None]
        assert known
        assert known == sorted(known)
    assert text_of(records) == text


def test_attempts_can_be_told_apart(bench: Bench) -> None:
    begun = ANTHROPIC.stream(ANTHROPIC.text("half of an answer, and then " * 9))[:-3]
    with serving(stream_reply(*begun, OVERLOADED), said(ANTHROPIC.text("whole"))) as server:
        outcome = bench.run(streaming(server, task={"retry": {"maxAttempts": 2}}))
    assert outcome.state == "succeeded"
    records = kept(bench)
    by_attempt = {n: [one for one in records if one.attempt == n] for n in (1, 2)}
    assert text_of(by_attempt[1]).startswith("half of an answer")
    assert text_of(by_attempt[2]) == "whole"
    assert {one.effect_id for one in by_attempt[1]}.isdisjoint(
        one.effect_id for one in by_attempt[2]
    )
    assert [one.sequence for one in by_attempt[2]] == list(range(1, len(by_attempt[2]) + 1))
    told = [one for one in bench.events if not one.machine and one.attempt == 2]
    assert (plain_line(told[0]) or "").startswith("[stream ask (attempt 2)] ")
    assert {event_data(one)["effectId"] for one in told} == {by_attempt[2][0].effect_id}


def test_a_stream_goes_on_in_the_process_that_takes_the_run_over(bench: Bench) -> None:
    with serving(said(ANTHROPIC.calls(["c1"])), said(ANTHROPIC.text("done"))) as server:
        # After the first call and its records, before the second.
        bench.reopened(CrashPoint(at=6))
        with pytest.raises(SimulatedCrash):
            bench.run(streaming(server))
        run_id = bench.engine.store.list_runs()[0].id
        assert bench.reopened().resume_sync(run_id).state == "succeeded"
    records = bench.engine.store.stream_events(run_id)
    assert [one.sequence for one in records] == list(range(1, len(records) + 1))
    assert text_of(records) == "done"
    assert verify_run(bench.engine.store, run_id) == []


def test_a_replay_has_the_same_records_in_the_same_order(bench: Bench) -> None:
    with serving(said(ANTHROPIC.calls(["c1"])), said(ANTHROPIC.text("done " * 99))) as server:
        run_id = bench.run(streaming(server)).run_id
    first = [event_data(one) for one in bench.events if not one.machine]
    bench.events.clear()
    again = bench.engine.replay_sync(run_id).run_id
    source, copy = (bench.engine.store.stream_events(one) for one in (run_id, again))
    assert [evolve(one, after=0) for one in source] == copy
    told = [event_data(one) for one in bench.events if not one.machine]
    assert [one | {"runId": run_id} for one in told] == [
        one | {"sourceRunId": run_id} for one in first
    ]


def chatter(bench: Bench, *payloads: JsonValue) -> list[StreamEvent]:
    """Return what is kept of an executor that says all this."""

    class Chatty(FakeProvider):
        async def execute(self, effect: EffectRecord, context: EffectContext) -> JsonValue:
            for place, payload in enumerate(payloads, 1):
                await context.emit("said", payload, place)
            return await super().execute(effect, context)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry._MAKERS, "model.fake", Chatty)
        bench.run(agent({"finalText": "done"}))
    return kept(bench)


def test_an_endless_talker_is_cut_and_the_last_record_says_so(bench: Bench) -> None:
    records = chatter(bench, *range(STREAM_EVENTS_PER_ATTEMPT_MAX + 9))
    assert len(records) == STREAM_EVENTS_PER_ATTEMPT_MAX
    assert [one.truncated for one in records] == [False] * (len(records) - 1) + [True]
    assert records[-1].event_type == TRUNCATED


def test_a_large_payload_is_kept_as_its_size_and_digest(bench: Bench) -> None:
    (record,) = chatter(bench, {"text": "x" * STREAM_EVENT_BYTES_MAX})
    assert record.truncated
    assert child(record.payload, "bytes") == STREAM_EVENT_BYTES_MAX + len('{"text":""}')
