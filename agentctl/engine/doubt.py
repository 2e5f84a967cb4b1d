"""What is in doubt about a run, what is known of it, and what may be said about it.

Above: the operator's commands. Below: records and the journal. Pure: the same history gives the
same dossier; files are looked at by whoever shows it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from attr import frozen

from agentctl.clock import iso
from agentctl.engine.apply import Work
from agentctl.engine.contracts import contract_of
from agentctl.engine.finish import uncertain_effects
from agentctl.engine.operations.reconcile import is_confirmed, needs_confirmation
from agentctl.engine.operations.resume import lose_unconfirmed
from agentctl.engine.plan import plan_from_json
from agentctl.engine.probes import probe_of
from agentctl.engine.state import state_from_history
from agentctl.engine.view import artifact_view
from agentctl.jsonvalue import digest_text
from agentctl.machines.compiled import RECONCILIATION
from agentctl.machines.names import ReconciliationStates, RunStates
from agentctl.machines.sets import RUN_FINAL
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from agentctl.clock import Instant
    from agentctl.engine.operations.reconcile import Status
    from agentctl.engine.records import EffectRecord, RunHistory, StreamEvent, Transition
    from agentctl.engine.state import RunState
    from agentctl.jsonvalue import JsonObject, JsonValue

STATUSES: Final[tuple[Status, ...]] = (
    ReconciliationStates.applied,
    ReconciliationStates.not_applied,
    ReconciliationStates.compensated,
)
_GOES_ON: Final[Mapping[str, str]] = {
    ReconciliationStates.applied: (
        "it happened: a resume uses the result that you give, and does not dispatch it again"
    ),
    ReconciliationStates.not_applied: (
        "it did not happen: a resume asks for it afresh, under a new identity and key"
    ),
    ReconciliationStates.compensated: (
        "it happened and another effect of this run undid it: a resume asks for it afresh, "
        "under a new identity and key"
    ),
}
_STAYS_OVER: Final[Mapping[str, str]] = {
    ReconciliationStates.applied: "it happened, and what the run has recorded says so from now on",
    ReconciliationStates.not_applied: "it did not happen, so nothing needs to be undone",
    ReconciliationStates.compensated: "it happened and another effect of this run undid it",
}


@frozen(kw_only=True, eq=False, repr=False)
class Doubt(Value):
    """A run as its findings are decided: the working set, and the effects that are in doubt."""

    state: RunState
    effects: tuple[EffectRecord, ...]
    history: RunHistory

    @property
    def can_resume(self) -> bool:
        """Whether the run itself can go on once nothing is in doubt."""
        return self.state.run.state not in RUN_FINAL


def doubt_of(history: RunHistory, now: Instant, *, is_held: bool = False) -> Doubt:
    """Return what is in doubt about a run; nothing is written.

    Of a run whose process is gone, an effect that was under way counts: nobody will confirm it.
    `is_held` says that a live process owns the run, which may confirm it yet.
    """
    state = state_from_history(history, plan_from_json(history.plan))
    if not is_held:
        lose_unconfirmed(state, Work(), now)
    names = set(uncertain_effects(state))
    found = [one for one in state.effects.values() if one.name in names]
    found.sort(key=lambda one: one.number)
    return Doubt(state=state, effects=tuple(found), history=history)


def next_step(doubt: Doubt) -> str:
    """Return what can be done with the run now, in words."""
    run = doubt.state.run
    if doubt.effects:
        left = len(doubt.effects)
        return f"{left} more to settle: `agentctl reconcile {run.id}`"
    if doubt.can_resume:
        return f"nothing is in doubt: `agentctl resume {run.id}` goes on"
    if run.state == RunStates.succeeded:
        return "nothing is in doubt, and the run is over"
    return (
        f"nothing is in doubt; run {run.id} is {run.state} and stays so: "
        "start a new run of the same workflow"
    )


def consequence(doubt: Doubt, status: Status) -> str:
    """Return what a finding leads to, in words."""
    if doubt.can_resume:
        return _GOES_ON[status]
    return f"{_STAYS_OVER[status]}; the run stays {doubt.state.run.state}"


def undoers(doubt: Doubt, effect: EffectRecord) -> list[EffectRecord]:
    """Return the effects of the run that can have undone one: confirmed, and asked for later."""
    return [
        one
        for one in doubt.state.effects.values()
        if one.number > effect.number and is_confirmed(doubt.state, one)
    ]


def dossier(
    doubt: Doubt,
    effect: EffectRecord,
    journal: Sequence[tuple[int, Transition]],
    stream: Iterable[StreamEvent] = (),
) -> JsonObject:
    """Return everything that bears on one effect, as JSON."""
    stored = next(one for one in doubt.history.effects if one.name == effect.name)
    probe = probe_of(effect, doubt.state.plan)
    contract = contract_of(effect, doubt.state.plan)
    return {
        "effectId": effect.id,
        "effectName": effect.name,
        "taskId": effect.task_id,
        "attempt": effect.attempt,
        "operation": effect.operation,
        "effectClass": effect.effect_class,
        "risk": effect.risk,
        "idempotency": effect.idempotency,
        "idempotencyKey": effect.idempotency_key,
        "state": effect.state,
        "dispatches": effect.dispatch,
        "requestedAt": iso(effect.requested_at),
        "startedAt": None if effect.started_at is None else iso(effect.started_at),
        "endedAt": None if stored.ended_at is None else iso(stored.ended_at),
        "input": effect.input,
        "error": effect.error,
        "result": effect.result,
        "artifacts": [
            artifact_view(one) for one in doubt.history.artifacts if one.effect_name == effect.name
        ],
        "progress": [
            {"eventType": one.event_type, "payload": one.payload, "at": iso(one.at)}
            for one in stream
            if one.effect_id == effect.id
        ],
        "file": _file(doubt, effect),
        "findings": [
            _finding(move)
            for _, move in journal
            if move.machine == RECONCILIATION.name and move.entity == effect.name
        ],
        "probe": None
        if probe is None
        else {"action": probe.action, "mode": probe.mode, "operation": probe.facts.kind},
        "contract": {"source": contract.source, "schema": contract.schema},
        "moves": _moves(doubt, effect, needs_result=not contract.allows_none),
    }


def _moves(doubt: Doubt, effect: EffectRecord, *, needs_result: bool) -> list[JsonValue]:
    can_be_undone = bool(undoers(doubt, effect))
    return [
        {
            "status": status,
            "consequence": consequence(doubt, status),
            "needsResult": needs_result and status == ReconciliationStates.applied,
            "needsApproval": needs_confirmation(effect, doubt.state),
        }
        for status in STATUSES
        if can_be_undone or status != ReconciliationStates.compensated
    ]


def _finding(move: Transition) -> JsonObject:
    detail = move.detail if isinstance(move.detail, dict) else {}
    kept = ("reason", "evidence", "result", "compensationEffect")
    return {
        "at": iso(move.at),
        "event": move.event,
        "status": move.target,
        "actor": move.actor,
        **{key: detail[key] for key in kept if detail.get(key) is not None},
    }


def _file(doubt: Doubt, effect: EffectRecord) -> JsonValue:
    """Return which file was to be written and with which bytes, or None.

    `earlier` is the digest that this run last wrote there.
    """
    given = effect.input if isinstance(effect.input, dict) else {}
    path, content = given.get("path"), given.get("content")
    if not isinstance(path, str) or not isinstance(content, str):
        return None
    earlier = [one.digest for one in doubt.history.artifacts if one.logical_path == path]
    return {
        "path": path,
        "wanted": {
            "sha256": digest_text(content),
            "bytes": len(content.encode("utf-8", "replace")),
        },
        "earlier": cast("JsonValue", earlier[-1] if earlier else None),
    }
