"""Replay a journal: whether every move is legal, every link unbroken, every record its result.

Above: `agentctl verify`. Below: the store's rows and the machines' tables. It names the first
row that does not fit, and every artifact whose bytes are not there; it never repairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attr import frozen

from agentctl.errors import StoreCorrupt
from agentctl.machines.compiled import TABLES
from agentctl.store.chain import GENESIS, link
from agentctl.store.rows import transition_from
from agentctl.store.statements import SQL
from agentctl.value import Value

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from agentctl.engine.apply import Record
    from agentctl.engine.records import RunHistory, Transition
    from agentctl.store.sqlite import SqliteStore


@frozen(kw_only=True, eq=False, repr=False)
class Mismatch(Value):
    """One row that does not fit; `sequence` is None for a record."""

    run_id: str
    entity: str
    sequence: int | None
    message: str


def verify_run(store: SqliteStore, run_id: str, *, with_bytes: bool = True) -> list[Mismatch]:
    """Return the first row of the journal that does not fit, and every record that disagrees.

    `with_bytes` also reads every artifact.
    Raises UnknownRun.
    """
    try:
        history = store.load_run(run_id)
    except StoreCorrupt as error:
        return [Mismatch(run_id=run_id, entity="", sequence=None, message=error.message)]
    with store.database.reading() as connection:
        number = connection.execute(SQL["run_number"], (run_id,)).fetchone()[0]
        # The journal begins at 1; what stands before that was put there.
        rows = connection.execute(SQL["transitions"], {"run": number, "after": -1}).fetchall()
        commits = connection.execute(SQL["checkpoints"], {"run": number}).fetchall()
    last: dict[tuple[str, str], Transition] = {}
    broken = _first_broken(run_id, rows, last)
    if broken is not None:
        return [broken]
    end = commits[-1]["last_sequence"] if commits else 0
    if end != len(rows):
        message = f"the last commit ends at {end}, the journal at {len(rows)}"
        return [Mismatch(run_id=run_id, entity="", sequence=len(rows), message=message)]
    read = _bytes(store, history) if with_bytes else ()
    return [*_records(run_id, history, last), *read]


def verify_all(store: SqliteStore) -> list[Mismatch]:
    """Verify every run of a database."""
    with store.database.reading() as connection:
        run_ids = [row["id"] for row in connection.execute(SQL["run_ids"])]
    return [one for run_id in run_ids for one in verify_run(store, run_id)]


def _first_broken(
    run_id: str, rows: list[sqlite3.Row], last: dict[tuple[str, str], Transition]
) -> Mismatch | None:
    """Follow the chain; fill `last` with the newest move of every entity."""
    head = GENESIS
    for expected, row in enumerate(rows, start=1):
        # The text itself is covered by the digest, so it need not be read.
        move = transition_from(row, detail=None)
        head = link(head, expected, move, row["detail"], row["checkpoint"])
        key = (move.machine, move.entity)
        message = _problem(row, move, expected, head, last.get(key))
        if message is not None:
            return Mismatch(
                run_id=run_id,
                entity=f"{move.machine} {move.entity}".strip(),
                sequence=row["sequence"],
                message=message,
            )
        last[key] = move
    return None


def _problem(
    row: sqlite3.Row, move: Transition, expected: int, head: bytes, before: Transition | None
) -> str | None:
    if row["sequence"] != expected:
        return f"transition {expected} is missing"
    if row["digest"] != head:
        return "its digest does not follow from its columns and its predecessor"
    table = TABLES.get(move.machine)
    if table is None:
        return f"there is no machine {move.machine!r}"
    came_from = table.initial if before is None else before.target
    if move.source != came_from:
        return f"it leaves {move.source!r}, but the record stood at {came_from!r}"
    if table.rows.get(move.source, {}).get(move.event) != move.target:
        return f"{move.event!r} does not lead from {move.source!r} to {move.target!r}"
    if move.version != (0 if before is None else before.version) + 1:
        return f"version {move.version} does not follow its predecessor's"
    return None


def _bytes(store: SqliteStore, history: RunHistory) -> Iterator[Mismatch]:
    """Read the bytes that the run refers to."""
    for one in history.artifacts:
        problem = store.blobs.problem(one.digest)
        if problem is not None:
            yield Mismatch(
                run_id=history.run.id,
                entity=f"artifact {one.name}",
                sequence=None,
                message=f"the bytes of {one.digest} ({one.logical_path}) are {problem}",
            )


def _records(
    run_id: str, history: RunHistory, last: dict[tuple[str, str], Transition]
) -> Iterator[Mismatch]:
    """Hold every record against its newest move."""
    records: list[Record] = [history.run, *history.tasks, *history.effects]
    records += [*history.iterations, *history.approvals, *history.reconciliations]
    records += [*history.compensations, *history.artifacts]
    known = {(record.machine, record.entity) for record in records}
    for record in records:
        move = last.get((record.machine, record.entity))
        state = record.table.initial if move is None else move.target
        version = 0 if move is None else move.version
        if (record.state, record.version) != (state, version):
            yield Mismatch(
                run_id=run_id,
                entity=f"{record.machine} {record.entity}".strip(),
                sequence=None,
                message=f"the record is {record.state!r} at version {record.version}, "
                f"the journal ends at {state!r}, version {version}",
            )
    for machine, entity in last:
        if (machine, entity) not in known:
            yield Mismatch(
                run_id=run_id,
                entity=f"{machine} {entity}",
                sequence=None,
                message="the journal moves it, but there is no such record",
            )
