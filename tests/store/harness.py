"""Runs without a plan: what the store keeps, made by hand and moved by the machines' tables."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agentctl.engine.apply import Work
from agentctl.engine.ports import NewRun
from agentctl.engine.records import EffectRecord, RunRecord, TaskRecord
from agentctl.testing import EPOCH

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from agentctl.store.journal import RunJournal
    from agentctl.store.sqlite import SqliteStore


def new_run(run_id: str = "run-1", tasks: Sequence[str] = ("one", "two")) -> NewRun:
    """Return a run that has not moved, with its pending tasks."""
    run = RunRecord(
        id=run_id,
        workflow_name="flow",
        workflow_digest="w" * 64,
        plan_digest="p" * 64,
        trace_id="t" * 32,
        workspace="/nowhere",
        inputs={"name": "Ada"},
        created_at=EPOCH,
    )
    records = tuple(TaskRecord(id=name, position=place) for place, name in enumerate(tasks))
    return NewRun(run=run, plan={"tasks": list(tasks)}, tasks=records, memory={}, source="flow")


def started(store: SqliteStore, new: NewRun | None = None) -> tuple[RunJournal, RunRecord]:
    """Store a run whose first move is its start."""
    new = new or new_run()
    work = Work()
    run = work.move(new.run, "start", EPOCH)
    return store.create_run(new, work), run


def admitted(task: TaskRecord) -> tuple[Work, TaskRecord]:
    """Return the work that makes a task ready, with a detail and an actor."""
    work = Work()
    return work, work.move(task, "admit", EPOCH + 1, actor="ada", detail={"why": ["because"]})


def effect_of(task: TaskRecord, number: int = 1) -> EffectRecord:
    """Return a new line of the ledger."""
    return EffectRecord(
        id=f"{number:064x}",
        name=f"{task.id}/{task.attempt}.{number}",
        task_id=task.id,
        number=number,
        position=task.position,
        attempt=task.attempt,
        ordinal=number,
        operation="builtin.write",
        effect_class="workspace_mutate",
        risk="low",
        idempotency="keyed",
        input={"path": "a"},
        input_digest="0" * 64,
        key_digest="0" * 40,
        requested_at=EPOCH,
    )


@contextmanager
def tampering(path: Path) -> Iterator[sqlite3.Connection]:
    """Write to a database behind agentctl's back; foreign keys do not bind here."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()
