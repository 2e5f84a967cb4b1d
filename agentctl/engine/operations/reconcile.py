"""Record what became of an effect that may have happened: append-only, by machine, with evidence.

Above: the embedded door and the CLI. Below: the ledger's records. The effect itself stays as it
was; resuming the run acts on the newest finding.
Source: specification, section 5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from attr import frozen

from agentctl.engine.apply import Work
from agentctl.engine.operations.resume import lose_unconfirmed
from agentctl.engine.plan import plan_from_json
from agentctl.engine.records import ReconciliationRecord
from agentctl.engine.state import state_from_history
from agentctl.errors import StateError, UsageError
from agentctl.machines.names import ReconciliationStates
from agentctl.machines.sets import EFFECT_CONFIRMED, EFFECT_UNSETTLED
from agentctl.suggest import did_you_mean
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentctl.clock import Instant
    from agentctl.engine.ports import Store
    from agentctl.engine.records import EffectRecord
    from agentctl.engine.state import RunState
    from agentctl.jsonvalue import JsonObject, JsonValue
    from agentctl.machines.names import ReconciliationEvent

Status = Literal["applied", "not_applied", "compensated"]

# The first finding, and a newer one of the same kind.
_EVENTS: Final[Mapping[Status, tuple[ReconciliationEvent, ReconciliationEvent]]] = {
    "applied": ("apply", "reapply"),
    "not_applied": ("deny", "redeny"),
    "compensated": ("compensate", "recompensate"),
}


@frozen(kw_only=True, eq=False, repr=False)
class Finding(Value):
    """What somebody found out, and how they know.

    `result` stands for the effect's own result when it was applied, and has the same shape.
    `compensation_effect` is the id of the confirmed effect of the same run that undid it.
    """

    status: Status
    actor: str
    reason: str
    evidence: JsonValue = None
    result: JsonValue = None
    compensation_effect: str | None = None


def reconcile(
    run_id: str, effect: str, finding: Finding, store: Store, now: Instant
) -> ReconciliationRecord:
    """Record a finding about one effect, by its id, a prefix of it, or its name.

    Raises UnknownRun, UsageError for an unknown effect or an unfitting finding, StateError for
    an effect that is not in doubt, IllegalTransition for a finding that its predecessor does
    not allow, and RunHeld while a live process owns the run.
    """
    journal = store.claim_run(run_id, now)
    try:
        history = store.load_run(run_id)
        state = state_from_history(history, plan_from_json(history.plan))
        work = Work()
        lose_unconfirmed(state, work, now)
        decided = record_finding(state, work, find_effect(state, effect), finding, now)
        journal.commit(work)
    finally:
        journal.release()
    return decided


def find_effect(state: RunState, wanted: str) -> EffectRecord:
    """Return the effect of that name, id or unique beginning of an id. Raises UsageError."""
    named = state.effects_by_name.get(wanted)
    if named is not None:
        return named
    found = [one for one in state.effects.values() if wanted and one.id.startswith(wanted)]
    if len(found) == 1:
        return found[0]
    many = "more than one effect starts" if found else f"run {state.run.id} has no effect"
    near = did_you_mean(wanted, [*state.effects_by_name, *state.effects])
    raise UsageError(f"{many} with {wanted!r}", help=near, run_id=state.run.id)


def record_finding(
    state: RunState, work: Work, effect: EffectRecord, finding: Finding, now: Instant
) -> ReconciliationRecord:
    """Add one finding to a unit of work. Raises as `reconcile` does."""
    if effect.state not in EFFECT_UNSETTLED:
        raise StateError(
            f"effect {effect.name} is {effect.state}; only an uncertain one can be reconciled",
            run_id=state.run.id,
        )
    if finding.status == ReconciliationStates.compensated:
        _check_compensation(state, effect, finding.compensation_effect)
    record = state.reconciliations.get(effect.name)
    if record is None:
        record = work.add(
            ReconciliationRecord(effect_name=effect.name, effect_id=effect.id, opened_at=now)
        )
    first, again = _EVENTS[finding.status]
    detail: JsonObject = {
        "effectId": effect.id,
        "reason": finding.reason,
        "evidence": finding.evidence,
        "result": finding.result,
        "compensationEffect": finding.compensation_effect,
    }
    decided = work.move(
        record,
        first if first in record.table.legal(record.state) else again,
        now,
        actor=finding.actor,
        detail=detail,
        decided_at=now,
        reason=finding.reason,
        evidence=finding.evidence,
        result=finding.result,
        compensation_effect=finding.compensation_effect,
    )
    state.reconciliations[effect.name] = decided
    return decided


def _check_compensation(state: RunState, effect: EffectRecord, undoing: str | None) -> None:
    """Require a different, confirmed effect of the same run."""
    if undoing is None:
        raise UsageError(
            "a compensated finding names the effect that undid it", run_id=state.run.id
        )
    other = find_effect(state, undoing)
    if other.id == effect.id:
        raise UsageError("an effect cannot compensate itself", run_id=state.run.id)
    applied = state.reconciliations.get(other.name)
    confirmed = other.state in EFFECT_CONFIRMED or (
        applied is not None and applied.state == ReconciliationStates.applied
    )
    if not confirmed:
        raise StateError(
            f"effect {other.name} is {other.state}; only a confirmed one can have undone another",
            run_id=state.run.id,
        )
