"""Plan how a run is undone: which changes stand, what undoes each, and what must be settled first.

Above: the operation that compensates. Below: records, the compensation machine and templates.
Planning dispatches nothing and stores nothing. What became of earlier tries is read from their own
runs, so that it is known even where a crash kept the source from hearing of it.
Source: specification, section 9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, cast

from attr import define, evolve, field, frozen

from agentctl.engine.finish import unsettled
from agentctl.engine.kinds import KINDS, MUTATING
from agentctl.engine.plan import PlanTask, sealed
from agentctl.engine.scope import task_scope
from agentctl.engine.state import state_from_history
from agentctl.engine.template import render
from agentctl.engine.undoing import happened_for_good
from agentctl.errors import AgentctlError
from agentctl.machines.compiled import COMPENSATION
from agentctl.machines.names import CompensationStates, EffectStates, ReconciliationStates
from agentctl.machines.sets import (
    RUN_FINAL,
)
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TypeAlias

    from agentctl.engine.plan import CompensatePlan, Plan
    from agentctl.engine.records import EffectRecord, ReconciliationRecord, RunHistory
    from agentctl.engine.state import RunState
    from agentctl.jsonvalue import JsonObject, JsonValue
    from agentctl.machines.names import CompensationState

    Findings: TypeAlias = Mapping[str, ReconciliationRecord]

Rule = Literal[
    "unreconciled_effect", "unreadable_input", "compensation_open", "uncertain_compensation"
]

COMPENSATES: Final = "compensates"
"""The entry of a compensation's plan that names, by task, the effects of the source it undoes."""


@frozen(kw_only=True, eq=False, repr=False)
class Obstacle(Value):
    """What keeps a task from being undone, and what to do about it."""

    task_id: str
    rule: Rule
    meaning: str
    effect: str | None = None

    def to_json(self) -> JsonObject:
        """Return the public form."""
        return {
            "taskId": self.task_id,
            "rule": self.rule,
            "effect": self.effect,
            "meaning": self.meaning,
        }


@frozen(kw_only=True, eq=False, repr=False)
class Undoing(Value):
    """One task to undo: its effects that stand, and its inverse with the rendered input."""

    task_id: str
    effects: tuple[EffectRecord, ...]
    inverse: CompensatePlan
    input: JsonObject
    state: CompensationState

    def to_json(self) -> JsonObject:
        """Return the public form."""
        return {
            "sourceTaskId": self.task_id,
            "sourceEffects": [one.id for one in self.effects],
            "state": self.state,
            "uses": f"action:{self.inverse.uses}",
            "input": self.input,
            "maxAttempts": self.inverse.retry.max_attempts,
            "timeoutSeconds": self.inverse.timeout_seconds,
        }


@frozen(kw_only=True, eq=False, repr=False)
class Undone(Value):
    """An effect of the source that a compensation undid, which the source may not know yet.

    `undoing` is the id of the effect that did it; None for an inverse without one.
    """

    effect: EffectRecord
    run_id: str
    undoing: str | None


@define(eq=False, repr=False)
class CompensationPlan:
    """What a compensation would undo, in order, what it cannot, and what is undone already.

    `unrecorded` is the part of the undone that the source has no finding of.
    """

    source_run_id: str
    tasks: list[Undoing] = field(factory=list)
    obstacles: list[Obstacle] = field(factory=list)
    compensated: list[str] = field(factory=list)
    unrecorded: list[Undone] = field(factory=list)

    @property
    def executable(self) -> bool:
        """Whether there is something to undo, and nothing stands against it."""
        return bool(self.tasks) and not self.obstacles

    def to_json(self) -> JsonObject:
        """Return the public form of `--plan`."""
        return {
            "sourceRunId": self.source_run_id,
            "executable": self.executable,
            "tasks": [one.to_json() for one in self.tasks],
            "alreadyCompensatedEffects": list(self.compensated),
            "blocked": [one.to_json() for one in self.obstacles],
        }


@define(eq=False, repr=False)
class InversePlanner:
    """Plans over a run that is over and the compensations of it so far, oldest first."""

    source: RunHistory
    plan: Plan
    earlier: Sequence[RunHistory]
    made: CompensationPlan = field(init=False)
    state: RunState = field(init=False)
    doubtful: set[str] = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Build the source's working set."""
        self.made = CompensationPlan(self.source.run.id)
        self.state = state_from_history(self.source, self.plan)
        self.doubtful = set(unsettled(self.source.effects, self.state.reconciliations))

    def make(self, wanted: Sequence[str]) -> CompensationPlan:
        """Return the plan for some tasks, in reverse compiled order."""
        for task_id in reversed(self.plan.order):
            if task_id in wanted:
                self._consider(task_id)
        return self.made

    def _consider(self, task_id: str) -> None:
        changes = [
            one for one in self.source.effects if one.task_id == task_id and changes_world(one)
        ]
        open_effects = [one for one in changes if self._in_doubt(one)]
        for one in open_effects:
            self._block(
                task_id,
                "unreconciled_effect",
                "it may have happened; say what became of it with "
                f"`agentctl reconcile {self.source.run.id}`",
                one.name,
            )
        happened = [one for one in changes if happened_for_good(one, self._found(one))]
        standing = [one for one in happened if not self._is_compensated(one)]
        self.made.compensated += [one.id for one in changes if self._is_compensated(one)]
        if standing and not open_effects:
            self._undo(task_id, standing)

    def _undo(self, task_id: str, standing: list[EffectRecord]) -> None:
        """Plan one inverse, unless an earlier compensation did it or is about to."""
        state, last = self._so_far(standing)
        if state == CompensationStates.compensated:
            assert last is not None
            undoing = inverse_effect(last.effects, findings_of(last), task_id)
            undone = None if undoing is None else undoing.id
            self.made.compensated += [one.id for one in standing]
            self.made.unrecorded += [
                Undone(effect=one, run_id=last.run.id, undoing=undone) for one in standing
            ]
        elif state == CompensationStates.running:
            assert last is not None
            self._block(
                task_id,
                "compensation_open",
                f"run {last.run.id} is at it; `agentctl resume {last.run.id}` goes on with it, "
                f"and `agentctl cancel {last.run.id}` gives it up",
            )
        elif state == CompensationStates.uncertain:
            assert last is not None
            self._block(
                task_id,
                "uncertain_compensation",
                "its inverse may have happened; say what became of it with "
                f"`agentctl reconcile {last.run.id}`",
            )
        else:
            self._plan(task_id, standing, state)

    def _plan(self, task_id: str, standing: list[EffectRecord], state: CompensationState) -> None:
        inverse = self.plan.tasks[task_id].compensate
        assert inverse is not None
        try:
            given = self._input(task_id, inverse, standing[-1])
        except AgentctlError as error:
            self._block(task_id, "unreadable_input", f"its inverse's input: {error.message}")
            return
        self.made.tasks.append(
            Undoing(
                task_id=task_id,
                effects=tuple(standing),
                inverse=inverse,
                input=given,
                state=state,
            )
        )

    def _input(self, task_id: str, inverse: CompensatePlan, last: EffectRecord) -> JsonObject:
        """Render the inverse's input as the run ended; it may read the task's own output."""
        task = self.plan.tasks[task_id]
        scope = task_scope(self.state, task)
        if self.state.tasks[task_id].output is None and task.uses_kind == "action":
            # The task itself failed, and what its effect gave is all that is known of it.
            found = self._found(last)
            result = last.result if found is None else found.result
            self.state.outputs[task_id] = {"output": result}
        return cast("JsonObject", render(inverse.input, scope))

    def _so_far(self, standing: list[EffectRecord]) -> tuple[CompensationState, RunHistory | None]:
        """Return what became of earlier tries to undo a task, and the last one."""
        state, last = COMPENSATION.initial, None
        ids = {one.id for one in standing}
        for run in self.earlier:
            found = [one for one in run.compensations if one.effect_id in ids]
            if not found:
                continue
            last = run
            # All effects of a task have one inverse, so their compensations stand alike.
            state = found[0].state
            if state == CompensationStates.compensated:
                break
            if run.run.state not in RUN_FINAL:
                state = CompensationStates.running
            elif state == CompensationStates.cancelled:
                # It was given up before it began, and may begin anew.
                state = COMPENSATION.initial
        return state, last

    def _in_doubt(self, effect: EffectRecord) -> bool:
        return effect.state == EffectStates.started or effect.name in self.doubtful

    def _found(self, effect: EffectRecord) -> ReconciliationRecord | None:
        return self.state.reconciliations.get(effect.name)

    def _is_compensated(self, effect: EffectRecord) -> bool:
        found = self._found(effect)
        return found is not None and found.state == ReconciliationStates.compensated

    def _block(self, task_id: str, rule: Rule, meaning: str, effect: str | None = None) -> None:
        self.made.obstacles.append(
            Obstacle(task_id=task_id, rule=rule, meaning=meaning, effect=effect)
        )


def changes_world(effect: EffectRecord) -> bool:
    """Return whether an effect is of a kind that an inverse could undo."""
    facts = KINDS.get(effect.operation)
    return effect.effect_class in MUTATING or (facts is not None and facts.is_effectful)


def inverse_effect(
    effects: Iterable[EffectRecord], findings: Findings, task_id: str
) -> EffectRecord | None:
    """Return the effect by which a compensation certainly undid a task."""
    happened = [
        one
        for one in effects
        if one.task_id == task_id and happened_for_good(one, findings.get(one.name))
    ]
    return max(happened, key=lambda one: one.number, default=None)


def findings_of(run: RunHistory) -> Findings:
    """Return what was found out about the effects of a run, by their names."""
    return {one.effect_name: one for one in run.reconciliations}


def inverse_plan(made: CompensationPlan, source: Plan) -> Plan:
    """Return the plan that undoes: one task for each, one after the other, none needing another.

    An inverse's input was rendered from the source already. It is handed over in variables, since
    a value that looks like a template must not be read as one.
    """
    tasks = {}
    for one in made.tasks:
        values: JsonObject = {
            f"value{place}": value for place, value in enumerate(one.input.values())
        }
        given: JsonObject = {
            key: f"${{{{ vars.{name} }}}}" for key, name in zip(one.input, values, strict=True)
        }
        tasks[one.task_id] = PlanTask(
            id=one.task_id,
            uses_kind="action",
            uses_name=one.inverse.uses,
            vars=values,
            input=given,
            retry=one.inverse.retry,
            timeout_seconds=one.inverse.timeout_seconds,
            failure="continue",
            predictability="requires_execution",
        )
    effects: JsonObject = {one.task_id: [each.id for each in one.effects] for one in made.tasks}
    return sealed(
        evolve(
            source,
            order=tuple(tasks),
            max_concurrency=1,
            tasks=tasks,
            definitions={**_definitions(source), COMPENSATES: effects},
            plan_digest="",
        )
    )


def _definitions(source: Plan) -> JsonObject:
    """Return the source's definitions under the approval that it wants for inverses."""
    policy = cast("JsonObject", source.definitions["policy"])
    approval: JsonValue = cast("JsonObject", source.definitions["compensation"])["approval"]
    if approval != "policy":
        policy = {**policy, "approval": approval}
    return {**source.definitions, "outputs": {}, "policy": policy}
