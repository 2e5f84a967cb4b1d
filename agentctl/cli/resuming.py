"""Going on with every run that can go on, for a scheduler that calls this from time to time.

Above: `agentctl resume --all`. Below: the engine. What only a person can move is left alone, so
that calling this again and again adds nothing to any journal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from attr import define, field, frozen

from agentctl.engine.stillness import hindrance, stillness
from agentctl.errors import AgentctlError, RunCancelled, RunFailed, RunHeld, StateError, StoreBusy
from agentctl.machines.names import RunStates
from agentctl.machines.sets import RUN_FINAL, RUN_LIVE
from agentctl.value import Value

if TYPE_CHECKING:
    from agentctl.cli.console import Console
    from agentctl.door import Engine
    from agentctl.engine.records import RunRecord
    from agentctl.jsonvalue import JsonObject

# Runs that wait for a retry hold a place, so there are more than a machine has cores.
TOGETHER_MAX = 16

Result = Literal["wentOn", "held", "couldNot"]


@frozen(kw_only=True, eq=False, repr=False)
class Turn(Value):
    """What became of one run: it went on, another process has it, or it could not go on."""

    run: RunRecord
    result: Result
    state: str
    code: str | None = None
    reason: str | None = None
    next_step: str | None = None

    def to_json(self) -> JsonObject:
        """Return the public JSON."""
        return {
            "runId": self.run.id,
            "workflow": self.run.workflow_name,
            "result": self.result,
            "state": self.state,
            "code": self.code,
            "reason": self.reason,
            "next": self.next_step,
        }


def resume_all(console: Console, timeout_seconds: float | None) -> int:
    """Resume every run that is not over, write what became of each, and return the exit code."""
    from agentctl.cli.drive import drive
    from agentctl.cli.loading import open_existing

    engine = open_existing(console)
    try:
        every = _Every(engine, timeout_seconds)
        turns = drive(console, every, every.go_on)
    finally:
        engine.close()
    left = [one for one in turns if one.result == "couldNot"]
    data: JsonObject = {
        "runs": [one.to_json() for one in turns],
        "couldNot": [one.run.id for one in left],
    }
    console.result("RunsResumed", data, lambda: _human(turns))
    return _exit_code(turns)


@define(eq=False, repr=False)
class _Every:
    """All runs of a database that are not over, several at a time."""

    engine: Engine
    timeout_seconds: float | None
    stopped: bool = field(default=False, init=False)

    def interrupt(self, actor: str, reason: str) -> None:
        """Cancel the runs that are under way, and begin no other."""
        self.stopped = True
        self.engine.interrupt(actor, reason)

    async def go_on(self) -> list[Turn]:
        """Return what became of each run, the oldest first."""
        import asyncio

        runs = self.engine.store.list_runs(states=sorted(RUN_LIVE))[::-1]
        places = asyncio.Semaphore(TOGETHER_MAX)

        async def one(run: RunRecord) -> Turn:
            async with places:
                turn = await self._turn(run)
                # A database that was busy for long enough to give up is free by now, or never.
                return await self._turn(run) if turn.code == StoreBusy.code else turn

        return list(await asyncio.gather(*map(one, runs)))

    async def _turn(self, run: RunRecord) -> Turn:
        if self.stopped:
            return _could_not(run, run.state, "interrupted", "was not begun any more")
        try:
            return await self._attempt(run)
        except RunHeld as error:
            reason, code = error.message, error.code
            return Turn(run=run, result="held", state=run.state, code=code, reason=reason)
        except AgentctlError as error:
            return _could_not(run, run.state, error.code, error.message, error.help)

    async def _attempt(self, run: RunRecord) -> Turn:
        history = self.engine.history(run.id)
        still = hindrance(history, self._now())
        if still is not None:
            return _could_not(
                run, history.run.state, StateError.code, still.reason, still.next_step
            )
        self.engine.changes(run.id).refuse()
        outcome = await self.engine.resume(run.id, timeout_seconds=self.timeout_seconds)
        if outcome.state in RUN_FINAL:
            reason = str((outcome.error or {}).get("message") or "") or None
            return Turn(run=run, result="wentOn", state=outcome.state, reason=reason)
        after = stillness(self.engine.history(run.id), is_held=False, now=self._now())
        assert after is not None
        code = str((outcome.error or {}).get("code") or StateError.code)
        return _could_not(run, outcome.state, code, after.reason, after.next_step)

    def _now(self) -> int:
        return self.engine.store.clock.now()


def _could_not(
    run: RunRecord, state: str, code: str, reason: str, next_step: str | None = None
) -> Turn:
    return Turn(
        run=run, result="couldNot", state=state, code=code, reason=reason, next_step=next_step
    )


def _exit_code(turns: list[Turn]) -> int:
    if any(one.result == "couldNot" for one in turns):
        return StateError.exit_code
    ends = {one.state for one in turns if one.result == "wentOn"}
    if RunStates.failed in ends:
        return RunFailed.exit_code
    return RunCancelled.exit_code if RunStates.cancelled in ends else 0


def _human(turns: list[Turn]) -> str:
    from agentctl.cli.paint import table, visible

    if not turns:
        return "every run is over"
    words = {"wentOn": "went on", "held": "is moved by another process", "couldNot": "could not"}
    rows = [
        (
            one.run.id,
            words[one.result],
            one.state,
            visible("; ".join(filter(None, (one.reason, one.next_step)))),
        )
        for one in turns
    ]
    return table(("run", "result", "state", "why, and what to do"), rows)
