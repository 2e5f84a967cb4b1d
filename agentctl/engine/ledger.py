"""The effect ledger's rules: identity, recovery by declared idempotency, and outcome events.

Above: the runner. Below: records. Everything here is pure; the runner commits what it says.
Source: specification, section 5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.engine.records import EffectRecord, effect_name
from agentctl.jsonvalue import digest, digest_text

if TYPE_CHECKING:
    from agentctl.clock import Instant
    from agentctl.engine.ports import EffectRequest
    from agentctl.engine.records import TaskRecord
    from agentctl.errors import EffectError
    from agentctl.jsonvalue import JsonObject
    from agentctl.machines.names import EffectEvent

# Running these again cannot do harm: nothing happens twice, or the receiver deduplicates by key.
REPEATABLE = frozenset({"pure", "idempotent", "keyed"})
# These leave no doubt even when the answer is lost, because a second try gives the same world.
UNAMBIGUOUS = frozenset({"pure", "idempotent"})


def identity(
    run_id: str, task_id: str, attempt: int, ordinal: int, operation: str, input_digest: str
) -> str:
    """Return an effect's identity: SHA-256 over everything that makes it this effect."""
    return digest_text(f"{run_id}\n{task_id}\n{attempt}\n{ordinal}\n{operation}\n{input_digest}")


def key_digest(run_id: str, task_id: str, ordinal: int, operation: str, input_digest: str) -> str:
    """Return what the idempotency key is made of: the identity without the attempt, 40 digits.

    A retry so sends the same key as the attempt that failed, and the receiver can tell.
    """
    return digest_text(f"key\n{run_id}\n{task_id}\n{ordinal}\n{operation}\n{input_digest}")[:40]


def new_effect(
    request: EffectRequest, run_id: str, task: TaskRecord, ordinal: int, number: int, now: Instant
) -> EffectRecord:
    """Return the record of a request that was not made before; `number` counts the run's."""
    input_digest = digest(request.input)
    return EffectRecord(
        id=identity(run_id, task.id, task.attempt, ordinal, request.operation, input_digest),
        name=effect_name(task.id, task.attempt, ordinal),
        task_id=task.id,
        number=number,
        position=task.position,
        attempt=task.attempt,
        ordinal=ordinal,
        operation=request.operation,
        effect_class=request.effect_class,
        risk=request.risk,
        idempotency=request.idempotency,
        input=request.input,
        input_digest=input_digest,
        key_digest=key_digest(run_id, task.id, ordinal, request.operation, input_digest),
        requested_at=now,
    )


def may_repeat(effect: EffectRecord) -> bool:
    """Return whether an unconfirmed effect may be dispatched again."""
    return effect.idempotency in REPEATABLE


def timeout_event(effect: EffectRecord) -> EffectEvent:
    """Return what a missed deadline means: a definite failure, or doubt."""
    return "fail_transiently" if effect.idempotency in UNAMBIGUOUS else "time_out"


def interruption_event(effect: EffectRecord) -> EffectEvent:
    """Return what a cancellation in mid-flight means."""
    return "abort" if effect.idempotency in UNAMBIGUOUS else "interrupt"


def failure_event(effect: EffectRecord, error: EffectError) -> EffectEvent:
    """Return what an executor's error means."""
    if error.ambiguous and effect.idempotency not in UNAMBIGUOUS:
        return "disconnect"
    return "fail_transiently" if error.retryable else "fail"


def error_json(error: BaseException) -> JsonObject:
    """Return the stored form of an error: a code, a message and, for effects, its kind."""
    code = getattr(error, "kind", None) or getattr(error, "code", None) or "unexpected"
    body: JsonObject = {"code": str(code), "message": str(error) or type(error).__name__}
    if getattr(error, "retryable", False):
        body["retryable"] = True
    detail = getattr(error, "detail", None)
    if detail:
        body["detail"] = detail
    return body
