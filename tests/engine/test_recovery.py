"""Timeouts, doubt, cancellation, approvals and resuming."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from agentctl import EffectError, StateError, UncertainEffect, UnknownRun
from agentctl.store.verify import verify_run
from agentctl.testing import CrashPoint, SimulatedCrash
from tests.engine.harness import Bench, child, task, workflow

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentctl import Engine
    from agentctl.engine.records import Idempotency

IDEMPOTENCIES: list[Idempotency] = ["pure", "idempotent", "keyed", "at_most_once", "unknown"]
HARMLESS = ("pure", "idempotent")
REPEATABLE = (*HARMLESS, "keyed")


def one_effect(**more: Any) -> dict[str, Any]:
    return workflow(task("t", "action:work", **more))


@pytest.mark.parametrize("idempotency", IDEMPOTENCIES)
def test_lost_contact_is_doubt_unless_a_repetition_is_harmless(
    bench: Bench, idempotency: Idempotency
) -> None:
    @bench.engine.action("work", idempotency=idempotency)
    async def work() -> dict[str, int]:
        raise EffectError("the line went dead", ambiguous=True)

    outcome = bench.run(one_effect())
    effect = bench.engine.history(outcome.run_id).effects[0]
    assert outcome.state == "failed"
    assert effect.state == ("failed" if idempotency in HARMLESS else "uncertain")
    if effect.state == "uncertain":
        with pytest.raises(UncertainEffect, match=r"t/1\.0"):
            bench.engine.resume_sync(outcome.run_id)


@pytest.mark.parametrize("idempotency", IDEMPOTENCIES)
def test_a_crash_after_dispatch_repeats_only_what_may_be_repeated(
    bench: Bench, idempotency: Idempotency
) -> None:
    calls: list[str] = []

    def register(engine: Engine) -> None:
        @engine.action("work", idempotency=idempotency)
        async def work(idempotency_key: str) -> dict[str, int]:
            calls.append(idempotency_key)
            return {}

    # The first commit creates the run and starts the effect; the second would confirm it.
    register(bench.reopened(CrashPoint(at=2)))
    with pytest.raises(SimulatedCrash):
        bench.run(one_effect())
    register(bench.reopened())
    (run,) = bench.engine.store.list_runs()
    outcome = bench.engine.resume_sync(run.id)
    if idempotency in REPEATABLE:
        assert outcome.state == "succeeded"
        assert len(calls) == 2
        assert len(set(calls)) == 1
    else:
        assert outcome.exit_code == 3
        assert child(outcome.error, "code") == "uncertain_effect"
        assert len(calls) == 1
        with pytest.raises(UncertainEffect):
            bench.engine.resume_sync(run.id)
    assert verify_run(bench.engine.store, run.id) == []


def test_a_confirmed_effect_is_used_and_not_repeated(bench: Bench) -> None:
    calls: list[int] = []

    def register(engine: Engine) -> None:
        @engine.action("work", idempotency="at_most_once")
        async def work(n: int) -> dict[str, int]:
            calls.append(n)
            return {"n": n}

    document = workflow(
        task("a", "action:work", with_={"n": 1}),
        task("b", "action:work", "a", with_={"n": "${{ tasks.a.output.n }}"}),
    )
    register(bench.reopened(CrashPoint(at=2, after=True)))
    with pytest.raises(SimulatedCrash):
        bench.run(document)
    register(bench.reopened())
    (run,) = bench.engine.store.list_runs()
    history = bench.engine.history(run.id)
    assert [one.state for one in history.effects] == ["succeeded", "started"]
    assert bench.engine.resume_sync(run.id).exit_code == 3
    assert calls == [1]


def test_a_deadline_is_doubt_and_its_run_fails(bench: Bench) -> None:
    @bench.engine.action("work")
    async def work() -> dict[str, int]:
        await asyncio.get_running_loop().create_future()
        return {}

    plan = bench.engine.load(one_effect(timeoutSeconds=1))
    outcome = bench.engine.start_sync(plan)
    assert outcome.exit_code == 4
    assert child(outcome.error, "code") == "timeout"
    assert bench.engine.history(outcome.run_id).effects[0].state == "uncertain"


def test_a_cancelled_run_is_durable_and_over(bench: Bench) -> None:
    @bench.engine.action("work", idempotency="idempotent")
    async def work() -> dict[str, int]:
        bench.engine.interrupt("ada", "enough")
        await asyncio.get_running_loop().create_future()
        return {}

    outcome = bench.run(workflow(task("t", "action:work"), task("next", "action:assign", "t")))
    assert outcome.exit_code == 130
    assert child(outcome.error, "message") == "enough"
    assert bench.states(outcome.run_id) == {"t": "cancelled", "next": "cancelled"}
    assert bench.engine.history(outcome.run_id).effects[0].state == "cancelled"
    with pytest.raises(StateError, match="cancelled"):
        bench.engine.resume_sync(outcome.run_id)


def test_a_run_that_nobody_owns_is_cancelled_at_once(bench: Bench) -> None:
    document = workflow(
        task("t", "action:write", with_={"path": "out/a", "content": "x"}),
        policy={"approval": "mutations", "writableRoots": ["out"]},
    )
    parked = bench.run(document)
    outcome = bench.engine.cancel_sync(parked.run_id, actor="ada", reason="no more")
    assert outcome is not None
    assert outcome.state == "cancelled"
    history = bench.engine.history(parked.run_id)
    assert [one.state for one in history.approvals] == ["void"]
    assert [one.state for one in history.effects] == ["cancelled"]
    assert verify_run(bench.engine.store, parked.run_id) == []


def test_a_run_has_a_deadline_of_its_own(bench: Bench) -> None:
    @bench.engine.action("work", idempotency="idempotent")
    async def work() -> dict[str, int]:
        await asyncio.get_running_loop().create_future()
        return {}

    outcome = bench.engine.start_sync(bench.engine.load(one_effect()), timeout_seconds=0.05)
    assert outcome.exit_code == 4
    assert child(outcome.error, "code") == "run_timeout"


def gated() -> dict[str, Any]:
    return workflow(
        task("note", "action:remember", with_={"key": "text", "value": "first"}),
        task(
            "gate",
            "action:write",
            "note",
            with_={"path": "out/a.txt", "content": "${{ memory.text }}"},
        ),
        task("later", "action:remember", "note", with_={"key": "text", "value": "second"}),
        policy={"approval": "mutations", "writableRoots": ["out"]},
        memory={"working": {"text": ""}},
    )


def test_an_approved_effect_runs_with_the_bytes_that_were_approved(bench: Bench) -> None:
    parked = bench.run(gated())
    assert parked.exit_code == 3
    assert not (bench.folder / "out").exists()
    # The other branch went on meanwhile and changed what the template would read now.
    assert bench.states(parked.run_id)["later"] == "succeeded"
    (approval,) = bench.engine.history(parked.run_id).approvals
    bench.engine.decide_approval(approval.id, approve=True, actor="ada", reason="fine")
    outcome = bench.engine.resume_sync(parked.run_id)
    assert outcome.state == "succeeded"
    assert (bench.folder / "out" / "a.txt").read_text(encoding="utf-8") == "first"
    assert len(bench.engine.history(parked.run_id).effects) == 1


def test_a_rejection_fails_the_run_and_nothing_is_written(bench: Bench) -> None:
    parked = bench.run(gated())
    (approval,) = bench.engine.history(parked.run_id).approvals
    bench.engine.decide_approval(approval.id, approve=False, actor="ada", reason="not today")
    outcome = bench.engine.resume_sync(parked.run_id)
    assert outcome.exit_code == 4
    assert "not today" in child(outcome.error, "message")
    assert not (bench.folder / "out").exists()


def test_a_request_that_nobody_decided_parks_the_run_again(bench: Bench) -> None:
    parked = bench.run(gated())
    assert bench.engine.resume_sync(parked.run_id).exit_code == 3
    assert len(bench.engine.history(parked.run_id).approvals) == 1


@pytest.mark.parametrize("mode", ["deny_approval", "fail"])
def test_without_a_person_the_policy_may_say_no(bench: Bench, mode: str) -> None:
    document = gated()
    document["spec"]["policy"]["nonInteractive"] = mode
    outcome = bench.run(document)
    assert outcome.exit_code == 4
    assert child(outcome.error, "code") == "approval_denied"


def test_a_retry_that_waits_survives_a_crash(bench: Bench) -> None:
    calls: list[int] = []

    def register(engine: Engine) -> None:
        @engine.action("work")
        async def work() -> dict[str, int]:
            calls.append(1)
            if len(calls) == 1:
                raise EffectError("not yet", retryable=True)
            return {}

    document = one_effect(retry={"maxAttempts": 2, "backoffMs": 60_000})
    register(bench.reopened(CrashPoint(at=2, after=True)))
    with pytest.raises(SimulatedCrash):
        bench.run(document)
    (run,) = bench.engine.store.list_runs()
    assert bench.states(run.id) == {"t": "retry_scheduled"}
    register(bench.reopened())
    before = bench.clock.now()
    assert bench.engine.resume_sync(run.id).state == "succeeded"
    assert bench.clock.now() - before >= 48_000_000
    assert len(calls) == 2


def test_a_run_that_is_over_is_replayed_without_effects(bench: Bench) -> None:
    source = bench.run(gated() | {"metadata": {"name": "replayed"}})
    with pytest.raises(StateError, match="paused"):
        bench.engine.replay_sync(source.run_id)
    bench.engine.cancel_sync(source.run_id, actor="ada")
    replayed = bench.engine.replay_sync(source.run_id)
    assert replayed.exit_code == 130
    history = bench.engine.history(replayed.run_id)
    assert history.effects == ()
    assert history.run.source_run_id == source.run_id
    assert bench.states(replayed.run_id) == bench.states(source.run_id)
    assert verify_run(bench.engine.store, replayed.run_id) == []


@pytest.mark.parametrize("idempotency", IDEMPOTENCIES)
def test_a_replay_asks_no_executor_even_for_what_may_be_done_again(
    bench: Bench, idempotency: Idempotency
) -> None:
    def register(answer: Callable[[], int]) -> None:
        @bench.engine.action("work", idempotency=idempotency)
        def work() -> int:
            return answer()

    def refuse() -> int:
        raise AssertionError("a replay asked an executor")

    register(lambda: 7)
    source = bench.run(workflow(task("t", "action:work"), outputs={"n": "${{ tasks.t.output }}"}))
    bench.reopened()
    register(refuse)
    replayed = bench.engine.replay_sync(source.run_id)
    assert (replayed.exit_code, replayed.output) == (0, source.output)
    assert source.output == {"n": 7}


def test_an_unknown_run_is_named(bench: Bench) -> None:
    with pytest.raises(UnknownRun, match="nope"):
        bench.engine.resume_sync("nope")


def test_an_interruption_starts_nothing_new_and_leaves_nothing_started(bench: Bench) -> None:
    @bench.engine.action("first", idempotency="idempotent")
    async def first() -> dict[str, int]:
        bench.engine.interrupt("ada", "enough")
        return {}

    document = workflow(
        *(task(f"t{n}", "action:first") for n in range(3)),
        task("after", "action:first", "t0", "t1", "t2"),
        runtime={"maxConcurrency": 3},
    )
    outcome = bench.run(document)
    assert outcome.exit_code == 130
    effects = bench.engine.history(outcome.run_id).effects
    assert {one.task_id for one in effects} == {"t0", "t1", "t2"}
    assert {one.state for one in effects} <= {"succeeded", "cancelled"}
    assert verify_run(bench.engine.store, outcome.run_id) == []


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_no_crash_comes_between_the_end_of_a_task_and_the_request_of_the_next(
    bench: Bench, after: bool
) -> None:
    """Both are one commit: a crash leaves the two of them or none."""
    calls: list[str] = []

    def register(engine: Engine) -> None:
        @engine.action("work", idempotency="keyed")
        async def work(name: str, idempotency_key: str) -> dict[str, int]:
            calls.append(f"{name} {idempotency_key}")
            return {}

    # The first commit starts the first effect; the second confirms it and starts the next one.
    register(bench.reopened(CrashPoint(at=2, after=after)))
    chain = workflow(
        task("one", "action:work", with_={"name": "one"}),
        task("two", "action:work", "one", with_={"name": "two"}),
    )
    with pytest.raises(SimulatedCrash):
        bench.run(chain)
    register(bench.reopened())
    (run,) = bench.engine.store.list_runs()
    history = bench.engine.history(run.id)
    left = {one.task_id: one.state for one in history.effects}
    assert left == ({"one": "succeeded", "two": "started"} if after else {"one": "started"})
    assert bench.states(run.id)["one"] == ("succeeded" if after else "running")
    assert bench.engine.resume_sync(run.id).state == "succeeded"
    names = [one.partition(" ")[0] for one in calls]
    assert names == (["one", "two"] if after else ["one", "one", "two"])
    assert len(set(calls)) == 2
    assert verify_run(bench.engine.store, run.id) == []
