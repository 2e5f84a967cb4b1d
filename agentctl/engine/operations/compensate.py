"""Undo what a run did: its inverses as a run of their own, and the source told of each success.

Above: the embedded door. Below: the planner of inverses and the runner. The source's lease is held
from planning to the end, so that nothing is undone twice. A crash between an inverse and its
finding loses nothing: the compensation's own ledger knows, and the next one completes the source.
Source: specification, section 9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from attr import frozen

from agentctl.engine.apply import Work
from agentctl.engine.operations.start import StartRequest, new_run, pending_tasks
from agentctl.engine.plan import plan_from_json
from agentctl.engine.policy import Policy
from agentctl.engine.ports import NewRun
from agentctl.engine.records import CompensationRecord, ReconciliationRecord, RunHistory
from agentctl.engine.recovery.inverses import (
    COMPENSATES,
    InversePlanner,
    Undone,
    inverse_effect,
    inverse_plan,
)
from agentctl.engine.runner import Runner
from agentctl.engine.state import state_from_history
from agentctl.errors import CompensationBlocked, UsageError
from agentctl.machines.compiled import TASK
from agentctl.machines.legality import require
from agentctl.machines.names import ReconciliationStates
from agentctl.machines.sets import TASK_SATISFIED
from agentctl.suggest import did_you_mean
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from agentctl.clock import Clock
    from agentctl.engine.events import Event
    from agentctl.engine.plan import Plan
    from agentctl.engine.ports import Entropy, Journal, Store
    from agentctl.engine.records import RunMode
    from agentctl.engine.recovery.inverses import CompensationPlan
    from agentctl.engine.runner import RunPorts
    from agentctl.engine.state import RunState
    from agentctl.jsonvalue import JsonObject

MODE: Final[RunMode] = "compensation"
BY_ITSELF: Final = "compensation.onFailure"
"""Who asks for a compensation that the document makes automatic."""


@frozen(kw_only=True, eq=False, repr=False)
class Undo(Value):
    """What to undo, and who asks for it; without tasks, everything that has an inverse."""

    source_id: str
    tasks: tuple[str, ...] = ()
    actor: str = ""
    reason: str = ""
    timeout_seconds: float | None = None


@frozen(eq=False, repr=False)
class SourceBook(Value):
    """The right to write a source, and the findings about what was undone of it."""

    journal: Journal
    state: RunState
    clock: Clock
    actor: str

    def record(self, undone: Iterable[Undone]) -> None:
        """Find effects compensated, in one commit; what is found so already stays as it is."""
        work = Work()
        now = self.clock.now()
        for one in undone:
            found = self.state.reconciliations.get(one.effect.name)
            if found is None:
                found = work.add(
                    ReconciliationRecord(
                        effect_name=one.effect.name, effect_id=one.effect.id, opened_at=now
                    )
                )
            elif found.state == ReconciliationStates.compensated:
                continue
            reason = f"undone by run {one.run_id}"
            detail: JsonObject = {
                "effectId": one.effect.id,
                "reason": reason,
                "compensationRunId": one.run_id,
                "compensationEffect": one.undoing,
            }
            self.state.reconciliations[one.effect.name] = work.move(
                found,
                "compensate",
                now,
                actor=self.actor,
                detail=detail,
                decided_at=now,
                reason=reason,
                compensation_effect=one.undoing,
            )
        if work:
            self.journal.commit(work)

    def settle(self, compensation: RunState) -> None:
        """Record everything that a compensation undid by now."""
        self.record(self._undone_by(compensation))

    def follow(self, runner: Runner) -> None:
        """Record each success as soon as the compensation has stored it."""

        def see(event: Event) -> None:
            if event.machine == TASK.name and event.target in TASK_SATISFIED:
                self.settle(runner.state)

        runner.listen(see)

    def close(self) -> None:
        """Let others write the source."""
        self.journal.release()

    def _undone_by(self, compensation: RunState) -> Iterable[Undone]:
        listed = cast("dict[str, list[str]]", compensation.plan.definitions[COMPENSATES])
        for task_id, effects in listed.items():
            undoing = inverse_effect(
                compensation.effects.values(), compensation.reconciliations, task_id
            )
            if undoing is None and compensation.tasks[task_id].state not in TASK_SATISFIED:
                continue
            for one in effects:
                yield Undone(
                    effect=self.state.effects[one],
                    run_id=compensation.run.id,
                    undoing=None if undoing is None else undoing.id,
                )


def plan_compensation(source_id: str, tasks: Sequence[str], store: Store) -> CompensationPlan:
    """Say what would undo a run. Nothing is stored.

    Raises UnknownRun, StateError while the run is not over, and UsageError with every task that
    cannot be named.
    """
    source = store.load_run(source_id)
    require("compensate", source.run)
    plan = plan_from_json(source.plan)
    earlier = [store.load_run(one) for one in store.runs_made_from(source_id, MODE)]
    return InversePlanner(source, plan, earlier).make(_wanted(plan, tasks, source_id))


def compensate(
    undo: Undo, store: Store, entropy: Entropy, clock: Clock, ports_for: Callable[[Plan], RunPorts]
) -> tuple[Runner, SourceBook]:
    """Return the runner of a compensation and the book of its source, which is to be closed.

    Raises as `plan_compensation` does, RunHeld while another process owns the source, and
    CompensationBlocked when nothing can be undone now.
    """
    source_id = undo.source_id
    book = _open(source_id, undo.actor, store, clock)
    try:
        made = plan_compensation(source_id, undo.tasks, store)
        book.record(made.unrecorded)
        if not made.executable:
            raise CompensationBlocked(made.to_json(), source_id)
        plan = inverse_plan(made, book.state.plan)
        return _runner(undo, plan, book.state, store, entropy, ports_for(plan)), book
    except BaseException:
        book.close()
        raise


def book_of(runner: Runner, store: Store, clock: Clock) -> SourceBook:
    """Take the source of a compensation that is resumed, and record what it lacks.

    Raises RunHeld while another process owns the source.
    """
    run = runner.state.run
    assert run.source_run_id is not None
    started = (one for _, one in store.transitions(run.id) if one.actor is not None)
    first = next(started, None)
    actor = BY_ITSELF if first is None else cast("str", first.actor)
    book = _open(run.source_run_id, actor, store, clock)
    book.settle(runner.state)
    return book


def is_automatic(plan: Plan) -> bool:
    """Return whether a failed run of a plan is undone at once."""
    return cast("JsonObject", plan.definitions["compensation"])["onFailure"] == "automatic"


def _open(source_id: str, actor: str, store: Store, clock: Clock) -> SourceBook:
    journal = store.claim_run(source_id, clock.now())
    try:
        # A run that is over has nothing to cancel; listening is what keeps the lease.
        journal.on_cancel(lambda _actor, _reason: None)
        history = store.load_run(source_id)
        state = state_from_history(history, plan_from_json(history.plan))
    except BaseException:
        journal.release()
        raise
    return SourceBook(journal, state, clock, actor)


def _runner(
    undo: Undo,
    plan: Plan,
    source: RunState,
    store: Store,
    entropy: Entropy,
    ports: RunPorts,
) -> Runner:
    now = ports.clock.now()
    request = StartRequest(
        plan=plan,
        inputs=source.run.inputs,
        vars={},
        workspace=source.run.workspace,
        source=store.source_of(source.run.id),
    )
    run = new_run(request, entropy, now, mode=MODE, source_run_id=source.run.id)
    tasks = pending_tasks(plan)
    memory = source.memory
    new = NewRun(run=run, plan=plan.to_json(), tasks=tasks, memory=memory, source=request.source)
    compensations = tuple(_records(plan, source))
    history = RunHistory(
        run=run,
        plan=new.plan,
        tasks=tasks,
        effects=(),
        iterations=(),
        approvals=(),
        compensations=compensations,
        memory=memory,
    )
    runner = Runner(
        state=state_from_history(history, plan),
        policy=Policy.from_definitions(plan.definitions),
        ports=ports,
        open_journal=lambda work: store.create_run(new, work),
        timeout_seconds=undo.timeout_seconds,
    )
    for one in compensations:
        runner.scheduler.work.add(one)
    detail: JsonObject = {"reason": undo.reason, "sourceRunId": source.run.id}
    runner.state.run = runner.scheduler.work.move(
        run, "start", now, actor=undo.actor, detail=detail
    )
    return runner


def _records(plan: Plan, source: RunState) -> Iterable[CompensationRecord]:
    """Return one record for each effect that the inverses of a plan undo."""
    listed = cast("dict[str, list[str]]", plan.definitions[COMPENSATES])
    for task_id, effects in listed.items():
        for one in effects:
            name = source.effects[one].name
            yield CompensationRecord(effect_name=name, effect_id=one, task_id=task_id)


def _wanted(plan: Plan, named: Sequence[str], run_id: str) -> list[str]:
    """Return the tasks with an inverse that are meant. Raises UsageError with every problem."""
    able = [one for one in plan.order if plan.tasks[one].compensate is not None]
    if not named:
        return able
    wanted, problems, helps = [], [], []
    for name in named:
        meant = [one for one in able if one == name or one.startswith(f"{name}--")]
        wanted += meant
        if meant:
            continue
        if name in plan.tasks:
            problems.append(f"task {name!r} declares no inverse")
            continue
        problems.append(f"run {run_id} has no task {name!r}")
        near = did_you_mean(name, able)
        helps += [] if near is None else [near]
    if problems:
        listed = "it can undo: " + (", ".join(able) or "nothing")
        raise UsageError("; ".join(problems), help="; ".join(helps) or listed, run_id=run_id)
    return wanted
