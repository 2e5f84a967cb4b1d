"""One question to a person with everything that is asked, as `approvals inspect` shows it.

Above: the CLI and embedders. Below: records and the journal. Pure: it reads no store, no clock
and no file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agentctl.clock import iso
from agentctl.engine.asking import is_overdue, question_digest
from agentctl.engine.view import approval_view

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentctl.clock import Instant
    from agentctl.engine.records import ApprovalRecord, EffectRecord, RunHistory, Transition
    from agentctl.jsonvalue import JsonObject, JsonValue


def question_view(
    history: RunHistory,
    question: ApprovalRecord,
    journal: Sequence[tuple[int, Transition]],
    now: Instant,
) -> JsonObject:
    """Return a question with its run, its task, the whole request and every move it made.

    `isIntact` says whether the recorded request is still the one that was asked about.
    """
    effect = next((one for one in history.effects if one.id == question.effect_id), None)
    return {
        **approval_view(question),
        "runId": history.run.id,
        "runState": history.run.state,
        "workflow": history.run.workflow_name,
        "workspace": history.run.workspace,
        "uses": _uses(history, question.task_id),
        "isOverdue": is_overdue(question, now),
        "expiresInSeconds": seconds_left(question, now),
        "isIntact": effect is not None and question.request_digest == question_digest(effect),
        "request": None if effect is None else _request(effect),
        "history": _moves(question, journal),
    }


def seconds_left(question: ApprovalRecord, now: Instant) -> float | None:
    """Return how long a question can still be answered; below 0 it is over, None is for ever."""
    return None if question.expires_at is None else (question.expires_at - now) / 1_000_000


def _uses(history: RunHistory, task_id: str) -> JsonValue:
    """Return what the task uses, as `{kind, name}`."""
    tasks = cast("dict[str, JsonObject]", history.plan["tasks"])
    return tasks[task_id]["uses"] if task_id in tasks else None


def _request(effect: EffectRecord) -> JsonObject:
    return {
        "effect": effect.name,
        "status": effect.state,
        "operation": effect.operation,
        "effectClass": effect.effect_class,
        "risk": effect.risk,
        "idempotency": effect.idempotency,
        "idempotencyKey": effect.idempotency_key,
        "attempt": effect.attempt,
        "input": effect.input,
        "inputDigest": effect.input_digest,
    }


def _moves(question: ApprovalRecord, journal: Sequence[tuple[int, Transition]]) -> list[JsonValue]:
    return [
        {
            "sequence": sequence,
            "at": iso(move.at),
            "event": move.event,
            "from": move.source,
            "to": move.target,
            "actor": move.actor,
            "detail": move.detail,
        }
        for sequence, move in journal
        if move.machine == question.machine and move.entity == question.entity
    ]
