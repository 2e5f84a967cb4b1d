"""Entities of the control plane in SQLite: the newest revision, all revisions, keyed results.

Above: the store. Below: SQLite and the machines' edges. A call's changes and its result are one
transaction, so that a repetition after a crash finds both or neither.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, TypeVar, cast

from agentctl.engine.entities import MACHINES, Entity, EntityMove
from agentctl.errors import KeyReused, StaleVersion
from agentctl.jsonvalue import canonical
from agentctl.store.chain import GENESIS
from agentctl.store.rows import json_or_none, read_json
from agentctl.store.statements import SQL

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence

    from agentctl.clock import Instant
    from agentctl.engine.entities import EntityKind, EntityView, OperationKey, Performed
    from agentctl.jsonvalue import JsonObject, JsonValue
    from agentctl.store.database import Database

T = TypeVar("T")


class Entities:
    """The entities of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def look(self, act: Callable[[EntityView], T]) -> T:
        """Return what `act` makes of a snapshot."""
        with self._database.reading() as connection:
            return act(EntityRows(connection))

    def perform(
        self, key: OperationKey, act: Callable[[EntityView], Performed], now: Instant
    ) -> JsonObject:
        """Carry a call out once, and return its result; a repetition returns it again.

        Raises KeyReused when the key was used for another request.
        """
        with self._database.writing() as connection:
            known = connection.execute(SQL["operation"], (key.key,)).fetchone()
            if known is not None:
                return _recorded(known, key)
            done = act(EntityRows(connection))
            for move in done.moves:
                _write(connection, move)
            values = (key.key, key.run_id, key.operation, key.request_digest)
            connection.execute(SQL["insert_operation"], (*values, canonical(done.result), now))
            return done.result


class EntityRows:
    """Entities read in an open transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._execute = connection.execute

    def entity(self, kind: EntityKind, id: str) -> Entity | None:
        """Return one entity."""
        row = self._execute(SQL["entity"], (kind, id)).fetchone()
        return None if row is None else _entity(row)

    def entities(self, kind: EntityKind, owner: str | None = None) -> list[Entity]:
        """Return all of a kind, of one owner or of all, oldest first."""
        rows = self._execute(SQL["entities"], {"kind": kind, "owner": owner})
        return [_entity(row) for row in rows]

    def revisions(self, kind: EntityKind, id: str) -> list[EntityMove]:
        """Return every revision of one entity, oldest first."""
        return [_move(row) for row in self._execute(SQL["entity_revisions"], (kind, id))]

    def history(self, owner: str, limit: int) -> list[EntityMove]:
        """Return the newest revisions of all that an assignment owns, newest first."""
        return [_move(row) for row in self._execute(SQL["entity_history"], (owner, limit))]

    def result(self, run_id: str, key: str) -> JsonValue:
        """Return what a call of a run has answered: kept with its changes, or on the ledger."""
        for name in ("operation_result", "effect_result"):
            row = self._execute(SQL[name], {"id": run_id, "key": key}).fetchone()
            if row is not None:
                return json_or_none(row["result"])
        return None


def _recorded(row: sqlite3.Row, key: OperationKey) -> JsonObject:
    if row["request_digest"] != key.request_digest or row["run_id"] != key.run_id:
        raise KeyReused(
            f"the idempotency key {key.key!r} was used for another call of {row['operation']}",
            help="use a new key for a new call",
        )
    return cast("JsonObject", read_json(row["result"]))


def _write(connection: sqlite3.Connection, move: EntityMove) -> None:
    one = move.entity
    body = canonical(one.body)
    if move.event is None:
        named = (one.kind, one.id, one.owner, one.state, one.revision)
        connection.execute(SQL["insert_entity"], (*named, body, one.created_at, one.updated_at))
    else:
        values = (one.state, one.revision, body, one.updated_at, one.kind, one.id)
        found = connection.execute(SQL["update_entity"], (*values, one.revision - 1))
        if found.rowcount != 1:
            raise StaleVersion(f"{one.kind} {one.id} changed since it was read")
    machine = None if move.event is None else MACHINES[one.kind].name
    proof = (machine, move.source, move.event, one.state)
    made = (one.updated_at, move.actor, move.run_id, move.operation)
    row = (one.kind, one.id, one.owner, one.revision, *proof, body, one.created_at, *made)
    head = connection.execute(SQL["entity_chain_head"]).fetchone()
    link = chained(GENESIS if head is None else head["digest"], row)
    connection.execute(SQL["insert_entity_revision"], (*row, link))


def chained(head: bytes, row: Sequence[str | int | None]) -> bytes:
    """Return the digest of a revision: over its predecessor's, whichever entity's that is."""
    text = canonical([*row])
    return sha256(head + text.encode("utf-8", "surrogatepass")).digest()


def _entity(row: sqlite3.Row) -> Entity:
    kind = cast("EntityKind", row["kind"])
    return Entity(
        kind=kind,
        id=row["id"],
        owner=row["owner"],
        state=MACHINES[kind].as_state(row["state"]),
        revision=row["revision"],
        body=cast("JsonObject", read_json(row["body"])),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _move(row: sqlite3.Row) -> EntityMove:
    return EntityMove(
        entity=_entity(row),
        event=row["event"],
        source=row["source"],
        actor=row["actor"],
        run_id=row["run_id"],
        operation=row["operation"],
    )
