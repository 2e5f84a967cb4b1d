"""How a run ends, pauses or is stopped: the moves of everything that is still open.

Above: the runner and the recovery operations. Below: the scheduler's state. Pure.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal, cast

from agentctl.engine.asking import void
from agentctl.engine.events import RunOutcome
from agentctl.engine.ledger import error_json
from agentctl.engine.plan import plan_from_json
from agentctl.engine.quota import quota_error, quota_wait
from agentctl.engine.scope import namespace_scope
from agentctl.engine.state import state_from_history
from agentctl.engine.template import render
from agentctl.errors import AgentctlError
from agentctl.machines.names import EffectStates, RunStates, TaskStates
from agentctl.machines.sets import (
    APPROVAL_STANDING,
    EFFECT_UNDISPATCHED,
    EFFECT_UNSETTLED,
    ITERATION_FINAL,
    RECONCILIATION_DECIDED,
    RUN_FINAL,
    TASK_FINAL,
    TASK_SATISFIED,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from agentctl.clock import Instant
    from agentctl.engine.apply import Work
    from agentctl.engine.records import (
        EffectRecord,
        ReconciliationRecord,
        RunHistory,
        RunRecord,
        TaskRecord,
    )
    from agentctl.engine.state import RunState
    from agentctl.jsonvalue import JsonObject
    from agentctl.machines.names import EffectEvent, TaskEvent

StopEvent = Literal["fail", "time_out", "cancel", "exhaust_budget"]


def conclude(state: RunState, work: Work, now: Instant) -> None:
    """End or pause a run in which nothing more can start."""
    if state.failed and (not state.blocked or _is_stopped(state)):
        stop(state, work, now, event="fail", error=_first_failure(state))
    elif state.blocked:
        _pause(state, work, now)
    else:
        _succeed(state, work, now)


def stop(
    state: RunState,
    work: Work,
    now: Instant,
    *,
    event: StopEvent,
    error: JsonObject,
    actor: str | None = None,
) -> None:
    """Cancel everything that is open and end the run with one event."""
    _cancel_open(state, work, now, actor)
    state.run = work.move(
        state.run, event, now, error=error, ended_at=now, actor=actor, detail=error
    )


def suspend(state: RunState, work: Work, now: Instant, error: JsonObject) -> None:
    """Stop for the budget with everything that is open kept for a raise."""
    doubtful = {state.effects_by_name[name].task_id for name in uncertain_effects(state)}
    for task_id in state.plan.order:
        task = state.tasks[task_id]
        if task.state == TaskStates.running:
            event: TaskEvent = "await_effect" if task_id in doubtful else "await_budget"
            snapshot = dict(state.memory) if task.snapshot is None else task.snapshot
            state.put_task(work.move(task, event, now, snapshot=snapshot, error=error))
    state.run = work.move(state.run, "exhaust_budget", now, error=error, detail=error)


def outcome_of(state: RunState) -> RunOutcome:
    """Return where the run stands."""
    run = state.run
    error = cast("JsonObject | None", run.error)
    if error is None and run.state not in RUN_FINAL:
        error = _parked_error(state)
    tasks = [state.tasks[task_id] for task_id in state.plan.order]
    return RunOutcome(
        run_id=run.id,
        state=run.state,
        mode=run.mode,
        workflow_name=run.workflow_name,
        plan_digest=run.plan_digest,
        trace_id=run.trace_id,
        output=run.output,
        error=error,
        source_run_id=run.source_run_id,
        tasks=dict(Counter(task.state for task in tasks)),
        reused_tasks=_with_disposition(tasks, "reused"),
        executed_tasks=_with_disposition(tasks, "executed"),
        compensated_tasks=_undone(run, tasks),
    )


def stored_outcome(history: RunHistory) -> RunOutcome:
    """Return where a stored run stands, whoever moves it."""
    return outcome_of(state_from_history(history, plan_from_json(history.plan)))


def uncertain_effects(state: RunState) -> list[str]:
    """Return the names of effects that may have happened and that nobody settled."""
    return sorted(unsettled(state.effects.values(), state.reconciliations))


def unsettled(
    effects: Iterable[EffectRecord], reconciliations: Mapping[str, ReconciliationRecord]
) -> Iterator[str]:
    """Yield the names of effects that may have happened, without those that were settled."""
    for effect in effects:
        if effect.state in EFFECT_UNSETTLED:
            found = reconciliations.get(effect.name)
            if found is None or found.state not in RECONCILIATION_DECIDED:
                yield effect.name


def _succeed(state: RunState, work: Work, now: Instant) -> None:
    try:
        scope = namespace_scope(state, "", None)
        output = render(state.plan.definitions["outputs"], scope)
    except AgentctlError as error:
        stop(state, work, now, event="fail", error=error_json(error))
        return
    state.run = work.move(state.run, "succeed", now, output=output, ended_at=now)


def _pause(state: RunState, work: Work, now: Instant) -> None:
    waits = {state.tasks[task_id].state for task_id in state.blocked}
    if TaskStates.waiting_for_budget in waits:
        suspend(state, work, now, _denial(state))
    elif TaskStates.waiting_for_effect in waits:
        state.run = work.move(state.run, "pause_for_reconciliation", now)
    elif TaskStates.waiting_for_quota in waits:
        state.run = work.move(state.run, "wait_for_quota", now, detail=_quota_error(state))
    else:
        state.run = work.move(state.run, "pause_for_approval", now)


def _quota_error(state: RunState) -> JsonObject:
    wait = quota_wait(state.tasks.values())
    assert wait is not None
    return quota_error(wait)


def _denial(state: RunState) -> JsonObject:
    """Return what the budget denied to the first task that waits for it."""
    waiting = (state.tasks[task_id] for task_id in state.plan.order)
    denied = next(task for task in waiting if task.state == TaskStates.waiting_for_budget)
    return {**cast("JsonObject", denied.error), "taskId": denied.id}


def _cancel_open(state: RunState, work: Work, now: Instant, actor: str | None) -> None:
    for task_id in state.plan.order:
        task = state.tasks[task_id]
        if task.state not in TASK_FINAL:
            state.tasks[task_id] = work.move(
                task, "cancel", now, ended_at=now, actor=actor, disposition=_touched(task)
            )
    withdrawn = set()
    for effect in list(state.effects.values()):
        if effect.state in EFFECT_UNDISPATCHED:
            withdrawn.add(effect.id)
            requested = effect.state == EffectStates.requested
            event: EffectEvent = "withdraw" if requested else "void"
            state.put_effect(work.move(effect, event, now, ended_at=now, actor=actor))
    for question in list(state.approvals.values()):
        if question.state in APPROVAL_STANDING and question.effect_id in withdrawn:
            ended = void(work, question, now, "its run ended", actor)
            state.approvals[question.id] = ended
    for iteration in list(state.iterations.values()):
        if iteration.state not in ITERATION_FINAL:
            state.iterations[iteration.id] = work.move(iteration, "cancel", now, actor=actor)


def _is_stopped(state: RunState) -> bool:
    """Return whether a failure ends the run at once; after others, independent tasks wait on."""
    return any(state.definition(task_id).failure == "stop" for task_id in state.failed)


def _touched(task: TaskRecord) -> str | None:
    return "executed" if task.attempt else None


def _first_failure(state: RunState) -> JsonObject:
    failed = min((state.tasks[one] for one in state.failed), key=lambda task: task.position)
    error = cast("JsonObject", failed.error or {"code": "task_failed", "message": "failed"})
    return {**error, "taskId": failed.id}


def _parked_error(state: RunState) -> JsonObject | None:
    uncertain = uncertain_effects(state)
    if uncertain:
        return {
            "code": "uncertain_effect",
            "message": "these effects may have happened: " + ", ".join(uncertain),
        }
    waiting = sorted(state.blocked)
    if state.run.state == RunStates.waiting:
        return _quota_error(state)
    if waiting:
        return {"code": "approval_required", "message": "waiting: " + ", ".join(waiting)}
    return None


def _undone(run: RunRecord, tasks: list[TaskRecord]) -> tuple[str, ...]:
    if run.mode != "compensation":
        return ()
    return tuple(task.id for task in tasks if task.state in TASK_SATISFIED)


def _with_disposition(tasks: list[TaskRecord], disposition: str) -> tuple[str, ...]:
    return tuple(task.id for task in tasks if task.disposition == disposition)
