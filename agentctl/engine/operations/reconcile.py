"""Record what became of an effect that may have happened: append-only, by machine, with evidence.

Above: the embedded door and the CLI. Below: the ledger's records. The effect itself stays as it
was; resuming the run acts on the newest finding.
Source: specification, section 5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from attr import evolve, frozen

from agentctl.engine.apply import Work
from agentctl.engine.contracts import approval_of, contract_of
from agentctl.engine.operations.resume import lose_unconfirmed
from agentctl.engine.plan import plan_from_json
from agentctl.engine.policy import Policy
from agentctl.engine.records import ReconciliationRecord
from agentctl.engine.state import state_from_history
from agentctl.engine.undoing import follow_inverses
from agentctl.errors import (
    AgentctlError,
    CompensationRefused,
    ConfirmationRequired,
    DecisionsRefused,
    EffectCertain,
    IllegalTransition,
    ResultMissing,
    ResultRefused,
    UnknownEffect,
)
from agentctl.machines.legality import require
from agentctl.machines.names import ReconciliationStates
from agentctl.machines.sets import EFFECT_CONFIRMED, EFFECT_UNSETTLED
from agentctl.suggest import did_you_mean
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentctl.clock import Instant
    from agentctl.engine.ports import SecretKeeper, Store
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
    `approved` says that a person confirmed the consequence, where the policy asks for one.
    """

    status: Status
    actor: str
    reason: str
    evidence: JsonValue = None
    result: JsonValue = None
    compensation_effect: str | None = None
    approved: bool = False


def redacted(finding: Finding, secrets: SecretKeeper) -> Finding:
    """Return a finding without any value of a secret."""
    return evolve(
        finding,
        actor=secrets.redact_text(finding.actor),
        reason=secrets.redact_text(finding.reason),
        evidence=secrets.redact(finding.evidence),
        result=secrets.redact(finding.result),
    )


def reconcile_all(
    run_id: str, decisions: Sequence[tuple[str, Finding]], store: Store, now: Instant
) -> list[ReconciliationRecord]:
    """Record several findings in one commit; effects go by name, id or beginning of an id.

    Raises UnknownRun, RunHeld while a live process owns the run, and DecisionsRefused with every
    problem: UnknownEffect, EffectCertain for an effect that is not in doubt, ResultMissing,
    ResultRefused and CompensationRefused for an unfitting finding, ConfirmationRequired, and
    IllegalTransition for a finding that its predecessor does not allow.
    """
    journal = store.claim_run(run_id, now)
    try:
        history = store.load_run(run_id)
        require("reconcile", history.run)
        state = state_from_history(history, plan_from_json(history.plan))
        work = Work()
        lose_unconfirmed(state, work, now)
        decided = decide_all(state, work, decisions, now)
        follow_inverses(state, work, now)
        journal.commit(work)
    finally:
        journal.release()
    return decided


def decide_all(
    state: RunState, work: Work, decisions: Sequence[tuple[str, Finding]], now: Instant
) -> list[ReconciliationRecord]:
    """Add findings to a unit of work. Raises DecisionsRefused; the work is of no use then."""
    decided, problems = [], []
    seen: dict[str, int] = {}
    for place, (wanted, finding) in enumerate(decisions):
        try:
            effect = find_effect(state, wanted)
            first = seen.setdefault(effect.name, place)
            if first != place:
                message = f"finding {first + 1} is about effect {effect.name} already"
                raise UnknownEffect(message, run_id=state.run.id)
            decided.append(record_finding(state, work, effect, finding, now))
        except AgentctlError as error:
            problems.append((place, error))
    if problems:
        raise DecisionsRefused(problems, run_id=state.run.id)
    return decided


def find_effect(state: RunState, wanted: str) -> EffectRecord:
    """Return the effect of that name, id or unique beginning of an id. Raises UnknownEffect."""
    named = state.effects_by_name.get(wanted)
    if named is not None:
        return named
    found = [one for one in state.effects.values() if wanted and one.id.startswith(wanted)]
    if len(found) == 1:
        return found[0]
    near = did_you_mean(wanted, state.effects_by_name)
    if found:
        message = f"the ids of {len(found)} effects start with {wanted!r}"
    else:
        message = f"run {state.run.id} has no effect {wanted!r}"
    raise UnknownEffect(message, help=near, run_id=state.run.id)


def record_finding(
    state: RunState,
    work: Work,
    effect: EffectRecord,
    finding: Finding,
    now: Instant,
    *,
    spent: JsonObject | None = None,
) -> ReconciliationRecord:
    """Add one finding to a unit of work. Raises the problems of `reconcile_all`.

    `spent` is what finding out took of the run's budgets, if it took anything.
    """
    _check(state, effect, finding)
    record = state.reconciliations.get(effect.name)
    event = _event(state, record, finding)
    if record is None:
        record = work.add(_opened(effect, now))
    detail: JsonObject = {
        "effectId": effect.id,
        "reason": finding.reason,
        "evidence": finding.evidence,
        "result": finding.result,
        "compensationEffect": finding.compensation_effect,
        "approved": finding.approved,
    }
    decided = work.move(
        record,
        event,
        now,
        actor=finding.actor,
        detail=detail,
        decided_at=now,
        reason=finding.reason,
        evidence=finding.evidence,
        result=finding.result,
        compensation_effect=finding.compensation_effect,
        spent=record.spent if spent is None else spent,
    )
    state.reconciliations[effect.name] = decided
    return decided


def note_evidence(
    state: RunState,
    work: Work,
    effect: EffectRecord,
    now: Instant,
    *,
    actor: str,
    reason: str,
    evidence: JsonValue,
    spent: JsonObject | None = None,
) -> ReconciliationRecord:
    """Keep evidence that settles nothing; the effect stays in doubt. `spent` as in a finding.

    Raises IllegalTransition for an effect that was settled already.
    """
    record = state.reconciliations.get(effect.name) or work.add(_opened(effect, now))
    detail: JsonObject = {"effectId": effect.id, "reason": reason, "evidence": evidence}
    noted = work.move(
        record,
        "note",
        now,
        actor=actor,
        detail=detail,
        reason=reason,
        evidence=evidence,
        spent=record.spent if spent is None else spent,
    )
    state.reconciliations[effect.name] = noted
    return noted


def needs_confirmation(effect: EffectRecord, state: RunState) -> bool:
    """Return whether the policy would have asked a person about such an effect."""
    policy = Policy.from_definitions(state.plan.definitions)
    return policy.needs_approval(effect.effect_class, effect.risk, approval_of(effect, state.plan))


def _opened(effect: EffectRecord, now: Instant) -> ReconciliationRecord:
    # The record carries the name, so the work can move it before it is stored.
    return ReconciliationRecord(effect_name=effect.name, effect_id=effect.id, opened_at=now)


def _check(state: RunState, effect: EffectRecord, finding: Finding) -> None:
    """Refuse a finding that cannot be."""
    if effect.state not in EFFECT_UNSETTLED:
        raise EffectCertain(
            f"effect {effect.name} is {effect.state}; only an uncertain one can be reconciled",
            help=f"see `agentctl effects inspect {state.run.id} {effect.name}`",
            run_id=state.run.id,
        )
    if finding.status == ReconciliationStates.applied:
        _check_result(state, effect, finding)
    elif finding.result is not None:
        raise ResultRefused(
            f"effect {effect.name}: only an applied effect has a result",
            help="leave the result out, or say applied",
            run_id=state.run.id,
        )
    if finding.status == ReconciliationStates.compensated:
        _check_compensation(state, effect, finding.compensation_effect)
    elif finding.compensation_effect is not None:
        raise CompensationRefused(
            f"effect {effect.name}: only a compensated effect has one that undid it",
            help="leave the compensating effect out, or say compensated",
            run_id=state.run.id,
        )
    if not finding.approved and needs_confirmation(effect, state):
        raise ConfirmationRequired(
            f"effect {effect.name} is of class {effect.effect_class}, about which the policy "
            "asks a person; nobody confirmed the consequence of this finding",
            help="add --approved if you do",
            run_id=state.run.id,
        )


def _check_result(state: RunState, effect: EffectRecord, finding: Finding) -> None:
    contract = contract_of(effect, state.plan)
    problems = contract.problems(finding.result)
    if not problems:
        return
    if finding.result is None:
        raise ResultMissing(
            f"effect {effect.name} needs a result: {contract.source}",
            help="give what it returned with --result-file; "
            f"`agentctl reconcile {state.run.id} --plan` shows the shape",
            run_id=state.run.id,
        )
    raise ResultRefused(
        f"the result of effect {effect.name} is not {contract.source}: {'; '.join(problems)}",
        help=f"`agentctl reconcile {state.run.id} --plan` shows the shape",
        run_id=state.run.id,
    )


def _check_compensation(state: RunState, effect: EffectRecord, undoing: str | None) -> None:
    """Require a different, confirmed effect of the same run."""
    if undoing is None:
        raise CompensationRefused(
            "a compensated finding names the effect that undid it",
            help="name it with --compensation-effect",
            run_id=state.run.id,
        )
    try:
        other = find_effect(state, undoing)
    except UnknownEffect as error:
        raise CompensationRefused(
            error.message, help="it must be an effect of the same run", run_id=state.run.id
        ) from None
    if other.id == effect.id:
        raise CompensationRefused("an effect cannot compensate itself", run_id=state.run.id)
    if not is_confirmed(state, other):
        raise CompensationRefused(
            f"effect {other.name} is {other.state}; only a confirmed one can have undone another",
            help="reconcile that one first, if it was applied",
            run_id=state.run.id,
        )


def is_confirmed(state: RunState, effect: EffectRecord) -> bool:
    """Return whether an effect certainly happened, by the ledger or by a finding."""
    found = state.reconciliations.get(effect.name)
    return effect.state in EFFECT_CONFIRMED or (
        effect.state in EFFECT_UNSETTLED
        and found is not None
        and found.state == ReconciliationStates.applied
    )


def _event(
    state: RunState, record: ReconciliationRecord | None, finding: Finding
) -> ReconciliationEvent:
    """Return the event of a finding. Raises IllegalTransition with the earlier one named."""
    first, again = _EVENTS[finding.status]
    if record is None or first in record.table.legal(record.state):
        return first
    legal = record.table.legal(record.state)
    if again not in legal:
        refused = IllegalTransition("reconciliation", record.state, first, legal)
        refused.help = (
            f"{record.actor} found it {record.state} before, and a finding is never taken back"
        )
        refused.run_id = state.run.id
        raise refused
    return again
