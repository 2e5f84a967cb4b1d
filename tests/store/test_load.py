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
    assert load.failed == []
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


def test_what_another_process_does_leaves_the_log_to_its_writers(tmp_path: Path) -> None:
    """A second connection of a process must not give up the locks of its first one."""
    database = tmp_path / DATABASE
    first, second = open_store(database), open_store(database)
    # If it took itself for the only one, it would remove the log when it leaves.
    assert visit(database) == "0"
    journal, _ = started(first)
    assert visit(database) == "1"
    journal.release()
    first.close()
    second.close()


def visit(database: Path) -> str:
    """Open and close a database in another process; return how many runs it saw."""
    code = """
import sys
from agentctl.store import open_store
store = open_store(sys.argv[1])
print(len(store.list_runs()))
store.close()
"""
    command = [sys.executable, "-c", code, str(database)]
    done = subprocess.run(command, check=True, timeout=60, capture_output=True, text=True)
    return done.stdout.strip()
