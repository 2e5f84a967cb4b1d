"""Keeping runs: SQLite behind the engine's ports.

Above: the door and the CLI. `open_store` is the only way in; `sqlite.SqliteStore` is what it
gives. Nothing stored is ever executed or unpickled: rows are text, numbers and digests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from pathlib import Path

    from agentctl.clock import Clock
    from agentctl.store.database import Durability
    from agentctl.store.sqlite import SqliteStore


def open_store(
    path: str | Path,
    *,
    durability: Durability = "full",
    clock: Clock | None = None,
    busy_timeout_ms: int = 5000,
    shared_filesystem: bool = False,
    create: bool = True,
    connect: Callable[..., sqlite3.Connection] | None = None,
) -> SqliteStore:
    """Open a database, making and migrating it as needed.

    `shared_filesystem` accepts a rollback journal where a write-ahead log is unsafe; `connect`
    replaces `sqlite3.connect`, for fault injection. Raises StoreError: StoreReadOnly,
    StoreCorrupt, StoreUnsafe, StoreBusy, SchemaTooNew; and UsageError when `create` is false
    and there is no file.
    """
    import sqlite3 as driver
    from pathlib import Path

    from agentctl.clock import SystemClock
    from agentctl.errors import UsageError
    from agentctl.store.database import Database
    from agentctl.store.sqlite import SqliteStore

    place = Path(path)
    if not create and not place.exists():
        raise UsageError(
            f"there is no database at {place}",
            help="name it with --db, or run a workflow first",
        )

    def reopen() -> Database:
        return Database(
            place,
            durability=durability,
            busy_timeout_ms=busy_timeout_ms,
            shared_filesystem=shared_filesystem,
            connect=connect or driver.connect,
        )

    store = SqliteStore(reopen(), clock or SystemClock(), reopen)
    try:
        store.migrate()
    except BaseException:
        store.close()
        raise
    return store
