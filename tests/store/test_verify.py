"""Verification finds any change that was made behind the journal's back."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest

from agentctl.engine.apply import Work
from agentctl.store.chain import GENESIS, link
from agentctl.store.rows import transition_from
from agentctl.store.verify import Mismatch, verify_all, verify_run
from agentctl.testing import EPOCH
from tests.store.harness import effect_of, new_run, started, tampering

if TYPE_CHECKING:
    from agentctl.store.sqlite import SqliteStore

COLUMNS = {
    "key": "key + 1000",
    "machine": "'effect'",
    "entity": "'two'",
    "version": "version + 1",
    "source": "'running'",
    "event": "'cancel'",
    "target": "'cancelled'",
    "at": "at + 1",
    "actor": "'eve'",
    "detail": '\'{"why": ["because"]}\'',
    "checkpoint": "NULL",
    "digest": "zeroblob(32)",
}


@pytest.fixture
def moved(store: SqliteStore) -> SqliteStore:
    """A store with one run of five moves in three commits."""
    journal, _ = started(store)
    task = new_run().tasks[0]
    work = Work()
    ready = work.move(task, "admit", EPOCH, actor="ada", detail={"why": ["because"]})
    running = work.move(ready, "start", EPOCH, attempt=1)
    journal.commit(work)
    work = Work()
    work.move(work.add(effect_of(running)), "start", EPOCH)
    work.move(new_run().tasks[1], "admit", EPOCH)
    journal.commit(work)
    assert verify_run(store, "run-1") == []
    return store


def change(store: SqliteStore, *statements: str) -> list[Mismatch]:
    """Tamper, and return what verification finds."""
    with tampering(store.path) as connection:
        for statement in statements:
            assert connection.execute(statement).rowcount == 1
    assert verify_all(store) == verify_run(store, "run-1")
    return verify_run(store, "run-1")


def columns(store: SqliteStore) -> list[str]:
    """Return the stored columns of a transition."""
    with store.database.reading() as connection:
        return [row["name"] for row in connection.execute("PRAGMA table_info(transition)")]


def test_every_column_of_a_transition_is_tried(moved: SqliteStore) -> None:
    assert columns(moved) == list(COLUMNS)


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("sequence", [2, 3])
def test_a_changed_column_is_found_in_its_row(
    moved: SqliteStore, column: str, sequence: int
) -> None:
    value = COLUMNS[column]
    if column == "checkpoint" and sequence == 2:
        value = "7"
    (found,) = change(
        moved, f"UPDATE transition SET {column} = {value} WHERE sequence = {sequence}"
    )
    assert found.message
    if column == "key":
        assert found.message == f"transition {sequence} is missing"
    else:
        assert found.sequence == sequence


def test_characters_cannot_move_between_two_columns(moved: SqliteStore) -> None:
    (found,) = change(
        moved,
        "UPDATE transition SET actor = 'ad', detail = 'a' || detail WHERE sequence = 2",
    )
    assert found.sequence == 2


@pytest.mark.parametrize("sequence", [1, 3, 4])
def test_a_removed_row_is_found(moved: SqliteStore, sequence: int) -> None:
    (found,) = change(moved, f"DELETE FROM transition WHERE sequence = {sequence}")
    assert found.message == f"transition {sequence} is missing"


def test_a_last_row_that_was_cut_off_is_found(moved: SqliteStore) -> None:
    (found,) = change(moved, "DELETE FROM transition WHERE sequence = 5")
    assert found.message == "the last commit ends at 3, the journal at 4"


def test_a_whole_commit_that_was_cut_off_is_found_in_the_records(moved: SqliteStore) -> None:
    found = change(
        moved,
        "DELETE FROM transition WHERE sequence = 5",
        "DELETE FROM transition WHERE sequence = 4",
    )
    assert [one.entity for one in found] == ["task two", "effect one/1.1"]


@pytest.mark.parametrize("sequence", [0, 6])
def test_an_inserted_row_is_found(moved: SqliteStore, sequence: int) -> None:
    found = change(
        moved,
        f"INSERT INTO transition SELECT (1 << 32) + {sequence}, machine, entity, version, source, "
        "event, target, at, actor, detail, checkpoint, digest FROM transition WHERE sequence = 5",
    )
    assert found


@pytest.mark.parametrize(
    ("table", "entity"), [("run", "run"), ("task", "task one"), ("effect", "effect one/1.1")]
)
@pytest.mark.parametrize("column", ["state", "version"])
def test_a_record_that_stands_elsewhere_than_its_journal_is_found(
    moved: SqliteStore, table: str, entity: str, column: str
) -> None:
    value = "'failed'" if column == "state" else "9"
    (found,) = change(
        moved,
        f"UPDATE {table} SET {column} = {value} WHERE rowid IN (SELECT min(rowid) FROM {table})",
    )
    assert (found.entity, found.sequence) == (entity, None)


def test_a_record_that_was_removed_is_found(moved: SqliteStore) -> None:
    (found,) = change(moved, "DELETE FROM effect")
    assert found.entity == "effect one/1.1"
    assert "no such record" in found.message


def test_a_state_that_no_machine_has_is_found(moved: SqliteStore) -> None:
    (found,) = change(moved, "UPDATE task SET state = 'flying' WHERE id = 'one'")
    assert "'flying'" in found.message


def test_a_chain_that_was_forged_whole_still_has_to_follow_the_machines(
    moved: SqliteStore,
) -> None:
    for text, reason in (
        ("SET source = 'ready', event = 'start', target = 'running'", "it leaves 'ready'"),
        ("SET target = 'running'", "does not lead from"),
        ("SET machine = 'dream'", "no machine 'dream'"),
        ("SET version = 2", "version 2 does not follow"),
    ):
        with tampering(moved.path) as connection:
            connection.execute("BEGIN")
            connection.execute(f"UPDATE transition {text} WHERE sequence = 2")
            reforge(connection)
            connection.execute("COMMIT")
        (found,) = verify_run(moved, "run-1")
        assert found.sequence == 2
        assert reason in found.message
        with tampering(moved.path) as connection:
            connection.execute(
                "UPDATE transition SET machine = 'task', version = 1, source = 'pending', "
                "event = 'admit', target = 'ready' WHERE sequence = 2"
            )
            reforge(connection)
        assert verify_run(moved, "run-1") == []


def reforge(connection: sqlite3.Connection) -> None:
    """Make every digest follow from its row again, as somebody who knows how could."""
    connection.row_factory = sqlite3.Row
    head = GENESIS
    for row in connection.execute("SELECT * FROM transition ORDER BY key").fetchall():
        move = transition_from(row, None)
        head = link(head, row["key"] & 0xFFFFFFFF, move, row["detail"], row["checkpoint"])
        connection.execute("UPDATE transition SET digest = ? WHERE key = ?", (head, row["key"]))
