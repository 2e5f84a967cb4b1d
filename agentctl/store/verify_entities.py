"""Whether every revision of an entity follows from the one before, and none was changed.

Above: `agentctl verify`. Below: the rows of entities and their machines. It names what does not
fit, and never repairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.engine.entities import MACHINES
from agentctl.store.chain import GENESIS
from agentctl.store.entities import chained
from agentctl.store.statements import SQL
from agentctl.store.verify import Mismatch

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from agentctl.store.sqlite import SqliteStore

# What the digest of a revision covers, in its order.
_COLUMNS = (
    "kind", "id", "owner", "revision", "machine", "source", "event", "state", "body",
    "created_at", "updated_at", "actor", "run_id", "operation",
)  # fmt: skip
_KEPT = ("owner", "state", "revision", "body", "created_at", "updated_at")


def verify_entities(store: SqliteStore) -> list[Mismatch]:
    """Return the first revision that does not fit, or else every entity that disagrees."""
    with store.database.reading() as connection:
        revisions = connection.execute(SQL["all_entity_revisions"]).fetchall()
        entities = connection.execute(SQL["all_entities"]).fetchall()
    newest: dict[tuple[str, str], sqlite3.Row] = {}
    head = GENESIS
    for row in revisions:
        head = chained(head, [row[name] for name in _COLUMNS])
        key = (row["kind"], row["id"])
        problem = _problem(row, newest.get(key), head)
        if problem is not None:
            return [_mismatch(key, row["sequence"], problem)]
        newest[key] = row
    return list(_disagreeing(entities, newest))


def _problem(row: sqlite3.Row, before: sqlite3.Row | None, head: bytes) -> str | None:
    if row["digest"] != head:
        return "its digest does not follow from its columns and its predecessor"
    table = MACHINES.get(row["kind"])
    if table is None:
        return f"there is no kind {row['kind']!r}"
    if row["revision"] != (0 if before is None else before["revision"]) + 1:
        return f"revision {row['revision']} does not follow its predecessor's"
    if before is None:
        return None if row["state"] == table.initial else "it does not begin at the beginning"
    if row["source"] != before["state"]:
        return f"it leaves {row['source']!r}, but the entity stood at {before['state']!r}"
    if table.rows.get(row["source"], {}).get(row["event"]) != row["state"]:
        return f"{row['event']!r} does not lead from {row['source']!r} to {row['state']!r}"
    return None


def _disagreeing(
    entities: list[sqlite3.Row], newest: dict[tuple[str, str], sqlite3.Row]
) -> Iterator[Mismatch]:
    for row in entities:
        key = (row["kind"], row["id"])
        last = newest.pop(key, None)
        if last is None:
            yield _mismatch(key, None, "it has no revision")
        elif any(row[name] != last[name] for name in _KEPT):
            yield _mismatch(key, None, "it is not what its newest revision says")
    for key in newest:
        yield _mismatch(key, None, "it has revisions, but there is no such entity")


def _mismatch(key: tuple[str, str], sequence: int | None, message: str) -> Mismatch:
    return Mismatch(run_id="", entity=" ".join(key), sequence=sequence, message=message)
