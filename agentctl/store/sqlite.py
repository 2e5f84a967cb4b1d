"""`SqliteStore`: runs in one SQLite file, behind the engine's `Store` port.

Above: the engine, the door and the CLI. Below: the journal, leases and rows.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, cast

from agentctl.clock import iso
from agentctl.engine.records import RunHistory
from agentctl.errors import StoreCorrupt, UnknownRun
from agentctl.jsonvalue import canonical, digest_text
from agentctl.store.blobs import Blobs
from agentctl.store.chain import GENESIS
from agentctl.store.ingest import RunArtifacts, artifacts_beside, refuse_damaged
from agentctl.store.journal import RunJournal, lets_go, write_work
from agentctl.store.lease import LeaseKeeper, is_alive, take, this_process
from agentctl.store.migrate import migrate
from agentctl.store.rows import (
    approval_from,
    artifact_from,
    compensation_from,
    effect_from,
    first_key,
    iteration_from,
    json_or_none,
    late_report_from,
    packed,
    read_json,
    reconciliation_from,
    run_from,
    stream_event_from,
    task_from,
    transition_from,
    unpacked,
)
from agentctl.store.statements import SQL

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Collection, Iterable, Sequence
    from pathlib import Path

    from agentctl.clock import Clock, Instant
    from agentctl.engine.apply import Work
    from agentctl.engine.ports import NewRun
    from agentctl.engine.records import (
        ApprovalRecord,
        EffectRecord,
        RunMode,
        RunRecord,
        StreamEvent,
        Transition,
    )
    from agentctl.jsonvalue import JsonObject
    from agentctl.store.database import Database
    from agentctl.store.entities import Entities


class SqliteStore:
    """Keeps runs, owns leases, and hands out journals."""

    def __init__(self, database: Database, clock: Clock, reopen: Callable[[], Database]) -> None:
        self.database = database
        self.clock = clock
        self.blobs = Blobs(artifacts_beside(database.path), wait_ms=database.busy_timeout_ms)
        self._keeper = LeaseKeeper(reopen, clock)

    @property
    def entities(self) -> Entities:
        """What the control plane keeps beside the runs."""
        from agentctl.store.entities import Entities

        return Entities(self.database)

    @property
    def path(self) -> Path:
        """The database file."""
        return self.database.path

    def migrate(self) -> list[str]:
        """Bring the schema up to date; return the steps applied."""
        return migrate(self.database, self.clock.now())

    def create_run(self, new: NewRun, work: Work) -> RunJournal:
        """Store a new run with its first unit of work, and own it.

        Raises AlreadyStarted and StartKeyReused for a start key that a run has, and UnknownRun
        when the run that it was made from is gone.
        """
        with self.database.writing() as connection:
            source = new.run.source_run_id
            if source is not None:
                # It may have been collected since it was read, and its artifacts with it.
                _number(connection, source)
            number = _insert_run(connection, new)
            if new.start_key is not None:
                from agentctl.store.starting import take_key

                take_key(connection, number, new.start_key, new.request_digest)
            ends = lets_go(work)
            token = 0 if ends else take(connection, number, new.run.id, new.run.created_at)
            end = write_work(connection, number, work, (0, GENESIS, 0))
        return self._journal(new.run.id, number, token, end, released=ends)

    def started_under(self, key: str, request_digest: str) -> str | None:
        """Return the run that has a start key. Raises StartKeyReused."""
        from agentctl.store.starting import started_under

        with self.database.reading() as connection:
            return started_under(connection, key, request_digest)

    def start_key_of(self, run_id: str) -> str | None:
        """Return the key that a run was started under, if it has one."""
        with self.database.reading() as connection:
            row = connection.execute(SQL["start_key_of"], (run_id,)).fetchone()
        return None if row is None else cast("str", row["key"])

    def claim_run(self, run_id: str, now: Instant) -> RunJournal:
        """Take the lease of an existing run. Raises UnknownRun and RunHeld."""
        with self.database.writing() as connection:
            number = _number(connection, run_id)
            token = take(connection, number, run_id, now)
            connection.execute("DELETE FROM cancel_request WHERE run = ?", (number,))
            head = connection.execute(SQL["journal_head"], {"run": number}).fetchone()
        end = (0, GENESIS, 0) if head is None else (head[0], head[1], head[2])
        return self._journal(run_id, number, token, end)

    def load_run(self, run_id: str) -> RunHistory:
        """Read all that resuming needs. Raises UnknownRun, and StoreCorrupt for bad rows."""
        with self.database.reading() as connection:
            row = connection.execute(SQL["run"], (run_id,)).fetchone()
            if row is None:
                raise _unknown(run_id)
            number = {"run": row["number"]}
            effects = tuple(map(effect_from, connection.execute(SQL["effects"], number)))
            questions = map(approval_from, connection.execute(SQL["approvals"], number))
            return RunHistory(
                run=run_from(row),
                plan=cast("JsonObject", read_json(_unpacked(row["plan"]))),
                tasks=tuple(map(task_from, connection.execute(SQL["tasks"], number))),
                effects=effects,
                iterations=tuple(
                    map(iteration_from, connection.execute(SQL["iterations"], number))
                ),
                approvals=_as_asked(questions, effects),
                late_reports=tuple(
                    map(late_report_from, connection.execute(SQL["late_reports"], number))
                ),
                reconciliations=tuple(
                    map(reconciliation_from, connection.execute(SQL["reconciliations"], number))
                ),
                compensations=tuple(
                    map(compensation_from, connection.execute(SQL["compensations"], number))
                ),
                artifacts=tuple(map(artifact_from, connection.execute(SQL["artifacts"], number))),
                memory={
                    one["key"]: unpacked(one["value"])
                    for one in connection.execute(SQL["memory"], number)
                },
                stream_counts={
                    (one["task_id"], one["attempt"]): one["count"]
                    for one in connection.execute(SQL["stream_counts"], number)
                },
            )

    def transitions(self, run_id: str, after: int = 0) -> list[tuple[int, Transition]]:
        """Read the journal from a sequence number on, oldest first."""
        with self.database.reading() as connection:
            number = _number(connection, run_id)
            rows = connection.execute(
                SQL["transitions"], {"run": number, "after": after}
            ).fetchall()
        return [
            (row["sequence"], transition_from(row, json_or_none(row["detail"]))) for row in rows
        ]

    def stream_events(self, run_id: str, after: int = 0) -> list[StreamEvent]:
        """Read a run's stream records from a number on, as they were stored."""
        with self.database.reading() as connection:
            number = _number(connection, run_id)
            rows = connection.execute(
                SQL["stream_events"], {"run": number, "after": after}
            ).fetchall()
        return [stream_event_from(row) for row in rows]

    def list_runs(
        self,
        *,
        states: Collection[str] = (),
        workflow: str | None = None,
        created_before: Instant | None = None,
        limit: int | None = None,
    ) -> list[RunRecord]:
        """Return the newest runs first; what is not given does not filter."""
        wanted = {
            "states": canonical(list(states)) if states else None,
            "workflow": workflow,
            "created_before": created_before,
            "limit": -1 if limit is None else limit,
        }
        with self.database.reading() as connection:
            rows = connection.execute(SQL["list_runs"], wanted).fetchall()
        return [run_from(row) for row in rows]

    def list_approvals(self, states: Collection[str] = ()) -> list[tuple[str, ApprovalRecord]]:
        """Return the questions of every run with the run's id, oldest first."""
        wanted = {"states": canonical(list(states)) if states else None}
        with self.database.reading() as connection:
            rows = connection.execute(SQL["list_approvals"], wanted).fetchall()
        return [(row["run_id"], approval_from(row)) for row in rows]

    def run_of_approval(self, approval_id: str) -> str | None:
        """Return the run that an approval request belongs to."""
        with self.database.reading() as connection:
            row = connection.execute(SQL["approval_run"], (approval_id,)).fetchone()
        return None if row is None else cast("str", row[0])

    def run_of_effect(self, effect_id: str) -> list[tuple[str, str]]:
        """Return run and id of the effects whose id begins so; at most two, for one is wanted."""
        with self.database.reading() as connection:
            rows = connection.execute(SQL["effect_run"], {"beginning": effect_id}).fetchall()
        return [(row["run_id"], row["effect_id"]) for row in rows]

    def source_of(self, run_id: str) -> str:
        """Return the text that a run was compiled from; "" where none was kept."""
        with self.database.reading() as connection:
            row = connection.execute(SQL["run_source"], {"id": run_id}).fetchone()
        return "" if row is None else _unpacked(row["body"]).decode("utf-8", "surrogatepass")

    def runs_made_from(self, run_id: str, mode: RunMode) -> list[str]:
        """Return the runs of one mode that name a run as their source, oldest first."""
        with self.database.reading() as connection:
            rows = connection.execute(SQL["runs_made_from"], (run_id, mode)).fetchall()
        return [row["id"] for row in rows]

    def check_artifacts(self, run_id: str) -> None:
        """Read every artifact of a run. Raises ArtifactDamaged with the digests of bad ones."""
        with self.database.reading() as connection:
            number = {"run": _number(connection, run_id)}
            rows = connection.execute(SQL["artifacts"], number).fetchall()
        refuse_damaged(self.blobs, run_id, map(artifact_from, rows))

    def request_cancel(self, run_id: str, actor: str, reason: str, now: Instant) -> None:
        """Leave a durable request that the owner of the run will see."""
        with self.database.writing() as connection:
            number = _number(connection, run_id)
            connection.execute(SQL["request_cancel"], (number, actor, reason, now))

    def holder(self, run_id: str) -> JsonObject | None:
        """Return who owns a run: `{host, pid, since, alive}`, or None.

        `alive` is false when the process is gone, or did not renew its lease in time.
        """
        with self.database.reading() as connection:
            number = _number(connection, run_id)
            row = connection.execute(SQL["lease"], (number,)).fetchone()
        if row is None or row["pid"] is None:
            return None
        alive = is_alive(row, this_process(), self.clock.now())
        since = iso(row["since"])
        return {"host": row["host"], "pid": row["pid"], "since": since, "alive": alive}

    def close(self) -> None:
        """Close the file and end the lease thread.

        The file comes first: whatever transaction is stuck in it ends then, and a lease that is
        still owed can be given back.
        """
        self.database.close()
        self._keeper.close()
        self.blobs.close()

    def _journal(
        self,
        run_id: str,
        number: int,
        token: int,
        end: tuple[int, bytes, int],
        *,
        released: bool = False,
    ) -> RunJournal:
        sequence, head, commits = end
        return RunJournal(
            self.database,
            self._keeper,
            run_id=run_id,
            number=number,
            token=token,
            sequence=sequence,
            head=head,
            commits=commits,
            artifacts=RunArtifacts(self.blobs),
            released=released,
        )


def _insert_run(connection: sqlite3.Connection, new: NewRun) -> int:
    run = new.run
    plan = canonical(new.plan)
    _insert_document(connection, run.plan_digest, "plan", plan)
    source_digest = digest_text(new.source) if new.source else None
    if source_digest is not None:
        _insert_document(connection, source_digest, "workflow", new.source)
    values = (run.id, run.state, run.version, run.mode, run.workflow_name, run.workflow_digest)
    about = (run.plan_digest, source_digest, run.source_run_id, run.trace_id)
    given = (
        run.workspace,
        run.folder or None,
        run.file or None,
        canonical(run.inputs),
        canonical(run.vars),
        run.created_at,
    )
    number = connection.execute(SQL["insert_run"], values + about + given).lastrowid
    assert number is not None
    connection.executemany(
        SQL["insert_task"],
        [
            (first_key(number) + task.position, task.id, task.state, task.version, task.attempt)
            for task in new.tasks
        ],
    )
    connection.executemany(
        SQL["put_memory"],
        [(number, key, packed(value), None) for key, value in new.memory.items()],
    )
    return number


def _insert_document(connection: sqlite3.Connection, digest: str, kind: str, text: str) -> None:
    body = zlib.compress(text.encode("utf-8", "surrogatepass"))
    connection.execute(SQL["insert_document"], (digest, kind, body))


def _as_asked(
    questions: Iterable[ApprovalRecord], effects: Sequence[EffectRecord]
) -> tuple[ApprovalRecord, ...]:
    """Return questions oldest first; those of one commit as their effects were asked for."""
    found = tuple(questions)
    if len(found) < 2:
        return found
    numbers = {one.id: one.number for one in effects}
    return tuple(
        sorted(found, key=lambda one: (one.requested_at, numbers.get(one.effect_id, 0), one.id))
    )


def _unpacked(body: bytes) -> bytes:
    try:
        return zlib.decompress(body)
    except zlib.error as error:
        raise StoreCorrupt(
            f"a stored plan is damaged: {error}", help="restore a backup"
        ) from error


def _number(connection: sqlite3.Connection, run_id: str) -> int:
    row = connection.execute(SQL["run_number"], (run_id,)).fetchone()
    if row is None:
        raise _unknown(run_id)
    return cast("int", row[0])


def _unknown(run_id: str) -> UnknownRun:
    return UnknownRun(f"no run {run_id}", help="see `agentctl runs`", run_id=run_id)
