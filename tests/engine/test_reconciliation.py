"""Findings about effects that may have happened: what is refused, and what a resume does."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from agentctl import EffectError, IllegalTransition, StateError, UncertainEffect
from agentctl.engine.operations.reconcile import Finding, reconcile_all
from agentctl.errors import (
    CompensationRefused,
    ConfirmationRequired,
    DecisionsRefused,
    EffectCertain,
    ResultMissing,
    ResultRefused,
    UnknownEffect,
)
from agentctl.store.verify import verify_run
from agentctl.testing import CrashPoint, SimulatedCrash
from tests.engine.harness import Bench, child, task, workflow

if TYPE_CHECKING:
    from agentctl import Engine
    from agentctl.jsonvalue import JsonObject

ANSWER: JsonObject = {
    "text": "said before",
    "toolCalls": [],
    "usage": {"inputTokens": 1, "outputTokens": 2},
    "stopReason": "end_turn",
}


class World:
    """An outside that counts what reaches it."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, str]] = []

    def register(self, engine: Engine, **more: Any) -> None:
        """Register the action `work` with an engine."""

        @engine.action("work", idempotency="at_most_once", **more)
        async def work(n: int, idempotency_key: str) -> dict[str, int]:
            self.calls.append((n, idempotency_key))
            return {"n": n}


def two_steps(**spec: Any) -> dict[str, Any]:
    return workflow(
        task("a", "action:work", with_={"n": 1}),
        task("b", "action:work", "a", with_={"n": "${{ tasks.a.output.n }}"}),
        **spec,
    )


def crashed(
    bench: Bench, world: World, document: dict[str, Any], *, at: int = 3, **more: Any
) -> str:
    """Run until the process dies before the commit that would confirm an effect."""
    world.register(bench.reopened(CrashPoint(at=at)), **more)
    with pytest.raises(SimulatedCrash):
        bench.run(document)
    world.register(bench.reopened(), **more)
    (run,) = bench.engine.store.list_runs()
    return run.id


def test_an_applied_effect_gives_its_result_and_is_not_dispatched_again(bench: Bench) -> None:
    world = World()
    run_id = crashed(bench, world, two_steps(), at=2)
    found = bench.engine.reconcile(
        run_id, "a/1.0", status="applied", actor="ada", reason="seen", result={"n": 7}
    )
    assert (found.state, found.actor, found.reason) == ("applied", "ada", "seen")
    outcome = bench.engine.resume_sync(run_id)
    assert outcome.state == "succeeded"
    assert [n for n, _ in world.calls] == [1, 7]
    history = bench.engine.history(run_id)
    assert [one.state for one in history.effects] == ["uncertain", "succeeded"]
    assert verify_run(bench.engine.store, run_id) == []


def test_an_effect_that_did_not_happen_is_asked_for_afresh_under_another_key(
    bench: Bench,
) -> None:
    world = World()
    run_id = crashed(bench, world, two_steps(), at=2)
    bench.engine.reconcile(run_id, "a/1.0", status="not_applied", actor="ada", reason="no trace")
    assert bench.engine.resume_sync(run_id).state == "succeeded"
    assert [n for n, _ in world.calls] == [1, 1, 1]
    assert len({key for _, key in world.calls}) == 3
    assert [one.name for one in bench.engine.history(run_id).effects] == [
        "a/1.0",
        "a/1.1",
        "b/1.0",
    ]
    assert verify_run(bench.engine.store, run_id) == []


def test_a_compensated_effect_names_what_undid_it_and_is_asked_for_afresh(bench: Bench) -> None:
    world = World()
    run_id = crashed(bench, world, two_steps(), at=3)
    found = bench.engine.reconcile(
        run_id,
        "b/1.0",
        status="compensated",
        actor="ada",
        reason="undone",
        compensation_effect="a/1.0",
    )
    assert found.compensation_effect == "a/1.0"
    assert bench.engine.resume_sync(run_id).state == "succeeded"
    assert [n for n, _ in world.calls] == [1, 1, 1]
    assert verify_run(bench.engine.store, run_id) == []


@pytest.mark.parametrize("undoing", [None, "b/1.0", "c/1.0"])
def test_only_another_confirmed_effect_of_the_run_undoes_one(
    bench: Bench, undoing: str | None
) -> None:
    run_id = crashed(bench, World(), two_steps(), at=3)
    with pytest.raises(CompensationRefused):
        bench.engine.reconcile(
            run_id,
            "b/1.0",
            status="compensated",
            actor="ada",
            reason="undone",
            compensation_effect=undoing,
        )
    # Nothing half-written: the effect is still as the crash left it.
    assert [one.state for one in bench.engine.history(run_id).effects] == ["succeeded", "started"]


def test_a_finding_is_never_taken_back_but_may_be_repeated(bench: Bench) -> None:
    run_id = crashed(bench, World(), two_steps(), at=2)
    for reason in ("first", "again"):
        bench.engine.reconcile(run_id, "a/1.0", status="not_applied", actor="ada", reason=reason)
    with pytest.raises(IllegalTransition) as refused:
        bench.engine.reconcile(run_id, "a/1.0", status="applied", actor="bob", reason="no")
    assert "ada found it not_applied" in str(refused.value.help)
    moves = [
        (move.event, move.actor, child(move.detail, "reason"))
        for _, move in bench.engine.store.transitions(run_id)
        if move.machine == "reconciliation"
    ]
    assert moves == [("deny", "ada", "first"), ("redeny", "ada", "again")]


def test_only_an_uncertain_effect_is_reconciled(bench: Bench) -> None:
    world = World()
    world.register(bench.engine)
    outcome = bench.run(workflow(task("a", "action:work", with_={"n": 1})))
    with pytest.raises(EffectCertain, match="succeeded"):
        bench.engine.reconcile(
            outcome.run_id, "a/1.0", status="not_applied", actor="ada", reason="x"
        )
    with pytest.raises(UnknownEffect) as refused:
        bench.engine.reconcile(
            outcome.run_id, "a/1.1", status="not_applied", actor="ada", reason="x"
        )
    assert "a/1.0" in str(refused.value.help)


def approved_and_crashed(bench: Bench, world: World, document: dict[str, Any]) -> str:
    """Approve the first effect, and die before the commit that would confirm it."""
    world.register(bench.engine)
    run_id = bench.run(document).run_id
    (approval,) = bench.engine.history(run_id).approvals
    bench.engine.decide_approval(approval.id, approve=True, actor="ada")
    # The first commit starts the effect; the second would confirm it.
    world.register(bench.reopened(CrashPoint(at=2)))
    with pytest.raises(SimulatedCrash):
        bench.engine.resume_sync(run_id)
    world.register(bench.reopened())
    assert bench.engine.history(run_id).effects[0].state == "started"
    return run_id


def test_a_class_that_the_policy_asks_about_needs_a_confirmation(bench: Bench) -> None:
    document = two_steps(policy={"approval": "mutations"})
    run_id = approved_and_crashed(bench, World(), document)
    given: Any = {"status": "not_applied", "actor": "ada", "reason": "no trace"}
    with pytest.raises(ConfirmationRequired) as refused:
        bench.engine.reconcile(run_id, "a/1.0", **given)
    assert refused.value.exit_code == 3
    assert "--approved" in str(refused.value.help)
    bench.engine.reconcile(run_id, "a/1.0", approved=True, **given)
    # The new request is a new question: nobody approved those bytes under that identity.
    assert bench.engine.resume_sync(run_id).exit_code == 3
    states = sorted(one.state for one in bench.engine.history(run_id).approvals)
    assert states == ["approved", "pending"]


def agent_document(**more: Any) -> dict[str, Any]:
    return workflow(
        task("ask", "agent:helper", with_={"prompt": "hi"}),
        providers={"scripted": {"kind": "fake"}},
        agents={
            "helper": {
                "provider": "scripted",
                "model": "m",
                "instructions": "Say it.",
                "providerOptions": {"finalText": "said now"},
                **more,
            }
        },
        outputs={"text": "${{ tasks.ask.output.text }}"},
    )


def test_the_result_of_a_model_must_be_a_turn(bench: Bench) -> None:
    run_id = crashed(bench, World(), agent_document(), at=2)
    given: Any = {"status": "applied", "actor": "ada", "reason": "the provider's log"}
    with pytest.raises(ResultMissing):
        bench.engine.reconcile(run_id, "ask/1.0", **given)
    with pytest.raises(ResultRefused) as refused:
        bench.engine.reconcile(run_id, "ask/1.0", result={"text": 1, "toolCalls": []}, **given)
    # All problems at once.
    assert all(word in refused.value.message for word in ("text", "usage", "stopReason"))
    bench.engine.reconcile(run_id, "ask/1.0", result=ANSWER, **given)
    assert bench.engine.resume_sync(run_id).output == {"text": "said before"}


def test_the_result_of_a_tool_must_fit_its_own_schema(bench: Bench) -> None:
    echo = {
        "kind": "builtin.echo",
        "description": "Echo.",
        "inputSchema": {"type": "object"},
        "outputSchema": {"type": "object", "required": ["said"]},
        "capability": "echo",
        "risk": "low",
        "effectClass": "external_mutate",
        "idempotency": "at_most_once",
    }
    document = agent_document(
        tools=["echo"], providerOptions={"finalText": "done", "toolInput": {"said": "x"}}
    )
    document["spec"]["tools"] = {"echo": echo}
    run_id = crashed(bench, World(), document, at=3)
    given: Any = {"status": "applied", "actor": "ada", "reason": "seen"}
    with pytest.raises(ResultRefused, match="said"):
        bench.engine.reconcile(run_id, "ask/1.1", result={}, **given)
    bench.engine.reconcile(run_id, "ask/1.1", result={"said": "y"}, **given)
    assert bench.engine.resume_sync(run_id).state == "succeeded"


def test_a_failed_run_takes_findings_and_stays_failed(bench: Bench) -> None:
    @bench.engine.action("work")
    async def work() -> dict[str, int]:
        raise EffectError("the line went dead", ambiguous=True)

    outcome = bench.run(workflow(task("t", "action:work")))
    with pytest.raises(UncertainEffect):
        bench.engine.resume_sync(outcome.run_id)
    bench.engine.reconcile(
        outcome.run_id, "t/1.0", status="not_applied", actor="ada", reason="no trace"
    )
    with pytest.raises(StateError, match="failed") as refused:
        bench.engine.resume_sync(outcome.run_id)
    assert not isinstance(refused.value, UncertainEffect)
    assert verify_run(bench.engine.store, outcome.run_id) == []


def test_several_findings_are_stored_together_or_not_at_all(bench: Bench) -> None:
    @bench.engine.action("work")
    async def work() -> dict[str, int]:
        raise EffectError("the line went dead", ambiguous=True)

    def finding(**more: Any) -> Finding:
        return Finding(**{"status": "not_applied", "actor": "ada", "reason": "x", **more})

    document = workflow(
        task("t", "action:work", failure="continue"), task("u", "action:work", failure="continue")
    )
    run_id = bench.run(document).run_id
    store, now = bench.engine.store, bench.clock.now()
    wrong = [
        ("t/1.0", finding()),
        ("v/1.0", finding()),
        ("u/1.0", finding(status="compensated")),
        ("t/1.0", finding()),
    ]
    with pytest.raises(DecisionsRefused) as refused:
        reconcile_all(run_id, wrong, store, now)
    assert [place for place, _ in refused.value.problems] == [1, 2, 3]
    assert bench.engine.history(run_id).reconciliations == ()
    decided = reconcile_all(run_id, [("t/1.0", finding()), ("u/1.0", finding())], store, now)
    assert [one.effect_name for one in decided] == ["t/1.0", "u/1.0"]
    assert verify_run(store, run_id) == []


def test_a_deadline_leaves_a_doubt_that_a_finding_settles(bench: Bench) -> None:
    @bench.engine.action("work")
    async def work() -> dict[str, int]:
        await asyncio.get_running_loop().create_future()
        return {}

    loaded = bench.engine.load(workflow(task("t", "action:work", timeoutSeconds=1)))
    outcome = bench.engine.start_sync(loaded)
    assert outcome.exit_code == 4
    found = bench.engine.reconcile(
        outcome.run_id, "t/1.0", status="not_applied", actor="ada", reason="no trace"
    )
    assert found.state == "not_applied"
