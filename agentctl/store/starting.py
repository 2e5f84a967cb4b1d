"""One run under one start key.

Above: the store, inside the transaction that creates a run, so that one of several starts wins.
Below: SQLite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agentctl.errors import AlreadyStarted, StartKeyReused
from agentctl.store.statements import SQL

if TYPE_CHECKING:
    import sqlite3


def started_under(connection: sqlite3.Connection, key: str, request_digest: str) -> str | None:
    """Return the run that has a key.

    Raises StartKeyReused when it was asked for with something else.
    """
    row = connection.execute(SQL["started_under"], (key,)).fetchone()
    if row is None:
        return None
    run_id = cast("str", row["id"])
    if row["request_digest"] != request_digest:
        raise StartKeyReused(
            f"the key {key!r} belongs to run {run_id}, which has another workflow, other inputs "
            "or other variables",
            help=f"use a key of its own; `agentctl inspect {run_id}` shows what has this one",
            run_id=run_id,
        )
    return run_id


def take_key(connection: sqlite3.Connection, number: int, key: str, request_digest: str) -> None:
    """Give a run its key in the open transaction. Raises AlreadyStarted and StartKeyReused."""
    run_id = started_under(connection, key, request_digest)
    if run_id is not None:
        raise AlreadyStarted(
            f"run {run_id} was started under the key {key!r}",
            help=f"`agentctl inspect {run_id}` shows it",
            run_id=run_id,
        )
    connection.execute(SQL["insert_start_key"], (key, number, request_digest))
