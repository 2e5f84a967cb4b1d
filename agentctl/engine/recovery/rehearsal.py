"""Would this workflow still produce a recorded history? A dry run that answers from the record.

Above: replay against other code. Below: the scheduler and flights. The target's own programs run
in memory with nothing to dispatch to: every request that one makes is looked up at its place in
the ledger, and the recorded answer is what the program gets. A request that is not the recorded
one, and an outcome that is not, are the differences; what follows from one is not told again.
Source: specification, section 9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from attr import evolve, field, frozen

from agentctl.engine.apply import Work
from agentctl.engine.asking import answer_to, question_of
from agentctl.engine.finish import conclude
from agentctl.engine.flight import (
    Failed,
    Flight,
    FlightDeck,
    Interrupted,
    Parked,
    failure_of,
    step,
)
from agentctl.engine.operations.start import pending_tasks
from agentctl.engine.plan import plan_from_json
from agentctl.engine.policy import Policy
from agentctl.engine.programs.base import TaskError
from agentctl.engine.recall import answer_of, recall
from agentctl.engine.records import RunHistory, RunRecord, effect_name
from agentctl.engine.recovery.changes import Difference, differences
from agentctl.engine.recovery.divergence import RUN_ITSELF, Divergence, Rehearsal
from agentctl.engine.recovery.evidence import initial_memory, memory_delta, memory_seen
from agentctl.engine.recovery.fingerprint import fingerprint
from agentctl.engine.recovery.memory import migration_of
from agentctl.engine.scheduler import Scheduler
from agentctl.engine.state import state_from_history
from agentctl.machines.names import EffectStates
from agentctl.machines.sets import EFFECT_UNSETTLED, RUN_FINAL, TASK_CONCLUDED, TASK_FINAL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentctl.clock import Instant
    from agentctl.engine.plan import Plan
    from agentctl.engine.ports import EffectRequest
    from agentctl.engine.records import EffectRecord, TaskRecord, Transition
    from agentctl.engine.recovery.divergence import What
    from agentctl.engine.state import RunState
    from agentctl.errors import EffectError
    from agentctl.jsonvalue import JsonObject, JsonValue


def rehearse(
    source: RunHistory,
    journal: Sequence[tuple[int, Transition]],
    target: Plan,
    inputs: JsonObject,
) -> Rehearsal:
    """Run a plan against a record; nothing is dispatched or stored.

    A history that is not over is compared as far as it goes. Budgets are not: what an effect may
    use up says nothing about what is asked for.
    """
    made = Rehearsal(source, target)
    stage = _Stage(made, journal, inputs)
    stage.play()
    stage.compare()
    return made


@frozen(kw_only=True, eq=False, repr=False)
class _RecordedDeck(FlightDeck):
    """Answers every request from the record."""

    made: Rehearsal
    recorded: Plan
    tasks: dict[str, TaskRecord]
    ledger: dict[str, EffectRecord]
    refused: list[tuple[str, JsonObject]] = field(factory=list)

    def advance(
        self,
        flight: Flight,
        work: Work,
        now: Instant,
        *,
        value: JsonValue = None,
        error: EffectError | None = None,
    ) -> None:
        """Feed the program with recorded answers until it ends, or the record does."""
        del work
        while flight.outcome is None:
            request = step(flight, value, error)
            if request is None:
                return
            answer = self._answer(flight, request, now)
            if answer is None:
                return
            value, error = answer

    def _answer(
        self, flight: Flight, request: EffectRequest, now: Instant
    ) -> tuple[JsonValue, EffectError | None] | None:
        """Return what came of a request, or None with the flight's outcome."""
        while flight.outcome is None:
            try:
                known = recall(self.state, flight, request)
            except TaskError as diverged:
                flight.outcome = failure_of(diverged)
                return None
            if known is not None:
                return self._answered(flight, known)
            known = self.ledger.get(
                effect_name(flight.task.id, flight.task.attempt, flight.ordinal)
            )
            if known is None:
                self._beyond(flight, request)
            elif self._fits(flight, known, request):
                self._reveal(flight, known, now)
        return None

    def _answered(
        self, flight: Flight, known: EffectRecord
    ) -> tuple[JsonValue, EffectError | None] | None:
        answer = answer_of(self.state, known)
        if answer is None:
            # It is still open, so the record ends here.
            flight.outcome = Interrupted()
            self.made.cut_short = True
        return answer

    def _fits(self, flight: Flight, known: EffectRecord, request: EffectRequest) -> bool:
        """Return whether the record has this very request; else say how they differ."""
        then: JsonObject = {"operation": known.operation, "input": known.input}
        now: JsonObject = {"operation": request.operation, "input": request.input}
        found = tuple(differences(then, now))
        asks = self.policy.needs_approval(request.effect_class, request.risk, request.approval)
        asked = any(one.effect_id == known.id for one in self.made.source.approvals)
        if found:
            self._diverge(flight, "request", *found)
        elif asks is not asked:
            self._diverge(flight, "approval", Difference("asksAPerson", asked, asks))
        return flight.outcome is None

    def _reveal(self, flight: Flight, known: EffectRecord, now: Instant) -> None:
        """Put a recorded effect on the ledger, where `recall` finds it from now on."""
        state = self.state
        state.put_effect(known)
        questions = (one for one in self.made.source.approvals if one.effect_id == known.id)
        state.approvals.update({one.id: one for one in questions})
        self.made.answered += 1
        question = question_of(state, known)
        refused = answer_to(question, known, now) == "no"
        if question is not None and refused and known.state == EffectStates.cancelled:
            self._refuse(flight, cast("JsonObject", known.error), by=question.actor)
        elif known.state in EFFECT_UNSETTLED and known.name not in state.reconciliations:
            flight.outcome = Failed(cast("JsonObject", known.error), event="lose")

    def _refuse(self, flight: Flight, error: JsonObject, *, by: str | None) -> None:
        """Fail a task that nobody allowed: at once by policy, after everything else by a person."""
        if by == "policy":
            flight.outcome = Failed(error, stops=self.policy.non_interactive == "fail")
        else:
            flight.outcome = Parked("await_approval")
            self.refused.append((flight.task.id, error))

    def _beyond(self, flight: Flight, request: EffectRequest) -> None:
        """Take a request that the record does not hold: the record ends here, or differs."""
        task = self.tasks.get(flight.task.id)
        if task is None or task.state not in TASK_CONCLUDED:
            flight.outcome = Interrupted()
            self.made.cut_short = True
        elif isinstance(task.error, dict) and self._is_unchanged(task.id):
            # It was refused before it reached the ledger.
            flight.outcome = Failed(task.error)
        else:
            now: JsonObject = {"operation": request.operation, "input": request.input}
            self._diverge(flight, "request", Difference("request", None, now))

    def _is_unchanged(self, task_id: str) -> bool:
        target = self.state.plan
        then = fingerprint(self.recorded, self.recorded.tasks[task_id])
        return then == fingerprint(target, target.tasks[task_id])

    def _diverge(self, flight: Flight, what: What, *found: Difference) -> None:
        self.made.found.append(Divergence(flight.task.id, what, found))
        flight.outcome = Interrupted()


class _Stage:
    """One dry run: its state, its scheduler, and the record that it is held against."""

    def __init__(
        self, made: Rehearsal, journal: Sequence[tuple[int, Transition]], inputs: JsonObject
    ) -> None:
        source = made.source
        self.made = made
        self.tasks = {one.id: one for one in source.tasks}
        self.recorded = plan_from_json(source.plan)
        self.now = source.run.created_at
        self.state = self._opened(journal, inputs)
        policy = Policy.from_definitions(made.target.definitions)
        self.scheduler = Scheduler(self.state, policy)
        self.scheduler.budget = None
        self.deck = _RecordedDeck(
            self.state,
            policy,
            made=made,
            recorded=self.recorded,
            tasks=self.tasks,
            ledger={one.name: one for one in source.effects},
        )
        self.scheduler.deck = self.deck

    def play(self) -> None:
        """Drive the run until nothing more can start."""
        scheduler = self.scheduler
        while True:
            scheduler.fill(self.now)
            if scheduler.full:
                scheduler.work = Work()
            elif scheduler.stopping or not (self._rearm() or self._refuse()):
                return

    def _rearm(self) -> bool:
        """Go on to when the next retry is due; return False when none waits."""
        waiting = self.state.next_retry()
        if waiting is None:
            return False
        self.now = max(self.now, waiting.due_at or 0)
        self.scheduler.rearm(self.now)
        return True

    def _refuse(self) -> bool:
        """Fail the tasks whose question a person answered with no; return False without any."""
        refused = sorted(self.deck.refused, key=lambda one: self.state.tasks[one[0]].position)
        self.deck.refused.clear()
        for task_id, error in refused:
            failed = Failed(error, event="reject")
            task = self.state.tasks[task_id]
            self.scheduler.fail(task, self.made.target.tasks[task_id], failed, self.now)
        return bool(refused)

    def compare(self) -> None:
        """Gather the differences in the target's order, and what differs of the run at the end."""
        found = self.made.found
        found += self._graph()
        told = {one.task_id for one in found}
        for task_id in self.made.target.order:
            if task_id in self.tasks and task_id not in told:
                self._compare_task(self.tasks[task_id], self.state.tasks[task_id])
        found.sort(key=self._place)
        if not found and not self.made.cut_short and self.made.source.run.state in RUN_FINAL:
            self._compare_run()

    def _opened(self, journal: Sequence[tuple[int, Transition]], inputs: JsonObject) -> RunState:
        """Return the state that the run would begin with, with what was taken over as recorded."""
        made, target = self.made, self.made.target
        source = made.source
        told, earlier = migration_of(journal)
        began = memory = initial_memory(target)
        if told is not None:
            began = cast("JsonObject", told["begin"])
            memory = cast("JsonObject", told["memory"])
        # Tasks that waited let others overtake them; each reads what it read then.
        seen = memory_seen(state_from_history(source, self.recorded), journal, began)
        tasks = []
        for fresh in pending_tasks(target):
            task = evolve(fresh, snapshot=seen.get(fresh.id))
            then = self.tasks.get(task.id)
            if then is not None and then.disposition == "reused":
                task, written = self._taken_over(fresh, then)
                memory = memory if fresh.id in earlier else {**memory, **written}
            tasks.append(task)
        history = RunHistory(
            run=_begun(source.run, target, inputs),
            plan={},
            tasks=tuple(tasks),
            effects=(),
            iterations=(),
            approvals=(),
            reconciliations=source.reconciliations,
            memory=memory,
        )
        return state_from_history(history, target)

    def _taken_over(self, task: TaskRecord, then: TaskRecord) -> tuple[TaskRecord, JsonObject]:
        target = self.made.target
        plan = target.tasks[task.id]
        if fingerprint(self.recorded, self.recorded.tasks[task.id]) != fingerprint(target, plan):
            self.made.found.append(Divergence(task.id, "definition"))
        moved = Work().move(task, "reuse", self.now, output=then.output, disposition="reused")
        return moved, memory_delta(target, plan, then.output)

    def _graph(self) -> Iterator[Divergence]:
        for task_id in self.made.target.order:
            if task_id not in self.tasks:
                yield Divergence(task_id, "inserted")
        for task_id in self.recorded.order:
            if task_id not in self.made.target.tasks:
                yield Divergence(task_id, "removed")

    def _compare_task(self, then: TaskRecord, now: TaskRecord) -> None:
        if then.state not in TASK_CONCLUDED:
            return
        if now.state not in TASK_FINAL and (self.made.found or self.made.cut_short):
            # It was not reached, because of a difference that is told.
            return
        self.made.compared += 1
        found = tuple(differences(_outcome(then), _outcome(now)))
        if found:
            self.made.found.append(Divergence(then.id, "outcome", found))

    def _compare_run(self) -> None:
        then = self.made.source.run
        conclude(self.state, Work(), self.now)
        now = self.state.run
        found = tuple(differences(_ending(then), _ending(now)))
        if found:
            self.made.found.append(Divergence(RUN_ITSELF, "run", found))

    def _place(self, one: Divergence) -> int:
        task = self.state.tasks.get(one.task_id) or self.tasks[one.task_id]
        return task.position


def _begun(run: RunRecord, target: Plan, inputs: JsonObject) -> RunRecord:
    """Return the run as it was when it began, with the target's plan."""
    fresh = evolve(
        run,
        state=RunRecord.table.initial,
        version=0,
        plan_digest=target.plan_digest,
        inputs=inputs,
        output=None,
        error=None,
        ended_at=None,
    )
    return Work().move(fresh, "start", run.created_at)


def _outcome(task: TaskRecord) -> JsonObject:
    return {
        "state": task.state,
        "attempt": task.attempt,
        "output": task.output,
        "error": _code(task.error),
    }


def _ending(run: RunRecord) -> JsonObject:
    return {"state": run.state, "output": run.output, "error": _code(run.error)}


def _code(error: JsonValue) -> JsonValue:
    """Return an error's code; its words may tell of times and places."""
    return error.get("code") if isinstance(error, dict) else error
