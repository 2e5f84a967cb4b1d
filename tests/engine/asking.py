"""Workflows that ask a person, and short ways to answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.engine.harness import Bench, task, workflow

if TYPE_CHECKING:
    from agentctl import Engine, RunOutcome
    from agentctl.engine.records import ApprovalRecord, Idempotency


class World:
    """An outside that keeps what reached it."""

    def __init__(self, idempotency: Idempotency = "at_most_once") -> None:
        self.idempotency = idempotency
        self.calls: list[tuple[int, str]] = []

    def register(self, engine: Engine) -> Engine:
        """Register the action `work` with an engine."""

        @engine.action("work", idempotency=self.idempotency)
        async def work(n: int, idempotency_key: str) -> dict[str, int]:
            self.calls.append((n, idempotency_key))
            return {"n": n}

        return engine

    @property
    def numbers(self) -> list[int]:
        """What arrived, in order."""
        return [n for n, _ in self.calls]


def asking(*tasks: dict[str, Any], **policy: Any) -> dict[str, Any]:
    """Return a workflow whose effects wait for a person."""
    return workflow(
        *(tasks or (task("t", "action:work", with_={"n": 1}),)),
        policy={"approval": "mutations", "writableRoots": ["out"], **policy},
        runtime={"maxConcurrency": 4},
    )


def parked(bench: Bench, world: World, document: dict[str, Any] | None = None) -> str:
    """Run up to the question and return the run's id."""
    world.register(bench.engine)
    outcome = bench.run(document or asking())
    assert (outcome.state, outcome.exit_code) == ("paused", 3)
    assert world.calls == []
    return outcome.run_id


def questions(bench: Bench, run_id: str) -> list[ApprovalRecord]:
    """Return a run's questions, in the order they were asked."""
    return list(bench.engine.history(run_id).approvals)


def states(bench: Bench, run_id: str) -> list[str]:
    """Return the task and the state of every question, in the order they were asked."""
    return [f"{one.task_id} {one.state}" for one in questions(bench, run_id)]


def answer(bench: Bench, question: ApprovalRecord, *, approve: bool = True) -> ApprovalRecord:
    """Answer a question as ada."""
    return bench.engine.decide_approval(
        question.id, approve=approve, actor="ada", reason="looked at it"
    )


def approved(bench: Bench, run_id: str) -> RunOutcome:
    """Approve all that is open, and go on."""
    for one in questions(bench, run_id):
        if one.state == "pending":
            answer(bench, one)
    return bench.engine.resume_sync(run_id)
