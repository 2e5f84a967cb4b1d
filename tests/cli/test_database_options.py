"""How the database is opened, from the command line."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from tests.cli.harness import ROOT, run_json
from tests.cli.test_journeys import Desk, desk

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.harness import Result

__all__ = ["desk"]

HELLO = ROOT / "examples" / "hello.yaml"


def _mode(db: Path) -> str:
    connection = sqlite3.connect(db)
    try:
        found: str = connection.execute("PRAGMA journal_mode").fetchone()[0]
        return found
    finally:
        connection.close()


def _hello(desk: Desk, *more: str) -> Result:
    return desk.run(HELLO, *more).expect(0)


def test_a_database_that_need_not_survive_a_power_failure_runs_the_same(desk: Desk) -> None:
    run_id = _hello(desk, "--durability", "normal").text("/data/runId")
    desk.on("verify", run_id).expect(0)
    assert _mode(desk.db) == "wal"


def test_allowing_a_shared_file_system_changes_nothing_on_a_local_one(desk: Desk) -> None:
    run_id = _hello(desk, "--shared-filesystem").text("/data/runId")
    run_json("--shared-filesystem", "inspect", run_id, "--db", str(desk.db)).expect(0)
    assert _mode(desk.db) == "wal"


def test_an_unknown_durability_is_refused_with_the_known_ones(desk: Desk) -> None:
    result = desk.run(HELLO, "--durability", "none").expect(2)
    assert "'full', 'normal'" in result.text("/error/message")
