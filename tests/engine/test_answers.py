"""Answers to questions: several at once, crashes around them, and who wins."""

from __future__ import annotations

from threading import Barrier, Thread
from typing import TYPE_CHECKING, Any

import pytest

from agentctl import EffectError, Engine, IllegalTransition
from agentctl.errors import RunHeld, UnknownApproval, UsageError
from agentctl.store.verify import verify_run
from agentctl.testing import CrashPoint, SimulatedCrash
from tests.engine.asking import World, answer, approved, asking, parked, questions, states
from tests.engine.harness import Bench, child, task

if TYPE_CHECKING:
    from agentctl.engine.records import Idempotency


def two(**policy: Any) -> dict[str, Any]:
    """Return two tasks that ask at the same time."""
    return asking(
        task("a", "action:work", with_={"n": 1}),
        task("b", "action:work", with_={"n": 2}),
        **policy,
    )


def test_two_questions_of_one_batch_are_answered_one_by_one(bench: Bench) -> None:
    world = World()
    run_id = parked(bench, world, two())
    first, second = questions(bench, run_id)
    answer(bench, second)
    assert bench.engine.resume_sync(run_id).exit_code == 3
    assert world.numbers == [2]
    assert states(bench, run_id) == ["a pending", "b approved"]
    answer(bench, first)
    assert bench.engine.resume_sync(run_id).state == "succeeded"
    assert world.numbers == [2, 1]
    assert verify_run(bench.engine.store, run_id) == []


def test_a_rejection_that_stops_the_run_cancels_what_was_approved_beside_it(bench: Bench) -> None:
    world = World()
    run_id = parked(bench, world, two())
    first, second = questions(bench, run_id)
    answer(bench, first)
    answer(bench, second, approve=False)
    outcome = bench.engine.resume_sync(run_id)
    assert outcome.exit_code == 4
    assert child(outcome.error, "message") == (
        "ada rejected python.function (external_mutate, risk medium): looked at it"
    )
    assert world.calls == []
    assert states(bench, run_id) == ["a void", "b rejected"]
    assert bench.states(run_id) == {"a": "cancelled", "b": "failed"}
    assert verify_run(bench.engine.store, run_id) == []


def test_a_rejection_that_is_survived_leaves_what_was_approved_beside_it(bench: Bench) -> None:
    world = World()
    document = two()
    document["spec"]["tasks"][1]["failure"] = "continue"
    run_id = parked(bench, world, document)
    first, second = questions(bench, run_id)
    answer(bench, first)
    answer(bench, second, approve=False)
    bench.engine.resume_sync(run_id)
    assert world.numbers == [1]
    assert bench.states(run_id) == {"a": "succeeded", "b": "failed"}


@pytest.mark.parametrize("idempotency", ["keyed", "idempotent", "at_most_once"])
@pytest.mark.parametrize("at", [1, 2])
def test_a_run_killed_while_it_acts_on_an_answer_dispatches_once(
    bench: Bench, idempotency: Idempotency, at: int
) -> None:
    """The commits are the answer's own, and the one that starts the effect."""
    world = World(idempotency)
    run_id = parked(bench, world)
    (asked,) = questions(bench, run_id)
    crash = CrashPoint(at=at, after=True)
    world.register(bench.reopened(crash))
    with pytest.raises(SimulatedCrash):
        approved(bench, run_id)
    assert world.calls == []
    world.register(bench.reopened())
    assert questions(bench, run_id)[0].state == "approved"
    outcome = bench.engine.resume_sync(run_id)
    if idempotency == "at_most_once" and at == 2:
        # It was started on the ledger, so nobody can tell: a person must.
        assert outcome.exit_code == 3
        assert world.calls == []
    else:
        assert outcome.state == "succeeded"
        assert world.numbers == [1]
    assert [one.id for one in questions(bench, run_id)] == [asked.id]
    assert verify_run(bench.engine.store, run_id) == []


def test_an_answer_that_was_not_stored_leaves_the_question_open(bench: Bench) -> None:
    world = World()
    run_id = parked(bench, world)
    world.register(bench.reopened(CrashPoint(at=1)))
    with pytest.raises(SimulatedCrash):
        answer(bench, questions(bench, run_id)[0])
    world.register(bench.reopened())
    assert states(bench, run_id) == ["t pending"]
    assert approved(bench, run_id).state == "succeeded"


@pytest.mark.parametrize("first", [True, False])
def test_an_answer_is_never_taken_back(bench: Bench, first: bool) -> None:
    run_id = parked(bench, World())
    (asked,) = questions(bench, run_id)
    decided = answer(bench, asked, approve=first)
    for second in (True, False):
        with pytest.raises(IllegalTransition) as refused:
            answer(bench, asked, approve=second)
        assert "by ada" in (refused.value.help or "")
    assert questions(bench, run_id) == [decided]


def test_of_two_answers_at_the_same_time_one_is_stored(bench: Bench) -> None:
    world = World()
    run_id = parked(bench, world)
    (asked,) = questions(bench, run_id)
    barrier = Barrier(4)
    told: list[str] = []

    def speak(number: int) -> None:
        with Engine(bench.folder / "state.db", clock=bench.clock) as engine:
            barrier.wait(10)
            try:
                engine.decide_approval(asked.id, approve=number % 2 == 0, actor=str(number))
            except (IllegalTransition, RunHeld) as refused:
                told.append(type(refused).__name__)
            else:
                told.append(str(number))

    speakers = [Thread(target=speak, args=(number,)) for number in range(4)]
    for one in speakers:
        one.start()
    for one in speakers:
        one.join()
    (winner,) = [one for one in told if one.isdigit()]
    assert len(told) == 4
    (decided,) = questions(bench, run_id)
    assert decided.actor == winner
    assert decided.state == ("approved" if int(winner) % 2 == 0 else "rejected")
    assert verify_run(bench.engine.store, run_id) == []


def test_a_retry_of_an_approved_request_is_a_question_of_its_own(bench: Bench) -> None:
    calls: list[str] = []

    @bench.engine.action("work", idempotency="idempotent")
    async def work(n: int) -> dict[str, int]:
        calls.append("x")
        if len(calls) == 1:
            raise EffectError("not yet", retryable=True)
        return {"n": n}

    run_id = bench.run(
        asking(task("t", "action:work", with_={"n": 1}, retry={"maxAttempts": 2}))
    ).run_id
    assert approved(bench, run_id).exit_code == 3
    assert len(calls) == 1
    assert states(bench, run_id) == ["t approved", "t pending"]
    assert approved(bench, run_id).state == "succeeded"
    assert len(calls) == 2


def test_a_question_that_does_not_exist_is_named(bench: Bench) -> None:
    with pytest.raises(UnknownApproval, match="ap-nothing") as refused:
        bench.engine.decide_approval("ap-nothing", approve=True, actor="ada")
    assert isinstance(refused.value, UsageError)


def test_questions_are_listed_over_all_runs(bench: Bench) -> None:
    world = World()
    first = parked(bench, world)
    second = bench.run(asking()).run_id
    listed = bench.engine.store.list_approvals(("pending",))
    assert [run for run, _ in listed] == [first, second]
    answer(bench, listed[0][1])
    assert [run for run, _ in bench.engine.store.list_approvals(("pending",))] == [second]
    assert [run for run, _ in bench.engine.store.list_approvals(())] == [first, second]
