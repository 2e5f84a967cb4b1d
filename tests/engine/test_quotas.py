"""A provider without quota: the run waits with the time that is named, and repeats nothing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from agentctl.clock import iso
from agentctl.effects import registry
from agentctl.effects.fake import FakeProvider
from agentctl.engine.stillness import hindrance
from agentctl.errors import EffectError
from agentctl.store.verify import verify_run
from agentctl.testing import CrashPoint, SimulatedCrash
from tests.effects.models.dialects import DIALECTS
from tests.effects.models.server import Reply, json_reply, serving
from tests.effects.models.test_runs import document
from tests.engine.harness import Bench, child, task
from tests.engine.test_retries import writing_agent

if TYPE_CHECKING:
    from agentctl.engine.ports import EffectContext
    from agentctl.engine.records import EffectRecord, RunHistory, TaskRecord
    from agentctl.jsonvalue import JsonValue

OPENAI = DIALECTS["openai"]
ANSWER = json_reply(OPENAI.text("done"))
CALLS = json_reply(OPENAI.calls(["c1"]))
HOUR = 3_600_000_000


@pytest.fixture(autouse=True)
def credential(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the provider's credential to the engine."""
    monkeypatch.setenv("OPENAI_API_KEY", "k-1")


def spent(after: str | None = "3600") -> Reply:
    """Return the answer of an account without quota."""
    named = {} if after is None else {"retry_after": after}
    return json_reply(OPENAI.error("insufficient_quota", "no credit"), 429, **named)


def busy(after: str | None) -> Reply:
    """Return the answer to one who asks too often."""
    named = {} if after is None else {"retry_after": after}
    return json_reply(OPENAI.error("rate_limit_exceeded", "slow down"), 429, **named)


def stored(bench: Bench) -> RunHistory:
    """Return the only run."""
    (run,) = bench.engine.store.list_runs()
    return bench.engine.history(run.id)


def only(history: RunHistory) -> TaskRecord:
    """Return the only task."""
    (one,) = history.tasks
    return one


class Stingy(FakeProvider):
    """A provider that has no quota for the first task, and answers the second one after that."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.refused = asyncio.Event()

    async def execute(self, effect: EffectRecord, context: EffectContext) -> JsonValue:
        """Refuse `ask` once; let `also` wait for that."""
        self.asked.append(effect.name)
        if effect.name == "ask/1.0":
            self.refused.set()
            raise EffectError("no credit", code="quota_exceeded")
        await self.refused.wait()
        return await super().execute(effect, context)


def test_a_spent_quota_parks_the_run_with_the_time_it_names(bench: Bench) -> None:
    with serving(spent()) as server:
        outcome = bench.run(document("openai", server, task={"retry": {"maxAttempts": 3}}))
    assert (outcome.state, outcome.exit_code) == ("waiting", 3)
    waiting = only(stored(bench))
    assert waiting.state == "waiting_for_quota"
    assert waiting.due_at == bench.clock.now() + HOUR
    assert child(outcome.error, "code") == "quota_exceeded"
    assert child(outcome.error, "waitUntil") == iso(waiting.due_at)
    assert len(server.asked) == 1


def test_resuming_goes_on_and_repeats_no_confirmed_call(bench: Bench) -> None:
    with serving(CALLS, spent(), ANSWER) as server:
        parked = bench.run(document("openai", server, tools=["look"]))
        assert parked.state == "waiting"
        assert bench.reopened().resume_sync(parked.run_id).state == "succeeded"
    assert [(one.name, one.state) for one in stored(bench).effects] == [
        ("ask/1.0", "succeeded"),
        ("ask/1.1", "succeeded"),
        ("ask/1.2", "failed"),
        ("ask/2.2", "succeeded"),
    ]
    assert len(server.asked) == 3
    assert verify_run(bench.engine.store, parked.run_id) == []


def test_a_run_that_is_refused_again_waits_again(bench: Bench) -> None:
    with serving(spent("60"), spent("3600")) as server:
        run_id = bench.run(document("openai", server)).run_id
        assert bench.engine.resume_sync(run_id).state == "waiting"
    assert only(stored(bench)).due_at == bench.clock.now() + HOUR
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("after", "attempts", "asked"), [(None, 1, 1), ("20", 2, 2), ("600", 3, 1)]
)
def test_a_rate_limit_parks_once_its_retries_are_spent_or_it_outlasts_the_task(
    after: str | None,
    attempts: int,
    asked: int,
    bench: Bench,
) -> None:
    with serving(busy(after)) as server:
        outcome = bench.run(document("openai", server, task={"retry": {"maxAttempts": attempts}}))
    assert outcome.state == "waiting"
    assert len(server.asked) == asked
    assert only(stored(bench)).due_at == bench.clock.now() + int(after or 0) * 1_000_000


@pytest.mark.parametrize(
    ("allowed", "after", "backoff_ms", "state"),
    [
        (30.0, "20", 0, "succeeded"),
        (20.0, "20", 0, "waiting"),
        (10.0, None, 20_000, "waiting"),
        (None, None, 20_000, "succeeded"),
    ],
)
def test_a_retry_that_is_due_after_the_time_of_the_run_parks_instead_of_running_out_of_it(
    allowed: float | None, after: str | None, backoff_ms: int, state: str, bench: Bench
) -> None:
    retry = {"maxAttempts": 2, "backoffMs": backoff_ms}
    with serving(busy(after), ANSWER) as server:
        loaded = bench.engine.load(document("openai", server, task={"retry": retry}))
        outcome = bench.engine.start_sync(loaded, timeout_seconds=allowed)
        assert outcome.state == state
        assert len(server.asked) == (1 if state == "waiting" else 2)
        if state == "waiting":
            assert only(stored(bench)).due_at is not None
            assert bench.engine.resume_sync(outcome.run_id).state == "succeeded"


def test_nothing_else_asks_a_model_once_a_quota_is_spent(
    bench: Bench,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    provider = Stingy()
    monkeypatch.setitem(registry._MAKERS, "model.fake", lambda: provider)
    (bench.folder / "out").mkdir()
    body = writing_agent()
    body["spec"]["tasks"].append(task("also", "agent:a", with_={"prompt": "too"}))
    body["spec"]["runtime"] = {"maxConcurrency": 2}
    outcome = bench.run(body)
    assert outcome.state == "waiting"
    assert {one.state for one in stored(bench).tasks} == {"waiting_for_quota"}
    # The second task's tool ran, and its next call is on the ledger, not on the wire.
    assert provider.asked == ["ask/1.0", "also/1.0"]
    held_back = {one.name: one.state for one in stored(bench).effects}["also/1.2"]
    assert held_back == "requested"
    assert bench.engine.resume_sync(outcome.run_id).state == "succeeded"
    assert sorted(provider.asked[2:]) == ["also/1.2", "ask/2.0", "ask/2.2"]
    assert verify_run(bench.engine.store, outcome.run_id) == []


def test_only_the_time_lets_a_scheduler_go_on_and_none_means_a_person(
    bench: Bench,
) -> None:
    with serving(spent("60"), spent(None)) as server:
        run_id = bench.run(document("openai", server)).run_id
        now = bench.clock.now()
        early = hindrance(stored(bench), now)
        assert early is not None
        assert iso(now + 60_000_000) in early.reason
        assert hindrance(stored(bench), now + 60_000_000) is None
        bench.engine.resume_sync(run_id)
    unnamed = hindrance(stored(bench), now + 1000 * HOUR)
    assert unnamed is not None
    assert "named no time" in unnamed.reason
    assert unnamed.next_step == f"agentctl resume {run_id}"


@pytest.mark.parametrize("at", range(2, 5))
def test_a_crash_anywhere_around_a_refusal_asks_no_confirmed_call_again(
    at: int,
    bench: Bench,
) -> None:
    with serving(CALLS, spent(), ANSWER) as server:
        bench.reopened(CrashPoint(at=at))
        with pytest.raises(SimulatedCrash):
            bench.run(document("openai", server, tools=["look"]))
        run_id = stored(bench).run.id
        state = bench.reopened().resume_sync(run_id).state
        if state == "paused":
            (doubt,) = [one for one in stored(bench).effects if one.state == "uncertain"]
            bench.engine.reconcile(
                run_id, doubt.name, status="not_applied", actor="ada", reason="no trace"
            )
            state = bench.engine.resume_sync(run_id).state
        if state == "waiting":
            state = bench.engine.resume_sync(run_id).state
    assert state == "succeeded"
    confirmed = [one.input_digest for one in stored(bench).effects if one.state == "succeeded"]
    assert len(confirmed) == len(set(confirmed))
    assert verify_run(bench.engine.store, run_id) == []
