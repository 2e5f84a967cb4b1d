"""The working set of one run: its plan, its records, and what may start next.

Above: the runner. Below: records and the plan. Built from a `RunHistory`, so a fresh run and a
resumed one are the same thing. It never writes: moves go through a `Work`.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

from attr import define, field

from agentctl.machines.names import TaskStates
from agentctl.machines.sets import TASK_BLOCKED, TASK_FINAL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agentctl.engine.plan import Plan, PlanTask
    from agentctl.engine.records import (
        ApprovalRecord,
        ArtifactRecord,
        CompensationRecord,
        EffectRecord,
        IterationRecord,
        ReconciliationRecord,
        RunHistory,
        RunRecord,
        TaskRecord,
    )
    from agentctl.jsonvalue import JsonObject, JsonValue


@define(eq=False, repr=False)
class RunState:
    """Everything the scheduler knows, indexed for constant-time decisions."""

    plan: Plan
    run: RunRecord
    tasks: dict[str, TaskRecord]
    effects: dict[str, EffectRecord]
    effects_by_name: dict[str, EffectRecord]
    iterations: dict[str, IterationRecord]
    approvals: dict[str, ApprovalRecord]
    reconciliations: dict[str, ReconciliationRecord]
    memory: Mapping[str, JsonValue]
    compensations: dict[str, CompensationRecord] = field(factory=dict)
    artifacts: list[ArtifactRecord] = field(factory=list)
    stream_counts: dict[tuple[str, int], int] = field(factory=dict)
    outputs: dict[str, JsonObject] = field(factory=dict)
    unmet: dict[str, int] = field(factory=dict)
    dependents: dict[str, list[str]] = field(factory=dict)
    candidates: list[tuple[int, str]] = field(factory=list)
    running: list[str] = field(factory=list)
    blocked: set[str] = field(factory=set)
    retrying: set[str] = field(factory=set)
    failed: list[str] = field(factory=list)

    def definition(self, task_id: str) -> PlanTask:
        """Return a task as planned."""
        return self.plan.tasks[task_id]

    def pop_candidate(self) -> TaskRecord | None:
        """Take the first task, in compiled order, whose dependencies are all over."""
        if not self.candidates:
            return None
        return self.tasks[heappop(self.candidates)[1]]

    def push_candidate(self, task: TaskRecord) -> None:
        """Let a task be considered (again)."""
        heappush(self.candidates, (task.position, task.id))

    def put_effect(self, effect: EffectRecord) -> None:
        """Remember the newest version of an effect."""
        self.effects[effect.id] = effect
        self.effects_by_name[effect.name] = effect

    def put_task(self, task: TaskRecord) -> None:
        """Remember the newest version of a task and update every index that it touches."""
        self.tasks[task.id] = task
        self.retrying.discard(task.id)
        self.blocked.discard(task.id)
        if task.state in TASK_FINAL:
            self._finish(task)
        elif task.state in TASK_BLOCKED:
            self.blocked.add(task.id)
        elif task.state == TaskStates.retry_scheduled:
            self.retrying.add(task.id)

    def next_retry(self) -> TaskRecord | None:
        """Return the waiting task that is due first."""
        waiting = [self.tasks[task_id] for task_id in self.retrying]
        return min(waiting, key=lambda task: (task.due_at or 0, task.position), default=None)

    def _finish(self, task: TaskRecord) -> None:
        self.outputs[task.id] = {"output": task.output}
        if task.state == TaskStates.failed:
            self.failed.append(task.id)
        if not self.unmet[task.id]:
            self._release(task.id)

    def _release(self, task_id: str) -> None:
        """Let those that wait for a task go on.

        A derived run may have taken one of them over already. What waits for that one still
        comes after everything before it, as in a run without anything taken over.
        """
        over = [task_id]
        while over:
            for dependent in self.dependents.get(over.pop(), ()):
                self.unmet[dependent] -= 1
                if self.unmet[dependent]:
                    continue
                waiting = self.tasks[dependent]
                if waiting.state in TASK_FINAL:
                    over.append(dependent)
                else:
                    self.push_candidate(waiting)


def state_from_history(history: RunHistory, plan: Plan) -> RunState:
    """Build the working set of a stored run."""
    state = RunState(
        plan=plan,
        run=history.run,
        tasks={task.id: task for task in history.tasks},
        effects={effect.id: effect for effect in history.effects},
        effects_by_name={effect.name: effect for effect in history.effects},
        iterations={one.id: one for one in history.iterations},
        approvals={one.id: one for one in history.approvals},
        reconciliations={one.effect_name: one for one in history.reconciliations},
        compensations={one.effect_name: one for one in history.compensations},
        artifacts=list(history.artifacts),
        stream_counts=dict(history.stream_counts),
        memory=history.memory,
    )
    _index(state, plan.order)
    return state


def _index(state: RunState, order: Iterable[str]) -> None:
    """Count what each task still waits for; the order has needs before those that need them."""
    over: set[str] = set()
    for task_id in order:
        needs = set(state.plan.tasks[task_id].needs)
        for need in needs:
            state.dependents.setdefault(need, []).append(task_id)
        state.unmet[task_id] = len(needs - over)
        if state.tasks[task_id].state in TASK_FINAL and not state.unmet[task_id]:
            over.add(task_id)
    for task_id in order:
        _place(state, state.tasks[task_id])


def _place(state: RunState, task: TaskRecord) -> None:
    """Put one stored task where the scheduler will look for it."""
    if task.state in TASK_FINAL:
        state.outputs[task.id] = {"output": task.output}
        if task.state == TaskStates.failed:
            state.failed.append(task.id)
    elif task.state in TASK_BLOCKED:
        state.blocked.add(task.id)
    elif task.state == TaskStates.retry_scheduled:
        state.retrying.add(task.id)
    elif task.state == TaskStates.running:
        state.running.append(task.id)
    elif not state.unmet[task.id]:
        state.push_candidate(task)
