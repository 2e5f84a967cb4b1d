"""Derive a run from one that is over: what serves again is taken over, the rest runs.

Above: the embedded door. Below: the planner, which proves what may be taken over, and the runner.
A derived run owns copies of all that it takes over and names its source; the source is only read.
Source: specification, section 9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from attr import frozen

from agentctl.engine.apply import Work
from agentctl.engine.artifacts import copy_artifacts
from agentctl.engine.operations.start import new_run, pending_tasks
from agentctl.engine.plan import plan_from_json
from agentctl.engine.policy import Policy
from agentctl.engine.ports import NewRun
from agentctl.engine.records import IterationRecord, MemoryWrite, RunHistory
from agentctl.engine.recovery.evidence import initial_memory, memory_delta
from agentctl.engine.recovery.planning import Planner
from agentctl.engine.runner import Runner
from agentctl.engine.state import state_from_history
from agentctl.errors import ArtifactDamaged, RecoveryBlocked, StateError
from agentctl.machines.legality import require
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentctl.clock import Instant
    from agentctl.engine.operations.start import StartRequest
    from agentctl.engine.plan import Plan
    from agentctl.engine.ports import Entropy, Store
    from agentctl.engine.records import ArtifactRecord, RunRecord, TaskRecord
    from agentctl.engine.recovery.planning import Boundary, RecoveryPlan
    from agentctl.engine.runner import RunPorts
    from agentctl.jsonvalue import JsonObject

DerivedMode = Literal["retry", "repair", "fork"]


@frozen(kw_only=True, eq=False, repr=False)
class Derivation(Value):
    """A source, what to run now, and what the planner says about it."""

    mode: DerivedMode
    source: RunHistory
    target: Plan
    recovery: RecoveryPlan


def prepare(
    mode: DerivedMode, source_id: str, target: Plan | None, boundary: Boundary, store: Store
) -> Derivation:
    """Plan a derived run; nothing is stored. Without a target, the recorded plan runs again.

    Raises UnknownRun, and StateError for a source that is not over, that is a compensation, or
    that a retry cannot use because the workflow is another one now.
    """
    source = store.load_run(source_id)
    require(mode, source.run)
    recorded = plan_from_json(source.plan)
    if mode == "retry" and target is not None:
        _require_same_workflow(source, target)
        target = recorded
    plan = target or recorded
    planner = Planner(
        source=source,
        journal=store.transitions(source_id),
        source_plan=recorded,
        target=plan,
        boundary=boundary,
        damaged=_damaged(source, store),
    )
    return Derivation(mode=mode, source=source, target=plan, recovery=planner.plan())


def derive(
    derivation: Derivation,
    request: StartRequest,
    store: Store,
    entropy: Entropy,
    ports: RunPorts,
    reason: str,
) -> Runner:
    """Return the runner of the derived run. Raises RecoveryBlocked when the plan is."""
    source, recovery = derivation.source, derivation.recovery
    if not recovery.compatible:
        raise RecoveryBlocked(recovery.to_json(), source.run.id)
    now = ports.clock.now()
    work = Work()
    plan = derivation.target
    run = new_run(request, entropy, now, mode=derivation.mode, source_run_id=source.run.id)
    fresh = pending_tasks(plan)
    migration = recovery.migration
    memory = initial_memory(plan) if migration is None else migration.memory
    new = NewRun(run=run, plan=plan.to_json(), tasks=fresh, memory=memory, source=request.source)
    taking = _Taking(derivation, work, now)
    started, tasks = taking.all(_started(run, derivation, work, now, reason), fresh)
    history = RunHistory(
        run=started,
        plan=new.plan,
        tasks=tasks,
        effects=(),
        iterations=taking.iterations(),
        approvals=(),
        artifacts=taking.artifacts(),
        memory=recovery.memory,
    )
    policy = Policy.from_definitions(plan.definitions)
    runner = Runner(
        state=state_from_history(history, plan),
        policy=policy.with_a_person() if request.interactive else policy,
        ports=ports,
        open_journal=lambda first: store.create_run(new, first),
        timeout_seconds=request.timeout_seconds,
    )
    runner.scheduler.work = work
    return runner


@frozen(eq=False, repr=False)
class _Taking(Value):
    """Takes over what the plan reuses, as moves of the new run."""

    derivation: Derivation
    work: Work
    now: Instant

    def all(
        self, run: RunRecord, fresh: Sequence[TaskRecord]
    ) -> tuple[RunRecord, tuple[TaskRecord, ...]]:
        """Return the run and its tasks with all that serves again.

        A migration of memory comes after the tasks whose memory it took up, and before others.
        """
        migration = self.derivation.recovery.migration
        if migration is None:
            return run, tuple(map(self.task, fresh))
        taken = {one.id: self.task(one) for one in fresh if one.id in migration.earlier}
        run = self.work.move(run, "migrate_memory", self.now, detail=migration.to_detail())
        return run, tuple(taken.get(one.id) or self.task(one) for one in fresh)

    def task(self, fresh: TaskRecord) -> TaskRecord:
        """Return a task with its source's output and memory if that serves again."""
        if fresh.id not in self.derivation.recovery.reused:
            return fresh
        output = next(one for one in self.derivation.source.tasks if one.id == fresh.id).output
        plan = self.derivation.target
        migration = self.derivation.recovery.migration
        is_earlier = migration is not None and fresh.id in migration.earlier
        delta = {} if is_earlier else memory_delta(plan, plan.tasks[fresh.id], output)
        for key, value in delta.items():
            self.work.memory.append(MemoryWrite(key=key, value=value, task_id=fresh.id))
        return self.work.move(
            fresh,
            "reuse",
            self.now,
            output=output,
            disposition="reused",
            ended_at=self.now,
            detail={"sourceRunId": self.derivation.source.run.id},
        )

    def iterations(self) -> tuple[IterationRecord, ...]:
        """Return the rounds of loops whose tasks serve again, each as done."""
        reused = set(self.derivation.recovery.reused)
        made = []
        for one in self.derivation.source.iterations:
            if one.id in reused:
                fresh = IterationRecord(id=one.id, parent=one.parent, index=one.index)
                begun = self.work.move(self.work.add(fresh), "evaluate", self.now)
                accepted = self.work.move(begun, "accept", self.now)
                made.append(self.work.move(accepted, "finish", self.now))
        return tuple(made)

    def artifacts(self) -> tuple[ArtifactRecord, ...]:
        """Refer to the bytes that reused tasks kept."""
        reused = set(self.derivation.recovery.reused)
        kept = [one for one in self.derivation.source.artifacts if one.task_id in reused]
        return copy_artifacts(kept, self.work, self.now)


def _started(
    run: RunRecord, derivation: Derivation, work: Work, now: Instant, reason: str
) -> RunRecord:
    """Start the run with the reason and the boundary in its journal."""
    recovery = derivation.recovery
    detail: JsonObject = {
        "reason": reason,
        "sourceRunId": derivation.source.run.id,
        "failedOnly": recovery.boundary.failed_only,
        "roots": list(recovery.roots),
        "restartSuccessful": recovery.boundary.restart_successful,
    }
    return work.move(run, "start", now, detail=detail)


def _require_same_workflow(source: RunHistory, target: Plan) -> None:
    if source.run.workflow_digest == target.workflow_digest:
        return
    run_id = source.run.id
    raise StateError(
        f"run {run_id} was made by another version of this workflow",
        help="`agentctl repair` takes a changed workflow; with --plan it says what changed",
        run_id=run_id,
    )


def _damaged(source: RunHistory, store: Store) -> frozenset[str]:
    """Return the digests of artifacts that nothing can rely on any more."""
    if not source.artifacts:
        return frozenset()
    try:
        store.check_artifacts(source.run.id)
    except ArtifactDamaged as error:
        return frozenset(error.digests)
    return frozenset()
