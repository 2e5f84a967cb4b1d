"""Batches: which tasks start together, and how their outcomes become one commit.

Above: the runner, which commits `work`, dispatches the flights of `batch` and reports how they
land. Below: decisions, flights and programs. Synchronous and free of I/O.
Source: specification, section 7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from attr import define, field

from agentctl.engine.apply import Work
from agentctl.engine.artifacts import publish
from agentctl.engine.decide import AGGREGATES, DEPENDENCY_OVER, Skip, loop_of, verdict
from agentctl.engine.flight import (
    Done,
    Failed,
    Flight,
    FlightDeck,
    Interrupted,
    Parked,
    failure_of,
    kept,
)
from agentctl.engine.ledger import (
    error_json,
    failure_event,
    interruption_event,
    timeout_event,
)
from agentctl.engine.programs import effect_steps, pure_program
from agentctl.engine.programs.base import TaskContext
from agentctl.engine.programs.pure import all_skipped, still_true
from agentctl.engine.records import IterationRecord, MemoryWrite
from agentctl.engine.retry import retry_due
from agentctl.engine.scope import task_scope
from agentctl.engine.template import render
from agentctl.errors import AgentctlError, Bug, EffectError
from agentctl.machines.names import EffectStates, TaskStates
from agentctl.machines.sets import TASK_STARVED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from agentctl.clock import Instant
    from agentctl.engine.budget import Budget
    from agentctl.engine.plan import PlanTask
    from agentctl.engine.policy import Policy
    from agentctl.engine.ports import Preflight
    from agentctl.engine.records import TaskRecord
    from agentctl.engine.state import RunState
    from agentctl.jsonvalue import JsonObject, JsonValue
    from agentctl.machines.names import EffectEvent, IterationEvent, TaskEvent

# Pure work is recomputed after a crash, so it may gather this much before it is written.
TRANSITIONS_PER_COMMIT_MAX = 512


@define(eq=False, repr=False)
class Scheduler:
    """Turns ready tasks into flights, and landed flights into moves."""

    state: RunState
    policy: Policy
    work: Work = field(factory=Work)
    batch: list[Flight] = field(factory=list)
    stopping: bool = False
    preflights: Mapping[str, Preflight] = field(factory=dict)
    ends_at: Instant | None = None
    budget: Budget | None = field(init=False)
    deck: FlightDeck = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Share the state, the policy and the budget with every flight."""
        state = self.state
        self.budget = None
        if state.plan.definitions.get("budgets"):
            from agentctl.engine.budget import budget_of

            found = state.reconciliations.values()
            self.budget = budget_of(state.plan, state.run, state.effects.values(), found)
        self.deck = FlightDeck(state, self.policy, self.budget, self.preflights, self.ends_at)

    def fill(self, now: Instant) -> None:
        """Start batches until one needs the outside, or nothing may start."""
        while not self.batch and not self.stopping and not self.full:
            self.batch = self._next_batch(now)
            if not self.batch:
                return
            self.settle(now)

    @property
    def full(self) -> bool:
        """Return whether the work at hand should be written before more is gathered."""
        return len(self.work.transitions) >= TRANSITIONS_PER_COMMIT_MAX

    def settle(self, now: Instant) -> None:
        """When every flight of the batch is over, apply the outcomes in compiled order."""
        if any(flight.outcome is None for flight in self.batch):
            return
        memory: dict[str, JsonValue] = {}
        for flight in self.batch:
            self._apply_outcome(flight, memory, now)
        if memory:
            self.state.memory = {**self.state.memory, **memory}
        self.batch = []

    def to_dispatch(self) -> list[Flight]:
        """Return the flights whose effect may be dispatched after the next commit."""
        return [flight for flight in self.batch if flight.to_dispatch]

    def land(self, flight: Flight, value: JsonValue, now: Instant) -> None:
        """Record an effect's confirmed result with what it kept, and let the task go on."""
        self._move_effect(flight, "succeed", now, result=value)
        if flight.shelf is not None and flight.shelf.kept:
            assert flight.effect is not None
            publish(self.state, self.work, flight.effect, flight.shelf.kept, now)
        self.deck.advance(flight, self.work, now, value=value)

    def crash(self, flight: Flight, error: EffectError, now: Instant) -> None:
        """Record an effect's error: the program may handle it, unless there is doubt."""
        assert flight.effect is not None
        event = failure_event(flight.effect, error)
        self._move_effect(flight, event, now, error=error_json(error))
        self._after_failure(flight, error, event, now)

    def time_out(self, flight: Flight, now: Instant, observed: JsonValue = None) -> None:
        """Record that an effect missed its deadline, and what was seen of it until then."""
        assert flight.effect is not None
        assert flight.request is not None
        error = EffectError(
            f"{flight.effect.operation} did not answer within "
            f"{flight.request.timeout_seconds:g} s",
            code="timeout",
            retryable=True,
            detail=observed,
        )
        event = timeout_event(flight.effect)
        self._move_effect(flight, event, now, error=error_json(error))
        self._after_failure(flight, error, event, now)

    def interrupt(self, flight: Flight, now: Instant, observed: JsonValue = None) -> None:
        """Record that an effect was cancelled in mid-flight, and what was seen of it."""
        assert flight.effect is not None
        error: JsonObject = {"code": "cancelled", "message": "cancelled in mid-flight"}
        if observed:
            error["detail"] = observed
        self._move_effect(flight, interruption_event(flight.effect), now, error=error)
        flight.outcome = Interrupted()

    def withdraw_undispatched(self, now: Instant) -> None:
        """Cancel effects that were started on the ledger but never reached an executor."""
        for flight in self.to_dispatch():
            error: JsonObject = {"code": "cancelled", "message": "cancelled before dispatch"}
            self._move_effect(flight, "abort", now, error=error)
            flight.outcome = Interrupted()
        self.settle(now)

    def rearm(self, now: Instant) -> None:
        """Make every retry that is due a candidate again."""
        for task_id in sorted(self.state.retrying):
            task = self.state.tasks[task_id]
            if (task.due_at or 0) <= now:
                ready = self.work.move(task, "rearm", now, due_at=None)
                self.state.put_task(ready)
                self.state.push_candidate(ready)

    def resume_flights(self, task_ids: Iterable[str], now: Instant) -> None:
        """Rebuild the flights of tasks that are running already."""
        for task_id in task_ids:
            self.batch.append(self._fly(self.state.tasks[task_id], now))
        self.batch.sort(key=lambda flight: flight.task.position)
        self.settle(now)

    def _next_batch(self, now: Instant) -> list[Flight]:
        batch: list[Flight] = []
        while len(batch) < self.state.plan.max_concurrency:
            task = self.state.pop_candidate()
            if task is None:
                break
            flight = self._consider(task, now)
            if flight is not None:
                batch.append(flight)
        return batch

    def _consider(self, task: TaskRecord, now: Instant) -> Flight | None:
        """Skip a task with its reason, or start it."""
        plan = self.state.definition(task.id)
        if task.state == TaskStates.ready:
            return self._start(task, now)
        self._begin_iteration(plan)
        try:
            skip = self._aggregate_skip(plan) or verdict(self.state, plan)
        except AgentctlError as error:
            return self._start(task, now, error=error)
        if skip is None:
            return self._start(task, now)
        self._skip(task, skip, now)
        return None

    def _start(
        self, task: TaskRecord, now: Instant, *, error: AgentctlError | None = None
    ) -> Flight:
        events: Sequence[TaskEvent] = (
            ("start",) if task.state == TaskStates.ready else ("admit", "start")
        )
        started = self.work.move_on(
            task, events, now, attempt=task.attempt + 1, started_at=task.started_at or now
        )
        self.state.put_task(started)
        self._move_iteration(started.id, "evaluate", "accept", now=now)
        if error is None:
            return self._fly(started, now)
        plan = self.state.definition(task.id)
        return Flight(task=started, plan=plan, outcome=failure_of(error))

    def _fly(self, task: TaskRecord, now: Instant) -> Flight:
        """Render the input and run the program up to its first request or its end."""
        plan = self.state.definition(task.id)
        flight = Flight(task=task, plan=plan)
        try:
            context = self._context(task, plan)
            program = pure_program(self.state.plan, plan)
            if program is not None:
                flight.outcome = Done(program(context))
                return flight
            flight.steps = effect_steps(context)
        except AgentctlError as error:
            flight.outcome = failure_of(error)
            return flight
        self.deck.advance(flight, self.work, now)
        return flight

    def _context(self, task: TaskRecord, plan: PlanTask) -> TaskContext:
        kept = cast("Mapping[str, JsonValue] | None", task.snapshot)
        memory = self.state.memory if kept is None else kept
        scope = task_scope(self.state, plan, memory)
        rendered = render(plan.input, scope)
        return TaskContext(
            state=self.state,
            task=plan,
            input=cast("JsonObject", rendered),
            scope=scope,
            memory=memory,
            policy=self.policy,
        )

    def _skip(self, task: TaskRecord, skip: Skip, now: Instant) -> None:
        if skip.iteration:
            self._move_iteration(task.id, *skip.iteration, now=now)
        self.state.put_task(
            self.work.move(task, skip.event, now, output=skip.output, ended_at=now)
        )

    def _aggregate_skip(self, plan: PlanTask) -> Skip | None:
        """Skip an aggregate whose children were all skipped from outside."""
        if plan.uses_kind not in AGGREGATES:
            return None
        children = children_of(plan)
        inner = [one for one in children if self.state.plan.tasks[one].expansion is not None]
        whole = inner or children[:1]
        if not whole or not all_skipped(self.state, whole):
            return None
        reason: JsonObject = {"reason": DEPENDENCY_OVER, "dependency": whole[0]}
        return Skip("skip_by_dependency", reason)

    def _apply_outcome(self, flight: Flight, memory: dict[str, JsonValue], now: Instant) -> None:
        outcome = flight.outcome
        task = self.state.tasks[flight.task.id]
        if isinstance(outcome, Done):
            outcome = kept(flight.plan, outcome)
        if isinstance(outcome, Done):
            for key, value in outcome.result.memory:
                memory[key] = value
                self.work.memory.append(MemoryWrite(key=key, value=value, task_id=task.id))
            self._succeed(task, flight.plan, outcome, now)
        elif isinstance(outcome, Failed):
            self.fail(task, flight.plan, outcome, now)
        elif isinstance(outcome, Parked):
            self._park(task, outcome, now)
        elif not isinstance(outcome, Interrupted):
            raise Bug(f"task {task.id} landed without an outcome")

    def _succeed(self, task: TaskRecord, plan: PlanTask, done: Done, now: Instant) -> None:
        output = done.result.output
        self.state.put_task(
            self.work.move(
                task,
                "succeed",
                now,
                output=output,
                ended_at=now,
                disposition="executed",
                snapshot=None,
            )
        )
        loop = loop_of(self.state, plan)
        if loop is not None:
            children = cast("list[str]", loop["children"])
            last = task.id == children[-1] and still_true(self.state, children)
            self._move_iteration(task.id, "exhaust" if last else "finish", now=now)

    def fail(self, task: TaskRecord, plan: PlanTask, failed: Failed, now: Instant) -> None:
        """Retry a task or end it, and stop the run when its failure is meant to."""
        retry = plan.retry
        if failed.retryable and task.attempt < retry.max_attempts:
            due = retry_due(
                self.state.run.id, task.id, task.attempt, retry.backoff_ms, now, failed.error
            )
            waiting = self.work.move(
                task, "schedule_retry", now, due_at=due, error=failed.error, detail=failed.error
            )
            self.state.put_task(waiting)
            return
        self.state.put_task(
            self.work.move(
                task,
                failed.event,
                now,
                error=failed.error,
                ended_at=now,
                disposition="executed",
                snapshot=None,
                detail=failed.error,
            )
        )
        self._move_iteration(task.id, "fail", now=now)
        if failed.stops or plan.failure == "stop":
            self.stopping = True

    def _park(self, task: TaskRecord, parked: Parked, now: Instant) -> None:
        snapshot = dict(self.state.memory) if task.snapshot is None else task.snapshot
        if task.state == TaskStates.running:
            task = self.work.move(task, parked.event, now, snapshot=snapshot, **parked.changes)
        self.state.put_task(task)
        if task.state in TASK_STARVED:
            self.stopping = True

    def _after_failure(
        self, flight: Flight, error: EffectError, event: EffectEvent, now: Instant
    ) -> None:
        assert flight.effect is not None
        if flight.effect.state == EffectStates.uncertain:
            lost: TaskEvent = "time_out" if event == "time_out" else "lose"
            flight.outcome = Failed(error_json(error), event=lost)
            return
        self.deck.advance(flight, self.work, now, error=error)

    def _move_effect(
        self, flight: Flight, event: EffectEvent, now: Instant, **changes: JsonValue
    ) -> None:
        assert flight.effect is not None
        moved = self.work.move(flight.effect, event, now, ended_at=now, **changes)
        if self.budget is not None:
            self.budget.settle(moved)
        self.state.put_effect(moved)
        flight.effect = moved
        flight.to_dispatch = False

    def _begin_iteration(self, plan: PlanTask) -> None:
        if plan.id in self.state.iterations or loop_of(self.state, plan) is None:
            return
        assert plan.expansion is not None
        record = IterationRecord(
            id=plan.id, parent=plan.expansion.parent, index=plan.expansion.index
        )
        self.state.iterations[plan.id] = self.work.add(record)

    def _move_iteration(self, task_id: str, *events: IterationEvent, now: Instant) -> None:
        """Move a loop's iteration through the events that are legal in its state."""
        iteration = self.state.iterations.get(task_id)
        for event in events:
            if iteration is None or event not in iteration.table.legal(iteration.state):
                return
            iteration = self.work.move(iteration, event, now)
            self.state.iterations[task_id] = iteration


def children_of(plan: PlanTask) -> list[str]:
    """Return the tasks that an aggregate gathers."""
    if isinstance(plan.uses_name, list):
        return cast("list[str]", plan.uses_name)
    return cast("list[str]", cast("JsonObject", plan.uses_name)["children"])
