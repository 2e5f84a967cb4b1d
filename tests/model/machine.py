"""The engine's decisions as a small pure model: two owners, an outside, an operator, one run.

Above: the search. Below: the model of one task. A state names owners by their part, the current
one and one that lost the run, so that exchanging the two gives no new state. A step is never
longer than a commit of the engine and may be shorter: the model crashes in more places.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from attr import define

from agentctl.machines.compiled import RUN, TASK
from agentctl.machines.names import EffectStates, TaskStates
from agentctl.machines.sets import (
    RUN_FINAL,
    RUN_PARKED,
    TASK_BLOCKED,
    TASK_OPEN,
    TASK_SATISFIED,
)
from tests.model.one_task import (
    CURRENT,
    ORPHAN,
    READY,
    STALE,
    TWO_OWNERS,
    Move,
    State,
    Task,
    TaskModel,
    hand_over,
    is_confirmed,
    is_doubtful,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@define(eq=False, slots=False)
class Model(TaskModel):
    """The moves that are possible in a state."""

    def __attrs_post_init__(self) -> None:
        """Remember what one task can do, for most states share their tasks with others."""
        self.owned = cache(lambda *given: list(self._owned(*given)))
        self.outside = cache(lambda task: list(self._outside(task)))
        self.found = cache(lambda *given: list(self._found(*given)))
        self.lost = cache(self._lost)
        self.told = cache(self._told)

    def initial(self) -> State:
        """Return a run as it is stored first."""
        tasks = tuple(Task(kind, TASK.initial) for kind in self.rules.kinds)
        return State(RUN.initial, current=False, stale=False, tasks=tasks)

    def moves(self, state: State) -> Iterator[Move]:
        """Yield everything that can happen next."""
        yield from self._tasks_move(state)
        yield from self._owners_move(state)
        if state.run not in RUN_FINAL:
            yield Move("cancel", self._cancelled(state))

    def _tasks_move(self, state: State) -> Iterator[Move]:
        tasks = state.tasks
        stopping = self.is_stopping(state)
        full = sum(one.state == TaskStates.running for one in tasks) >= self.rules.width
        for place, task in enumerate(tasks):
            for label, after, problem in self.outside(task):
                yield Move(f"{label} {place}", self._with(state, place, after), problem)
            if state.current:
                need = tasks[place - 1].state if self.rules.chained and place else ""
                for label, after, problem in self.owned(task, need, stopping or full):
                    yield Move(f"{label} {place}", self._with(state, place, after), problem)
        if not state.current and state.run not in RUN_FINAL and self.rules.has_operator:
            yield from self._findings(state)

    def _with(self, state: State, place: int, task: Task) -> State:
        tasks = state.tasks
        return state._replace(tasks=(*tasks[:place], task, *tasks[place + 1 :]))

    def is_stopping(self, state: State) -> bool:
        """Return whether a failure lets nothing new start."""
        return self.rules.stops and any(one.state == TaskStates.failed for one in state.tasks)

    def _is_in_doubt(self, state: State) -> bool:
        doubtful = any(is_doubtful(effect) for one in state.tasks for effect in one.effects)
        return doubtful and self.rules.keeps_doubts

    def plain(self, state: State) -> State:
        """Return the state that stands for all that no rule can tell from it.

        Equal tasks have no names. Of a task that is over, only what may still come counts. Unless
        findings are true, nothing depends on what happened where no owner waits for it.
        """
        tasks = self._each(state, self.told)
        # An owner that lost the run and waits for nothing ends at its next commit.
        stale = any(effect.air & STALE for one in tasks for effect in one.effects)
        return state._replace(
            stale=stale, tasks=tasks if self.rules.chained else tuple(sorted(tasks))
        )

    def _each(self, state: State, change: Callable[[Task], Task]) -> tuple[Task, ...]:
        return tuple(change(one) for one in state.tasks)

    def _owners_move(self, state: State) -> Iterator[Move]:
        if state.current:
            yield Move("crash", self._released(state))
            if not any(one.state == TaskStates.running for one in state.tasks) and (
                not self._can_start(state)
            ):
                yield Move("conclude", self._concluded(state))
        if state.stale:
            yield from self._late(state)
        if not (state.current and state.stale) and state.run not in RUN_FINAL:
            yield from self._owned_anew(state)

    def _released(self, state: State) -> State:
        tasks = self._each(state, lambda one: hand_over(one, READY | CURRENT, ORPHAN))
        return state._replace(current=False, tasks=tasks)

    def _late(self, state: State) -> Iterator[Move]:
        """Let an owner that lost the run report: it is refused, and ends."""
        tasks = self._each(state, lambda one: hand_over(one, STALE, ORPHAN))
        yield Move("report late", state._replace(stale=False, tasks=tasks))
        if self.rules.is_fenced:
            return
        for place, task in enumerate(state.tasks):
            for number, one in enumerate(task.effects):
                if one.air & STALE and one.state == EffectStates.started:
                    written = self._effect(one, "fail", air=one.air & ~STALE)
                    after = self._with(state, place, self._put(task, number, written))
                    yield Move(f"write late {place}", after, TWO_OWNERS)

    def _owned_anew(self, state: State) -> Iterator[Move]:
        """Take the lease, from nobody or from an owner that is cut off, and go on or give it back."""
        label = "own"
        if state.current:
            label = "take over"
            tasks = self._each(state, lambda one: hand_over(one, READY | CURRENT, STALE))
            state = State(state.run, current=False, stale=True, tasks=tasks)
            yield Move("fence", state)
        if not self._is_in_doubt(state):
            yield Move(label, self._recovered(state))

    def _recovered(self, state: State) -> State:
        event = "start" if state.run == RUN.initial else "recover"
        run = self.step(RUN, state.run, "resume" if state.run in RUN_PARKED else event)
        state = state._replace(run=run, current=True, tasks=self._each(state, self.lost))
        if self._is_in_doubt(state):
            return self._concluded(state)
        return state._replace(tasks=self._each(state, self._gone_on))

    def _can_start(self, state: State) -> bool:
        if self.is_stopping(state):
            return False
        return any(one.state in TASK_OPEN - TASK_BLOCKED for one in state.tasks)

    def _concluded(self, state: State) -> State:
        """End or pause the run, and give the lease back."""
        failed = any(one.state == TaskStates.failed for one in state.tasks)
        blocked = any(one.state in TASK_BLOCKED for one in state.tasks)
        event = "succeed"
        if failed and (self.rules.stops or not blocked):
            event = "fail"
            state = state._replace(tasks=self._each(state, self._task_cancelled))
        elif blocked:
            event = "pause_for_reconciliation"
        return self._released(state._replace(run=self.step(RUN, state.run, event)))

    def _cancelled(self, state: State) -> State:
        state = state._replace(tasks=self._each(state, self._interrupted))
        run = self.step(RUN, state.run, "cancel")
        return self._released(state._replace(run=run))

    def _findings(self, state: State) -> Iterator[Move]:
        """Have an operator say what became of an effect, while nobody owns the run."""
        tasks = self._each(state, self.lost)
        state = state._replace(tasks=tasks)
        for place, task in enumerate(tasks):
            others = (one for number, one in enumerate(tasks) if number != place)
            undoing = any(
                one.state in TASK_SATISFIED or any(map(is_confirmed, one.effects))
                for one in others
            )
            for label, after, _ in self.found(task, undoing):
                yield Move(f"{label} {place}", self._with(state, place, after))
