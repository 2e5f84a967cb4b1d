"""Reading a run piece by piece while another process writes it.

Above: `agentctl watch`. Below: the database. Whether anything changed is asked of SQLite without
a transaction; only then is there a read, which holds nobody up and no snapshot for long.
Source: sqlite.org/pragma.html#pragma_data_version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from attr import frozen

from agentctl.errors import UnknownRun
from agentctl.machines.compiled import RUN
from agentctl.store.rows import json_or_none, stream_event_from, transition_from
from agentctl.store.statements import SQL
from agentctl.value import Value

if TYPE_CHECKING:
    import sqlite3

    from agentctl.engine.records import StreamEvent, Transition
    from agentctl.machines.names import RunState
    from agentctl.store.sqlite import SqliteStore


@frozen(kw_only=True, eq=False, repr=False)
class Page(Value):
    """What was stored since the last one, as of one instant, and the run's state then.

    A stream record comes after the transition that its `after` names.
    """

    moves: list[tuple[int, Transition]]
    records: list[StreamEvent]
    state: RunState


class Follower:
    """Reads one run from its first transition on."""

    def __init__(self, store: SqliteStore, run_id: str) -> None:
        self._store = store
        self._run_id = run_id
        self._version = -1
        self._state: RunState = RUN.initial
        self._sequence = 0
        self._number = 0

    def next_page(self) -> Page | None:
        """Return what is new, or None when nobody wrote anything. Raises UnknownRun."""
        database = self._store.database
        with database.lock, database.explained():
            version = cast("int", database.connection.execute("PRAGMA data_version").fetchone()[0])
        if version == self._version:
            return None
        with database.reading() as connection:
            moves, records = self._read(connection)
        self._version = version
        for sequence, move in moves:
            self._sequence = sequence
            if move.machine == RUN.name:
                self._state = cast("RunState", move.target)
        self._number = records[-1].number if records else self._number
        return Page(moves=moves, records=records, state=self._state)

    def _read(
        self, connection: sqlite3.Connection
    ) -> tuple[list[tuple[int, Transition]], list[StreamEvent]]:
        found = connection.execute(SQL["run_number"], (self._run_id,)).fetchone()
        if found is None:
            raise UnknownRun(f"no run {self._run_id}", help="see `agentctl runs`")
        run = found[0]
        moves = connection.execute(SQL["transitions"], {"run": run, "after": self._sequence})
        records = connection.execute(SQL["stream_events"], {"run": run, "after": self._number})
        return (
            [
                (row["sequence"], transition_from(row, json_or_none(row["detail"])))
                for row in moves
            ],
            [stream_event_from(row) for row in records],
        )
