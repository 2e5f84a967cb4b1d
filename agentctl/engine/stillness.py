"""Why a run does not move, and what would move it.

Above: `agentctl runs` and `agentctl inspect`. Below: records and the machines' sets. Pure: the
holder of the lease and the present instant are given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from attr import frozen

from agentctl.engine.asking import is_overdue
from agentctl.engine.finish import unsettled
from agentctl.engine.kinds import TAKE_ANSWER
from agentctl.engine.quota import quota_wait
from agentctl.engine.view import pending_approvals
from agentctl.machines.names import RunStates, TaskStates
from agentctl.machines.sets import RUN_FINAL, TASK_BLOCKED, TASK_LIVE
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentctl.clock import Instant
    from agentctl.engine.records import ApprovalRecord, RunHistory
    from agentctl.jsonvalue import JsonObject


@frozen(kw_only=True, eq=False, repr=False)
class Stillness(Value):
    """What a run waits for, and the command that would let it go on."""

    reason: str
    next_step: str

    def as_json(self) -> JsonObject:
        """Return the public JSON."""
        return {"reason": self.reason, "next": self.next_step}


def stillness(history: RunHistory, *, is_held: bool, now: Instant) -> Stillness | None:
    """Return why a run stands still, or None when it is over or a live process moves it."""
    run = history.run
    if run.state in RUN_FINAL:
        return None
    questions = [one for one in pending_approvals(history) if not is_overdue(one, now)]
    if questions:
        return _asking(history, questions)
    settled = {one.effect_name: one for one in history.reconciliations}
    uncertain = set(unsettled(history.effects, settled))
    if uncertain:
        first_effect = next(one for one in history.effects if one.name in uncertain)
        return Stillness(
            reason=f"{first_effect.operation} of task {first_effect.task_id} may have happened",
            next_step=f"agentctl reconcile {run.id}",
        )
    if run.state == RunStates.budget_exceeded:
        return _spent(history)
    if is_held:
        return None
    return Stillness(reason=_unowned(history, now), next_step=f"agentctl resume {run.id}")


def hindrance(history: RunHistory, now: Instant) -> Stillness | None:
    """Return what stands against resuming a run, so that a resume could not move anything.

    None says that a resume is worth trying; uncertain effects may have probes that settle them.
    A person may resume a run that waits for a quota at any time; nothing else does it early.
    """
    if history.run.state == RunStates.budget_exceeded:
        return _spent(history)
    wait = quota_wait(history.tasks)
    if wait is not None and not wait.is_over(now):
        return stillness(history, is_held=False, now=now)
    if history.run.state != RunStates.paused:
        return None
    asked = {one.task_id for one in pending_approvals(history) if not is_overdue(one, now)}
    blocked = {task.id for task in history.tasks if task.state in TASK_BLOCKED}
    if not blocked or blocked - asked:
        return None
    return stillness(history, is_held=False, now=now)


def _asking(history: RunHistory, questions: Sequence[ApprovalRecord]) -> Stillness:
    first = questions[0]
    more = f" and {len(questions) - 1} more" if len(questions) > 1 else ""
    asked = next((one for one in history.effects if one.id == first.effect_id), None)
    if asked is not None and asked.operation == TAKE_ANSWER:
        request = cast("JsonObject", asked.input)["requestId"]
        return Stillness(
            reason=f"waits for a person's answer to the agent of task {first.task_id}{more}",
            next_step=f"agentctl requests answer {request} --answer …",
        )
    return Stillness(
        reason=f"waits for a person: {first.summary} of task {first.task_id}{more}",
        next_step=f"agentctl approvals approve {first.id}",
    )


def _spent(history: RunHistory) -> Stillness:
    return Stillness(
        reason="its budget is spent",
        next_step=f"agentctl resume {history.run.id} --raise-budget NAME=VALUE",
    )


def _unowned(history: RunHistory, now: Instant) -> str:
    state = history.run.state
    if state == RunStates.created:
        return "was created and never started"
    if state == RunStates.paused:
        return "is paused, and what it waited for was decided"
    wait = quota_wait(history.tasks)
    if wait is not None:
        return f"waits for a provider's quota {wait.words}"
    due = [
        task.due_at
        for task in history.tasks
        if task.state == TaskStates.retry_scheduled and task.due_at is not None
    ]
    if due and min(due) > now:
        return "a retry is scheduled, but no process is there to make it"
    open_tasks = sum(task.state in TASK_LIVE for task in history.tasks)
    return f"the process that ran it is gone ({open_tasks} of its tasks under way)"
