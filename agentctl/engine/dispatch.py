"""Effects under way: dispatch, deadlines, recall, and landing, on one asyncio loop.

Above: the runner, which has committed what is dispatched here. Below: the executors. A batch of
one is awaited in place; a larger one flies as tasks, and whatever lands is recorded while the
others are still under way.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

from attr import evolve, frozen

from agentctl.engine.artifacts import Shelf
from agentctl.engine.ports import EffectContext
from agentctl.engine.secrecy import Progress, redact_error
from agentctl.engine.stream import StreamWriter
from agentctl.errors import AgentctlError, EffectError, LeaseLost, StoreError
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from agentctl.engine.flight import Flight
    from agentctl.engine.runner import Runner
    from agentctl.engine.scheduler import Scheduler
    from agentctl.jsonvalue import JsonObject, JsonValue


@frozen(eq=False, repr=False)
class Landing(Value):
    """How one dispatch ended: a value, an error, or neither when time or a person ended it.

    `observed` is what the executor knew when it was cut short.
    """

    value: JsonValue = None
    error: EffectError | None = None
    timed_out: bool = False
    interrupted: bool = False
    observed: JsonValue = None

    @property
    def is_confirmed(self) -> bool:
        """Whether the executor gave a result."""
        return self.error is None and not self.timed_out and not self.interrupted


class Dispatcher:
    """The part of a run that needs an event loop."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._loop = asyncio.get_running_loop()
        self._stream = StreamWriter(runner.ports.clock, runner.state.stream_counts)
        self._secrets = runner.ports.open_secrets(
            cast("JsonObject", runner.state.plan.definitions["policy"]),
            runner.state.run.workspace,
        )
        self._airborne: set[asyncio.Task[Landing]] = set()
        self._waiting: asyncio.Task[object] | None = None
        self._alarms = [self._loop.call_later(*one) for one in runner.deadlines()]

    def interrupt_soon(self, actor: str, reason: str) -> None:
        """Interrupt the run; may be called from any thread."""
        self._loop.call_soon_threadsafe(self._runner.interrupt, actor, reason)

    def recall(self) -> None:
        """Cancel everything that is under way."""
        for task in self._airborne:
            task.cancel()
        if self._waiting is not None:
            self._waiting.cancel()

    async def close(self) -> None:
        """Stop what still flies when the run ends by an error."""
        for alarm in self._alarms:
            alarm.cancel()
        for task in self._airborne:
            task.cancel()
        if self._airborne:
            await asyncio.gather(*self._airborne, return_exceptions=True)

    async def fly(self, scheduler: Scheduler) -> None:
        """Dispatch a batch's effects and land them until every flight is over."""
        if len(scheduler.batch) == 1:
            await self._fly_alone(scheduler)
        else:
            await self._fly_together(scheduler)

    async def wait(self, waiting: Awaitable[None]) -> None:
        """Await something that an interruption may cut short."""
        self._waiting = asyncio.current_task()
        try:
            await waiting
        except asyncio.CancelledError:
            if self._runner.interruption is None:
                raise
            _uncancel()
        finally:
            self._waiting = None

    async def _fly_alone(self, scheduler: Scheduler) -> None:
        """Dispatch without a task of its own: the sequential run's shortest way."""
        flights = scheduler.to_dispatch()
        while flights and self._runner.interruption is None:
            flight = flights[0]
            flight.to_dispatch = False
            self._waiting = asyncio.current_task()
            try:
                landing = await self._dispatch(flight)
            finally:
                self._waiting = None
            if landing.interrupted:
                _uncancel()
            self._land(scheduler, flight, landing)
            flights = scheduler.to_dispatch()
            if flights:
                self._runner.commit()

    async def _fly_together(self, scheduler: Scheduler) -> None:
        flying: dict[asyncio.Task[Landing], Flight] = {}
        while True:
            # After an interruption nothing new starts; what flies comes down by itself.
            ready = [] if self._runner.interruption else scheduler.to_dispatch()
            for flight in ready:
                flight.to_dispatch = False
                task = self._loop.create_task(self._dispatch(flight))
                flying[task] = flight
                self._airborne.add(task)
            if not flying:
                return
            done, _ = await asyncio.wait(flying, return_when=asyncio.FIRST_COMPLETED)
            for task in sorted(done, key=lambda one: flying[one].task.position):
                self._airborne.discard(task)
                self._come_down(scheduler, flying.pop(task), task)
            if flying or (scheduler.to_dispatch() and not self._runner.interruption):
                self._runner.commit()

    def _come_down(
        self, scheduler: Scheduler, flight: Flight, task: asyncio.Task[Landing]
    ) -> None:
        if task.cancelled() and self._runner.interruption:
            # It was cancelled before its first step, so nothing was dispatched.
            flight.to_dispatch = True
        else:
            self._land(scheduler, flight, task.result())

    async def remember_secrets(self) -> None:
        """Know again what an earlier process of this run may have let out into the world."""
        state = self._runner.state
        if not state.effects_by_name:
            return
        from agentctl.engine.credentials import dispatched_credentials  # late: resuming only

        known = [one.reference for one in dispatched_credentials(state)]
        await self._secrets.remember(known)

    async def _dispatch(self, flight: Flight) -> Landing:
        """Run one executor, and take the values of secrets out of what it gives."""
        landing = await self._execute(flight)
        if not self._secrets.known:
            return landing
        if landing.error is not None:
            redact_error(self._secrets, landing.error)
            return landing
        return evolve(
            landing,
            value=self._secrets.redact(landing.value),
            observed=self._secrets.redact(landing.observed),
        )

    async def _execute(self, flight: Flight) -> Landing:
        """Run one executor under its deadline."""
        effect, request = flight.effect, flight.request
        assert effect is not None
        assert request is not None
        state = self._runner.state
        journal = self._runner.journal
        assert journal is not None
        flight.shelf = shelf = Shelf(journal.artifacts, self._secrets)
        progress = Progress(self._stream.emitter(effect, self._persist_stream), self._secrets)
        context = EffectContext(
            workspace=state.run.workspace,
            definitions=state.plan.definitions,
            hints=request.hints,
            emit=progress.emit,
            artifacts=shelf,
            secrets=self._secrets,
        )
        deadline = asyncio.timeout(request.timeout_seconds)
        try:
            async with deadline:
                executor = self._runner.ports.executors[effect.operation]
                result = await executor.execute(effect, context)
                await progress.finish()
                return Landing(result)
        except asyncio.CancelledError:
            if self._runner.interruption is None:
                raise
            return Landing(interrupted=True, observed=context.observed)
        except EffectError as error:
            return Landing(error=error)
        except (StoreError, LeaseLost):
            raise
        except Exception as error:  # noqa: BLE001 - whatever it was, the ledger must say so
            if deadline.expired() and isinstance(error, TimeoutError):
                return Landing(timed_out=True, observed=context.observed)
            return Landing(error=_unexpected(error))

    def _land(self, scheduler: Scheduler, flight: Flight, landing: Landing) -> None:
        now = self._runner.now()
        if flight.shelf is not None and not landing.is_confirmed:
            flight.shelf.clear()
        if landing.timed_out:
            scheduler.time_out(flight, now, landing.observed)
        elif landing.interrupted:
            scheduler.interrupt(flight, now, landing.observed)
        elif landing.error is not None:
            scheduler.crash(flight, landing.error, now)
        else:
            scheduler.land(flight, landing.value, now)

    def _persist_stream(self) -> None:
        self._runner.scheduler.work.stream.extend(self._stream.take())
        self._runner.commit()


def _uncancel() -> None:
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()


def _unexpected(error: Exception) -> EffectError:
    if isinstance(error, AgentctlError):
        return EffectError(error.message, code=error.code)
    # A connection that broke says nothing about what its other end did.
    doubtful = isinstance(error, OSError | EOFError)
    message = f"{type(error).__name__}: {error}"
    return EffectError(message, code="executor_error", retryable=True, ambiguous=doubtful)
