"""Looking after a database: what it is, whether it is sound, and a copy of it.

Above: `agentctl db`. Below: the store. It changes nothing in the database itself.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from agentctl.errors import StoreCorrupt, UsageError
from agentctl.store.migrate import NEWEST, check_recorded, schema_version
from agentctl.store.verify import verify_all

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject, JsonValue
    from agentctl.store.sqlite import SqliteStore

_PROBLEMS_MAX = 100


def info(store: SqliteStore) -> JsonObject:
    """Return where a database is, how large, and how it is set up; `runs` counts by state."""
    with store.database.reading() as connection:
        counted = connection.execute("SELECT state, count(*) FROM run GROUP BY state")
        runs: dict[str, JsonValue] = dict(sorted(map(tuple, counted)))
        schema = schema_version(connection)
        mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
        level = connection.execute("PRAGMA synchronous").fetchone()[0]
    return {
        "path": str(store.path),
        "sizeBytes": store.path.stat().st_size,
        "schemaVersion": schema,
        "newestSchemaVersion": NEWEST,
        "journalMode": mode,
        "synchronous": ("off", "normal", "full", "extra")[level],
        "runs": runs,
    }


def check(store: SqliteStore) -> list[str]:
    """Return what is wrong with a database: pages, references, migrations, journals."""
    with store.database.reading() as connection:
        rows = connection.execute(f"PRAGMA integrity_check({_PROBLEMS_MAX})").fetchall()
        broken = connection.execute("PRAGMA foreign_key_check").fetchmany(_PROBLEMS_MAX)
    found = [row[0] for row in rows if row[0] != "ok"]
    found += [f"row {row[1]} of {row[0]} refers to nothing in {row[2]}" for row in broken]
    if found:
        return found
    try:
        check_recorded(store.database)
    except StoreCorrupt as error:
        return [error.message]
    return [f"run {one.run_id}, {one.entity or 'run'}: {one.message}" for one in verify_all(store)]


def backup(store: SqliteStore, target: str) -> int:
    """Write a consistent, compact copy while others may write; return its size in bytes.

    Raises UsageError when the target exists or cannot be written.
    """
    try:
        return _back_up(store, Path(target))
    except FileExistsError:
        raise UsageError(f"{target} exists; a backup never replaces a file") from None
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror}") from error


def _back_up(store: SqliteStore, place: Path) -> int:
    if os.path.lexists(place):
        raise FileExistsError
    part = place.with_name(f".{place.name}.part")
    part.unlink(missing_ok=True)
    # Only its owner may read it, like the database itself.
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with store.database.lock, store.database.explained():
            # It takes a snapshot of its own, and refuses to run inside a transaction.
            store.database.connection.execute("VACUUM INTO ?", (str(part),))
        _sync(part)
        # A link, unlike a rename, fails when somebody made the target meanwhile.
        os.link(part, place)
    finally:
        part.unlink(missing_ok=True)
    _sync(place.parent)
    return place.stat().st_size


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
