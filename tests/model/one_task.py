"""One task of the model: its records, the truth beside them, and what can become of it.

Above: the whole run. Below: the real tables, through which every move of a record goes, and the
ledger's real sets of what may be repeated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from attr import define, field, frozen

from agentctl.engine.ledger import REPEATABLE, UNAMBIGUOUS
from agentctl.machines.compiled import EFFECT, RECONCILIATION, TASK
from agentctl.machines.names import EffectStates, ReconciliationStates, TaskStates
from agentctl.machines.sets import (
    EFFECT_CONFIRMED,
    EFFECT_UNDISPATCHED,
    EFFECT_UNSETTLED,
    RECONCILIATION_ABSENT,
    RECONCILIATION_DECIDED,
    TASK_BLOCKED,
    TASK_FINAL,
    TASK_SATISFIED,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentctl.engine.records import Idempotency
    from agentctl.machines.table import Table

# Where a dispatch is: handed to the executor next, in the hands of an owner, or on its way from
# an owner that is no more.
READY, CURRENT, STALE, ORPHAN = 1, 2, 4, 8
PASSING = "passing"
# Newer evidence of the same.
AGAIN = frozenset({"reapply", "redeny", "recompensate"})
REPEATED = "what may have happened is dispatched again"
CONFIRMED_AGAIN = "what is confirmed is dispatched again"
TWO_OWNERS = "an owner that lost the run writes it"


class Effect(NamedTuple):
    """A record of the ledger with the truth beside it.

    `note` is what a person found, or that a failure may pass. `sent` says that it was dispatched,
    `air` where dispatches are, and `happened` that it is in the world.
    """

    attempt: int
    state: str
    note: str = ""
    sent: bool = False
    air: int = 0
    happened: bool = False


class Task(NamedTuple):
    """A task that asks for one effect, and what it asked so far."""

    kind: Idempotency
    state: str
    attempt: int = 0
    effects: tuple[Effect, ...] = ()


class State(NamedTuple):
    """Everything at one moment: the run, which owners there are, and the tasks."""

    run: str
    current: bool
    stale: bool
    tasks: tuple[Task, ...]


class Move(NamedTuple):
    """What happened, where it leads, and which rule it broke."""

    label: str
    target: State
    problem: str = ""


Local: TypeAlias = "tuple[str, Task, str]"


@frozen(kw_only=True)
class Rules:
    """What is explored, and which rules the engine keeps; a broken one must be found."""

    kinds: tuple[Idempotency, ...]
    chained: bool = False
    stops: bool = True
    truthful: bool = False
    width: int = 3
    attempts: int = 2
    effects: int = 2
    repeatable: frozenset[str] = REPEATABLE
    is_fenced: bool = True
    persists_first: bool = True
    doubts: bool = True
    keeps_doubts: bool = True
    recalls: bool = True
    cleans_up: bool = True
    has_operator: bool = True


def is_absent(effect: Effect) -> bool:
    """Return whether the ledger says that an effect is not in the world."""
    return effect.note in RECONCILIATION_ABSENT or effect.state == EffectStates.cancelled


def is_confirmed(effect: Effect) -> bool:
    """Return whether the ledger says that an effect is in the world."""
    return effect.state in EFFECT_CONFIRMED or effect.note == ReconciliationStates.applied


def is_doubtful(effect: Effect) -> bool:
    """Return whether an effect may have happened, and nobody said."""
    return effect.state in EFFECT_UNSETTLED and effect.note not in RECONCILIATION_DECIDED


def hand_over(task: Task, source: int, target: int) -> Task:
    """Move every dispatch from one place to another."""
    if not any(one.air & source for one in task.effects):
        return task
    effects = []
    for one in task.effects:
        air = one.air & ~source | (target if one.air & source & ~READY else 0)
        effects.append(one._replace(air=air & ~ORPHAN if one.happened else air))
    return task._replace(effects=tuple(effects))


@define(eq=False, slots=False)
class TaskModel:
    """What one task can do; `fired` gathers the edges of the real tables."""

    rules: Rules
    fired: set[tuple[str, str, str]] = field(factory=set)

    def step(self, table: Table[Any, Any], state: str, *events: str) -> str:
        """Return where events lead by the real table, or raise IllegalTransition."""
        for event in events:
            self.fired.add((table.name, state, event))
            state = table.step(state, event)
        return state

    def _put(self, task: Task, place: int, effect: Effect) -> Task:
        effects = task.effects
        return task._replace(effects=(*effects[:place], effect, *effects[place + 1 :]))

    def _outside(self, task: Task) -> Iterator[Local]:
        for place, one in enumerate(task.effects):
            if one.air & (CURRENT | STALE | ORPHAN) and not one.happened:
                arrived = one._replace(happened=True, air=one.air & ~ORPHAN)
                yield "happen", self._put(task, place, arrived), ""
            if one.air & ORPHAN:
                yield "vanish", self._put(task, place, one._replace(air=one.air & ~ORPHAN)), ""

    def _owned(self, task: Task, need: str, stopping: bool) -> Iterator[Local]:
        if task.state == TaskStates.running:
            yield from self._go_on(task)
            yield from self._land(task)
        elif not stopping:
            yield from self._begin(task, need)

    def _begin(self, task: Task, need: str) -> Iterator[Local]:
        if task.state == TaskStates.retry_scheduled:
            yield "rearm", self._task(task, "rearm"), ""
        elif task.state == TaskStates.ready:
            started = self._task(task, "start")
            yield "try again", self._asked(started._replace(attempt=task.attempt + 1)), ""
        elif task.state == TaskStates.pending and (not need or need in TASK_SATISFIED):
            started = self._task(task, "admit", "start")
            yield "start", self._asked(started._replace(attempt=1)), ""
        elif task.state == TaskStates.pending and need in TASK_FINAL - TASK_SATISFIED:
            yield "skip", self._task(task, "skip_by_dependency"), ""

    def _task(self, task: Task, *events: str) -> Task:
        return task._replace(state=self.step(TASK, task.state, *events))

    def _effect(self, effect: Effect, *events: str, **changes: Any) -> Effect:
        state = self.step(EFFECT, effect.state, *events)
        return effect._replace(state=state, **changes)

    def _known(self, task: Task) -> int | None:
        """Return the place of the effect that answers the task's request, as recall finds it."""
        for place, one in enumerate(task.effects):
            if one.attempt == task.attempt and not self._is_passed_over(one):
                return place
        confirmed = [place for place, one in enumerate(task.effects) if is_confirmed(one)]
        return confirmed[-1] if confirmed and self.rules.recalls else None

    def _is_passed_over(self, effect: Effect) -> bool:
        forgotten = not self.rules.keeps_doubts and is_doubtful(effect)
        unread = not self.rules.recalls and is_confirmed(effect) and not effect.air
        return is_absent(effect) or forgotten or unread

    def _go_on(self, task: Task) -> Iterator[Local]:
        """Come to an outcome, by what the ledger says."""
        place = self._known(task)
        if place is None:
            return
        known = task.effects[place]
        if is_confirmed(known):
            yield "succeed", self._task(task, "succeed"), ""
        elif known.state in EFFECT_UNDISPATCHED:
            begun = self._effect(known, "start", air=known.air or READY)
            yield "write", self._put(task, place, begun), ""
        elif known.state == EffectStates.failed:
            yield self._failed(task, known)
        elif known.state != EffectStates.started:
            for event in ("lose", "time_out"):
                yield "give up", self._task(task, event), ""

    def _asked(self, task: Task) -> Task:
        """Ask for what the ledger does not know, or repeat what may be repeated."""
        place = self._known(task)
        if place is None:
            asked = Effect(task.attempt, EFFECT.initial, air=READY)
            if self.rules.persists_first:
                asked = self._effect(asked, "start")
            return task._replace(effects=(*task.effects, asked))
        known = task.effects[place]
        if known.state != EffectStates.started:
            return task
        again = self._effect(known, "repeat", air=known.air | READY)
        return self._put(task, place, again)

    def _failed(self, task: Task, known: Effect) -> Local:
        may_retry = task.attempt < self.rules.attempts and len(task.effects) < self.rules.effects
        if known.note == PASSING and may_retry:
            return "retry", self._task(task, "schedule_retry"), ""
        return "fail", self._task(task, "fail"), ""

    def _land(self, task: Task) -> Iterator[Local]:
        """Dispatch what is ready, and record what became of what was dispatched."""
        for place, one in enumerate(task.effects):
            if one.air & READY:
                sent = one._replace(sent=True, air=one.air & ~READY | CURRENT)
                yield "dispatch", self._put(task, place, sent), self._forbidden(task, place)
            if not one.air & CURRENT or one.state != EffectStates.started:
                continue
            landed = one._replace(air=one.air & ~CURRENT)
            if one.happened:
                yield "confirm", self._put(task, place, self._effect(landed, "succeed")), ""
            else:
                for event, note in (("fail", ""), ("fail_transiently", PASSING)):
                    failed = self._effect(landed, event, note=note)
                    yield event, self._put(task, place, failed), ""
            for event in ("time_out", "disconnect"):
                yield event, self._put(task, place, self._unanswered(task, one, event)), ""

    def _unanswered(self, task: Task, effect: Effect, event: str) -> Effect:
        air = effect.air & ~CURRENT | (0 if effect.happened else ORPHAN)
        if task.kind in UNAMBIGUOUS or not self.rules.doubts:
            return self._effect(effect, "fail_transiently", note=PASSING, air=air)
        return self._effect(effect, event, air=air)

    def _forbidden(self, task: Task, place: int) -> str:
        """Return which rule a dispatch breaks."""
        if any(is_confirmed(one) for one in task.effects):
            return CONFIRMED_AGAIN
        if task.kind in REPEATABLE:
            return ""
        others = [one for number, one in enumerate(task.effects) if number != place]
        # A refusal says that it did not happen; a lost answer that is called one does not.
        undone = all(
            is_absent(one)
            or (one.state == EffectStates.failed and not one.happened and not one.air)
            for one in others
            if one.sent
        )
        return "" if undone and not task.effects[place].sent else REPEATED

    def _gone_on(self, task: Task) -> Task:
        if task.state == TaskStates.running:
            return self._asked(self._task(task, "recover"))
        return self._asked(self._task(task, "settle")) if task.state in TASK_BLOCKED else task

    def _lost(self, task: Task) -> Task:
        """Mark what was under way and must not run twice."""
        if task.kind in self.rules.repeatable:
            return task
        for place, one in enumerate(task.effects):
            if one.state == EffectStates.started:
                task = self._put(task, place, self._effect(one, "lose"))
                if task.state == TaskStates.running:
                    task = self._task(task, "await_effect")
        return task

    def _task_cancelled(self, task: Task) -> Task:
        if task.state in TASK_FINAL or not self.rules.cleans_up:
            return task
        return self._task(task, "cancel")

    def _interrupted(self, task: Task) -> Task:
        for place, one in enumerate(task.effects):
            if one.state in EFFECT_UNDISPATCHED:
                task = self._put(task, place, self._effect(one, "withdraw"))
            elif one.state == EffectStates.started:
                certain = task.kind in UNAMBIGUOUS or one.air & READY
                event = "abort" if certain else "interrupt"
                task = self._put(task, place, self._effect(one, event))
        return self._task_cancelled(task)

    def _found(self, task: Task, undoing: bool) -> Iterator[Local]:
        for place, one in enumerate(task.effects):
            if one.state not in EFFECT_UNSETTLED:
                continue
            note = one.note or RECONCILIATION.initial
            for event in RECONCILIATION.legal(RECONCILIATION.as_state(note)):
                after = self._finding(task, one, event, undoing=undoing)
                if after is not None:
                    reached = self.step(RECONCILIATION, note, event)
                    yield event, self._put(task, place, after._replace(note=reached)), ""

    def _finding(self, task: Task, effect: Effect, event: str, *, undoing: bool) -> Effect | None:
        """Return an effect after a finding that may be, with the truth where that changed."""
        room = len(task.effects) < self.rules.effects or task.state in TASK_FINAL
        true = self.rules.truthful
        if event == "apply":
            # What is not there, and not on its way, a person does by hand.
            known = effect.happened or not effect.air
            return effect._replace(happened=effect.happened or true) if known or not true else None
        if event == "deny" and room:
            return effect if not true or not (effect.happened or effect.air) else None
        if event == "compensate" and undoing and room:
            gone = effect._replace(happened=False, air=0)
            return (gone if effect.happened else None) if true else effect
        return effect if event in AGAIN else None

    def _told(self, task: Task) -> Task:
        over = task.state in TASK_FINAL
        effects = []
        for one in task.effects:
            if not self.rules.truthful:
                air = one.air & ~ORPHAN
                known = one.happened and bool(air & CURRENT or one.state in EFFECT_CONFIRMED)
                one = one._replace(air=air, happened=known)
            if task.kind in REPEATABLE:
                one = one._replace(sent=False)
            if not over or one.air or is_doubtful(one) or self.rules.truthful:
                effects.append(one)
        return task._replace(effects=tuple(effects), attempt=0 if over else task.attempt)
