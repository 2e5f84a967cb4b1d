"""What is stored is read back equal, and a commit is all or nothing."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from attr import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from agentctl.engine.apply import Work
from agentctl.engine.records import ApprovalRecord, IterationRecord, MemoryWrite, StreamEvent
from agentctl.errors import StaleVersion, StoreError, UnknownRun
from agentctl.machines.compiled import APPROVAL, ARTIFACT, EFFECT, ITERATION, RUN, TASK
from agentctl.store import open_store
from agentctl.store.verify import verify_run
from agentctl.testing import EPOCH, ManualClock
from tests.store.harness import admitted, effect_of, new_run, started, tampering
from tests.store.keeping import DATA, reference

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentctl.engine.apply import Record
    from agentctl.engine.records import RunHistory
    from agentctl.machines.table import Table
    from agentctl.store.sqlite import SqliteStore

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
instants = st.integers(0, 2**53)
maybe = st.none() | instants
ended = {"ended_at": maybe, "error": values}
columns: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "run": {**ended, "output": values},
    "task": {
        **ended,
        "output": values,
        "snapshot": values,
        "attempt": st.integers(0, 9),
        "disposition": st.sampled_from([None, "executed", "reused", "recorded"]),
        "started_at": maybe,
        "due_at": maybe,
    },
    "effect": {**ended, "result": values, "dispatch": st.integers(0, 9), "started_at": maybe},
    "approval": {"decided_at": maybe, "reason": st.none() | st.text(max_size=4)},
}
quick = settings(max_examples=40, deadline=None)


def walk(data: st.DataObject, table: Table[Any, Any]) -> list[str]:
    """Draw a legal sequence of events from the initial state on."""
    events, state = [], table.initial
    for _ in range(data.draw(st.integers(0, 5))):
        if not table.legal(state):
            break
        event = data.draw(st.sampled_from(table.legal(state)))
        events.append(event)
        state = table.step(state, event)
    return events


def every_record(history: RunHistory) -> list[Record]:
    """Return all records of a run that were changed by work."""
    return [
        history.run,
        *history.tasks,
        *history.effects,
        *history.iterations,
        *history.approvals,
        *history.artifacts,
    ]


def first_work(data: st.DataObject, records: list[Any]) -> tuple[Work, StreamEvent]:
    """Return work that adds records, a memory and a stream event of any content."""
    draw = data.draw
    first = Work()
    for record in records:
        first.add(record)
    first.memory.append(MemoryWrite(key="kept", value=draw(values), task_id="one"))
    event = StreamEvent(
        task_id="one",
        attempt=1,
        sequence=1,
        provider_sequence=draw(st.none() | st.integers(1, 1 << 40)),
        effect_id="e",
        event_type="token",
        payload=draw(values),
        truncated=draw(st.booleans()),
        at=draw(instants),
    )
    first.stream.append(event)
    return first, event


@quick
@given(data=st.data())
def test_records_of_any_content_are_read_back_equal_and_verify(data: st.DataObject) -> None:
    """Random legal walks of every machine with random values, in several commits."""
    draw = data.draw
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder, "state.db"), clock=ManualClock(), durability="normal")
        new = new_run(tasks=("one", "two"))
        new = evolve(
            new,
            run=evolve(new.run, inputs=draw(st.dictionaries(st.text(max_size=4), values))),
            plan={"any": draw(values)},
            memory={"given": draw(values)},
        )
        journal = store.create_run(new, Work())
        task = new.tasks[0]
        loop = IterationRecord(id="one.0", parent="one", index=0)
        asked = ApprovalRecord(
            id="approval-1",
            task_id="one",
            effect_id="e",
            request_digest="r",
            summary=draw(st.text(max_size=8)),
            requested_at=EPOCH,
        )
        kept = reference("0" * 64)
        records: list[Any] = [new.run, task, effect_of(task), loop, asked, kept]
        first, event = first_work(data, records[2:])
        journal.commit(first)
        wanted: list[Any] = []
        tables: list[Table[Any, Any]] = [RUN, TASK, EFFECT, ITERATION, APPROVAL, ARTIFACT]
        for record, table in zip(records, tables, strict=True):
            work = Work()
            moved = record
            for one in walk(data, table):
                detail = draw(values)
                actor = draw(st.none() | st.text(max_size=4))
                more = {name: draw(column) for name, column in columns.get(table.name, {}).items()}
                more |= {"actor": actor, "detail": detail}
                step: Any = work.move
                moved = step(moved, one, draw(instants), **more)
            journal.commit(work)
            wanted.append(moved)
        found = store.load_run("run-1")
        assert every_record(found) == [*wanted[:2], new.tasks[1], *wanted[2:]]
        assert found.plan == new.plan
        assert found.memory == {**new.memory, "kept": first.memory[0].value}
        (stored,) = store.stream_events("run-1")
        assert stored.number == 1
        assert evolve(stored, number=0, after=0) == event
        assert found.stream_counts == {("one", 1): 1}
        # The bytes behind the digest are another matter.
        mismatches = verify_run(store, "run-1")
        assert [one.entity for one in mismatches] == [f"artifact {kept.name}"]
        store.close()


def test_an_unknown_run_is_refused_by_everything_that_names_one(store: SqliteStore) -> None:
    calls: list[Callable[[str], object]] = [
        store.load_run,
        store.transitions,
        store.stream_events,
        store.holder,
        lambda run_id: store.claim_run(run_id, EPOCH),
        lambda run_id: store.request_cancel(run_id, "ada", "", EPOCH),
        lambda run_id: verify_run(store, run_id),
    ]
    for call in calls:
        with pytest.raises(UnknownRun, match="no run nobody"):
            call("nobody")
    assert store.run_of_approval("nobody") is None


def test_a_record_that_changed_since_it_was_read_stops_the_whole_commit(
    store: SqliteStore,
) -> None:
    journal, _ = started(store)
    one, two = new_run().tasks
    journal.commit(admitted(one)[0])
    stale, moved = admitted(one)
    stale.move(two, "admit", EPOCH)
    stale.memory.append(MemoryWrite(key="late", value=1, task_id="one"))
    before = store.load_run("run-1"), store.transitions("run-1")
    with pytest.raises(StaleVersion, match="task 'one' changed"):
        journal.commit(stale)
    assert (store.load_run("run-1"), store.transitions("run-1")) == before
    work = Work()
    work.move(moved, "start", EPOCH)
    journal.commit(work)
    assert verify_run(store, "run-1") == []


@pytest.mark.parametrize("table", ["effect", "iteration", "approval", "artifact", "run"])
def test_every_kind_of_record_is_written_by_compare_and_set(
    store: SqliteStore, table: str
) -> None:
    journal, run = started(store)
    task = new_run().tasks[0]
    effect = effect_of(task)
    loop = IterationRecord(id="one.0", parent="one", index=0)
    asked = ApprovalRecord(
        id="a", task_id="one", effect_id="e", request_digest="r", summary="s", requested_at=EPOCH
    )
    made = Work()
    kept = reference(journal.artifacts.ingest(DATA))
    for record in (effect, loop, asked, kept):
        made.add(record)
    journal.commit(made)
    with tampering(store.path) as connection:
        connection.execute(f"UPDATE {table} SET version = version + 1")
    work = Work()
    if table == "run":
        work.move(run, "pause_for_approval", EPOCH)
    elif table == "effect":
        work.move(effect, "start", EPOCH)
    elif table == "iteration":
        work.move(loop, "evaluate", EPOCH)
    elif table == "artifact":
        work.move_on(kept, ("sync",), EPOCH)
    else:
        work.move(asked, "approve", EPOCH)
    with pytest.raises(StaleVersion, match=table):
        journal.commit(work)


def test_a_move_that_no_machine_declares_is_refused_by_the_database(store: SqliteStore) -> None:
    journal, _ = started(store)
    work, _ = admitted(new_run().tasks[0])
    work.transitions[0] = evolve(work.transitions[0], target="succeeded")
    with pytest.raises(StoreError, match="FOREIGN KEY"):
        journal.commit(work)
    assert len(store.transitions("run-1")) == 1


def test_the_journal_is_read_from_any_number_on(store: SqliteStore) -> None:
    journal, _ = started(store)
    for task in new_run().tasks:
        journal.commit(admitted(task)[0])
    every = store.transitions("run-1")
    assert [number for number, _ in every] == [1, 2, 3]
    assert every[1][1].detail == {"why": ["because"]}
    assert store.transitions("run-1", after=2) == every[2:]
    assert store.transitions("run-1", after=3) == []


def test_equal_plans_are_kept_once(store: SqliteStore) -> None:
    for name in ("run-1", "run-2"):
        started(store, new_run(name))
    with store.database.reading() as connection:
        kinds = connection.execute("SELECT kind FROM document ORDER BY kind").fetchall()
    assert [row[0] for row in kinds] == ["plan", "workflow"]


def test_rows_of_neighbouring_runs_do_not_mix(store: SqliteStore) -> None:
    first, _ = started(store, new_run("run-1"))
    second, _ = started(store, new_run("run-2", tasks=("one",)))
    task = new_run().tasks[0]
    for journal in (first, second):
        work, _ = admitted(task)
        work.add(effect_of(task))
        journal.commit(work)
    for run_id, tasks in (("run-1", 2), ("run-2", 1)):
        history = store.load_run(run_id)
        assert (len(history.tasks), len(history.effects)) == (tasks, 1)
        assert len(store.transitions(run_id)) == 2


def test_runs_are_listed_newest_first_and_filtered(store: SqliteStore) -> None:
    for number in range(4):
        new = new_run(f"run-{number}")
        name = "odd" if number % 2 else "even"
        run = evolve(new.run, workflow_name=name, created_at=EPOCH + number)
        started(store, evolve(new, run=run))

    def listed(**filters: Any) -> list[str]:
        return [run.id for run in store.list_runs(**filters)]

    assert listed() == ["run-3", "run-2", "run-1", "run-0"]
    assert listed(limit=2) == ["run-3", "run-2"]
    assert listed(limit=0) == []
    assert listed(workflow="odd") == ["run-3", "run-1"]
    assert listed(created_before=EPOCH + 1) == ["run-1", "run-0"]
    assert listed(states=["succeeded"]) == []
    assert listed(states=["succeeded", "running"], workflow="even", limit=1) == ["run-2"]


def test_the_run_of_an_approval_is_found(store: SqliteStore) -> None:
    journal, _ = started(store)
    work = Work()
    asked = ApprovalRecord(
        id="a", task_id="one", effect_id="e", request_digest="r", summary="s", requested_at=EPOCH
    )
    work.add(asked)
    journal.commit(work)
    assert store.run_of_approval("a") == "run-1"
