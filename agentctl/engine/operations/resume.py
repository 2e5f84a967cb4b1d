"""Take a stored run up again: after a crash, a pause, or a decision of a person.

Above: the embedded door and the CLI. Below: state and runner. Recovery is nothing but events:
what was running recovers, what may be repeated is repeated, what may have happened once is
marked uncertain, and the run waits for a person.
Source: specification, sections 5 (recovery), 8 and 9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.engine.apply import Work
from agentctl.engine.asking import answer_to, held_effect, is_overdue, question_of, refuse
from agentctl.engine.finish import uncertain_effects, unsettled
from agentctl.engine.flight import Failed
from agentctl.engine.ledger import may_repeat
from agentctl.engine.operations.agent_files import refuse_changed
from agentctl.engine.operations.raising import raise_budget
from agentctl.engine.plan import plan_from_json
from agentctl.engine.policy import Policy
from agentctl.engine.runner import Runner
from agentctl.engine.state import state_from_history
from agentctl.errors import UncertainEffect
from agentctl.machines.compiled import RUN
from agentctl.machines.legality import require
from agentctl.machines.names import EffectStates, RunStates, TaskStates
from agentctl.machines.sets import EFFECT_UNDISPATCHED, RUN_PARKED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agentctl.clock import Instant
    from agentctl.engine.operations.raising import BudgetRaise
    from agentctl.engine.plan import Plan
    from agentctl.engine.ports import Store
    from agentctl.engine.records import RunHistory, TaskRecord
    from agentctl.engine.runner import RunPorts
    from agentctl.engine.scheduler import Scheduler
    from agentctl.engine.state import RunState
    from agentctl.engine.values.capture import SourceReader
    from agentctl.machines.names import TaskEvent, TaskState


def resume(
    run_id: str,
    store: Store,
    now: Instant,
    ports_for: Callable[[Plan], RunPorts],
    sources: SourceReader,
    *,
    timeout_seconds: float | None = None,
    raised: BudgetRaise | None = None,
    interactive: bool = False,
) -> Runner:
    """Return a runner that goes on where the run was left, with the ports that its plan needs.

    `sources` reads the agent files that the run was started with, as they are now.
    Raises UnknownRun, StateError for a run that is over, AgentFileChanged when one of those files
    changed, UncertainEffect while an effect waits
    for reconciliation, RunHeld while another process owns the run, and ArtifactDamaged when
    bytes that the run kept cannot be used. `raised` lets a run that its budget stopped go on.
    `interactive` says that a person is there to be asked, whatever the policy's `nonInteractive`.
    """
    journal = store.claim_run(run_id, now)
    try:
        history = store.load_run(run_id)
        plan = plan_from_json(history.plan)
        # First, so that not even a probe of a doubtful effect is dispatched.
        refuse_changed(history.run, plan, sources)
        refuse_over(history)
        if history.artifacts:
            store.check_artifacts(run_id)
        state = state_from_history(history, plan)
        work = Work()
        take_up(state, work, now, raised)
        policy = Policy.from_definitions(plan.definitions)
        runner = Runner(
            state=state,
            policy=policy.with_a_person() if interactive else policy,
            ports=ports_for(plan),
            journal=journal,
            timeout_seconds=timeout_seconds,
        )
        runner.scheduler.work = work
        recover(runner.scheduler, now)
    except BaseException:
        journal.release()
        raise
    return runner


def refuse_over(history: RunHistory) -> None:
    """Refuse a run that cannot go on, with the next legal step."""
    run = history.run
    settled = {one.effect_name: one for one in history.reconciliations}
    doubtful = sorted(unsettled(history.effects, settled))
    if doubtful:
        raise UncertainEffect(
            f"run {run.id} has effects that may have happened: {', '.join(doubtful)}",
            help=f"`agentctl reconcile {run.id}` walks through them and asks what became of each",
            run_id=run.id,
        )
    require("resume", run)


def take_up(state: RunState, work: Work, now: Instant, raised: BudgetRaise | None) -> None:
    """Send the run the event that its state calls for."""
    if raised is not None or "raise_budget" in RUN.legal(state.run.state):
        raise_budget(state, work, now, raised)
    elif state.run.state == RunStates.created:
        state.run = work.move(state.run, "start", now)
    elif state.run.state in RUN_PARKED:
        state.run = work.move(state.run, "resume", now)
    else:
        state.run = work.move(state.run, "recover", now)


def recover(scheduler: Scheduler, now: Instant) -> None:
    """Send every other record the event that its state calls for."""
    state, work = scheduler.state, scheduler.work
    lose_unconfirmed(state, work, now)
    if uncertain_effects(state):
        scheduler.stopping = True
        return
    running = _recover_running(scheduler, now)
    running += _decided(scheduler, now)
    state.running.clear()
    scheduler.resume_flights(running, now)


def lose_unconfirmed(state: RunState, work: Work, now: Instant) -> None:
    """Mark every started effect that must not run twice, and park its task."""
    for effect in list(state.effects.values()):
        if effect.state != EffectStates.started or may_repeat(effect):
            continue
        lost = {"code": "lost", "message": "the process ended before the result was stored"}
        state.put_effect(work.move(effect, "lose", now, ended_at=now, error=lost))
        task = state.tasks[effect.task_id]
        if task.state == TaskStates.running:
            snapshot = dict(state.memory)
            state.put_task(work.move(task, "await_effect", now, snapshot=snapshot))


# Resuming is refused while an effect is unsettled or the budget spent, so these may go on.
_RELEASES: Mapping[TaskState, TaskEvent] = {
    TaskStates.waiting_for_effect: "settle",
    TaskStates.waiting_for_budget: "fund",
}


def _recover_running(scheduler: Scheduler, now: Instant) -> list[str]:
    state, work = scheduler.state, scheduler.work
    recovered = []
    for task_id in state.running:
        task = state.tasks[task_id]
        if task.state == TaskStates.running:
            state.put_task(work.move(task, "recover", now))
            recovered.append(task_id)
    return recovered


def _decided(scheduler: Scheduler, now: Instant) -> list[str]:
    """Move the tasks whose question was decided; return those that may go on.

    A refusal that stops the run comes first: what was approved beside it never started, so it
    is cancelled like everything else that did not.
    """
    state, work = scheduler.state, scheduler.work
    blocked = sorted(state.blocked, key=lambda one: state.tasks[one].position)
    for task_id in blocked:
        _refuse(scheduler, task_id, now)
    if scheduler.stopping:
        return []
    going_on = []
    for task_id in blocked:
        task = state.tasks[task_id]
        event = _RELEASES.get(task.state)
        if event is not None:
            state.put_task(work.move(task, event, now, error=None))
        elif task.state == TaskStates.waiting_for_quota:
            if not _replenish(scheduler, task, now):
                continue
        elif task.state != TaskStates.waiting_for_approval or not _answer(scheduler, task, now):
            continue
        going_on.append(task_id)
    return going_on


def _replenish(scheduler: Scheduler, task: TaskRecord, now: Instant) -> bool:
    """Let a task call its model again; False when that needs a new attempt."""
    state, work = scheduler.state, scheduler.work
    held_back = any(
        one.task_id == task.id and one.attempt == task.attempt and one.state in EFFECT_UNDISPATCHED
        for one in state.effects.values()
    )
    event: TaskEvent = "replenish" if held_back else "rearm"
    moved = work.move(task, event, now, error=None, due_at=None)
    state.put_task(moved)
    if not held_back:
        state.push_candidate(moved)
    return held_back


def _refuse(scheduler: Scheduler, task_id: str, now: Instant) -> None:
    """Fail a task whose question was answered with no, or by nobody in time."""
    state = scheduler.state
    held = held_effect(state, task_id)
    question = None if held is None else question_of(state, held)
    if held is None or question is None or answer_to(question, held, now) != "no":
        return
    event: TaskEvent = "expire" if is_overdue(question, now) else "reject"
    error = refuse(state, scheduler.work, held, question, now)
    plan = state.definition(task_id)
    scheduler.fail(state.tasks[task_id], plan, Failed(error, event=event), now)


def _answer(scheduler: Scheduler, task: TaskRecord, now: Instant) -> bool:
    """Let a task go on with what was approved, or with asking again; False while it waits."""
    state, work = scheduler.state, scheduler.work
    held = held_effect(state, task.id)
    question = None if held is None else question_of(state, held)
    answer = "stale" if held is None else answer_to(question, held, now)
    if answer == "none":
        return False
    if answer == "yes":
        assert question is not None
        state.put_task(work.move(task, "approve", now, actor=question.actor))
    else:
        state.put_task(work.move(task, "ask_again", now))
    return True
