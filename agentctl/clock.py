"""Time as a port: an instant is a whole number of microseconds since the Unix epoch, UTC."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol, TypeAlias

Instant: TypeAlias = int
"""Microseconds since 1970-01-01T00:00:00Z."""


class Clock(Protocol):
    """Tells the time; the engine never asks anything else for it."""

    def now(self) -> Instant:
        """Return the present instant."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> Instant:
        """Return the present instant."""
        return time.time_ns() // 1000


def iso(instant: Instant) -> str:
    """Return an instant as RFC 3339 text with milliseconds, such as 2026-01-02T03:04:05.678Z."""
    moment = datetime.fromtimestamp(instant / 1_000_000, tz=UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{instant // 1000 % 1000:03d}Z"
