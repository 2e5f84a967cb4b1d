"""One SQLite file: opening it safely, and the one way to write to it.

Above: the journal and the store. Below: sqlite3. Every driver error becomes one of ours, with
what to do about it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import threading
import time
from typing import TYPE_CHECKING

from agentctl.errors import StoreBusy, StoreCorrupt, StoreError, StoreFull, StoreReadOnly
from agentctl.folders import make_folder
from agentctl.store.filesystem import refuse_shared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import Literal

    Durability = Literal["full", "normal"]

# Spells "agct": file(1) and other programs can tell whose file it is.
APPLICATION_ID = 0x61676374
# A log that starts again from its beginning is overwritten in place, and that syncs faster than
# appending; a checkpoint itself costs two or three syncs.
CHECKPOINT_PAGES = 1000
STATEMENTS_CACHED = 64
_PAUSE_SECONDS = 0.001
# How long SQLite waits for the write lock at a time: it asks after 1, 3 and 8 ms.
_TURN_MS = 8
# No thread may connect to a new file before the one that made it has closed it.
_MAKING = threading.Lock()


class Database:
    """A connection with its lock; several threads may use it, one at a time."""

    def __init__(
        self,
        path: Path,
        *,
        durability: Durability = "full",
        busy_timeout_ms: int = 5000,
        shared_filesystem: bool = False,
        connect: Callable[..., sqlite3.Connection] = sqlite3.connect,
    ) -> None:
        self.path = path
        self.durability = durability
        self.busy_timeout_ms = busy_timeout_ms
        self._connect = connect
        self.lock = threading.RLock()
        wal = refuse_shared(path, allow=shared_filesystem)
        with self.explained():
            self.connection = self._open(wal=wal)

    def writing(self) -> Transaction:
        """Hold the write lock for one transaction: committed at the end, or rolled back."""
        return Transaction(self, self.begin_writing, "COMMIT")

    def reading(self) -> Transaction:
        """Read a consistent snapshot."""
        return Transaction(self, self.begin_reading, "ROLLBACK")

    def begin_reading(self) -> None:
        """Begin a transaction that takes its snapshot with the first read."""
        self.connection.execute("BEGIN")

    def begin_writing(self) -> None:
        """Take the write lock, asking for it often.

        SQLite itself asks less and less often, at last ten times a second: among many writers on
        a slow disk one of them may then never meet a moment when the lock is free.
        """
        execute = self.connection.execute
        execute(f"PRAGMA busy_timeout={min(_TURN_MS, self.busy_timeout_ms)}")
        try:
            self._until_free(self.connection, "BEGIN IMMEDIATE")
        finally:
            execute(f"PRAGMA busy_timeout={self.busy_timeout_ms}")

    def close(self) -> None:
        """Close the file; the write-ahead log is folded in by the last one to leave."""
        with self.lock, contextlib.suppress(sqlite3.Error):
            self.connection.close()

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        """Turn a driver error into ours."""
        try:
            yield
        except sqlite3.Error as error:
            raise explain(error, self.path, self.busy_timeout_ms) from error

    def _open(self, *, wal: bool) -> sqlite3.Connection:
        _make_file(self.path)
        connection = self._connect(
            self.path,
            timeout=self.busy_timeout_ms / 1000,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=STATEMENTS_CACHED,
        )
        try:
            self._set_up(connection, wal=wal)
        except BaseException:
            connection.close()
            raise
        return connection

    def _set_up(self, connection: sqlite3.Connection, *, wal: bool) -> None:
        connection.row_factory = sqlite3.Row
        # In this order: another process may be making the tables, and it signs them as it does.
        tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        owner = connection.execute("PRAGMA application_id").fetchone()[0]
        if owner != APPLICATION_ID and tables:
            raise StoreCorrupt(
                f"{self.path} is a database of another program", help="choose another --db"
            )
        # SQLite itself does not wait for this when others open a new file too.
        self._until_free(connection, f"PRAGMA journal_mode={'WAL' if wal else 'DELETE'}")
        connection.execute(f"PRAGMA synchronous={self.durability.upper()}")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}")

    def _until_free(self, connection: sqlite3.Connection, statement: str) -> None:
        """Execute a statement again while others hold the file, as long as anybody may wait."""
        give_up_at = 0.0
        while True:
            try:
                connection.execute(statement)
                return
            except sqlite3.OperationalError as error:
                is_busy = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
                now = time.monotonic()
                give_up_at = give_up_at or now + self.busy_timeout_ms / 1000
                if not is_busy or now >= give_up_at:
                    raise
            time.sleep(_PAUSE_SECONDS)


class Transaction:
    """A transaction as a context; written out, since every commit of a run passes here."""

    def __init__(self, database: Database, begin: Callable[[], None], end: str) -> None:
        self._database = database
        self._begin = begin
        self._end = end

    def __enter__(self) -> sqlite3.Connection:
        """Take the connection's lock and begin."""
        database = self._database
        database.lock.acquire()
        try:
            self._begin()
        except BaseException as error:
            database.lock.release()
            raise self._explained(error) from error
        return database.connection

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """End as declared, or roll back."""
        database = self._database
        try:
            if error is None:
                database.connection.execute(self._end)
                return
        except sqlite3.Error as failed:
            error = failed
        finally:
            if database.connection.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    database.connection.execute("ROLLBACK")
            database.lock.release()
        if isinstance(error, sqlite3.Error):
            raise self._explained(error) from error

    def _explained(self, error: BaseException) -> BaseException:
        if not isinstance(error, sqlite3.Error):
            return error
        return explain(error, self._database.path, self._database.busy_timeout_ms)


def explain(error: sqlite3.Error, path: Path, busy_timeout_ms: int) -> StoreError:
    """Return our error for a driver's."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreBusy(
            f"{path} was held by another writer for more than {busy_timeout_ms} ms",
            help="try again; if it stays so, look for a process that hangs on the file",
        )
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return StoreCorrupt(
            f"{path} is not a usable database: {error}",
            help="choose another --db, or restore a backup",
        )
    if code == sqlite3.SQLITE_FULL:
        return StoreFull(
            f"no space left for {path}; the last commit was not stored",
            help="free some space, then resume the run",
        )
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return StoreReadOnly(
            f"{path} cannot be written: {error}", help="check the owner and mode of the folder"
        )
    return StoreError(f"{path}: {error}")


def _make_file(path: Path) -> None:
    """Make the file readable by its owner alone before SQLite can make it otherwise.

    One that exists is not opened: to close it again would take away the locks that other
    connections of this process have on it, and another process could then remove the log that
    they write to. Source: sqlite.org/howtocorrupt.html, section 2.2.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        make_folder(path.parent)
        with _MAKING, contextlib.suppress(FileExistsError):
            # A link may lead to a file that is not there yet.
            os.close(os.open(os.path.realpath(path), flags, 0o600))
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not os.access(path, os.R_OK | os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise StoreReadOnly(
            f"{path} cannot be opened for writing: {reason}",
            help="give --db a path in a folder that you can write",
        ) from error
