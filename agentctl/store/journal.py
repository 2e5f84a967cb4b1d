"""The exclusive right to write one run, and the one commit that uses it.

Above: the engine, through `engine.ports.Journal`. Below: SQLite. A commit checks the lease's
token, appends the transitions to the digest chain, writes every record by compare-and-set, and
is rolled back whole when anything does not fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.engine.records import (
    ApprovalRecord,
    ArtifactRecord,
    EffectRecord,
    IterationRecord,
    ReconciliationRecord,
    RunRecord,
    TaskRecord,
)
from agentctl.errors import LeaseLost, StaleVersion, StoreError
from agentctl.jsonvalue import canonical
from agentctl.machines.sets import RUN_ACTIVE
from agentctl.store.chain import link
from agentctl.store.rows import first_key, text_or_null
from agentctl.store.statements import SQL

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from agentctl.engine.apply import Change, Record, Work
    from agentctl.store.database import Database
    from agentctl.store.ingest import RunArtifacts
    from agentctl.store.lease import LeaseKeeper

_INSERT_TRANSITION = SQL["insert_transition"]
_LEASE_TOKEN = SQL["lease_token"]
_RELEASE = SQL["release_lease"]
_UPDATE_TASK = SQL["update_task"]
_UPDATE_EFFECT = SQL["update_effect"]
_INSERT_EFFECT = SQL["insert_effect"]


class RunJournal:
    """Writes one run; `head` is the last link of its chain, `sequence` that link's number."""

    def __init__(
        self,
        database: Database,
        keeper: LeaseKeeper,
        *,
        run_id: str,
        number: int,
        token: int,
        sequence: int,
        head: bytes,
        commits: int,
        artifacts: RunArtifacts,
        released: bool = False,
    ) -> None:
        self.artifacts = artifacts
        self._database = database
        self._keeper = keeper
        self._number = number
        self._token = token
        self._sequence = sequence
        self._head = head
        self._commits = commits
        self._released = released
        self.run_id = run_id

    def commit(self, work: Work) -> None:
        """Write one unit of work, whole or not at all."""
        with self._database.writing() as connection:
            found = connection.execute(_LEASE_TOKEN, (self._number,)).fetchone()
            if found is None or found[0] != self._token:
                raise LeaseLost(
                    f"another process took over run {self.run_id}; nothing more is written here",
                    run_id=self.run_id,
                )
            written = write_work(
                connection, self._number, work, (self._sequence, self._head, self._commits)
            )
            ends = lets_go(work)
            if ends:
                connection.execute(_RELEASE, (self._number, self._token))
        self._sequence, self._head, self._commits = written
        if self.artifacts.held:
            self.artifacts.settle(work)
        self._released = self._released or ends

    def on_cancel(self, notify: Callable[[str, str], None]) -> None:
        """Call `notify(actor, reason)` from the lease thread when somebody asks to cancel."""
        self._keeper.watch(self._number, self._token, notify)

    def release(self) -> None:
        """Give the lease back, unless the run's last commit did.

        What cannot be written now is written as soon as the database can be: this process may
        live on for long, and would keep everybody from the run.
        """
        self._keeper.forget(self._number)
        self.artifacts.release()
        if self._released:
            return
        self._released = True
        try:
            with self._database.writing() as connection:
                connection.execute(_RELEASE, (self._number, self._token))
        except StoreError:
            self._keeper.owe(self._number, self._token)
            raise


def lets_go(work: Work) -> bool:
    """Return whether a unit of work ends or parks its run, so that nobody needs to own it."""
    change = work.changes.get(("run", ""))
    return change is not None and change.record.state not in RUN_ACTIVE


def write_work(
    connection: sqlite3.Connection, number: int, work: Work, position: tuple[int, bytes, int]
) -> tuple[int, bytes, int]:
    """Write a unit of work in the open transaction; return the new end of the journal."""
    sequence, head, commits = position
    rows = []
    place = first_key(number)
    last = sequence + len(work.transitions)
    for move in work.transitions:
        sequence += 1
        detail = None if move.detail is None else canonical(move.detail)
        checkpoint = commits + 1 if sequence == last else None
        head = link(head, sequence, move, detail, checkpoint)
        rows.append(
            (
                place + sequence,
                move.machine,
                move.entity,
                move.version,
                move.source,
                move.event,
                move.target,
                move.at,
                move.actor,
                detail,
                checkpoint,
                head,
            )
        )
    connection.executemany(_INSERT_TRANSITION, rows)
    for change in work.changes.values():
        _WRITERS[type(change.record)](connection, number, change)
    if work.memory:
        connection.executemany(
            SQL["put_memory"],
            [(number, one.key, canonical(one.value), one.task_id) for one in work.memory],
        )
    if work.stream:
        _write_stream(connection, number, work)
    return sequence, head, commits + bool(rows)


def _write_stream(connection: sqlite3.Connection, number: int, work: Work) -> None:
    connection.executemany(
        SQL["insert_stream_event"],
        [
            (
                number,
                one.task_id,
                one.attempt,
                one.sequence,
                one.effect_id,
                one.event_type,
                canonical(one.payload),
                int(one.truncated),
                one.at,
            )
            for one in work.stream
        ],
    )


def _compare_and_set(
    connection: sqlite3.Connection, sql: str, values: tuple[object, ...], record: Record
) -> None:
    if connection.execute(sql, values).rowcount != 1:
        raise StaleVersion(
            f"{record.machine} {record.entity!r} changed since it was read; nothing was written"
        )


def _write_run(connection: sqlite3.Connection, number: int, change: Change) -> None:
    run = change.record
    assert isinstance(run, RunRecord)
    values = (
        run.state,
        run.version,
        run.ended_at,
        text_or_null(run.output),
        text_or_null(run.error),
        text_or_null(run.raised_budgets),
        number,
        change.base,
    )
    _compare_and_set(connection, SQL["update_run"], values, run)


def _write_task(connection: sqlite3.Connection, number: int, change: Change) -> None:
    task = change.record
    assert isinstance(task, TaskRecord)
    values = (
        task.state,
        task.version,
        task.attempt,
        task.disposition,
        task.started_at,
        task.ended_at,
        task.due_at,
        text_or_null(task.output),
        text_or_null(task.error),
        text_or_null(task.snapshot),
        first_key(number) + task.position,
        change.base,
    )
    _compare_and_set(connection, _UPDATE_TASK, values, task)


def _write_effect(connection: sqlite3.Connection, number: int, change: Change) -> None:
    effect = change.record
    assert isinstance(effect, EffectRecord)
    if change.base is None:
        connection.execute(
            _INSERT_EFFECT,
            (
                first_key(number) + effect.number,
                effect.position,
                effect.attempt,
                effect.ordinal,
                bytes.fromhex(effect.id),
                effect.operation,
                effect.effect_class,
                effect.risk,
                effect.idempotency,
                canonical(effect.input),
                bytes.fromhex(effect.input_digest),
                effect.state,
                effect.version,
                effect.dispatch,
                effect.requested_at,
                effect.started_at,
                effect.ended_at,
                text_or_null(effect.result),
                text_or_null(effect.error),
            ),
        )
        return
    values = (
        effect.state,
        effect.version,
        effect.dispatch,
        effect.started_at,
        effect.ended_at,
        text_or_null(effect.result),
        text_or_null(effect.error),
        first_key(number) + effect.number,
        change.base,
    )
    _compare_and_set(connection, _UPDATE_EFFECT, values, effect)


def _write_iteration(connection: sqlite3.Connection, number: int, change: Change) -> None:
    one = change.record
    assert isinstance(one, IterationRecord)
    if change.base is None:
        values = (number, one.id, one.parent, one.index, one.state, one.version)
        connection.execute(SQL["insert_iteration"], values)
        return
    moved = (one.state, one.version, number, one.id, change.base)
    _compare_and_set(connection, SQL["update_iteration"], moved, one)


def _write_approval(connection: sqlite3.Connection, number: int, change: Change) -> None:
    one = change.record
    assert isinstance(one, ApprovalRecord)
    if change.base is None:
        asked = (one.id, number, one.task_id, one.effect_id, one.request_digest, one.summary)
        stands = (one.state, one.version, one.requested_at, one.decided_at, one.actor, one.reason)
        connection.execute(SQL["insert_approval"], asked + stands)
        return
    moved = (one.state, one.version, one.decided_at, one.actor, one.reason, one.id, change.base)
    _compare_and_set(connection, SQL["update_approval"], moved, one)


def _write_reconciliation(connection: sqlite3.Connection, number: int, change: Change) -> None:
    one = change.record
    assert isinstance(one, ReconciliationRecord)
    found = (
        one.decided_at,
        one.actor,
        one.reason,
        text_or_null(one.evidence),
        text_or_null(one.result),
        one.compensation_effect,
    )
    stands = (one.state, one.version)
    if change.base is None:
        named = (number, one.effect_name, one.effect_id)
        connection.execute(
            SQL["insert_reconciliation"], (*named, *stands, one.opened_at, *found)
        )
        return
    moved = (*stands, *found, number, one.effect_name, change.base)
    _compare_and_set(connection, SQL["update_reconciliation"], moved, one)


def _write_artifact(connection: sqlite3.Connection, number: int, change: Change) -> None:
    one = change.record
    assert isinstance(one, ArtifactRecord)
    key = first_key(number) + one.number
    if change.base is None:
        kept = (bytes.fromhex(one.digest), one.size_bytes, one.logical_path, one.media_type)
        stands = (one.state, one.version, one.created_at)
        connection.execute(SQL["insert_artifact"], (key, one.name, one.task_id, *kept, *stands))
        return
    moved = (one.state, one.version, key, change.base)
    _compare_and_set(connection, SQL["update_artifact"], moved, one)


_WRITERS = {
    RunRecord: _write_run,
    TaskRecord: _write_task,
    EffectRecord: _write_effect,
    IterationRecord: _write_iteration,
    ApprovalRecord: _write_approval,
    ReconciliationRecord: _write_reconciliation,
    ArtifactRecord: _write_artifact,
}
