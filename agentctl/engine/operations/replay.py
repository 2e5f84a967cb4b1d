"""Reconstruct a run that is over from its record, dispatching nothing.

Above: the embedded door and the CLI. Below: records and the store. The new run copies every
task's outcome, the working memory and the stream, and refers to the same artifacts; it has no
effects at all.
Source: specification, section 9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.engine.apply import Work
from agentctl.engine.artifacts import copy_artifacts
from agentctl.engine.finish import outcome_of
from agentctl.engine.operations.start import StartRequest, new_run, pending_tasks
from agentctl.engine.plan import plan_from_json
from agentctl.engine.ports import NewRun
from agentctl.engine.records import RunHistory
from agentctl.engine.state import state_from_history
from agentctl.engine.stream import stream_event
from agentctl.machines.legality import require
from agentctl.machines.names import RunStates, TaskStates
from agentctl.machines.sets import TASK_FINAL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentctl.clock import Instant
    from agentctl.engine.events import Listener, RunOutcome
    from agentctl.engine.ports import Entropy, Store
    from agentctl.engine.records import TaskRecord
    from agentctl.machines.names import RunEvent, TaskEvent

_TASK_EVENTS: Mapping[str, TaskEvent] = {
    TaskStates.succeeded: "record_success",
    TaskStates.failed: "record_failure",
    TaskStates.skipped: "record_skip",
    TaskStates.cancelled: "record_cancellation",
}
_RUN_EVENTS: Mapping[str, RunEvent] = {
    RunStates.succeeded: "record_success",
    RunStates.failed: "record_failure",
    RunStates.cancelled: "record_cancellation",
}


def replay(
    run_id: str,
    store: Store,
    entropy: Entropy,
    now: Instant,
    listeners: Sequence[Listener] = (),
) -> RunOutcome:
    """Store a recorded copy of a finished run, tell its stream again, and return its outcome.

    Raises UnknownRun, StateError while the run is not over, and ArtifactDamaged when bytes that
    the copy would refer to are missing or damaged.
    """
    source = store.load_run(run_id)
    require("replay", source.run)
    if source.artifacts:
        store.check_artifacts(run_id)
    plan = plan_from_json(source.plan)
    request = StartRequest(
        plan=plan,
        inputs=source.run.inputs,
        vars=source.run.vars,
        workspace=source.run.workspace,
        folder=source.run.folder,
    )
    run = new_run(request, entropy, now, mode="replay", source_run_id=run_id)
    new = NewRun(run=run, plan=source.plan, tasks=pending_tasks(plan), memory=source.memory)
    work = Work()
    tasks = _copy_tasks(source, new.tasks, work, now)
    artifacts = copy_artifacts(source.artifacts, work, now)
    run = work.move(
        run,
        _RUN_EVENTS[source.run.state],
        now,
        output=source.run.output,
        error=source.run.error,
        ended_at=now,
    )
    work.stream.extend(store.stream_events(run_id))
    store.create_run(new, work).release()
    for one in work.stream:
        for listener in listeners:
            listener(stream_event(run.id, run_id, one))
    copied = RunHistory(
        run=run,
        plan=source.plan,
        tasks=tasks,
        effects=(),
        iterations=(),
        approvals=(),
        artifacts=artifacts,
        memory=source.memory,
    )
    return outcome_of(state_from_history(copied, plan))


def _copy_tasks(
    source: RunHistory, fresh: tuple[TaskRecord, ...], work: Work, now: Instant
) -> tuple[TaskRecord, ...]:
    recorded = {task.id: task for task in source.tasks}
    return tuple(_copy_task(recorded[task.id], task, work, now) for task in fresh)


def _copy_task(recorded: TaskRecord, fresh: TaskRecord, work: Work, now: Instant) -> TaskRecord:
    assert recorded.state in TASK_FINAL
    return work.move(
        fresh,
        _TASK_EVENTS[recorded.state],
        now,
        output=recorded.output,
        error=recorded.error,
        disposition="recorded",
        ended_at=now,
    )
