"""A person's answer to a durable approval request.

Above: the embedded door and the CLI. The answer is stored by itself; resuming the run acts on
it. What was not answered in time, or is not what is recorded now, cannot be answered.
Source: specification, section 8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.clock import iso
from agentctl.engine.apply import Work
from agentctl.engine.asking import expire, is_overdue, question_digest, void
from agentctl.errors import ApprovalExpired, ApprovalVoid, IllegalTransition, UnknownApproval
from agentctl.machines.names import ApprovalStates

if TYPE_CHECKING:
    from agentctl.clock import Instant
    from agentctl.engine.ports import Store
    from agentctl.engine.records import ApprovalRecord, RunHistory
    from agentctl.errors import StateError
    from agentctl.jsonvalue import JsonObject


def decide(
    approval_id: str, store: Store, now: Instant, *, approve: bool, actor: str, reason: str
) -> ApprovalRecord:
    """Store an approval or a rejection.

    Raises UnknownApproval, IllegalTransition for a request that was decided, ApprovalExpired
    for one whose time is over, ApprovalVoid when the effect is not the one that was asked about
    any more, and RunHeld while a live process owns the run.
    """
    run_id = run_of(approval_id, store)
    journal = store.claim_run(run_id, now)
    try:
        history = store.load_run(run_id)
        found = {one.id: one for one in history.approvals}[approval_id]
        work = Work()
        refused = _refusal(history, found, work, now)
        if refused is None:
            decided = _decided(found, work, now, approve=approve, actor=actor, reason=reason)
        journal.commit(work)
    finally:
        journal.release()
    if refused is not None:
        raise refused
    return decided


def run_of(approval_id: str, store: Store) -> str:
    """Return the run that a question belongs to. Raises UnknownApproval."""
    run_id = store.run_of_approval(approval_id)
    if run_id is None:
        raise UnknownApproval(
            f"no approval request {approval_id}", help="see `agentctl approvals list`"
        )
    return run_id


def _refusal(
    history: RunHistory, found: ApprovalRecord, work: Work, now: Instant
) -> StateError | None:
    """Return why a question cannot be answered; its own move goes into the work."""
    run_id = history.run.id
    if is_overdue(found, now):
        expire(work, found, now)
        return ApprovalExpired(
            f"approval {found.id} expired at {iso(found.expires_at or now)}",
            help=f"nobody can answer it any more; `agentctl resume {run_id}` goes on without it",
            run_id=run_id,
        )
    if found.state != ApprovalStates.pending or _is_intact(history, found):
        return None
    void(work, found, now, "the request is not the one that was asked about")
    return ApprovalVoid(
        f"approval {found.id} asked about something else than what is recorded now",
        help=f"`agentctl resume {run_id}` asks again; `agentctl verify {run_id}` looks for damage",
        run_id=run_id,
    )


def _is_intact(history: RunHistory, found: ApprovalRecord) -> bool:
    """Return whether a question's effect is still exactly what was asked about."""
    effects = {one.id: one for one in history.effects}
    effect = effects.get(found.effect_id)
    return effect is not None and found.request_digest == question_digest(effect)


def _decided(
    found: ApprovalRecord, work: Work, now: Instant, *, approve: bool, actor: str, reason: str
) -> ApprovalRecord:
    detail: JsonObject = {"reason": reason, "requestDigest": found.request_digest}
    try:
        return work.move(
            found,
            "approve" if approve else "reject",
            now,
            actor=actor,
            detail=detail,
            decided_at=now,
            reason=reason,
        )
    except IllegalTransition as error:
        by = f" by {found.actor}" if found.actor else ""
        error.help = f"approval {found.id} is {found.state}{by}; an answer is never taken back"
        raise
