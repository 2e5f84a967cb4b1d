"""Many writers at once: none of them, and nobody who looks on, meets a locked database."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from agentctl.machines.names import RunStates
from agentctl.store import open_store
from agentctl.store.upkeep import check, info
from benchmarks.load import BACKUP, DATABASE, put
from tests.store.harness import started

if TYPE_CHECKING:
    from pathlib import Path

PROCESSES, THREADS, RUNS = 4, 4, 100


def test_sixteen_writers_readers_and_a_backup_share_one_database(tmp_path: Path) -> None:
    """All runs end well, every command does, and both copies verify."""
    load = put(tmp_path, PROCESSES, THREADS, RUNS)
    failed = [one for one in (*load.workers, *load.commands) if one.code or one.errors]
    assert failed == []
    assert len(load.workers) == PROCESSES
    # The start of a run and its end are one commit each.
    assert len(load.waits_ms) == 2 * PROCESSES * THREADS * RUNS
    assert {"inspect", "runs", "db"} == {one.command[1] for one in load.commands}
    assert sound_runs(tmp_path / DATABASE) == PROCESSES * THREADS * RUNS
    assert sound_runs(tmp_path / BACKUP) >= PROCESSES * THREADS * RUNS // 2


def sound_runs(database: Path) -> int:
    """Check a database, and return how many runs have succeeded."""
    store = open_store(database, create=False)
    try:
        assert check(store) == []
        counted = info(store)["runs"]
    finally:
        store.close()
    assert isinstance(counted, dict)
    return int(str(counted[RunStates.succeeded]))


def test_a_second_connection_leaves_the_locks_of_the_first_alone(tmp_path: Path) -> None:
    """Whoever comes and goes in another process does not remove the log that is written to."""
    database = tmp_path / DATABASE
    first = open_store(database)
    second = open_store(database)
    visit = "import sys; from agentctl.store import open_store; open_store(sys.argv[1]).close()"
    subprocess.run([sys.executable, "-c", visit, str(database)], check=True, timeout=60)
    journal, run = started(first)
    journal.release()
    first.close()
    second.close()
    again = open_store(database)
    assert [one.id for one in again.list_runs()] == [run.id]
    again.close()
