"""The test kit for users: a manual clock, fixed ids, and crashes on demand.

    from agentctl import Engine
    from agentctl.testing import CrashPoint, FixedEntropy, ManualClock

    engine = Engine(tmp_path / "t.db", clock=ManualClock(), entropy=FixedEntropy())

A manual clock never waits: a retry that is due in an hour runs at once, and the clock then
shows that hour. `CrashPoint` stops the engine at the n-th commit as if the process had died.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attr import define, field

from agentctl.clock import Instant
from agentctl.effects.system import uuid7

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentctl.engine.apply import Work

EPOCH: Instant = 1_750_000_000_000_000


@define
class ManualClock:
    """A clock that moves only when told, or when something sleeps on it."""

    instant: Instant = EPOCH

    def now(self) -> Instant:
        """Return the present instant."""
        return self.instant

    def advance(self, seconds: float) -> None:
        """Move the clock forward."""
        self.instant += round(seconds * 1_000_000)

    async def sleep_until(self, due: Instant) -> None:
        """Move straight to `due`."""
        self.instant = max(self.instant, due)


@define
class FixedEntropy:
    """Ids that count up, the same in every test."""

    count: int = 0

    def run_id(self, now: Instant) -> str:
        """Return the next run id."""
        self.count += 1
        return uuid7(now, self.count.to_bytes(10, "big"))

    def trace_id(self) -> str:
        """Return the next trace id."""
        return f"{self.count:032x}"


class SimulatedCrash(BaseException):
    """The process died here, as far as the engine can tell."""


@define
class CrashPoint:
    """Crashes before or after the n-th commit; give it to `Engine(on_commit=…)`."""

    at: int
    after: bool = False
    count: int = field(default=0, init=False)

    def __call__(self, work: Work, commit: Callable[[Work], None]) -> None:
        """Commit, unless this is the commit to die at."""
        self.count += 1
        if self.count == self.at and not self.after:
            raise SimulatedCrash
        commit(work)
        if self.count == self.at:
            raise SimulatedCrash
