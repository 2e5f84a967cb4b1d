"""One run, driven: decide, commit, dispatch, and decide again.

Above: the operations (start, resume). Below: the scheduler, which decides, the journal, which
keeps, and the dispatcher, which acts. The order is the contract: what a commit holds is durable
before any of its effects starts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attr import define, field, frozen

from agentctl.engine.finish import StopEvent, conclude, outcome_of, stop, suspend
from agentctl.engine.ports import Careful
from agentctl.engine.scheduler import Scheduler
from agentctl.engine.undoing import follow_inverses
from agentctl.engine.waiting import pause
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agentctl.clock import Clock, Instant
    from agentctl.engine.apply import Work
    from agentctl.engine.dispatch import Dispatcher
    from agentctl.engine.events import Event, Listener, RunOutcome
    from agentctl.engine.policy import Policy
    from agentctl.engine.ports import Executor, Journal, OpenSecrets, Timer
    from agentctl.engine.state import RunState
    from agentctl.engine.telling import Teller
    from agentctl.jsonvalue import JsonObject


@frozen(kw_only=True, eq=False, repr=False)
class RunPorts(Value):
    """What a run is given from outside; `executors` are those that its plan may need.

    `open_secrets(policy, workspace)` makes the run's secrets, which nothing else shares.
    """

    clock: Clock
    timer: Timer
    executors: Mapping[str, Executor]
    open_secrets: OpenSecrets
    listeners: Sequence[Listener] = ()


@frozen(eq=False, repr=False)
class Interruption(Value):
    """Why a run must stop now: the run's event, who asked, and the words for it.

    One that `suspends` leaves open what is open, so that the run can go on from there.
    """

    event: StopEvent
    actor: str | None
    error: JsonObject
    suspends: bool = False


@define(eq=False, repr=False)
class Runner:
    """Drives one run until it ends or parks.

    `open_journal` makes the first commit: it creates the run, so that a short run needs no
    commit of its own for being born. A run with executors or a deadline needs an asyncio loop;
    any other can be driven by hand.
    """

    state: RunState
    policy: Policy
    ports: RunPorts
    open_journal: Callable[[Work], Journal] | None = None
    journal: Journal | None = None
    timeout_seconds: float | None = None
    scheduler: Scheduler = field(init=False)
    interruption: Interruption | None = field(default=None, init=False)
    _dispatcher: Dispatcher | None = field(default=None, init=False)
    _listeners: list[Listener] = field(factory=list, init=False)
    _teller: Teller | None = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        """Make the scheduler over this run's state."""
        preflights = {
            operation: executor.preflight
            for operation, executor in self.ports.executors.items()
            if isinstance(executor, Careful)
        }
        allowed = self.timeout_seconds
        ends_at = None if allowed is None else self.now() + round(allowed * 1_000_000)
        self.scheduler = Scheduler(self.state, self.policy, preflights=preflights, ends_at=ends_at)
        for listener in self.ports.listeners:
            self.listen(listener)

    def listen(self, listener: Listener) -> None:
        """Call `listener` for every event that is stored from now on."""
        if self._teller is None:
            from agentctl.engine.telling import Teller

            made = {task.id: task.attempt for task in self.state.tasks.values()}
            self._teller = Teller(self.state.run, made)
        self._listeners.append(listener)

    @property
    def needs_loop(self) -> bool:
        """Return whether the run can wait for something, and so needs an event loop."""
        return bool(self.ports.executors) or bool(self.deadlines())

    def deadlines(self) -> list[tuple[float, Callable[[], None]]]:
        """Return in how many seconds the run must stop by itself, and how it does."""
        found: list[tuple[float, Callable[[], None]]] = []
        if self.timeout_seconds is not None:
            found.append((self.timeout_seconds, self.run_out_of_time))
        budget = self.scheduler.budget
        left = None if budget is None else budget.seconds_left(self.now())
        if left is not None:
            found.append((max(left, 0), self.run_out_of_budget))
        return found

    async def run(self) -> RunOutcome:
        """Drive to the end; the journal is released whatever happens."""
        if self.needs_loop:
            from agentctl.engine.dispatch import Dispatcher

            self._dispatcher = Dispatcher(self)
        try:
            if self._dispatcher is not None:
                await self._dispatcher.remember_secrets()
            await self._drive()
        finally:
            if self._dispatcher is not None:
                await self._dispatcher.close()
            if self.journal is not None:
                self.journal.release()
        return outcome_of(self.state)

    def now(self) -> Instant:
        """Return the present instant."""
        return self.ports.clock.now()

    def interrupt(self, actor: str, reason: str) -> None:
        """Ask for a durable cancellation; call it on the run's own event loop, if it has one."""
        error: JsonObject = {"code": "cancelled", "message": reason or "cancelled"}
        self.stop_early(Interruption("cancel", actor, error))

    def run_out_of_time(self) -> None:
        """Stop because the whole run took longer than it may."""
        message = f"the run did not end within {self.timeout_seconds:g} s"
        self.stop_early(
            Interruption("time_out", None, {"code": "run_timeout", "message": message})
        )

    def run_out_of_budget(self) -> None:
        """Stop because the run took all the wall time of its budget."""
        assert self.scheduler.budget is not None
        denial = self.scheduler.budget.out_of_time(self.now())
        self.stop_early(Interruption("exhaust_budget", None, denial.to_json(), suspends=True))

    def stop_early(self, interruption: Interruption) -> None:
        """Let nothing new start, and call back what is under way."""
        if self.interruption is not None:
            return
        self.interruption = interruption
        if self._dispatcher is not None:
            self._dispatcher.recall()

    def commit(self) -> None:
        """Write the work at hand, then tell the listeners."""
        work = self.scheduler.work
        if self.state.compensations:
            follow_inverses(self.state, work, self.now())
        if self.journal is None:
            assert self.open_journal is not None
            self.journal = self.open_journal(work)
            self._listen_for_cancel(self.journal)
        elif work:
            self.journal.commit(work)
        else:
            return
        self.scheduler.work = type(work)()
        if self._teller is not None:
            self._tell(work, self._teller)

    async def _drive(self) -> None:
        if self.journal is not None:
            self._listen_for_cancel(self.journal)
        scheduler = self.scheduler
        while self.interruption is None:
            scheduler.fill(self.now())
            if scheduler.batch:
                self.commit()
                await self._fly()
            elif scheduler.full:
                self.commit()
                await pause()
            elif scheduler.stopping or not await self._wait_for_retry():
                break
        self._end()
        self.commit()

    async def _fly(self) -> None:
        assert self._dispatcher is not None
        await self._dispatcher.fly(self.scheduler)
        self.scheduler.settle(self.now())

    async def _wait_for_retry(self) -> bool:
        """Sleep until the next retry is due; return False when none waits."""
        task = self.state.next_retry()
        if task is None:
            return False
        assert self._dispatcher is not None
        due = task.due_at or 0
        if due > self.now():
            self.commit()
            await self._dispatcher.wait(self.ports.timer.sleep_until(due))
        self.scheduler.rearm(max(due, self.now()))
        return True

    def _end(self) -> None:
        now = self.now()
        why = self.interruption
        work = self.scheduler.work
        if why is None:
            conclude(self.state, work, now)
        else:
            self.scheduler.withdraw_undispatched(now)
            if why.suspends:
                suspend(self.state, work, now, why.error)
            else:
                stop(self.state, work, now, event=why.event, error=why.error, actor=why.actor)

    def _listen_for_cancel(self, journal: Journal) -> None:
        """Have another process's request to cancel reach this run."""
        dispatcher = self._dispatcher
        journal.on_cancel(self.interrupt if dispatcher is None else dispatcher.interrupt_soon)

    def _tell(self, work: Work, teller: Teller) -> None:
        assert self.journal is not None
        first = self.journal.sequence - len(work.transitions) + 1
        moves = [teller.move(place, one) for place, one in enumerate(work.transitions, first)]
        for event in [*self._stream_events(work), *moves]:
            for listener in self._listeners:
                listener(event)

    def _stream_events(self, work: Work) -> list[Event]:
        if not work.stream:
            return []
        from agentctl.engine.stream import stream_event

        run = self.state.run
        return [stream_event(run.id, run.source_run_id, one) for one in work.stream]
