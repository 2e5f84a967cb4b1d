"""The asyncio shell of one run: commit, dispatch, wait, and commit again.

Above: the operations (start, resume). Below: the scheduler, which decides, the journal, which
keeps, and the executors, which act. The order is the contract: what a commit holds is durable
before any of its effects starts.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from attr import define, field, frozen

from agentctl.engine.events import Event
from agentctl.engine.finish import StopEvent, conclude, outcome_of, stop
from agentctl.engine.ports import EffectContext
from agentctl.engine.scheduler import Scheduler
from agentctl.engine.stream import StreamWriter, stream_event
from agentctl.errors import AgentctlError, EffectError, LeaseLost, StoreError
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agentctl.clock import Clock
    from agentctl.engine.apply import Work
    from agentctl.engine.events import Listener, RunOutcome
    from agentctl.engine.flight import Flight
    from agentctl.engine.policy import Policy
    from agentctl.engine.ports import Executor, Journal, Timer
    from agentctl.engine.state import RunState
    from agentctl.jsonvalue import JsonObject, JsonValue


@frozen(kw_only=True, eq=False, repr=False)
class RunPorts(Value):
    """What a run is given from outside."""

    clock: Clock
    timer: Timer
    executors: Mapping[str, Executor]
    listeners: Sequence[Listener] = ()


@frozen(eq=False, repr=False)
class Interruption(Value):
    """Why a run must stop now: the run's event, who asked, and the words for it."""

    event: StopEvent
    actor: str | None
    error: JsonObject


@frozen(eq=False, repr=False)
class Landing(Value):
    """How one dispatch ended: a value, an error, or neither when time or a person ended it."""

    value: JsonValue = None
    error: EffectError | None = None
    timed_out: bool = False
    interrupted: bool = False


@define(eq=False, repr=False)
class Runner:
    """Drives one run until it ends or parks.

    `open_journal` makes the first commit: it creates the run, so that a short run needs no
    commit of its own for being born.
    """

    state: RunState
    policy: Policy
    ports: RunPorts
    open_journal: Callable[[Work], Journal] | None = None
    journal: Journal | None = None
    timeout_seconds: float | None = None
    scheduler: Scheduler = field(init=False)
    interruption: Interruption | None = field(default=None, init=False)
    _sequence: int = field(default=0, init=False)
    _airborne: set[asyncio.Task[Landing]] = field(factory=set, init=False)
    _waiting: asyncio.Task[object] | None = field(default=None, init=False)
    _stream: StreamWriter = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Make the parts that share this run's state."""
        self.scheduler = Scheduler(self.state, self.policy)
        self._stream = StreamWriter(self.ports.clock)

    async def run(self) -> RunOutcome:
        """Drive to the end; the journal is released whatever happens."""
        loop = asyncio.get_running_loop()
        alarm = None
        if self.timeout_seconds is not None:
            alarm = loop.call_later(self.timeout_seconds, self._run_out_of_time)
        try:
            await self._drive(loop)
        finally:
            if alarm is not None:
                alarm.cancel()
            await self._ground_all()
            if self.journal is not None:
                self.journal.release()
        return outcome_of(self.state)

    def interrupt(self, actor: str, reason: str) -> None:
        """Ask for a durable cancellation; call it on the run's own event loop."""
        error: JsonObject = {"code": "cancelled", "message": reason or "cancelled"}
        self._interrupt(Interruption("cancel", actor, error))

    def _run_out_of_time(self) -> None:
        message = f"the run did not end within {self.timeout_seconds:g} s"
        error: JsonObject = {"code": "run_timeout", "message": message}
        self._interrupt(Interruption("time_out", None, error))

    def _interrupt(self, interruption: Interruption) -> None:
        if self.interruption is not None:
            return
        self.interruption = interruption
        for flying in self._airborne:
            flying.cancel()
        if self._waiting is not None:
            self._waiting.cancel()

    async def _drive(self, loop: asyncio.AbstractEventLoop) -> None:
        scheduler = self.scheduler
        while self.interruption is None:
            scheduler.fill(self.ports.clock.now())
            if scheduler.batch:
                self._commit(loop)
                await self._fly_batch(loop)
            elif scheduler.full:
                self._commit(loop)
                await asyncio.sleep(0)
            elif scheduler.stopping or not await self._wait_for_retry(loop):
                break
        self._end()
        self._commit(loop)

    def _end(self) -> None:
        now = self.ports.clock.now()
        why = self.interruption
        work = self.scheduler.work
        if why is None:
            conclude(self.state, work, now)
        else:
            self.scheduler.withdraw_undispatched(now)
            stop(self.state, work, now, event=why.event, error=why.error, actor=why.actor)

    async def _wait_for_retry(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Sleep until the next retry is due; return False when none waits."""
        task = self.state.next_retry()
        if task is None:
            return False
        due = task.due_at or 0
        if due > self.ports.clock.now():
            self._commit(loop)
            await self._interruptible(self.ports.timer.sleep_until(due))
        self.scheduler.rearm(max(due, self.ports.clock.now()))
        return True

    async def _fly_batch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Dispatch the batch's effects and land them until every flight is over."""
        scheduler = self.scheduler
        flights = scheduler.to_dispatch()
        if len(scheduler.batch) == 1:
            while flights and self.interruption is None:
                self._land(flights[0], await self._dispatch_alone(flights[0]))
                flights = scheduler.to_dispatch()
                if flights:
                    self._commit(loop)
        else:
            await self._fly_together(loop)
        scheduler.settle(self.ports.clock.now())

    async def _fly_together(self, loop: asyncio.AbstractEventLoop) -> None:
        flying: dict[asyncio.Task[Landing], Flight] = {}
        while True:
            # After an interruption nothing new starts; what flies comes down by itself.
            ready = [] if self.interruption else self.scheduler.to_dispatch()
            for flight in ready:
                flight.to_dispatch = False
                task = loop.create_task(self._dispatch(flight))
                flying[task] = flight
                self._airborne.add(task)
            if not flying:
                return
            done, _ = await asyncio.wait(flying, return_when=asyncio.FIRST_COMPLETED)
            landed = sorted(done, key=lambda task: flying[task].task.position)
            for task in landed:
                self._airborne.discard(task)
                flight = flying.pop(task)
                if task.cancelled() and self.interruption:
                    # It was cancelled before its first step, so nothing was dispatched.
                    flight.to_dispatch = True
                else:
                    self._land(flight, task.result())
            if flying or (self.scheduler.to_dispatch() and not self.interruption):
                self._commit(loop)

    async def _dispatch_alone(self, flight: Flight) -> Landing:
        """Dispatch without a task of its own: the sequential run's shortest way."""
        flight.to_dispatch = False
        self._waiting = asyncio.current_task()
        try:
            landing = await self._dispatch(flight)
        finally:
            self._waiting = None
        if landing.interrupted:
            _uncancel()
        return landing

    async def _interruptible(self, waiting: object) -> None:
        """Await something that an interruption may cut short."""
        self._waiting = asyncio.current_task()
        try:
            await waiting  # type: ignore[misc]
        except asyncio.CancelledError:
            if self.interruption is None:
                raise
            _uncancel()
        finally:
            self._waiting = None

    async def _dispatch(self, flight: Flight) -> Landing:
        """Run one executor under its deadline."""
        effect, request = flight.effect, flight.request
        assert effect is not None
        assert request is not None
        context = EffectContext(
            workspace=self.state.run.workspace,
            definitions=self.state.plan.definitions,
            hints=request.hints,
            emit=self._stream.emitter(effect, self._persist_stream),
        )
        deadline = asyncio.timeout(request.timeout_seconds)
        try:
            async with deadline:
                executor = self.ports.executors[effect.operation]
                return Landing(value=await executor.execute(effect, context))
        except asyncio.CancelledError:
            if self.interruption is None:
                raise
            return Landing(interrupted=True)
        except EffectError as error:
            return Landing(error=error)
        except (StoreError, LeaseLost):
            raise
        except Exception as error:  # noqa: BLE001 - whatever it was, the ledger must say so
            if deadline.expired() and isinstance(error, TimeoutError):
                return Landing(timed_out=True)
            return Landing(error=_unexpected(error))

    def _land(self, flight: Flight, landing: Landing) -> None:
        now = self.ports.clock.now()
        if landing.timed_out:
            self.scheduler.time_out(flight, now)
        elif landing.interrupted:
            self.scheduler.interrupt(flight, now)
        elif landing.error is not None:
            self.scheduler.crash(flight, landing.error, now)
        else:
            self.scheduler.land(flight, landing.value, now)

    def _persist_stream(self) -> None:
        self.scheduler.work.stream.extend(self._stream.take())
        self._commit(asyncio.get_running_loop())

    def _commit(self, loop: asyncio.AbstractEventLoop) -> None:
        """Write the work at hand, then tell the listeners."""
        work = self.scheduler.work
        if self.journal is None:
            assert self.open_journal is not None
            self.journal = self.open_journal(work)
            self.journal.on_cancel(self._cancel_from_outside(loop))
        elif work:
            self.journal.commit(work)
        else:
            return
        self.scheduler.work = type(work)()
        if self.ports.listeners:
            self._tell(work)

    def _cancel_from_outside(self, loop: asyncio.AbstractEventLoop) -> Callable[[str, str], None]:
        """Return what the lease thread calls when another process asks to cancel."""

        def notify(actor: str, reason: str) -> None:
            loop.call_soon_threadsafe(self.interrupt, actor, reason)

        return notify

    def _tell(self, work: Work) -> None:
        for event in self._events(work):
            for listener in self.ports.listeners:
                listener(event)

    def _events(self, work: Work) -> list[Event]:
        run = self.state.run
        told = [stream_event(run.id, run.source_run_id, one) for one in work.stream]
        for one in work.transitions:
            self._sequence += 1
            attempt = self.state.tasks[one.entity].attempt if one.entity in self.state.tasks else 0
            told.append(
                Event(
                    run_id=run.id,
                    sequence=self._sequence,
                    event_type=f"{one.machine}.{one.event}",
                    machine=one.machine,
                    entity=one.entity,
                    source=one.source,
                    target=one.target,
                    attempt=attempt,
                    at=one.at,
                    payload=one.detail,
                    source_run_id=run.source_run_id,
                )
            )
        return told

    async def _ground_all(self) -> None:
        """Stop what still flies when the run ends by an error."""
        for task in self._airborne:
            task.cancel()
        if self._airborne:
            await asyncio.gather(*self._airborne, return_exceptions=True)


def _uncancel() -> None:
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()


def _unexpected(error: Exception) -> EffectError:
    if isinstance(error, AgentctlError):
        return EffectError(error.message, code=error.code)
    return EffectError(f"{type(error).__name__}: {error}", code="executor_error", retryable=True)
