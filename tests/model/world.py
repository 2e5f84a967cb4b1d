"""An outside world that knows what really happened, and two processes that share one run.

Above: the property test. Below: the public engine on a real file. Nothing here waits: the loop's
clock jumps, an executor answers when a step of the test says so, and a process dies by having its
run cut off, with nothing more written than the lease that it held.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeAlias

from attr import define, field

from agentctl import EffectError, Engine
from agentctl.errors import LeaseLost, RunHeld, StateError, UncertainEffect
from agentctl.machines.sets import RECONCILIATION_ABSENT
from agentctl.store.lease import LIFETIME_SECONDS
from agentctl.testing import CrashPoint, FixedEntropy, ManualClock, SimulatedCrash

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from pathlib import Path

    from agentctl import RunOutcome
    from agentctl.engine.records import EffectRecord, Idempotency, RunHistory

IDEMPOTENCIES: tuple[Idempotency, ...] = ("at_most_once", "keyed", "idempotent", "unknown")
ONCE = frozenset({"at_most_once", "unknown"})
# More turns of the loop than any chain of callbacks between two waits of the engine.
TURNS = 12
# How a process may end its run without a fault of the engine.
REFUSALS = (LeaseLost, RunHeld, StateError, UncertainEffect)

Ledger: TypeAlias = "dict[str, EffectRecord]"


class JumpingLoop(asyncio.SelectorEventLoop):
    """A loop whose clock can be moved on, so that deadlines pass at once."""

    jumped = 0.0

    def time(self) -> float:
        """Return the loop's instant in seconds."""
        return super().time() + self.jumped


@define(eq=False)
class Call:
    """One dispatch as the outside saw it; `answer` is what it said, if it said anything."""

    number: int
    process: Process
    task: str
    idempotency: Idempotency
    key: str
    effect: str
    reply: asyncio.Future[dict[str, int]]
    happened: bool = False
    undone: bool = False
    answer: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether a process still waits for the answer."""
        return not self.reply.done()

    @property
    def may_happen(self) -> bool:
        """Whether the request is on its way; it may arrive after its sender died."""
        return not self.happened and self.answer is None

    @property
    def result(self) -> dict[str, int]:
        """What it returns, so that a stored result names its call."""
        return {"call": self.number}


@define(eq=False)
class Process:
    """An engine as one process has it, and the run that it drives at the moment."""

    engine: Engine
    crash: CrashPoint
    driving: asyncio.Task[RunOutcome] | None = None
    refusal: BaseException | None = None


@define(eq=False)
class World:
    """The outside, two processes, and what an operator said."""

    folder: Path
    loop: JumpingLoop = field(factory=JumpingLoop)
    clock: ManualClock = field(factory=ManualClock)
    entropy: FixedEntropy = field(factory=FixedEntropy)
    calls: list[Call] = field(factory=list)
    # What the operator found of an effect, and whose tasks a finding told less than the truth of.
    findings: dict[str, str] = field(factory=dict)
    misled: set[str] = field(factory=set)
    broken: list[str] = field(factory=list)
    stored: RunHistory | None = None
    is_held: bool = False
    processes: list[Process] = field(init=False)
    observer: Engine = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Start two processes and somebody who only reads."""
        self.observer = Engine(self.folder / "state.db", clock=self.clock, durability="normal")
        self.processes = [self._process(), self._process()]

    def _process(self) -> Process:
        crash = CrashPoint(at=0)
        engine = Engine(
            self.folder / "state.db",
            workspace=self.folder,
            clock=self.clock,
            entropy=self.entropy,
            durability="normal",
            wrap_store=crash.watch,
        )
        process = Process(engine, crash)
        for idempotency in IDEMPOTENCIES:
            self._register(process, idempotency)
        return process

    def _register(self, process: Process, idempotency: Idempotency) -> None:
        @process.engine.action(idempotency, idempotency=idempotency)
        async def act(task: str, idempotency_key: str) -> dict[str, int]:
            return await self._dispatched(process, task, idempotency, idempotency_key)

    async def _dispatched(
        self, process: Process, task: str, idempotency: Idempotency, key: str
    ) -> dict[str, int]:
        self.look()
        ledger = {one.name: one for one in self.history.effects}
        started = [
            one
            for one in ledger.values()
            if one.task_id == task and one.state == "started" and one.idempotency_key == key
        ]
        if len(started) != 1:
            self.broken.append(f"{task} was dispatched with {len(started)} started effects")
        name = started[0].name if started else "?"
        call = Call(
            len(self.calls), process, task, idempotency, key, name, self.loop.create_future()
        )
        self.broken.extend(self._forbidden(call, ledger))
        self.calls.append(call)
        return await call.reply

    def _forbidden(self, call: Call, ledger: Ledger) -> list[str]:
        """Return why a dispatch must not be, given all that were before it."""
        problems = []
        for earlier in self.calls:
            if earlier.task != call.task:
                continue
            found = self.findings.get(earlier.effect)
            if found in RECONCILIATION_ABSENT:
                # A receiver that knows the key would answer with what was found undone.
                if call.key == earlier.key:
                    problems.append(f"{earlier.effect} was found absent and its key sent again")
                continue
            state = ledger[earlier.effect].state
            if state == "succeeded" or found == "applied":
                problems.append(f"{earlier.effect} is confirmed and was repeated")
            if call.idempotency in ONCE and not (state == "failed" and earlier.answer == "no"):
                problems.append(f"{earlier.effect} may have happened and was repeated")
            if call.key != earlier.key:
                problems.append(f"{earlier.effect} was repeated under another key")
        return problems

    # -- what is stored --

    def look(self) -> None:
        """Read the run again, as it is stored now."""
        runs = self.observer.store.list_runs()
        if runs:
            self.stored = self.observer.history(runs[0].id)
            holder = self.observer.store.holder(runs[0].id)
            self.is_held = holder is not None and bool(holder["alive"])

    @property
    def history(self) -> RunHistory:
        """The run as it was when somebody looked last."""
        assert self.stored is not None
        return self.stored

    # -- events of the outside --

    def happen(self, call: Call) -> None:
        """Let a request arrive and do what it is for."""
        call.happened = True
        if self.findings.get(call.effect) in RECONCILIATION_ABSENT:
            self.misled.add(call.task)

    def confirm(self, call: Call) -> None:
        """Answer that it happened."""
        if not call.happened:
            self.happen(call)
        self._answer(call, "yes")
        call.reply.set_result(call.result)
        self.settle()

    def refuse(self, call: Call, *, retryable: bool) -> None:
        """Answer that it certainly did not happen."""
        self._answer(call, "no")
        call.reply.set_exception(EffectError("refused", retryable=retryable))
        self.settle()

    def break_off(self, call: Call) -> None:
        """Lose the connection before an answer."""
        call.reply.set_exception(EffectError("the line went dead", retryable=True, ambiguous=True))
        self.settle()

    def _answer(self, call: Call, answer: str) -> None:
        call.answer = answer

    def pass_time(self) -> None:
        """Let every deadline pass."""
        self.loop.jumped += 10_000
        self.clock.advance(10_000)
        self.settle()

    # -- events of processes --

    def drive(self, process: Process, work: Coroutine[Any, Any, RunOutcome]) -> None:
        """Have a process drive the run until it ends or waits for the outside."""
        process.refusal = None
        process.driving = self.loop.create_task(work)
        self.settle()

    def kill(self, process: Process) -> None:
        """Let a process die; what it sent may still arrive."""
        assert process.driving is not None
        process.driving.cancel()
        self.settle()

    def lose_lease(self) -> None:
        """Make the holder look like another machine that went quiet."""
        with self.observer.store.database.writing() as connection:
            connection.execute("UPDATE lease SET host = 'elsewhere', boot = 'another'")
        self.clock.advance(LIFETIME_SECONDS + 1)
        self.look()

    def settle(self) -> None:
        """Let the loop run until everything waits for the outside; bury the dead."""
        self.loop.run_until_complete(self._turn())
        for place, process in enumerate(self.processes):
            if process.driving is None or not process.driving.done():
                continue
            driven, process.driving = process.driving, None
            error = None if driven.cancelled() else driven.exception()
            process.refusal = error
            if driven.cancelled() or isinstance(error, SimulatedCrash):
                process.engine.close()
                self.processes[place] = self._process()
            elif error is not None and not isinstance(error, REFUSALS):
                raise error
        self.look()
        # A process that died in the commit that made the run could not give its lease back.
        if self.is_held and all(one.driving is None for one in self.processes):
            self.lose_lease()

    async def _turn(self) -> None:
        for _ in range(TURNS):
            await asyncio.sleep(0)

    def close(self) -> None:
        """End every process."""
        for process in self.processes:
            if process.driving is not None:
                self.kill(process)
        for process in self.processes:
            process.engine.close()
        self.observer.close()
        self.loop.close()
