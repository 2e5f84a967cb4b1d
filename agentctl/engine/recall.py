"""What the ledger already says about a request that a program makes (again).

Above: flights. Below: the run's records. A resumed or retried task runs its program from the
start; what it asked for before is answered from here, so that nothing confirmed happens twice.
Source: specification, section 5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.engine.ledger import may_repeat
from agentctl.engine.programs.base import TaskError
from agentctl.engine.records import effect_name
from agentctl.errors import Bug, EffectError
from agentctl.jsonvalue import canonical, digest_text
from agentctl.machines.names import EffectStates, ReconciliationStates
from agentctl.machines.sets import EFFECT_CONFIRMED, EFFECT_UNSETTLED, RECONCILIATION_ABSENT

if TYPE_CHECKING:
    from agentctl.engine.flight import Flight
    from agentctl.engine.ports import EffectRequest
    from agentctl.engine.records import EffectRecord
    from agentctl.engine.state import RunState
    from agentctl.jsonvalue import JsonValue


def recall(state: RunState, flight: Flight, request: EffectRequest) -> EffectRecord | None:
    """Find the effect of this very request, if it was made before, and count the ordinal on.

    One that certainly did not happen is passed over: the request is made afresh, under the next
    ordinal and so a new identity, and its confirmed siblings are not repeated. Raises TaskError
    when a retry would repeat what must not happen twice.
    """
    attempt = flight.task.attempt
    known = _at(state, flight, attempt)
    if known is None:
        return _confirmed_before(state, flight, request) if attempt > 1 else None
    # A held effect was not dispatched; when it changed, its question is asked again.
    if known.state != EffectStates.waiting_for_approval and not _is_same(known, request):
        raise Bug(f"effect {known.name} was recorded for another request than is made now")
    flight.ordinal = known.ordinal + 1
    return known


def answer_of(
    state: RunState, effect: EffectRecord
) -> tuple[JsonValue, EffectError | None] | None:
    """Return what a recorded effect came to, or None while that is open or in doubt."""
    if effect.state == EffectStates.succeeded:
        return effect.result, None
    if _was_applied(state, effect):
        return state.reconciliations[effect.name].result, None
    if effect.state == EffectStates.failed:
        return None, _recorded_error(effect)
    return None


def _at(state: RunState, flight: Flight, attempt: int) -> EffectRecord | None:
    """Return the effect at the flight's place in an attempt, past those that did not happen."""
    ordinal = flight.ordinal
    while True:
        known = state.effects_by_name.get(effect_name(flight.task.id, attempt, ordinal))
        if known is not None and not _is_absent(state, known):
            return known
        if known is None and not _was_absent(state, flight.task.id, attempt, ordinal):
            if attempt == flight.task.attempt:
                flight.ordinal = ordinal
            return None
        ordinal += 1


def _was_absent(state: RunState, task_id: str, attempt: int, ordinal: int) -> bool:
    """Return whether an earlier attempt's effect at an ordinal was found not to be in the world.

    Its key is spent: a receiver that remembers it could answer with what was undone since.
    """
    names = (effect_name(task_id, earlier, ordinal) for earlier in range(1, attempt))
    records = (state.effects_by_name.get(name) for name in names)
    return any(one is not None and _is_absent(state, one) for one in records)


def _confirmed_before(
    state: RunState, flight: Flight, request: EffectRequest
) -> EffectRecord | None:
    """Find what an earlier attempt of the task already did for this very request.

    A retry so goes on from the request that failed. Where it asks for something else than what
    was confirmed in its place, and that must not happen twice, it goes no further.
    """
    for attempt in range(flight.task.attempt - 1, 0, -1):
        known = _at(state, flight, attempt)
        if known is None or not (known.state in EFFECT_CONFIRMED or _was_applied(state, known)):
            continue
        if _is_same(known, request):
            flight.ordinal = known.ordinal + 1
            return known
        if not may_repeat(known):
            raise TaskError(
                f"{known.name} was confirmed by an earlier attempt, and this one asks for "
                "something else in its place",
                code="retry_diverged",
            )
    return None


def _is_absent(state: RunState, effect: EffectRecord) -> bool:
    """Return whether an effect certainly is not in the world."""
    found = state.reconciliations.get(effect.name)
    if found is not None and effect.state in EFFECT_UNSETTLED:
        return found.state in RECONCILIATION_ABSENT
    return effect.state == EffectStates.cancelled


def _was_applied(state: RunState, effect: EffectRecord) -> bool:
    """Return whether somebody found out that a doubtful effect did happen."""
    found = state.reconciliations.get(effect.name)
    return (
        found is not None
        and effect.state in EFFECT_UNSETTLED
        and found.state == ReconciliationStates.applied
    )


def _is_same(effect: EffectRecord, request: EffectRequest) -> bool:
    return effect.operation == request.operation and (
        effect.input_digest == digest_text(canonical(request.input))
    )


def _recorded_error(effect: EffectRecord) -> EffectError:
    stored = effect.error if isinstance(effect.error, dict) else {}
    return EffectError(
        str(stored.get("message", "the effect failed")),
        code=str(stored.get("code", "")),
        retryable=bool(stored.get("retryable")),
        detail=stored.get("detail"),
    )
