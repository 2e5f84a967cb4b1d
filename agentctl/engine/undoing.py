"""What a compensation did so far about each effect that it undoes, as moves of its own machine.

Above: everything that commits work of a run. Below: records and the compensation machine. The
moves go into the very commit that holds what they follow from: the inverse's start, its result, or
what somebody found out about it.
Source: specification, section 9.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from agentctl.engine.finish import unsettled
from agentctl.machines.compiled import COMPENSATION
from agentctl.machines.names import CompensationStates, ReconciliationStates, TaskStates
from agentctl.machines.sets import (
    EFFECT_CONFIRMED,
    EFFECT_OPEN,
    EFFECT_UNSETTLED,
    TASK_FINAL,
    TASK_SATISFIED,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agentctl.clock import Instant
    from agentctl.engine.apply import Work
    from agentctl.engine.records import EffectRecord, ReconciliationRecord, TaskRecord
    from agentctl.engine.state import RunState
    from agentctl.machines.names import CompensationEvent, CompensationState


def follow_inverses(state: RunState, work: Work, now: Instant) -> None:
    """Move each compensation to where its inverse stands now; nothing for any other run."""
    for name, one in list(state.compensations.items()):
        task = state.tasks[one.task_id]
        effects = [each for each in state.effects.values() if each.task_id == one.task_id]
        path = _path(one.state, _standing(task, effects, state.reconciliations))
        if path:
            state.compensations[name] = work.move_on(one, path, now)


def happened_for_good(effect: EffectRecord, found: ReconciliationRecord | None) -> bool:
    """Return whether an effect certainly happened, by the ledger or by a finding."""
    if effect.state in EFFECT_CONFIRMED:
        return True
    applied = found is not None and found.state == ReconciliationStates.applied
    return effect.state in EFFECT_UNSETTLED and applied


def _standing(
    task: TaskRecord,
    effects: Iterable[EffectRecord],
    findings: Mapping[str, ReconciliationRecord],
) -> CompensationState:
    """Return where a compensation stands, by its inverse's task and effects."""
    dispatched = [one for one in effects if one.dispatch]
    happened = any(happened_for_good(one, findings.get(one.name)) for one in dispatched)
    if happened or task.state in TASK_SATISFIED:
        return CompensationStates.compensated
    if any(unsettled(dispatched, findings)):
        return CompensationStates.uncertain
    if any(one.state in EFFECT_OPEN for one in dispatched):
        return CompensationStates.running
    if any(one.state in EFFECT_UNSETTLED for one in dispatched):
        # It was found not to have happened, so it may be tried as if it never had been.
        return CompensationStates.planned
    if dispatched or task.state == TaskStates.failed:
        return CompensationStates.failed
    return CompensationStates.cancelled if task.state in TASK_FINAL else CompensationStates.planned


@cache
def _path(source: CompensationState, target: CompensationState) -> tuple[CompensationEvent, ...]:
    """Return the fewest events that lead from one state to another; none if no events do."""
    paths: dict[CompensationState, tuple[CompensationEvent, ...]] = {source: ()}
    frontier = [source]
    while frontier and target not in paths:
        state = frontier.pop(0)
        for event, reached in COMPENSATION.rows[state].items():
            if reached not in paths:
                paths[reached] = (*paths[state], event)
                frontier.append(reached)
    return paths.get(target, ())
