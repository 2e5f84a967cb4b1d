"""When a failed attempt is tried again: bounded exponential back-off with fixed jitter.

A provider that names a later time is left alone until then. The jitter is a digest of run, task and attempt, so that many runs spread out and one run is
the same every time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

from agentctl.jsonvalue import digest_text
from agentctl.limits import RETRY_BACKOFF_MS_MAX

if TYPE_CHECKING:
    from agentctl.clock import Instant
    from agentctl.jsonvalue import JsonObject, JsonValue

JITTER_STEPS = 1000
JITTER_SHARE = 0.2


def retry_due(
    run_id: str, task_id: str, attempt: int, backoff_ms: int, now: Instant, error: JsonObject
) -> Instant:
    """Return when attempt number `attempt` + 1 may start: never before the time an error names."""
    backed_off = _backed_off(run_id, task_id, attempt, backoff_ms, now)
    detail = error.get("detail")
    named = detail.get("retryAfterSeconds") if isinstance(detail, dict) else None
    return max(backed_off, now + int(named * 1_000_000)) if _is_number(named) else backed_off


def _is_number(value: JsonValue) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _backed_off(run_id: str, task_id: str, attempt: int, backoff_ms: int, now: Instant) -> Instant:
    if not backoff_ms:
        return now
    delay_ms = min(backoff_ms * 2 ** (attempt - 1), RETRY_BACKOFF_MS_MAX)
    step = int(digest_text(f"{run_id}\n{task_id}\n{attempt}")[:8], 16) % JITTER_STEPS
    return now + int(delay_ms * 1000 * (1 - JITTER_SHARE * step / JITTER_STEPS))
