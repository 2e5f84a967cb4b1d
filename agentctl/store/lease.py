"""Who owns a run, and keeping it so.

Above: the store. Below: /proc and one thread. A lease names host, boot, process and the
process's start time. The same machine can see whether the owner still lives; another machine
has to wait until the lease expires. The thread renews with a connection of its own, so a busy
task cannot starve it, and it notices requests to cancel.
"""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from attr import define, field, frozen

from agentctl.clock import iso
from agentctl.errors import RunHeld, StoreError
from agentctl.store.statements import SQL
from agentctl.value import Value

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from agentctl.clock import Clock, Instant
    from agentctl.store.database import Database

LIFETIME_SECONDS = 15.0
# Two renewals may be lost to a busy disk; the third means that the owner is gone.
RENEWAL_SECONDS = 5.0
# A person who cancels waits about this long; reading costs no sync.
POLL_SECONDS = 0.25


@frozen(kw_only=True, eq=False, repr=False)
class Owner(Value):
    """A process that may own runs."""

    host: str
    boot: str
    pid: int
    started: int


def this_process() -> Owner:
    """Return the present process as an owner."""
    pid = os.getpid()
    return Owner(host=os.uname().nodename, boot=_boot_id(), pid=pid, started=_started(pid) or 0)


def take(connection: sqlite3.Connection, number: int, run_id: str, now: Instant) -> int:
    """Become the owner of a run in the open transaction; return the fencing token.

    Raises RunHeld while a live process owns it.
    """
    owner = this_process()
    row = connection.execute(SQL["lease"], (number,)).fetchone()
    if row is not None and row["pid"] is not None and is_alive(row, owner, now):
        raise RunHeld(
            f"run {run_id} is held by process {row['pid']} on {row['host']} "
            f"since {iso(row['since'])}",
            help=f"wait for it, or ask it to stop: agentctl cancel {run_id}",
            run_id=run_id,
        )
    given = {
        "run": number,
        "host": owner.host,
        "boot": owner.boot,
        "pid": owner.pid,
        "started": owner.started,
        "since": now,
        "expires_at": now + int(LIFETIME_SECONDS * 1_000_000),
    }
    token: int = connection.execute(SQL["take_lease"], given).fetchone()[0]
    return token


def is_alive(row: sqlite3.Row, owner: Owner, now: Instant) -> bool:
    """Return whether the owner on record may still be writing."""
    # Without a boot id (no /proc) a process cannot be told apart: only the expiry counts.
    if owner.boot and row["host"] == owner.host and row["boot"] == owner.boot:
        return bool(_started(row["pid"]) == row["started"])
    return int(row["expires_at"]) > now


def _boot_id() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        # Two containers of one host share a boot but not their process ids.
        return f"{boot}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def _started(pid: int) -> int | None:
    """Return when a process started, in clock ticks since boot; None when there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The second field is the program's name in parentheses and may hold anything.
    fields = text.rpartition(")")[2].split()
    # A zombie is dead: only its parent has not asked how it ended.
    return None if fields[0] in ("Z", "X") else int(fields[19])


@define(eq=False, repr=False)
class _Held:
    token: int
    notify: Callable[[str, str], None]
    told: bool = False


@define(eq=False, repr=False)
class LeaseKeeper:
    """Renews the leases of this process's runs and passes on requests to cancel."""

    open_database: Callable[[], Database]
    clock: Clock
    _held: dict[int, _Held] = field(factory=dict)
    _owed: set[tuple[int, int]] = field(factory=set)
    _lock: threading.Lock = field(factory=threading.Lock)
    _stop: threading.Event = field(factory=threading.Event)
    _thread: threading.Thread | None = None

    def watch(self, number: int, token: int, notify: Callable[[str, str], None]) -> None:
        """Start to keep a run's lease."""
        with self._lock:
            self._held[number] = _Held(token, notify)
            self._start()

    def forget(self, number: int) -> None:
        """Stop keeping a run's lease."""
        with self._lock:
            self._held.pop(number, None)

    def owe(self, number: int, token: int) -> None:
        """Give a lease back later, since the database cannot be written now."""
        with self._lock:
            self._owed.add((number, token))
            self._start()

    def close(self) -> None:
        """End the thread, after a last try to give back what is owed."""
        with self._lock:
            thread, self._thread = self._thread, None
        self._stop.set()
        if thread is not None:
            thread.join()
        if self._owed:
            with contextlib.suppress(StoreError):
                database = self.open_database()
                try:
                    self._give_back(database)
                finally:
                    database.close()

    def _start(self) -> None:
        if self._thread is None:
            self._stop.clear()
            self._thread = threading.Thread(target=self._keep, name="agentctl-lease", daemon=True)
            self._thread.start()

    def _keep(self) -> None:
        """Poll and renew until closed; a short run ends before the first poll."""
        database: Database | None = None
        waited = 0.0
        while not self._stop.wait(POLL_SECONDS):
            waited += POLL_SECONDS
            try:
                database = database or self.open_database()
                self._give_back(database)
                self._poll(database)
                if waited >= RENEWAL_SECONDS:
                    self._renew(database)
                    waited = 0.0
            except StoreError:
                # The next round tries again; a lease that is lost stops the run's next commit.
                continue
        if database is not None:
            database.close()

    def _give_back(self, database: Database) -> None:
        with self._lock:
            owed = list(self._owed)
        for number, token in owed:
            with database.writing() as connection:
                connection.execute(SQL["release_lease"], (number, token))
            self._owed.discard((number, token))

    def _poll(self, database: Database) -> None:
        with self._lock:
            held = list(self._held.items())
        for number, one in held:
            if one.told:
                continue
            with database.reading() as connection:
                row = connection.execute(SQL["cancel_request"], (number,)).fetchone()
            if row is not None:
                one.told = True
                one.notify(row["actor"], row["reason"])

    def _renew(self, database: Database) -> None:
        with self._lock:
            held = [(number, one.token) for number, one in self._held.items()]
        expires_at = self.clock.now() + int(LIFETIME_SECONDS * 1_000_000)
        for number, token in held:
            with database.writing() as connection:
                connection.execute(SQL["renew_lease"], (expires_at, number, token))
