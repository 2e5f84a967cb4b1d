"""The part of `Engine` that undoes what runs did.

Above: the door. Below: the operations. A compensation is a run like any other, but for one thing:
its source is held as long as it runs, and told of each success.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attr import evolve

from agentctl.blocking import blocking
from agentctl.discretion import Discreet
from agentctl.machines.names import RunStates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentctl.clock import Clock
    from agentctl.engine.events import RunOutcome
    from agentctl.engine.operations.compensate import SourceBook, Undo
    from agentctl.engine.plan import Plan
    from agentctl.engine.ports import Entropy
    from agentctl.engine.recovery.inverses import CompensationPlan
    from agentctl.engine.runner import Runner, RunPorts
    from agentctl.jsonvalue import JsonObject


class Compensating(Discreet):
    """Compensate, by request or by itself after a failure."""

    _clock: Clock
    _entropy: Entropy

    def _ports(self, plan: Plan) -> RunPorts:
        raise NotImplementedError

    async def _drive(self, runner: Runner) -> RunOutcome:
        raise NotImplementedError

    def plan_compensation(self, source: str, *, tasks: Sequence[str] = ()) -> CompensationPlan:
        """Say what would undo a run, in order, and what stands against it. Nothing is stored.

        Raises UnknownRun, StateError for a run that is not over, and UsageError for tasks that
        have no inverse.
        """
        from agentctl.engine.operations.compensate import plan_compensation

        return plan_compensation(source, tasks, self.store)

    async def compensate(
        self,
        source: str,
        *,
        tasks: Sequence[str] = (),
        actor: str = "",
        reason: str = "",
        timeout_seconds: float | None = None,
    ) -> RunOutcome:
        """Undo what a run did and what declares an inverse, or only some tasks, in a new run.

        What was undone before stays undone and is left alone; what failed is tried again. Raises
        UnknownRun, StateError for a run that is not over, UsageError for tasks that have no
        inverse, RunHeld while another process undoes the same run, and CompensationBlocked with
        the plan when it cannot be executed.
        """
        from agentctl.engine.operations.compensate import Undo

        secrets = self._secrets_of_run(source)
        return await self._undo(
            Undo(
                source_id=source,
                tasks=tuple(tasks),
                actor=secrets.redact_text(actor),
                reason=secrets.redact_text(reason),
                timeout_seconds=timeout_seconds,
            )
        )

    compensate_sync = blocking(compensate)

    async def _undo(self, undo: Undo) -> RunOutcome:
        from agentctl.engine.operations.compensate import compensate

        runner, book = compensate(undo, self.store, self._entropy, self._clock, self._ports)
        return await self._tell(runner, book)

    async def _run(self, runner: Runner) -> RunOutcome:
        """Drive a run; hold the source of a compensation, and undo what failed if it is to be."""
        if runner.state.run.mode == "compensation":
            return await self._tell(runner, self._book(runner))
        outcome = await self._drive(runner)
        if outcome.state != RunStates.failed:
            return outcome
        return await self._undo_by_itself(runner.state.plan, outcome)

    def _book(self, runner: Runner) -> SourceBook:
        from agentctl.engine.operations.compensate import book_of

        try:
            return book_of(runner, self.store, self._clock)
        except BaseException:
            if runner.journal is not None:
                runner.journal.release()
            raise

    async def _tell(self, runner: Runner, book: SourceBook) -> RunOutcome:
        try:
            book.follow(runner)
            outcome = await self._drive(runner)
            book.settle(runner.state)
        finally:
            book.close()
        return outcome

    async def _undo_by_itself(self, plan: Plan, outcome: RunOutcome) -> RunOutcome:
        """Undo a failed run whose document says so; the outcome says what came of that."""
        from agentctl.engine.operations.compensate import (
            BY_ITSELF,
            Undo,
            is_automatic,
            plan_compensation,
        )
        from agentctl.errors import AgentctlError

        if not is_automatic(plan):
            return outcome
        made = plan_compensation(outcome.run_id, (), self.store)
        if not made.tasks and not made.obstacles:
            return outcome
        came: JsonObject
        try:
            undone = await self._undo(
                Undo(source_id=outcome.run_id, actor=BY_ITSELF, reason="the run failed")
            )
            came = {
                "runId": undone.run_id,
                "state": undone.state,
                "compensatedTasks": list(undone.compensated_tasks),
            }
        except AgentctlError as error:
            came = {"error": {"code": error.code, "message": error.message}}
        return evolve(outcome, compensation=came)
