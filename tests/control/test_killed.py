"""An operation that is killed and repeated leaves one entity, one revision and the same answer."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from agentctl.catalog.descriptor import READING
from agentctl.catalog.tools import BY_ID
from agentctl.control.handlers import HANDLERS
from tests.cli.harness import ROOT
from tests.control.mutations import SCRIPTS
from tests.control.working import EVERYTHING, scripted
from tests.engine.harness import Bench

WORKER = Path(__file__).with_name("worker.py")


def die(folder: Path, operation: str, point: str) -> int:
    """Run the worker to its death; return how it ended."""
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, str(WORKER), str(folder), operation, point],
        check=False,
        timeout=60,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
    )
    return done.returncode


def opened(folder: Path) -> Bench:
    """Return an engine on a folder."""
    folder.mkdir(exist_ok=True)
    return Bench(folder)


def kept(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return all that the control plane kept, and what the ledger says of its calls."""
    connection = sqlite3.connect(folder / "state.db")
    tables = {
        "entity": "SELECT * FROM entity",
        "revision": "SELECT * FROM entity_revision ORDER BY sequence",
        "operation": "SELECT * FROM operation",
        "effect": "SELECT operation, state, result FROM effect ORDER BY key",
    }
    found = {name: connection.execute(sql).fetchall() for name, sql in tables.items()}
    connection.close()
    return found


def test_every_operation_that_changes_something_and_has_a_handler_is_killed_here() -> None:
    changing = {one for one in HANDLERS if one in BY_ID}
    changing = {one for one in changing if BY_ID[one].side_effect_class not in READING}
    assert set(SCRIPTS) == changing


@pytest.mark.parametrize("operation", sorted(SCRIPTS))
def test_a_killed_operation_that_is_repeated_happened_once(tmp_path: Path, operation: str) -> None:
    straight = opened(tmp_path / "straight")
    straight.run(scripted(*SCRIPTS[operation](straight), **EVERYTHING))
    straight.close()
    for point in ("inside", "after"):
        folder = tmp_path / point
        assert die(folder, operation, point) == -signal.SIGKILL
        killed = opened(folder)
        killed.engine.resume_sync(killed.engine.store.list_runs()[0].id)
        killed.close()
        assert kept(folder) == kept(tmp_path / "straight")
