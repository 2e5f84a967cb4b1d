"""When a failed attempt is tried again: bounded exponential back-off with fixed jitter.

A provider that names a later time is left alone until then. The jitter is a digest of run, task
and attempt, so that many runs spread out and one run is the same every time. An agent whose
provider has no quota left does not fail: its run waits, as long as it takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

from agentctl.jsonvalue import digest_text
from agentctl.limits import RETRY_BACKOFF_MS_MAX

if TYPE_CHECKING:
    from agentctl.clock import Instant
    from agentctl.engine.plan import PlanTask
    from agentctl.engine.records import TaskRecord
    from agentctl.jsonvalue import JsonObject, JsonValue

JITTER_STEPS = 1000
JITTER_SHARE = 0.2
QUOTA_EXCEEDED = "quota_exceeded"
RATE_LIMITED = "rate_limited"


def retry_due(
    run_id: str, task_id: str, attempt: int, backoff_ms: int, now: Instant, error: JsonObject
) -> Instant:
    """Return when attempt number `attempt` + 1 may start: never before the time an error names."""
    backed_off = _backed_off(run_id, task_id, attempt, backoff_ms, now)
    named = _named_seconds(error)
    return backed_off if named is None else max(backed_off, now + int(named * 1_000_000))


def lacks_quota(
    task: TaskRecord,
    plan: PlanTask,
    error: JsonObject,
    *,
    due: Instant | None,
    ends_at: Instant | None,
) -> bool:
    """Return whether an agent's attempt failed because its provider has no quota for it now.

    A rate limit counts when no retry is left for it, when it lasts longer than the task may
    take, or when the retry is `due` only after the process has to stop, at `ends_at`: one that
    slept so long would only be in the way, or fail for want of time.
    """
    if plan.uses_kind != "agent":
        return False
    if error.get("code") == QUOTA_EXCEEDED:
        return True
    if error.get("code") != RATE_LIMITED:
        return False
    if ends_at is not None and due is not None and due >= ends_at:
        return True
    is_last = task.attempt >= plan.retry.max_attempts
    return is_last or (_named_seconds(error) or 0) > plan.timeout_seconds


def quota_due(
    run_id: str, task: TaskRecord, plan: PlanTask, error: JsonObject, now: Instant
) -> Instant | None:
    """Return when a provider may be asked again, or None where only its owner can know.

    A rate limit passes by itself, also where no time is named; an empty account does not.
    """
    if error.get("code") == QUOTA_EXCEEDED and _named_seconds(error) is None:
        return None
    return retry_due(run_id, task.id, task.attempt, plan.retry.backoff_ms, now, error)


def _named_seconds(error: JsonObject) -> float | None:
    detail = error.get("detail")
    named = detail.get("retryAfterSeconds") if isinstance(detail, dict) else None
    return named if _is_number(named) else None


def _is_number(value: JsonValue) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _backed_off(run_id: str, task_id: str, attempt: int, backoff_ms: int, now: Instant) -> Instant:
    if not backoff_ms:
        return now
    delay_ms = min(backoff_ms * 2 ** (attempt - 1), RETRY_BACKOFF_MS_MAX)
    step = int(digest_text(f"{run_id}\n{task_id}\n{attempt}")[:8], 16) % JITTER_STEPS
    return now + int(delay_ms * 1000 * (1 - JITTER_SHARE * step / JITTER_STEPS))
