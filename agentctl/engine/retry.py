"""When a failed attempt is tried again: bounded exponential back-off with fixed jitter.

The jitter is a digest of run, task and attempt, so that many runs spread out and one run is
the same every time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.jsonvalue import digest_text
from agentctl.limits import RETRY_BACKOFF_MS_MAX

if TYPE_CHECKING:
    from agentctl.clock import Instant

JITTER_STEPS = 1000
JITTER_SHARE = 0.2


def retry_due(run_id: str, task_id: str, attempt: int, backoff_ms: int, now: Instant) -> Instant:
    """Return when attempt number `attempt` + 1 may start."""
    if not backoff_ms:
        return now
    delay_ms = min(backoff_ms * 2 ** (attempt - 1), RETRY_BACKOFF_MS_MAX)
    step = int(digest_text(f"{run_id}\n{task_id}\n{attempt}")[:8], 16) % JITTER_STEPS
    return now + int(delay_ms * 1000 * (1 - JITTER_SHARE * step / JITTER_STEPS))
