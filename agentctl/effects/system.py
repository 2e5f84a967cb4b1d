"""The machine's own time and randomness, behind the engine's ports."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentctl.clock import Clock, Instant

# However wrong a clock goes, a sleeper looks at it again this often.
LONGEST_SLEEP_SECONDS = 60.0


class SystemTimer:
    """Sleeps on the event loop until a clock reads the wanted instant."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def sleep_until(self, due: Instant) -> None:
        """Return when the clock has reached `due`."""
        import asyncio  # late: compiling needs no event loop

        while (left := due - self._clock.now()) > 0:  # noqa: ASYNC110 - a clock sends no event
            await asyncio.sleep(min(left / 1_000_000, LONGEST_SLEEP_SECONDS))


class SystemEntropy:
    """Ids from the operating system's randomness."""

    def run_id(self, now: Instant) -> str:
        """Return a UUID version 7 (RFC 9562): time-ordered, unique without coordination."""
        return uuid7(now, os.urandom(10))

    def trace_id(self) -> str:
        """Return 32 random hex digits (W3C Trace Context)."""
        return os.urandom(16).hex()


def uuid7(now: Instant, noise: bytes) -> str:
    """Return a UUID version 7 of an instant and ten bytes of noise."""
    high = int.from_bytes(noise[:2], "big") & 0x0FFF | 0x7000
    low = int.from_bytes(noise[2:], "big") & ((1 << 62) - 1) | (0b10 << 62)
    digits = f"{now // 1000 & ((1 << 48) - 1):012x}{high:04x}{low:016x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
