"""One owner of a run at a time, also between processes."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import pytest

from agentctl.engine.apply import Work
from agentctl.errors import LeaseLost, RunHeld
from agentctl.store import lease, open_store
from agentctl.store.verify import verify_run
from agentctl.testing import EPOCH, ManualClock
from tests.store.harness import admitted, new_run, started, tampering

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentctl.store.sqlite import SqliteStore

HOLDER = Path(__file__).with_name("holder.py")
linux_only = pytest.mark.skipif(
    not lease.this_process().boot, reason="processes are recognised through /proc"
)


class Holder:
    """Another process that owns a run."""

    def __init__(self, path: Path, run_id: str, command: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(HOLDER), str(path), run_id, command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(HOLDER.parents[2])},
        )

    def line(self) -> str:
        """Wait for its next line."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def go_on(self) -> None:
        """Let it end its run."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        """End it without a goodbye."""
        self.process.kill()
        self.process.wait()


@contextmanager
def holding(path: Path, run_id: str = "run-1", command: str = "start") -> Iterator[Holder]:
    """Start a process that owns a run, and end it whatever happens."""
    holder = Holder(path, run_id, command)
    with holder.process:
        try:
            assert holder.line() == "held"
            yield holder
        finally:
            holder.process.kill()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A database that several processes use."""
    path = tmp_path / "state.db"
    open_store(path).close()
    return path


@pytest.fixture
def real(place: Path) -> Iterator[SqliteStore]:
    """A store under the machine's clock."""
    made = open_store(place)
    yield made
    made.close()


@linux_only
def test_a_run_of_another_process_is_refused_with_its_host_and_process(
    real: SqliteStore,
) -> None:
    with holding(real.path) as holder:
        with pytest.raises(RunHeld) as caught:
            real.claim_run("run-1", real.clock.now())
        assert f"process {holder.process.pid} on {os.uname().nodename} since" in str(caught.value)
        assert caught.value.run_id == "run-1"
        owner = real.holder("run-1")
        assert owner is not None
        assert (owner["pid"], owner["alive"]) == (holder.process.pid, True)
        holder.go_on()
        assert holder.line() == "done"
    assert real.holder("run-1") is None
    assert verify_run(real, "run-1") == []


@linux_only
def test_a_dead_process_is_taken_over_at_once(real: SqliteStore) -> None:
    with holding(real.path) as holder:
        holder.kill()
        owner = real.holder("run-1")
        assert owner is not None
        assert owner["alive"] is False
        journal = real.claim_run("run-1", real.clock.now())
        journal.commit(admitted(new_run().tasks[0])[0])
        journal.release()
    assert verify_run(real, "run-1") == []


@linux_only
def test_two_processes_run_different_runs_at_once(real: SqliteStore) -> None:
    with holding(real.path, "run-1") as one, holding(real.path, "run-2") as two:
        for holder in (two, one):
            holder.go_on()
            assert holder.line() == "done"
    for name in ("run-1", "run-2"):
        assert real.load_run(name).run.state == "succeeded"
        assert verify_run(real, name) == []


@linux_only
def test_a_request_to_cancel_reaches_the_live_owner(real: SqliteStore) -> None:
    with holding(real.path) as holder:
        real.request_cancel("run-1", "ada", "enough", real.clock.now())
        assert holder.line() == "cancel ada enough"


def test_a_request_to_cancel_is_told_once_and_only_of_the_present_owner(
    real: SqliteStore,
) -> None:
    journal, _ = started(real)
    real.request_cancel("run-1", "bob", "old", EPOCH)
    journal.release()
    journal = real.claim_run("run-1", real.clock.now())
    told: list[tuple[str, str]] = []
    came = Event()

    def tell(actor: str, reason: str) -> None:
        told.append((actor, reason))
        came.set()

    journal.on_cancel(tell)
    real.request_cancel("run-1", "ada", "new", EPOCH)
    assert came.wait(30)
    real.close()
    assert told == [("ada", "new")]


@linux_only
def test_a_second_claim_in_the_same_process_is_refused(store: SqliteStore) -> None:
    journal, _ = started(store)
    with pytest.raises(RunHeld, match=f"process {os.getpid()} on"):
        store.claim_run("run-1", EPOCH)
    other = open_store(store.path)
    with pytest.raises(RunHeld):
        other.claim_run("run-1", EPOCH)
    other.close()
    journal.release()
    store.claim_run("run-1", EPOCH)


def disown(store: SqliteStore) -> None:
    """Let the lease belong to a machine that is not seen from here."""
    with tampering(store.path) as connection:
        connection.execute("UPDATE lease SET host = 'elsewhere', boot = 'another'")


def test_an_owner_elsewhere_keeps_its_run_until_the_lease_expires(
    store: SqliteStore, clock: ManualClock
) -> None:
    started(store)
    disown(store)
    clock.advance(lease.LIFETIME_SECONDS - 1)
    with pytest.raises(RunHeld, match="on elsewhere since"):
        store.claim_run("run-1", clock.now())
    clock.advance(1)
    store.claim_run("run-1", clock.now())


def test_an_owner_that_was_taken_over_writes_nothing_more(
    store: SqliteStore, clock: ManualClock
) -> None:
    stale, run = started(store)
    disown(store)
    clock.advance(lease.LIFETIME_SECONDS)
    fresh = store.claim_run("run-1", clock.now())
    before = store.load_run("run-1"), store.transitions("run-1")
    late = Work()
    late.move(run, "succeed", EPOCH)
    with pytest.raises(LeaseLost, match="took over run run-1") as caught:
        stale.commit(late)
    assert caught.value.run_id == "run-1"
    assert (store.load_run("run-1"), store.transitions("run-1")) == before
    stale.release()
    assert store.holder("run-1") is not None
    fresh.commit(admitted(new_run().tasks[0])[0])
    assert verify_run(store, "run-1") == []


def test_a_token_is_never_given_twice(store: SqliteStore) -> None:
    started(store)[0].release()
    tokens = []
    for _ in range(3):
        store.claim_run("run-1", EPOCH).release()
        with store.database.reading() as connection:
            tokens.append(connection.execute("SELECT token FROM lease").fetchone()[0])
    assert tokens == [2, 3, 4]


@pytest.mark.parametrize("event", ["succeed", "cancel", "pause_for_approval", "wait_for_quota"])
def test_the_commit_that_ends_or_parks_a_run_gives_the_lease_back(
    store: SqliteStore, event: str
) -> None:
    journal, run = started(store)
    work = Work()
    work.move(run, event, EPOCH)  # type: ignore[call-overload]
    journal.commit(work)
    assert store.holder("run-1") is None
    written = store.database.connection.total_changes
    journal.release()
    assert store.database.connection.total_changes == written


def test_a_lease_is_renewed_under_its_own_token_alone(
    store: SqliteStore, clock: ManualClock
) -> None:
    started(store)
    keeper = lease.LeaseKeeper(lambda: store.database, clock)
    clock.advance(10)

    def expiry(token: int) -> int:
        keeper._held[1] = lease._Held(token, lambda *_: None)
        keeper._renew(store.database)
        with store.database.reading() as connection:
            return int(connection.execute("SELECT expires_at FROM lease").fetchone()[0])

    lifetime = int(lease.LIFETIME_SECONDS * 1_000_000)
    assert expiry(2) == EPOCH + lifetime
    assert expiry(1) == clock.now() + lifetime
