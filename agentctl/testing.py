"""The test kit for users: a manual clock, fixed ids, and crashes on demand.

    from agentctl import Engine
    from agentctl.testing import CrashPoint, FixedEntropy, ManualClock

    engine = Engine(
        tmp_path / "t.db",
        clock=ManualClock(),
        entropy=FixedEntropy(),
        wrap_store=CrashPoint(at=3).watch,
    )

A manual clock never waits: a retry that is due in an hour runs at once, and the clock then
shows that hour. `CrashPoint` stops the engine at the n-th commit as if the process had died.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

from attr import define, field

from agentctl.effects.system import uuid7

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentctl.catalog.descriptor import TaskMode
    from agentctl.catalog.exposure import Decision
    from agentctl.catalog.policy import Target
    from agentctl.clock import Instant
    from agentctl.engine.apply import Work
    from agentctl.engine.ports import Journal, NewRun
    from agentctl.jsonvalue import JsonObject, JsonValue
    from agentctl.store.sqlite import SqliteStore

T = TypeVar("T")

ESCAPE_HATCH = "generic_api_request"
EPOCH: Instant = 1_750_000_000_000_000


@define(eq=False, repr=False)
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


@define(eq=False, repr=False)
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


def die() -> None:
    """Crash by raising; nothing but a test catches it."""
    raise SimulatedCrash


@define(eq=False, repr=False)
class CrashPoint:
    """Crashes before or after the n-th commit; `crash` may also be a real kill -9.

    Give it to an engine: `Engine(db, wrap_store=CrashPoint(3).watch)`.
    """

    at: int
    after: bool = False
    crash: Callable[[], None] = die
    count: int = field(default=0, init=False)

    def watch(self, store: SqliteStore) -> SqliteStore:
        """Return a store whose commits this crash point counts."""
        return cast("SqliteStore", WatchedStore(store, self))

    def __call__(self, commit: Callable[[], T]) -> T:
        """Commit, unless this is the commit to die at."""
        self.count += 1
        if self.count == self.at and not self.after:
            self.crash()
        result = commit()
        if self.count == self.at and self.after:
            self.crash()
        return result


class WatchedStore:
    """A store that asks a hook around every commit of its runs."""

    def __init__(self, store: SqliteStore, hook: CrashPoint) -> None:
        self._store = store
        self._hook = hook

    def __getattr__(self, name: str) -> object:
        """Pass everything else through."""
        return getattr(self._store, name)

    def create_run(self, new: NewRun, work: Work) -> WatchedJournal:
        """Count the commit that creates a run."""
        return WatchedJournal(self._hook(lambda: self._store.create_run(new, work)), self._hook)

    def claim_run(self, run_id: str, now: Instant) -> WatchedJournal:
        """Watch the journal of a run that is taken up again."""
        return WatchedJournal(self._store.claim_run(run_id, now), self._hook)


class WatchedJournal:
    """A journal that asks a hook around every commit."""

    def __init__(self, journal: Journal, hook: CrashPoint) -> None:
        self._journal = journal
        self._hook = hook

    def __getattr__(self, name: str) -> object:
        """Pass everything else through."""
        return getattr(self._journal, name)

    def commit(self, work: Work) -> None:
        """Count one commit."""
        self._hook(lambda: self._journal.commit(work))


@define(eq=False, repr=False)
class EscapeHatch:
    """`generic_api_request` for a test: requests to the targets it lists, answered by the test.

    No workflow can grant this tool, so this is the only place that opens it. Every call is judged
    as a call of any other tool; `judged` keeps the decisions.

        hatch = EscapeHatch([Target("GET", "/tasks/*")], lambda request: {"status": 200})
        assert hatch.send({"method": "GET", "path": "/tasks/1"})["ok"]
    """

    targets: Sequence[Target]
    respond: Callable[[JsonObject], JsonValue]
    judged: list[Decision] = field(factory=list, init=False)

    def send(self, request: JsonObject, *, mode: TaskMode = "skill_test") -> JsonObject:
        """Return the answer, or the reason why there is none."""
        from agentctl.catalog.exposure import decide_call
        from agentctl.catalog.policy import Grant, Policy

        claims = frozenset({"test:generic_api_request"})
        decision = decide_call(
            ESCAPE_HATCH,
            request,
            Grant(role="agent", mode=mode, claims=claims),
            Policy(allows_escape_hatch=True, escape_hatch_targets=tuple(self.targets)),
        )
        self.judged.append(decision)
        if not decision.is_allowed:
            error = {"code": decision.code, "reason": decision.reason}
            return {"ok": False, "error": {"operationId": ESCAPE_HATCH, **error}}
        return {"ok": True, "operationId": ESCAPE_HATCH, "value": self.respond(request)}
