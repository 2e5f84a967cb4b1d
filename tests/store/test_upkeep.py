"""What a database says of itself, whether it is sound, and copies of it."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest

from agentctl.errors import UsageError
from agentctl.store import open_store
from agentctl.store.migrate import NEWEST
from agentctl.store.upkeep import backup, check, info
from agentctl.store.verify import verify_run
from agentctl.testing import EPOCH
from tests.store.harness import admitted, new_run, started, tampering

if TYPE_CHECKING:
    from pathlib import Path

    from agentctl.store.sqlite import SqliteStore


def test_a_database_says_how_it_is_set_up_and_what_it_holds(store: SqliteStore) -> None:
    started(store)
    assert info(store) == {
        "path": str(store.path),
        "sizeBytes": store.path.stat().st_size,
        "schemaVersion": NEWEST,
        "newestSchemaVersion": NEWEST,
        "journalMode": "wal",
        "synchronous": "full",
        "runs": {"running": 1},
    }


def test_durability_is_the_one_that_was_asked_for(tmp_path: Path) -> None:
    store = open_store(tmp_path / "state.db", durability="normal")
    assert info(store)["synchronous"] == "normal"
    store.close()


def test_a_sound_database_has_no_problems(store: SqliteStore) -> None:
    started(store)
    assert check(store) == []


def test_a_row_that_refers_to_nothing_is_a_problem(store: SqliteStore) -> None:
    started(store)
    with tampering(store.path) as connection:
        connection.execute("DELETE FROM document WHERE kind = 'plan'")
    assert any("refers to nothing in document" in one for one in check(store))


def test_a_migration_of_another_program_is_a_problem(store: SqliteStore) -> None:
    with tampering(store.path) as connection:
        connection.execute("UPDATE migration SET checksum = 'other'")
    (problem,) = check(store)
    assert "migration 1" in problem


def test_a_damaged_run_is_a_problem_and_hides_no_other(store: SqliteStore) -> None:
    for name in ("run-1", "run-2", "run-3"):
        started(store, new_run(name))
    with tampering(store.path) as connection:
        connection.execute("UPDATE run SET inputs = 'no json' WHERE id = 'run-3'")
        connection.execute("UPDATE run SET state = 'flying' WHERE id = 'run-2'")
        connection.execute("UPDATE transition SET at = 0 WHERE run = 1")
    third, second, first = check(store)
    assert "run-3" in third
    assert "not JSON" in third
    assert "'flying'" in second
    assert "digest" in first


def test_a_damaged_page_is_a_problem(store: SqliteStore) -> None:
    started(store)
    with tampering(store.path) as connection:
        connection.execute("PRAGMA writable_schema=ON")
        connection.execute(
            "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema "
            "WHERE name = 'task') WHERE name = 'effect'"
        )
    store.close()
    other = open_store(store.path)
    assert check(other)
    other.close()


def test_a_backup_is_a_whole_database_for_its_owner_alone(
    store: SqliteStore, tmp_path: Path
) -> None:
    journal, _ = started(store)
    target = tmp_path / "copy.db"
    made = backup(store, str(target))
    assert made.size_bytes == target.stat().st_size
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    journal.commit(admitted(new_run().tasks[0])[0])
    copy = open_store(target, create=False)
    assert [run.id for run in copy.list_runs()] == ["run-1"]
    assert len(copy.transitions("run-1")) == 1
    assert check(copy) == []
    copy.close()


def test_a_backup_replaces_nothing(store: SqliteStore, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    target.write_text("dear", encoding="utf-8")
    with pytest.raises(UsageError, match="never replaces a file"):
        backup(store, str(target))
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="never replaces a file"):
        backup(store, str(link))
    assert target.read_text(encoding="utf-8") == "dear"


@pytest.mark.parametrize("name", ["none/copy.db", "state.db/copy.db"])
def test_a_backup_that_cannot_be_written_is_refused(
    store: SqliteStore, tmp_path: Path, name: str
) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        backup(store, str(tmp_path / name))


def test_a_restored_backup_goes_on(store: SqliteStore, tmp_path: Path) -> None:
    started(store)[0].release()
    backup(store, str(tmp_path / "copy.db"))
    copy = open_store(tmp_path / "copy.db")
    journal = copy.claim_run("run-1", EPOCH)
    journal.commit(admitted(new_run().tasks[0])[0])
    assert verify_run(copy, "run-1") == []
    copy.close()
