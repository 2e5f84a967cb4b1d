"""Questions to people: what an answer is bound to, for how long, and when nobody is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from attr import evolve

from agentctl import IllegalTransition
from agentctl.engine.asking import question_digest
from agentctl.errors import ApprovalExpired, ApprovalVoid
from agentctl.jsonvalue import canonical
from agentctl.store.verify import verify_run
from tests.engine.asking import World, answer, approved, asking, parked, questions, states
from tests.engine.harness import Bench, child, task
from tests.engine.test_agents import READ_TOOL, agent
from tests.store.harness import tampering

if TYPE_CHECKING:
    from typing import Any

HOUR_SECONDS = 3600


def change_effect(bench: Bench, column: str, value: object) -> None:
    """Change the first effect behind the engine's back."""
    with tampering(bench.folder / "state.db") as connection:
        connection.execute(
            f"UPDATE effect SET {column} = ? WHERE key = (SELECT min(key) FROM effect)",
            (value,),
        )


def test_an_answer_is_kept_with_its_actor_reason_and_what_it_is_bound_to(bench: Bench) -> None:
    run_id = parked(bench, World())
    bench.clock.advance(60)
    (asked,) = questions(bench, run_id)
    decided = answer(bench, asked)
    assert (decided.state, decided.actor, decided.reason) == ("approved", "ada", "looked at it")
    assert decided.decided_at == asked.requested_at + 60_000_000
    assert questions(bench, run_id) == [decided]
    (effect,) = bench.engine.history(run_id).effects
    assert decided.request_digest == question_digest(effect)
    journal = [one for _, one in bench.engine.store.transitions(run_id)]
    (move,) = [one for one in journal if one.machine == "approval" and one.event == "approve"]
    assert (move.actor, child(move.detail, "requestDigest")) == ("ada", asked.request_digest)
    assert verify_run(bench.engine.store, run_id) == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", "0" * 64),
        ("operation", "builtin.write"),
        ("effect_class", "observe"),
        ("risk", "critical"),
        ("idempotency", "pure"),
        ("key_digest", "0" * 40),
        ("input", {"n": 2}),
    ],
)
def test_a_question_is_bound_to_everything_that_is_asked(
    bench: Bench, field: str, value: Any
) -> None:
    run_id = parked(bench, World())
    (effect,) = bench.engine.history(run_id).effects
    changed = evolve(effect, **{field: value})
    assert question_digest(changed) != question_digest(effect)
    assert question_digest(evolve(effect, version=9, dispatch=3)) == question_digest(effect)


@pytest.mark.parametrize(
    ("column", "value"),
    [("input", '{"n":2}'), ("risk", "low"), ("idempotency", "pure"), ("key_digest", b"\0" * 20)],
)
def test_a_request_that_changed_after_the_answer_is_asked_again_and_never_sent(
    bench: Bench, column: str, value: object
) -> None:
    world = World()
    run_id = parked(bench, world)
    (asked,) = questions(bench, run_id)
    answer(bench, asked)
    change_effect(bench, column, value)
    again = bench.engine.resume_sync(run_id)
    assert again.exit_code == 3
    assert world.calls == []
    assert states(bench, run_id) == ["t void", "t pending"]
    (void,) = [one for one in questions(bench, run_id) if one.id == asked.id]
    # Who had answered, and why, is still there.
    assert (void.actor, void.reason) == ("ada", "looked at it")
    assert approved(bench, run_id).state == "succeeded"
    assert world.numbers == [1]
    assert [one.state for one in bench.engine.history(run_id).effects] == [
        "cancelled",
        "succeeded",
    ]


def test_a_request_that_changed_before_the_answer_cannot_be_answered(bench: Bench) -> None:
    world = World()
    run_id = parked(bench, world)
    (asked,) = questions(bench, run_id)
    change_effect(bench, "input", '{"n":2}')
    with pytest.raises(ApprovalVoid) as refused:
        answer(bench, asked)
    assert run_id in (refused.value.help or "")
    assert states(bench, run_id) == ["t void"]
    with pytest.raises(IllegalTransition):
        answer(bench, asked)
    assert bench.engine.resume_sync(run_id).exit_code == 3
    assert approved(bench, run_id).state == "succeeded"
    assert world.numbers == [1]


def test_what_the_task_itself_asks_for_must_be_what_was_approved(bench: Bench) -> None:
    """Changing a request and the digest that binds it together does not help either."""
    world = World()
    run_id = parked(bench, world)
    answer(bench, questions(bench, run_id)[0])
    (effect,) = bench.engine.history(run_id).effects
    forged = question_digest(evolve(effect, input={"n": 2}))
    change_effect(bench, "input", canonical({"n": 2}))
    with tampering(bench.folder / "state.db") as connection:
        connection.execute("UPDATE approval SET request_digest = ?", (forged,))
    assert bench.engine.resume_sync(run_id).exit_code == 3
    assert world.calls == []
    assert states(bench, run_id) == ["t void", "t pending"]


def test_a_question_that_was_removed_allows_nothing(bench: Bench) -> None:
    world = World()
    run_id = parked(bench, world)
    answer(bench, questions(bench, run_id)[0])
    with tampering(bench.folder / "state.db") as connection:
        connection.execute("DELETE FROM approval")
    assert bench.engine.resume_sync(run_id).exit_code == 3
    assert world.calls == []
    assert states(bench, run_id) == ["t pending"]


def test_a_question_expires_at_its_instant_and_its_task_fails(bench: Bench) -> None:
    world = World()
    run_id = parked(bench, world, asking(approvalExpiresSeconds=HOUR_SECONDS))
    (asked,) = questions(bench, run_id)
    assert asked.expires_at == asked.requested_at + HOUR_SECONDS * 1_000_000
    bench.clock.advance(HOUR_SECONDS - 0.000001)
    assert bench.engine.resume_sync(run_id).exit_code == 3
    bench.clock.advance(0.000001)
    outcome = bench.engine.resume_sync(run_id)
    assert (outcome.state, outcome.exit_code) == ("failed", 4)
    assert child(outcome.error, "code") == "approval_expired"
    assert states(bench, run_id) == ["t expired"]
    assert world.calls == []
    assert verify_run(bench.engine.store, run_id) == []


def test_an_answer_after_the_deadline_is_refused_and_the_expiry_recorded(bench: Bench) -> None:
    world = World()
    run_id = parked(bench, world, asking(approvalExpiresSeconds=HOUR_SECONDS))
    (asked,) = questions(bench, run_id)
    bench.clock.advance(HOUR_SECONDS)
    for _ in range(2):
        with pytest.raises(ApprovalExpired):
            answer(bench, asked)
        assert states(bench, run_id) == ["t expired"]
    assert bench.engine.resume_sync(run_id).exit_code == 4
    assert world.calls == []
    assert verify_run(bench.engine.store, run_id) == []


def test_an_answer_in_time_holds_however_late_the_run_goes_on(bench: Bench) -> None:
    world = World()
    run_id = parked(bench, world, asking(approvalExpiresSeconds=HOUR_SECONDS))
    bench.clock.advance(HOUR_SECONDS - 1)
    answer(bench, questions(bench, run_id)[0])
    bench.clock.advance(1000 * HOUR_SECONDS)
    assert bench.engine.resume_sync(run_id).state == "succeeded"
    assert world.numbers == [1]


def test_a_question_without_a_deadline_stays_open(bench: Bench) -> None:
    world = World()
    run_id = parked(bench, world)
    bench.clock.advance(100_000 * HOUR_SECONDS)
    assert bench.engine.resume_sync(run_id).exit_code == 3
    assert approved(bench, run_id).state == "succeeded"


def test_the_time_of_a_question_is_not_the_tasks_time(bench: Bench) -> None:
    world = World()
    document = asking(task("t", "action:work", with_={"n": 1}, timeoutSeconds=1))
    run_id = parked(bench, world, document)
    bench.clock.advance(24 * HOUR_SECONDS)
    assert approved(bench, run_id).state == "succeeded"
    assert world.numbers == [1]
    (effect,) = bench.engine.history(run_id).effects
    assert effect.started_at == bench.clock.now()


def test_the_time_of_a_question_is_not_the_runs_time(bench: Bench) -> None:
    world = World()
    world.register(bench.engine)
    loaded = bench.engine.load(asking())
    run_id = bench.engine.start_sync(loaded, timeout_seconds=30).run_id
    bench.clock.advance(24 * HOUR_SECONDS)
    answer(bench, questions(bench, run_id)[0])
    assert bench.engine.resume_sync(run_id, timeout_seconds=30).state == "succeeded"


@pytest.mark.parametrize(
    ("mode", "beside"), [("deny_approval", "succeeded"), ("fail", "cancelled")]
)
def test_without_a_person_denying_fails_the_task_and_failing_ends_the_run(
    bench: Bench, mode: str, beside: str
) -> None:
    world = World()
    world.register(bench.engine)
    document = asking(
        task("t", "action:work", with_={"n": 1}, failure="continue"),
        task("after", "action:assign", "wait"),
        task("wait", "action:recall", with_={"key": "x"}),
        nonInteractive=mode,
    )
    document["spec"]["memory"] = {"working": {"x": 1}}
    outcome = bench.run(document)
    assert outcome.exit_code == 4
    assert child(outcome.error, "code") == "approval_denied"
    assert mode in child(outcome.error, "message")
    assert bench.states(outcome.run_id)["after"] == beside
    (asked,) = questions(bench, outcome.run_id)
    assert (asked.state, asked.actor) == ("rejected", "policy")
    assert world.calls == []
    assert verify_run(bench.engine.store, outcome.run_id) == []


@pytest.mark.parametrize("mode", ["deny_approval", "fail"])
def test_where_a_person_is_there_the_question_is_asked_all_the_same(
    bench: Bench, mode: str
) -> None:
    world = World()
    world.register(bench.engine)
    loaded = bench.engine.load(asking(nonInteractive=mode))
    outcome = bench.engine.start_sync(loaded, interactive=True)
    assert outcome.exit_code == 3
    answer(bench, questions(bench, outcome.run_id)[0])
    assert bench.engine.resume_sync(outcome.run_id, interactive=True).state == "succeeded"


@pytest.mark.parametrize(
    ("approval", "override", "asked"),
    [
        ("never", "always", ["builtin.workspace.read"]),
        ("never", "policy", []),
        ("always", "never", ["model.fake"]),
        ("mutations", "policy", []),
        ("mutations", "always", ["builtin.workspace.read"]),
    ],
)
def test_a_tools_own_setting_decides_for_its_calls_alone(
    bench: Bench, approval: str, override: str, asked: list[str]
) -> None:
    (bench.folder / "note.txt").write_text("evidence", encoding="utf-8")
    document = agent({"toolInput": {"path": "note.txt"}, "finalText": "read"}, tools=["read"])
    document["spec"]["policy"]["approval"] = approval
    document["spec"]["tools"] = {"read": {**READ_TOOL, "approval": override}}
    outcome = bench.run(document)
    while outcome.exit_code == 3:
        outcome = approved(bench, outcome.run_id)
    assert outcome.state == "succeeded"
    history = bench.engine.history(outcome.run_id)
    effects = {one.id: one.operation for one in history.effects}
    assert sorted({effects[one.effect_id] for one in history.approvals}) == asked
    assert len(effects) == 3
