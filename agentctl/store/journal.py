"""The exclusive right to write one run, and the one commit that uses it.

Above: the engine, through `engine.ports.Journal`. Below: SQLite. A commit checks the lease's
token, appends the transitions to the digest chain, writes every record by compare-and-set, and
is rolled back whole when anything does not fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.errors import LeaseLost, StoreError
from agentctl.jsonvalue import canonical
from agentctl.machines.sets import RUN_ACTIVE
from agentctl.store.chain import link
from agentctl.store.rows import first_key, packed
from agentctl.store.statements import SQL
from agentctl.store.writing import write_change, write_late_reports

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from agentctl.engine.apply import Work
    from agentctl.store.database import Database
    from agentctl.store.ingest import RunArtifacts
    from agentctl.store.lease import LeaseKeeper

_INSERT_TRANSITION = SQL["insert_transition"]
_LEASE_TOKEN = SQL["lease_token"]
_RELEASE = SQL["release_lease"]


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

    @property
    def sequence(self) -> int:
        """The number of the last transition."""
        return self._sequence

    def commit(self, work: Work) -> None:
        """Write one unit of work, whole or not at all.

        What an owner that lost its lease still learnt of its effects is kept as evidence.
        """
        try:
            self._commit(work)
        except LeaseLost:
            with self._database.writing() as connection:
                write_late_reports(connection, self._number, self._token, work)
            raise

    def _commit(self, work: Work) -> None:
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
        write_change(connection, number, change)
    if work.memory:
        connection.executemany(
            SQL["put_memory"],
            [(number, one.key, packed(one.value), one.task_id) for one in work.memory],
        )
    if work.stream:
        _write_stream(connection, number, position[0], work)
    return sequence, head, commits + bool(rows)


def _write_stream(connection: sqlite3.Connection, number: int, after: int, work: Work) -> None:
    connection.executemany(
        SQL["insert_stream_event"],
        [
            (
                number,
                number,
                after,
                one.task_id,
                one.attempt,
                one.sequence,
                one.provider_sequence,
                one.effect_id,
                one.event_type,
                canonical(one.payload),
                int(one.truncated),
                one.at,
            )
            for one in work.stream
        ],
    )
