"""Check mode: what a run would do, without doing it and without a database.

Above: the door. Below: the scheduler, driven by check-mode executors and a journal that keeps
nothing. Every branch goes as far as it can be predicted.
Source: specification, section 15 (check mode).
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, cast

from attr import evolve

from agentctl.engine.finish import outcome_of
from agentctl.engine.operations.start import StartRequest, start
from agentctl.machines.names import TaskStates

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentctl.engine.apply import Work
    from agentctl.engine.plan import Plan, PlanTask
    from agentctl.engine.ports import Entropy, NewRun
    from agentctl.engine.records import TaskRecord
    from agentctl.engine.runner import RunPorts
    from agentctl.engine.state import RunState
    from agentctl.jsonvalue import JsonObject, JsonValue

UNPREDICTABLE = "requires_execution"


class Nowhere:
    """A store and journal in one that keep nothing."""

    run_id = ""

    @property
    def artifacts(self) -> Nowhere:
        """Keep no artifacts either."""
        return self

    def ingest(self, data: bytes) -> str:
        """Return the digest and keep nothing."""
        return sha256(data).hexdigest()

    def forgo(self, digest: str) -> None:
        """Nothing was kept."""

    def create_run(self, new: NewRun, work: Work) -> Nowhere:
        """Keep nothing."""
        del new, work
        return self

    def commit(self, work: Work) -> None:
        """Keep nothing."""

    @property
    def sequence(self) -> int:
        """No transition is written."""
        return 0

    def on_cancel(self, notify: Callable[[str, str], None]) -> None:
        """Nobody else can know of this run."""

    def release(self) -> None:
        """There is nothing to give back."""


async def preview(request: StartRequest, entropy: Entropy, ports: RunPorts) -> JsonObject:
    """Return `{predictability, output, tasks: [{taskId, predictability, state, output}]}`."""
    checked = evolve(request, plan=_without_stops(request.plan))
    runner = start(checked, Nowhere(), entropy, ports)
    runner.policy = runner.policy.without_approval()
    runner.scheduler.policy = runner.policy
    await runner.run()
    return _report(runner.state)


def _without_stops(plan: Plan) -> Plan:
    """Let independent branches go on, so that one unpredictable task does not hide the rest."""
    tasks = {name: evolve(task, failure="continue") for name, task in plan.tasks.items()}
    return evolve(plan, tasks=tasks)


def _report(state: RunState) -> JsonObject:
    rows = [_row(state, state.tasks[task_id]) for task_id in state.plan.order]
    kinds = [cast("str", row["predictability"]) for row in rows]
    if all(kind == "fully_predictable" for kind in kinds):
        overall = "fully_predictable"
    elif all(kind == UNPREDICTABLE for kind in kinds):
        overall = UNPREDICTABLE
    else:
        overall = "partially_predictable"
    listed: list[JsonValue] = [*rows]
    return {
        "predictability": overall,
        "output": outcome_of(state).output,
        "tasks": listed,
    }


def _row(state: RunState, task: TaskRecord) -> JsonObject:
    plan = state.plan.tasks[task.id]
    return {
        "taskId": task.id,
        "uses": plan.uses_kind,
        "predictability": _predictability(state, task, plan),
        "state": task.state,
        "output": task.output,
        "error": task.error,
    }


def _predictability(state: RunState, task: TaskRecord, plan: PlanTask) -> str:
    """Return how much of the task check mode could tell."""
    if _refused(task):
        return UNPREDICTABLE
    if task.state == TaskStates.skipped:
        unknown = any(_unknown(state, need) for need in plan.needs)
        return UNPREDICTABLE if unknown else "fully_predictable"
    return "fully_predictable"


def _unknown(state: RunState, task_id: str) -> bool:
    task = state.tasks[task_id]
    return _predictability(state, task, state.plan.tasks[task_id]) == UNPREDICTABLE


def _refused(task: TaskRecord) -> bool:
    error = task.error
    return isinstance(error, dict) and error.get("code") == UNPREDICTABLE
