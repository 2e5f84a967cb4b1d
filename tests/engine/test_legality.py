"""Every operation on real runs in every state: what the table says happens, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from attr import define

from agentctl.cli.given import run_states
from agentctl.engine.apply import Work
from agentctl.engine.operations.start import StartRequest, new_run, pending_tasks
from agentctl.engine.ports import NewRun
from agentctl.errors import EffectError, PortableRefused, StateError, UsageError
from agentctl.machines.compiled import RUN
from agentctl.machines.legality import OPERATIONS, cell_of, refusal, require
from agentctl.store.portable import export_run, import_run
from agentctl.store.retention import Selection, collect_runs
from agentctl.store.verify import verify_run
from agentctl.testing import CrashPoint, SimulatedCrash
from tests.engine.harness import Bench, child, task, workflow

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentctl import Engine
    from agentctl.engine.records import Idempotency
    from agentctl.loading import Loaded
    from agentctl.machines.legality import Operation
    from agentctl.machines.names import RunEvent, RunState

WRITE = {"path": "out/said.txt", "content": "said"}


@define
class Source:
    """A run in some state, and the document that made it."""

    bench: Bench
    document: dict[str, Any]
    run_id: str = ""

    @property
    def engine(self) -> Engine:
        """The engine as a new process has it."""
        return self.bench.engine

    @property
    def loaded(self) -> Loaded:
        """The workflow."""
        return self.engine.load(self.document)

    def state(self) -> RunState:
        """Where the run stands."""
        return self.engine.history(self.run_id).run.state

    def move(self, event: RunEvent) -> None:
        """Make a move that nothing but an outside condition makes."""
        store = self.engine.store
        journal = store.claim_run(self.run_id, self.bench.clock.now())
        work = Work()
        work.move(store.load_run(self.run_id).run, event, self.bench.clock.now(), error={})
        journal.commit(work)
        journal.release()


def document(**more: Any) -> dict[str, Any]:
    """Return a workflow of a change with an inverse, then a function that may fail."""
    first = task("write", "action:write", with_=WRITE)
    first["compensate"] = {"uses": "action:write", "with": {**WRITE, "content": "gone"}}
    return workflow(first, task("work", "action:work", "write"), **more)


def register(engine: Engine, idempotency: Idempotency, error: Exception | None = None) -> None:
    """Give an engine the function of the workflow."""

    @engine.action("work", idempotency=idempotency)
    async def work() -> dict[str, int]:
        if error is not None:
            raise error
        return {}


def begun(bench: Bench, idempotency: Idempotency = "idempotent", **more: Any) -> Source:
    """Return a run whose process died while its function was under way."""
    # The run and its write, the write's confirmation with the function, the function's own.
    register(bench.reopened(CrashPoint(at=3)), idempotency)
    source = Source(bench, document(**more))
    with pytest.raises(SimulatedCrash):
        bench.run(source.document)
    register(bench.reopened(), idempotency)
    (run,) = source.engine.store.list_runs()
    source.run_id = run.id
    return source


def created(bench: Bench) -> Source:
    """Return a run that was stored and never taken up."""
    register(bench.engine, "idempotent")
    source = Source(bench, document())
    loaded = source.loaded
    request = StartRequest(
        plan=loaded.plan, inputs={}, vars={}, workspace=str(bench.folder), source=loaded.text
    )
    run = new_run(request, bench.entropy, bench.clock.now())
    tasks = pending_tasks(loaded.plan)
    new = NewRun(run=run, plan=loaded.plan.to_json(), tasks=tasks, memory={}, source=loaded.text)
    source.engine.store.create_run(new, Work()).release()
    source.run_id = run.id
    return source


def paused(bench: Bench) -> Source:
    """Return a run that waits for an answer."""
    register(bench.engine, "idempotent")
    source = Source(bench, document(policy={"approval": "always", "writableRoots": ["out"]}))
    source.run_id = bench.run(source.document).run_id
    return source


def waiting(bench: Bench) -> Source:
    """Return a run that waits for a quota."""
    source = begun(bench)
    source.move("wait_for_quota")
    return source


def budget_exceeded(bench: Bench) -> Source:
    """Return a run that its budget stopped."""
    register(bench.engine, "idempotent")
    agents = {"a": {"provider": "fake", "model": "m", "instructions": "Say it."}}
    asking = [task(name, "agent:a", with_={"prompt": name}) for name in ("first", "second")]
    budgets = {"maxProviderRequests": 1}
    spec: dict[str, Any] = {"providers": {"fake": {"kind": "fake"}}, "agents": agents}
    source = Source(bench, workflow(*asking, runtime={"budgets": budgets}, **spec))
    source.run_id = bench.run(source.document).run_id
    return source


def succeeded(bench: Bench) -> Source:
    """Return a run that succeeded."""
    source = begun(bench)
    source.engine.resume_sync(source.run_id)
    return source


def failed(bench: Bench) -> Source:
    """Return a run whose function failed."""
    register(bench.engine, "idempotent", ValueError("no"))
    source = Source(bench, document())
    source.run_id = bench.run(source.document).run_id
    return source


def cancelled(bench: Bench) -> Source:
    """Return a run that was cancelled."""
    source = begun(bench)
    source.engine.cancel_sync(source.run_id, actor="ann")
    return source


MAKE: dict[RunState, Callable[[Bench], Source]] = {
    "created": created,
    "running": begun,
    "paused": paused,
    "waiting": waiting,
    "budget_exceeded": budget_exceeded,
    "succeeded": succeeded,
    "failed": failed,
    "cancelled": cancelled,
}


def resume(source: Source) -> None:
    spent = "raise_budget" in RUN.legal(source.state())
    raised = {"maxProviderRequests": 9} if spent else None
    before = len(source.engine.store.transitions(source.run_id))
    source.engine.resume_sync(source.run_id, raise_budgets=raised, actor="ann")
    assert len(source.engine.store.transitions(source.run_id)) > before


def retry(source: Source) -> None:
    made = source.engine.plan_retry(source.loaded, source.run_id, failed=True)
    assert made.to_json()["sourceRunId"] == source.run_id


def repair(source: Source) -> None:
    changed = source.document
    changed["spec"]["outputs"] = {"more": 1}
    roots = [one["id"] for one in changed["spec"]["tasks"][-1:]]
    made = source.engine.plan_repair(source.loaded, source.run_id, roots=roots)
    assert made.roots == roots


def fork(source: Source) -> None:
    assert source.engine.plan_fork(source.run_id).compatible


def replay(source: Source) -> None:
    assert source.engine.replay_sync(source.run_id).state == source.state()


def compensate(source: Source) -> None:
    assert source.engine.plan_compensation(source.run_id).executable


def cancel(source: Source) -> None:
    outcome = source.engine.cancel_sync(source.run_id, actor="ann")
    assert outcome is not None
    assert RUN.is_final(outcome.state)


def reconcile(source: Source) -> None:
    found = source.engine.reconcile(
        source.run_id, "work/1.0", status="applied", actor="ann", reason="seen", result={}
    )
    assert found.actor == "ann"


def inspect(source: Source) -> None:
    assert child(source.engine.inspect(source.run_id), "run", "state") == source.state()


def verify(source: Source) -> None:
    assert verify_run(source.engine.store, source.run_id) == []


def export(source: Source, name: str = "run.jsonl") -> None:
    target = str(source.bench.folder / name)
    told = export_run(source.engine.store, source.run_id, target, artifacts=True)
    assert told.run_id == source.run_id


def take_in(source: Source) -> None:
    if not (source.bench.folder / "taken.jsonl").exists():
        export(source, "taken.jsonl")
    other = Bench(source.bench.folder / "other")
    try:
        import_run(other.engine.store, str(source.bench.folder / "taken.jsonl"))
        assert other.engine.history(source.run_id).run.state == source.state()
    finally:
        other.close()


def gc(source: Source) -> None:
    """Collect everything that may go; what a state's name refuses is refused as a call is."""
    cell = cell_of("gc", source.state())
    found = collect_runs(source.engine.store, Selection(), source.bench.clock.now())
    assert [one.id for one in found.runs] == [source.run_id] * cell.is_legal
    if not cell.is_legal:
        with pytest.raises(UsageError, match=cell.says):
            run_states([source.state()], operation="gc")
        require("gc", source.engine.history(source.run_id).run)


TRY: dict[Operation, Callable[[Source], None]] = {
    "resume": resume,
    "retry": retry,
    "repair": repair,
    "fork": fork,
    "replay": replay,
    "compensate": compensate,
    "cancel": cancel,
    "reconcile": reconcile,
    "inspect": inspect,
    "verify": verify,
    "export": export,
    "import": take_in,
    "gc": gc,
}


def in_doubt(bench: Bench, state: RunState) -> Source:
    """Return a run in a state, one of whose effects may have happened."""
    if state == "failed":
        register(bench.engine, "unknown", EffectError("the line went dead", ambiguous=True))
        source = Source(bench, document())
        source.run_id = bench.run(source.document).run_id
        return source
    source = begun(bench, "unknown")
    if state in {"waiting", "budget_exceeded"}:
        events: dict[str, RunEvent] = {"waiting": "wait_for_quota"}
        source.move(events.get(state, "exhaust_budget"))
    elif state == "cancelled":
        source.engine.cancel_sync(source.run_id, actor="ann")
    elif state == "paused":
        source.engine.resume_sync(source.run_id)
    elif state == "succeeded":
        reconcile(source)
        source.engine.resume_sync(source.run_id)
    return source


@pytest.mark.parametrize("state", RUN.states)
@pytest.mark.parametrize("operation", list(OPERATIONS))
def test_an_operation_does_what_the_table_says(
    bench: Bench, operation: Operation, state: RunState
) -> None:
    cell = cell_of(operation, state)
    doubts = operation == "reconcile" and cell.is_legal
    source = in_doubt(bench, state) if doubts else MAKE[state](bench)
    assert source.state() == state
    if cell.is_legal:
        TRY[operation](source)
        return
    before = source.engine.store.transitions(source.run_id)
    with pytest.raises((StateError, PortableRefused)) as caught:
        TRY[operation](source)
    message, next_step = refusal(operation, source.engine.history(source.run_id).run) or ("", "")
    assert (caught.value.message, caught.value.help) == (message, next_step)
    assert source.engine.store.transitions(source.run_id) == before
    assert len(source.engine.store.list_runs()) == 1


@pytest.mark.parametrize("operation", list(OPERATIONS))
def test_every_state_is_in_one_cell_and_every_next_step_is_legal_there(
    operation: Operation,
) -> None:
    named = [state for cell in OPERATIONS[operation] for state in cell.states]
    assert sorted(named) == sorted(RUN.states)
    for cell in OPERATIONS[operation]:
        if cell.next_step is not None:
            program, command, *_ = cell.next_step.split()
            assert program == "agentctl"
            following = {one: one for one in OPERATIONS}[command]  # type: ignore[index]
            assert all(cell_of(following, state).is_legal for state in cell.states)


@pytest.mark.parametrize(
    "operation", ["retry", "repair", "fork", "compensate", "resume", "cancel"]
)
def test_a_compensation_is_tried_again_at_its_source(bench: Bench, operation: Operation) -> None:
    source = failed(bench)
    undone = source.engine.compensate_sync(source.run_id).run_id
    again = Source(bench, source.document, undone)
    with pytest.raises(StateError) as caught:
        TRY[operation](again)
    assert caught.value.help == f"`agentctl compensate {source.run_id}`"
