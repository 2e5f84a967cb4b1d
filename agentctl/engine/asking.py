"""Questions to people about effects: what one is bound to, and what became of it.

Above: flights, which ask, and the operations, which act on answers. Below: records. Pure: moves
go through a `Work`. A question is bound to everything that is asked, so that an answer never
allows anything else.
Source: specification, section 8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from agentctl.engine.records import ApprovalRecord
from agentctl.jsonvalue import canonical, digest
from agentctl.machines.names import ApprovalStates, EffectStates
from agentctl.machines.sets import APPROVAL_STANDING

if TYPE_CHECKING:
    from agentctl.clock import Instant
    from agentctl.engine.apply import Work
    from agentctl.engine.policy import Policy
    from agentctl.engine.ports import EffectRequest
    from agentctl.engine.records import EffectRecord
    from agentctl.engine.state import RunState
    from agentctl.jsonvalue import JsonObject

Answer = Literal["yes", "no", "none", "stale"]
_MICROSECONDS = 1_000_000


def question_digest(effect: EffectRecord) -> str:
    """Return the digest of everything that a person is asked about.

    The request itself goes in, not the digest stored beside it, so that a changed row shows.
    """
    return digest(
        {
            "effectId": effect.id,
            "operation": effect.operation,
            "effectClass": effect.effect_class,
            "risk": effect.risk,
            "idempotency": effect.idempotency,
            "idempotencyKey": effect.idempotency_key,
            "input": effect.input,
        }
    )


def new_question(effect: EffectRecord, policy: Policy, now: Instant) -> ApprovalRecord:
    """Return the question about one effect."""
    seconds = policy.approval_expires_seconds
    return ApprovalRecord(
        id=f"ap-{effect.id[:24]}",
        task_id=effect.task_id,
        effect_id=effect.id,
        request_digest=question_digest(effect),
        summary=f"{effect.operation} ({effect.effect_class}, risk {effect.risk})",
        requested_at=now,
        expires_at=None if seconds is None else now + seconds * _MICROSECONDS,
    )


def question_of(state: RunState, effect: EffectRecord) -> ApprovalRecord | None:
    """Return the newest question about an effect."""
    found = [one for one in state.approvals.values() if one.effect_id == effect.id]
    return max(found, key=lambda one: one.requested_at, default=None)


def held_effect(state: RunState, task_id: str) -> EffectRecord | None:
    """Return the effect that a task is held at."""
    held = (
        one
        for one in state.effects.values()
        if one.task_id == task_id and one.state == EffectStates.waiting_for_approval
    )
    return next(held, None)


def is_overdue(question: ApprovalRecord, now: Instant) -> bool:
    """Return whether nobody can answer a question any more."""
    if question.state == ApprovalStates.expired:
        return True
    due = question.expires_at
    return question.state == ApprovalStates.pending and due is not None and now >= due


def answer_to(question: ApprovalRecord | None, effect: EffectRecord, now: Instant) -> Answer:
    """Return what became of the question about an effect as it is recorded now."""
    if question is None or question.state == ApprovalStates.void:
        return "stale"
    if question.state == ApprovalStates.rejected or is_overdue(question, now):
        return "no"
    if question.request_digest != question_digest(effect):
        return "stale"
    return "yes" if question.state == ApprovalStates.approved else "none"


def is_asked_about(effect: EffectRecord, request: EffectRequest) -> bool:
    """Return whether a task still asks for exactly what was held, byte for byte."""
    held = (effect.operation, effect.effect_class, effect.risk, effect.idempotency)
    wanted = (request.operation, request.effect_class, request.risk, request.idempotency)
    return held == wanted and canonical(effect.input) == canonical(request.input)


def refuse(
    state: RunState, work: Work, effect: EffectRecord, question: ApprovalRecord, now: Instant
) -> JsonObject:
    """Cancel an effect that nobody allowed, and return the error that says why."""
    if is_overdue(question, now):
        question = expire(work, question, now)
        state.approvals[question.id] = question
        error = expired_error(question)
        state.put_effect(work.move(effect, "expire", now, ended_at=now, error=error))
        return error
    error = {
        "code": "approval_rejected",
        "message": f"{question.actor} rejected {question.summary}: {question.reason}",
    }
    moved = work.move(
        effect, "reject", now, ended_at=now, error=error, actor=question.actor, detail=error
    )
    state.put_effect(moved)
    return error


def expire(work: Work, question: ApprovalRecord, now: Instant) -> ApprovalRecord:
    """Move a question whose time is over, unless that was done before."""
    if question.state == ApprovalStates.expired:
        return question
    return work.move(question, "expire", now, decided_at=now, reason="nobody decided in time")


def expired_error(question: ApprovalRecord) -> JsonObject:
    """Return the error of a task whose question was not answered in time."""
    return {
        "code": "approval_expired",
        "message": f"nobody decided about {question.summary} in time",
    }


def drop(state: RunState, work: Work, effect: EffectRecord, now: Instant, reason: str) -> None:
    """Cancel a held effect together with its question, whose answer then allows nothing."""
    question = question_of(state, effect)
    if question is not None and question.state in APPROVAL_STANDING:
        state.approvals[question.id] = void(work, question, now, reason)
    detail: JsonObject = {"reason": reason}
    state.put_effect(work.move(effect, "void", now, ended_at=now, detail=detail))


def void(
    work: Work,
    question: ApprovalRecord,
    now: Instant,
    reason: str,
    actor: str | None = None,
) -> ApprovalRecord:
    """Take a question back; one that was answered keeps who answered it and why."""
    return work.move(
        question,
        "void",
        now,
        actor=actor,
        detail={"reason": reason},
        decided_at=question.decided_at or now,
        reason=question.reason or reason,
    )
